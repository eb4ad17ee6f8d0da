"""JSON Schemas of arguments in the subset that every vendor's native tool calling accepts.

A vendor that refuses one schema refuses the whole request, with all its tools. Refused somewhere, and written
in another form here, are:

- `$ref` and `$defs`, `allOf`, `oneOf`, `const`, `type` as a list, tuples, schemas that are true or false;
- alternatives at the top level, and a `type` beside `anyOf`;
- an array without `items`, an object at the top level without `properties`, and `required` names that are
  not among them;
- names of properties with other characters than letters, digits, `_`, `.` and `-`, or with more than 64;
- an empty text in `enum`, and anything but text.

A constraint that is refused somewhere (`pattern`, `format`, `exclusiveMinimum`, …) becomes a remark in the
description, which the model reads as well: vendors enforce constraints in strict tool calling alone.

Invariant: the result is an object's schema of bounded size and depth, whatever it was made of, with these
keywords alone: `type`, `description`, `enum`, `default`, `properties`, `required`, `additionalProperties`,
`items`, `anyOf`, `minimum`, `maximum`, `minLength`, `maxLength`, `minItems`, `maxItems`. Its texts have no
control characters.
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from typing import Any, cast
from urllib.parse import unquote

from cogency_tui.safe_text import clean
from cogency_tui.workspace.protected_names import shown

LARGEST = 32_000
"""Most characters of a schema, with everything inlined that it refers to."""

LONGEST_MEANING = 400
"""Most characters of a description without its remarks."""

_DEEPEST = 10
_LONGEST_REMARK = 120
_MOST_NAMES = 8
_MOST_VALUES = 30
_LEAST = 10
"""Characters that each part of a schema counts at least, so that the number of parts is bounded as well."""

_MOST_REPEATS = 1_000
"""Highest bound of a length: a grammar of llama.cpp for a longer text or list is refused."""

_TOO_LARGE = f"The JSON Schema of the arguments has more than {LARGEST:,} characters."
_NO_OBJECT = "The arguments must be an object, but their JSON Schema has another type."

_KEY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")

_IS_OF: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}
_IMPLIED: Mapping[str, str] = {
    **dict.fromkeys(("properties", "additionalProperties", "required"), "object"),
    **dict.fromkeys(("items", "prefixItems", "minItems", "maxItems"), "array"),
    **dict.fromkeys(("minLength", "maxLength", "pattern"), "string"),
    **dict.fromkeys(("minimum", "maximum"), "number"),
}
"""Types that keywords imply where a schema has none."""

_BOUNDS: Mapping[str, Sequence[str]] = {
    "string": ("minLength", "maxLength"),
    "integer": ("minimum", "maximum"),
    "number": ("minimum", "maximum"),
    "array": ("minItems", "maxItems"),
}
_LENGTHS = (*_BOUNDS["string"], *_BOUNDS["array"])
_SCALARS = ("type", "enum", "const", "minimum", "maximum", *_LENGTHS)
_ALTERNATIVES = ("anyOf", "oneOf")
_WITH_SCHEMAS = ("items", "additionalProperties", "prefixItems", "allOf", *_ALTERNATIVES)
_REMARKED = (
    *("format", "pattern", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "uniqueItems"),
    *("minProperties", "maxProperties", "contentEncoding", "examples"),
)
_REMARKS = "remarks"
"""Key of our own remarks about a part; what a schema has under this name is not read."""

_READ = frozenset(
    (
        *(*_SCALARS, *_WITH_SCHEMAS, *_REMARKED),
        *("$ref", "description", "default", "properties", "required", "patternProperties"),
    )
)

Part = Mapping[str, Any]


class _UnportableError(Exception):
    """The schema has no portable form, for this reason."""


def portable(schema: Part, described: Callable[[], str]) -> dict[str, Any]:
    """Return the portable form of a schema.

    Where there is none, because it is too large or no object's, the result allows any object, and its
    description has the reason and the arguments as text, which `described` returns.
    """
    try:
        part = _Inliner(schema).part(schema, frozenset("#"))
        return _top(part)
    except _UnportableError as error:
        arguments = described()
        text = f"{error} Arguments:\n{arguments}" if arguments else str(error)
        return {"type": "object", "description": text, "properties": {}}


def short_line(value: Any) -> str:
    """Return a text without control characters, cut where it is long; empty for any other value."""
    text = " ".join(clean(value).split()) if isinstance(value, str) else ""
    return text if len(text) <= LONGEST_MEANING else f"{text[:LONGEST_MEANING]}…"


def inner_meanings(part: Part, depth: int = 1) -> Iterator[str]:
    """Describe the range and the meaning of each member of an object within a part of a portable schema, on a
    line; one that has neither is left out."""
    for within in _objects_in(part):
        for name, member in within.get("properties", {}).items():
            limits, meaning = _range(member), member.get("description", "")
            if limits or meaning:
                text = f"{name}{f': {limits}' if limits else ''}{f' — {meaning}' if meaning else ''}"
                yield f"{'  ' * depth}- {text}"
            yield from inner_meanings(member, depth + 1)


def _objects_in(part: Part) -> Iterator[Part]:
    """Yield the objects that a value is, or has as items."""
    yield from [part] if "properties" in part else []
    inner = (*part.get("anyOf", ()), part.get("items"), part.get("additionalProperties"))
    for each in filter(None, inner):
        yield from _objects_in(each)


def _range(member: Part) -> str:
    low, high = member.get("minimum"), member.get("maximum")
    if low is not None and high is not None:
        return f"{low} to {high}"
    return f"≥ {low}" if low is not None else f"≤ {high}" if high is not None else ""


class _Inliner:
    """Inlines what the parts of a schema refer to, and merges what they must match together.

    Invariant: its results together have at most `LARGEST` characters. `inside` are the references whose
    targets contain the part at hand.
    """

    def __init__(self, schema: Part) -> None:
        self._schema = schema
        self._room = LARGEST

    def part(self, given: Any, inside: frozenset[str], depth: int = 0) -> dict[str, Any]:
        """Return a part of the schema with the keywords that are read.

        Raises:
            _UnportableError: the schema is too large.
        """
        found, inside = self._resolved(given, inside)
        if depth > _DEEPEST:
            return {"type": found.get("type"), _REMARKS: ["nested too deeply to describe"]}
        part = {key: self._value(key, value, inside, depth) for key, value in found.items()}
        return reduce(_merged, _tables(part.pop("allOf", None)), part)

    def _value(self, key: str, value: Any, inside: frozenset[str], depth: int) -> Any:
        if key == "properties":
            return {
                name: self._property(name, each, inside, depth)
                for name, each in _table(value).items()
                if each is not False
            }
        if key in _WITH_SCHEMAS and isinstance(value, list):
            return [self.part(each, inside, depth + 1) for each in cast("list[Any]", value)]
        if key in _WITH_SCHEMAS and isinstance(value, dict):
            return self.part(value, inside, depth + 1)
        self._spend(len(_encoded(value)))
        return value

    def _property(self, name: str, given: Any, inside: frozenset[str], depth: int) -> dict[str, Any]:
        self._spend(len(name))
        return self.part(given, inside, depth + 1)

    def _resolved(self, given: Any, inside: frozenset[str]) -> tuple[Part, frozenset[str]]:
        """Replace a reference by its target, which the keywords beside the reference complete."""
        self._spend(_LEAST)
        part = _keywords(given)
        while isinstance(reference := part.pop("$ref", None), str):
            self._spend(_LEAST)
            target = _keywords(self._target(reference))
            if reference in inside:
                target = _recursive(reference, target)
            part = {**target, **part}
            inside |= {reference}
        return part, inside

    def _target(self, reference: str) -> Any:
        """Return what a reference within the schema refers to; no constraint for any other reference."""
        found: Any = self._schema if reference.startswith("#") else {}
        for step in unquote(reference).split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            found = _named_places(found).get(name) if isinstance(found, list) else _table(found).get(name)
        return found

    def _spend(self, characters: int) -> None:
        self._room -= characters
        if self._room < 0:
            raise _UnportableError(_TOO_LARGE)


def _keywords(given: Any) -> dict[str, Any]:
    return {key: value for key, value in _table(given).items() if key in _READ}


def _named_places(found: Any) -> dict[str, Any]:
    return {str(place): each for place, each in enumerate(cast("list[Any]", found))}


def _recursive(reference: str, target: Part) -> Part:
    """Return the part that stands for a reference to what contains it."""
    name = short_line(reference.rpartition("/")[2]).lstrip("#") or "the arguments"
    return {"type": target.get("type", "object"), _REMARKS: [f"the same form as {name}"]}


def _merged(one: Part, other: Part) -> dict[str, Any]:
    """Merge two parts that a value must both match."""
    both: dict[str, Any] = {**other, **one}
    if "properties" in one and "properties" in other:
        both["properties"] = {**other["properties"], **one["properties"]}
    if "required" in one and "required" in other:
        both["required"] = [*_names(one["required"]), *_names(other["required"])]
    return both


def _top(part: Part) -> dict[str, Any]:
    """Write the schema of the arguments, from inlined parts.

    Raises:
        _UnportableError: they are no object, or it is too large.
    """
    if "object" not in (_types(part) or ["object"]):
        raise _UnportableError(_NO_OBJECT)
    part = _folded({key: value for key, value in part.items() if key != "default"})
    node = _annotated({"properties": {}, **_of_type(part, "object")}, part)
    if len(_encoded(node)) > LARGEST:
        raise _UnportableError(_TOO_LARGE)
    return node


def _node(part: Part) -> dict[str, Any]:
    """Write a part."""
    if "properties" in part:
        part = _folded(part)
    if alternatives := _alternatives(part):
        common = {key: part[key] for key in _SCALARS if key in part}
        nodes = [_node({**common, **each}) for each in alternatives]
    else:
        nodes = [_of_type(part, kind) for kind in _types(part)]
    if "default" in part and part["default"] is None:
        # Null means the same as no value.
        nodes = [each for each in nodes if each != {"type": "null"}] or nodes
    return _annotated(_either(nodes), part)


def _either(nodes: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Combine alternatives; none, or one that allows everything, are no constraint."""
    flat = [each for node in nodes for each in (node["anyOf"] if set(node) == {"anyOf"} else [node])]
    if not all(flat):
        return {}
    every = list({_encoded(each): each for each in flat}.values())
    return {"anyOf": every} if len(every) > 1 else every[0] if every else {}


def _folded(part: Part) -> Part:
    """Merge the alternatives of an object into one object, which has the properties of all."""
    alternatives = [each for each in _alternatives(part) if "object" in (_types(each) or ["object"])]
    if not alternatives:
        return {key: value for key, value in part.items() if key not in _ALTERNATIVES}
    needed = [_names(each.get("required")) for each in alternatives]
    everywhere = set(needed[0]).intersection(*needed)
    return {
        **{key: value for key, value in part.items() if key not in _ALTERNATIVES},
        "properties": _all_properties([part, *alternatives]),
        "required": [*_names(part.get("required")), *(name for name in needed[0] if name in everywhere)],
        _REMARKS: [*part.get(_REMARKS, []), *_groups(needed)],
    }


def _all_properties(parts: Iterable[Part]) -> dict[str, Any]:
    found: dict[str, dict[str, Part]] = {}
    for part in parts:
        for name, each in _table(part.get("properties")).items():
            found.setdefault(name, {})[_encoded(each)] = each
    return {
        name: {"anyOf": [*forms.values()]} if len(forms) > 1 else next(iter(forms.values()))
        for name, forms in found.items()
    }


def _groups(needed: Iterable[Sequence[str]]) -> list[str]:
    """Word which properties the alternatives need, where they need different ones."""
    groups = dict.fromkeys(", ".join(map(short_line, names)) for names in needed if names)
    words = " or ".join(f"({group})" for group in [*groups][:_MOST_NAMES])
    return [f"needs {words}"] if len(groups) > 1 else []


def _of_type(part: Part, kind: str) -> dict[str, Any]:
    """Write the keywords of a part that apply to values of one type."""
    node: dict[str, Any] = {"type": kind, **_choices(part, kind), **_bounds(part, kind)}
    if kind == "array":
        node["items"] = _items(part)
    elif kind == "object":
        node.update(_members(part))
    return node


def _choices(part: Part, kind: str) -> dict[str, Any]:
    values = [each for each in _values(part) if _is_of(each, kind) and _is_plain(each)]
    if kind == "string" and values and "" not in values:
        return {"enum": list(dict.fromkeys(values))}
    numbers = [each for each in values if _is_number(each)]
    return {"minimum": min(numbers), "maximum": max(numbers)} if numbers else {}


def _bounds(part: Part, kind: str) -> dict[str, Any]:
    bounds = {key: part[key] for key in _BOUNDS.get(kind, ()) if _is_number(part.get(key))}
    if kind not in ("integer", "number"):
        return {key: length for key, length in bounds.items() if 0 <= length <= _MOST_REPEATS}
    for key, exclusive, step in (("minimum", "exclusiveMinimum", 1), ("maximum", "exclusiveMaximum", -1)):
        bound: Any = part.get(exclusive)
        if _is_number(bound):
            # For an integer the next one is exact; for another number the description has the exact bound.
            bounds.setdefault(key, int(bound) + step if kind == "integer" and bound == int(bound) else bound)
    return bounds


def _items(part: Part) -> dict[str, Any]:
    for places in (part.get("prefixItems"), part.get("items")):
        if isinstance(places, list):
            return _either(map(_node, cast("list[Part]", places)))
    return _node(_table(part.get("items")))


def _members(part: Part) -> dict[str, Any]:
    """Write the members of an object."""
    node: dict[str, Any] = {}
    given = _table(part.get("properties"))
    properties = {name: _node(each) for name, each in given.items() if _KEY.fullmatch(name)}
    if properties:
        node["properties"] = properties
    if required := [name for name in _names(part.get("required")) if name in properties]:
        node["required"] = list(dict.fromkeys(required))
    others = part.get("additionalProperties")
    if isinstance(others, dict):
        node["additionalProperties"] = _node(cast("Part", others))
    elif others is False and len(properties) == len(given) and "patternProperties" not in part:
        node["additionalProperties"] = False
    return node


def _annotated(node: dict[str, Any], part: Part) -> dict[str, Any]:
    """Add the description and the default to what a part allows."""
    meaning = short_line(part.get("description"))
    remarks = "; ".join(_remarks(part))
    # The only alternative has remarks of its own.
    own = node.pop("description", "")
    text = " ".join(filter(None, (meaning, own, f"({remarks})" if remarks else "")))
    head = {"type": node["type"]} if "type" in node else {}
    default = part.get("default")
    return {
        **head,
        **({"description": text} if text else {}),
        **node,
        **({"default": default} if default is not None and _is_plain(default) else {}),
    }


def _remarks(part: Part) -> list[str]:
    """Word what the keywords of the subset do not express."""
    exact = ("exclusiveMinimum", "exclusiveMaximum") if _types(part) == ["integer"] else ()
    long = (key for key in _LENGTHS if _is_number(part.get(key)) and part[key] > _MOST_REPEATS)
    keys = (key for key in _REMARKED if key in part and key not in exact and part[key] is not False)
    worded = [f"{key}: {_short(part[key])}" for key in (*long, *keys)]
    values = _values(part)
    if "" in values or {type(each) for each in values} - {str, type(None)}:
        worded.append(f"one of {', '.join(map(_short, values[:_MOST_VALUES]))}")
    unlisted = [name for name in _table(part.get("properties")) if not _KEY.fullmatch(name)]
    required = _names(part.get("required"))
    names = [f"{_short(name)}{' (required)' if name in required else ''}" for name in unlisted]
    return [
        *part.get(_REMARKS, []),
        *worded,
        *([f"also takes {', '.join(names[:_MOST_NAMES])}"] if names else []),
    ]


def _types(part: Part) -> list[str]:
    """Return the types of a part's values; none where it allows any."""
    given = part.get("type")
    kinds = cast("list[Any]", given) if isinstance(given, list) else [given]
    declared = [kind for kind in _IS_OF if kind in kinds]
    values = _values(part)
    if not values:
        return declared or list(dict.fromkeys(kind for key, kind in _IMPLIED.items() if key in part))
    if declared:
        return [kind for kind in declared if any(_is_of(each, kind) for each in values)] or declared
    found = {next(kind for kind in _IS_OF if _is_of(each, kind)) for each in values}
    # Every integer is a number.
    return [kind for kind in _IS_OF if kind in found - ({"integer"} if "number" in found else set())]


def _values(part: Part) -> list[Any]:
    """Return the only values that a part allows; none where it does not list them."""
    if "const" in part:
        return [part["const"]]
    given = part.get("enum")
    return cast("list[Any]", given) if isinstance(given, list) else []


def _is_of(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, _IS_OF[kind])


def _alternatives(part: Part) -> list[Part]:
    return [each for key in _ALTERNATIVES for each in _tables(part.get(key))]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_plain(value: Any) -> bool:
    """Return whether a value is JSON without control characters other than line ends and tabs."""
    if isinstance(value, dict):
        members = cast("dict[Any, Any]", value)
        return all(map(_is_plain, (*members, *members.values())))
    if isinstance(value, list):
        return all(map(_is_plain, cast("list[Any]", value)))
    if isinstance(value, float):
        return math.isfinite(value)
    return not isinstance(value, str) or clean(value) == value


def _names(value: Any) -> list[str]:
    return (
        [each for each in cast("list[Any]", value) if isinstance(each, str)]
        if isinstance(value, list)
        else []
    )


def _table(value: Any) -> Part:
    return cast("Part", value) if isinstance(value, dict) else {}


def _tables(value: Any) -> list[Part]:
    return [_table(each) for each in cast("list[Any]", value)] if isinstance(value, list) else []


def _encoded(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _short(value: Any) -> str:
    text = shown(_encoded(value))
    return text if len(text) <= _LONGEST_REMARK else f"{text[:_LONGEST_REMARK]}…"

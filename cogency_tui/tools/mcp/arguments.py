"""The arguments of an MCP tool, of which a JSON schema is all that is known.

Invariant: whatever the schema says, what is made of it is bounded. Only what a model gets wrong most is
looked at here (names, what is missing, plain types); the server has the last word.
"""

import json
from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import islice
from typing import Any, cast

import msgspec

from cogency_tui.errors import ToolError
from cogency_tui.text import clean
from cogency_tui.workspace.names import shown

_DEEPEST = 3
_LONGEST_MEANING = 400
_MOST_WORDS = 8
"""Choices and members that are named of a type."""

_MOST_LINES = 60
_LONGEST = 12_000
"""Characters after which no further argument is described."""

_REFERENCES = 8

_ELSEWHERE = ("patternProperties", "allOf", "anyOf", "oneOf", "if", "dependentSchemas")
"""Where a schema may name arguments beside its properties."""

_READ = (
    *("$ref", "type", "enum", "const", "default", "description", "items", "properties", "required"),
    *("additionalProperties", *_ELSEWHERE),
)
"""What is read of a part of a schema."""

_KINDS: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}
_WORDS = {"integer": "int", "number": "float", "boolean": "bool", "string": "str", "array": "list"}


class Given(msgspec.Struct, frozen=True):
    """Arguments as they go to the server."""

    values: dict[str, Any]


class Schema:
    """What a tool says of its arguments."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._whole = schema
        top = self._resolved(schema)
        self._properties = _table(top.get("properties"))
        required = top.get("required")
        names = cast("list[Any]", required) if isinstance(required, list) else []
        self._required = [name for name in names if isinstance(name, str) and name in self._properties]
        others = top.get("additionalProperties")
        elsewhere = any(key in top for key in _ELSEWHERE)
        self._open = bool(others) or (others is None and (elsewhere or not self._properties))
        """Whether it takes arguments that it does not name. Where it names some and is silent on others, it
        does not, unless it may name more in other places: a wrong name is told rather than lost."""

    def described(self) -> str:
        """One line for each argument: name, type, default, meaning."""
        return self._described

    @cached_property
    def _described(self) -> str:
        lines: list[str] = []
        length = 0
        for name, given in self._properties.items():
            if len(lines) == _MOST_LINES or length > _LONGEST:
                lines.append(f"- {len(self._properties) - len(lines)} more, which are not told here")
                break
            part = self._resolved(given)
            default = "" if "default" not in part else f", default {_short(part['default'])}"
            need = "" if name in self._required else default or ", optional"
            meaning = _words(part.get("description"))
            lines.append(f"- {_words(name)}: {self._type(part)}{need}{f' — {meaning}' if meaning else ''}")
            length += len(lines[-1])
        if self._open:
            lines.append("- others are passed on as they are")
        return "\n".join(lines)

    def usage(self) -> str:
        """The right form on one line."""
        parts = [
            f"{_words(name)}: {text}" if name in self._required else f"[{_words(name)}: {text}]"
            for name, given in list(self._properties.items())[:_MOST_LINES]
            for text in (self._type(self._resolved(given), _DEEPEST),)
        ]
        return ", ".join([*parts, *(["…"] if self._open else [])]) or "none"

    def check(self, tool: str, args: Any) -> Given:
        """The arguments that a model gave, if they can be passed on.

        Raises:
            ToolError: naming what is missing, unknown or of another type, and the right form.
        """
        if not isinstance(args, dict):
            raise self._refusal(tool, [f"the arguments must be an object, not {_short(args)}"])
        given = cast("dict[str, Any]", args)
        problems = [f'"{_words(name)}" is missing' for name in self._required if name not in given]
        for name, value in given.items():
            if name not in self._properties:
                if not self._open:
                    problems.append(f'unknown argument "{shown(name)}"')
                continue
            part = self._resolved(self._properties[name])
            if not _fits(value, part.get("type")):
                problems.append(f'"{_words(name)}" must be {self._type(part)}, not {_short(value)}')
        if problems:
            raise self._refusal(tool, problems)
        return Given(given)

    def _refusal(self, tool: str, problems: list[str]) -> ToolError:
        return ToolError(f"{tool}: {'; '.join(problems)}.", f"Arguments: {self.usage()}")

    def _resolved(self, given: Any) -> Mapping[str, Any]:
        """A part of the schema, in the place of a reference to it."""
        part = _table(given)
        for _ in range(_REFERENCES):
            reference = part.get("$ref")
            if not isinstance(reference, str) or not reference.startswith("#/"):
                break
            found: Any = self._whole
            for step in reference[2:].split("/", _REFERENCES):
                found = _table(found).get(step)
            there = _table(found)
            part = {key: there[key] for key in _READ if key in there} | {
                key: part[key] for key in _READ if key in part and key != "$ref"
            }
        return part

    def _type(self, part: Mapping[str, Any], depth: int = 0) -> str:
        """A type in a few words."""
        return _words(self._whole_type(part, depth))

    def _whole_type(self, part: Mapping[str, Any], depth: int) -> str:
        if isinstance(part.get("enum"), list):
            return " | ".join(map(_short, part["enum"][:_MOST_WORDS]))
        if "const" in part:
            return _short(part["const"])
        for key in ("anyOf", "oneOf"):
            if isinstance(part.get(key), list) and depth < _DEEPEST:
                kinds = [
                    self._type(self._resolved(one), depth + 1) for one in part[key][: _MOST_WORDS >> depth]
                ]
                return " or ".join(dict.fromkeys(kinds))
        kind = part.get("type")
        if isinstance(kind, list):
            return " or ".join(
                _WORDS.get(str(one), _words(one)) for one in cast("list[Any]", kind)[:_MOST_WORDS]
            )
        if kind == "array" and depth < _DEEPEST and "items" in part:
            return f"list of {self._type(self._resolved(part['items']), depth + 1)}"
        members = _table(part.get("properties"))
        if members and depth < _DEEPEST:
            return f"{{{', '.join(self._members(members, part.get('required'), depth))}}}"
        return _WORDS.get(kind, _words(kind)) if isinstance(kind, str) else "any"

    def _members(self, members: Mapping[str, Any], required: Any, depth: int) -> Iterator[str]:
        """As many of an object's as are of use: a longer text is cut, and each can be as wide again."""
        needed = cast("list[Any]", required) if isinstance(required, list) else []
        length = 0
        for name, inner in islice(members.items(), _MOST_WORDS):
            mark = "" if name in needed else "?"
            told = f"{_words(name)}{mark}: {self._type(self._resolved(inner), depth + 1)}"
            yield told
            length += len(told)
            if length > _LONGEST_MEANING:
                return


def _table(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}


def _fits(value: Any, kind: Any) -> bool:
    """Whether a value is of a plain type; of what is no plain type it is taken to be."""
    kinds = cast("list[Any]", kind) if isinstance(kind, list) else [kind]
    wanted = [_KINDS[one] for one in kinds if isinstance(one, str) and one in _KINDS]
    if not wanted or len(wanted) < len(kinds):
        return True
    if isinstance(value, bool):
        return (bool,) in wanted
    if isinstance(value, float) and value.is_integer() and (int,) in wanted:
        return True
    return isinstance(value, tuple(one for group in wanted for one in group))


def _words(value: Any) -> str:
    text = " ".join(clean(value).split()) if isinstance(value, str) else ""
    return text if len(text) <= _LONGEST_MEANING else f"{text[:_LONGEST_MEANING]}…"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return shown(text if len(text) <= 60 else f"{text[:60]}…")

"""Descriptions of a tool's arguments for the model, as text and as JSON Schema, and reports of what was wrong
with those that it gave.

Invariant: the text depends on the argument structs alone and is the same bytes each time; a report names
every wrong argument and what was expected.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeVar, cast, get_args

import msgspec
from msgspec import inspect
from msgspec.structs import FieldInfo, fields

from cogency_tui.errors import ToolError
from cogency_tui.protocol.messages import MALFORMED
from cogency_tui.tools.base import PLAIN, Spellings
from cogency_tui.tools.portable_schema import inner_meanings, portable
from cogency_tui.workspace.protected_names import shown

_LONGEST_VALUE = 60
_DEEPEST = 4
_TOOLS = 256
"""Tools whose arguments are cached."""

_INTEGER = re.compile(r"-?[0-9]{1,18}")
_LEAST_UNCLEAR = 10**18
"""Least integer that is not read as a string: it may have lost digits on the way."""
_NUMBER = re.compile(r"-?[0-9]{1,18}(?:\.[0-9]{1,18})?(?:[eE][+-]?[0-9]{1,3})?")

_VALID_JSON = "the history shows invalid JSON like this: write the arguments themselves, as valid JSON"
_WORDS = (
    ("`str` of length >= 1", "a string that is not empty"),
    ("`array`", "a list"),
    ("`object`", "an object"),
    ("`str`", "a string"),
    ("`int`", "an integer"),
    ("`float`", "a number"),
    ("`bool`", "true or false"),
    ("of length >= ", "of at least "),
    ("of length <= ", "of at most "),
    ("Invalid enum value", "unknown value"),
    ("`", ""),
)
"""Words of msgspec, each with ours."""

_WRAPPERS = ("arguments", "args", "parameters", "params", "input")
_REMARKS = frozenset({"description", "explanation", "requires_approval"})
"""Arguments in which other agents' models comment on a call: ignored where a tool has no such argument."""

Args = TypeVar("Args", bound=msgspec.Struct)


def convert(label: str, args: Any, expected: type[Args], spellings: Spellings = PLAIN) -> Args:
    """Convert decoded JSON to the argument struct; `label` begins a report of wrong arguments.

    Strict, except for other `spellings` of arguments, an object around them, null for an optional one,
    numbers and booleans written as strings, and an integer where a string is due.

    Raises:
        ToolError: naming every argument that is missing, unknown or wrong, and the right form.
    """
    if not isinstance(args, dict):
        raise _refusal(label, [f"the arguments must be an object, not {_value(args)}"], expected)
    known = _fields_of(expected)
    args = _unwrapped(cast("dict[Any, Any]", args), known, spellings)
    given, called, problems = _named(args, known, spellings)
    for name, field in known.items():
        if name in given and given[name] is None and not field.required and not _takes_null(field.type):
            del given[name]
        if name not in given:
            if field.required:
                problems.append(f'"{name}" is missing (it must be {_type_of(field)})')
            continue
        given[name] = _coerced(given[name], field.type)
        try:
            msgspec.convert(given[name], field.type, strict=True)
        except msgspec.ValidationError as error:
            spelt = "" if called[name] == name else f' (given as "{shown(called[name])}")'
            problems.append(_inner_problem(name, spelt, error) or _problem(name, spelt, field, given[name]))
    if problems:
        raise _refusal(label, problems, expected)
    try:
        return msgspec.convert(given, expected, strict=True)
    except msgspec.ValidationError as error:
        # Raised by the struct itself (`__post_init__`).
        raise _refusal(label, [str(error)], expected) from None


def own_names(
    args: Mapping[str, Any], expected: type[msgspec.Struct], spellings: Spellings
) -> dict[str, Any]:
    """Rename arguments to the tool's own names, unchecked; unknown ones stay."""
    known = _fields_of(expected)
    args = _unwrapped(args, known, spellings)
    given, called, _ = _named(args, known, spellings)
    taken = set(called.values())
    return {**given, **{key: value for key, value in args.items() if key not in taken and key not in given}}


@lru_cache(_TOOLS)
def _fields_of(expected: type[msgspec.Struct]) -> Mapping[str, FieldInfo]:
    """Return a tool's arguments by name; cached, because msgspec computes them each time."""
    return {field.encode_name: field for field in fields(expected)}


def _named(
    args: Mapping[Any, Any], known: Mapping[str, FieldInfo], spellings: Spellings
) -> tuple[dict[str, Any], dict[str, str], list[str]]:
    """Return the arguments by name, the spelling of each, and what is wrong with their names."""
    given: dict[str, Any] = dict(spellings.implied)
    called: dict[str, str] = {name: name for name in given}
    spelt: dict[str, str] = {}
    problems: list[str] = []
    unread: dict[str, Any] = {}
    for argument, value in args.items():
        key = str(argument)
        name = spellings.names.get(key, key)
        if key in spellings.read and value is not None:
            unread[key] = value
            continue
        if name in spelt:
            problems.append(_both(spelt[name], key, name))
        elif name in known:
            given[name], called[name], spelt[name] = value, key, key
        elif not spellings.ignores(key, value) and key not in _REMARKS:
            instead = _VALID_JSON if key == MALFORMED else spellings.instead.get(key)
            suggestion = f" ({instead})" if instead else _nearest(name, known)
            problems.append(f'unknown argument "{shown(key)}"{suggestion}')
    for key, value in unread.items():
        meant = spellings.read[key](value, given)
        if not meant:
            problems.append(f'unknown argument "{shown(key)}" ({spellings.instead[key]})')
        for name in meant:
            if name in spelt:
                problems.append(_both(spelt[name], key, name))
            given[name], called[name], spelt[name] = meant[name], key, key
    return given, called, problems


def _problem(name: str, spelt: str, field: FieldInfo, value: Any) -> str:
    """Report a value that is wrong as a whole: a list that has the wrong length by that."""
    is_length = isinstance(value, list) and isinstance(_described_type(field.type), inspect.ListType)
    found = f"of {len(cast('list[Any]', value))}" if is_length else _value(value)
    return f'"{name}"{spelt} must be {_type_of(field)}, not {found}'


def _inner_problem(name: str, spelt: str, error: msgspec.ValidationError) -> str:
    """Report what is wrong inside a list or an object, and where: `steps[0]: "text" is missing`; empty if the
    value is wrong as a whole."""
    text, _, path = str(error).rpartition(" - at `$")
    if not text:
        return ""
    place = f"{name}{shown(path.removesuffix('`'))}{spelt}"
    if found := re.fullmatch(r"Object missing required field `(.*)`", text):
        return f'{place}: "{found[1]}" is missing'
    if found := re.fullmatch(r"Object contains unknown field `(.*)`", text, re.DOTALL):
        return f'{place}: unknown argument "{shown(found[1])}"'
    for theirs, ours in _WORDS:
        text = text.replace(theirs, ours)
    return f"{place}: {shown(text[:1].lower() + text[1:])}"


def _both(one: str, other: str, name: str) -> str:
    return f'"{shown(one)}" and "{shown(other)}" both mean "{name}": give one of them'


def _unwrapped(
    args: Mapping[Any, Any], known: Mapping[str, FieldInfo], spellings: Spellings
) -> Mapping[Any, Any]:
    """Return the arguments that are the value of an only key: one that the tool does not have, or that of
    malformed arguments in a request."""
    key = next(iter(args)) if len(args) == 1 else None
    if key not in (*_WRAPPERS, MALFORMED) or key in known or key in spellings.names:
        return args
    value = args[key]
    if isinstance(value, str):
        try:
            value = msgspec.json.decode(value)
        except (ValueError, RecursionError):
            return args
    return cast("dict[Any, Any]", value) if isinstance(value, dict) else args


@lru_cache(_TOOLS)
def _takes_null(kind: Any) -> bool:
    found = inspect.type_info(kind)
    while isinstance(found, inspect.Metadata):
        found = found.type
    kinds = found.types if isinstance(found, inspect.UnionType) else (found,)
    return any(isinstance(one, inspect.NoneType | inspect.AnyType) for one in kinds)


def _coerced(value: Any, kind: Any) -> Any:
    """Convert a number or boolean that is written as a string where no string is wanted, an integer that is
    written as a float, a boolean that is written as 0 or 1, and a string that is written as an integer."""
    if not isinstance(value, str | float | int):
        return value
    found = _described_type(kind)
    if isinstance(value, int):
        if isinstance(found, inspect.StrType) and type(value) is int and abs(value) < _LEAST_UNCLEAR:
            return str(value)
        return bool(value) if isinstance(found, inspect.BoolType) and value in (0, 1) else value
    if isinstance(value, float):
        return int(value) if isinstance(found, inspect.IntType) and value.is_integer() else value
    if isinstance(found, inspect.BoolType):
        return {"true": True, "false": False}.get(value.casefold(), value)
    if isinstance(found, inspect.IntType) and _INTEGER.fullmatch(value):
        return int(value)
    if isinstance(found, inspect.FloatType) and _NUMBER.fullmatch(value):
        return float(value)
    return value


@lru_cache(_TOOLS)
def usage(expected: type[msgspec.Struct]) -> str:
    """Format the right form on one line: `file: str, [start: int = 1]`."""
    found = inspect.type_info(expected)
    return _members(found.fields, 0) if isinstance(found, inspect.StructType) else ""


@lru_cache(_TOOLS)
def described(expected: type[msgspec.Struct]) -> str:
    """Describe each argument on a line: name, type with its range, default, meaning.

    The lines below it are the meanings of the fields of structs that it holds.
    """
    return _text(expected, json_schema(expected)["properties"])


def _text(expected: type[msgspec.Struct], schemas: Mapping[str, Mapping[str, Any]]) -> str:
    lines: list[str] = []
    for field in fields(expected):
        default = _default(field.default)
        need = "" if field.required else (f", default {default}" if default else ", optional")
        meaning = _meaning(field)
        lines.append(
            f"- {field.encode_name}: {_limits(field.type)}{need}{f' — {meaning}' if meaning else ''}"
        )
        lines.extend(inner_meanings(schemas.get(field.encode_name, {})))
    return "\n".join(lines)


def json_schema(expected: type[msgspec.Struct]) -> dict[str, Any]:
    """Return the JSON Schema of the arguments, in the subset that every vendor accepts.

    It has no `$ref`: nested structs are inlined, and a struct that contains itself is an object there. Empty
    defaults are left out: it is clear from the rest that these arguments are optional.
    """
    return msgspec.json.decode(_encoded_schema(expected))


@lru_cache(_TOOLS)
def _encoded_schema(expected: type[msgspec.Struct]) -> bytes:
    """Encode the schema: a decoded copy for each caller can be changed by it."""
    whole = msgspec.json.schema(expected, schema_hook=_schema_of_custom_type)
    top = whole["$defs"][whole["$ref"].rpartition("/")[2]]
    # `convert` refuses unknown arguments. The docstring is not for the model: the tool describes itself.
    top["additionalProperties"] = False
    top.pop("description", None)
    return msgspec.json.encode(_without_empty_defaults(portable(whole, lambda: _text(expected, {}))))


def _without_empty_defaults(part: Any) -> Any:
    if isinstance(part, list):
        return [_without_empty_defaults(each) for each in cast("list[Any]", part)]
    if not isinstance(part, dict):
        return part
    return {
        key: _without_empty_defaults(value)
        for key, value in cast("dict[str, Any]", part).items()
        if key != "default" or value not in ("", False)
    }


def _schema_of_custom_type(kind: type) -> dict[str, Any]:
    return {"description": kind.__name__}


def _refusal(label: str, problems: list[str], expected: type[msgspec.Struct]) -> ToolError:
    form = usage(expected) or "none"
    return ToolError(f"{label}: {'; '.join(problems)}.", f"Arguments: {form}")


def _nearest(name: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, list(known), n=1)
    return f' (did you mean "{near[0]}"?)' if near else ""


def _value(value: Any) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        text = repr(value)
    return shown(text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}…")


def _default(value: Any) -> str:
    if value is msgspec.NODEFAULT or value is None:
        return ""
    return json.dumps(msgspec.to_builtins(value), ensure_ascii=False)


def _meaning(field: FieldInfo) -> str:
    for part in (field.type, *get_args(field.type)):
        for meta in getattr(part, "__metadata__", ()):
            if isinstance(meta, msgspec.Meta) and meta.description:
                return meta.description
    return ""


def _described_type(kind: Any) -> inspect.Type:
    return _plain_type(inspect.type_info(kind))


def _plain_type(found: inspect.Type) -> inspect.Type:
    """Return a type without its annotations and without null."""
    while isinstance(found, inspect.Metadata):
        found = found.type
    if isinstance(found, inspect.UnionType):
        kinds = [one for one in found.types if not isinstance(one, inspect.NoneType)]
        if len(kinds) == 1:
            return _plain_type(kinds[0])
    return found


def _short(kind: Any) -> str:
    """Name the type for a usage line."""
    return _named_type(inspect.type_info(kind), 0)


def _named_type(found: inspect.Type, depth: int) -> str:
    """Name a type in a few words, with the fields of nested objects down to `_DEEPEST` levels."""
    found = _plain_type(found)
    if isinstance(found, inspect.LiteralType):
        return " | ".join(json.dumps(value) for value in found.values)
    if isinstance(found, inspect.EnumType):
        return " | ".join(json.dumps(member.value) for member in found.cls)
    if isinstance(found, inspect.CustomType):
        return found.cls.__name__
    if isinstance(found, inspect.UnionType):
        kinds = [one for one in found.types if not isinstance(one, inspect.NoneType)]
        return " or ".join(dict.fromkeys(_named_type(one, depth) for one in kinds))
    if isinstance(found, inspect.CollectionType):
        inner = "" if depth >= _DEEPEST else _inner(found.item_type, depth)
        return f"list{inner and f' of {inner}'}"
    if isinstance(found, inspect.DictType):
        inner = "" if depth >= _DEEPEST else _inner(found.value_type, depth)
        return f"object{inner and f' of {inner}'}"
    if isinstance(found, inspect.TupleType):
        return f"[{', '.join(_named_type(each, depth + 1) for each in found.item_types)}]"
    if isinstance(found, inspect.NamedTupleType):
        return "list" if depth >= _DEEPEST else f"[{_members(found.fields, depth + 1)}]"
    if isinstance(found, inspect.StructType | inspect.TypedDictType | inspect.DataclassType):
        return "object" if depth >= _DEEPEST else f"{{{_tag(found)}{_members(found.fields, depth + 1)}}}"
    names: tuple[tuple[type[inspect.Type], str], ...] = (
        (inspect.BoolType, "bool"),
        (inspect.IntType, "int"),
        (inspect.FloatType, "float"),
        (inspect.StrType, "str"),
    )
    other = type(found).__name__.removesuffix("Type").casefold()
    return next((name for known, name in names if isinstance(found, known)), other)


def _inner(found: inspect.Type, depth: int) -> str:
    """Name the type of a list's or an object's items; empty where that may be anything."""
    return "" if isinstance(found, inspect.AnyType) else _named_type(found, depth + 1)


def _tag(found: inspect.Type) -> str:
    """Format the field that tells a struct from others; empty where it has none."""
    if not isinstance(found, inspect.StructType) or found.tag_field is None:
        return ""
    return f"{found.tag_field}: {json.dumps(found.tag)}{', ' if found.fields else ''}"


def _members(members: Sequence[inspect.Field], depth: int) -> str:
    """Format fields: `file: str, [start: int = 1]`."""
    parts: list[str] = []
    for field in members:
        text = f"{field.encode_name}: {_named_type(field.type, depth)}"
        if field.required:
            parts.append(text)
        else:
            default = _default(field.default)
            parts.append(f"[{text} = {default}]" if default else f"[{text}]")
    return ", ".join(parts)


def _limits(kind: Any) -> str:
    """Name the type with its range."""
    found = _described_type(kind)
    if isinstance(found, inspect.IntType | inspect.FloatType):
        if found.ge is not None and found.le is not None:
            return f"{_short(kind)} {found.ge} to {found.le}"
        if found.ge is not None:
            return f"{_short(kind)} ≥ {found.ge}"
        if found.le is not None:
            return f"{_short(kind)} ≤ {found.le}"
    return _short(kind)


def _type_of(field: FieldInfo) -> str:
    """Describe an argument in words, with its unit where its meaning begins with one."""
    unit = ", in seconds" if _meaning(field).startswith("seconds ") else ""
    return f"{_expected(field.type)}{unit}"


def _expected(kind: Any) -> str:
    """Describe a value of this type in words."""
    found = _described_type(kind)
    if isinstance(found, inspect.IntType | inspect.FloatType):
        noun = "an integer" if isinstance(found, inspect.IntType) else "a number"
        if found.ge is not None and found.le is not None:
            return f"{noun} from {found.ge} to {found.le}"
        if found.ge is not None:
            return f"{noun} of at least {found.ge}"
        return f"{noun} of at most {found.le}" if found.le is not None else noun
    if isinstance(found, inspect.StrType):
        if found.max_length is not None:
            return f"a string of at most {found.max_length:,} characters"
        return "a string that is not empty" if found.min_length else "a string"
    if isinstance(found, inspect.ListType) and found.min_length and found.max_length:
        return f"a list of {found.min_length} to {found.max_length}"
    if isinstance(found, inspect.LiteralType):
        return f"one of {', '.join(json.dumps(value) for value in found.values)}"
    words: tuple[tuple[type[inspect.Type], str], ...] = (
        (inspect.BoolType, "true or false"),
        (inspect.ListType, "a list"),
        (inspect.DictType, "an object"),
        (inspect.StructType, "an object"),
        (inspect.AnyType, "any JSON value"),
    )
    return next((text for known, text in words if isinstance(found, known)), f"of the type {_short(kind)}")

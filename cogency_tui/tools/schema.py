"""The arguments of a tool as a model reads them, and what was wrong with those that it gave.

Invariant: the text depends on the argument structs alone and is the same bytes each time; every wrong
argument is named, with what was expected in its place.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, cast, get_args

import msgspec
from msgspec import inspect
from msgspec.structs import FieldInfo, fields

from cogency_tui.errors import ToolError
from cogency_tui.workspace.names import shown

_LONGEST_VALUE = 60

Args = TypeVar("Args", bound=msgspec.Struct)


def convert(tool: str, args: Any, wanted: type[Args], aliases: Mapping[str, str]) -> Args:
    """Make the argument struct from decoded JSON, strictly.

    Raises:
        ToolError: naming every argument that is missing, unknown or wrong, and the right form.
    """
    if not isinstance(args, dict):
        raise _refusal(tool, [f"the arguments must be an object, not {_value(args)}"], wanted)
    arguments = cast("dict[Any, Any]", args)
    known = {field.encode_name: field for field in fields(wanted)}
    given: dict[str, Any] = {}
    problems: list[str] = []
    for key, value in arguments.items():
        name = aliases.get(str(key), str(key))
        if name not in known:
            problems.append(f'unknown argument "{shown(name)}"{_nearest(name, known)}')
        elif name in given:
            problems.append(f'"{name}" is given twice')
        else:
            given[name] = value
    for name, field in known.items():
        if name not in given:
            if field.required:
                problems.append(f'"{name}" is missing (it must be {_expected(field.type)})')
            continue
        try:
            msgspec.convert(given[name], field.type, strict=True)
        except msgspec.ValidationError as error:
            inner = f" ({error})" if "`$" in str(error) else ""
            problems.append(f'"{name}" must be {_expected(field.type)}, not {_value(given[name])}{inner}')
    if problems:
        raise _refusal(tool, problems, wanted)
    try:
        return msgspec.convert(given, wanted, strict=True)
    except msgspec.ValidationError as error:
        # What a struct checks as a whole (__post_init__).
        raise _refusal(tool, [str(error)], wanted) from None


def usage(wanted: type[msgspec.Struct]) -> str:
    """The right form on one line: `file: str, [start: int = 1]`."""
    parts: list[str] = []
    for field in fields(wanted):
        text = f"{field.encode_name}: {_short(field.type)}"
        if field.required:
            parts.append(text)
        else:
            default = _default(field)
            parts.append(f"[{text} = {default}]" if default else f"[{text}]")
    return ", ".join(parts)


def described(wanted: type[msgspec.Struct]) -> str:
    """One line for each argument: name, type with its range, default, meaning."""
    lines: list[str] = []
    for field in fields(wanted):
        default = _default(field)
        need = "" if field.required else (f", default {default}" if default else ", optional")
        meaning = _meaning(field)
        lines.append(
            f"- {field.encode_name}: {_limits(field.type)}{need}{f' — {meaning}' if meaning else ''}"
        )
    return "\n".join(lines)


def _refusal(tool: str, problems: list[str], wanted: type[msgspec.Struct]) -> ToolError:
    form = usage(wanted) or "none"
    return ToolError(f"{tool}: {'; '.join(problems)}.", f"Arguments: {form}")


def _nearest(name: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, list(known), n=1)
    return f', did you mean "{near[0]}"?' if near else ""


def _value(value: Any) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        text = repr(value)
    return shown(text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}…")


def _default(field: FieldInfo) -> str:
    if field.default is msgspec.NODEFAULT or field.default is None:
        return ""
    return json.dumps(field.default, ensure_ascii=False)


def _meaning(field: FieldInfo) -> str:
    for part in (field.type, *get_args(field.type)):
        for meta in getattr(part, "__metadata__", ()):
            if isinstance(meta, msgspec.Meta) and meta.description:
                return meta.description
    return ""


def _described_type(kind: Any) -> inspect.Type:
    found = inspect.type_info(kind)
    while isinstance(found, inspect.Metadata):
        found = found.type
    if isinstance(found, inspect.UnionType):
        kinds = [one for one in found.types if not isinstance(one, inspect.NoneType)]
        if len(kinds) == 1:
            return kinds[0]
    return found


def _short(kind: Any) -> str:
    """The type's name in a usage line."""
    found = _described_type(kind)
    names: tuple[tuple[type[inspect.Type], str], ...] = (
        (inspect.BoolType, "bool"),
        (inspect.IntType, "int"),
        (inspect.FloatType, "float"),
        (inspect.StrType, "str"),
        (inspect.ListType, "list"),
        (inspect.DictType, "object"),
        (inspect.StructType, "object"),
        (inspect.AnyType, "any"),
    )
    if isinstance(found, inspect.LiteralType):
        return " | ".join(json.dumps(value) for value in found.values)
    return next((name for known, name in names if isinstance(found, known)), getattr(kind, "__name__", "any"))


def _limits(kind: Any) -> str:
    """The type's name with its range."""
    found = _described_type(kind)
    if isinstance(found, inspect.IntType | inspect.FloatType):
        if found.ge is not None and found.le is not None:
            return f"{_short(kind)} {found.ge} to {found.le}"
        if found.ge is not None:
            return f"{_short(kind)} ≥ {found.ge}"
        if found.le is not None:
            return f"{_short(kind)} ≤ {found.le}"
    return _short(kind)


def _expected(kind: Any) -> str:
    """What a value of this type is, in words."""
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

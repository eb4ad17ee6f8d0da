"""`$name` in the action dialect: the result of an earlier action, by its `output_key`.

Only declared names count; every other `$…` is text. `$$name` is the text `$name`. An argument that a tool
receives with an environment is not replaced: the names stay, and their values are passed with the call.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, cast

from cogency_tui.errors import ToolError

LONGEST = 32 << 20
"""Characters that the values of names may add in one call, and in one answer."""

_NAME = re.compile(r"(\$?)\$([A-Za-z_]\w*)")
_VARIABLE = re.compile(r"(\$?)\$(\{[#!]?)?([A-Za-z_][A-Za-z0-9_]*)", re.ASCII)
"""The shell's syntax: also in braces, and of ASCII letters."""

_UNFINISHED = re.compile(r"\$\$?([A-Za-z_]\w*)?\Z")


def names_in(value: Any, declared: Collection[str]) -> set[str]:
    """The declared names in a JSON value."""
    if isinstance(value, str):
        return {found[2] for found in _NAME.finditer(value) if not found[1] and found[2] in declared}
    return set[str]().union(*(names_in(part, declared) for part in _parts(value)))


def substitute(value: Any, values: Mapping[str, Any], declared: Collection[str] = ()) -> Any:
    """`value` with its names replaced: a whole string by the value itself, within a string as text.

    `declared` are further names, which have no value here but make `$$name` the text `$name`.

    Raises:
        ToolError: the values would come to more than `LONGEST` characters.
    """
    _check_length(value, values)
    return _substituted(value, values, declared)


def _substituted(value: Any, values: Mapping[str, Any], declared: Collection[str]) -> Any:
    if isinstance(value, str):
        whole = _NAME.fullmatch(value)
        if whole and not whole[1] and whole[2] in values:
            return values[whole[2]]
        return _NAME.sub(lambda found: _replacement(found, values, declared), value)
    if isinstance(value, list):
        return [_substituted(item, values, declared) for item in cast("list[Any]", value)]
    if isinstance(value, dict):
        items = cast("dict[str, Any]", value).items()
        return {key: _substituted(item, values, declared) for key, item in items}
    return value


def names_in_call(args: Any, declared: Collection[str], environment: Collection[str]) -> set[str]:
    """The declared names in the arguments of a call; `environment` names those with an environment."""
    if not isinstance(args, dict):
        return names_in(args, declared)
    items = cast("dict[str, Any]", args).items()
    return set[str]().union(
        *(
            _variables_in(value, declared) if key in environment else names_in(value, declared)
            for key, value in items
        )
    )


def substitute_call(
    args: Any, values: Mapping[str, Any], declared: Collection[str], environment: Collection[str]
) -> tuple[Any, dict[str, str]]:
    """The arguments of a call with their names replaced, and the values for its environment, as text.

    Raises:
        ToolError: the values would come to more than `LONGEST` characters.
    """
    if not isinstance(args, dict):
        return substitute(args, values, declared), {}
    items = cast("dict[str, Any]", args).items()
    _check_length([value for key, value in items if key not in environment], values)
    replaced: dict[str, Any] = {}
    variables: dict[str, str] = {}
    for key, value in items:
        if key in environment:
            replaced[key] = _unescaped(value, declared)
            variables |= {name: as_text(values[name]) for name in _variables_in(value, values)}
        else:
            replaced[key] = _substituted(value, values, declared)
    return replaced, variables


def as_text(value: Any) -> str:
    """A value within a text: a string as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def mentioned_in(value: Any) -> set[str]:
    """Every name in a JSON value, declared or not, escaped or not."""
    return {name for text in _texts(value) for name in _names(text)}


def _names(text: str) -> Iterator[str]:
    if "$" in text:
        yield from (found[2] for found in _NAME.finditer(text))
        yield from (found[3] for found in _VARIABLE.finditer(text))


def _check_length(value: Any, values: Mapping[str, Any]) -> None:
    """Limit the total length of the inserted values.

    Raises:
        ToolError: it is more than `LONGEST` characters.
    """
    if not values:
        return
    counts = Counter(
        found[2]
        for text in _texts(value)
        for found in _NAME.finditer(text)
        if not found[1] and found[2] in values
    )
    length = sum(count * len(as_text(values[name])) for name, count in counts.items())
    if length > LONGEST:
        names = ", ".join(f"${name}" for name in sorted(counts))
        raise ToolError(
            f"With the values of {names} the arguments have {length:,} characters; the limit is {LONGEST:,}."
        )


def _texts(value: Any) -> Iterator[str]:
    """The strings in a JSON value, keys left out."""
    if isinstance(value, str):
        yield value
    for part in _parts(value):
        yield from _texts(part)


def _replacement(found: re.Match[str], values: Mapping[str, Any], declared: Collection[str]) -> str:
    name = found[2]
    if found[1]:
        return f"${name}" if name in values or name in declared else found[0]
    return as_text(values[name]) if name in values else found[0]


def _variables_in(value: Any, declared: Collection[str]) -> set[str]:
    if not isinstance(value, str):
        return set()
    return {found[3] for found in _VARIABLE.finditer(value) if not found[1] and found[3] in declared}


def _unescaped(value: Any, declared: Collection[str]) -> Any:
    if not isinstance(value, str):
        return value
    return _VARIABLE.sub(lambda found: found[0][1:] if found[1] and found[3] in declared else found[0], value)


def _parts(value: Any) -> list[Any]:
    if isinstance(value, list):
        return cast("list[Any]", value)
    return list(cast("dict[str, Any]", value).values()) if isinstance(value, dict) else []


class StreamedText:
    """Answer text in pieces, with its names replaced.

    The text before a name whose value is pending is released at once; the rest waits.
    """

    def __init__(
        self, declared: Callable[[], Collection[str]], value_of: Callable[[str], str | None]
    ) -> None:
        self._declared = declared
        self._value_of = value_of
        self._held: list[str] = []
        self._awaited = ""
        self._room = LONGEST
        self.waiting = False
        """True if text is held back for a pending value."""

    def feed(self, text: str) -> str:
        """Add a piece; return the text that can be released now."""
        self._held.append(text)
        return "" if self.waiting else self._take(closing=False)

    def retry(self) -> str:
        """The text that can be released since a value has arrived."""
        if not self.waiting or self._value_of(self._awaited) is None:
            return ""
        return self._take(closing=False)

    def close(self) -> str:
        """End the unit: only text that waits for a value is still held back."""
        return self._take(closing=True)

    def give_up(self) -> str:
        """The text that is still held back, as it was written: the value will never come."""
        text = "".join(self._held)
        self._held.clear()
        self.waiting = False
        return text

    def _take(self, *, closing: bool) -> str:
        text = "".join(self._held)
        self._held.clear()
        self.waiting = False
        declared = self._declared()
        pieces: list[str] = []
        index = 0
        for found in _NAME.finditer(text):
            if found.end() == len(text) and not closing:
                break
            if found[2] not in declared:
                continue
            value = f"${found[2]}" if found[1] else self._value_of(found[2])
            if value is None:
                self.waiting = True
                self._awaited = found[2]
                self._held.append(text[found.start() :])
                return "".join([*pieces, text[index : found.start()]])
            # Beyond the limit, names are left as they are.
            value = value if len(value) <= self._room else found[0]
            self._room -= len(value)
            pieces += [text[index : found.start()], value]
            index = found.end()
        unfinished = None if closing else _UNFINISHED.search(text, index)
        # Text that begins no declared name is released at once.
        held = unfinished and any(name.startswith(unfinished[1] or "") for name in declared)
        stop = unfinished.start() if unfinished and held else len(text)
        if stop < len(text):
            self._held.append(text[stop:])
        return "".join([*pieces, text[index:stop]])

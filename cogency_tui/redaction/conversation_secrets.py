"""Secrets in the events of a conversation: the values of secret files that its calls read or write, wherever
the conversation repeats them.

A call touches a secret file if an argument is the file's path, if a command or a patch names it, or if a line
of its result begins with it, as a search shows matches.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, cast

from cogency_tui.redaction.markers import MARKER, MARKERS, replaced
from cogency_tui.redaction.redact import has_secret, secrets_of
from cogency_tui.redaction.remembered_secrets import KnownSecrets
from cogency_tui.redaction.secret_files import is_secret_file
from cogency_tui.redaction.secret_values import is_ordinary

_SHORTEST = 6
_LONGEST_WORD = 12
_LONGEST_PATH = 4096
_LONGEST_SUMMARY = 1024
"""Characters of a text that may be a summary of another, cut within a value."""

_COMMANDS = ("command", "cmd", "script")
_PATCHES = ("patch", "diff", "input")
_REPLACED = ("old", "new", "old_string", "new_string", "oldString", "newString")
"""Arguments that may be a value alone."""

_WORD = re.compile(r"[\w@%+.,~/-]{1,512}")
_PATCHED = re.compile(r"^(?:\*\*\* [A-Z]\w* File: |\+\+\+ |--- )(\S+)", re.MULTILINE)
_FOUND = re.compile(r"^([\w@%+.,~/-]{1,512}):(?:\d{1,9}[:-])?(.*)$", re.MULTILINE)
_LINE_START = re.compile(r"^(?:[ \t]*\d{1,9}(?:→|\t|:[ \t]?|[ \t]*\|[ \t]?)|[+-])", re.MULTILINE)
"""A line's number, as programs show files with it, or its sign in a diff."""

_SHELL_BREAK = re.compile(r"[\s;&|<>()'\"]+|\\n")
_FIXED = ("type", "id", "timestamp", "cycle", "tool", "state", "duration", "error")
"""Fields of an event without a text of the conversation's."""


class ConversationSecrets:
    """The values of secret files in the `events` of a conversation, which a marker replaces.

    A value that may be an ordinary word is hidden only where a call shows the file.
    """

    def __init__(self, events: Iterable[Mapping[str, Any]]) -> None:
        self._touched: dict[str, str] = {}
        """The secret file of each call that touches one, by its id."""
        found = {value for event in events for value in self._found(event)}
        words = {value for value in found if _may_be_word(value)}
        self._everywhere, self._in_file = _Values(found - words), _Values(found)

    def text(self, text: str) -> str:
        """Redact a text; each line stays at its position."""
        return self._everywhere.hidden(text)

    def are_in_file(self, text: str, path: str) -> bool:
        """Return whether the text of a file has one of the values, or, of a secret file, any secret."""
        if is_secret_file(path):
            return self._in_file.are_in(text) or has_secret(text, path)
        return self._everywhere.are_in(text)

    def event(self, event: Mapping[str, Any]) -> dict[str, Any]:
        """Redact an event, the content of a call within its JSON; the model's own text is dropped where it
        has a secret."""
        shows = event.get("id") in self._touched or (event.get("ran") and self._touched_by(event["ran"]))
        values = self._in_file if shows else self._everywhere
        if not values:
            return dict(event)
        hidden = {name: value if name in _FIXED else _value(value, values) for name, value in event.items()}
        if event["type"] == "call":
            hidden["content"] = _json_text(event["content"], values)
            if hidden.get("raw") != event.get("raw"):
                del hidden["raw"]
        return hidden

    def _found(self, event: Mapping[str, Any]) -> Iterator[str]:
        match event["type"]:
            case "call":
                args = _arguments(event.get("content"))
                if file := _secret_file(args):
                    self._touched[event["id"]] = file
                    yield from _given(args, file)
            case "result":
                content = event["payload"].get("content")
                yield from _shown(_texts(content), self._touched.get(event["id"], ""))
            case "user" if ran := event.get("ran"):
                if file := self._touched_by(ran):
                    yield from _given({"command": ran["command"]}, file)
                yield from _shown([ran["output"]], file)
            case _:
                pass

    @staticmethod
    def _touched_by(ran: Mapping[str, Any]) -> str:
        return _secret_file({"command": ran["command"]})


class _Values:
    """Values that a marker replaces, the longer ones first; in a summary, also their pieces."""

    def __init__(self, values: set[str]) -> None:
        longest = sorted(values, key=lambda value: (-len(value), value))
        self._pattern = re.compile("|".join(map(_form, longest)))
        self._pieces = KnownSecrets()
        for value in longest:
            self._pieces.learn(value, [(0, len(value))])

    def __bool__(self) -> bool:
        return bool(self._pattern.pattern)

    def are_in(self, text: str) -> bool:
        return bool(self) and self._pattern.search(text) is not None

    def hidden(self, text: str) -> str:
        """Return a text with the values replaced; each line stays at its position."""
        if not self:
            return text
        text = self._pattern.sub(lambda found: "\n".join([MARKER] * (found[0].count("\n") + 1)), text)
        return replaced(text, self._pieces.spans(text)) if len(text) <= _LONGEST_SUMMARY else text


def is_form_of(stored: str, text: str) -> bool:
    """Return whether `stored` is the beginning of a text, or has markers in place of secrets in it."""
    first, *others = MARKERS.split(stored)
    if not text.startswith(first):
        return False
    at = len(first)
    for piece in others:
        at = text.find(piece, at)
        if at < 0:
            return False
        at += len(piece)
    return True


def _form(value: str) -> str:
    """Return the pattern of a value, which may not be part of a word."""
    return rf"(?<!\w){re.escape(value)}(?!\w)" if value.isalnum() else re.escape(value)


def _value(value: Any, values: _Values) -> Any:
    if isinstance(value, str):
        return values.hidden(value)
    if isinstance(value, list):
        return [_value(each, values) for each in cast("list[Any]", value)]
    if isinstance(value, dict):
        return {name: _value(each, values) for name, each in cast("dict[str, Any]", value).items()}
    return value


def _json_text(text: str, values: _Values) -> str:
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        return values.hidden(text)
    hidden = _value(parsed, values)
    return text if hidden == parsed else json.dumps(hidden, ensure_ascii=text.isascii())


def _may_be_word(value: str) -> bool:
    return len(value) < _LONGEST_WORD and value.isalpha() and value.islower()


def _arguments(content: Any) -> dict[str, Any]:
    """Return the arguments of a call; none where they are no JSON object."""
    call: Any = None
    with suppress(ValueError, RecursionError, TypeError):
        call = json.loads(content)
    args: Any = cast("dict[str, Any]", call).get("args") if isinstance(call, dict) else None
    return cast("dict[str, Any]", args) if isinstance(args, dict) else {}


def _secret_file(args: Mapping[str, Any]) -> str:
    """Return the secret file that a call touches; empty for none."""
    for name, value in args.items():
        for text in _texts(value):
            if name in _COMMANDS:
                named = _WORD.findall(text)
            elif name in _PATCHES:
                named = _PATCHED.findall(text)
            else:
                named = [text] if len(text) <= _LONGEST_PATH and not re.search(r"\s", text) else []
            if file := next(filter(is_secret_file, named), ""):
                return file
    return ""


def _given(args: Mapping[str, Any], file: str) -> Iterator[str]:
    """Yield the values in the arguments of a call that touches a secret file."""
    for name, value in args.items():
        for text in _texts(value):
            yield from _values(text, file)
            if name in _COMMANDS:
                yield from _values(_SHELL_BREAK.sub("\n", text), file)
            elif name in _REPLACED and _is_lone_value(text):
                yield text.strip()


def _shown(texts: Iterable[str], file: str) -> Iterator[str]:
    """Yield the values in a result; `file` is the secret file that its call touches."""
    for text in texts:
        if file:
            yield from _values(text, file)
        for found in _FOUND.finditer(text):
            if is_secret_file(found[1]):
                yield from _values(found[2], found[1])


def _values(text: str, file: str) -> Iterator[str]:
    """Yield the values of a secret file that a text shows, maybe with the numbers of its lines."""
    for form in {text, _LINE_START.sub("", text)}:
        for start, end in secrets_of(form, file=file):
            value = form[start:end].strip()
            if len(value) >= _SHORTEST and not MARKERS.search(value):
                yield value


def _is_lone_value(text: str) -> bool:
    value = text.strip()
    return len(value) >= _SHORTEST and not re.search(r"[\s=:]", value) and not is_ordinary(value)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for each in cast("list[Any]", value):
            yield from _texts(each)
    elif isinstance(value, dict):
        for each in cast("dict[str, Any]", value).values():
            yield from _texts(each)

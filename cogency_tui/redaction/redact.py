"""The redaction of whole texts."""

import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any, cast

from cogency_tui.redaction.command_line_passwords import command_line_passwords
from cogency_tui.redaction.contextual_secrets import secrets_by_context
from cogency_tui.redaction.environment_secrets import Veil
from cogency_tui.redaction.issuers import issued_keys
from cogency_tui.redaction.markers import MARKER, replaced
from cogency_tui.redaction.named_values import is_named_secret, named_values
from cogency_tui.redaction.private_keys import PEM_BEGIN, parts_of_private_keys, whole_private_keys
from cogency_tui.redaction.remembered_secrets import KnownSecrets
from cogency_tui.redaction.secret_files import is_secret_file, secrets_in_secret_file
from cogency_tui.redaction.secret_spans import Span, merged

_LITERAL = re.compile(r'"((?:[^"\\]|\\.)*+)"')
"""A text within JSON text."""


def has_secret(text: str, file: str = "") -> bool:
    """Return whether a text, of the file at this path, contains something that looks like a secret."""
    return bool(secrets_of(text, file=file))


class Redactor:
    """Replaces the values of `secrets`, `known` ones, and text that looks like a secret."""

    def __init__(self, secrets: Mapping[str, str], known: KnownSecrets | None = None) -> None:
        self._own = Veil(secrets)
        self._known = KnownSecrets() if known is None else known

    def text(self, text: str, *, whole: bool = False, file: str = "") -> str:
        """Redact a text; each line stays at its position. A text from `whole` files, which were redacted
        before, has no parts of private keys. `file` is the path of the text's file."""
        text = self._own.over(text)
        return replaced(text, secrets_of(text, parts=not whole, file=file, known=self._known))

    def value(self, value: Any, *, whole: bool = False, file: str = "") -> Any:
        """Redact all texts of JSON content; `whole` and `file` are as in `text`. A secret of one of them, or
        a piece of it, is hidden in all: in a summary, it may lack the surroundings that reveal it."""
        found = KnownSecrets()
        redacted = self._value(value, found, whole=whole, file=file)
        return _without_pieces(redacted, found) if found else redacted

    def _value(self, value: Any, found: KnownSecrets, *, whole: bool = False, file: str = "") -> Any:
        """Redact each text by itself; its secrets are `found`."""
        if isinstance(value, str):
            text = self._own.over(value)
            spans = secrets_of(text, parts=not whole, file=file, known=self._known)
            found.learn(text, spans)
            return replaced(text, spans)
        if isinstance(value, list):
            return [self._value(each, found, whole=whole, file=file) for each in cast("list[Any]", value)]
        if isinstance(value, dict):
            fields = cast("dict[Any, Any]", value)
            redacted = {
                self._value(name, found, whole=whole): self._field(name, each, found, whole=whole, file=file)
                for name, each in fields.items()
            }
            return self._call(fields, redacted, found) if fields.get("type") == "call" else redacted
        return value

    def _json_text(self, text: str, found: KnownSecrets) -> str:
        """Redact within the texts of JSON text, which remains JSON of the same structure."""
        try:
            parsed = json.loads(text)
            redacted = self._value(parsed, found)
            if redacted != parsed:
                text = json.dumps(redacted, ensure_ascii=text.isascii())
        except (ValueError, RecursionError):
            return self._value(text, found)
        # A name and its secret may be two texts of a list.
        spans = secrets_of(text)
        found.learn(text, spans)
        return _replaced_in_literals(text, spans)

    def _call(self, call: dict[Any, Any], redacted: dict[Any, Any], found: KnownSecrets) -> dict[Any, Any]:
        """Redact the content of a call event within its JSON; the model's own text is dropped where it
        contains a secret."""
        if isinstance(content := call.get("content"), str):
            redacted["content"] = self._json_text(content, found)
        if redacted.get("raw") != call.get("raw"):
            del redacted["raw"]
        return redacted

    def _field(self, name: Any, value: Any, found: KnownSecrets, *, whole: bool, file: str) -> Any:
        if isinstance(value, list):
            return [
                self._field(name, each, found, whole=whole, file=file) for each in cast("list[Any]", value)
            ]
        if isinstance(name, str) and isinstance(value, str) and is_named_secret(name, value):
            found.learn(value, [(0, len(value))])
            return MARKER
        return self._value(value, found, whole=whole, file=file)


def secrets_of(
    text: str, *, parts: bool = True, public: bool = False, file: str = "", known: KnownSecrets | None = None
) -> list[Span]:
    """Return the secrets of a text, in order and without overlap, none over the end of a line. With
    `parts`, includes those of private keys that were cut; `public` means that the text continues a
    certificate or the like; `file` is the path of the text's file."""
    found = [
        *issued_keys(text),
        *secrets_by_context(text),
        *command_line_passwords(text),
        *named_values(text),
    ]
    if is_secret_file(file):
        found += secrets_in_secret_file(text, file)
    if PEM_BEGIN in text:
        found += whole_private_keys(text)
    if known:
        found += known.spans(text)
    if parts:
        found += parts_of_private_keys(text, public=public)
    return merged(sorted(found))


def _without_pieces(value: Any, secrets: KnownSecrets) -> Any:
    """Replace the pieces of `secrets` in all texts of JSON content."""
    if isinstance(value, str):
        return replaced(value, secrets.spans(value))
    if isinstance(value, list):
        return [_without_pieces(each, secrets) for each in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    fields = cast("dict[Any, Any]", value)
    hidden = {_without_pieces(name, secrets): _without_pieces(each, secrets) for name, each in fields.items()}
    if fields.get("type") == "call":
        if isinstance(content := fields.get("content"), str):
            hidden["content"] = _replaced_in_literals(content, [*secrets.spans(content)])
        if hidden.get("raw") != fields.get("raw"):
            del hidden["raw"]
    return hidden


def _replaced_in_literals(text: str, spans: Sequence[Span]) -> str:
    """Replace secrets of JSON text where they are in its texts; its structure stays."""
    pieces: list[str] = []
    done = 0
    for found in _LITERAL.finditer(text) if spans else ():
        start, end = found.span(1)
        inside = spans[bisect_right(spans, start, key=itemgetter(1)) : bisect_left(spans, (end, 0))]
        if inside:
            within = [(max(first, start) - start, min(last, end) - start) for first, last in inside]
            pieces += (text[done:start], _replaced_in_literal(found[1], within))
            done = end
    return "".join((*pieces, text[done:]))


def _replaced_in_literal(literal: str, spans: Sequence[Span]) -> str:
    redacted = replaced(literal, spans)
    try:
        json.loads(f'"{redacted}"')
    except ValueError:
        # A secret begins or ends within an escape sequence.
        return MARKER
    return redacted

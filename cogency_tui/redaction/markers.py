"""Markers, which replace secrets."""

import re
from collections.abc import Iterable
from typing import Any, cast

from cogency_tui.redaction.secret_spans import Span

MARKER = "[a secret is not shown]"
MARKERS = re.compile(r"\[(?:a secret|[A-Za-z_]\w{0,127}) is not shown\]")

_QUOTES = str.maketrans("", "", "\\'\"")
_BLANKS = re.compile(r"\s+")

NO_VALUE = r"(?![${<*]|%[s(]|\[(?:a secret|[A-Za-z_]\w{0,127}) is not shown\])"
"""Beginnings of text that is no value: a variable, a template, a marker."""


def markers_in(text: str) -> int:
    """Count the markers in a text."""
    return sum(1 for _ in MARKERS.finditer(text))


def holds_marker(value: Any) -> bool:
    """Return whether JSON content contains a marker, also in the quotes and escapes of a command."""
    if isinstance(value, str):
        return MARKERS.search(_BLANKS.sub(" ", value.translate(_QUOTES))) is not None
    if isinstance(value, list):
        return any(map(holds_marker, cast("list[Any]", value)))
    if isinstance(value, dict):
        return any(holds_marker([*pair]) for pair in cast("dict[Any, Any]", value).items())
    return False


def replaced(text: str, spans: Iterable[Span]) -> str:
    pieces: list[str] = []
    done = 0
    for start, end in spans:
        pieces += (text[done:start], MARKER)
        done = end
    return "".join((*pieces, text[done:]))

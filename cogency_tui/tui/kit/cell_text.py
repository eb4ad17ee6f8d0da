"""Texts measured in terminal cells, and cut to a number of them. It draws nothing: plain lines use it too."""

import re

from rich.cells import cell_len, split_graphemes

_LONGEST_CHARACTER = 16
"""Average code points in one visible character, at most."""


def cells(text: str) -> int:
    """Width of `text` in terminal cells."""
    return len(text) if text.isascii() else cell_len(text)


def fit(text: str, width: int) -> str:
    """`text` in at most `width` cells, its end cut with `…`."""
    if cells(text) <= width:
        return text
    return _head(text, width - 1) + "…" if width > 0 else ""


def fit_words(text: str, width: int) -> str:
    """`text` in at most `width` cells, cut with ` …` after a word, or inside the first one."""
    if cells(text) <= width:
        return text
    words = _head(text, width - 1).rpartition(" ")[0].rstrip(" ,;:")
    return f"{words} …" if words else fit(text, width)


def fit_path(path: str, width: int) -> str:
    """`path` in at most `width` cells. Its directories give way first, from the left: `s/h/filesize.py`, then
    `…/filesize.py`; the name of the file is cut, at its start, only where it does not fit by itself."""
    if cells(path) <= width:
        return path
    *directories, name = _PARTS.findall(path)
    for index, part in enumerate(directories):
        directories[index] = _initial(part)
        if cells(shortened := "".join([*directories, name])) <= width:
            return shortened
    return f"…/{name}" if directories and cells(name) + 2 <= width else _tail(name, width)


_PARTS = re.compile(r"[^/]*/|[^/]+/?$")
_PATTERN = frozenset("*?[{")


def _initial(part: str) -> str:
    """A directory as its first letter; the root, or a part of a pattern, unchanged."""
    if part == "/" or _PATTERN.intersection(part):
        return part
    return f"{_head(part.removesuffix('/'), 1 + part.startswith('.')) or part[:1]}/"


def _tail(text: str, width: int) -> str:
    """The end of `text` after `…`, in at most `width` cells."""
    if cells(text) <= width:
        return text
    if width < 2:
        return "…"[:width]
    if text.isascii():
        return "…" + text[1 - width :]
    text = text[-_LONGEST_CHARACTER * width :]
    spans, total = split_graphemes(text)
    for start, _end, size in spans:
        if total <= width - 1:
            return "…" + text[start:]
        total -= size
    return "…"


def _head(text: str, width: int) -> str:
    if text.isascii():
        return text[:width]
    used = 0
    # Both a text and a single character of it may be very long.
    text = text[: _LONGEST_CHARACTER * (width + 1)]
    for start, _end, size in split_graphemes(text)[0]:
        if used + size > width:
            return text[:start]
        used += size
    return text

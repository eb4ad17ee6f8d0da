"""The snippet of a hit: the text around its first match, on one line, with the matches marked."""

import re

from cogency_tui.store.search.documents import Document
from cogency_tui.store.search.folding import spans

Marks = tuple[tuple[int, int], ...]

WIDTH = 160
_BEFORE = 40
_MOST = 20
_BREAK = re.compile(r"[^\S ]|[\x00-\x1f]")


def snippet(document: Document, terms: tuple[str, ...], width: int = WIDTH) -> tuple[str, Marks]:
    """Return at most about `width` characters, and the matches in them, as (first, behind the last).

    White space and controls are single spaces, so that positions stay; `…` marks omitted text.
    """
    text, folded = document.text, document.folded
    found = sorted({span for term in terms for span in spans(text, folded, term, _MOST)})
    start = max(0, found[0][0] - _BEFORE) if found else 0
    end = min(len(text), max(start + width, found[0][1] if found else 0))
    before, after = ("…" if start else ""), ("…" if end < len(text) else "")
    shift = len(before) - start
    shown = before + _BREAK.sub(" ", text[start:end]) + after
    return shown, tuple(_joined([(a + shift, b + shift) for a, b in found if a >= start and b <= end]))


def _joined(found: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Merge overlaps."""
    joined: list[tuple[int, int]] = []
    for first, end in found:
        if joined and first < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((first, end))
    return joined

"""The snippet of a hit: the text where the most of the terms stand closest together, on one line, with the
matches marked."""

import re
from bisect import bisect_right
from collections.abc import Iterable

from cogency_tui.store.search.documents import Document
from cogency_tui.store.search.folding import fold, spans

Marks = tuple[tuple[int, int], ...]

WIDTH = 160
_BEFORE = 40
_MOST = 200
"""Occurrences of a term that are compared."""

_BREAK = re.compile(r"[^\S ]|[\x00-\x1f]")
_MARKDOWN = re.compile(r"(?:[\s#>*`]|[-+] )*")
_WRITTEN = ("prompt", "answer", "thought")
"""The kinds of text that may be Markdown."""


def snippet(document: Document, terms: tuple[str, ...], width: int = WIDTH) -> tuple[str, Marks]:
    """Return at most about `width` characters, and the matches in them, as (first, behind the last).

    White space and controls are single spaces, so that positions stay; `…` marks omitted text. It begins with
    the line of the first match, or near it; of a call, without the name of its tool.
    """
    text = document.text
    # Any error matches the empty one.
    terms = tuple(filter(None, terms))
    first, stop = _closest(document, terms)
    least = _beginning(document, first)
    start = max(least, first - _BEFORE, text.rfind("\n", 0, first) + 1)
    before = "…" if start > least else ""
    if document.kind in _WRITTEN and (marks := _MARKDOWN.match(text, start)):
        start = min(marks.end(), first)
    end = min(len(text), max(start + width, stop))
    part, shift = text[start:end], len(before)
    found = sorted({span for term in terms for span in spans(part, fold(part), term)})
    shown = before + _BREAK.sub(" ", part) + ("…" if end < len(text) else "")
    return shown, tuple(_joined([(a + shift, b + shift) for a, b in found]))


def closest(places: Iterable[tuple[int, int]], reach: int) -> int:
    """Return the first position at which the most terms follow within `reach`, the closest together; `places`
    are pairs of a position and the number of a term, at least one."""
    ordered = sorted(set(places))

    def rank(at: int) -> tuple[int, int, int]:
        start = ordered[at][0]
        near = dict[int, int]()
        for position, term in ordered[at : bisect_right(ordered, start + reach, key=lambda each: each[0])]:
            near.setdefault(term, position)
        return len(near), start - max(near.values()), -start

    return ordered[max(range(len(ordered)), key=rank)][0]


def _closest(document: Document, terms: tuple[str, ...]) -> tuple[int, int]:
    """The span of the phrase of all terms, or else of the first of those that stand closest together."""
    text, folded = document.text, document.folded
    if terms and (phrase := spans(text, folded, " ".join(terms), 1)):
        return phrase[0]
    found = [spans(text, folded, term, _MOST) for term in terms]
    ends = {start: end for each in found for start, end in each}
    places = [(start, number) for number, each in enumerate(found) for start, _end in each]
    first = closest(places, WIDTH - _BEFORE) if places else 0
    return first, ends.get(first, 0)


def _beginning(document: Document, first: int) -> int:
    """The first character to show: of a call with a match behind the name of its tool, the one after that."""
    lead = len(document.tool) + 1 if document.kind == "call" else 0
    return lead if first >= lead else 0


def _joined(found: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Merge overlaps."""
    joined: list[tuple[int, int]] = []
    for first, end in found:
        if joined and first < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((first, end))
    return joined

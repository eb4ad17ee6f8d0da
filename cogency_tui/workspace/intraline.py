"""Intraline differences: the words that differ between two versions of a line, and the pairing of lines as
versions of each other. Pure.
"""

import re
from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import lru_cache

from cogency_tui.workspace.diff_rows import Span

_WORD = re.compile(r"\w+|\s+|[^\w\s]")
_LONGEST = 1_000
"""The most characters of a line in which words are marked."""

_PAIRS = 2_500
"""The most pairs of lines that are compared to find versions of each other."""

_ALIKE = 0.5
"""The minimum share of common words for one line to be a version of the other."""


@lru_cache(maxsize=4096)
def marks(old: str, new: str) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
    """The differing spans in both lines; none if the lines have too little in common for that to help."""
    if len(old) > _LONGEST or len(new) > _LONGEST or old == new:
        return (), ()
    before, after = _WORD.findall(old), _WORD.findall(new)
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    if matcher.ratio() < _ALIKE:
        return (), ()
    starts, ends = _starts(before), _starts(after)
    gone: list[Span] = []
    come: list[Span] = []
    for kind, a, a_end, b, b_end in matcher.get_opcodes():
        if kind != "equal":
            gone += [(starts[a], starts[a_end])] if a < a_end else []
            come += [(ends[b], ends[b_end])] if b < b_end else []
    return tuple(gone), tuple(come)


def twins(old: Sequence[str], new: Sequence[str]) -> dict[int, int]:
    """The line of `new` that each line of `old` was changed into, by their indices, in order."""
    if len(old) == len(new):
        return {index: index for index in range(len(old))}
    if len(old) * len(new) > _PAIRS:
        return {}
    after = [Counter(_WORD.findall(line[:_LONGEST])) for line in new]
    found: dict[int, int] = {}
    free = 0
    for index, line in enumerate(old):
        words = Counter(_WORD.findall(line[:_LONGEST]))
        likeness = [(_likeness(words, after[other]), -other) for other in range(free, len(new))]
        best, other = max(likeness, default=(0.0, 0))
        if best > _ALIKE:
            found[index] = -other
            free = -other + 1
    return found


def _likeness(one: Counter[str], other: Counter[str]) -> float:
    total = one.total() + other.total()
    return 2 * (one & other).total() / total if total else 0.0


def _starts(words: Sequence[str]) -> list[int]:
    found = [0]
    for word in words:
        found.append(found[-1] + len(word))
    return found

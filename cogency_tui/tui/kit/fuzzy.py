"""A few typed letters matched against a text: as a whole where possible, else letter by letter.

Lists that are filtered by typing rank in one order: the exact text, those that begin with the query, those
with a word that does, those that contain it, and last those with its letters in order.
"""

from collections.abc import Sequence
from enum import IntEnum
from itertools import takewhile

from rich.segment import Segment
from rich.style import Style

from cogency_tui.safe_text import one_line
from cogency_tui.tui.kit.lines import fit_path
from cogency_tui.tui.theme_styles import ThemeStyles

_AFTER = frozenset("/_-. ")
_SHORTEST_SCATTERED = 2
"""Letters below which scattered ones match nearly everything."""


class Rank(IntEnum):
    """The quality of a match, the best first."""

    EXACT = 0
    PREFIX = 1
    WORD = 2
    INSIDE = 3
    LETTERS = 4


def fold(text: str) -> str:
    """`text` in lower case, character for character, so that positions are preserved."""
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(low if len(low := character.lower()) == 1 else character for character in text)


Hit = tuple[Rank, tuple[int, ...]]
"""The quality of a match, and the places of the matching characters."""


def match(query: str, text: str) -> Hit | None:
    """Match `text` as an answer to `query`."""
    query, text = fold(query), fold(text)
    at = _word(query, text)
    if at != -1:
        rank = Rank.EXACT if query == text else Rank.WORD if at else Rank.PREFIX
        return rank, tuple(range(at, at + len(query)))
    if (at := text.find(query)) != -1:
        return Rank.INSIDE, tuple(range(at, at + len(query)))
    places = _letters(query, text) if len(query) >= _SHORTEST_SCATTERED else []
    return (Rank.LETTERS, tuple(places)) if places else None


def matched(query: str, path: str) -> list[int]:
    """The characters of `path` that match the query: as a whole where possible, in the name first."""
    query, path = fold(query), fold(path)
    name = path.rfind("/", 0, -1) + 1
    for start in (name, 0):
        if (at := path.find(query, start)) != -1:
            return list(range(at, at + len(query)))
    return _letters(query, path)


def marked(text: str, marks: Sequence[int], shift: int, plain: Style, accent: Style) -> list[Segment]:
    """`text`, with the characters numbered in `marks` (from `shift` on) in `accent`."""
    segments: list[Segment] = []
    requested = set(marks)
    start = 0
    for at in range(1, len(text) + 1):
        if at == len(text) or ((at + shift) in requested) != ((start + shift) in requested):
            segments.append(Segment(text[start:at], accent if (start + shift) in requested else plain))
            start = at
    return segments


def marked_path(path: str, marks: Sequence[int], width: int, styles: ThemeStyles, on: str) -> list[Segment]:
    """`path` in at most `width` cells (see `fit_path`), its directories dim, with the characters numbered in
    `marks` highlighted, except in directories that are shortened."""
    text = one_line(path)
    shown = fit_path(text, width)
    ends = zip(reversed(text), reversed(shown), strict=False)
    whole = len(text) - sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], ends))
    # Escapes make the shown text longer than the matched one: then nothing is marked.
    known = marks if len(text) == len(path) else ()
    places = [place - len(text) + len(shown) for place in known if place >= whole]
    name, accent = shown.rfind("/", 0, -1) + 1, styles("accent", on, "bold")
    return [
        *marked(shown[:name], places, 0, styles("dim", on), accent),
        *marked(shown[name:], places, name, styles("text", on), accent),
    ]


def _word(query: str, text: str) -> int:
    """The first place where a word of `text` begins with `query`; -1 if none does."""
    at = text.find(query)
    while at > 0 and text[at - 1] not in _AFTER:
        at = text.find(query, at + 1)
    return at


def _letters(query: str, path: str) -> list[int]:
    """Match letters backwards from the end, where the name is, preferring beginnings of words."""
    places: list[int] = []
    end = len(path)
    for index in range(len(query) - 1, -1, -1):
        letter, rest = query[index], query[:index]
        at = path.rfind(letter, 0, end)
        if at == -1:
            return []
        start = at
        # Prefer the beginning of a word further left, if the rest of the query still fits before it.
        while not (start == 0 or path[start - 1] in _AFTER):
            start = path.rfind(letter, 0, start)
            if start == -1:
                break
        if start not in (-1, at) and not (places and places[-1] == at + 1) and _fits(rest, path, start):
            at = start
        elif not _fits(rest, path, at):
            return []
        places.append(at)
        end = at
    return places[::-1]


def _fits(query: str, path: str, end: int) -> bool:
    at = 0
    for letter in query:
        at = path.find(letter, at, end) + 1
        if not at:
            return False
    return True

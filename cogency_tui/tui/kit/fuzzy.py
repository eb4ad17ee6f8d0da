"""A few typed letters matched against a text: as a whole where possible, else letter by letter.

Lists that are filtered by typing rank in one order: the exact text, those that begin with the query, those
with a word that does, those that contain it, and last those with its letters in order. Among sentences, which
contain nearly any letters in order, `match_closely` finds only what may be meant.
"""

import re
from collections.abc import Iterator, Sequence
from enum import IntEnum
from itertools import takewhile

from rich.segment import Segment
from rich.style import Style

from cogency_tui.safe_text import one_line
from cogency_tui.tui.kit.cell_text import fit_path
from cogency_tui.tui.theme_styles import ThemeStyles

_AFTER = frozenset("/_-. ")
_SHORTEST_SCATTERED = 2
"""Letters below which scattered ones match nearly everything."""
_SHORTEST_INSIDE = 3
"""Letters below which a sentence contains them somewhere in a word."""
_SPREAD = 2
"""Characters of a word for each letter: `tmln` is in `timeline`, but `cost` not in `conversation`."""
_WORD = re.compile(r"[^/_\-. ]+")


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


def match_closely(query: str, text: str) -> Hit | None:
    """Match a sentence: as a whole, or each word of `query` at the beginning of one of its words, or the
    letters of `query` close together in one of its words, from the beginning of that."""
    hit = match(query, text)
    if hit and (hit[0] <= Rank.WORD or (hit[0] is Rank.INSIDE and len(query) >= _SHORTEST_INSIDE)):
        return hit
    query, text = fold(query), fold(text)
    if words := _beginnings(query.split(), text):
        return Rank.INSIDE, words
    return next(((Rank.LETTERS, places) for places in _close_letters(query, text)), None)


def _beginnings(words: Sequence[str], text: str) -> tuple[int, ...]:
    """The characters of the words of `text` that several `words` begin; none if one of these begins none."""
    starts = [_word(word, text) for word in words]
    if len(words) < 2 or -1 in starts:
        return ()
    ranges = (range(at, at + len(word)) for at, word in zip(starts, words, strict=True))
    return tuple(sorted({place for each in ranges for place in each}))


def _close_letters(query: str, text: str) -> Iterator[tuple[int, ...]]:
    """The places of the letters of `query` in each word of `text` that begins with the first of them."""
    for word in _WORD.finditer(text):
        places = _letters_from(query, word[0]) if len(query) >= _SHORTEST_SCATTERED else []
        if places and places[0] == 0 and places[-1] < _SPREAD * len(query):
            yield tuple(word.start() + place for place in places)


def _letters_from(query: str, word: str) -> list[int]:
    """The first places of the letters of `query` in `word`, in order; none if one is missing."""
    places: list[int] = []
    for letter in query:
        if (at := word.find(letter, places[-1] + 1 if places else 0)) == -1:
            return []
        places.append(at)
    return places


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

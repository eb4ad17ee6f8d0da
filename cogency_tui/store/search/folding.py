"""Case folding that keeps its way back, and the trigrams that the index is made of.

Invariant: where a folded text holds a folded term, the grams of the text hold all grams of the term.
"""

import re
import unicodedata
from collections.abc import Iterator
from itertools import pairwise

LENGTH = 3
PAD = "\x00\x00"
"""Behind every text: so that each of its characters begins a gram, and short terms are found by prefix."""

_PROBE = re.compile("(?=(..[aeiouy]..))", re.DOTALL)


def fold(text: str) -> str:
    """`text` as it is compared: full case folding, beyond ASCII, too (`STRASSE` is `straße`), of what is
    composed as far as it can be: an `é` of two characters, as macOS has it in names, is one of one."""
    return text.casefold() if text.isascii() else unicodedata.normalize("NFC", text).casefold()


def grams_of_term(folded: str) -> list[str]:
    """The grams that every text with this term has; none where it is too short to have any."""
    return list(dict.fromkeys(folded[at : at + LENGTH] for at in range(len(folded) - LENGTH + 1)))


def probes_of(folded: str) -> set[str]:
    """The five characters around each vowel. They tell long words and phrases from texts that happen to have
    all their trigrams; that only some places have one keeps the index small."""
    return set(_PROBE.findall(folded))


def key(gram: str) -> bytes:
    """A gram as the index stores it: what begins with the same characters begins with the same bytes."""
    return gram.encode("utf-8", "surrogatepass")


def spans(text: str, folded: str, term: str, most: int = 1 << 30) -> list[tuple[int, int]]:
    """Where `text`, of which `folded` is the folded form, has the folded `term`: at most `most` places,
    which do not overlap, as pairs of the first character and the one behind the last."""
    found = list(_occurrences(folded, term, most))
    if not found or (len(folded) == len(text) and unicodedata.is_normalized("NFC", text)):
        # Folding a composed character never gives none, so equal lengths are equal positions.
        return found
    # What each character of the folded text comes from: a part of the text, of one character mostly.
    origin = [part for part in _parts(text) for _ in fold(text[slice(*part)])]
    return [(origin[start][0], origin[end - 1][1]) for start, end in found]


def _parts(text: str) -> Iterator[tuple[int, int]]:
    """The parts of `text` within which characters are composed, and between which none are."""
    starts = [index for index, character in enumerate(text) if not index or not _joins(character)]
    return pairwise([*starts, len(text)])


def _joins(character: str) -> bool:
    """Whether it may become one with what is before it: a mark, or a later letter of a Korean syllable."""
    return "\u1160" <= character <= "\u11ff" or unicodedata.category(character)[0] == "M"


def _occurrences(folded: str, term: str, most: int) -> Iterator[tuple[int, int]]:
    at = folded.find(term)
    while at >= 0 and most > 0:
        yield at, at + len(term)
        at = folded.find(term, at + len(term))
        most -= 1

"""Case folding with positions in the original text, and the trigrams of the index.

Invariant: where a folded text contains a folded term, the grams of the text include all grams of the term.
"""

import re
import unicodedata
from collections.abc import Iterator
from itertools import pairwise

LENGTH = 3
PAD = "\x00\x00"
"""Appended to every text, so that each of its characters begins a gram, and short terms are found by
prefix."""

_PROBE = re.compile("(?=(..[aeiouy]..))", re.DOTALL)


def fold(text: str) -> str:
    """Fold `text` for comparison: full case folding, also beyond ASCII (`STRASSE` equals `straße`), after
    composing characters: an `é` of two characters, as in macOS's file names, equals one of one."""
    return text.casefold() if text.isascii() else unicodedata.normalize("NFC", text).casefold()


def grams_of_term(folded: str) -> list[str]:
    """Return the grams that every text with this term has; none where it is too short to have any."""
    return list(dict.fromkeys(folded[at : at + LENGTH] for at in range(len(folded) - LENGTH + 1)))


def probes_of(folded: str) -> set[str]:
    """Return the five characters around each vowel. They distinguish long words and phrases from texts that
    happen to have all their trigrams; because only some places have one, the index stays small."""
    return set(_PROBE.findall(folded))


def key(gram: str) -> bytes:
    """Encode a gram for the index: a common prefix of characters is a common prefix of bytes."""
    return gram.encode("utf-8", "surrogatepass")


def spans(text: str, folded: str, term: str, most: int = 1 << 30) -> list[tuple[int, int]]:
    """Locate the folded `term` in `text`, whose folded form is `folded`: at most `most` places, which do
    not overlap, as pairs of the first character and the one behind the last."""
    found = list(_occurrences(folded, term, most))
    if not found or (len(folded) == len(text) and unicodedata.is_normalized("NFC", text)):
        # Folding a composed character never yields nothing, so equal lengths mean equal positions.
        return found
    # The origin of each character of the folded text: a part of the text, of one character mostly.
    origin = [part for part in _parts(text) for _ in fold(text[slice(*part)])]
    return [(origin[start][0], origin[end - 1][1]) for start, end in found]


def _parts(text: str) -> Iterator[tuple[int, int]]:
    """Split `text` into parts such that characters compose only within a part."""
    starts = [index for index, character in enumerate(text) if not index or not _joins(character)]
    return pairwise([*starts, len(text)])


def _joins(character: str) -> bool:
    """Return whether a character may compose with the one before it: a mark, or a later letter of a Korean
    syllable."""
    return "\u1160" <= character <= "\u11ff" or unicodedata.category(character)[0] == "M"


def _occurrences(folded: str, term: str, most: int) -> Iterator[tuple[int, int]]:
    at = folded.find(term)
    while at >= 0 and most > 0:
        yield at, at + len(term)
        at = folded.find(term, at + len(term))
        most -= 1

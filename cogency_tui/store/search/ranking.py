"""The score of a match: how close its terms are, where, how often, and how long ago. Pure."""

from itertools import groupby

from cogency_tui.store.search.documents import Document, Kind
from cogency_tui.store.search.matching import Match
from cogency_tui.store.search.query import Query

_WEIGHTS: dict[Kind, float] = {
    "title": 1.0,
    "prompt": 0.9,
    "answer": 0.8,
    "edit": 0.7,
    "thought": 0.6,
    "call": 0.6,
    "output": 0.5,
}
_NEAR = 60.0
_MONTH = 30 * 24 * 3600.0
_OCCURRENCES = 20
_ENOUGH = 8
_PHRASE = 3.0


def score(found: Match, query: Query, now: float) -> float:
    """Return a score between 0 and about 6.3, rounded so that it can be a key. `now` is in Unix seconds.

    The terms as a phrase outweigh all else.
    """
    best = max((closeness(hit, query) * _WEIGHTS[hit.kind] for hit in found.hits), default=0.0)
    age = max(0.0, now - found.conversation.updated)
    often = min(len(found.hits), _ENOUGH) / _ENOUGH
    has_phrase = query.phrase and any(query.phrase in hit.folded for hit in found.hits)
    return round(2 * best + 1 / (1 + age / _MONTH) + 0.3 * often + (_PHRASE if has_phrase else 0.0), 6)


def closeness(document: Document, query: Query) -> float:
    """Return a value between 0 and 1: for several terms how close they are, 1 for the phrase; for one whether
    it is a whole word."""
    text, terms = document.folded, query.terms
    if len(terms) <= 1:
        return _wholeness(text, terms[0]) if terms else 0.0
    if query.phrase in text:
        return 1.0
    places = sorted((at, number) for number, term in enumerate(terms) for at in _places(text, term))
    here = len({number for _, number in places})
    if here < len(terms):
        return 0.2 * here / len(terms)
    # The positions of one window: the last of each term so far.
    last: dict[int, int] = {}
    gap = len(text)
    for at, group in groupby(places, key=lambda place: place[0]):
        for _, number in group:
            last[number] = at
        if len(last) == len(terms):
            first = min(last, key=lambda number: last[number])
            gap = min(gap, max(0, at - last[first] - len(terms[first])))
    return 0.3 + 0.6 / (1 + gap / _NEAR)


def _places(text: str, term: str) -> list[int]:
    found: list[int] = []
    at = text.find(term)
    while at >= 0 and len(found) < _OCCURRENCES:
        found.append(at)
        at = text.find(term, at + 1)
    return found


def _wholeness(text: str, term: str) -> float:
    best = 0.0
    for at in _places(text, term):
        end = at + len(term)
        begins = at == 0 or not text[at - 1].isalnum()
        ends = end == len(text) or not text[end].isalnum()
        best = max(best, 0.4 + 0.3 * begins + 0.3 * ends)
    return best

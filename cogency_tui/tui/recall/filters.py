"""The filters in what a person typed, as chips show them: which there are, and the text without one."""

import re
from dataclasses import dataclass

from cogency_tui.store.search.query import Query, parse

_PIECE = re.compile(r'(?P<filter>[a-z]+:(?:"[^"]*(?:"|$)|[^\s"]*))|"[^"]*(?:"|$)|[^\s"]+')


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter as it stands in the text, from `start` to `stop`."""

    text: str
    start: int
    stop: int


def filters_in(text: str) -> list[Filter]:
    """Those that are understood: what is still being typed, or is a word like any other, is none."""
    found: list[Filter] = []
    for match in _PIECE.finditer(text):
        if (piece := match["filter"]) and (asked := parse(piece)) != Query() and not asked.terms:
            found.append(Filter(piece, *match.span()))
    return found


def without(text: str, taken: Filter) -> str:
    """`text` without this filter, and without the space that set it off."""
    return f"{text[: taken.start].rstrip()} {text[taken.stop :].lstrip()}".strip()

"""A change of a text: a range of it is replaced."""

from typing import NamedTuple

_MOST = 100_000
"""Characters up to which a text is repeated."""


class Replacement(NamedTuple):
    """Text for the range from `start` to before `end`; the cursor is `at` this place of the result."""

    start: int
    end: int
    text: str
    at: int


def repeated(text: str, times: int) -> str:
    """`text` so many times, or as often as a count that was mistyped may ask for."""
    return text * min(times, max(1, _MOST // max(1, len(text))))

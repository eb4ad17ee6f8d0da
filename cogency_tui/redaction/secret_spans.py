"""Positions of secrets in a text."""

from collections.abc import Iterator

Span = tuple[int, int]
"""Start and end of a secret."""

WIDEST = 4096
"""Most characters of one word or line that are examined."""

MOST_HELD = 1 << 14
"""Most characters of one secret that are examined, and that a stream holds back."""


def merged(spans: list[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, end in spans:
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def lines_of(text: str, start: int, end: int) -> Iterator[Span]:
    while start <= end:
        stop = text.find("\n", start, end)
        stop = end if stop < 0 else stop
        yield start, stop
        start = stop + 1

"""Where a query stands on lines, also where it goes on from one line to the next."""

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from cogency_tui.tui.drawing.lines import Line
from cogency_tui.tui.finding import occurrences


class Span(NamedTuple):
    """The characters from `start` to `stop` of a line; `line` counts from the first one looked at."""

    line: int
    start: int
    stop: int


def finds_on(lines: Sequence[Line], query: str) -> list[list[Span]]:
    """Each find of the case-folded `query` on `lines` as they read: decoration and breaks do not count."""
    parts: list[str] = []
    starts: list[int] = []
    length = 0
    for line in lines:
        text = line.text[line.lead :].rstrip()
        joint = line.joint if parts else ""
        starts.append(length + len(joint))
        length += len(joint) + len(text)
        parts += [joint, text]
    found = (_spans(start, stop, lines, starts) for start, stop in occurrences("".join(parts), query))
    return [spans for spans in found if spans]


def _spans(start: int, stop: int, lines: Sequence[Line], starts: Sequence[int]) -> list[Span]:
    spans: list[Span] = []
    index = max(0, bisect_right(starts, start) - 1)
    while index < len(lines) and starts[index] < stop:
        line, begin = lines[index], starts[index]
        end = begin + len(line.text.rstrip()) - line.lead
        first, last = max(start, begin), min(stop, end)
        if last > first:
            spans.append(Span(index, line.lead + first - begin, line.lead + last - begin))
        index += 1
    return spans

"""The figures of cycles among the stored events of a conversation: they are stored apart from these."""

from collections import deque
from collections.abc import AsyncGenerator, AsyncIterable, Iterator, Sequence

from cogency_tui.protocol.events import Event, Measure, MetricEvent, begins_turn


class TurnFigures:
    """Places the figures of cycles at the ends of their turns, while conversation and figures grow.

    A request without a mode is no cycle: a summary, or a question of a tool.
    """

    def __init__(self) -> None:
        self._known = 0
        self._left: deque[tuple[float, Measure]] = deque()

    def measure(self, measured: Sequence[tuple[float, Measure]]) -> None:
        """Take all figures so far, each with the Unix time of its cycle's end; those known are skipped."""
        self._left += [each for each in measured[self._known :] if "mode" in each[1]]
        self._known = len(measured)

    def before(self, event: Event) -> Iterator[MetricEvent]:
        """The figures of the turn that `event` follows, if it begins another one."""
        while begins_turn(event) and self._left and self._left[0][0] <= event["timestamp"]:
            yield _metric(*self._left.popleft())

    def rest(self) -> Iterator[MetricEvent]:
        """The figures of the last turn."""
        while self._left:
            yield _metric(*self._left.popleft())


async def with_figures(
    pages: AsyncIterable[Sequence[Event]], measured: Sequence[tuple[float, Measure]]
) -> AsyncGenerator[list[Event]]:
    """Add the figures of each cycle, `measured` with the Unix time of its end, at the end of its turn."""
    figures = TurnFigures()
    figures.measure(measured)
    async for page in pages:
        yield [each for event in page for each in (*figures.before(event), event)]
    yield [*figures.rest()]


def _metric(moment: float, step: Measure) -> MetricEvent:
    return {"type": "metric", "timestamp": moment, "step": step, "total": {}}

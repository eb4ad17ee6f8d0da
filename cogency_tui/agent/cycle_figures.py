"""The figures of cycles among the stored events of a conversation: they are stored apart from these."""

from collections import deque
from collections.abc import AsyncGenerator, AsyncIterable, Iterator, Sequence

from cogency_tui.protocol.events import Event, Measure, MetricEvent, begins_turn


async def with_figures(
    pages: AsyncIterable[Sequence[Event]], measured: Sequence[tuple[float, Measure]]
) -> AsyncGenerator[list[Event]]:
    """Add the figures of each cycle, `measured` with the Unix time of its end, at the end of its turn.

    A request without a mode is no cycle: a summary, or a question of a tool.
    """
    left = deque(each for each in measured if "mode" in each[1])
    async for page in pages:
        yield [each for event in page for each in (*_of_turn_before(event, left), event)]
    yield [_metric(*each) for each in left]


def _of_turn_before(event: Event, left: deque[tuple[float, Measure]]) -> Iterator[MetricEvent]:
    while begins_turn(event) and left and left[0][0] <= event["timestamp"]:
        yield _metric(*left.popleft())


def _metric(moment: float, step: Measure) -> MetricEvent:
    return {"type": "metric", "timestamp": moment, "step": step, "total": {}}

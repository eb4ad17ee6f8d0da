"""The figures of attempts, from the events of their turns."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from cogency_tui.protocol.events import Event, Measure, ResultEvent
from cogency_tui.protocol.transcript import advised

_Number = TypeVar("_Number", int, float)

_NO_SLIPS = frozenset({"connection", "turn"})
"""Results without a call that report a cut-off answer, which is no slip of the model's."""


@dataclass(frozen=True, slots=True)
class Figures:
    """`cycles` are answers of the model, `requests` include repeated ones. `calls` were understood; `failed`
    and `declined` are parts of them. `malformed` ones could not be parsed, or were written where nothing runs
    them.

    Tokens are those sent (`input`), generated (`output`) and read from the provider's cache (`cached`);
    `cost` is in USD. `cached` and `cost` are None where unknown.
    """

    cycles: int = 0
    requests: int = 0
    calls: int = 0
    malformed: int = 0
    failed: int = 0
    declined: int = 0
    input: int = 0
    output: int = 0
    cached: int | None = None
    cost: float | None = None
    estimated: bool = False
    seconds: float = 0.0


def figures_of(events: Sequence[Event], seconds: float) -> Figures:
    """Count what happened in a turn that took so long; `events` are complete units."""
    metrics = [event for event in events if event["type"] == "metric"]
    total: Measure = metrics[-1]["total"] if metrics else {}
    called = _called(events)
    states = [event["payload"]["state"] for event in _results(events) if event["id"] in called]
    return Figures(
        cycles=len(metrics),
        requests=len(metrics) + sum("retry" in e["payload"] for e in events if e["type"] == "error"),
        calls=len(called),
        malformed=len(malformed_in(events)),
        failed=states.count("failed"),
        declined=states.count("declined"),
        input=total.get("input", 0),
        output=total.get("output", 0),
        cached=total.get("cached"),
        cost=total.get("cost"),
        estimated=any(event["step"].get("estimated") for event in metrics),
        seconds=seconds,
    )


def malformed_in(events: Sequence[Event]) -> list[str]:
    """What the model was sent about each malformed or stray call."""
    called = _called(events)
    return [
        advised(event["payload"], event["payload"].get("dialect", ""))
        for event in _results(events)
        if event["id"] not in called and event["tool"] not in _NO_SLIPS and event["payload"]["error"]
    ]


def total_of(parts: Sequence[Figures]) -> Figures:
    """The sum of the figures; a sum of which a part is unknown is unknown."""
    made = [part for part in parts if part.cycles]
    return Figures(
        cycles=sum(part.cycles for part in parts),
        requests=sum(part.requests for part in parts),
        calls=sum(part.calls for part in parts),
        malformed=sum(part.malformed for part in parts),
        failed=sum(part.failed for part in parts),
        declined=sum(part.declined for part in parts),
        input=sum(part.input for part in parts),
        output=sum(part.output for part in parts),
        cached=_sum_of_known(part.cached for part in made),
        cost=_sum_of_known(part.cost for part in made),
        estimated=any(part.estimated for part in parts),
        seconds=sum(part.seconds for part in parts),
    )


def _called(events: Sequence[Event]) -> set[str]:
    return {event["id"] for event in events if event["type"] == "call" and not event.get("partial")}


def _results(events: Sequence[Event]) -> list[ResultEvent]:
    return [event for event in events if event["type"] == "result" and not event.get("partial")]


def _sum_of_known(values: Iterable[_Number | None]) -> _Number | None:
    known = list(values)
    found = [value for value in known if value is not None]
    return sum(found[1:], found[0]) if found and len(found) == len(known) else None

"""The usage of a conversation, summed by model. A figure that no request knows is None, never zero."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import accumulate
from typing import TypeVar

from cogency_tui.protocol.events import Measure

Number = TypeVar("Number", int, float)


@dataclass(frozen=True, slots=True)
class Cost:
    """Sums over `requests` of one model, or of several.

    Tokens `sent`, `billed` by the provider as input, `cached` by it, and `generated`; `dollars` in USD, None
    if no price is known; `unpriced` requests have no known price, and are missing in `dollars`; `seconds`
    include tools and questions. `estimated`: some figures are our own estimate.
    """

    name: str
    requests: int
    sent: int
    billed: int
    cached: int | None
    generated: int
    dollars: float | None
    unpriced: int
    seconds: float
    estimated: bool


@dataclass(frozen=True, slots=True)
class Saving:
    """Tokens sent, and the tokens that replay mode would have sent for the same requests."""

    sent: int
    replayed: int
    estimated: bool


def cost_of(measure: Measure, name: str) -> Cost:
    """The figures of one request."""
    sent, dollars = measure.get("input", 0), measure.get("cost")
    return Cost(
        name,
        requests=1,
        sent=sent,
        billed=measure.get("billed_input", sent),
        cached=measure.get("cached"),
        generated=measure.get("output", 0),
        dollars=dollars,
        unpriced=int(dollars is None),
        seconds=measure.get("duration", 0.0),
        estimated=measure.get("estimated", False),
    )


def by_model(measures: Iterable[Measure], suffix: str = "") -> list[Cost]:
    """The sums for each model, in the order of first use."""
    sums: dict[str, Cost] = {}
    for measure in measures:
        name = f"{measure.get('provider', '?')}/{measure.get('model', '?')}{suffix}"
        cost = cost_of(measure, name)
        sums[name] = _add(sums[name], cost) if name in sums else cost
    return list(sums.values())


def in_all(costs: Sequence[Cost], within: Sequence[Cost] = ()) -> Cost:
    """The sum of at least one cost. The time of those `within` the others is a part of theirs."""
    seconds = sum(cost.seconds for cost in costs or within)
    return replace(reduce(_add, [*costs, *within]), name="total", seconds=seconds)


def running_totals(measures: Iterable[Measure]) -> list[Cost]:
    """The running sum after each measure."""
    return list(accumulate((cost_of(measure, "total") for measure in measures), _add))


def saving(measures: Iterable[Measure]) -> Saving:
    """Compare the tokens sent with those of replay mode: an estimate wherever the two differ.

    Requests without a session (a summary, a question of a tool) would have been the same.
    """
    compared = [(each.get("input", 0), each) for each in measures]
    return Saving(
        sum(sent for sent, _measure in compared),
        sum(measure.get("replay_input", sent) for sent, measure in compared),
        any(measure.get("replay_input", sent) != sent for sent, measure in compared),
    )


def _add(one: Cost, other: Cost) -> Cost:
    return Cost(
        one.name,
        one.requests + other.requests,
        one.sent + other.sent,
        one.billed + other.billed,
        _add_known(one.cached, other.cached),
        one.generated + other.generated,
        _add_known(one.dollars, other.dollars),
        one.unpriced + other.unpriced,
        one.seconds + other.seconds,
        one.estimated or other.estimated,
    )


def _add_known(one: Number | None, other: Number | None) -> Number | None:
    if one is None or other is None:
        return other if one is None else one
    return one + other

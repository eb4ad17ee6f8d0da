"""Why a conversation costs what it does: each request, and each result by being carried along. Pure.

A result is part of every later request until a summary replaces it, so its cost grows with the conversation.
What sub-agents cost is attributed in the same way, in their own conversations.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import NamedTuple

from cogency_tui.agent.request_messages import capped
from cogency_tui.agent.timeline.model import Asked, Past, Point
from cogency_tui.protocol.events import Measure, ResultEvent
from cogency_tui.providers.models import Prices
from cogency_tui.providers.token_counting import estimate_tokens

PricesOf = Callable[[str, str], Prices | None]
"""Returns the prices of a model of a provider; None where they are unknown."""


class CostAgent(NamedTuple):
    """The sub-agent whose cost it is, and the `call` that started it, in the conversation above."""

    name: str
    call: str


@dataclass(frozen=True, slots=True)
class RequestCost:
    """A request that a model answered, with its figures. Its answer begins at `point`; the events that it was
    billed for have numbers above `since`. `agent` is None for the user's."""

    asked: Asked
    point: Point
    measure: Measure
    since: int
    agent: CostAgent | None = None

    @property
    def billed(self) -> int:
        """Tokens billed as input."""
        return self.measure.get("billed_input", self.measure.get("input", 0))

    @property
    def tokens(self) -> int:
        """Tokens billed as input, and generated."""
        return self.billed + self.measure.get("output", 0)

    @property
    def dollars(self) -> float | None:
        return self.measure.get("cost")


@dataclass(frozen=True, slots=True)
class ResultCost:
    """The result at `point`: its estimated `size` in tokens, the number of `requests` that carried it, and
    their cost for it in USD, None where a price is unknown. `agent` is None for the user's."""

    point: Point
    event: ResultEvent
    size: int
    requests: int
    dollars: float | None
    agent: CostAgent | None = None

    @property
    def tokens(self) -> int:
        """Tokens over all requests."""
        return self.size * self.requests


@dataclass(frozen=True, slots=True)
class CostReport:
    """The requests in order, and the results that any of them carried, the dearest first.

    `beside` has the figures of requests that belong to no cycle: summaries, titles, questions of tools.
    `measures` are the figures of all.
    """

    requests: Sequence[RequestCost]
    results: Sequence[ResultCost]
    beside: Sequence[Measure]
    measures: Sequence[Measure]

    def dearest(self, count: int) -> list[RequestCost | ResultCost]:
        """The `count` dearest requests and results: by USD, or by tokens where a price is unknown."""
        return sorted((*self.requests, *self.results), key=_price, reverse=True)[:count]


def _price(cost: RequestCost | ResultCost) -> tuple[float, int]:
    return cost.dollars or 0.0, cost.tokens


def report_costs(past: Past, prices: PricesOf) -> CostReport:
    """Attribute what the conversation itself has cost; of a fork, what it has cost since."""
    requests = [*_requests(past)]
    results = sorted(_results(past, requests, prices), key=_price, reverse=True)
    measures = [each.measure for each in past.own]
    return CostReport(requests, results, [each for each in measures if "mode" not in each], measures)


def with_subagents(report: CostReport, delegated: Iterable[tuple[CostAgent, CostReport]]) -> CostReport:
    """Add the costs of sub-agents, which are marked with them: their requests at their times."""
    marked = [_marked(each, agent) for agent, each in delegated]
    requests = chain(report.requests, *(each.requests for each in marked))
    results = chain(report.results, *(each.results for each in marked))
    return CostReport(
        sorted(requests, key=lambda each: each.asked.request.timestamp),
        sorted(results, key=_price, reverse=True),
        [*chain(report.beside, *(each.beside for each in marked))],
        [*chain(report.measures, *(each.measures for each in marked))],
    )


def _marked(report: CostReport, agent: CostAgent) -> CostReport:
    return replace(
        report,
        requests=[replace(each, agent=agent) for each in report.requests],
        results=[replace(each, agent=agent) for each in report.results],
    )


def _requests(past: Past) -> Iterator[RequestCost]:
    """The requests whose figures are known, each with the first point of its answer."""
    numbers = [point.number for point in past.points]
    moments = [asked.request.timestamp for asked in past.asked]
    before: RequestCost | None = None
    for asked, (since, until) in zip(past.asked, pairwise([*moments, float("inf")]), strict=True):
        index = bisect_right(numbers, asked.request.through)
        figures = [
            each.measure for each in past.own if since <= each.moment < until and "mode" in each.measure
        ]
        if figures and past.shared <= index < len(past.points):
            since_event = _billed_since(asked, figures[-1], before)
            before = RequestCost(asked, past.points[index], figures[-1], since_event)
            yield before


def _billed_since(asked: Asked, measure: Measure, before: RequestCost | None) -> int:
    """The number of the last event that a request was not billed for: a provider that keeps the context of a
    session, and does not bill it again, bills only what is new."""
    keeps = measure.get("mode") == "resume" and "billed_input" not in measure
    if keeps and before is not None and before.measure.get("mode") == "resume":
        return before.asked.request.through
    return asked.request.since


def _results(past: Past, requests: Sequence[RequestCost], prices: PricesOf) -> Iterator[ResultCost]:
    for point in past.points:
        event = point.event
        carriers = [each for each in requests if _carries(each, point)]
        if event["type"] == "result" and carriers:
            payload = capped(event, carriers[0].asked.request.frame.output_limit)["payload"]
            size = estimate_tokens([payload["outcome"], str(payload["content"] or "")])
            rates = [_input_rate(each, prices) for each in carriers]
            known = [rate for rate in rates if rate is not None]
            dollars = size * sum(known) if len(known) == len(rates) else None
            yield ResultCost(point, event, size, len(carriers), dollars)


def _carries(cost: RequestCost, point: Point) -> bool:
    return cost.since < point.number <= cost.asked.request.through


def _input_rate(cost: RequestCost, prices: PricesOf) -> float | None:
    """USD per token of a request's input, cached or not."""
    measure = cost.measure
    known = prices(measure.get("provider", ""), measure.get("model", ""))
    if known is None or cost.dollars is None or not cost.billed:
        return None
    output, tier = measure.get("output", 0), measure.get("tier", "")
    written = known.cost(input=0, cached=0, cache_written=0, output=output, tier=tier)
    return max(0.0, cost.dollars - written) / cost.billed

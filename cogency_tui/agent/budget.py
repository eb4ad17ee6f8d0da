"""Limits spending: before each request to a model, its estimated cost is added to the amount spent.

Invariant: a request that would pass a soft limit is preceded by a warning, once; one that would pass a hard
limit is sent only if the user allows it. A model without a known price is counted in tokens. One budget
covers a conversation with its sub-agents.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from cogency_tui.agent.cycle_metrics import Calibration
from cogency_tui.agent.permissions.gate import Answer, Gate, Question
from cogency_tui.config.options import find_option
from cogency_tui.config.schema import BudgetSettings, SpanLimits
from cogency_tui.errors import BudgetError
from cogency_tui.protocol.events import Measure
from cogency_tui.providers.base import Provider
from cogency_tui.providers.configured_providers import OFFLINE
from cogency_tui.store.store import Store
from cogency_tui.store.usage import Spent

ANSWER = 500
"""Assumed tokens of an answer until a request has reported its own."""

Note = Callable[[str], Awaitable[None]]

_SPANS = {"turn": "in this turn", "conversation": "in this conversation", "day": "today"}


class Forecast:
    """Estimates the cost of a request from that of the requests before it."""

    def __init__(self) -> None:
        self._cached = 0.0
        self._output = ANSWER
        self._tier = ""

    def observe(self, step: Measure) -> None:
        """Record the figures of a request."""
        billed = step.get("billed_input", step.get("input", 0))
        self._cached = min(1.0, step.get("cached", 0) / billed) if billed else 0.0
        self._output = max(1, step.get("output", 0)) if step.get("output") else self._output
        self._tier = step.get("tier", "")

    def expect(self, provider: Provider, tokens: int) -> Spent:
        """The estimate for a request with `tokens` of input: in USD if the price is known, else in tokens."""
        prices = provider.facts.prices
        if prices is None:
            return Spent(0.0, tokens + self._output)
        cached = round(tokens * self._cached)
        cost = prices.cost(input=tokens, cached=cached, cache_written=0, output=self._output, tier=self._tier)
        return Spent(cost, 0)


@dataclass(frozen=True, slots=True)
class _Limit:
    """One limit of a span, in USD or in tokens. A `hard` one requires the user's consent."""

    span: str
    hard: bool
    amount: float
    in_tokens: bool

    def of(self, spent: Spent) -> float:
        """The part of `spent` that counts towards this limit."""
        return spent.tokens if self.in_tokens else spent.dollars

    def message(self, spent: Spent, expected: Spent) -> str:
        """The limit, and what would pass it."""
        taken, coming = map(self._figure, (self.of(spent), self.of(expected)))
        used = f"{taken} of {self.written(self.amount)} used"
        return f"{self.label}: {used}; the next request needs about {coming}"

    @property
    def label(self) -> str:
        """Its name in the settings."""
        return find_option(self.key).label

    @property
    def key(self) -> str:
        """The option that sets the limit."""
        return f"budget.{self.span}.{'hard' if self.hard else 'soft'}{'_tokens' if self.in_tokens else ''}"

    def written(self, amount: float) -> str:
        return f"{self._figure(amount)} tokens" if self.in_tokens else self._figure(amount)

    def _figure(self, amount: float) -> str:
        return f"{amount:,.0f}" if self.in_tokens else f"${amount:.4g}"


class Ceiling(NamedTuple):
    """The most USD until a command succeeds, from a time in Unix seconds on: nobody is asked to exceed it."""

    command: str
    since: float
    dollars: float


class Budget:
    """The budget of the conversation `conversation_id`; asks through its `gate`."""

    def __init__(
        self,
        conversation_id: str,
        gate: Gate,
        limits: Callable[[], BudgetSettings],
        store: Callable[[], Awaitable[Store]],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.forecast = Forecast()
        self.ceiling: Ceiling | None = None
        self._conversation_id = conversation_id
        self._gate = gate
        self._limits = limits
        self._store = store
        self._clock = clock
        self._turn = clock()
        self._reported: set[str] = set()
        self._ceilings: dict[str, float] = {}
        self._lifted: set[str] = set()
        self._checking = asyncio.Lock()

    @property
    def is_limited(self) -> bool:
        """True if a limit is set."""
        return self.ceiling is not None or any(_limits_in(self._limits()))

    def begin(self) -> None:
        """Begin a turn."""
        self._turn = self._clock()
        self._lifted.discard("turn")
        for kind in ("soft", "soft_tokens", "hard", "hard_tokens"):
            self._reported.discard(f"budget.turn.{kind}")
            self._ceilings.pop(f"budget.turn.{kind}", None)

    async def check(
        self, provider: Provider, characters: int, calibration: Calibration, note: Note, *, images: int = 0
    ) -> None:
        """Return when a request with this many characters, and images of so many tokens, may be sent; `note`
        reports soft limits passed.

        Raises:
            BudgetError: it may not.
            StoreError: the amount spent cannot be read.
        """
        limits = list(_limits_in(self._limits()))
        if not (limits or self.ceiling):
            return
        expected = self.forecast.expect(provider, calibration.tokens(characters, images))
        async with self._checking:
            await self._report_unpriced(provider, limits, note)
            if self.ceiling is not None:
                await self._require_below(self.ceiling, expected)
            for limit in limits:
                if not limit.of(expected):
                    continue
                spent = await self._spent(limit.span)
                if limit.hard:
                    await self._hold(limit, spent, expected)
                elif limit.key not in self._reported and limit.of(spent) + limit.of(expected) > limit.amount:
                    self._reported.add(limit.key)
                    await note(f"{limit.message(spent, expected)}.")

    async def _require_below(self, ceiling: Ceiling, expected: Spent) -> None:
        """Require that a request stays below a ceiling.

        Raises:
            BudgetError: it does not.
        """
        store = await self._store()
        spent = (await store.spent(ceiling.since, self._conversation_id)).dollars
        if expected.dollars and spent + expected.dollars > ceiling.dollars:
            raise BudgetError(
                f"Request not sent: ${spent:.4g} of ${ceiling.dollars:.4g} is spent, and it needs about "
                f"${expected.dollars:.4g}.",
                "Raise --max-cost.",
            )

    async def _hold(self, limit: _Limit, spent: Spent, expected: Spent) -> None:
        """Ask the user if a hard limit would be passed.

        Raises:
            BudgetError: the user does not allow it.
        """
        after = limit.of(spent) + limit.of(expected)
        if limit.span in self._lifted or after <= max(limit.amount, self._ceilings.get(limit.key, 0.0)):
            return
        message = limit.message(spent, expected)
        answer = await self._gate.put(
            Question(
                "budget",
                "The next request",
                "money",
                message,
                "",
                f"Yes allows this request and another {limit.written(limit.amount)} after it",
                grant=f"all spending {_SPANS[limit.span]}",
            )
        )
        if answer is None or not answer.allow:
            raise BudgetError(
                f"Request not sent ({_refusal(answer)}). {message}.",
                f"Raise the limit in /settings ({limit.key} in config.toml).",
                declined=answer is not None,
            )
        if answer.scope == "conversation":
            self._lifted.add(limit.span)
        self._ceilings[limit.key] = after + limit.amount

    async def _report_unpriced(self, provider: Provider, limits: list[_Limit], note: Note) -> None:
        """Report once that limits in dollars do not apply to a model whose price is not known."""
        name = f"{provider.name}/{provider.model}"
        if is_priced(provider) or name in self._reported or any(limit.in_tokens for limit in limits):
            return
        self._reported.add(name)
        await note(
            f"The price of {name} is unknown, so dollar limits do not apply to it. Set a token limit in "
            "/settings (budget.turn.hard_tokens in config.toml), or add its price to models.toml."
        )

    async def _spent(self, span: str) -> Spent:
        store = await self._store()
        if span == "day":
            today = datetime.fromtimestamp(self._clock()).astimezone()
            midnight = today.replace(hour=0, minute=0, second=0, microsecond=0)
            return await store.spent(midnight.timestamp())
        return await store.spent(self._turn if span == "turn" else 0.0, self._conversation_id)


def is_priced(provider: Provider) -> bool:
    """Return whether the cost of its requests is known."""
    return provider.facts.prices is not None or provider.name == OFFLINE


def _refusal(answer: Answer | None) -> str:
    """Why a request may not be sent; None is the answer where no user could be asked."""
    if answer is None:
        return "no user is available to approve it"
    return f"you declined: {answer.reason}" if answer.reason else "you declined"


def _limits_in(settings: BudgetSettings) -> Iterator[_Limit]:
    """The limits that are set, hard ones last: warnings come before questions."""
    spans: list[tuple[str, SpanLimits]] = [
        ("turn", settings.turn),
        ("conversation", settings.conversation),
        ("day", settings.day),
    ]
    for hard in (False, True):
        for span, limits in spans:
            dollars, tokens = (limits.hard, limits.hard_tokens) if hard else (limits.soft, limits.soft_tokens)
            if dollars:
                yield _Limit(span, hard, dollars, in_tokens=False)
            if tokens:
                yield _Limit(span, hard, tokens, in_tokens=True)

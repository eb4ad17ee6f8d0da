"""Measures a cycle: tokens as the provider reports them; estimates only if it reports none.

`input` is what was sent in this cycle; `replay_input` is what replay mode would have sent, so that the
saving of resume shows as it accrues.
"""

import time
from collections.abc import Callable, Iterable
from operator import itemgetter

from cogency_tui.protocol.events import Measure
from cogency_tui.protocol.messages import Message
from cogency_tui.providers.base import Usage
from cogency_tui.providers.models import ModelFacts, Prices
from cogency_tui.providers.token_counting import CHARACTERS_PER_TOKEN

_CONTENT: Callable[[Message], str] = itemgetter("content")


_LEAST_RATIO = 0.1
"""Tokens of a character, at least, where images share a request with the text."""


class Calibration:
    """The ratio of tokens to characters: one to four, until the tokens of a text are known."""

    def __init__(self) -> None:
        self.observed = False
        """True once a text's tokens were counted, by the provider or its tokenizer."""
        self._ratio = 1 / CHARACTERS_PER_TOKEN

    def observe(self, characters: int, tokens: int, images: int = 0) -> None:
        """Record the tokens of a text, and of images that have about `images` of them."""
        if characters and tokens > images:
            # The tokens of images are estimates: what they leave for the text may be too little.
            least = _LEAST_RATIO if images else 0
            self._ratio = max(least, (tokens - images) / characters)
            self.observed = True

    def tokens(self, characters: int, images: int = 0) -> int:
        """The estimated tokens of a text, at least one unless it is empty, and of images with `images`."""
        return (max(1, round(characters * self._ratio)) if characters else 0) + images


def characters_in(messages: Iterable[Message]) -> int:
    """The total length of the messages."""
    return sum(map(len, map(_CONTENT, messages)))


def measure_usage(usage: Usage, prices: Prices | None) -> Measure:
    """The figures of one generation, with its cost if the prices are known: an estimate in a class of service
    without a price."""
    billed = usage.input if usage.billed_input is None else usage.billed_input
    step: Measure = {"input": usage.input, "output": usage.output}
    if usage.cached is not None:
        step["cached"] = usage.cached
    if usage.cache_written is not None:
        step["cache_written"] = usage.cache_written
    if usage.cache_miss is not None:
        step["cache_miss"] = usage.cache_miss
    if usage.billed_input is not None:
        step["billed_input"] = usage.billed_input
    if usage.estimated or (prices is not None and not prices.has(usage.tier)):
        step["estimated"] = True
    if usage.tier:
        step["tier"] = usage.tier
    if prices is not None:
        step["cost"] = prices.cost(
            input=billed,
            cached=usage.cached or 0,
            cache_written=usage.cache_written or 0,
            output=usage.output,
            long_written=usage.long_written,
            tier=usage.tier,
        )
    return step


class Meter:
    """Measures one cycle, from the request to the last result."""

    def __init__(
        self,
        characters: int,
        calibration: Calibration | None = None,
        clock: Callable[[], float] = time.monotonic,
        *,
        images: int = 0,
    ) -> None:
        """`characters` is the length of the whole request, as replay mode would send it, and `images` are the
        tokens of its images."""
        self._clock = clock
        self._calibration = calibration or Calibration()
        self._started = clock()
        self._first: float | None = None
        self._last = self._started
        self._written = 0
        self._usage: Usage | None = None
        self._characters = characters
        self._images = images
        self.retried = False
        """True if an attempt has failed, and another was or will be made."""

    @property
    def begun(self) -> bool:
        """True if any text has arrived."""
        return self._first is not None

    @property
    def answered(self) -> bool:
        """True if the endpoint has sent text or figures."""
        return self.begun or self._usage is not None

    def text(self, piece: str) -> None:
        """Record that text arrived."""
        self._last = self._clock()
        if self._first is None:
            self._first = self._last
        self._written += len(piece)

    def usage(self, usage: Usage) -> None:
        """Record the endpoint's own figures."""
        self._usage = usage

    def step(
        self, *, mode: str, reason: str, provider: str, model: str, facts: ModelFacts, sent: int
    ) -> Measure:
        """The figures of the cycle, which ends now; `sent` characters were sent for it."""
        reported = self._usage
        usage = reported or self._estimate(sent, self._images if mode == "replay" else 0)
        if reported is not None and not reported.estimated:
            billed = reported.input if reported.billed_input is None else reported.billed_input
            if mode == "replay" or reported.billed_input is not None:
                self._calibration.observe(self._characters, billed, self._images)
        context = self._calibration.tokens(self._characters, self._images)
        step: Measure = {
            **measure_usage(usage, facts.prices),
            "duration": self._clock() - self._started,
            "replay_input": usage.input if mode == "replay" else max(usage.input, context),
            "context": context + self._calibration.tokens(self._written),
            "provider": provider,
            "model": model,
            "mode": mode,
            "reason": reason,
        }
        if usage.model and usage.model != model:
            step["answered_by"] = usage.model
        if self._first is not None:
            step["ttft"] = self._first - self._started
            step["writing"] = self._last - self._first
        if facts.context_size:
            step["context_size"] = facts.context_size
        return step

    def _estimate(self, sent: int, images: int) -> Usage:
        tokens = self._calibration.tokens
        return Usage(tokens(sent, images), tokens(self._written), estimated=True)

"""What a cycle took: tokens as the provider reports them, our estimate only where it reports none.

`input` is what was sent in this cycle; `replay_input` is what replay mode would have sent, so that
the saving of resume shows as it accrues (protocols.md, section 6).
"""

import time
from collections.abc import Callable, Sequence

from cogency_tui.protocol.events import Measure, Message
from cogency_tui.providers.base import Usage

CHARACTERS_PER_TOKEN = 4


def estimate(messages: Sequence[Message]) -> int:
    """Tokens of some messages, by their length."""
    return sum(max(1, len(message["content"]) // CHARACTERS_PER_TOKEN) for message in messages)


class Meter:
    """Measures one cycle, from the request to the last result."""

    def __init__(self, messages: Sequence[Message], clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._started = clock()
        self._first: float | None = None
        self._last = self._started
        self._written = 0
        self._usage: Usage | None = None
        self._context = estimate(messages)

    def text(self, piece: str) -> None:
        """Text arrived."""
        self._last = self._clock()
        if self._first is None:
            self._first = self._last
        self._written += len(piece)

    def usage(self, usage: Usage) -> None:
        """The endpoint's own figures."""
        self._usage = usage

    def step(self, *, mode: str, reason: str, provider: str, model: str, context_size: int) -> Measure:
        """The figures of the cycle, which ends now."""
        usage = self._usage
        written = max(1, self._written // CHARACTERS_PER_TOKEN) if self._written else 0
        sent = usage.input if usage else self._context
        step: Measure = {
            "input": sent,
            "output": usage.output if usage else written,
            "duration": self._clock() - self._started,
            "replay_input": sent if mode == "replay" else max(sent, self._context),
            "context": self._context + written,
            "provider": provider,
            "model": model,
            "mode": mode,
            "reason": reason,
        }
        if usage is None or usage.estimated:
            step["estimated"] = True
        if usage is not None and usage.cached is not None:
            step["cached"] = usage.cached
        if usage is not None and usage.billed_input is not None:
            step["billed_input"] = usage.billed_input
        if self._first is not None:
            step["ttft"] = self._first - self._started
            step["writing"] = self._last - self._first
        if context_size:
            step["context_size"] = context_size
        return step

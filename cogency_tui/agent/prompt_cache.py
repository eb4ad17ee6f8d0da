"""The provider's prompt cache: what each request should read from it, and a notice when it does not.

What the request before had in the cache, the next one reads, if it was asked the same way, its context begins
with all of that one, and it came soon. A provider that bills it again costs up to ten times as much.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from msgspec.structs import replace

from cogency_tui.agent.context_window import Prepared
from cogency_tui.protocol.events import CacheMiss, Measure
from cogency_tui.providers.base import Options
from cogency_tui.store.requests import Frame

SOON = 240.0
"""Seconds from one request to the next in which no vendor's entries expire."""

LEAST = 4096
"""Tokens in the cache from which on a miss counts: vendors cache no less, and it costs little."""

UNEXPLAINED = "unexplained"
"""Our own code for a miss for which the provider gives no reason."""

CHANGES: Mapping[str, str] = {
    "model_changed": "the model changed",
    "system_changed": "the system prompt changed",
    "tools_changed": "the tools changed",
    "messages_changed": "an earlier message changed",
    "input_changed": "the system prompt or an earlier message changed",
    "context_compacted": "the context was compacted",
    "prompt_cache_key_changed": "the cache key changed",
    "reasoning_effort_changed": "the reasoning effort changed",
    "service_tier_changed": "the service tier changed",
    "text_format_changed": "the output format changed",
    "verbosity_changed": "the verbosity changed",
    UNEXPLAINED: "the provider gives no reason",
}
"""Differences between a request and the one before, by Anthropic's and OpenAI's codes."""

_NO_RECORD = "the provider no longer has the previous request"
NOT_DIAGNOSED: Mapping[str, str] = {
    "previous_message_not_found": _NO_RECORD,
    "comparison_response_not_found": _NO_RECORD,
    "unavailable": "the provider could not compare it with the previous request",
}
"""Why there is no diagnosis: the cache may have hit all the same."""


@dataclass(frozen=True, slots=True)
class CacheRequest:
    """A request as far as the cache is concerned: the beginning of its context, its options, its Unix time.
    The last message of a `closing` one is another in the next."""

    frame: Frame
    since: int
    options: Options
    closing: bool
    moment: float

    @classmethod
    def of(cls, prepared: Prepared, note: str, moment: float) -> "CacheRequest":
        """Describe a request with a `note` at its end."""
        options = replace(prepared.options, pauses=())
        return cls(prepared.frame, prepared.since, options, bool(note), moment)

    def continues(self, before: "CacheRequest") -> bool:
        """Return whether the context begins with all of the request before, which was not long ago."""
        same = (self.frame, self.since, self.options) == (before.frame, before.since, before.options)
        return same and not before.closing and 0 <= self.moment - before.moment <= SOON


class CacheWatch:
    """Compares what the requests of one conversation read from the cache with what they should."""

    def __init__(self) -> None:
        self._before: CacheRequest | None = None
        self._held = 0
        """Tokens that the last request had in the cache."""
        self._reported = False

    def observe(self, asked: CacheRequest, step: Measure) -> str:
        """Record the figures of a request, and add a miss that the provider does not explain to these. Return
        the notice of the first miss of the conversation; else empty."""
        missed = self._missed(asked, step)
        is_known = "cached" in step and not step.get("estimated")
        self._before = asked if is_known else None
        self._held = step.get("cached", 0) + step.get("cache_written", 0)
        if not missed:
            return ""
        miss = step.get("cache_miss")
        if miss is None or miss["reason"] in NOT_DIAGNOSED:
            miss = step["cache_miss"] = {"reason": UNEXPLAINED, "tokens": missed}
        first, self._reported = not self._reported, True
        return _describe(miss, missed) if first else ""

    def _missed(self, asked: CacheRequest, step: Measure) -> int:
        """The tokens that were in the cache, and were not read; 0 while at least half of them were."""
        if self._before is None or "cached" not in step or not asked.continues(self._before):
            return 0
        missed = self._held - step["cached"]
        return missed if self._held >= LEAST and missed > self._held / 2 else 0


def _describe(miss: CacheMiss, missed: int) -> str:
    reason = CHANGES.get(miss["reason"], miss["reason"])
    return (
        f"The provider's cache missed about {missed:,} tokens that the last request had in it: {reason}. "
        "/cost why lists each miss."
    )

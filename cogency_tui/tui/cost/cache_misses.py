"""The provider's diagnosis of its prompt cache in words, with its own code beside them."""

from rich.segment import Segment

from cogency_tui.protocol.events import CacheMiss, Measure
from cogency_tui.safe_text import one_line
from cogency_tui.tui.kit.lines import Line, wrap
from cogency_tui.tui.kit.number_format import tokens
from cogency_tui.tui.theme_styles import ThemeStyles

_CHANGES = {
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
}
"""Differences between a request and the one before, by Anthropic's and OpenAI's codes."""

_NO_RECORD = "the provider no longer has the previous request"
_UNEXPLAINED = {
    "previous_message_not_found": _NO_RECORD,
    "comparison_response_not_found": _NO_RECORD,
    "unavailable": "the provider could not compare it with the previous request",
}
"""Why there is no diagnosis: the cache may have hit all the same."""


def missed_cache(measure: Measure) -> bool:
    """Return whether the provider states that a request missed its cache."""
    return "cache_miss" in measure and measure["cache_miss"]["reason"] not in _UNEXPLAINED


def draw_cache_miss(measure: Measure, width: int, styles: ThemeStyles) -> list[Line]:
    """Draw the diagnosis for a request; nothing where the provider has none."""
    if "cache_miss" not in measure:
        return []
    miss = measure["cache_miss"]
    code = Segment(f"  {one_line(miss['reason'])}", styles("dim"))
    return wrap([Segment(_describe(miss), styles("text")), code], width)


def _describe(miss: CacheMiss) -> str:
    reason = miss["reason"]
    if reason in _UNEXPLAINED:
        return f"Cache not diagnosed: {_UNEXPLAINED[reason]}."
    change = f": {_CHANGES[reason]}" if reason in _CHANGES else ""
    size = f" (about {tokens(miss['tokens'])} tokens)" if "tokens" in miss else ""
    return f"Cache missed{change}{size}."

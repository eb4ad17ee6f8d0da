"""The provider's diagnosis of its prompt cache in words, with its own code beside them."""

from rich.segment import Segment

from cogency_tui.agent.prompt_cache import CHANGES, NOT_DIAGNOSED
from cogency_tui.protocol.events import CacheMiss, Measure
from cogency_tui.safe_text import one_line
from cogency_tui.tui.kit.lines import Line, wrap
from cogency_tui.tui.kit.number_format import tokens
from cogency_tui.tui.theme_styles import ThemeStyles


def missed_cache(measure: Measure) -> bool:
    """Return whether the provider states that a request missed its cache."""
    return "cache_miss" in measure and measure["cache_miss"]["reason"] not in NOT_DIAGNOSED


def draw_cache_miss(measure: Measure, width: int, styles: ThemeStyles) -> list[Line]:
    """Draw the diagnosis for a request; nothing where the provider has none."""
    if "cache_miss" not in measure:
        return []
    miss = measure["cache_miss"]
    code = Segment(f"  {one_line(miss['reason'])}", styles("dim"))
    return wrap([Segment(_describe(miss), styles("text")), code], width)


def _describe(miss: CacheMiss) -> str:
    reason = miss["reason"]
    if reason in NOT_DIAGNOSED:
        return f"Cache not diagnosed: {NOT_DIAGNOSED[reason]}."
    change = f": {CHANGES[reason]}" if reason in CHANGES else ""
    size = f" (about {tokens(miss['tokens'])} tokens)" if "tokens" in miss else ""
    return f"Cache missed{change}{size}."

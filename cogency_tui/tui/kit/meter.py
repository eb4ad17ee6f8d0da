"""Bars of charts and meters, half a line high: a filled part on a thin track, told apart without color."""

from rich.segment import Segment

from cogency_tui.tui.theme_styles import ThemeStyles

_FULL = "▄"
_TRACK = "▁"


def draw_bar(value: float, most: float, width: int, styles: ThemeStyles, role: str = "dim") -> list[Segment]:
    """Draw `value` of `most` in `width` cells; never empty above zero."""
    share = value / most if most > 0 else 0.0
    full = min(width, max(round(share * width), 1 if value > 0 else 0))
    return [Segment(_FULL * full, styles(role)), Segment(_TRACK * (width - full), styles("rule"))]

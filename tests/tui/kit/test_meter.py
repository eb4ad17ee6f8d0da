"""A bar has a part in proportion, on a track of the same width."""

import pytest

from cogency_tui.tui.kit.meter import draw_bar
from cogency_tui.tui.theme_styles import theme_styles_of


@pytest.mark.parametrize(
    ("value", "most", "full"), [(0, 10, 0), (0.01, 10, 1), (5, 10, 4), (10, 10, 8), (20, 10, 8), (3, 0, 1)]
)
def test_a_bar_shows_a_share_and_never_nothing_of_something(value: float, most: float, full: int) -> None:
    styles = theme_styles_of("night")
    part, track = draw_bar(value, most, 8, styles)
    assert (part.style, track.style) == (styles("dim"), styles("rule"))
    assert (part.text, track.text) == ("▄" * full, "▁" * (8 - full))

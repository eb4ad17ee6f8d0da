"""Every shipped theme can be read by people who see less well, and agrees with itself."""

from itertools import product
from pathlib import Path

import pytest
from msgspec.structs import asdict
from textual.color import Color

from cogency_tui.errors import ConfigError
from cogency_tui.tui.theming import (
    SURFACES,
    inks_of,
    load_palette,
    textual_theme,
    theme_directories,
    theme_names,
)

AA = 4.5
LINES = {"rule"}
"""Faint rules between things: they carry no meaning."""


def contrast(one: str, other: str) -> float:
    """The contrast of two colours by WCAG 2.1."""

    def luminance(color: str) -> float:
        def linear(part: float) -> float:
            return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4

        red, green, blue = (linear(part) for part in Color.parse(color).normalized)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_the_themes_of_the_sketches_are_shipped() -> None:
    assert {"night", "day"} <= set(theme_names())


@pytest.mark.parametrize("name", theme_names())
def test_text_and_markers_reach_aa_on_every_surface(name: str) -> None:
    palette = load_palette(name)
    colors = asdict(palette.colors)
    roles = {role: color for role, color in colors.items() if role not in SURFACES and role not in LINES}

    low = [
        (role, surface, round(ratio, 2))
        for (role, color), surface in product(roles.items(), SURFACES)
        if (ratio := contrast(color, colors[surface])) < AA
    ]

    assert low == []


@pytest.mark.parametrize("name", theme_names())
def test_code_and_the_mode_chip_reach_aa(name: str) -> None:
    palette = load_palette(name)
    low = {
        role: color
        for role, color in asdict(palette.syntax).items()
        if contrast(color, palette.colors.raised) < AA
    }

    assert low == {}
    assert contrast(palette.colors.background, palette.colors.good) >= AA


@pytest.mark.parametrize("name", theme_names())
def test_a_theme_gives_the_style_sheets_the_colours_of_the_widgets(name: str) -> None:
    palette = load_palette(name)
    theme = textual_theme(palette)

    assert theme.name == palette.name == name
    assert theme.variables["raised"] == palette.colors.raised
    assert inks_of(name)("text", "raised").bgcolor is not None


def test_an_unknown_theme_says_which_there_are() -> None:
    with pytest.raises(ConfigError, match="no theme called 'neon'") as caught:
        load_palette("neon")

    assert "night" in caught.value.hint


def test_a_theme_of_ones_own_is_found_beside_the_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COGENCY_CONFIG", str(tmp_path / "config.toml"))
    (tmp_path / "themes").mkdir()
    (tmp_path / "themes" / "mine.toml").write_text("name = 1")

    assert "mine" in theme_names()
    with pytest.raises(ConfigError, match="cannot be used"):
        load_palette("mine")


def test_the_themes_come_with_the_package() -> None:
    assert theme_directories()[-1].is_dir()

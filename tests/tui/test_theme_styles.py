"""Every shipped theme can be read by people who see less well, and agrees with itself."""

import ast
import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
from msgspec.structs import asdict
from textual.color import Color

import cogency_tui
from cogency_tui.config.themes import (
    COLOURLESS,
    SIXTEEN,
    SURFACES,
    Palette,
    load_palette,
    read_palette,
    theme_directories,
    theme_names,
)
from cogency_tui.errors import ConfigError
from cogency_tui.tui.theme_styles import forget_themes, textual_theme, theme_styles_of

AA = 4.5
AAA = 7.0
LINES = {"rule"}
"""Faint rules between things: they carry no meaning."""

OWN = (SIXTEEN, COLOURLESS)
"""Themes of the terminal's own colours. What those are nobody but the terminal knows, so that their contrast
cannot be computed: they use each colour as text on the terminal's background only, or reversed.
"""

COMPUTABLE = [name for name in theme_names() if name not in OWN]

BLIND_TO_RED = (
    (0.152286, 1.052583, -0.204868),
    (0.114503, 0.786281, 0.099216),
    (-0.003882, -0.048116, 1.051998),
)
BLIND_TO_GREEN = (
    (0.367322, 0.860646, -0.227968),
    (0.280085, 0.672501, 0.047413),
    (-0.011820, 0.042940, 0.968881),
)
"""What is seen of linear red, green and blue without one kind of cones (Machado and others, 2009)."""


def contrast(one: str, other: str) -> float:
    """The contrast of two colours by WCAG 2.1."""

    def luminance(color: str) -> float:
        red, green, blue = linear(color)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def linear(color: str) -> tuple[float, float, float]:
    """The light of a colour's red, green and blue."""

    def part(value: float) -> float:
        return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4

    red, green, blue = Color.parse(color).normalized
    return part(red), part(green), part(blue)


def seen(color: str, eyes: tuple[tuple[float, float, float], ...]) -> tuple[float, float, float]:
    """A colour in CIELAB, as people with these eyes see it."""
    light = linear(color)
    red, green, blue = (max(0.0, sum(a * b for a, b in zip(row, light, strict=True))) for row in eyes)
    x = (0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.95047
    y = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    z = (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.08883

    def root(value: float) -> float:
        return value ** (1 / 3) if value > 0.008856 else 7.787 * value + 16 / 116

    return 116 * root(y) - 16, 500 * (root(x) - root(y)), 200 * (root(y) - root(z))


def difference(one: str, other: str, eyes: tuple[tuple[float, float, float], ...]) -> float:
    """How different two colours look to these eyes: about 2 can just be told apart, 20 at a glance."""
    pairs = zip(seen(one, eyes), seen(other, eyes), strict=True)
    return sum((a - b) ** 2 for a, b in pairs) ** 0.5


def test_there_is_a_theme_for_everyone() -> None:
    palettes = [load_palette(name) for name in theme_names()]

    assert {"night", "day", "contrast", "tritone", SIXTEEN, COLOURLESS} <= {each.name for each in palettes}
    assert len(palettes) >= 8
    assert sum(not palette.dark for palette in palettes) >= 2


def low(palette: Palette, least: float) -> list[tuple[str, str, float]]:
    """The roles that are hard to read on some surface, with their contrast."""
    colors = asdict(palette.colors)
    roles = {role: color for role, color in colors.items() if role not in SURFACES and role not in LINES}
    return [
        (role, surface, round(ratio, 2))
        for (role, color), surface in product((roles | asdict(palette.syntax)).items(), SURFACES)
        if (ratio := contrast(color, colors[surface])) < least
    ]


@pytest.mark.parametrize("name", COMPUTABLE)
def test_text_markers_and_code_reach_aa_on_every_surface(name: str) -> None:
    palette = load_palette(name)

    assert low(palette, AA) == []


CHIPS = {("surface", "edit")}
"""What is drawn on a colour instead of a surface: the match of a search that the cursor is at."""

MEETING = (
    ("background", "surface"),
    ("background", "raised"),
    ("surface", "raised"),
    ("surface", "cursor"),
    ("raised", "cursor"),
    ("surface", "added"),
    ("surface", "removed"),
)
"""Surfaces beside each other on the screen."""

APART = 1.12


@pytest.mark.parametrize("name", COMPUTABLE)
def test_surfaces_that_meet_can_be_told_apart(name: str) -> None:
    colors = asdict(load_palette(name).colors)
    ratios = {(one, other): round(contrast(colors[one], colors[other]), 3) for one, other in MEETING}

    assert {pair: ratio for pair, ratio in ratios.items() if ratio < APART} == {}


@pytest.mark.parametrize("name", COMPUTABLE)
def test_what_is_drawn_on_a_colour_reaches_aa(name: str) -> None:
    colors = asdict(load_palette(name).colors)
    text = [(colors[role], colors[on]) for role, on in CHIPS]
    # Badges of states in the style sheets have the background as their text.
    text += [(colors["background"], colors[on]) for on in ("accent", "edit", "good", "bad", "running")]

    assert [pair for pair in text if contrast(*pair) < AA] == []


def styled(source: Path) -> Iterator[tuple[str, str]]:
    """The roles and grounds that calls in this file ask for by name: `styles("dim", "raised")`."""
    for node in ast.walk(ast.parse(source.read_text())):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("styles"):
            named = {each.arg: each.value for each in node.keywords}
            given = [*node.args[:2], *(named[key] for key in ("role", "on") if key in named)]
            texts = [each.value for each in given if isinstance(each, ast.Constant)]
            if len(texts) == 2:
                yield str(texts[0]), str(texts[1])


def test_everything_is_drawn_on_surfaces_but_the_chips() -> None:
    pairs = {
        pair
        for source in (Path(cogency_tui.__file__).parent / "tui").rglob("*.py")
        for pair in styled(source)
    }

    assert len(pairs) > 10
    assert {pair for pair in pairs if pair[1] not in SURFACES} == CHIPS


def test_a_theme_without_the_role_of_what_runs_uses_the_accent(own: Path) -> None:
    path = own / "old.toml"
    path.write_text(re.sub(r"running = .*\n", "", NIGHT))

    colors = read_palette(path).colors
    assert colors.running == colors.accent


def test_the_theme_of_high_contrast_reaches_aaa() -> None:
    assert low(load_palette("contrast"), AAA) == []


@pytest.mark.parametrize("eyes", [BLIND_TO_RED, BLIND_TO_GREEN], ids=["red", "green"])
def test_a_theme_can_be_told_apart_without_red_or_green(eyes: tuple[tuple[float, float, float], ...]) -> None:
    colors = load_palette("tritone").colors

    assert difference(colors.good, colors.bad, eyes) > 60
    assert difference(colors.added, colors.removed, eyes) > 20
    assert difference(colors.accent, colors.good, eyes) > 30
    # The same of a theme that is not made for it: the test can tell.
    night = load_palette("night").colors
    assert difference(night.added, night.removed, eyes) < 15


def test_the_plain_theme_has_the_terminals_colours_only() -> None:
    palette = load_palette(SIXTEEN)
    paints = {*asdict(palette.colors).values(), *asdict(palette.syntax).values()}

    assert all(paint.startswith("ansi_") for paint in paints)
    assert {getattr(palette.colors, surface) for surface in SURFACES} == {"ansi_default"}
    assert textual_theme(palette).ansi


def test_without_colours_there_are_bold_dim_and_reverse() -> None:
    styles = theme_styles_of(COLOURLESS)
    all_styles = [styles(role, on) for role, on in product(asdict(styles.palette.colors), SURFACES)]

    assert all(style.color and style.color.is_default for style in all_styles)
    assert all(style.bgcolor and style.bgcolor.is_default for style in all_styles)
    assert styles("dim").dim
    assert styles("accent").bold
    assert styles("text", "cursor").reverse


def test_on_a_reversed_surface_all_text_has_one_colour() -> None:
    styles = theme_styles_of(SIXTEEN)
    assert styles("good", "cursor").color == styles("bad", "cursor").color == styles("text").color
    assert styles("good", "surface").color != styles("bad", "surface").color


@pytest.mark.parametrize("name", theme_names())
def test_a_theme_gives_the_style_sheets_the_colours_of_the_widgets(name: str) -> None:
    palette = load_palette(name)
    theme = textual_theme(palette)

    assert theme.name == palette.name == name
    assert theme.variables["raised"] == palette.colors.raised
    assert theme_styles_of(name)("text", "raised").bgcolor is not None


def test_an_unknown_theme_says_which_there_are() -> None:
    with pytest.raises(ConfigError, match="Unknown theme 'neon'") as caught:
        load_palette("neon")

    assert "night" in caught.value.hint


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The person's folder of themes, empty."""
    monkeypatch.setenv("COGENCY_CONFIG", str(tmp_path / "config.toml"))
    (tmp_path / "themes").mkdir()
    yield tmp_path / "themes"
    forget_themes()


NIGHT = (theme_directories()[-1] / "night.toml").read_text()


def test_a_theme_of_ones_own_is_found_beside_the_configuration_by_its_file(own: Path) -> None:
    (own / "mine.toml").write_text(NIGHT)

    assert "mine" in theme_names()
    assert load_palette("mine").name == "mine"


@pytest.mark.parametrize(
    ("written", "instead", "said"),
    [
        ('text = "#c8d0e7"', 'text = "red"', "line 13 is invalid: `colors.text` is not a color"),
        ("dark = true", "dark = 3", "line 3 is invalid: `dark`: Expected `bool`"),
        ("rule = ", "ruler = ", "line 12 is invalid: Object contains unknown field `ruler`"),
        ('name = "night"', "name = night", "line 2, column"),
        (
            'keyword = "#bb9af7"',
            "",
            "line 22 is invalid: `syntax`: Object missing required field `keyword`",
        ),
        (
            "[syntax]",
            '[attributes]\ndim = "blink"\n[syntax]',
            "line 22 is invalid: `attributes` is not one of",
        ),
    ],
)
def test_what_is_wrong_in_a_theme_is_said_with_its_line(
    own: Path, written: str, instead: str, said: str
) -> None:
    path = own / "mine.toml"
    assert written in NIGHT
    path.write_text(NIGHT.replace(written, instead))

    with pytest.raises(ConfigError) as caught:
        read_palette(path)

    assert str(path) in str(caught.value)
    assert said in str(caught.value)


def test_the_themes_come_with_the_package() -> None:
    assert theme_directories()[-1].is_dir()

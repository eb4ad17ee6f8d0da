"""Themes: TOML files that name colours after what they mean; the only source of colour on the screen.

A theme is loaded once, when first asked for. `Inks` turns its roles into styles for the line-API
widgets, `textual_theme` into variables for the style sheets, so that both always agree.
"""

import tomllib
from functools import cache
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta
from rich.style import Style
from textual.theme import Theme

from cogency_tui.config import config_path
from cogency_tui.errors import ConfigError

DEFAULT = "night"

Hex = Annotated[str, Meta(pattern="^#[0-9a-f]{6}$")]


class Colors(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Surfaces first, then what is drawn on them."""

    background: Hex
    surface: Hex
    raised: Hex
    cursor: Hex
    added: Hex
    removed: Hex
    rule: Hex
    text: Hex
    dim: Hex
    accent: Hex
    edit: Hex
    good: Hex
    bad: Hex
    branch: Hex


class Syntax(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What code is coloured with; anything else is `text`."""

    keyword: Hex
    builtin: Hex
    function: Hex
    type: Hex
    string: Hex
    number: Hex
    comment: Hex
    operator: Hex


class Palette(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One theme file."""

    name: str
    dark: bool
    colors: Colors
    syntax: Syntax


SURFACES = ("background", "surface", "raised", "cursor", "added", "removed")
"""The roles that other roles are drawn on."""


class Inks:
    """Styles of one palette by role, each made once."""

    def __init__(self, palette: Palette) -> None:
        self.palette = palette
        self._colors: dict[str, str] = {
            **msgspec.structs.asdict(palette.colors),
            **msgspec.structs.asdict(palette.syntax),
        }
        self._styles: dict[tuple[str, str, str], Style] = {}

    def __call__(self, role: str = "text", on: str = "surface", attributes: str = "") -> Style:
        """The style for `role` on the surface `on`; `attributes` as rich writes them (`bold italic`)."""
        key = (role, on, attributes)
        style = self._styles.get(key)
        if style is None:
            style = Style.parse(f"{attributes} {self._colors[role]} on {self._colors[on]}".strip())
            self._styles[key] = style
        return style


def theme_directories() -> list[Path]:
    """Where themes are looked for; the person's own come first."""
    package = Path(__file__).parent.parent
    shipped = package / "themes"
    return [config_path().parent / "themes", shipped if shipped.is_dir() else package.parent / "themes"]


def theme_names() -> list[str]:
    """The names of all themes that there are."""
    return sorted({path.stem for directory in theme_directories() for path in directory.glob("*.toml")})


@cache
def load_palette(name: str) -> Palette:
    """The palette of the theme called `name`.

    Raises:
        ConfigError: there is no such theme, or its file does not hold one.
    """
    for directory in theme_directories():
        path = directory / f"{name}.toml"
        if path.name == f"{name}.toml" and path.is_file():
            try:
                return msgspec.convert(tomllib.loads(path.read_text("utf-8")), Palette)
            except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, msgspec.ValidationError) as exc:
                raise ConfigError(
                    f"The theme {path} cannot be used: {exc}.", "Correct it, or choose another."
                ) from exc
    raise ConfigError(f"There is no theme called {name!r}.", f"There are: {', '.join(theme_names())}.")


@cache
def inks_of(theme: str) -> Inks:
    """The inks of the theme called `theme`; those of the default theme where it is none of ours."""
    try:
        return Inks(load_palette(theme))
    except ConfigError:
        return Inks(load_palette(DEFAULT))


def textual_theme(palette: Palette) -> Theme:
    """`palette` as variables for style sheets (`$surface`, `$raised`, `$dim`, …)."""
    colors = palette.colors
    return Theme(
        name=palette.name,
        dark=palette.dark,
        primary=colors.accent,
        secondary=colors.branch,
        accent=colors.accent,
        warning=colors.edit,
        error=colors.bad,
        success=colors.good,
        foreground=colors.text,
        background=colors.background,
        surface=colors.surface,
        panel=colors.raised,
        variables=variables(palette),
    )


def variables(palette: Palette) -> dict[str, str]:
    """What the style sheets use beside the variables that Textual defines."""
    colors = palette.colors
    return {
        "raised": colors.raised,
        "cursor": colors.cursor,
        "dim": colors.dim,
        "rule": colors.rule,
        "edit": colors.edit,
        "bad": colors.bad,
        "text": colors.text,
        "text-muted": colors.dim,
        "scrollbar": colors.rule,
        "scrollbar-hover": colors.dim,
        "scrollbar-active": colors.accent,
        "scrollbar-background": colors.surface,
        "scrollbar-background-hover": colors.surface,
        "scrollbar-background-active": colors.surface,
        "scrollbar-corner-color": colors.surface,
        "block-cursor-background": colors.cursor,
        "block-cursor-foreground": colors.text,
        "block-cursor-blurred-background": colors.cursor,
        "block-cursor-blurred-foreground": colors.text,
        "block-hover-background": colors.raised,
        "input-cursor-background": colors.text,
        "input-cursor-foreground": colors.raised,
        "input-selection-background": colors.cursor,
        "input-selection-foreground": colors.text,
        "screen-selection-background": colors.cursor,
        "screen-selection-foreground": colors.text,
        "border": colors.accent,
        "border-blurred": colors.rule,
    }

"""Styles for the screen from the palettes of themes: the only source of color in the interface.

`ThemeStyles` maps the roles of a palette to styles for line-API widgets, `textual_theme` maps them to
variables for style sheets, so that both always agree.
"""

from functools import cache

import msgspec
from rich.style import Style
from textual.theme import Theme

from cogency_tui.config.themes import DEFAULT, Palette, load_palette
from cogency_tui.errors import ConfigError


class ThemeStyles:
    """The styles of one palette by role, each built once."""

    def __init__(self, palette: Palette) -> None:
        self.palette = palette
        paints: dict[str, str] = {
            **msgspec.structs.asdict(palette.colors),
            **msgspec.structs.asdict(palette.syntax),
        }
        # Rich names the terminal's own colors without the prefix that Textual uses.
        self._colors = {role: paint.removeprefix("ansi_") for role, paint in paints.items()}
        self._styles: dict[tuple[str, str, str], Style] = {}

    def __call__(self, role: str = "text", on: str = "surface", attributes: str = "") -> Style:
        """The style for `role` on the surface `on`; `attributes` are in rich's notation (`bold italic`)."""
        key = (role, on, attributes)
        style = self._styles.get(key)
        if style is None:
            style = self._styles[key] = self._style(role, on, attributes)
        return style

    def _style(self, role: str, on: str, attributes: str) -> Style:
        given = self.palette.attributes
        under = given.get(on, "")
        if "reverse" in under:
            # On a reversed surface foreground colors would become backgrounds, each a different one.
            return Style.parse(f"{under} {attributes} {self._colors['text']} on {self._colors[on]}")
        definition = f"{under} {given.get(role, '')} {attributes}"
        return Style.parse(f"{definition} {self._colors[role]} on {self._colors[on]}")


@cache
def theme_styles_of(theme: str) -> ThemeStyles:
    """The styles of the theme called `theme`; those of the default theme if the name is unknown."""
    try:
        return ThemeStyles(load_palette(theme))
    except ConfigError:
        return ThemeStyles(load_palette(DEFAULT))


def forget_themes() -> None:
    """Drop cached themes, so that each is read again on next use."""
    load_palette.cache_clear()
    theme_styles_of.cache_clear()


def textual_theme(palette: Palette) -> Theme:
    """Convert `palette` to variables for style sheets (`$surface`, `$raised`, `$dim`, …)."""
    colors = palette.colors
    return Theme(
        name=palette.name,
        dark=palette.dark,
        ansi=palette.ansi,
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
    """Variables of our style sheets beyond those that Textual defines."""
    colors = palette.colors
    # The brighter of the terminal's own colors is unknown: those themes can only reverse them.
    own = {
        "ansi-background": colors.raised,
        "ansi-foreground": colors.text,
        "input-cursor-text-style": "reverse",
    }
    return {
        "raised": colors.raised,
        "cursor": colors.cursor,
        "dim": colors.dim,
        "rule": colors.rule,
        "edit": colors.edit,
        "running": colors.running,
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
        "input-cursor-background": colors.raised if palette.ansi else colors.text,
        "input-cursor-foreground": colors.text if palette.ansi else colors.raised,
        "input-selection-background": colors.cursor,
        "input-selection-foreground": colors.text,
        "screen-selection-background": colors.cursor,
        "screen-selection-foreground": colors.text,
        "border": colors.accent,
        "border-blurred": colors.rule,
        **(own if palette.ansi else {}),
    }

"""Theme files: TOML that names colours after their meaning, for the screen and for exported pages.

A file of the user's own hides a shipped one of the same name. Errors are reported with their line.
"""

import re
from functools import cache
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from cogency_tui.config import toml_reader
from cogency_tui.config.schema import config_directory
from cogency_tui.config.toml_reader import line_of_key
from cogency_tui.errors import ConfigError

AUTO = "auto"
"""No theme of its own: `night` or `day`, whichever suits the terminal's background."""

DEFAULT = "night"
DAY = "day"
SIXTEEN = "ansi"
"""The theme for terminals with no more than 16 colours."""
COLOURLESS = "mono"
"""The theme for `NO_COLOR`."""

_ANSI = "default|(bright_)?(black|red|green|yellow|blue|magenta|cyan|white)"
_PLACE = r" - at `\$\.?(?P<keys>[\w.]*)(?:\[\.{3}\])?`$"
_UNKNOWN = r"unknown field `(?P<key>[^`]+)`"
_HINT = "Correct it, or choose another theme."

Paint = Annotated[str, Meta(pattern=f"^(#[0-9a-f]{{6}}|ansi_({_ANSI}))$")]
"""`#rrggbb`, or one of the terminal's own 16 colours by its name in Textual (`ansi_bright_red`)."""

Attributes = Annotated[
    str, Meta(pattern="^(bold|dim|italic|underline|reverse)( (bold|dim|italic|underline|reverse))*$")
]


class Colors(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Surfaces first, then what is drawn on them, each with one meaning.

    Surfaces that meet on the screen must be told apart. `accent` is the focus and the user, `edit` what has
    changed or waits for the user, `running` what is at work, `good` success, `bad` failure and destruction,
    `branch` names of versions. A theme without `running`, which is younger than the others, uses `accent`.
    """

    background: Paint
    surface: Paint
    raised: Paint
    cursor: Paint
    added: Paint
    removed: Paint
    rule: Paint
    text: Paint
    dim: Paint
    accent: Paint
    edit: Paint
    good: Paint
    bad: Paint
    branch: Paint
    running: Paint = ""

    def __post_init__(self) -> None:
        if not self.running:
            msgspec.structs.force_setattr(self, "running", self.accent)


class Syntax(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The colours of code; everything else is `text`."""

    keyword: Paint
    builtin: Paint
    function: Paint
    type: Paint
    string: Paint
    number: Paint
    comment: Paint
    operator: Paint


class Palette(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One theme file.

    `attributes` are for roles that a colour alone cannot distinguish: those of a surface apply to whatever
    is drawn on it. The name is that of the file.
    """

    name: str
    dark: bool
    colors: Colors
    syntax: Syntax
    attributes: dict[str, Attributes] = {}

    @property
    def ansi(self) -> bool:
        """True if the colours are the terminal's own."""
        return self.colors.text.startswith("ansi_")

    @property
    def flat(self) -> bool:
        """True if surfaces look the same, so that their contents need another distinction."""
        colors = self.colors
        return colors.background == colors.surface == colors.raised


SURFACES = ("background", "surface", "raised", "cursor", "added", "removed")
"""The roles that other roles are drawn on."""


def theme_directories() -> list[Path]:
    """The directories of themes; the user's own comes first."""
    package = Path(__file__).parents[1]
    shipped = package / "themes"
    return [config_directory() / "themes", shipped if shipped.is_dir() else package.parent / "themes"]


def theme_names() -> list[str]:
    """The names of all themes."""
    return sorted({path.stem for directory in theme_directories() for path in directory.glob("*.toml")})


def theme_choices() -> list[str]:
    """Everything that a user may choose as the theme."""
    return [AUTO, *theme_names()]


@cache
def load_palette(name: str) -> Palette:
    """The palette of the theme `name`, as it was on first use; for `AUTO` the default.

    Raises:
        ConfigError: there is no such theme, or its file is invalid.
    """
    if name == AUTO:
        return load_palette(DEFAULT)
    for directory in theme_directories():
        path = directory / f"{name}.toml"
        if path.name == f"{name}.toml" and path.is_file():
            return read_palette(path)
    raise ConfigError(f"Unknown theme {name!r}.", f"Available themes: {', '.join(theme_choices())}.")


def read_palette(path: Path) -> Palette:
    """The palette in the file at `path`, as it is now.

    Raises:
        ConfigError: it cannot be read or is invalid; the message names the line.
    """
    try:
        text = toml_reader.read_text(path)
        table = toml_reader.parse(path, text)
    except ConfigError as exc:
        raise ConfigError(f"The theme {exc}", _HINT) from exc
    try:
        palette = msgspec.convert(table, Palette)
    except msgspec.ValidationError as exc:
        raise ConfigError(_describe(path, text, str(exc)), _HINT) from exc
    return replace(palette, name=path.stem)


def _describe(path: Path, text: str, problem: str) -> str:
    """An error of msgspec in words, with its line."""
    place = re.search(_PLACE, problem)
    keys = tuple(place["keys"].split(".")) if place and place["keys"] else ()
    if unknown := re.search(_UNKNOWN, problem):
        keys = (*keys, unknown["key"])
    what = problem[: place.start()] if place else problem
    if "matching regex" in what:
        written = "is not a color: write #rrggbb in lowercase, or an ANSI name such as ansi_red"
        what = (
            "is not one of bold, dim, italic, underline, reverse" if keys[:1] == ("attributes",) else written
        )
        what = f"`{'.'.join(keys)}` {what}"
    elif keys and not unknown:
        what = f"`{'.'.join(keys)}`: {what}"
    line = line_of_key(text, keys)
    return f"The theme {toml_reader.place(path, line)} is invalid: {what}."

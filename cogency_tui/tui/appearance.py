"""Which theme is shown: chosen, tried, kept in the configuration, and read again when its file is saved.

A file that cannot be read changes nothing: what it said before stays on the screen, and the person is told
what is wrong with it.
"""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual.app import App

from cogency_tui.config import config_path
from cogency_tui.errors import ConfigError
from cogency_tui.palettes import (
    COLOURLESS,
    DEFAULT,
    SIXTEEN,
    Palette,
    load_palette,
    read_palette,
    theme_directories,
)
from cogency_tui.tui.theming import forget_themes, textual_theme
from cogency_tui.tui.watching import import_awatch

if TYPE_CHECKING:
    from collections.abc import Iterable

_STEP = 1000
"""Milliseconds: how often the disk is looked at."""

_STYLED_AT_ONCE = 8
"""Widgets: a few milliseconds' work."""

NO_COLOURS = "NO_COLOR is set: there are no colours. Start without it to choose a theme."


class Appearance:
    """The theme of `app`."""

    def __init__(self, app: App[Any], *, colourless: bool) -> None:
        self._app = app
        self._colourless = colourless
        self.complaint = ""
        """What was wrong with the theme of the configuration."""

    def begin(self, name: str) -> None:
        """Begin with theme `name`, before any style sheet is read."""
        try:
            palette = load_palette(COLOURLESS if self._colourless else name)
        except ConfigError as exc:
            palette, self.complaint = load_palette(DEFAULT), exc.advice
        app = self._app
        app.register_theme(textual_theme(palette))
        app.set_reactive(App.theme, palette.name)
        app.set_class(palette.flat, "-flat")
        app.stylesheet.set_variables(app.get_css_variables())

    def limit(self) -> None:
        """Begin with colours that a terminal with 16 of them has, if those asked for are others."""
        if not load_palette(self._app.theme).ansi:
            self.begin(SIXTEEN)

    def use(self, name: str) -> None:
        """Show theme `name` from now on.

        Raises:
            ConfigError: there is none, its file cannot be used, or there are no colours at all.
        """
        if self._colourless:
            raise ConfigError(NO_COLOURS)
        self._show(load_palette(name))

    def choose(self, name: str) -> None:
        """As `use`, and tell the person why where that cannot be."""
        try:
            self.use(name)
        except ConfigError as exc:
            self._app.notify(exc.advice, severity="error", markup=False)

    def reload(self) -> None:
        """Read the theme again that is shown; where its file cannot be used, it stays as it is."""
        name = self._app.theme
        try:
            palette = next(
                read_palette(path)
                for directory in theme_directories()
                if (path := directory / f"{name}.toml").is_file()
            )
        except StopIteration:
            return
        except ConfigError as exc:
            self._app.notify(exc.advice, severity="error", markup=False)
            return
        if palette != load_palette(name):
            forget_themes()
            self._show(palette)

    async def watch(self) -> None:
        """Reload the theme whenever its file is saved."""
        awatch = await asyncio.to_thread(import_awatch)
        directories = [path for path in theme_directories() if await asyncio.to_thread(path.is_dir)]
        if not directories:
            return
        try:
            async for changes in awatch(
                *directories, step=_STEP, recursive=False, ignore_permission_denied=True
            ):
                if self._app.theme in _stems(changes):
                    self.reload()
        except OSError:
            return

    async def restyle(self) -> None:
        """Have every widget look as the theme that is set, some at a time.

        All at once it is the longest frame there is, and keys would have to wait for it. Nothing is painted
        before the last of them.
        """
        app, sheet = self._app, self._app.stylesheet
        with app.batch_update():
            sheet.set_variables(app.get_css_variables())
            sheet.reparse()
            for screen in reversed(app.screen_stack):
                nodes = list(screen.walk_children(with_self=True))
                for start in range(0, len(nodes), _STYLED_AT_ONCE):
                    await asyncio.sleep(0)
                    sheet.update_nodes(nodes[start : start + _STYLED_AT_ONCE])
                screen.refresh(layout=True)
            sheet.update_nodes([app])

    def _show(self, palette: Palette) -> None:
        app = self._app
        app.register_theme(textual_theme(palette))
        app.set_class(palette.flat, "-flat")
        if app.theme != palette.name:
            app.theme = palette.name
        else:
            # The same name with other colours: Textual sees no change.
            app.mutate_reactive(App.theme)


def _stems(changes: "Iterable[tuple[Any, str]]") -> set[str]:
    return {Path(path).stem for _change, path in changes if path.endswith(".toml")}


def keep_theme(name: str) -> str:
    """Write the theme into the person's configuration; where that is.

    Raises:
        ConfigError: the file cannot be changed.
    """
    from cogency_tui.config_file import set_key

    path = config_path()
    set_key(path, "theme", name)
    return str(path)

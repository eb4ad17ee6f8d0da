"""The theme in force: selected, previewed, stored in the configuration, and reloaded when its file is saved.

A file that cannot be read changes nothing: its previous version stays in force, and the user is notified of
the problem.
"""

import asyncio
import os
from contextlib import suppress
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

from textual.app import App
from textual.dom import DOMNode

from cogency_tui.config.themes import (
    AUTO,
    COLOURLESS,
    DAY,
    DEFAULT,
    SIXTEEN,
    Palette,
    load_palette,
    read_palette,
    theme_directories,
)
from cogency_tui.errors import ConfigError, WorkspaceError
from cogency_tui.tui.kit.typed_app import app_of
from cogency_tui.tui.theme_styles import forget_themes, textual_theme

if TYPE_CHECKING:
    from collections.abc import Mapping

    from textual.screen import Screen

_STYLED_AT_ONCE = 8
"""Widgets restyled between two keys: a few milliseconds of work."""

NO_COLORS = "NO_COLOR is set, so there are no colors. Start without it to choose a theme."


class Appearance:
    """The theme of `app`."""

    def __init__(self, app: App[Any], *, colorless: bool) -> None:
        self._app = app
        self._colorless = colorless
        self._light = _has_light_background(os.environ)
        self.chosen = DEFAULT
        """The name of the theme as the user chose it; the theme shown for `AUTO` depends on the terminal."""
        self.complaint = ""
        """The problem of the configured theme."""

    def begin(self, name: str) -> None:
        """Set theme `name` before any style sheet is read."""
        self.chosen = COLOURLESS if self._colorless else name
        try:
            palette = load_palette(self._resolve(self.chosen))
        except ConfigError as exc:
            palette, self.complaint = load_palette(DEFAULT), exc.advice
            self.chosen = DEFAULT
        app = self._app
        app.register_theme(textual_theme(palette))
        app.set_reactive(App.theme, palette.name)
        app.set_class(palette.flat, "-flat")
        app.stylesheet.set_variables(app.get_css_variables())

    def limit(self) -> None:
        """Use the 16 terminal colors, unless the theme is limited to them already."""
        if not load_palette(self._app.theme).ansi:
            self.begin(SIXTEEN)

    def use(self, name: str) -> None:
        """Show theme `name` from now on.

        Raises:
            ConfigError: the theme does not exist, its file cannot be used, or colors are disabled.
        """
        if self._colorless:
            raise ConfigError(NO_COLORS)
        self._show(load_palette(self._resolve(name)))
        self.chosen = name

    def suit(self, *, light: bool) -> None:
        """Show the theme for a terminal with a light or dark background, unless the user chose one."""
        self._light = light
        if self.chosen == AUTO and self._app.theme != (name := self._resolve(AUTO)):
            self._show(load_palette(name))

    def choose(self, name: str) -> None:
        """Like `use`, but report failures to the user."""
        try:
            self.use(name)
        except ConfigError as exc:
            self._app.notify(exc.advice, severity="error", markup=False)

    def reload(self) -> None:
        """Reload the theme in force; if its file cannot be used, the theme stays unchanged."""
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
        from cogency_tui.workspace.watch import follow_changes

        directories = [str(path) for path in theme_directories() if await asyncio.to_thread(path.is_dir)]
        if not directories:
            return
        with suppress(WorkspaceError):
            async for changes in follow_changes(directories, Event()):
                if self._app.theme in {Path(path).stem for path in changes}:
                    self.reload()

    async def restyle(self) -> None:
        """Restyle every widget for the theme in force, some at a time.

        Restyling all at once would be the longest frame of all, and delay keys. Nothing is painted before
        the last of them.
        """
        app, stylesheet = self._app, self._app.stylesheet
        with app.batch_update():
            stylesheet.set_variables(app.get_css_variables())
            stylesheet.reparse()
            for screen in _screens_of(app):
                nodes = list(screen.walk_children(with_self=True))
                for start in range(0, len(nodes), _STYLED_AT_ONCE):
                    await asyncio.sleep(0)
                    stylesheet.update_nodes(nodes[start : start + _STYLED_AT_ONCE])
                screen.refresh(layout=True)
                # Textual restyles a screen with another count when it is shown.
                screen._css_update_count = app._css_update_count  # pyright: ignore[reportPrivateUsage]
            stylesheet.update_nodes([app])

    def _resolve(self, name: str) -> str:
        """The theme that is shown for `name`."""
        return name if name != AUTO else DAY if self._light else DEFAULT

    def _show(self, palette: Palette) -> None:
        app = self._app
        app.register_theme(textual_theme(palette))
        app.set_class(palette.flat, "-flat")
        if app.theme != palette.name:
            app.theme = palette.name
        else:
            # Equal names with different colors: Textual detects no change.
            app.mutate_reactive(App.theme)


def appearance_of(node: DOMNode) -> Appearance:
    """The appearance of the app of `node`."""
    # Only the type of our own app, which imports this module, has one.
    app: Any = app_of(node)
    return app.appearance


def _screens_of(app: App[Any]) -> "list[Screen[Any]]":
    """All screens, those that are shown first."""
    # Textual lists only the stack that is shown.
    stacks = app._screen_stacks  # pyright: ignore[reportPrivateUsage]
    modes = sorted(stacks, key=lambda mode: mode != app.current_mode)
    return [screen for mode in modes for screen in reversed(stacks[mode])]


def _has_light_background(environ: "Mapping[str, str]") -> bool:
    """Return whether `COLORFGBG`, which some terminals set, ends with a light one of the 16 colors."""
    background = environ.get("COLORFGBG", "").rpartition(";")[2]
    return background in ("7", "15")

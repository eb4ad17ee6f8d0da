"""The application: it wires theme, keys, screens and the agent together, and does nothing else.

Nothing typed while it starts is lost: keys wait until the prompt can take them.
"""

import asyncio
import gc
import signal
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen, Screen
from textual.widgets import Input, TextArea

from cogency_tui.errors import ConfigError
from cogency_tui.tui.commands import CommandSource
from cogency_tui.tui.screens.main import MainScreen
from cogency_tui.tui.theming import DEFAULT, load_palette, textual_theme, theme_names, variables

if TYPE_CHECKING:
    from cogency_tui.agent.agent import Agent

_BREATH = 0.1
"""Seconds after the first frame in which nothing but keys is worked on: loading the engine can wait."""

_TWICE = 2.0
"""Seconds within which a second Ctrl+C means it."""


class CogencyApp(App[int]):
    """The full-screen interface over `agent`."""

    TITLE = "cogency"
    CSS_PATH: ClassVar = [Path(__file__).parent / "styles" / name for name in ("main.tcss", "textual.tcss")]
    COMMANDS: ClassVar = {CommandSource}
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "ctrl+c",
            "copy_or_interrupt",
            "Copy or interrupt",
            priority=True,
            id="copy_or_interrupt",
            tooltip="Copy what is selected; else interrupt; twice: leave",
        ),
        Binding(
            "ctrl+q",
            "leave",
            "Quit",
            priority=True,
            id="leave",
            tooltip="Leave; asks only while the agent works",
        ),
        Binding(
            "ctrl+p",
            "command_palette",
            "Commands",
            priority=True,
            id="command_palette",
            tooltip="All commands",
        ),
    ]
    ENABLE_SELECT_AUTO_SCROLL = True

    def __init__(self, agent: "Agent", *, prompt: str = "", conversation_id: str | None = None) -> None:
        super().__init__()
        self._main = MainScreen(agent, prompt=prompt, conversation_id=conversation_id)
        self._held: list[events.Event] | None = []
        self._pressed = 0.0
        self._complaint = ""
        self._use_theme(agent.settings.theme)
        self.set_keymap(agent.settings.keys)

    def get_default_screen(self) -> Screen[None]:
        return self._main

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return variables(load_palette(DEFAULT))

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """None of Textual's own: `CommandSource` has ours."""
        del screen
        return ()

    async def on_event(self, event: events.Event) -> None:
        if self._held is not None and isinstance(event, events.Key | events.Paste):
            self._held.append(event)
            return
        await super().on_event(event)

    async def on_ready(self) -> None:
        held, self._held = self._held or [], None
        for event in held:
            # Until now the terminal was not ours, and its driver turned Enter into a newline.
            early = isinstance(event, events.Key) and event.key == "ctrl+j"
            await super().on_event(events.Key("enter", "\r") if early else event)
        if self._complaint:
            self.notify(self._complaint, severity="warning", markup=False)
        self.set_timer(_BREATH, self._main.begin)
        # What exists now lives as long as the program: the collector need not look at it again, and a
        # full collection in the middle of a stream would be seen.
        gc.freeze()
        gc.set_threshold(20_000, 20, 100)
        gc.enable()

    def action_set_theme(self, name: str) -> None:
        if not name:
            self.notify(f"The theme is {self.theme}. There are: {', '.join(theme_names())}", markup=False)
            return
        try:
            self.register_theme(textual_theme(load_palette(name)))
        except ConfigError as exc:
            self.notify(exc.advice, severity="error", markup=False)
            return
        self.theme = name

    def action_leave(self) -> None:
        """Leave; asked for again while it is asked about, leave at once."""
        if isinstance(self.screen, ModalScreen) and self._main.bridge.working:
            self.exit()
        else:
            self._main.action_leave()

    def action_copy_or_interrupt(self) -> None:
        """Copy a selection; else interrupt; pressed again, leave."""
        focused = self.focused
        if text := self.screen.get_selected_text():
            self.copy_to_clipboard(text)
        elif isinstance(focused, TextArea | Input) and focused.selected_text:
            self.copy_to_clipboard(focused.selected_text)
        elif asyncio.get_running_loop().time() - self._pressed < _TWICE:
            self.exit()
        else:
            self._pressed = asyncio.get_running_loop().time()
            if self._main.bridge.working:
                self._main.action_step_back()
            self.notify("Press Ctrl+C again to leave.", timeout=_TWICE, markup=False)

    def _use_theme(self, name: str) -> None:
        """Begin with theme `name`, before any style sheet is read."""
        try:
            palette = load_palette(name)
        except ConfigError as exc:
            palette, self._complaint = load_palette(DEFAULT), exc.advice
        self.register_theme(textual_theme(palette))
        self.set_reactive(App.theme, palette.name)
        self.stylesheet.set_variables(self.get_css_variables())


def run(agent: "Agent", *, prompt: str = "", conversation_id: str | None = None) -> int:
    """Show the interface until the person leaves; the exit status."""
    return asyncio.run(_run(agent, prompt, conversation_id))


async def _run(agent: "Agent", prompt: str, conversation_id: str | None) -> int:
    app = CogencyApp(agent, prompt=prompt, conversation_id=conversation_id)
    loop = asyncio.get_running_loop()
    for name in ("SIGTERM", "SIGHUP"):
        with suppress(AttributeError, NotImplementedError):
            loop.add_signal_handler(getattr(signal, name), app.exit)
    try:
        await app.run_async()
    finally:
        await agent.close()
    return app.return_code or 0

"""The application: it wires theme, keys, screens and the agent together, and does nothing else.

Nothing typed while it starts is lost: keys wait until the prompt can take them.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

from rich.segment import Segments
from textual import events
from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.driver import Driver
from textual.filter import ANSIToTruecolor, LineFilter, Monochrome, NoColor
from textual.notifications import SeverityLevel
from textual.screen import ModalScreen, Screen
from textual.widgets import Input, TextArea

from cogency_tui.palettes import DEFAULT, load_palette
from cogency_tui.signals import on_signal
from cogency_tui.text import clean
from cogency_tui.tui.appearance import Appearance
from cogency_tui.tui.arenas import share_arena
from cogency_tui.tui.collecting import Collecting
from cogency_tui.tui.commands import CommandSource, Palette
from cogency_tui.tui.drawing.guard import TerminalGuard
from cogency_tui.tui.leaving import is_of_leaving
from cogency_tui.tui.manners.driver import TerminalDriver
from cogency_tui.tui.manners.hangup import when_hung_up
from cogency_tui.tui.manners.presence import Presence
from cogency_tui.tui.manners.terminal import Terminal
from cogency_tui.tui.pending_input import PendingInput
from cogency_tui.tui.screens.main import MainScreen
from cogency_tui.tui.theming import variables
from cogency_tui.tui.workers import Workers

if TYPE_CHECKING:
    from cogency_tui.agent.agent import Agent
    from cogency_tui.tui.frames import FrameLog

_BREATH = 0.1
"""Seconds after the first frame in which nothing but keys is worked on: loading the engine can wait."""

_TWICE = 2.0
"""Seconds within which a second Ctrl+C means it."""

_GRACE = 2.0
"""Seconds that the end waits for what is being worked on."""

_ENDING = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM)
"""Signals that end the program; the terminal's own keys for them send none to us."""

_GUARD = TerminalGuard()
_COLOURLESS = NoColor()


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
        Binding(
            "ctrl+z",
            "suspend_process",
            "Suspend",
            show=False,
            priority=True,
            id="suspend",
            tooltip="Go back to the shell; `fg` brings the program back",
        ),
    ]
    ENABLE_SELECT_AUTO_SCROLL = True

    def __init__(
        self,
        agent: "Agent",
        *,
        prompt: str = "",
        conversation_id: str | None = None,
        screen: Callable[..., MainScreen] = MainScreen,
    ) -> None:
        super().__init__()
        self._workers = Workers(self)
        self._collecting = Collecting(self.set_timer)
        self._main = screen(agent, prompt=prompt, conversation_id=conversation_id)
        self._held: list[events.Event] | None = []
        self._pressed = 0.0
        self._pending_input = PendingInput()
        self._own_task: asyncio.Task[Any] | None = None
        # By the convention an empty one means nothing.
        self.no_color = bool(os.environ.get("NO_COLOR"))
        self.appearance = Appearance(self, colourless=self.no_color)
        self.appearance.begin(agent.settings.theme)
        self.presence = Presence(
            agent.project.name, Terminal.of(os.environ), agent.settings.notify, self.send_to_terminal
        )
        # One without a key has none: Textual would leave it its own.
        self.set_keymap({id: key or "no_key" for id, key in agent.settings.keys.items()})

    def _fatal_error(self) -> None:
        """Report a crash as Textual does, but without the local variables: keys and files are among them."""
        from rich.traceback import Traceback

        self.bell()
        report = self.console.render(Traceback(show_locals=False, width=None), self.console.options)
        # What an exception says may be a stranger's.
        self._exit_renderables.append(Segments(each._replace(text=clean(each.text)) for each in report))
        self._close_messages_no_wait()

    def get_default_screen(self) -> Screen[None]:
        return self._main

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return variables(load_palette(DEFAULT))

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """None of Textual's own: `CommandSource` has ours."""
        del screen
        return ()

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Textual's, and the guard between every widget and the terminal."""
        unwanted = (Monochrome, ANSIToTruecolor) if self.native_ansi_color else Monochrome
        filters = [each for each in super().get_line_filters() if not isinstance(each, unwanted)]
        return [*filters, *([_COLOURLESS] if self.no_color else []), _GUARD]

    def get_driver_class(self) -> type[Driver]:
        """The terminal's, unless the environment names another: a browser's."""
        return super().get_driver_class() if "TEXTUAL_DRIVER" in os.environ else TerminalDriver

    def _handle_exception(self, error: Exception) -> None:
        if not is_of_leaving(error, app_left=self._exit or not self._running):
            super()._handle_exception(error)

    def send_to_terminal(self, sequence: str) -> bool:
        """Have the terminal act on a control sequence, between two frames. Whether it gets that: one that is
        not read misses it."""
        if self._driver is None or self._driver.is_headless or not self._takes_frame():
            return False
        self._driver.write(sequence)
        return True

    def _display(self, screen: Screen[Any], renderable: Any) -> None:
        if self._takes_frame():
            # Textual leaves the parameter of `Screen` open.
            app: Any = super()
            app._display(screen, renderable)

    def _takes_frame(self) -> bool:
        return not isinstance(self._driver, TerminalDriver) or self._driver.takes_frame()

    def on_terminal_driver_read_again(self) -> None:
        """Draw all that the terminal missed while nobody read it."""
        self.presence.begin()
        self.presence.show()
        self.refresh(layout=True)

    def copy_to_clipboard(self, text: str) -> None:
        """Put `text` where the person can paste it from, and say where that is."""
        self._clipboard = text
        self.run_worker(partial(self._copy, text), group="copy", exclusive=True)

    async def _copy(self, text: str) -> None:
        from cogency_tui.tui.manners.clipboard import copy

        done, said = await copy(text, os.environ, self.send_to_terminal)
        self.notify(said, severity="information" if done else "warning", markup=False)

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = False,
    ) -> None:
        """Tell the person in passing; what is told is text, and never markup."""
        del markup
        super().notify(clean(message), title=clean(title), severity=severity, timeout=timeout, markup=False)

    async def on_event(self, event: events.Event) -> None:
        if self._held is not None and isinstance(event, events.Key | events.Paste):
            self._held.append(event)
            return
        if isinstance(event, events.InputEvent):
            if self._exit:
                # What was typed ahead does nothing any more, and the end does not wait for it.
                return
            self._collecting.touch()
        if isinstance(event, events.Key | events.Paste) and not self._pending_input.is_for(
            event, self.screen
        ):
            return
        await super().on_event(event)

    def exit(self, result: int | None = None, return_code: int = 0, message: Any = None) -> None:
        """Leave, whatever was typed ahead, and whatever is being worked on."""
        super().exit(result, return_code, message)
        self._pending_input.drop()
        asyncio.get_running_loop().call_later(_GRACE, self._abandon)

    def _abandon(self) -> None:
        """Cancel what still holds the end up."""
        for node in list(self._registry):
            if node.is_running:
                # Textual leaves the parameter of `Task` open.
                cast("asyncio.Task[Any]", node.task).cancel()  # pyright: ignore[reportUnknownMemberType]
        if not self._closed and self._own_task is not None:
            self._own_task.cancel()

    async def on_ready(self) -> None:
        self._own_task = asyncio.current_task()
        held, self._held = self._held or [], None
        for event in held:
            # Until now the terminal was not ours, and its driver turned Enter into a newline.
            early = isinstance(event, events.Key) and event.key == "ctrl+j"
            await super().on_event(events.Key("enter", "\r") if early else event)
        if self.appearance.complaint:
            self.notify(self.appearance.complaint, severity="warning", markup=False)
        signals: Any = self
        signals.app_resume_signal.subscribe(self._main, self._come_back)
        if isinstance(self._driver, TerminalDriver):
            self._driver.farewell = self.presence.end
        self._main.set_timer(_BREATH, self._begin)
        self._collecting.begin()

    def _begin(self) -> None:
        """What can wait until the first frame stands."""
        share_arena()
        self.presence.begin()
        self._main.begin()
        self.run_worker(self.appearance.watch, group="themes")
        if self._main.agent.settings.keys:
            self.run_worker(self._check_keys, group="keys")

    async def _check_keys(self) -> None:
        """Tell the person what is wrong with the keys of the configuration."""
        from cogency_tui.tui.key_table import describe_problems

        for problem in describe_problems(self._main.agent.settings.keys):
            self.notify(problem, severity="error", timeout=15, markup=False)

    def _come_back(self, _app: object) -> None:
        """After `fg` the terminal shows something else: all of it is drawn again."""
        self.presence.begin()
        self.refresh(layout=True)

    def on_main_screen_state_changed(self, event: MainScreen.StateChanged) -> None:
        self.presence.change(event.state, watched=self.app_focus)
        if event.state == "idle":
            self._collecting.rest()

    def refresh_css(self, animate: bool = True) -> None:
        """Restyle everything, as Textual asks for when the theme has changed."""
        del animate
        self.run_worker(self.appearance.restyle, group="restyle", exclusive=True)

    def action_command_palette(self) -> None:
        if not isinstance(self.screen, Palette):
            self.push_screen(Palette(id="--command-palette"))

    def action_set_theme(self, name: str) -> None:
        self.appearance.choose(name)

    def action_leave(self) -> None:
        """Leave; asked for again while it is asked about, leave at once."""
        if isinstance(self.screen, ModalScreen) and self._main.bridge.working:
            self.exit()
        else:
            self._main.leave()

    def end(self, number: int) -> None:
        """Leave because of a signal; the exit status says which."""
        editing = isinstance(self._driver, TerminalDriver) and self._driver.lent
        # Ctrl+C in an editor of the user's is the editor's.
        if not (editing and number == signal.SIGINT):
            self.exit(return_code=128 + number)

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


def run(
    agent: "Agent",
    *,
    prompt: str = "",
    conversation_id: str | None = None,
    mouse: bool = True,
    animation: bool = True,
    frames: "FrameLog | None" = None,
    screen: Callable[..., MainScreen] = MainScreen,
) -> int:
    """Show the interface until the person leaves; the exit status. The settings too must allow the mouse and
    what moves by itself. `frames` takes down which frames were late.
    """
    try:
        with asyncio.Runner(loop_factory=frames.loop if frames else None) as runner:
            app = partial(CogencyApp, agent, prompt=prompt, conversation_id=conversation_id, screen=screen)
            return runner.run(_run(agent, app, mouse, animation))
    finally:
        if frames:
            frames.close()


async def _run(agent: "Agent", make: Callable[[], CogencyApp], mouse: bool, animation: bool) -> int:
    app = make()
    if not (animation and agent.settings.animation) or os.environ.get("COGENCY_NO_ANIMATION"):
        app.animation_level = "none"
    if app.console.color_system in (None, "standard"):
        app.appearance.limit()
    loop = asyncio.get_running_loop()
    for number in _ENDING:
        on_signal(loop, number, partial(app.end, number))
    in_browser = "TEXTUAL_DRIVER" in os.environ
    if sys.__stdin__ is not None and (in_browser or sys.__stdin__.isatty()):
        when_hung_up(sys.__stdin__.fileno(), lambda: loop.call_soon_threadsafe(app.end, signal.SIGHUP))
    try:
        await app.run_async(mouse=mouse and agent.settings.mouse)
    finally:
        # The terminal is the shell's again: Ctrl+C ends what is still being closed.
        loop.remove_signal_handler(signal.SIGINT)
        await agent.close()
    return app.return_code or 0

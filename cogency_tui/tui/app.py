"""The application: wires theme, keys, screens and the agent together, and guards their start and end.

Invariant: nothing typed during the start is lost. Before the first frame all input waits. After it the prompt
takes text; other input, and everything after it, waits until the main screen is open.

A full garbage collection takes time proportional to the number of objects: a tenth of a second in a long
conversation, visible while the user scrolls or types. Young objects are therefore collected as they
accumulate; everything is collected once the user pauses, or once many collections have passed.
"""

import asyncio
import gc
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from contextvars import ContextVar
from functools import cached_property, partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar, cast
from weakref import WeakSet

from rich.segment import Segments
from textual import constants, events
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual._context import NoActiveAppError, active_message_pump
from textual.app import App, ScreenError
from textual.binding import Binding, BindingType
from textual.css.query import NoMatches
from textual.dom import DOMNode, NoScreen
from textual.driver import Driver
from textual.filter import ANSIToTruecolor, LineFilter, Monochrome, NoColor
from textual.notifications import Notification, SeverityLevel
from textual.screen import ModalScreen, Screen
from textual.widget import MountError
from textual.widgets import Input, TextArea
from textual.worker import Worker, WorkerFailed, active_worker  # pyright: ignore[reportUnknownVariableType]
from textual.worker_manager import WorkerManager

from cogency_tui.config.themes import AUTO, DEFAULT, load_palette
from cogency_tui.providers.models import describe_ending
from cogency_tui.safe_text import clean, one_line
from cogency_tui.signal_delivery import on_signal
from cogency_tui.tui.kit.lines import TerminalGuard
from cogency_tui.tui.kit.partial_screen import PartialScreen
from cogency_tui.tui.main.screen import MainScreen
from cogency_tui.tui.memory_arenas import share_arena
from cogency_tui.tui.settings.active_theme import Appearance
from cogency_tui.tui.terminal.capabilities import Terminal
from cogency_tui.tui.terminal.driver import CLEAR_SCREEN, TerminalDriver, when_hung_up
from cogency_tui.tui.terminal.frames import Changes, ShownRows
from cogency_tui.tui.terminal.input import ASK_BACKGROUND, QUICK_ESCAPE, BackgroundReport
from cogency_tui.tui.terminal.key_order import KeyOrder, Typed
from cogency_tui.tui.terminal.title_and_notifications import Presence
from cogency_tui.tui.theme_styles import variables

if TYPE_CHECKING:
    from cogency_tui.agent.agent import Agent
    from cogency_tui.tui.frame_log import FrameLog
    from cogency_tui.tui.main.open_conversations import OpenConversations
    from cogency_tui.tui.prompt.prompt import Prompt


class Workers(WorkerManager):
    """The workers of an app. An app that is closing has cancelled its workers and starts no more: a timer or
    a message may still ask for one, which would look for widgets that are already gone.
    """

    def __init__(self, app: App[Any]) -> None:
        # Textual leaves the parameters of `App` and `Worker` open.
        manager: Any = super()
        manager.__init__(app)
        self._of = app

    def add_worker(self, worker: Worker[Any], start: bool = True, exclusive: bool = True) -> None:
        manager: Any = super()
        manager.add_worker(worker, start=start and self._of.is_running, exclusive=exclusive)

    async def end(self, seconds: float) -> None:
        """Cancel the workers, and wait for what they have to end, such as processes, `seconds` at most."""
        self.cancel_all()
        # Textual leaves the parameters of `Worker` open.
        workers = cast("set[Any]", self._workers)  # pyright: ignore[reportUnknownMemberType]
        if tasks := [worker._task for worker in workers if worker._task is not None]:
            await asyncio.wait(tasks, timeout=seconds)


_MISSING = (NoMatches, NoScreen, ScreenError, MountError, NoActiveAppError)


def is_of_leaving(error: Exception, *, app_left: bool) -> bool:
    """Return whether `error`, which is being handled, means only that a widget's screen or app is gone."""
    cause = error.error if isinstance(error, WorkerFailed) else error
    return isinstance(cause, _MISSING) and (app_left or _is_removed(_node_of(error)))


def _node_of(error: Exception) -> object:
    """The node whose handler or worker failed."""
    # Textual leaves the parameter of `Worker` open.
    worker = cast("ContextVar[Worker[Any]]", active_worker)
    return worker.get().node if isinstance(error, WorkerFailed) else active_message_pump.get(None)


def _is_removed(node: object) -> bool:
    if not isinstance(node, DOMNode):
        return False
    # Textual sets this mark before it removes anything; `is_attached` changes too late.
    return any(each._pruning for each in node.ancestors_with_self)  # pyright: ignore[reportPrivateUsage]


PAUSE = 3.0
"""Seconds without a key or a click after which a full collection disturbs no user."""

_YOUNG, _MIDDLE = 5_000, 4

_OLD = 10
"""Collections of the middle generation before a full one, also for a user who never pauses: otherwise the
garbage of a long session has no bound."""


class Collecting:
    """Schedules the garbage collection of an app; `later` calls a function after a number of seconds."""

    def __init__(self, later: Callable[[float, Callable[[], None]], object]) -> None:
        self._later = later
        self._touched = 0.0
        self._waiting = False

    def begin(self) -> None:
        """Start collecting. Existing objects live as long as the program and are exempt."""
        gc.freeze()
        gc.set_threshold(_YOUNG, _MIDDLE, _OLD)
        gc.enable()

    def touch(self) -> None:
        """Note that the user is active."""
        self._touched = monotonic()

    def rest(self) -> None:
        """Collect everything as soon as the user pauses."""
        if not self._waiting:
            self._waiting = True
            self._later(PAUSE, self._collect)

    def _collect(self) -> None:
        if (left := self._touched + PAUSE - monotonic()) > 0:
            self._later(left, self._collect)
        else:
            self._waiting = False
            gc.collect()


_NOTICE_SECONDS: dict[SeverityLevel, float] = {"information": 3.0, "warning": 6.0, "error": 6.0}

_TWICE = 2.0
"""Seconds within which a second Ctrl+C confirms the first."""

_GRACE = 2.0
"""Seconds that the exit waits for running work."""

_PATIENCE_AT_END = 0.5
"""Seconds of closing after which the user learns what takes longer."""

_ENDING = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM)
"""Signals that end the program; the terminal sends none for its own keys, which arrive as input."""

_GUARD = TerminalGuard()
_COLORLESS = NoColor()


class CogencyApp(App[int]):
    """The full-screen interface over `agent`."""

    TITLE = "cogency"
    OPENS_AFTER: ClassVar = 0.05
    """Seconds after the first frame that are reserved for keys; everything that it does not show can wait."""
    CSS_PATH: ClassVar = [Path(__file__).parent / "styles" / name for name in ("main.tcss", "textual.tcss")]
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "ctrl+c",
            "copy_or_interrupt",
            "Copy or interrupt",
            show=False,
            priority=True,
            id="copy_or_interrupt",
            tooltip="Copy the selection, interrupt the agent, or clear the prompt; else press twice to quit",
        ),
        Binding(
            "ctrl+q",
            "leave",
            "Quit",
            priority=True,
            id="leave",
            tooltip="Quit; asks first while the agent is working, or a text is not saved",
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
            "f6",
            "focus_question",
            "Answer",
            show=False,
            id="focus_question",
            tooltip="Go to the agent's question, or back from it",
        ),
        Binding(
            "f9",
            "switch_conversation",
            "Switch",
            show=False,
            priority=True,
            id="switch_conversation",
            tooltip="Go to another open conversation",
        ),
        Binding(
            "shift+f9",
            "next_waiting",
            "Next waiting",
            show=False,
            priority=True,
            id="next_waiting",
            tooltip="Go to the next conversation that waits for you",
        ),
        Binding(
            "ctrl+l",
            "repaint",
            "Redraw",
            show=False,
            priority=True,
            id="repaint",
            tooltip="Redraw the whole screen",
        ),
        Binding(
            "ctrl+z",
            "suspend_process",
            "Suspend",
            show=False,
            priority=True,
            id="suspend",
            tooltip="Suspend to the shell; `fg` resumes",
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
        self._first = screen(agent, prompt=prompt, conversation_id=conversation_id)
        self._make = screen
        self._waiting: list[events.Event] | None = []
        """The input that the main screen cannot handle yet; None as soon as it can handle any."""
        self._shown = False
        self._pressed = 0.0
        self._typed = self._typed_before = 0
        """The keys that were typed, and those that were when `_pressed` was noted."""
        self._notified = WeakSet[Screen[Any]]()
        """The screens that the last notification concerns."""
        self._postponed: Notification | None = None
        """The last notification, if the screen had no room for it."""
        self.keys = KeyOrder(self, self._pass_on, self._sift, self._accepts)
        self._shown_rows = ShownRows()
        self._own_task: asyncio.Task[Any] | None = None
        # By convention an empty value means unset.
        self.no_color = bool(os.environ.get("NO_COLOR"))
        self.appearance = Appearance(self, colorless=self.no_color)
        self.appearance.begin(agent.settings.theme)
        self.presence = Presence(
            agent.project.name, Terminal.of(os.environ), agent.settings.notify, self.send_to_terminal
        )
        # For an empty key Textual would leave the default binding in place.
        self.set_keymap({id: key or "no_key" for id, key in agent.settings.keys.items()})

    @property
    def is_open(self) -> bool:
        """True as soon as the main screen is complete, and no input waits any more."""
        return self._waiting is None

    def _fatal_error(self) -> None:
        """Report a crash as Textual does, but without the local variables, which include keys and files."""
        from rich.traceback import Traceback

        self.bell()
        report = self.console.render(Traceback(show_locals=False, width=None), self.console.options)
        # The message of an exception may contain foreign text.
        self._exit_renderables.append(Segments(each._replace(text=clean(each.text)) for each in report))
        self._close_messages_no_wait()

    def get_default_screen(self) -> Screen[None]:
        return self._first

    @property
    def _main(self) -> MainScreen:
        """The main screen of the conversation that is shown."""
        return self.conversations.shown if self._has_others else self._first

    @property
    def _has_others(self) -> bool:
        """True if more than one conversation may be open."""
        return "conversations" in vars(self)

    @cached_property
    def conversations(self) -> "OpenConversations":
        """The open conversations, of which there is one for a start."""
        from cogency_tui.tui.main.open_conversations import OpenConversations

        return OpenConversations(self, self._first, self._make, self._hold, self.presence.forget)

    def _hold(self) -> Callable[[], None]:
        """Have the input wait until the returned function is called."""
        self._waiting = self._waiting or []

        def release() -> None:
            # Only in the app's own task no later input can overtake the input that waits.
            self.call_later(self._end_waiting)

        return release

    def push_screen(self, *args: Any, mode: str | None = None, **named: Any) -> Any:
        """Push a screen over the conversation that asks for it, which need not be the one that is shown."""
        # Textual leaves the parameter of `Screen` open.
        app: Any = super()
        return app.push_screen(*args, mode=mode or self._mode_of_caller(), **named)

    def _mode_of_caller(self) -> str | None:
        """The mode of the conversation whose code runs; None for the one that is shown."""
        node = active_message_pump.get(None)
        if not self._has_others or isinstance(node, App) or not isinstance(node, DOMNode):
            return None
        with suppress(NoScreen):
            # Textual leaves the parameter of `Screen` open.
            screen: Any = node.screen  # pyright: ignore[reportUnknownMemberType]
            return self.conversations.stack_over(screen)[0]
        return None

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return variables(load_palette(DEFAULT))

    def get_css_variables(self) -> dict[str, str]:
        # Textual asks once before the theme is known: these would be computed for nothing.
        return super().get_css_variables() if "appearance" in vars(self) else {}

    def _load_screen_css(self, screen: Screen[Any]) -> None:
        """Parse only the style sheets that `screen` adds; Textual parses all of them again."""
        new = [path for path in screen.css_path if not self.stylesheet.has_source(str(path))]
        if new:
            self.stylesheet.read_all(new)
            self.stylesheet.parse()
            self.stylesheet.update(self)

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Textual's filters, and the guard between every widget and the terminal."""
        unwanted = (Monochrome, ANSIToTruecolor) if self.native_ansi_color else Monochrome
        filters = [each for each in super().get_line_filters() if not isinstance(each, unwanted)]
        return [*filters, *([_COLORLESS] if self.no_color else []), _GUARD]

    def get_driver_class(self) -> type[Driver]:
        """The terminal's driver, unless the environment names another, such as a browser's."""
        return super().get_driver_class() if "TEXTUAL_DRIVER" in os.environ else TerminalDriver

    def _build_driver(self, *options: Any, **named: Any) -> Driver:
        driver = super()._build_driver(*options, **named)
        if isinstance(driver, TerminalDriver) and self.appearance.chosen == AUTO:
            driver.greeting = ASK_BACKGROUND
        return driver

    def on_prompt_vim_mode_changed(self, event: "Prompt.VimModeChanged") -> None:
        """Take Esc for a key sooner: with Vim's keys another one often follows at once, and is not Alt's."""
        if isinstance(self._driver, TerminalDriver):
            self._driver.escape_delay = QUICK_ESCAPE if event.status else constants.ESCAPE_DELAY

    def on_background_report(self, event: BackgroundReport) -> None:
        self.appearance.suit(light=event.light)

    def _handle_exception(self, error: Exception) -> None:
        if not is_of_leaving(error, app_left=self._exit or not self._running):
            super()._handle_exception(error)

    def send_to_terminal(self, sequence: str) -> bool:
        """Send a control sequence to the terminal between two frames. Return whether the terminal gets it:
        a terminal that is not being read misses it."""
        if self._driver is None or self._driver.is_headless or not self._takes_frame():
            return False
        self._driver.write(sequence)
        return True

    def _display(self, screen: Screen[Any], renderable: Any) -> None:
        if not self._takes_frame():
            self._shown_rows.forget()
            return
        if isinstance(renderable, LayoutUpdate | ChopsUpdate):
            renderable = Changes(renderable, self._shown_rows)
        # Textual leaves the parameter of `Screen` open.
        app: Any = super()
        app._display(screen, renderable)

    def _takes_frame(self) -> bool:
        return not isinstance(self._driver, TerminalDriver) or self._driver.takes_frame()

    def on_terminal_driver_read_again(self) -> None:
        """Redraw everything that the terminal missed while its output was not read."""
        self.presence.begin()
        self.presence.show()
        if isinstance(self._driver, TerminalDriver) and self._driver.graphics:
            self._driver.graphics.update()
        self._redraw()

    def copy_to_clipboard(self, text: str) -> None:
        """Copy `text` to where the user can paste it from, and report where that is."""
        self._clipboard = text
        self.run_worker(partial(self._copy, text), group="copy", exclusive=True)

    async def _copy(self, text: str) -> None:
        from cogency_tui.tui.terminal.clipboard import copy

        done, message = await copy(text, os.environ, self.send_to_terminal)
        self.notify(message, severity="information" if done else "warning", markup=False)

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = False,
    ) -> None:
        """Show a notification in place of the one before; `message` is text, never markup.

        It concerns the screen on top, and goes when that is left.
        """
        del markup
        self._notified = WeakSet(self._screens_in_view())
        self._postponed = None
        shown = timeout or _NOTICE_SECONDS[severity]
        super().notify(clean(message), title=clean(title), severity=severity, timeout=shown, markup=False)

    def clear_notifications(self) -> None:
        """Remove the notification from every screen: what it was about is no longer shown."""
        self._notified = WeakSet(self.screen_stack)
        self._postponed = None
        super().clear_notifications()

    def on_notify(self) -> None:
        """Forget the notification before, as Textual is about to add the next.

        Textual removes a toast that is replaced, but not its holder, below which the next one would be shown.
        """
        from cogency_tui.tui.toast_placement import reset_toasts

        self._notifications.clear()
        for screen in self.screen_stack:
            screen.query("ToastHolder").remove()
            reset_toasts(screen)

    def _refresh_notifications(self) -> None:
        if self.screen_stack and self.screen in self._notified:
            super()._refresh_notifications()
            self.call_later(self.place_notification)

    def place_notification(self, _screen: object = None) -> None:
        """Keep the notification off what the user works with; postpone it until there is room."""
        if not self.screen_stack or self.screen not in self._notified:
            return
        from cogency_tui.tui.toast_placement import has_room, place_toasts

        if self._notifications:
            if not place_toasts(self.screen, self.place_notification):
                [*_before, self._postponed] = self._notifications
                super().clear_notifications()
        elif (last := self._postponed) is not None and has_room(self.screen):
            self.notify(
                last.message,
                title=last.title,
                severity=last.severity,
                timeout=last.timeout,
                markup=False,
            )

    def _screens_in_view(self) -> Iterator[Screen[Any]]:
        """The dialogs on top, and the screen below them."""
        for screen in reversed(self.screen_stack):
            yield screen
            if not isinstance(screen, ModalScreen):
                return

    async def on_event(self, event: events.Event) -> None:
        is_input = isinstance(event, events.InputEvent | events.Paste)
        if is_input and self._waiting is not None and (self._waiting or not self._accepts(event)):
            self._waiting.append(event)
            return
        if isinstance(event, events.Resize):
            # Terminals move and cut rows in ways of their own.
            self._shown_rows.forget()
        if isinstance(event, events.InputEvent):
            if self._exit:
                # Input typed ahead has no effect any more, and the exit does not wait for it.
                return
            self._collecting.touch()
        if not isinstance(event, events.Key | events.Paste):
            await self._pass_on(event)
        elif not event.is_forwarded:
            await self.keys.take(event)
        elif self.keys.is_for(event, screen := self.screen):
            if isinstance(screen, PartialScreen):
                screen.draw_soon()
            await self._pass_on(event)

    async def _pass_on(self, event: events.Event) -> None:
        await super().on_event(event)
        if isinstance(event, events.InputEvent) and self._notifications:
            # A selected row may have moved below it.
            self.call_after_refresh(self.place_notification)

    def _sift(self, event: Typed) -> Typed | None:
        screen = self.screen
        self._typed += 1
        return screen.sift(event) if isinstance(screen, PartialScreen) else event

    def _accepts(self, event: events.Event) -> bool:
        """Return whether the main screen, which may not be complete, can handle `event`."""
        return self._waiting is None or (self._shown and self._main.takes(event))

    def exit(self, result: int | None = None, return_code: int = 0, message: Any = None) -> None:
        """Leave, regardless of queued keys and running work."""
        super().exit(result, return_code, message)
        self.keys.drop()
        asyncio.get_running_loop().call_later(_GRACE, self._abandon)

    def _abandon(self) -> None:
        """Cancel whatever still delays the exit."""
        for node in list(self._registry):
            if node.is_running:
                # Textual leaves the parameter of `Task` open.
                cast("asyncio.Task[Any]", node.task).cancel()  # pyright: ignore[reportUnknownMemberType]
        if not self._closed and self._own_task is not None:
            self._own_task.cancel()

    async def _shutdown(self) -> None:
        """Close everything. The terminal belongs to the shell again."""
        await super()._shutdown()
        await self._workers.end(_GRACE)

    async def on_ready(self) -> None:
        self._own_task = asyncio.current_task()
        self._shown = True
        waiting, self._waiting = self._waiting or [], []
        for event in waiting:
            # Before the app took over the terminal, the terminal's own driver turned Enter into a newline.
            early = isinstance(event, events.Key) and event.key == "ctrl+j"
            await self.on_event(events.Key("enter", "\r") if early else event)
        if self.appearance.complaint:
            self.notify(self.appearance.complaint, severity="warning", markup=False)
        signals: Any = self
        signals.app_resume_signal.subscribe(self, self._come_back)
        if isinstance(self._driver, TerminalDriver):
            self._driver.farewell = self.presence.end
        # A timer of Textual's that is late before it starts never fires.
        asyncio.get_running_loop().call_later(self.OPENS_AFTER, self._main.call_next, self._begin)
        self._collecting.begin()

    async def _begin(self) -> None:
        """Load, mount and start everything that can wait until after the first frame."""
        share_arena()
        self.presence.begin()
        await self._main.open()
        # Only in the app's own task no later input can overtake the input that waits.
        self.call_later(self._end_waiting)
        self.run_worker(self.appearance.watch, group="themes")
        if self._main.agent.settings.keys:
            self.run_worker(self._check_keys, group="keys")
        provider = self._main.agent.provider
        if notice := describe_ending(provider.model, provider.facts, "choose another with /model."):
            self.notify(notice, severity="warning", timeout=15, markup=False)

    async def _end_waiting(self) -> None:
        waiting, self._waiting = self._waiting or [], None
        await self.keys.go_on()
        for event in waiting:
            await self.on_event(event)

    async def _check_keys(self) -> None:
        """Report problems with the configured keys to the user."""
        from cogency_tui.tui.help.key_table import describe_problems

        for problem in describe_problems(self._main.agent.settings.keys):
            self.notify(problem, severity="error", timeout=15, markup=False)

    def _come_back(self, _app: object) -> None:
        """Redraw the whole screen: after `fg` the terminal shows something else."""
        self.presence.begin()
        self.action_repaint()

    def on_main_screen_state_changed(self, event: MainScreen.StateChanged) -> None:
        screen = event.screen
        self.conversations.note_change(screen, event.before)
        name = screen.title_shown if len(self.conversations.screens) > 1 else ""
        self.presence.change(event.state, watched=self.app_focus, conversation=screen.number, name=name)
        if self.presence.state == "idle":
            self._collecting.rest()

    def on_answering_screen_resumed(self) -> None:
        self._main.place_question()

    def action_switch_conversation(self) -> None:
        """List the open conversations, or close that list; a dialog has only its own keys."""
        from cogency_tui.tui.switcher.screen import SwitcherScreen

        if isinstance(self.screen, SwitcherScreen):
            self.screen.dismiss(None)
        elif not isinstance(self.screen, ModalScreen):
            self.conversations.show_switcher()

    def action_next_waiting(self) -> None:
        """Go to the next conversation that waits for the user; not from a dialog."""
        if not isinstance(self.screen, ModalScreen):
            self.conversations.go_to_waiting()

    def action_focus_question(self) -> None:
        self._main.enter_or_leave_question()

    def key_label(self, action: str) -> str:
        """The key to a question leads back from it; the keys on the screen show it only there."""
        return "back" if action == "focus_question" else ""

    def refresh_css(self, animate: bool = True) -> None:
        """Restyle everything; Textual calls this when the theme has changed."""
        del animate
        self.run_worker(self.appearance.restyle, group="restyle", exclusive=True)

    def action_command_palette(self) -> None:
        """Offer what can be run on the screen, or close that offer; a dialog has only its own keys."""
        from cogency_tui.tui.palette import Entry, Palette, RecentActions, entries_of

        screen, recent = self.screen, RecentActions(self._main.agent.data)
        if isinstance(screen, Palette):
            screen.dismiss(None)
        if isinstance(screen, ModalScreen):
            return
        entries = entries_of(screen, self._main.commands)

        async def run(entry: "Entry | None") -> None:
            if entry is not None:
                entry.node.call_next(entry.node.run_action, entry.action)
                await asyncio.to_thread(recent.note, entry.id)

        self.push_screen(Palette(entries, recent.read), run)

    def action_repaint(self) -> None:
        """Send the terminal its pictures again, clear it and draw every cell: a terminal may be wrong about
        the width of an emoji."""
        if isinstance(self._driver, TerminalDriver) and self._driver.graphics:
            self._driver.graphics.send_again()
        self._redraw()

    def _redraw(self) -> None:
        self.send_to_terminal(CLEAR_SCREEN)
        self._shown_rows.forget()
        self.refresh(layout=True)

    def action_set_theme(self, name: str) -> None:
        self.appearance.choose(name)
        if name == AUTO:
            self.send_to_terminal(ASK_BACKGROUND)

    def action_leave(self) -> None:
        self._main.leave()

    def end(self, number: int) -> None:
        """Leave because of a signal; the exit status reports which."""
        editing = isinstance(self._driver, TerminalDriver) and self._driver.lent
        # Ctrl+C in the user's editor belongs to the editor.
        if not (editing and number == signal.SIGINT):
            self.exit(return_code=128 + number)

    def action_copy_or_interrupt(self) -> None:
        """Copy a selection; without one interrupt the agent, or clear the prompt. With none of these to do,
        quit when pressed twice."""
        if text := self._selected_text:
            self.copy_to_clipboard(text)
        elif self._main.interrupt_or_clear():
            self._pressed = 0.0
        elif monotonic() - self._pressed < _TWICE and self._typed <= self._typed_before + 1:
            self.action_leave()
        else:
            self._pressed, self._typed_before = monotonic(), self._typed
            self.notify("Press Ctrl+C again to quit.", timeout=_TWICE, markup=False)

    @property
    def _selected_text(self) -> str:
        """The text that is selected on the screen, or in its field."""
        field = self.focused
        in_field = field.selected_text if isinstance(field, TextArea | Input) else ""
        return self.screen.get_selected_text() or in_field


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
    """Show the interface until the user leaves, and return the exit status. The settings must allow the
    mouse and animation too. `frames` records late frames.
    """
    try:
        with asyncio.Runner(loop_factory=frames.loop if frames else None) as runner:
            app = partial(CogencyApp, agent, prompt=prompt, conversation_id=conversation_id, screen=screen)
            return runner.run(_run(agent, app, mouse, animation))
    finally:
        if frames:
            frames.close()


async def close_agent(agent: "Agent") -> None:
    """Close the agent; on the terminal, name the hook that keeps the user waiting."""
    closing = asyncio.create_task(agent.close())
    try:
        await asyncio.wait([closing], timeout=_PATIENCE_AT_END)
        if not closing.done() and (hook := agent.running_hook(None)):
            sys.stderr.write(f"Running the hook {one_line(hook)} (Ctrl+C stops it) …\n")
            sys.stderr.flush()
    finally:
        await closing


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
        # The terminal belongs to the shell again: Ctrl+C ends whatever is still closing.
        loop.remove_signal_handler(signal.SIGINT)
        await close_agent(agent)
    return app.return_code or 0

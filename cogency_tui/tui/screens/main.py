"""The main screen: files, conversation, tool calls, prompt. It composes; widgets draw, the bridge works.

It turns keys, commands and the bridge's messages into calls of the bridge and of the display, which keeps
the widgets in step with the conversation.
"""

from typing import TYPE_CHECKING

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.geometry import Size
from textual.screen import Screen
from textual.timer import Timer

from cogency_tui.config import DIALECTS, MODES, PERMISSIONS, Dialect, Mode, Permissions, config_path
from cogency_tui.errors import CogencyError, UsageError
from cogency_tui.protocol.events import Event, Measure
from cogency_tui.tui.bridge import Bridge, error_event
from cogency_tui.tui.commands import is_command, parse_command
from cogency_tui.tui.drawing.lines import Line
from cogency_tui.tui.drawing.welcome import Situation, draw_welcome
from cogency_tui.tui.host import app_of
from cogency_tui.tui.screens.display import Display
from cogency_tui.tui.screens.keys import MAIN_KEYS
from cogency_tui.tui.screens.panes import Panes, Side
from cogency_tui.tui.screens.surroundings import Surroundings
from cogency_tui.tui.theming import inks_of
from cogency_tui.tui.widgets.conversation import Conversation
from cogency_tui.tui.widgets.file_tree import FileTree
from cogency_tui.tui.widgets.header import Header
from cogency_tui.tui.widgets.live_line import LiveLine
from cogency_tui.tui.widgets.prompt import Prompt
from cogency_tui.tui.widgets.status_bar import StatusBar
from cogency_tui.tui.widgets.unit_view import UnitView

if TYPE_CHECKING:
    from cogency_tui.agent.agent import Agent
    from cogency_tui.agent.permissions import Answer

TICK = 0.2
"""Seconds between two looks at the clock while the agent works; there is no timer otherwise."""

LISTED = 5000


class MainScreen(Screen[None]):
    """One conversation in one project."""

    BINDINGS = MAIN_KEYS
    AUTO_FOCUS = "#prompt"
    BLANK = True

    def __init__(self, agent: "Agent", *, prompt: str = "", conversation_id: str | None = None) -> None:
        super().__init__(id="main")
        self.agent = agent
        self.bridge = Bridge(agent, self)
        self._display = Display(self, self.bridge)
        self._first = (prompt, conversation_id)
        self._surroundings = Surroundings(self, self.bridge)
        self._ticker: Timer | None = None

    def compose(self) -> ComposeResult:
        yield Header(self._surroundings.place(), id="header")
        yield Panes(Conversation(self._welcome, id="conversation"), id="panes")
        with Vertical(id="prompt-box"):
            yield Prompt(id="prompt")
        yield StatusBar(self._display.status(), id="status-bar")

    def on_mount(self) -> None:
        self._ticker = self.set_interval(TICK, self._display.tick, pause=True)
        app_of(self).theme_changed_signal.subscribe(
            self, lambda _theme: self.query_one(Conversation).reflow()
        )
        self._fit(app_of(self).size)
        self._display.show([], Measure())

    def begin(self) -> None:
        """Start the work in the background, and the turn that was asked for; after the first frame."""
        self._surroundings.start()
        prompt, conversation_id = self._first
        if conversation_id:
            self.open_conversation(conversation_id, prompt)
        elif prompt:
            self.bridge.send(prompt)

    def on_resize(self, event: events.Resize) -> None:
        self._fit(event.size)

    def _fit(self, size: Size) -> None:
        """Fold and space the panes for a terminal of this size."""
        self.query_one(Panes).fold(size.width)
        self.set_class(size.height < 24, "-short")
        self.set_class(size.width >= 150, "-wide")

    def on_prompt_sent(self, event: Prompt.Sent) -> None:
        if not is_command(event.text):
            self.query_one(Conversation).follow()
            self.bridge.send(event.text)
            return
        try:
            command, argument = parse_command(event.text)
        except UsageError as exc:
            self.notify(exc.advice, severity="warning", markup=False)
            return
        self.call_next(self.run_action, f"{command.action}({argument!r})")

    def on_bridge_arrived(self, event: Bridge.Arrived) -> None:
        self._display.take(event.events)
        self.call_after_refresh(self.bridge.drawn)

    def on_bridge_turn_changed(self) -> None:
        working = self.bridge.working
        if self._ticker is not None:
            (self._ticker.resume if working else self._ticker.pause)()
        if not working:
            self._display.end_turn()
            self._surroundings.look()
            self._surroundings.list_directories(self.query_one(FileTree).open_directories)
        self._display.show_state()

    def on_bridge_asked(self, event: Bridge.Asked) -> None:
        from cogency_tui.tui.screens.dialogs import PermissionQuestion

        found = self._display.transcript.call_with(event.question.call_id)

        def answered(answer: "Answer | None") -> None:
            if answer is not None and not event.answer.done():
                event.answer.set_result(answer)
            if found:
                found[1].decide()
                self._display.touch({found[0]})

        if found:
            found[1].ask()
            self._display.touch({found[0]})
        if not event.answer.done():
            app_of(self).push_screen(PermissionQuestion(event.question), answered)

    def on_bridge_withdrawn(self) -> None:
        from cogency_tui.tui.screens.dialogs import PermissionQuestion

        if isinstance(app_of(self).screen, PermissionQuestion):
            app_of(self).screen.dismiss(None)

    def on_unit_view_followed(self, event: UnitView.Followed) -> None:
        self.query_one(LiveLine).follow(event.following, event.new)

    def on_live_line_pressed(self) -> None:
        self.query_one(Conversation).follow()

    def on_file_tree_wanted(self, event: FileTree.Wanted) -> None:
        self._surroundings.list_directories([event.path])

    def on_file_tree_mentioned(self, event: FileTree.Mentioned) -> None:
        prompt = self.query_one(Prompt)
        prompt.insert(f"@{event.path} ")
        prompt.focus()

    def on_status_bar_pressed(self, event: StatusBar.Pressed) -> None:
        self.call_next(self.run_action, event.action)

    def open_conversation(self, conversation_id: str, prompt: str = "") -> None:
        """Go on with a past conversation, and send `prompt` in it."""

        async def reopen() -> None:
            try:
                past, total = await self.bridge.reopen(conversation_id)
            except CogencyError as exc:
                past, total = list[Event]([error_event(exc)]), Measure()
            self._display.show(past, total)
            self._surroundings.look()
            if prompt:
                self.bridge.send(prompt)

        self.run_worker(reopen, group="reopen", exclusive=True)

    def action_toggle_pane(self, side: Side) -> None:
        self.query_one(Panes).toggle(side, self.size.width)

    def action_next_pane(self, step: int) -> None:
        stops = [*self.query_one(Panes).stops(), self.query_one(Prompt)]
        shown = [stop for stop in stops if all(node.display for node in stop.ancestors_with_self)]
        place = shown.index(self.focused) if self.focused in shown else -1
        self.set_focus(shown[(place + step) % len(shown)])

    def action_step_back(self) -> None:
        prompt = self.query_one(Prompt)
        if self.bridge.working:
            self._give_back(self.bridge.interrupt())
            self._display.show_state()
        elif self.selections:
            self.clear_selection()
        elif self.focused is prompt:
            prompt.clear_draft()
        else:
            self.set_focus(prompt)

    def on_bridge_returned(self, event: Bridge.Returned) -> None:
        self._give_back(event.text)

    def _give_back(self, text: str) -> None:
        """Put what was not sent before what is being written."""
        prompt = self.query_one(Prompt)
        if text:
            prompt.replace_text("\n\n".join(part for part in (text, prompt.text) if part))

    def action_cycle_mode(self) -> None:
        self.action_set_mode(MODES[(MODES.index(self.agent.mode) + 1) % len(MODES)])

    def action_set_mode(self, mode: str) -> None:
        chosen: list[Mode] = [each for each in MODES if each == mode]
        self.agent.mode = chosen[0] if chosen else self.agent.mode
        self._display.show_state()
        if not mode:
            self.notify(f"The mode is {self.agent.mode}. There are: {', '.join(MODES)}", markup=False)

    def action_set_dialect(self, dialect: str) -> None:
        chosen: list[Dialect] = [each for each in DIALECTS if each == dialect]
        self.agent.dialect = chosen[0] if chosen else self.agent.dialect
        now = (
            self.agent.dialect or f"that of the conversation, or {self.agent.settings.dialect} for a new one"
        )
        from_when = " from the next message on" if chosen else ""
        self.notify(f"The dialect is {now}{from_when}. There are: {', '.join(DIALECTS)}", markup=False)

    def action_cycle_permissions(self) -> None:
        place = PERMISSIONS.index(self.agent.permissions)
        self.action_set_permissions(PERMISSIONS[(place + 1) % len(PERMISSIONS)])

    def action_set_permissions(self, permissions: str) -> None:
        chosen: list[Permissions] = [each for each in PERMISSIONS if each == permissions]
        self.agent.permissions = chosen[0] if chosen else self.agent.permissions
        self._display.show_state()
        if not permissions:
            said = f"Permissions are {self.agent.permissions!r}. There are: {', '.join(PERMISSIONS)}"
            self.notify(said, markup=False)

    def action_new_conversation(self, _argument: str = "") -> None:
        if self._is_idle():
            self.bridge.begin()
            self._display.show([], Measure())
            self._surroundings.look()

    async def action_recall(self, _argument: str = "") -> None:
        from cogency_tui.tui.screens.conversations import ConversationsScreen

        if not self._is_idle():
            return
        try:
            conversations = await self.bridge.conversations(LISTED)
        except CogencyError as exc:
            self.notify(exc.advice, severity="error", markup=False)
            return
        app_of(self).push_screen(ConversationsScreen(conversations), self._reopen_chosen)

    def _reopen_chosen(self, conversation_id: str | None) -> None:
        if conversation_id is not None:
            self.open_conversation(conversation_id)

    def action_help(self, _argument: str = "") -> None:
        from cogency_tui.tui.screens.help import HelpScreen, collect_keys

        app_of(self).push_screen(HelpScreen(collect_keys(self)))

    def action_leave(self, _argument: str = "") -> None:
        from cogency_tui.tui.screens.dialogs import Confirmation

        if self.bridge.working:
            question = "The agent is working. Interrupt it and leave?"
            app_of(self).push_screen(Confirmation(question), lambda yes: app_of(self).exit() if yes else None)
        else:
            app_of(self).exit()

    def _is_idle(self) -> bool:
        if self.bridge.working:
            self.notify("The agent is working. Interrupt it first (Esc).", severity="warning", markup=False)
        return not self.bridge.working

    def _welcome(self, width: int) -> list[Line]:
        provider = self.agent.provider
        return draw_welcome(
            Situation(provider.name, provider.model, str(config_path())), width, inks_of(app_of(self).theme)
        )

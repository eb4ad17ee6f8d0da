"""The main screen: files, conversation, tool calls, prompt. It composes; widgets draw, the bridge works.

It turns keys, commands and the bridge's messages into calls of the bridge and of the display, which keeps
the widgets in step with the conversation.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual import events
from textual.app import ComposeResult
from textual.geometry import Size
from textual.message import Message
from textual.screen import Screen
from textual.timer import Timer

from cogency_tui.errors import UsageError
from cogency_tui.protocol.events import Measure
from cogency_tui.store.prompts import Written
from cogency_tui.tui.bridge import Bridge
from cogency_tui.tui.calls import Call
from cogency_tui.tui.commands import Command, is_command
from cogency_tui.tui.completion.offers import mention
from cogency_tui.tui.drawing.lines import Line
from cogency_tui.tui.drawing.welcome import draw_welcome
from cogency_tui.tui.host import app_of
from cogency_tui.tui.inquiry import Inquiry
from cogency_tui.tui.manners.presence import State
from cogency_tui.tui.message_queue import is_own_command
from cogency_tui.tui.recall.recalling import Recalling
from cogency_tui.tui.screens.allowing import Allowing
from cogency_tui.tui.screens.asking import Asking
from cogency_tui.tui.screens.background import BackgroundCommands
from cogency_tui.tui.screens.choosing import Choosing
from cogency_tui.tui.screens.collaborator import Handler
from cogency_tui.tui.screens.configuring import Configuring
from cogency_tui.tui.screens.conversing import Conversing
from cogency_tui.tui.screens.custom import CustomCommands
from cogency_tui.tui.screens.display import Display
from cogency_tui.tui.screens.files import Files
from cogency_tui.tui.screens.insights import Insights
from cogency_tui.tui.screens.keys import MAIN_KEYS
from cogency_tui.tui.screens.orientation import Orientation
from cogency_tui.tui.screens.panes import Panes, Side
from cogency_tui.tui.screens.profiling import Profiling
from cogency_tui.tui.screens.reviewing import Reviewing
from cogency_tui.tui.screens.serving import Serving
from cogency_tui.tui.screens.surroundings import Surroundings
from cogency_tui.tui.screens.travelling import Travelling
from cogency_tui.tui.screens.trusting import Trusting
from cogency_tui.tui.screens.undoing import Undoing
from cogency_tui.tui.screens.writing import Writing
from cogency_tui.tui.situation import situation_of
from cogency_tui.tui.theming import inks_of
from cogency_tui.tui.transcript import Transcript
from cogency_tui.tui.widgets.button_bar import ButtonBar
from cogency_tui.tui.widgets.conversation import Conversation
from cogency_tui.tui.widgets.file_tree import FileTree
from cogency_tui.tui.widgets.files_pane import FilesPane
from cogency_tui.tui.widgets.footer import Footer
from cogency_tui.tui.widgets.header import Header
from cogency_tui.tui.widgets.live_line import LiveLine
from cogency_tui.tui.widgets.prompt import Prompt
from cogency_tui.tui.widgets.prompt_box import PromptBox
from cogency_tui.tui.widgets.status_bar import StatusBar
from cogency_tui.tui.widgets.tool_calls import ToolCalls
from cogency_tui.tui.widgets.trust_bar import TrustBar
from cogency_tui.tui.widgets.unit_view import UnitView

if TYPE_CHECKING:
    from cogency_tui.agent.agent import Agent
    from cogency_tui.tui.widgets.file_preview import PreviewLines

TICK = 0.2
"""Seconds between two looks at the clock while the agent works; there is no timer otherwise."""


class MainScreen(Screen[None]):
    """One conversation in one project."""

    BINDINGS = MAIN_KEYS
    AUTO_FOCUS = "#prompt"
    BLANK = True

    class StateChanged(Message):
        """The agent works, waits for the person, or does nothing."""

        def __init__(self, state: State) -> None:
            self.state: State = state
            super().__init__()

    def __init__(self, agent: "Agent", *, prompt: str = "", conversation_id: str | None = None) -> None:
        super().__init__(id="main")
        self.agent = agent
        self.bridge = Bridge(agent, self)
        self._display = Display(self, self.bridge)
        self._first = (prompt, conversation_id)
        inquiry = Inquiry(agent)
        self._surroundings = Surroundings(self, self.bridge, inquiry)
        self._insights = Insights(self, self.bridge, inquiry, self._display)
        self._conversing = Conversing(self, self.bridge, self._display, self._surroundings)
        self._writing = Writing(self, self.bridge)
        self._background = BackgroundCommands(self, self.bridge)
        self._files = Files(self, self.bridge)
        self._asking = Asking(self, self._display, self._tell_state)
        self._reviewing = Reviewing(self, self.bridge, self._display)
        self._trusting = Trusting(self, self.bridge)
        self._custom = CustomCommands(self, self.bridge, self._send)
        recalling = Recalling(self, self.bridge, self._conversing)
        self._travelling = Travelling(self, self.bridge, self._display, recalling)
        self._profiling = Profiling(self, self.bridge, self._display)
        choosing = Choosing(self, self.bridge, self._display)
        collaborators = (
            self._conversing,
            recalling,
            self._travelling,
            self._insights,
            choosing,
            Allowing(self, self.bridge, choosing.set_permissions),
            self._trusting,
            self._profiling,
            Undoing(self, self.bridge),
            self._reviewing,
            Serving(self, self.bridge),
            Orientation(self, self.bridge, lambda: self._custom.known),
            self._custom,
            Configuring(self, self.bridge, self._display),
        )
        self._handlers: dict[str, Handler] = {"leave": self.leave}
        for collaborator in collaborators:
            self._handlers |= collaborator.handlers()
        self._ticker: Timer | None = None

    @property
    def commands(self) -> Sequence[Command]:
        """What can be typed after `/` or picked in the palette."""
        return self._custom.known

    def compose(self) -> ComposeResult:
        yield Header(self._surroundings.place(), id="header")
        yield Panes(Conversation(self._welcome, id="conversation"), self.agent.project, id="panes")
        yield TrustBar(id="trust-bar")
        yield PromptBox(self.bridge.queue, id="prompt-box")
        yield StatusBar(self._display.status(), id="status-bar")
        yield Footer(id="footer")

    def on_mount(self) -> None:
        self._ticker = self.set_interval(TICK, self._display.tick, pause=True)
        app_of(self).theme_changed_signal.subscribe(
            self, lambda _theme: self.query_one(Conversation).reflow()
        )
        self.watch(app_of(self), "app_focus", self._take_focus, init=False)
        self._fit(app_of(self).size)
        self._display.show(Transcript(), Measure())

    def begin(self) -> None:
        """Start the work in the background, and the turn that was asked for; after the first frame."""
        self._surroundings.start()
        self._files.start()
        self._trusting.look()
        self._custom.look()
        prompt, conversation_id = self._first
        if conversation_id:
            self._conversing.open(conversation_id, prompt)
        elif prompt:
            self.bridge.send(Written(prompt))
        self._writing.start(conversation_id or "")

    def _take_focus(self, focus: bool) -> None:
        """In a browser the page has no focus when it begins, and so nothing on it had."""
        if focus and self.focused is None and self.is_current:
            self.set_focus(self.query_one(Prompt))

    def on_resize(self, event: events.Resize) -> None:
        self._fit(event.size)

    def _fit(self, size: Size) -> None:
        """Fold and space the panes for a terminal of this size."""
        self.query_one(Panes).fold(size.width)
        self.set_class(size.height < 24, "-short")
        self.set_class(size.width >= 150, "-wide")
        self.set_class(not self.agent.settings.footer, "-no-footer")

    async def on_prompt_sent(self, event: Prompt.Sent) -> None:
        if is_own_command(event.text):
            self.query_one(Conversation).follow()
            self._writing.run_command(event.written, hides=event.hides)
            return
        if not is_command(event.text):
            self._send(event.written)
            return
        try:
            command, argument = await self._custom.parse(event.text)
        except UsageError as exc:
            self.notify(exc.advice, severity="warning", markup=False)
            return
        self.call_next(self.run_action, command.action(argument))

    def on_completion_commands_wanted(self) -> None:
        self._custom.look()

    def _send(self, written: Written) -> None:
        self.query_one(Conversation).follow()
        self._trusting.put_off()
        self.bridge.send(written)

    def on_bridge_arrived(self, event: Bridge.Arrived) -> None:
        self._display.take(event.events)
        self._trusting.tell()
        if any(each["type"] == "result" for each in event.events):
            self._background.look()
            self._reviewing.look()
        self.call_after_refresh(self.bridge.drawn)

    def on_bridge_turn_changed(self) -> None:
        working = self.bridge.working
        self._surroundings.mark()
        if self._ticker is not None:
            (self._ticker.resume if working else self._ticker.pause)()
        if not working:
            self._display.end_turn()
            self._surroundings.look()
            self._files.look()
            self._files.list_shown()
            self._trusting.look()
            self._profiling.look()
        self._background.look()
        self._reviewing.work()
        self._travelling.look()
        self._display.show_state()
        self._tell_state("working" if working else "idle")

    def _tell_state(self, state: State) -> None:
        self.post_message(self.StateChanged(state))

    async def on_bridge_compacted(self) -> None:
        await self._insights.remeasure()

    def on_bridge_failed(self, event: Bridge.Failed) -> None:
        self._insights.complain(event.error)

    def on_bridge_asked(self, event: Bridge.Asked) -> None:
        self._asking.ask(event)

    def on_bridge_withdrawn(self) -> None:
        self._asking.withdraw()

    def on_unit_view_followed(self, event: UnitView.Followed) -> None:
        self.query_one(LiveLine).follow(event.following, event.new)

    async def on_conversation_fork_wanted(self, event: Conversation.ForkWanted) -> None:
        await self._conversing.fork(unit=event.unit)

    def on_conversation_review_wanted(self, event: Conversation.ReviewWanted) -> None:
        self._reviewing.open(call=event.call)

    def on_conversation_links_wanted(self, event: Conversation.LinksWanted) -> None:
        self._conversing.show_links(event.addresses)

    def on_live_line_pressed(self) -> None:
        self.query_one(Conversation).follow()

    def on_tool_calls_located(self, event: ToolCalls.Located) -> None:
        self.query_one(Panes).show_middle(self.size.width)
        conversation = self.query_one(Conversation)
        conversation.go_to_unit(event.index)
        self.set_focus(conversation)

    def action_show_call(self) -> None:
        """Go from a call in the conversation to its row among the tool calls."""
        conversation = self.query_one(Conversation)
        if conversation.has_focus and (cursor := conversation.cursor) is not None:
            panes = self.query_one(Panes)
            if isinstance(self._display.transcript.units[cursor.unit], Call):
                if "calls" not in panes.shown(self.size.width):
                    panes.toggle("calls", self.size.width)
                self.query_one(ToolCalls).go_to(cursor.unit)

    def on_tool_calls_stop_asked(self, event: ToolCalls.StopAsked) -> None:
        self._background.ask_to_stop(event.command)

    def on_tool_calls_copied(self, event: ToolCalls.Copied) -> None:
        app_of(self).copy_to_clipboard(event.text)

    def on_file_tree_wanted(self, event: FileTree.Wanted) -> None:
        self._files.list_directories([event.path])

    def on_file_tree_asked(self, event: FileTree.Asked) -> None:
        self._act_on_file(event.what, event.path)

    def on_preview_lines_asked(self, event: "PreviewLines.Asked") -> None:
        self._act_on_file(event.what, event.path)

    def on_files_pane_filter_begun(self) -> None:
        self._files.begin_filter()

    def on_files_pane_filtered(self, event: FilesPane.Filtered) -> None:
        self._files.filter(event.text)

    def _act_on_file(self, what: str, path: str) -> None:
        if what == "mention":
            prompt = self.query_one(Prompt)
            prompt.insert(mention(path))
            prompt.focus()
        else:
            self._files.act(what, path)

    def on_button_bar_pressed(self, event: ButtonBar.Pressed) -> None:
        self.call_next(self.run_action, event.action)

    async def action_command(self, handler: str, argument: str = "") -> None:
        """Carry a command out."""
        done = self._handlers[handler](argument)
        if done is not None:
            await done

    def action_toggle_pane(self, side: Side) -> None:
        self.query_one(Panes).toggle(side, self.size.width)

    def action_resize_pane(self, step: int) -> None:
        self.query_one(Panes).shift(self.focused, step, self.size.width)

    def action_maximise_pane(self) -> None:
        self.query_one(Panes).maximise(self.focused, self.size.width)

    def action_next_pane(self, step: int) -> None:
        stops = [*self.query_one(Panes).stops(), self.query_one(Prompt)]
        shown = [stop for stop in stops if all(node.display for node in stop.ancestors_with_self)]
        place = shown.index(self.focused) if self.focused in shown else -1
        self.set_focus(shown[(place + step) % len(shown)])

    def action_step_back(self) -> None:
        prompt = self.query_one(Prompt)
        if self.bridge.working:
            self._writing.take_back(self.bridge.interrupt())
            self._display.show_state()
        elif self.selections:
            self.clear_selection()
        elif self.focused is prompt:
            prompt.clear_draft()
        else:
            self.set_focus(prompt)

    def on_bridge_returned(self, event: Bridge.Returned) -> None:
        self._writing.take_back([event.message])

    def on_bridge_queue_changed(self) -> None:
        self.query_one(PromptBox).show_queue()
        self._display.show_state()
        self._writing.note_change()

    def on_text_area_changed(self) -> None:
        self._writing.note_change()

    def on_prompt_noted(self, event: Prompt.Noted) -> None:
        self._writing.note_entry(event.written)

    def on_prompt_editor_wanted(self) -> None:
        self._writing.edit_outside()

    def on_completion_wanted(self) -> None:
        self._writing.list_files()

    def on_unmount(self) -> None:
        self._writing.close()

    def leave(self, _argument: str = "") -> None:
        from cogency_tui.tui.screens.dialogs import Confirmation

        if self.bridge.working:
            question = "The agent is working. Interrupt it and leave?"
            app_of(self).push_screen(Confirmation(question), lambda yes: app_of(self).exit() if yes else None)
        else:
            app_of(self).exit()

    def _welcome(self, width: int) -> list[Line]:
        return draw_welcome(situation_of(self.agent), width, inks_of(app_of(self).theme))

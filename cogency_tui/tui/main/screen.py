"""The main screen: files, conversation, tool calls, prompt.

It composes; widgets draw, the bridge runs the agent. It turns keys, commands and the bridge's messages into
calls of the bridge and of the display, which updates the widgets.

The first frame shows the prompt, ready for text, between the bars and blank panes; only the modules for that
are imported here. Everything else begins with `MainScreen.open`, and is imported by `tui/main/features.py`.
"""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import cached_property, partial
from time import monotonic, time
from typing import TYPE_CHECKING, Any, ClassVar

from msgspec.structs import replace
from textual import events
from textual.app import ComposeResult
from textual.geometry import Size
from textual.layout import Layout
from textual.message import Message
from textual.notifications import SeverityLevel
from textual.screen import Screen
from textual.timer import Timer
from textual.widget import Widget

from cogency_tui.errors import StoreError, UsageError
from cogency_tui.store.prompt_text import Written
from cogency_tui.tui.bridge import Bridge
from cogency_tui.tui.kit.bar import ButtonBar
from cogency_tui.tui.kit.footer import Footer, Hints
from cogency_tui.tui.kit.number_format import plural
from cogency_tui.tui.kit.partial_screen import PartialScreen
from cogency_tui.tui.kit.typed_app import app_of
from cogency_tui.tui.main.keys import MAIN_KEYS
from cogency_tui.tui.main.panes import Panes, Side
from cogency_tui.tui.message_queue import is_own_command
from cogency_tui.tui.prompt.prompt import Prompt
from cogency_tui.tui.prompt.prompt_and_queue import PromptBox
from cogency_tui.tui.status.header import Header, place_of
from cogency_tui.tui.status.status_bar import Background, StatusBar, status_of
from cogency_tui.tui.terminal.key_order import Typed
from cogency_tui.tui.terminal.title_and_notifications import State
from cogency_tui.tui.theme_styles import theme_styles_of

if TYPE_CHECKING:
    from cogency_tui.agent.agent import Agent
    from cogency_tui.tui.calls.pane import ToolCalls
    from cogency_tui.tui.commands import SlashCommand
    from cogency_tui.tui.conversation.view import Conversation
    from cogency_tui.tui.files.pane import FilesPane
    from cogency_tui.tui.files.preview import PreviewLines
    from cogency_tui.tui.files.tree import FileTree
    from cogency_tui.tui.kit.lines import Line
    from cogency_tui.tui.main.features import Features
    from cogency_tui.tui.main.open_conversations import OpenConversations
    from cogency_tui.tui.main.widget_updates import MainDisplay
    from cogency_tui.tui.switcher.rows import Condition, OpenConversation
    from cogency_tui.tui.transcript.view import TranscriptView

_LOW = 30
"""Rows below which each row of the frame counts: the keys share the line of the status."""

TICK = 0.2
"""Seconds between two refreshes of the running time while the agent works; there is no timer otherwise."""

_TEXTS = frozenset({"conversation", "calls-detail"})
"""The panes of text, in which a click selects some or opens a block."""

_OFFER_AFTER = 2.0
"""Seconds after the start until sharing and an import of other agents' histories are offered."""

UNSEEN = 0.5
"""Seconds between two updates of a conversation that is not shown."""

_STAYING = frozenset({"help", "find", "switch_conversation"})
"""Commands about the pane that has the focus, which therefore stays there, or about other conversations."""


class MainScreen(PartialScreen[None]):
    """One conversation in one project.

    `number` is that of the screen in this process. `then` is called when its first conversation is shown.
    """

    BINDINGS = MAIN_KEYS
    AUTO_FOCUS = "#prompt"
    BLANK = True
    MAKES_OFFERS: ClassVar = True
    TWICE: ClassVar = 0.6
    """Seconds within which a second Esc follows the first."""

    class StateChanged(Message):
        """The agent of `screen` starts to work, waits for the user, or becomes idle; `before` is its state
        before."""

        def __init__(self, screen: "MainScreen", before: State) -> None:
            self.screen = screen
            self.before: State = before
            self.state: State = screen.state
            super().__init__()

    def __init__(
        self,
        agent: "Agent",
        *,
        prompt: str = "",
        conversation_id: str | None = None,
        then: "Callable[[Screen[Any]], None] | None" = None,
        number: int = 0,
    ) -> None:
        super().__init__()
        self.number = number
        self.state: State = "idle"
        self.is_unread = False
        """True if work has ended here that the user has not seen."""
        self._last_event = 0.0
        self._then = then
        self.rested: Callable[[], object] | None = None
        """If set, it is called each time that a turn has ended."""
        self.ended: Callable[[], Awaitable[None]] | None = None
        """If set, it is awaited when the screen is closed."""
        self.show_result: Callable[[], object] | None = None
        """If set, this is the conversation of a rerun, and it shows what came of that."""
        self.agent = agent
        self.bridge = Bridge(agent, self, lambda: self._display.transcript.turns)
        self._first = (prompt, conversation_id)
        self._ticker: Timer | None = None
        self._open = False
        self._early: Prompt | None = None
        """The prompt, for a text that is typed before the screen opens."""
        self._quit_question: Screen[bool] | None = None
        """The last question whether to interrupt the agent and quit."""
        self._escaped = 0.0
        """When Esc was last pressed with nothing to interrupt, on the monotonic clock."""

    @cached_property
    def _features(self) -> "Features":
        """The features, which `open` loads: none of them is needed for the first frame."""
        from cogency_tui.tui.main.features import Features

        return Features(self, self.bridge)

    @property
    def _display(self) -> "MainDisplay":
        return self._features.display

    @property
    def commands(self) -> "Sequence[SlashCommand]":
        """The commands available after `/` and in the palette."""
        return self._features.custom.known

    def compose(self) -> ComposeResult:
        place = place_of(self.agent.project, self.agent.home.project)
        yield Header(replace(place, rerun=self.agent.rerun_turn), id="header")
        yield Panes(self.agent.project, id="panes")
        yield PromptBox(self.bridge.queue, self.agent.permissions, id="prompt-box")
        yield StatusBar(status_of(self.agent), id="status-bar")
        yield Footer(id="footer")

    def on_mount(self) -> None:
        self.watch(app_of(self), "app_focus", self._take_focus, init=False)
        self._fit(app_of(self).size)
        self._early = self.query_one(Prompt)

    def key_hints(self) -> Hints:
        """The keys that do something now, the most useful first."""
        transcript = self._display.transcript if self._open else None
        return Hints(
            [
                *(["step_back"] if self.bridge.working and not self.query_one(Prompt).takes_escape else []),
                *(["switch_conversation"] if self.query_one(Header).place.opened > 1 else []),
                *(["command('review')"] if transcript and transcript.has_edits else []),
                "command('cycle_permissions')",
                "command('help')",
                "command('choose_model')",
                *(["command('recall')"] if not self.query_one(Prompt).claims("ctrl+r") else []),
                "toggle_pane('files')",
                "toggle_pane('calls')",
                "next_pane(1)",
                *(
                    ["command('timeline')", "command('new_conversation')"]
                    if transcript and transcript.units
                    else []
                ),
            ]
        )

    async def open(self) -> None:
        """Mount what the first frame left out, then start the background work and the requested turn.

        Until then the screen takes only text for the prompt.
        """
        await self._features.mount()
        self._open = True
        self._ticker = self.set_interval(TICK, self._display.tick, pause=True)
        self._begin()

    @property
    def is_complete(self) -> bool:
        """True once it has all of its widgets."""
        return self._open

    def takes(self, event: events.Event) -> bool:
        """Return whether the screen can handle `event` before it is open: text for the prompt."""
        is_text = isinstance(event, events.Paste) or (
            isinstance(event, events.Key) and event.is_printable and "+" not in event.key
        )
        return is_text and self.is_current and isinstance(self.focused, Prompt)

    def _begin(self) -> None:
        self._features.updates.start(is_first=not self.number)
        self._features.files.start()
        self._features.trust.refresh()
        self._features.custom.refresh()
        self._features.follow_team()
        prompt, conversation_id = self._first
        if conversation_id:
            self._features.conversations.show(conversation_id, prompt, then=self._then)
        elif prompt:
            self.bridge.send(Written(prompt))
        elif self._then is not None:
            self._then(self)
        elif self.MAKES_OFFERS and not self.number:
            self.set_timer(_OFFER_AFTER, partial(self.run_worker, self._features.make_offers, group="offer"))
        self._features.drafts.start(conversation_id or "", offers=not prompt)
        if self.query_one(Prompt).text:
            self._features.drafts.note_change()

    def take_typed(self, event: events.Key | events.Paste) -> None:
        """Take input that a question does not take: of a text in the prompt, or the beginning of one."""
        self.query_one(Prompt).begin(event)

    def sift(self, event: Typed) -> Typed | None:
        """Give a key to the prompt that it needs before any binding has it, and text that is typed in a pane;
        return the one to handle now in place of `event`, if any."""
        prompt = self.focused
        if not self._open:
            return event
        if not isinstance(prompt, Prompt):
            return self._features.pane_letters.sift(event)
        if isinstance(event, events.Key) and prompt.claims(event.key):
            prompt.post_message(events.Key(event.key, event.character))
            return None
        return event

    def on_paste(self, event: events.Paste) -> None:
        if self._open:
            self.type_text(event)

    def type_text(self, event: Typed) -> None:
        """Give text to the prompt, together with the focus."""
        prompt = self.query_one(Prompt)
        self.set_focus(prompt)
        if prompt.take(event):
            event.stop()
            event.prevent_default()

    def _take_focus(self, focus: bool) -> None:
        """Focus the prompt: in a browser the page starts without focus, and so does every widget."""
        if focus and self.focused is None and self.is_current:
            self.set_focus(self.query_one(Prompt))

    def on_resize(self, event: events.Resize) -> None:
        self._fit(event.size)

    def pre_layout(self, layout: Layout) -> None:
        """Give the prompt and its queue at most the rows that the rest leaves, with one for the panes."""
        del layout
        box = self.query_one(PromptBox)
        others = (each for each in self.displayed_children if each not in (box, self.query_one(Panes)))
        panes = self.query_one(Panes).display
        box.fit(self.size.height - panes - sum(_rows_of(each, self.size) for each in others))

    def _fit(self, size: Size) -> None:
        """Fold and space the panes for a terminal of this size."""
        self.query_one(Panes).fold(size.width)
        self.set_class(size.height < 24, "-short")
        self.set_class(size.height < _LOW, "-low")
        self.set_class(not self.agent.settings.footer, "-no-footer")
        self.query_one(StatusBar).share(size.height < _LOW and self.agent.settings.footer)

    async def on_prompt_sent(self, event: Prompt.Sent) -> None:
        # No key removes the error of a command that was pasted together with what follows it.
        self.query_one(PromptBox).announce("")
        if (opening := self.bridge.opening) is not None:
            again = Prompt.Sent(event.written, hides=event.hides)
            opening.hold(event.written, partial(self.post_message, again))
            self.query_one(PromptBox).announce("Waits for the conversation, which is still opening")
            return
        if is_own_command(event.text):
            self._display.follow()
            self._features.drafts.run_command(event.written, hides=event.hides)
            return
        from cogency_tui.tui.commands import CUSTOM, is_command

        if not is_command(event.text):
            self.send(event.written)
            return
        try:
            command, argument = await self._features.custom.parse(event.text)
        except UsageError as exc:
            self.query_one(PromptBox).complain(exc.advice)
            return
        if command.handler == CUSTOM and event.written.images:
            custom, named = self._features.custom, f"{command.name} {argument}"
            self.call_next(custom.carry_out, named, event.written.images)
        else:
            self.call_next(self.run_action, command.action(argument))

    def on_prompt_sent_empty(self) -> None:
        self._features.conversations.retry_turn()

    def on_conversation_retry_requested(self) -> None:
        self._features.conversations.retry_turn()

    def on_completion_commands_requested(self) -> None:
        self._features.custom.refresh()

    def send(self, written: Written) -> None:
        self._display.follow()
        self._features.trust.put_off()
        self.bridge.send(written)

    def on_bridge_arrived(self, event: Bridge.Arrived) -> None:
        self._last_event = time()
        self._display.take(event.events)
        self._features.trust.report_problems()
        self._features.subagents.follow(event.events)
        if any(each["type"] == "user" for each in event.events):
            # The first message begins the conversation.
            self._features.updates.recount()
        if any(each["type"] == "result" for each in event.events):
            self._features.background.refresh()
            self._features.review.note_results()
        if any(each["type"] == "user" and "review" in each for each in event.events):
            self._features.review.note_sent()
        if self.top.is_active:
            self.call_after_refresh(self.bridge.drawn)
        else:
            self.set_timer(UNSEEN, self.bridge.drawn)

    def on_bridge_outdated(self, event: Bridge.Outdated) -> None:
        self._display.show(event.transcript, event.total)
        self._display.begin_turn()
        self._features.review.recount()
        added = f"{plural(event.turns, 'turn')} {'was' if event.turns == 1 else 'were'}"
        self.notify(f"{added} added by another program.", markup=False)

    def on_bridge_forked(self, event: Bridge.Forked) -> None:
        self._features.conversations.show(event.fork, then=_report_fork)
        if event.sent is not None:
            self.bridge.send(event.sent)

    def on_bridge_continued(self) -> None:
        self._display.touch(self._display.transcript.resume_turn())

    def on_bridge_turn_changed(self) -> None:
        working = self.bridge.working
        self._features.updates.mark()
        if self._ticker is not None:
            (self._ticker.resume if working else self._ticker.pause)()
        if working:
            self._display.begin_turn()
        else:
            self._display.end_turn()
            self._features.refresh_files()
            self._features.trust.refresh()
            self._features.profile.refresh()
            self._features.follow_team()
            if self.rested is not None:
                self.rested()
        self._features.background.refresh()
        self._features.review.work()
        self._features.timeline.refresh()
        self._features.subagents.refresh()
        self._display.show_state()
        self.set_class(self.has_failed and not working, "-failed")
        app: Any = app_of(self)
        self.call_after_refresh(app.place_notification)
        self.refresh_state()

    def refresh_state(self) -> None:
        """Report whether the agent works, waits for the user, or is idle."""
        before, self.state = self.state, self._present_state
        self._features.review.report_state(self.state)
        self.post_message(self.StateChanged(self, before))

    @property
    def _present_state(self) -> State:
        return "waiting" if self._features.questions.count else "working" if self.bridge.working else "idle"

    def on_bridge_progressed(self, event: Bridge.Progressed) -> None:
        self._features.subagents.progress(event.conversation_id)
        self._features.review.progress()

    async def on_bridge_compacted(self) -> None:
        await self._features.cost.remeasure()

    def on_bridge_failed(self, event: Bridge.Failed) -> None:
        self._features.cost.complain(event.error)

    async def on_bridge_titled(self, event: Bridge.Titled) -> None:
        if event.conversation_id == self.bridge.conversation_id:
            self._display.show_title(event.title)
            # The request for the title is paid for, too.
            await self._features.cost.remeasure()

    def on_bridge_asked(self, event: Bridge.Asked) -> None:
        self._features.questions.ask(event)
        self._features.files.follow_files(getattr(event.question, "paths", ()))

    def on_bridge_withdrawn(self) -> None:
        self._features.questions.withdraw()

    def on_screen_resume(self) -> None:
        if self._open:
            self.place_question()

    @property
    def _open_conversations(self) -> "OpenConversations":
        from cogency_tui.tui.main.open_conversations import open_conversations_of

        return open_conversations_of(self)

    @property
    def top(self) -> Screen[object]:
        """The topmost of the screens over this one; itself if there is none."""
        _mode, stack = self._open_conversations.stack_over(self)
        return stack[-1]

    @property
    def title_shown(self) -> str:
        """The title of the conversation; empty if it has none."""
        return self._display.transcript.title if self._open else ""

    def show_title(self, title: str) -> None:
        """Show another title of the conversation; of an empty one, its first message."""
        if self.bridge.conversation_id is not None:
            self._features.conversations.show_title(self.bridge.conversation_id, title)

    @property
    def question(self) -> str:
        """What the agent asks for; empty if nothing."""
        return self._features.questions.pending if self._open else ""

    @property
    def has_failed(self) -> bool:
        """True if the last turn failed."""
        return self._open and self.bridge.retryable and self._display.transcript.failure is not None

    @property
    def is_blank(self) -> bool:
        """True if nothing would be lost without this screen."""
        return (
            self._open
            and self.bridge.conversation_id is None
            and self.bridge.opening is None
            and not (self.bridge.working or self._display.transcript.units or self.query_one(Prompt).text)
        )

    def describe(
        self, key: str, number: int, unsaved: Sequence[str], *, current: bool, now: float
    ) -> "OpenConversation":
        """The conversation as the row of the switcher with this number, with the texts that are unsaved over
        it."""
        from cogency_tui.tui.switcher.rows import OpenConversation

        return OpenConversation(
            key,
            self.title_shown,
            self._condition,
            number,
            current=current,
            is_unread=self.is_unread,
            seconds=int(now - self.bridge.started) if self.bridge.started is not None else 0,
            retry=self._display.seconds_to_retry(now) if self.bridge.working else 0,
            question=self.question,
            message=self._display.last_message if self._open else "",
            total=self._display.transcript.total if self._open else {},
            at=self._last_event,
            unsaved=unsaved,
            background=self._features.background.running if self._open else (),
            worktree=self.agent.worktree,
            is_worktree_removed=self.agent.is_worktree_removed,
            is_rerun=self.show_result is not None,
        )

    @property
    def is_free(self) -> bool:
        """True if the user sees this conversation, with nothing above it, and has typed nothing."""
        return self._open and self.is_active and not self.query_one(Prompt).text

    @property
    def _condition(self) -> "Condition":
        if self.state != "idle":
            return self.state
        if self.has_failed:
            return "failed"
        return "done" if self.is_unread else "idle"

    def show_others(self, background: Background, number: int, opened: int) -> None:
        """Show what the other open conversations do, and the number of this one of the `opened` ones."""
        self.query_one(StatusBar).show_background(background)
        header = self.query_one(Header)
        header.move(replace(header.place, number=number, opened=opened))
        self.refresh_bindings()

    def come_back(self) -> None:
        """Refresh what may have changed since the user left: the settings and the surroundings. The user
        begins at the prompt, unless a question or another screen has the focus."""
        self.is_unread = False
        if not self._open:
            return
        self.bridge.drawn()
        prompt, settings = self.query_one(Prompt), self.agent.settings
        if self.is_active and not self._features.questions.has_focus:
            self.set_focus(prompt)
        if settings.vim != (prompt.vim_mode is not None):
            prompt.use_vim(on=settings.vim)
        self._fit(app_of(self).size)
        self._display.show_state()
        self._features.updates.refresh()
        self._features.follow_team()

    async def end(self) -> None:
        """Save the unsent messages, interrupt the work, and wait until its end is stored."""
        self._features.drafts.put_away()
        if self.bridge.working:
            self.bridge.interrupt()
        await self.bridge.leave()
        if self.ended is not None:
            await self.ended()

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = True,
    ) -> None:
        """Show a notification, without markup; of a conversation that is not shown, with its title."""
        del markup
        if self._open and not self.top.is_active:
            message = f"“{self.title_shown or 'New conversation'}”: {message}"
        super().notify(message, title=title, severity=severity, timeout=timeout, markup=False)

    def get_focusable_widget_at(self, x: int, y: int) -> Widget | None:
        """The widget that a click focuses: no text while a question has the focus, since `y` copies there."""
        found = super().get_focusable_widget_at(x, y)
        is_text = found is not None and found.id in _TEXTS
        return None if is_text and self._open and self._features.questions.has_focus else found

    def place_question(self) -> None:
        """Show a waiting question on the screen that is on top."""
        self._features.questions.place()

    def focus_question(self) -> bool:
        """Focus a waiting question; return whether there is one that has no focus yet."""
        return self._features.questions.focus()

    def enter_or_leave_question(self) -> None:
        """Focus a waiting question on the screen on top, or go back from it."""
        self._features.questions.enter_or_leave()

    def on_transcript_view_followed(self, event: "TranscriptView.Followed") -> None:
        self._display.show_following(event.following, event.new)

    def on_conversation_call_clicked(self, event: "Conversation.CallClicked") -> None:
        self._display.select_call(event.unit)

    async def on_conversation_fork_requested(self, event: "Conversation.ForkRequested") -> None:
        self._features.conversations.confirm_fork(event.unit, event.letter)

    def on_conversation_review_requested(self, event: "Conversation.ReviewRequested") -> None:
        self._features.review.open(call=event.call)

    def on_conversation_agent_requested(self, event: "Conversation.AgentRequested") -> None:
        self._features.subagents.open(call=event.call)

    async def on_conversation_pin_requested(self, event: "Conversation.PinRequested") -> None:
        await self._features.cost.pin(event.unit)

    async def on_conversation_compaction_requested(self, event: "Conversation.CompactionRequested") -> None:
        await self._features.cost.show_compactions(event.summary)

    def on_conversation_images_requested(self, event: "Conversation.ImagesRequested") -> None:
        self._features.images.view(event.images)

    def on_tool_calls_images_requested(self, event: "ToolCalls.ImagesRequested") -> None:
        self._features.images.view(event.images)

    def on_chip_area_image_opened(self, event: Prompt.ImageOpened) -> None:
        if self._open:
            self._features.images.view([event.image])

    def on_conversation_links_requested(self, event: "Conversation.LinksRequested") -> None:
        self._features.conversations.show_links(event.addresses)

    def on_live_line_pressed(self) -> None:
        self._display.follow()

    def on_tool_calls_located(self, event: "ToolCalls.Located") -> None:
        self._display.go_to_unit(event.index)

    def action_show_call(self) -> None:
        """Go from a call in the conversation to its row in the tool calls pane."""
        self._display.go_to_call()

    def on_tool_calls_agent_requested(self, event: "ToolCalls.AgentRequested") -> None:
        self._features.subagents.open(call=event.call)

    def on_tool_calls_stop_asked(self, event: "ToolCalls.StopAsked") -> None:
        self._features.background.ask_to_stop(event.command)

    def on_tool_calls_copied(self, event: "ToolCalls.Copied") -> None:
        app_of(self).copy_to_clipboard(event.text)

    def on_file_tree_requested(self, event: "FileTree.Requested") -> None:
        self._features.files.list_directories([event.path])

    def on_file_tree_asked(self, event: "FileTree.Asked") -> None:
        self._act_on_file(event.what, event.path)

    def on_preview_lines_asked(self, event: "PreviewLines.Asked") -> None:
        self._act_on_file(event.what, event.path)

    def on_files_pane_filter_begun(self) -> None:
        self._features.files.begin_filter()

    def on_files_pane_filtered(self, event: "FilesPane.Filtered") -> None:
        self._features.files.filter(event.text)

    def _act_on_file(self, what: str, path: str) -> None:
        if what == "mention":
            self.query_one(Prompt).mention(path)
        else:
            self._features.files.act(what, path)

    def on_button_bar_pressed(self, event: ButtonBar.Pressed) -> None:
        self.call_next(self.run_action, event.action)

    async def action_command(self, handler: str, argument: str = "") -> None:
        """Run a command. After most of them the user is back at the prompt, or at the question."""
        if handler not in _STAYING and not self._features.questions.has_focus:
            self.set_focus(self.query_one(Prompt))
        done = self._features.handlers[handler](argument)
        if done is not None:
            await done

    def action_toggle_pane(self, side: Side) -> None:
        """Show or hide a side pane. One that covers the conversation has the focus while it is shown."""
        panes = self.query_one(Panes)
        panes.toggle(side, self.size.width)
        if self._features.questions.has_focus:
            return
        if panes.covered_by(side):
            self.set_focus(self.query_one("#file-tree" if side == "files" else "#calls-list"))
        elif self.focused is None or not _is_displayed(self.focused):
            self.set_focus(self.query_one(Prompt))

    def action_resize_pane(self, step: int) -> None:
        self.query_one(Panes).shift(self.focused, step, self.size.width)

    def action_maximise_pane(self) -> None:
        self.query_one(Panes).maximise(self.focused, self.size.width)

    def action_next_pane(self, step: int) -> None:
        if self.focus_question():
            return
        stops = [*self.query_one(Panes).stops(), self.query_one(Prompt)]
        shown = [stop for stop in stops if _is_displayed(stop)]
        place = shown.index(self.focused) if self.focused in shown else -1
        self.set_focus(shown[(place + step) % len(shown)])

    def action_step_back(self) -> None:
        prompt = self.query_one(Prompt)
        self.query_one(PromptBox).announce("")
        if self.bridge.working:
            self._interrupt()
        elif self.selections:
            self.clear_selection()
        elif self.focused is prompt and prompt.text:
            # With Vim's keys Esc is pressed out of habit.
            if prompt.vim_mode is None:
                prompt.clear_draft()
        elif self.focused is prompt:
            if not self._display.show_conversation():
                self._escape_again()
        else:
            self.query_one(Panes).show_middle(self.size.width)
            self.set_focus(prompt)

    def interrupt_or_clear(self) -> bool:
        """Interrupt the agent, or clear the prompt where it is in view; return whether there was either to
        do."""
        prompt = self.query_one(Prompt)
        if self.bridge.working:
            self._interrupt()
        elif self.is_active and prompt.text:
            prompt.clear_draft()
        else:
            return False
        return True

    def _interrupt(self) -> None:
        self.query_one(Prompt).end_edit()
        self._features.drafts.restore_unsent(self.bridge.interrupt())
        self._display.show_state()

    def _escape_again(self) -> None:
        """Open the list of messages to go back to on the second of two Escs in a row."""
        now = monotonic()
        if now - self._escaped < self.TWICE and self.bridge.conversation_id is not None:
            self._features.conversations.rewind()
        self._escaped = now

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "show_call":
            return self.focused is not None and self.focused.id == "conversation"
        return super().check_action(action, parameters)

    def on_bridge_returned(self, event: Bridge.Returned) -> None:
        self.query_one(Prompt).end_edit()
        self._features.drafts.restore_unsent([*event.messages, *self.bridge.take_unsent()])

    def on_bridge_queue_changed(self) -> None:
        self.query_one(PromptBox).show_queue()
        self._display.show_state()
        self._features.drafts.note_change()

    def on_text_area_changed(self) -> None:
        self._escaped = 0.0
        if self._open:
            self._features.drafts.note_change()
            self._features.images.note_change()
            self._display.offer_retry()

    def on_prompt_noted(self, event: Prompt.Noted) -> None:
        self._features.drafts.note_entry(event.written)

    def on_prompt_vim_mode_changed(self, event: Prompt.VimModeChanged) -> None:
        self.query_one(StatusBar).show_vim_status(event.status)

    def on_prompt_editor_requested(self) -> None:
        self._features.drafts.edit_outside()

    async def on_prompt_browsed(self, event: Prompt.Browsed) -> None:
        self._display.show_conversation()
        await self.query_one("#conversation").run_action(event.action)

    def on_completion_requested(self) -> None:
        self._features.drafts.list_files()

    def on_unmount(self) -> None:
        if "_features" in vars(self):
            self._features.drafts.close()
        else:
            self._save_early_text()

    def _save_early_text(self) -> None:
        """Save a text that was typed before the screen opened."""
        prompt, conversation_id = self._early, self._first[1]
        if prompt is not None and prompt.text.strip():
            from cogency_tui.store.prompts_and_drafts import Draft, Prompts

            with suppress(StoreError):
                prompts = Prompts(self.agent.data, self.agent.project, self.number)
                prompts.put_aside(Draft(prompt.written, conversation=conversation_id or ""))

    def leave(self) -> None:
        """Quit; ask first if that interrupts work or loses a text. Asked for again, a text keeps it from
        quitting, but work does not."""
        from cogency_tui.tui.switcher.rows import describe_quit

        app, rows = app_of(self), self._open_conversations.rows
        question = describe_quit(rows, self._features.questions.count)
        if question and app.screen is not self._quit_question:
            self._ask_to_quit(question)
        elif not any(row.unsaved for row in rows):
            app.exit()

    def _ask_to_quit(self, question: str) -> None:
        from cogency_tui.tui.kit.dialogs import Confirmation

        self._quit_question = Confirmation(question)
        app_of(self).push_screen(self._quit_question, lambda yes: app_of(self).exit() if yes else None)

    def welcome(self, width: int) -> "list[Line]":
        """Draw the text of an empty conversation."""
        from cogency_tui.tui.conversation.welcome import draw_welcome, situation_of

        height = self.query_one("#conversation").size.height
        styles = theme_styles_of(app_of(self).theme)
        return draw_welcome(situation_of(self.agent), self._features.start, width, height, styles)


def _is_displayed(widget: Widget) -> bool:
    return all(node.display for node in widget.ancestors_with_self)


def _rows_of(widget: Widget, screen: Size) -> int:
    """The rows that a part of the screen takes, with its margin; none for one that overlays others."""
    styles = widget.styles
    if styles.height is None or styles.overlay == "screen" or styles.is_docked:
        return 0
    width = screen.width - styles.margin.width - widget.gutter.width
    height = int(styles.height.value) if styles.height.is_cells else _content_rows(widget, screen, width)
    return height + styles.margin.height


def _content_rows(widget: Widget, screen: Size, width: int) -> int:
    return widget.get_content_height(screen, screen, width) + widget.gutter.height


def _report_fork(screen: Screen[Any]) -> None:
    screen.notify("This goes on in a fork here: the conversation itself stays as it was.", markup=False)

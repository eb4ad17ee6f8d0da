"""Updates every widget of the main screen with the transcript.

Events arrive by `take`; changes that are not events (settings, the queue, time) by `show_state` and `tick`.
No widget is updated twice for one change, and none is queried for its contents.
"""

from collections.abc import Iterable, Mapping, Sequence
from time import time
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace
from textual.screen import Screen
from textual.widget import Widget

from cogency_tui.protocol.events import Event, Measure
from cogency_tui.tui.bridge import Bridge
from cogency_tui.tui.calls.pane import ToolCalls
from cogency_tui.tui.conversation.activity_line import (
    Activity,
    LiveLine,
    describe_activity,
    live_units,
    seconds_to_retry,
)
from cogency_tui.tui.conversation.pane import ConversationPane
from cogency_tui.tui.conversation.view import Conversation
from cogency_tui.tui.display_protocol import Display
from cogency_tui.tui.files.tree import FileTree
from cogency_tui.tui.kit.number_format import plural
from cogency_tui.tui.kit.pane_title import PaneTitle
from cogency_tui.tui.kit.typed_app import app_of
from cogency_tui.tui.main.panes import Panes
from cogency_tui.tui.paste_chips import as_written
from cogency_tui.tui.prompt.prompt import Prompt
from cogency_tui.tui.prompt.prompt_and_queue import PromptBox
from cogency_tui.tui.status.header import Header
from cogency_tui.tui.status.status_bar import StatusBar, status_of
from cogency_tui.tui.transcript.call_unit import CallUnit, FileChange
from cogency_tui.tui.transcript.units import Transcript, TurnChanges, UserMessage

if TYPE_CHECKING:
    from cogency_tui.agent.review.model import Decision


class MainDisplay(Display):
    """The transcript of one conversation, on the widgets of `screen`."""

    def __init__(self, screen: Screen[Any], bridge: Bridge) -> None:
        self.transcript = Transcript()
        self._screen = screen
        self._bridge = bridge
        self._frame = 0
        self._asked: float | None = None
        """Since when the user has to answer, in Unix seconds."""

    @property
    def last_message(self) -> str:
        """The user's last message; empty if there is none."""
        messages = (unit.text for unit in reversed(self.transcript.units) if isinstance(unit, UserMessage))
        return next(messages, "")

    def show(self, transcript: Transcript, total: Measure) -> None:
        self.transcript = transcript
        transcript.locate(str(self._bridge.agent.workspace.root))
        transcript.measure(Measure(), total)
        transcript.offer_retry(self._retry_key)
        find = self._screen.query_one
        find(Conversation).show(transcript)
        find(ToolCalls).show(transcript)
        self.show_conversation()
        self._admit_calls()
        units = transcript.units
        messages = (unit for unit in units if isinstance(unit, UserMessage) and not unit.automatic)
        find(Prompt).recall([as_written(each.text, each.images) for each in messages])
        self._mark_changes()
        self.show_state()

    def take(self, arrived: list[Event]) -> None:
        self.touch(self.transcript.feed(arrived))
        status = self._screen.query_one(StatusBar).status
        is_changed = (status.allows_edits, status.plan) != (self._bridge.allows_edits, self.transcript.plan)
        if is_changed or any(event["type"] in ("error", "metric", "user") for event in arrived):
            self.show_state()

    def measure(self, total: Measure, context: int) -> None:
        transcript = self.transcript
        transcript.measure({**transcript.step, "context": context}, total)
        self.show_state()

    def touch(self, units: set[int]) -> None:
        find = self._screen.query_one
        find(Conversation).update_units(units)
        calls = self._calls_of(units)
        if calls:
            find(ToolCalls).update_calls(calls, self._frame)
            self._admit_calls()
        if any(self.transcript.call(index).settled for index in calls):
            self._mark_changes()

    def show_changes(
        self,
        net: Iterable[FileChange],
        turns: Mapping[int, TurnChanges],
        decisions: "Mapping[str, Decision]",
    ) -> None:
        self.transcript.set_changes(net)
        self.touch(self.transcript.record(turns, decisions))
        self._mark_changes()
        # There may be something to review now.
        self._screen.refresh_bindings()

    def hold(self, unit: int | None) -> None:
        self._screen.query_one(Conversation).hold(unit)

    def show_preview(self, preview: Widget) -> None:
        self._screen.query_one(ConversationPane).cover(preview)
        self._show_middle()

    def show_conversation(self) -> bool:
        pane = self._screen.query_one(ConversationPane)
        was_covered = pane.is_covered or not pane.display
        pane.cover(None)
        self._show_middle()
        return was_covered

    def _show_middle(self) -> None:
        self._screen.query_one(Panes).show_middle(self._screen.size.width)

    def go_to_unit(self, unit: int, *, focus: bool = True) -> None:
        self.show_conversation()
        conversation = self._screen.query_one(Conversation)
        conversation.go_to_unit(unit)
        if focus:
            self._screen.set_focus(conversation)

    def go_to_call(self) -> None:
        """Select the call at the cursor of the focused conversation in the tool calls pane."""
        conversation, width = self._screen.query_one(Conversation), self._screen.size.width
        if conversation.has_focus and (cursor := conversation.cursor.place) is not None:
            panes = self._screen.query_one(Panes)
            if isinstance(self.transcript.units[cursor.unit], CallUnit):
                if "calls" not in panes.shown(width):
                    panes.toggle("calls", width)
                self._screen.query_one(ToolCalls).go_to(cursor.unit)

    def go_to_background(self) -> None:
        """Select the latest background command in the tool calls pane."""
        panes, width = self._screen.query_one(Panes), self._screen.size.width
        if "calls" not in panes.shown(width):
            panes.toggle("calls", width)
        self._screen.query_one(ToolCalls).go_to_commands()

    def await_answer(self, since: float | None) -> None:
        self._asked = since
        self._show_activity()

    def confirm(self, grant: Sequence[str]) -> bool:
        line = self._screen.query_one(LiveLine)
        is_shown = self._screen.is_active and bool(line.region)
        if is_shown:
            line.confirm(grant)
        return is_shown

    def select_call(self, unit: int) -> None:
        if "calls" in self._screen.query_one(Panes).shown(self._screen.size.width):
            self._screen.query_one(ToolCalls).select(unit)

    def follow(self) -> None:
        """Show the end of the conversation, and follow new output."""
        self.show_conversation()
        self._screen.query_one(Conversation).follow()

    def show_following(self, following: bool, new: int) -> None:
        """Show whether the conversation follows new output, and the number of `new` units below the view."""
        self._screen.query_one(LiveLine).follow(following, new)

    def begin_turn(self) -> None:
        """Withdraw what was offered after the turn before."""
        self.touch(self.transcript.offer_retry(""))

    def end_turn(self) -> None:
        """Settle all open units at the end of a turn; if it is unfinished, offer to retry it."""
        self.touch(self.transcript.close() | self.transcript.offer_retry(self._retry_key))

    def offer_retry(self) -> None:
        """Offer to retry an unfinished turn by a key that does so with what the prompt has now."""
        self.touch(self.transcript.offer_retry(self._retry_key))

    @property
    def _retry_key(self) -> str:
        if not self._bridge.retryable:
            return ""
        return "/retry" if self._screen.query_one(Prompt).text.strip() else "Enter"

    def tick(self) -> None:
        """Refresh the running times, unless a dialog covers them.

        Below a dialog each tick would draw the whole screen again: a slow terminal would never be done with
        the question that it is to show.
        """
        if not self._screen.is_active:
            return
        # Without animation the spinner stops, but the time beside it still advances.
        self._frame += app_of(self._screen).animation_level != "none"
        live = live_units(self.transcript)
        self._screen.query_one(Conversation).tick(self._frame, live)
        if calls := self._calls_of(live):
            self._screen.query_one(ToolCalls).update_calls(calls, self._frame)
        self._show_activity()

    def show_state(self) -> None:
        find = self._screen.query_one
        bridge, transcript = self._bridge, self.transcript
        status = status_of(
            bridge.agent,
            transcript.step,
            transcript.total,
            allows_edits=bridge.allows_edits,
            session_expires=bridge.agent.session_expires(bridge.conversation_id),
            plan=transcript.plan,
        )
        status = replace(status, running=bridge.background_count)
        if (until := bridge.until) is not None:
            status = replace(status, until=until.name, until_progress=until.progress)
        find(StatusBar).report(status)
        if not self.transcript.units:
            # The start shows the model and the permissions, too.
            find(Conversation).reflow()
        find(PromptBox).show_permissions(status.in_effect)
        header = find(Header)
        header.move(replace(header.place, title=self.transcript.title))
        turns = self.transcript.turns
        find("#conversation-title", PaneTitle).state(plural(turns, "turn") if turns else "")
        self._screen.refresh_bindings()
        self._show_activity()

    def seconds_to_retry(self, now: float) -> int:
        """The seconds until the running request is repeated; 0 if it is not about to be."""
        return seconds_to_retry(self.transcript, now)

    def show_title(self, title: str) -> None:
        """Show another title of the conversation."""
        self.transcript.entitle(title)
        self.show_state()

    def _show_activity(self) -> None:
        started, provider = self._bridge.started, self._bridge.agent.provider
        model = f"{provider.name}/{provider.model}"
        now = time()
        activity: Activity | None = None
        if self._bridge.compacting:
            activity = Activity("Summarizing the conversation")
        elif started is not None:
            hook = self._bridge.agent.running_hook(self._bridge.conversation_id)
            if hook and (sending := self._bridge.sending):
                self.touch(self.transcript.preview(sending.full, sending.attached, started, hook))
            activity = describe_activity(self.transcript, model, now, asked=self._asked, hook=hook)
        elapsed = now - started if started is not None else 0.0
        line, queued = self._screen.query_one(LiveLine), len(self._bridge.queue)
        key = "Esc Esc" if self._screen.query_one(Prompt).takes_escape else "Esc"
        line.work(activity, elapsed, self._frame, queued, key=key)

    def _admit_calls(self) -> None:
        """Let the tool calls pane open by itself once there is a call."""
        exist = bool(self.transcript.calls)
        self._screen.query_one(Panes).admit_calls(exist, self._screen.size.width)

    def _calls_of(self, units: Iterable[int]) -> list[int]:
        return [index for index in units if isinstance(self.transcript.units[index], CallUnit)]

    def _mark_changes(self) -> None:
        changes = self.transcript.changes()
        self._screen.query_one(FileTree).mark(changes)
        title = self._screen.query_one("#files-title", PaneTitle)
        title.state(f"{len(changes)} changed" if changes else "")

"""Keeps every widget of the main screen in step with the transcript.

Events come in by `take`; what does not come as an event (settings, the queue, time) by `show_state` and
`tick`. No widget is told anything twice, and none is asked what it shows.
"""

from collections.abc import Iterable
from time import time
from typing import Any

from msgspec.structs import replace
from textual.screen import Screen

from cogency_tui.protocol.events import Event, Measure
from cogency_tui.tui.activity import Activity, describe_activity, live_units
from cogency_tui.tui.bridge import Bridge
from cogency_tui.tui.calls import Call
from cogency_tui.tui.drawing.figures import plural
from cogency_tui.tui.host import app_of
from cogency_tui.tui.transcript import Said, Transcript
from cogency_tui.tui.widgets.conversation import Conversation
from cogency_tui.tui.widgets.file_tree import FileTree
from cogency_tui.tui.widgets.header import Header
from cogency_tui.tui.widgets.live_line import LiveLine
from cogency_tui.tui.widgets.pane_title import PaneTitle
from cogency_tui.tui.widgets.prompt import Prompt
from cogency_tui.tui.widgets.status_bar import Status, StatusBar
from cogency_tui.tui.widgets.tool_calls import ToolCalls


class Display:
    """The transcript of one conversation, on the widgets of `screen`."""

    def __init__(self, screen: Screen[Any], bridge: Bridge) -> None:
        self.transcript = Transcript()
        self._screen = screen
        self._bridge = bridge
        self._frame = 0

    def show(self, transcript: Transcript, total: Measure) -> None:
        """Show another conversation, and its figures."""
        self.transcript = transcript
        transcript.measure(Measure(), total)
        find = self._screen.query_one
        find(Conversation).show(transcript)
        find(ToolCalls).show(transcript)
        find(Prompt).recall([unit.text for unit in transcript.units if isinstance(unit, Said)])
        self._mark_changes()
        self.show_state()

    def take(self, arrived: list[Event]) -> None:
        """Show new events."""
        self.touch(self.transcript.feed(arrived))
        if any(event["type"] in ("metric", "user") for event in arrived):
            self.show_state()

    def measure(self, total: Measure, context: int) -> None:
        """Show other totals, and that the next request takes `context` tokens."""
        transcript = self.transcript
        transcript.measure({**transcript.step, "context": context}, total)
        self.show_state()

    def touch(self, units: set[int]) -> None:
        """Show that these units are new or have changed."""
        find = self._screen.query_one
        find(Conversation).update_units(units)
        calls = self._calls_of(units)
        if calls:
            find(ToolCalls).update_calls(calls, self._frame)
        if any(self.transcript.call(index).settled for index in calls):
            self._mark_changes()

    def end_turn(self) -> None:
        """Show that nothing more comes for what is open."""
        self.touch(self.transcript.close())

    def tick(self) -> None:
        """Show that time has passed."""
        # Where nothing is to move by itself, the spinner stands still; the time beside it goes on.
        self._frame += app_of(self._screen).animation_level != "none"
        live = live_units(self.transcript)
        self._screen.query_one(Conversation).tick(self._frame, live)
        if calls := self._calls_of(live):
            self._screen.query_one(ToolCalls).update_calls(calls, self._frame)
        self._show_activity()

    def show_state(self) -> None:
        """Show the settings in force, the figures, the title and what goes on."""
        find = self._screen.query_one
        find(StatusBar).report(self.status())
        header = find(Header)
        header.move(replace(header.place, title=self.transcript.title))
        turns = self.transcript.turns
        find("#conversation-title", PaneTitle).state(plural(turns, "turn") if turns else "")
        self._show_activity()

    def status(self) -> Status:
        """What the status bar shows."""
        agent, transcript = self._bridge.agent, self.transcript
        return Status(
            mode=agent.mode,
            provider=agent.provider.name,
            model=agent.provider.model,
            permissions=agent.permissions,
            sandbox=agent.sandbox,
            # What there is room for is the model's that comes next, not that of the last cycle.
            step={**transcript.step, "context_size": agent.provider.facts.context_size},
            total=transcript.total,
        )

    def _show_activity(self) -> None:
        started, provider = self._bridge.started, self._bridge.agent.provider
        model = f"{provider.name}/{provider.model}"
        now = time()
        activity: Activity | None = None
        if self._bridge.compacting:
            activity = Activity("Summarising the conversation")
        elif started is not None:
            activity = describe_activity(self.transcript, model, now)
        elapsed = now - started if started is not None else 0.0
        line = self._screen.query_one(LiveLine)
        line.work(activity, elapsed, self._frame, len(self._bridge.queue))

    def _calls_of(self, units: Iterable[int]) -> list[int]:
        return [index for index in units if isinstance(self.transcript.units[index], Call)]

    def _mark_changes(self) -> None:
        changes = self.transcript.changes()
        self._screen.query_one(FileTree).mark(changes)
        title = self._screen.query_one("#files-title", PaneTitle)
        title.state(f"{len(changes)} changed" if changes else "")

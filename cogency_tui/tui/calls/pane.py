"""The tool calls pane: the list of calls, and below it the detail of the selected one."""

from collections.abc import Callable, Collection, Sequence
from time import time

from rich.segment import Segment
from textual.app import ComposeResult
from textual.message import Message

from cogency_tui.protocol.image import Image
from cogency_tui.tui.calls.detail import CallDetail, DetailHead
from cogency_tui.tui.calls.list import CallList
from cogency_tui.tui.calls.rows import BackgroundCommand, CallFilter
from cogency_tui.tui.kit.bar import Bar, Divider, Surface
from cogency_tui.tui.kit.filter_line import FilterLine
from cogency_tui.tui.kit.lines import width_of
from cogency_tui.tui.kit.pane_title import PaneTitle
from cogency_tui.tui.kit.typed_app import app_of
from cogency_tui.tui.transcript.call_unit import CallUnit
from cogency_tui.tui.transcript.units import Transcript

FAILURES = "failures"


class Hints(Bar):
    """The keys of the selected call, while the list has the focus."""

    SURFACE = "surface"

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._hints: Sequence[tuple[str, str]] = ()

    def offer(self, hints: Sequence[tuple[str, str]]) -> None:
        """Show these keys and their actions."""
        if hints != self._hints:
            self._hints = hints
            self.refresh()

    def segments(self, width: int) -> list[Segment]:
        shown = [Segment("  ", self.theme_styles())]
        for key, does in self._hints:
            pair = [
                Segment(key, self.theme_styles("text")),
                Segment(f" {does}   ", self.theme_styles("dim")),
            ]
            if width_of(shown) + width_of(pair) - 3 > width:
                break
            shown += pair
        return shown


class ToolCalls(Surface):
    """Composes the pane."""

    class Located(Message):
        """Requests that the conversation show the call that is unit `index` of the transcript."""

        def __init__(self, index: int) -> None:
            self.index = index
            super().__init__()

    class AgentRequested(Message):
        """Requests the sub-agent that the call with this id started."""

        def __init__(self, call: str) -> None:
            self.call = call
            super().__init__()

    class ImagesRequested(Message):
        """Requests to view these images."""

        def __init__(self, images: Sequence[Image]) -> None:
            self.images = images
            super().__init__()

    class StopAsked(Message):
        """Requests that the background command with this id be stopped."""

        def __init__(self, command: BackgroundCommand) -> None:
            self.command = command
            super().__init__()

    class Copied(Message):
        """Requests that this text be copied."""

        def __init__(self, text: str) -> None:
            self.text = text
            super().__init__()

    def __init__(self, *, clock: Callable[[], float] = time, id: str | None = None) -> None:
        super().__init__(id=id)
        self._clock = clock
        self._outputs: Callable[[str], str] = _no_output

    def compose(self) -> ComposeResult:
        yield PaneTitle("Tool calls", id="calls-title")
        yield FilterLine("Tool or subject", id="calls-filter")
        yield CallList(self._clock, id="calls-list")
        yield Divider(id="calls-divider")
        yield DetailHead(id="calls-detail-head")
        yield CallDetail(self._clock, id="calls-detail")
        yield Hints(id="calls-hints")

    def on_mount(self) -> None:
        app_of(self).theme_changed_signal.subscribe(self, lambda _theme: self._catch_up())

    def show(self, transcript: Transcript) -> None:
        """Show the calls of another transcript."""
        self.query_one(CallList).show_transcript(transcript)
        self._catch_up()

    def update_calls(self, touched: Collection[int], frame: int = 0) -> None:
        """Update units that are new or changed, or whose running time has advanced."""
        self.query_one(CallList).update_calls(sorted(touched), frame)
        self._catch_up()

    def show_commands(self, commands: Sequence[BackgroundCommand], outputs: Callable[[str], str]) -> None:
        """Show the background commands; `outputs` returns the output of one of them."""
        self._outputs = outputs
        self.query_one(CallList).show_commands(commands)
        self._catch_up()

    def go_to(self, index: int) -> bool:
        """Select and focus the call that is unit `index`; return whether it is a call."""
        if is_call := self.select(index):
            self.screen.set_focus(self.query_one(CallList))
        return is_call

    def go_to_commands(self) -> None:
        """Select and focus the last background command that runs, else the last one."""
        rows = self.query_one(CallList)
        self._filter(CallFilter())
        self.query_one(FilterLine).clear()
        commands = rows.calls.commands
        if latest := [each for each in commands if each.state == "running"] or list(commands):
            rows.select(rows.place_of(latest[-1].id) or 0)
            self.screen.set_focus(rows)

    def select(self, index: int) -> bool:
        """Select the call that is unit `index`, regardless of the filter; return whether it is a call."""
        rows = self.query_one(CallList)
        if index not in rows.calls.transcript.calls:
            return False
        if rows.place_of(index) is None:
            self._filter(CallFilter())
            self.query_one(FilterLine).clear()
        rows.select(rows.place_of(index) or 0)
        return True

    def on_select_list_selected(self, event: CallList.Selected) -> None:
        event.stop()
        self._catch_up()

    def on_call_list_paged(self, event: CallList.Paged) -> None:
        event.stop()
        self.query_one(CallDetail).action_page(event.direction)

    def on_call_list_asked(self, event: CallList.Asked) -> None:
        event.stop()
        rows = self.query_one(CallList)
        match event.what:
            case "filter":
                self.query_one(FilterLine).open()
            case "failures":
                shown = rows.calls.filter
                self._filter(CallFilter(shown.text, not shown.failures))
            case "locate" if isinstance(rows.key, int):
                self.post_message(self.Located(rows.key))
            case "agent" if rows.call and rows.call.is_delegated:
                self.post_message(self.AgentRequested(rows.call.id))
            case "images" if rows.call:
                self.post_message(self.ImagesRequested(rows.call.images))
            case "stop" if (command := rows.command) and command.state == "running":
                self.post_message(self.StopAsked(command))
            case "copy":
                self._copy(rows.call, rows.command)
            case _:
                pass

    def on_filter_line_changed(self, event: FilterLine.Changed) -> None:
        event.stop()
        self._filter(CallFilter(event.text, self.query_one(CallList).calls.filter.failures))

    def on_filter_line_moved(self, event: FilterLine.Moved) -> None:
        event.stop()
        self.query_one(CallList).action_move(event.step)

    def on_filter_line_accepted(self, event: FilterLine.Accepted) -> None:
        event.stop()
        self.screen.set_focus(self.query_one(CallList))

    def on_filter_line_left(self, event: FilterLine.Left) -> None:
        event.stop()
        self.screen.set_focus(self.query_one(CallList))

    def on_filter_line_mark_removed(self, event: FilterLine.MarkRemoved) -> None:
        event.stop()
        self._filter(CallFilter(self.query_one(CallList).calls.filter.text))

    def on_descendant_focus(self) -> None:
        self._offer()

    def on_descendant_blur(self) -> None:
        self._offer()

    def on_resize(self) -> None:
        self._catch_up()

    def _filter(self, call_filter: CallFilter) -> None:
        rows = self.query_one(CallList)
        if call_filter != rows.calls.filter:
            rows.select_by(call_filter)
            self.query_one(FilterLine).mark([FAILURES] if call_filter.failures else [])
            self._catch_up()

    def _copy(self, call: CallUnit | None, command: BackgroundCommand | None) -> None:
        text = self._outputs(command.id) if command else call.body() if call else ""
        if text:
            self.post_message(self.Copied(text))

    def _catch_up(self) -> None:
        """Show the selected call and the totals."""
        rows, detail = self.query_one(CallList), self.query_one(CallDetail)
        if command := rows.command:
            detail.show_command(command, self._outputs(command.id))
        elif isinstance(rows.key, int):
            detail.show(rows.call, rows.calls.before(rows.key))
        else:
            detail.show(None)
        self.query_one(Divider).display = bool(rows.rows)
        self.query_one(DetailHead).show(detail.head, detail.subhead)
        self.query_one(PaneTitle).state(self._count(rows))
        self._offer()

    def _count(self, rows: CallList) -> str:
        total, shown = len(rows.calls.transcript.calls), rows.calls.shown
        count = f"{shown} of {total}" if shown != total else str(total) if total else ""
        running = rows.calls.running
        return " · ".join(each for each in (count, f"{running} running" if running else "") if each)

    def _offer(self) -> None:
        self.refresh_bindings()
        rows = self.query_one(CallList)
        hints: list[tuple[str, str]] = []
        if rows.has_focus and rows.key is not None:
            command = rows.command
            hints = [("x", "stop")] if command and command.state == "running" else []
            hints += [] if command else [("enter", "show")]
            hints += [("A", "sub-agent")] if rows.call and rows.call.is_delegated else []
            hints += [("o", "view image")] if rows.call and rows.call.images else []
            hints += [("y", "copy"), ("/", "filter"), ("F", "failures")]
        self.query_one(Hints).offer(hints)


def _no_output(_id: str) -> str:
    return ""

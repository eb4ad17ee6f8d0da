"""The timeline: a slider over all events, the conversation at that point, and details of it.

It composes, and passes keys on. The conversation follows each key at once; slower details follow when the
user rests at a point.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal

from cogency_tui.agent.edits.undo_preview import Plan
from cogency_tui.agent.edits.undo_selection import UndoRecord
from cogency_tui.agent.timeline.model import Past, Point
from cogency_tui.agent.timeline.timeline import Timeline
from cogency_tui.errors import CogencyError, UsageError
from cogency_tui.protocol.image import Image
from cogency_tui.tui.kit.bar import ButtonBar, Surface
from cogency_tui.tui.kit.dialogs import AnsweringScreen
from cogency_tui.tui.kit.footer import Footer, Hints
from cogency_tui.tui.kit.heading import ScreenHeading
from cogency_tui.tui.kit.number_format import plural
from cogency_tui.tui.kit.pane_title import PaneTitle
from cogency_tui.tui.kit.typed_app import app_of
from cogency_tui.tui.timeline.details import Detail, Details, Totals
from cogency_tui.tui.timeline.keys import TIMELINE_HINTS, TIMELINE_KEYS, Read
from cogency_tui.tui.timeline.past_units import Scrubbing
from cogency_tui.tui.timeline.sent_messages_view import ExchangeView
from cogency_tui.tui.timeline.slider import FactLine, Slider
from cogency_tui.tui.transcript.document import prepare
from cogency_tui.tui.transcript.view import TranscriptView
from cogency_tui.tui.undo.outcome import describe_undo
from cogency_tui.tui.undo.screen import UndoScreen


class ThenView(Read, TranscriptView):
    """The conversation at a point, scrolled to its end: to the latest event."""

    BINDING_GROUP_TITLE = "Conversation"

    def move(self, count: int, touched: Iterable[int]) -> None:
        """Show the transcript's first `count` units, of which those `touched` have changed."""
        self.document.cut(count)
        for index in sorted(touched):
            self.document.touch(index)
        self.set_following(True)
        self.settle()
        self.refresh()


BOTH_FIT = 96
"""Cells from which both panes are side by side."""

TIMELINE_STYLES = Path(__file__).parent.parent / "styles" / "timeline.tcss"


@dataclass(frozen=True, slots=True)
class ChosenMoment:
    """The user's destination: a point, with the user's messages by then (`messages`), or a `fork` there."""

    point: Point
    messages: int
    fork: bool


@dataclass(frozen=True, slots=True)
class TurnAgain:
    """The turn of this number is to be run again."""

    turn: int


@dataclass(frozen=True, slots=True)
class TimelineCommand:
    """A command for the main screen."""

    handler: str
    argument: str


class TimelineScreen(AnsweringScreen[ChosenMoment | TurnAgain | TimelineCommand | None]):
    """Shows one conversation. `ready` returns whether changes are possible now, else notifies the user;
    `view_images` shows images."""

    BINDINGS = TIMELINE_KEYS
    AUTO_FOCUS = ""
    BLANK = True
    CSS_PATH: ClassVar = [TIMELINE_STYLES]

    def __init__(
        self,
        timeline: Timeline,
        ready: Callable[[], bool],
        view_images: Callable[[Sequence[Image]], None],
        title: str = "",
    ) -> None:
        super().__init__()
        self._view_images = view_images
        self._timeline = timeline
        self._ready = ready
        self._header = ScreenHeading("Timeline", title, id="timeline-header")
        self._slider = Slider(id="timeline-slider")
        self._facts = FactLine(id="timeline-facts")
        self._then_title = PaneTitle("Conversation", id="timeline-then-title")
        self._then = ThenView(id="timeline-then")
        self._details = Details(timeline, self._complain, id="timeline-right")
        self._scrubbing = Scrubbing()
        self._past: Past | None = None
        self._totals: Totals | None = None
        self._index = 0
        self._fork_detail = ""

    @property
    def details(self) -> Details:
        """The pane beside the conversation."""
        return self._details

    def key_hints(self) -> Hints:
        return Hints(TIMELINE_HINTS)

    def key_detail(self, action: str) -> str:
        return self._fork_detail if action == "fork" else ""

    def compose(self) -> ComposeResult:
        yield self._header
        yield self._slider
        yield self._facts
        with Horizontal(id="timeline-panes"):
            with Surface(id="timeline-left"):
                yield self._then_title
                yield self._then
            yield self._details
        yield Footer(id="footer")

    def on_mount(self) -> None:
        self._fit()
        self.set_focus(self._then)
        app_of(self).theme_changed_signal.subscribe(self, lambda _theme: self._then.reflow())
        self.reload()

    def on_resize(self, event: events.Resize) -> None:
        del event
        self._fit()

    def reload(self) -> None:
        """Read the conversation again, after a possible change."""
        self.run_worker(self._read, group="timeline-read", exclusive=True)

    async def _read(self) -> None:
        try:
            past = await self._timeline.read()
        except CogencyError as exc:
            if self._past is None:
                self.dismiss(None)
            self._complain(exc)
            return
        await prepare()
        scrubbing = Scrubbing(past.conversation.project)
        await scrubbing.read(past.points)
        before = self._past
        at_end = before is None or self._index == len(before.points) - 1
        number = before.points[self._index].number if before else 0
        self._past, self._scrubbing, self._totals = past, scrubbing, Totals(past)
        self._slider.show(past)
        self._header.entitle(past.conversation.title or scrubbing.title)
        self._then.show(scrubbing.transcript)
        self._go_to(len(past.points) - 1 if at_end else past.index_of(number))

    def _go_to(self, index: int) -> None:
        past = self._past
        if past is None:
            return
        self._index = max(0, min(index, len(past.points) - 1))
        self._then.move(*self._scrubbing.go_to(self._index))
        self._slider.show_point(self._index)
        self._facts.show(past, self._index, self._totals.at(self._index) if self._totals else None)
        call = self._scrubbing.call_of(past.points[self._index].event)
        self._details.show_point(past, self._index, call)
        self._label_fork()
        left = len(past.points) - 1 - self._index
        self._then_title.state("at this point" if left else "now")
        self._then_title.note(f"{plural(left, 'event')} follow{'s' if left == 1 else ''}" if left else "")

    def _label_fork(self) -> None:
        """Say where a fork ends, unless it is with the selected event."""
        end, here = self._scrubbing.fork_end(self._index), self._index + 1
        after = f"after {end:,}" if end > here else ""
        detail = "before this" if end < here else after
        if detail != self._fork_detail:
            self._fork_detail = detail
            self.refresh_bindings()

    def on_slider_moved(self, event: Slider.Moved) -> None:
        self._go_to(event.index)

    def on_exchange_view_images_requested(self, event: ExchangeView.ImagesRequested) -> None:
        self._view_images(event.images)

    def on_button_bar_pressed(self, event: ButtonBar.Pressed) -> None:
        self.call_next(self.run_action, event.action)

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        on_left = event.widget is self._then
        self._then_title.light(on_left)
        self._details.light()
        self.set_class(not on_left, "-detail")

    def action_event(self, step: int) -> None:
        self._go_to(self._index + step)

    def action_turn(self, step: int) -> None:
        if self._past is not None:
            self._go_to(self._past.turn_begins(self._index, step))

    def action_end(self, way: int) -> None:
        if self._past is not None:
            self._go_to(0 if way < 0 else len(self._past.points) - 1)

    def action_detail(self, detail: Detail) -> None:
        """Show a detail, and focus it."""
        self._details.turn(detail)
        self.set_focus(self._details.target)
        self._details.light()

    def action_switch(self) -> None:
        self.set_focus(self._details.target if self._then.has_focus else self._then)

    def action_fork(self) -> None:
        self._leave(fork=True)

    def action_open(self) -> None:
        self._leave(fork=False)

    def action_again(self) -> None:
        """Run the turn of the selected event again."""
        if self._past is None:
            return
        if turn := self._past.points[self._index].turn:
            self.dismiss(TurnAgain(turn))
        else:
            self.notify("This event belongs to no turn.", severity="warning", markup=False)

    def _leave(self, *, fork: bool) -> None:
        if self._past is not None:
            point = self._past.points[self._index]
            self.dismiss(ChosenMoment(point, self._scrubbing.messages_before(self._index), fork))

    def action_restore(self) -> None:
        """Preview a restore, and apply it on the user's confirmation."""
        if (past := self._past) is not None and self._ready():
            index = self._index
            event = f"event {index + 1:,}"

            def describe(done: UndoRecord) -> str:
                return f"Restored {plural(done.files, 'file')} to {event} (u undo)"

            planned = partial(self._timeline.restore, past, index)
            self._do(planned, f"Restore files to {event}", describe)

    def action_unrestore(self) -> None:
        """Preview the undo of the last restore, and apply it on the user's confirmation."""
        if self._past is not None and self._ready():
            self._do(self._timeline.redo, "", lambda done: f"{describe_undo(done)} (/undo reverts)")

    def _do(
        self, planned: Callable[[], Awaitable[Plan]], title: str, describe: Callable[[UndoRecord], str]
    ) -> None:
        async def work() -> None:
            try:
                plan = await app_of(self).push_screen_wait(UndoScreen(await planned(), title))
                if plan is None:
                    return
                done = await self._timeline.apply(plan)
            except CogencyError as exc:
                self._complain(exc)
                return
            self.notify(describe(done), markup=False)
            self.reload()

        self.run_worker(work, group="timeline-restore", exclusive=True)

    def _complain(self, error: CogencyError) -> None:
        # A mistake of the user is no failure.
        severity = "warning" if isinstance(error, UsageError) else "error"
        self.notify(error.advice, severity=severity, markup=False)

    def action_help(self) -> None:
        from cogency_tui.tui.help.screen import HelpScreen, collect_keys

        app_of(self).push_screen(HelpScreen("Timeline", collect_keys(self)))

    def action_step_back(self) -> None:
        """Clear the selection, or show the covered conversation; else close."""
        if self.selections:
            self.clear_selection()
        elif self.has_class("-one") and not self._then.has_focus:
            self.set_focus(self._then)
        else:
            self.dismiss(None)

    def action_close(self) -> None:
        self.dismiss(None)

    def action_command(self, handler: str, argument: str = "") -> None:
        """Pass a command from the palette to the main screen."""
        self.dismiss(TimelineCommand(handler, argument))

    def _fit(self) -> None:
        size = app_of(self).size
        self.set_class(size.width < BOTH_FIT, "-one")
        self.set_class(size.height < 24, "-short")

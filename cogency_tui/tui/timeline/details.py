"""The pane beside the conversation: the event at a point, or the messages, files or costs, read once the user
rests there."""

from bisect import bisect_left
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Literal, get_args

from rich.segment import Segment
from textual.app import ComposeResult
from textual.timer import Timer
from textual.widget import Widget

from cogency_tui.agent.timeline.model import Past, PastFile, UsageUpTo
from cogency_tui.agent.timeline.timeline import Timeline
from cogency_tui.errors import CogencyError
from cogency_tui.protocol.events import Measure
from cogency_tui.safe_text import reveal
from cogency_tui.tui.cost.cache_misses import draw_cache_miss
from cogency_tui.tui.cost.screen import draw_costs
from cogency_tui.tui.cost.usage_totals import Cost, by_model, in_all, running_totals, saving
from cogency_tui.tui.kit.bar import Surface
from cogency_tui.tui.kit.code import SourceLayout
from cogency_tui.tui.kit.command_output import OutputLines
from cogency_tui.tui.kit.diff import DiffLayout
from cogency_tui.tui.kit.file_text import language_of
from cogency_tui.tui.kit.lazy_text_layout import Fixed, LayoutBlock
from cogency_tui.tui.kit.lines import BLANK, Line, wrap
from cogency_tui.tui.kit.number_format import dollars, duration, percent, tokens
from cogency_tui.tui.kit.tab_bar import TabBar
from cogency_tui.tui.theme_styles import ThemeStyles
from cogency_tui.tui.timeline.event_view import KINDS, draw_event
from cogency_tui.tui.timeline.files_view import FilesView
from cogency_tui.tui.timeline.lines_pane import BlockPane, Make
from cogency_tui.tui.timeline.sent_messages_view import ExchangeView, describe_exchange
from cogency_tui.tui.transcript.call_unit import CallUnit

_NOTHING = "No usage at this point yet."


class Totals:
    """The running totals of `past` at each of its points."""

    def __init__(self, past: Past) -> None:
        self._past = past
        figures = sorted([*past.inherited, *past.own, *past.delegated], key=lambda each: each.moment)
        self._moments = [each.moment for each in figures]
        self._totals = running_totals(each.measure for each in figures)

    def at(self, index: int) -> Cost | None:
        """The total at a point, if anything was used by then."""
        count = bisect_left(self._moments, self._past.until(index))
        return self._totals[count - 1] if count else None


def draw_spent(spent: UsageUpTo, width: int, styles: ThemeStyles) -> list[Line]:
    """Draw a table by model, and the figures of the cycle that the point belongs to."""
    own, delegated = _costs(spent), by_model(spent.delegated, " (sub-agents)")
    if not (costs := [*own, *delegated]):
        return wrap([Segment(_NOTHING, styles("dim"))], width)
    everything = [*spent.inherited, *spent.own, *spent.delegated]
    lines = [*_draw_step(spent.step, width, styles)] if spent.step else []
    return [*lines, *draw_costs(costs, in_all(own, delegated), saving(everything), width, styles)]


def _costs(spent: UsageUpTo) -> list[Cost]:
    return [
        *by_model(spent.inherited, " (before the fork)"),
        *by_model(spent.own),
    ]


def _effort(step: Measure) -> str:
    """The effort of a step, in words; empty where the model chose its own."""
    effort = step.get("effort", "")
    return f"effort {effort}" if effort else ""


def _draw_step(step: Measure, width: int, styles: ThemeStyles) -> list[Line]:
    about = "~" if step.get("estimated") else ""
    facts = [step.get("mode", ""), step.get("dialect", ""), _effort(step)]
    facts += [step.get("answered_by", ""), step.get("tier", "")]
    facts.append(f"↑ {about}{tokens(step.get('input', 0))} tokens")
    facts.append(f"↓ {about}{tokens(step.get('output', 0))} tokens")
    if step.get("cached"):
        facts.append(f"cached {tokens(step.get('cached', 0))}")
    if written := step.get("cache_written"):
        facts.append(f"cache write {tokens(written)}")
    if "cost" in step:
        facts.append(dollars(step["cost"]))
    if "ttft" in step:
        facts.append(f"first token in {duration(step['ttft'])}")
    if context := step.get("context"):
        size = step.get("context_size")
        facts.append(f"{percent(context / size) if size else tokens(context)} context")
    head = [
        Segment("This step  ", styles("text", attributes="bold")),
        Segment(" · ".join(fact for fact in facts if fact), styles("text")),
    ]
    return [*wrap(head, width), *draw_cache_miss(step, width, styles), BLANK]


Detail = Literal["event", "messages", "files", "costs"]

_STILL = 0.08
"""Seconds at a point before its details are read."""

_SAME = "No changes since."
_NO_FILES = "No files changed in this conversation."
_ELSEWHERE = "This conversation belongs to another project; its current files are unavailable."


class Details(Surface):
    """Shows details of `timeline`; `failed` receives errors."""

    def __init__(
        self, timeline: Timeline, failed: Callable[[CogencyError], None], *, id: str | None = None
    ) -> None:
        super().__init__(id=id)
        self._timeline = timeline
        self._failed = failed
        self._title = TabBar(get_args(Detail), id="timeline-detail-title")
        self._event = BlockPane(id="timeline-event")
        self._exchange = ExchangeView(id="timeline-exchange")
        self._files = FilesView(_message(_NO_FILES), id="timeline-files")
        self._costs = BlockPane(id="timeline-costs")
        self._shown: Detail = "event"
        self._past: Past | None = None
        self._index = 0
        self._call: CallUnit | None = None
        """The call that the event belongs to."""
        self._number = 0
        """The number of the event shown last."""
        self._timer: Timer | None = None

    def compose(self) -> ComposeResult:
        yield self._title
        yield self._event
        yield self._exchange
        yield self._files
        yield self._costs

    def on_mount(self) -> None:
        self.turn("event")

    @property
    def settled(self) -> bool:
        """True if the point is settled, and its details were requested."""
        return self._timer is None

    @property
    def target(self) -> Widget:
        """The widget that the shown detail gives the focus to."""
        targets: dict[Detail, Widget] = {
            "event": self._event,
            "messages": self._exchange,
            "files": self._files.rows,
            "costs": self._costs,
        }
        return targets[self._shown]

    def turn(self, detail: Detail) -> None:
        """Show another detail."""
        self._shown = detail
        self._event.display = detail == "event"
        self._exchange.display = detail == "messages"
        self._files.display = detail == "files"
        self._costs.display = detail == "costs"
        self._title.show(detail, "")
        if self._past is not None:
            self._read()

    def light(self) -> None:
        """Show whether it has the focus."""
        self._title.light(self.screen.focused is self.target)

    def show_point(self, past: Past, index: int, call: CallUnit | None) -> None:
        """Show another point, once it is settled; `call` is the one that its event belongs to, if any."""
        self._past, self._index, self._call = past, index, call
        if self._timer is None:
            self._timer = self.set_timer(_STILL, self._read)
        else:
            self._timer.reset()
            self._timer.resume()

    def on_files_view_requested(self, event: FilesView.Requested) -> None:
        event.stop()
        self._work(partial(self._read_text, event.file, event.held), "timeline-text")

    def _read(self) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        work = {
            "event": self._read_event,
            "messages": self._read_exchange,
            "files": self._read_files,
            "costs": self._read_costs,
        }
        self._work(work[self._shown], "timeline-detail")

    def _work(self, work: Callable[[], Awaitable[None]], group: str) -> None:
        async def show() -> None:
            try:
                await work()
            except CogencyError as exc:
                self._failed(exc)

        self.run_worker(show, group=group, exclusive=True)

    async def _read_event(self) -> None:
        assert self._past is not None
        point = self._past.points[self._index]
        # The event stays the same, and so does the scroll position, when a turn ends meanwhile.
        retain, self._number = point.number == self._number, point.number
        self._event.show(partial(draw_event, point.event, self._call), retain=retain)
        self._title.show("event", KINDS.get(point.event["type"], ""))

    async def _read_exchange(self) -> None:
        assert self._past is not None
        exchange = await self._timeline.exchange(self._past, self._index)
        self._exchange.show(exchange)
        self._title.show("messages", describe_exchange(exchange))

    async def _read_files(self) -> None:
        assert self._past is not None
        self._files.show(await self._timeline.files(self._past, self._index))
        self._title.show("files", self._files.describe())

    async def _read_costs(self) -> None:
        assert self._past is not None
        spent = self._past.spent_at(self._index)
        self._costs.show(lambda width, styles: Fixed(draw_spent(spent, width, styles)), retain=True)
        self._title.show("costs", "up to this point")

    async def _read_text(self, file: PastFile, held: bool) -> None:
        assert self._past is not None
        try:
            if held:
                make = _source(file.path, await self._timeline.content(file))
            elif not self._past.here:
                make = _message(_ELSEWHERE)
            else:
                difference = await self._timeline.difference(file)
                make = partial(_diff, difference) if difference else _message(_SAME)
        except CogencyError as exc:
            make = _message(exc.advice)
        self._files.show_text(file, make)


def _diff(text: str, width: int, styles: ThemeStyles) -> LayoutBlock:
    return DiffLayout(text, width, styles)


def _message(text: str) -> Make:
    return lambda width, styles: Fixed(wrap([Segment(text, styles("dim"))], width))


def _source(path: str, data: bytes) -> Make:
    """Show the contents of a file.

    Raises:
        WorkspaceError: the file is not text.
    """
    from cogency_tui.workspace.text_files import decode

    lines = OutputLines()
    lines.write(reveal(decode(data, path).plain.removesuffix("\n")))
    language = language_of(path)
    return lambda width, styles: SourceLayout(lines, language, width, styles)

"""What is beside the conversation: the messages, the files, or the costs; read when one stands still."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Literal, get_args

from rich.segment import Segment
from textual.app import ComposeResult
from textual.timer import Timer
from textual.widget import Widget

from cogency_tui.agent.timeline.model import Past, PastFile
from cogency_tui.agent.timeline.timeline import Timeline
from cogency_tui.errors import CogencyError
from cogency_tui.text import reveal
from cogency_tui.tui.drawing.diff import DiffSheet
from cogency_tui.tui.drawing.lines import fit, wrap
from cogency_tui.tui.drawing.sheet import Block, Fixed
from cogency_tui.tui.drawing.source import SourceSheet
from cogency_tui.tui.output import Lines
from cogency_tui.tui.preview import language_of
from cogency_tui.tui.theming import Inks
from cogency_tui.tui.timeline.block_pane import BlockPane, Make
from cogency_tui.tui.timeline.exchange_view import ExchangeView, describe_exchange
from cogency_tui.tui.timeline.files_view import FilesView
from cogency_tui.tui.timeline.spent import draw_spent
from cogency_tui.tui.widgets.bar import Surface
from cogency_tui.tui.widgets.button_bar import ButtonBar, Part

Detail = Literal["messages", "files", "costs"]

_STILL = 0.08
"""Seconds that one stands at a point before its details are read."""

_FACT = 8
"""Cells that a fact has, or it is left out."""

_SAME = "It is as it was."
_NO_FILES = "No file was changed in this conversation."
_ELSEWHERE = "This conversation is about another project: its files of today are not here."


class DetailTitle(ButtonBar):
    """The three details by their keys, and a fact about the one that is shown."""

    SURFACE = "surface"

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._shown: Detail = "messages"
        self._fact = ""
        self._focused = False

    def show(self, detail: Detail, fact: str) -> None:
        """Show another detail's name, and a fact about it."""
        self._shown, self._fact = detail, fact
        self.refresh()

    def light(self, focused: bool) -> None:
        """Show whether the pane has the focus."""
        self._focused = focused
        self.refresh()

    def segments(self, width: int) -> list[Segment]:
        inks = self.inks
        parts: list[Part] = []
        for number, each in enumerate(get_args(Detail), 1):
            here = each == self._shown
            role = ("accent" if self._focused else "text") if here else "dim"
            segments = [
                Segment(f"{number} ", inks("dim")),
                Segment(each.title(), inks(role, "surface", "bold" if here else "")),
            ]
            parts.append(Part(segments, f"Show the {each}", f"detail({each!r})", "  "))
        room = width - sum(part.width for part in parts) - 4
        if self._fact and room >= _FACT:
            parts.append(Part([Segment(fit(self._fact, room), inks("dim"))], self._fact))
        return self.lay(parts, width)


class Details(Surface):
    """Reads from `timeline`; `failed` is told what cannot be read."""

    def __init__(
        self, timeline: Timeline, failed: Callable[[CogencyError], None], *, id: str | None = None
    ) -> None:
        super().__init__(id=id)
        self._timeline = timeline
        self._failed = failed
        self._title = DetailTitle(id="timeline-detail-title")
        self._exchange = ExchangeView(id="timeline-exchange")
        self._files = FilesView(_told(_NO_FILES), id="timeline-files")
        self._costs = BlockPane(id="timeline-costs")
        self._shown: Detail = "messages"
        self._past: Past | None = None
        self._index = 0
        self._timer: Timer | None = None

    def compose(self) -> ComposeResult:
        yield self._title
        yield self._exchange
        yield self._files
        yield self._costs

    def on_mount(self) -> None:
        self.turn("messages")

    @property
    def settled(self) -> bool:
        """Whether one stands still, and what that is about has been asked for."""
        return self._timer is None

    @property
    def target(self) -> Widget:
        """What has the focus when one reads here."""
        return {"messages": self._exchange, "files": self._files.rows, "costs": self._costs}[self._shown]

    def turn(self, detail: Detail) -> None:
        """Show another detail."""
        self._shown = detail
        self._exchange.display = detail == "messages"
        self._files.display = detail == "files"
        self._costs.display = detail == "costs"
        self._title.show(detail, "")
        if self._past is not None:
            self._read()

    def light(self) -> None:
        """Show whether it has the focus."""
        self._title.light(self.screen.focused is self.target)

    def stand_at(self, past: Past, index: int) -> None:
        """Show another point, as soon as one stays there."""
        self._past, self._index = past, index
        if self._timer is None:
            self._timer = self.set_timer(_STILL, self._read)
        else:
            self._timer.reset()
            self._timer.resume()

    def on_files_view_wanted(self, event: FilesView.Wanted) -> None:
        event.stop()
        self._work(partial(self._read_text, event.file, event.held), "timeline-text")

    def _read(self) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        work = {"messages": self._read_exchange, "files": self._read_files, "costs": self._read_costs}
        self._work(work[self._shown], "timeline-detail")

    def _work(self, work: Callable[[], Awaitable[None]], group: str) -> None:
        async def told() -> None:
            try:
                await work()
            except CogencyError as exc:
                self._failed(exc)

        self.run_worker(told, group=group, exclusive=True)

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
        self._costs.show(lambda width, inks: Fixed(draw_spent(spent, width, inks)), keep=True)
        self._title.show("costs", "by then")

    async def _read_text(self, file: PastFile, held: bool) -> None:
        assert self._past is not None
        try:
            if held:
                make = _source(file.path, await self._timeline.content(file))
            elif not self._past.here:
                make = _told(_ELSEWHERE)
            else:
                difference = await self._timeline.difference(file)
                make = partial(_diff, difference) if difference else _told(_SAME)
        except CogencyError as exc:
            make = _told(exc.advice)
        self._files.show_text(file, make)


def _diff(text: str, width: int, inks: Inks) -> Block:
    return DiffSheet(text, width, inks)


def _told(text: str) -> Make:
    return lambda width, inks: Fixed(wrap([Segment(text, inks("dim"))], width))


def _source(path: str, data: bytes) -> Make:
    """What a file held.

    Raises:
        WorkspaceError: it is no text.
    """
    from cogency_tui.workspace.text import decode

    lines = Lines()
    lines.write(reveal(decode(data, path).plain.removesuffix("\n")))
    language = language_of(path)
    return lambda width, inks: SourceSheet(lines, language, width, inks)

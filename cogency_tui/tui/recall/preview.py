"""The preview of the selected conversation at its hit, drawn by the transcript view."""

from collections.abc import Callable, Iterator, Sequence
from time import time
from typing import ClassVar, Protocol

from rich.segment import Segment
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from cogency_tui.agent.recall.results import Hit, Preview
from cogency_tui.errors import CogencyError
from cogency_tui.tui.kit.bar import Bar, Surface
from cogency_tui.tui.kit.cell_text import fit
from cogency_tui.tui.kit.pane_title import PaneTitle
from cogency_tui.tui.recall.row_lines import describe, title_of
from cogency_tui.tui.recall.rows import RecallEntry
from cogency_tui.tui.transcript.document import prepare
from cogency_tui.tui.transcript.find import Highlights, Mark, finds_in_view
from cogency_tui.tui.transcript.scroll_to_event import NumberedTranscript, show_event
from cogency_tui.tui.transcript.units import Transcript
from cogency_tui.tui.transcript.view import TranscriptView


class Source(Protocol):
    """Where conversations are read."""

    async def hits(self, id: str, query: str) -> list[Hit]: ...

    async def preview(self, id: str, at: int | None = None) -> Preview: ...


class PreviewView(TranscriptView):
    """Shows a transcript at a hit, with each match marked."""

    BINDING_GROUP_TITLE = "Preview"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "line(-1)", "Up", show=False, id="recall.preview.up"),
        Binding("down,j", "line(1)", "Down", show=False, id="recall.preview.down"),
        Binding("pageup", "page(-1)", "Page up", show=False, id="recall.preview.page_up"),
        Binding("pagedown,space", "page(1)", "Page down", show=False, id="recall.preview.page_down"),
        Binding("home,g", "line(-1000000000)", "Beginning", show=False, id="recall.preview.first"),
        Binding("end,G", "line(1000000000)", "End", show=False, id="recall.preview.last"),
    ]

    def __init__(self, *, clock: Callable[[], float] = time, id: str | None = None) -> None:
        super().__init__(clock=clock, id=id)
        self.overlays = (Highlights(self, self._marks),)
        self._terms: Sequence[str] = ()
        self._unit: int | None = None

    def show_at(self, transcript: Transcript, unit: int | None, terms: Sequence[str]) -> None:
        """Show `transcript` where `unit` has one of `terms`; without a unit its end."""
        self._terms, self._unit = terms, unit
        self.show(transcript)
        self._show_hit()

    def action_line(self, step: int) -> None:
        self._unit = None
        self.scroll_lines(step)

    def action_page(self, direction: int) -> None:
        self._unit = None
        self.scroll_page(direction)

    def on_resize(self, event: events.Resize) -> None:
        super().on_resize(event)
        # Before the first layout there may have been no height to scroll in.
        self._show_hit()

    def _show_hit(self) -> None:
        if self._unit is not None and self.page and self._unit < len(self.transcript.units):
            show_event(self, self._unit, self._terms)

    def _marks(self) -> Iterator[Mark]:
        style = self.theme_styles("edit", "cursor", "bold underline")
        for term in self._terms:
            for find in finds_in_view(self, term):
                yield from ((place, span, style) for place, span in find)


class FactLine(Bar):
    """Facts of the conversation."""

    SURFACE = "surface"

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._text = ""

    def show_text(self, text: str) -> None:
        """Show another text."""
        if text != self._text:
            self._text = text
            self.refresh()

    def segments(self, width: int) -> list[Segment]:
        return [
            Segment("  ", self.theme_styles()),
            Segment(fit(self._text, width - 4), self.theme_styles("dim")),
        ]


class PreviewPane(Surface):
    """Shows a conversation, and moves between its hits."""

    def __init__(self, source: Source, *, clock: Callable[[], float] = time, id: str | None = None) -> None:
        super().__init__(id=id)
        self._source = source
        self._clock = clock
        self._hits: list[Hit] = []
        self._nth = 0
        self._conversation_id = ""
        self._ahead = ("", 0)
        self._shown: tuple[str, Hit | None] | None = None
        self._title = self._facts = self._position = ""

    def compose(self) -> ComposeResult:
        yield PaneTitle("Preview", id="recall-preview-title")
        yield FactLine(id="recall-facts")
        yield PreviewView(clock=self._clock, id="recall-preview-view")

    def hit_of(self, entry: RecallEntry, otherwise: Hit | None) -> Hit | None:
        """The shown hit of this conversation; `otherwise` while another conversation is shown."""
        note = self._shown
        return note[1] if note and note[0] == entry.conversation.id else otherwise

    def clear(self) -> None:
        """Show nothing."""
        self._hits, self._shown, self._ahead = [], None, ("", 0)
        self._title = self._facts = self._position = ""
        self._show_facts()
        self.query_one(PreviewView).show_at(Transcript(), None, ())

    async def show_hit(
        self,
        source: Source,
        entry: RecallEntry,
        hit: Hit | None,
        query: str,
        terms: Sequence[str],
        *,
        project: bool,
    ) -> None:
        """Show a conversation of `source` at `hit`; `project` selects whether to show its project.

        Raises:
            CogencyError: the conversation cannot be read.
        """
        self._source, self._hits, self._nth, self._shown = source, [], 0, None
        self._conversation_id = entry.conversation.id
        self._title, self._facts, self._position = title_of(entry), describe(entry, project=project), ""
        self._show_facts()
        try:
            await self._show_at(entry, hit, terms)
        except CogencyError:
            # Nothing of another conversation may appear under this title.
            self.query_one(PreviewView).show_at(Transcript(), None, ())
            raise
        if hit is None:
            return
        self._hits = await self._source.hits(entry.conversation.id, query)
        places = [(each.event, each.within, each.kind) for each in self._hits]
        here = (hit.event, hit.within, hit.kind)
        self._nth = places.index(here) if here in places else 0
        (id, ahead), self._ahead = self._ahead, ("", 0)
        await self.step(entry, ahead if id == self._conversation_id else 0, terms)

    def wait(self, entry: RecallEntry, step: int) -> bool:
        """Return whether the hits of the conversation are still loading; the step follows when they are."""
        if self._hits and self._conversation_id == entry.conversation.id:
            return False
        id, ahead = self._ahead
        self._ahead = entry.conversation.id, step + (ahead if id == entry.conversation.id else 0)
        return True

    async def step(self, entry: RecallEntry, step: int, terms: Sequence[str]) -> None:
        """Go to the next hit of the conversation, or with -1 to the previous one, wrapping at the ends.

        Raises:
            CogencyError: the conversation cannot be read.
        """
        if self._hits:
            self._nth = (self._nth + step) % len(self._hits)
            self._count(entry)
            if step:
                await self._show_at(entry, self._hits[self._nth], terms)

    async def _show_at(self, entry: RecallEntry, hit: Hit | None, terms: Sequence[str]) -> None:
        within = hit.within if hit else entry.conversation.id
        seen = await self._source.preview(within, hit.event if hit and hit.event else None)
        await prepare()
        read = NumberedTranscript(entry.conversation.project)
        read.feed(seen.events)
        read.close()
        self._shown = entry.conversation.id, hit
        unit = read.units.get(hit.event) if hit else None
        self.query_one(PreviewView).show_at(read.transcript, unit, terms)

    def _count(self, entry: RecallEntry) -> None:
        inside = " in a sub-agent" if self._hits[self._nth].within != entry.conversation.id else ""
        self._position = f"match {self._nth + 1:,} of {len(self._hits):,}{inside} · "
        self._show_facts()

    def _show_facts(self) -> None:
        self.query_one(PaneTitle).state(self._title)
        self.query_one(FactLine).show_text(self._position + self._facts)

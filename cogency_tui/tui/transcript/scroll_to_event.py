"""The unit of an event in a transcript, and scrolling a view to it."""

from collections.abc import Iterable, Sequence

from cogency_tui.protocol.events import Event
from cogency_tui.store.search.snippets import closest
from cogency_tui.tui.transcript.cursor import BlockCursor, BlockPlace
from cogency_tui.tui.transcript.document import Document, LinePosition
from cogency_tui.tui.transcript.text_finder import finds_on
from cogency_tui.tui.transcript.units import Transcript
from cogency_tui.tui.transcript.view import TranscriptView

_DEEP = 2000
"""Lines of a block that are searched."""

_NEAR = 2
"""Lines within which terms are close to each other."""


class NumberedTranscript:
    """A transcript of numbered events, and the unit of each number: for a result, that of its call. Files in
    the directory `root` are named relative to it."""

    def __init__(self, root: str = "") -> None:
        self.transcript = Transcript()
        self.transcript.locate(root)
        self.units: dict[int, int] = {}
        self._unit = 0

    def feed(self, events: Iterable[tuple[int, Event]]) -> None:
        """Add the events that follow."""
        for number, event in events:
            self._unit = self.units[number] = max(self.transcript.feed([event]), default=self._unit)

    def close(self) -> None:
        """End the transcript."""
        self.transcript.close()


def show_event(view: TranscriptView, unit: int, terms: Sequence[str]) -> LinePosition:
    """Scroll `view` to the place in unit `unit` where the folded `terms` stand together, or the most of them
    close to each other; without any to its beginning. The unit is opened if a term is visible only then."""
    document = view.document
    place = _best_find(document, unit, terms)
    if place is None and terms and unit not in document.expanded and document.is_expandable(unit):
        document.expanded.add(unit)
        document.touch(unit)
        place = _best_find(document, unit, terms)
        if place is None:
            document.expanded.discard(unit)
            document.touch(unit)
    document.unfold(unit)
    place = place or LinePosition(unit, document.own_block(unit), 0)
    view.set_following(False)
    view.show_place(place)
    view.refresh()
    return place


def read_event(view: TranscriptView, cursor: BlockCursor, unit: int, terms: Sequence[str]) -> None:
    """Scroll `view` there, and move its `cursor` to the block."""
    place = show_event(view, unit, terms)
    cursor.move_to(BlockPlace(unit, place.block))
    # Moving the cursor scrolls to the beginning of the block, which may be far above.
    show_event(view, unit, terms)


def _best_find(document: Document, unit: int, terms: Sequence[str]) -> LinePosition | None:
    """The place of the phrase of all terms; else the block with the most of them, and there the line where
    the most stand close to each other."""
    best, most = None, 0
    for block in range(document.blocks(unit) if terms else 0):
        height = min(document.block_height(unit, block), _DEEP)
        lines = [document.line(LinePosition(unit, block, line)) for line in range(height)]
        if phrase := finds_on(lines, " ".join(terms)):
            return LinePosition(unit, block, phrase[0][0].line)
        finds = [
            (find[0].line, number) for number, term in enumerate(terms) for find in finds_on(lines, term)
        ]
        if (count := len({number for _line, number in finds})) > most:
            best, most = LinePosition(unit, block, closest(finds, _NEAR)), count
    return best

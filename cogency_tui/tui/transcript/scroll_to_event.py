"""The unit of an event in a transcript, and scrolling a view to it."""

from collections.abc import Iterable, Sequence

from cogency_tui.protocol.events import Event
from cogency_tui.tui.transcript.block_view import BlockPlace, BlockView
from cogency_tui.tui.transcript.document import Document, Place
from cogency_tui.tui.transcript.text_finder import finds_on
from cogency_tui.tui.transcript.unit_view import UnitView
from cogency_tui.tui.transcript.units import Transcript

_DEEP = 2000
"""Lines of a block that are searched."""


class NumberedTranscript:
    """A transcript of numbered events, and the unit of each number: for a result, that of its call."""

    def __init__(self) -> None:
        self.transcript = Transcript()
        self.units: dict[int, int] = {}
        self._unit = 0

    def feed(self, events: Iterable[tuple[int, Event]]) -> None:
        """Add the events that follow."""
        for number, event in events:
            self._unit = self.units[number] = max(self.transcript.feed([event]), default=self._unit)

    def close(self) -> None:
        """End the transcript."""
        self.transcript.close()


def stand(view: UnitView, unit: int, terms: Sequence[str]) -> Place:
    """Scroll `view` to the first of the folded `terms` in unit `unit`, or else to its beginning. The unit
    is opened if a term is visible only then."""
    document = view.document
    place = _first_find(document, unit, terms)
    if place is None and terms and unit not in document.expanded and document.is_expandable(unit):
        document.expanded.add(unit)
        document.touch(unit)
        place = _first_find(document, unit, terms)
        if place is None:
            document.expanded.discard(unit)
            document.touch(unit)
    place = place or Place(unit, 0, 0)
    view.set_following(False)
    start, page = Place(unit, place.block, 0), view.page
    document.measure(start, place.line + page)
    document.measure(start, -page)
    view.resize_column(document.height)
    view.jump(max(0, min(document.number(place) - page // 3, view.max_scroll_y)))
    view.refresh()
    return place


def stand_for_reading(view: BlockView, unit: int, terms: Sequence[str]) -> None:
    """Scroll `view` there, and move its cursor to the block."""
    place = stand(view, unit, terms)
    view.move_to(BlockPlace(unit, place.block))
    # Moving the cursor scrolls to the beginning of the block, which may be far above.
    stand(view, unit, terms)


def _first_find(document: Document, unit: int, terms: Sequence[str]) -> Place | None:
    for block in range(document.blocks(unit) if terms else 0):
        height = min(document.block_height(unit, block), _DEEP)
        lines = [document.line(Place(unit, block, line)) for line in range(height)]
        found = [finds[0][0].line for term in terms if (finds := finds_on(lines, term))]
        if found:
            return Place(unit, block, min(found))
    return None

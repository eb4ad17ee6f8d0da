"""Where an event stands among the units of a transcript, and a view that is brought to stand there."""

import asyncio
from collections.abc import Sequence
from time import perf_counter

from cogency_tui.protocol.events import Event
from cogency_tui.tui.drawing.document import Document, Place
from cogency_tui.tui.drawing.finds import finds_on
from cogency_tui.tui.transcript import Transcript
from cogency_tui.tui.widgets.block_view import BlockPlace, BlockView
from cogency_tui.tui.widgets.unit_view import UnitView

_SLICE = 0.006
"""Seconds that are read for before others have their turn."""

_DEEP = 2000
"""Lines of a block that are looked through."""


async def read_numbered(events: Sequence[tuple[int, Event]]) -> tuple[Transcript, dict[int, int]]:
    """The transcript of numbered events, and the unit of each number: that of its call for a result."""
    transcript = Transcript()
    units: dict[int, int] = {}
    began, unit = perf_counter(), 0
    for number, event in events:
        unit = units[number] = max(transcript.feed([event]), default=unit)
        if perf_counter() - began > _SLICE:
            await asyncio.sleep(0)
            began = perf_counter()
    transcript.close()
    return transcript, units


def stand(view: UnitView, unit: int, terms: Sequence[str]) -> Place:
    """Have `view` show where unit `unit` has one of the folded `terms`, or else its beginning. What is folded
    is opened where only then it is seen."""
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
    """Have `view` stand there, its cursor on the block."""
    place = stand(view, unit, terms)
    view.move_to(BlockPlace(unit, place.block))
    # The cursor has the beginning of the block in view, which may be far above.
    stand(view, unit, terms)


def _first_find(document: Document, unit: int, terms: Sequence[str]) -> Place | None:
    for block in range(document.blocks(unit) if terms else 0):
        height = min(document.block_height(unit, block), _DEEP)
        lines = [document.line(Place(unit, block, line)) for line in range(height)]
        found = [finds[0][0].line for term in terms if (finds := finds_on(lines, term))]
        if found:
            return Place(unit, block, min(found))
    return None

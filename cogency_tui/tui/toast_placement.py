"""Where a notification is shown: where the style of its screen has it, or moved from there, or in fewer rows.

Invariant: it covers no prompt, no other field with the focus, and no question; and no heading, no title, no
keys, no status line, no line of the activity, and no row that the user works with, unless there is no other
row. On a small screen it covers as few rows of text, such as that of the conversation, as possible; while the
user has to answer or to retry, none at all.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from textual.css.query import NoMatches
from textual.geometry import Offset, Region
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input, TextArea
from textual.widgets._toast import Toast, ToastRack

from cogency_tui.tui.kit.cell_text import cells
from cogency_tui.tui.kit.dialogs import DialogTitle
from cogency_tui.tui.kit.heading import ScreenHeading
from cogency_tui.tui.kit.line_view import LineView
from cogency_tui.tui.kit.select_list import SelectList

_WATCHED = "-watched"
_OUT_OF_SIGHT = -500
"""The offset of notifications in the style sheet."""
_PROTECTED = "#prompt-box, .question, #dialog-question"
_STATUS = "#status-bar"
_LINES = "#live-line, #tour-bar, #footer, .pane-title"
_SMALL = 24
"""Rows of a screen up to which text is avoided: a larger one shows what is below for long enough."""
_WORDS = re.compile(r"\S+(?: \S+)*")


def reset_toasts(screen: Screen[Any]) -> None:
    """Have the next notification where the style of `screen` has it, but not shown before it is placed."""
    for rack in screen.query(ToastRack):
        rack.styles.clear_rule("offset")
        rack.styles.clear_rule("max_height")


def has_room(screen: Screen[Any]) -> bool:
    """Return whether a notification could be shown on `screen`."""
    _first, rows = _free_rows(screen, Region(0, 0, screen.size.width, 1))
    return rows > 0


def place_toasts(screen: Screen[Any], again: Callable[[Screen[Any]], None]) -> bool:
    """Move the notification on `screen` to where it covers nothing protected, and show it. Return False if
    there is no room for it. Call `again` whenever the layout changes: it has appeared, or what is protected
    has moved."""
    try:
        rack = screen.get_child_by_type(ToastRack)
    except NoMatches:
        return True
    if not rack.is_running:
        # Its screen has just been opened, or is being closed.
        return True
    _watch(rack, screen, again)
    toasts = [toast.region for toast in rack.query(Toast) if toast.region]
    return not toasts or _place(rack, screen, toasts[-1])


def _place(rack: ToastRack, screen: Screen[Any], toast: Region) -> bool:
    moved = int(rack.styles.offset.y.value)
    region = toast.translate(Offset(0, -moved)).crop_size((screen.size.width, _most_rows(rack, screen)))
    first, rows = _free_rows(screen, region)
    if 0 < rows < region.height:
        rack.styles.max_height = rows
    move = first - region.y if rows else _OUT_OF_SIGHT
    # Assigning even the present value triggers a new layout.
    if move != moved:
        rack.styles.offset = (0, move)
    return rows > 0


def _most_rows(rack: ToastRack, screen: Screen[Any]) -> int:
    """The rows at which a notification is cut."""
    most = rack.styles.max_height
    return int(most.resolve(screen.size, screen.size)) if most is not None else screen.size.height


def _watch(rack: ToastRack, screen: Screen[Any], again: Callable[[Screen[Any]], None]) -> None:
    if not rack.has_class(_WATCHED):
        rack.add_class(_WATCHED)
        # Textual leaves the parameter of `Screen` open.
        on: Any = screen
        on.screen_layout_refresh_signal.subscribe(rack, again)


def _free_rows(screen: Screen[Any], toast: Region) -> tuple[int, int]:
    """The first row and the number of rows for a toast that would be at this region: the nearest that are
    free, or else as many as there are."""
    blocked = [_rows_of(regions, toast) for regions in _protected(screen)]
    text = _rows_of(_text(screen), toast)
    found = (
        _nearest(screen, toast, rows, text, few)
        for heights in ((toast.height,), range(toast.height - 1, 0, -1))
        for rows in blocked
        for few in heights
    )
    return next((each for each in found if each), (0, 0))


def _nearest(
    screen: Screen[Any], toast: Region, blocked: set[int], text: set[int], rows: int
) -> tuple[int, int] | None:
    """The nearest of so many rows that are not blocked, with the least text, and their number; None if there
    are not as many."""
    starts = range(screen.size.height - rows + 1)
    free = [y for y in starts if blocked.isdisjoint(range(y, y + rows))]

    def cost(y: int) -> tuple[int, int]:
        return len(text.intersection(range(y, y + rows))), abs(y - toast.y)

    return (min(free, key=cost), rows) if free else None


def _rows_of(regions: Iterable[Region], toast: Region) -> set[int]:
    """The rows of regions above or below the toast."""
    beside = (each for each in regions if each.x < toast.right and toast.x < each.right)
    return {row for each in beside for row in range(each.y, each.bottom)}


def _protected(screen: Screen[Any]) -> list[list[Region]]:
    """The regions that a notification avoids, the most first; the last are not covered in any case."""
    always = [widget.region for widget in screen.query(_PROTECTED) if widget.display]
    if isinstance(screen.focused, Input | TextArea):
        always.append(screen.focused.region)
    lasting = [widget.region for widget in screen.query(_STATUS)]
    lasting += [*always, *_selected_rows(screen), *_attended(screen), *_headings(screen)]
    text = [*_text(screen)] if _is_pressing(screen) else []
    return [[*lasting, *text]] if text else [lasting, always]


def _is_pressing(screen: Screen[Any]) -> bool:
    """True while the user has to answer or to retry."""
    return screen.has_class("-failed") or any(each.display for each in screen.query(".question"))


def _text(screen: Screen[Any]) -> Iterator[Region]:
    """The words of all text on a small screen."""
    if screen.size.height <= _SMALL:
        for each in screen.query(LineView):
            yield from _words(each)


def _attended(screen: Screen[Any]) -> Iterator[Region]:
    """The rows of text that the user works with."""
    return (each.attended for each in screen.query(LineView))


def _selected_rows(screen: Screen[Any]) -> Iterator[Region]:
    lists: Iterable[SelectList[Any]] = screen.query(SelectList)
    for each in lists:
        row = each.region.y + each.selected - each.scroll_offset.y
        yield Region(each.region.x, row, each.region.width, 1).intersection(each.region)


def _headings(screen: Screen[Any]) -> Iterator[Region]:
    """The words of headings, titles and keys; between them and beside them there is room."""
    headings: list[Widget] = [*screen.query(ScreenHeading), *screen.query(DialogTitle), *screen.query(_LINES)]
    return (words for each in headings for words in _words(each))


def _words(widget: Widget) -> Iterator[Region]:
    """The words of a widget that draws lines."""
    place = widget.content_region
    for y in range(place.height):
        text = widget.render_line(y).text
        for words in _WORDS.finditer(text):
            yield Region(place.x + cells(text[: words.start()]), place.y + y, cells(words[0]), 1)

"""Where a notification is shown: where the style of its screen has it, or moved from there, or in fewer rows.

Invariant: it covers no prompt, no other field with the focus, no status line, no question, and no selected
row of a list. Where no row is free it is not shown.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from textual.css.query import NoMatches
from textual.geometry import Offset, Region
from textual.screen import Screen
from textual.widgets import Input, TextArea
from textual.widgets._toast import Toast, ToastRack

from cogency_tui.tui.kit.select_list import SelectList

_WATCHED = "-watched"
_OUT_OF_SIGHT = -500
"""The offset of notifications in the style sheet."""
_PROTECTED = "#prompt-box, #status-bar, .question, #dialog-question"


def reset_toasts(screen: Screen[Any]) -> None:
    """Have the next notification where the style of `screen` has it, but not shown before it is placed."""
    for rack in screen.query(ToastRack):
        rack.styles.clear_rule("offset")
        rack.styles.clear_rule("max_height")


def place_toasts(screen: Screen[Any]) -> None:
    """Move the notification on `screen` to where it covers nothing protected, and show it."""
    try:
        rack = screen.get_child_by_type(ToastRack)
    except NoMatches:
        return
    if not rack.is_running:
        # Its screen has just been opened, or is being closed.
        return
    _watch(rack, screen)
    toasts = [toast.region for toast in rack.query(Toast) if toast.region]
    if not toasts:
        return
    moved = int(rack.styles.offset.y.value)
    region = toasts[-1].translate(Offset(0, -moved)).crop_size((screen.size.width, _most_rows(rack, screen)))
    first, rows = _free_rows(screen, region)
    if 0 < rows < region.height:
        rack.styles.max_height = rows
    move = first - region.y if rows else _OUT_OF_SIGHT
    # Assigning even the present value triggers a new layout.
    if move != moved:
        rack.styles.offset = (0, move)


def _most_rows(rack: ToastRack, screen: Screen[Any]) -> int:
    """The rows at which a notification is cut."""
    most = rack.styles.max_height
    return int(most.resolve(screen.size, screen.size)) if most is not None else screen.size.height


def _watch(rack: ToastRack, screen: Screen[Any]) -> None:
    """Place the notification when the layout changes: it has appeared, or what is protected has moved."""
    if not rack.has_class(_WATCHED):
        rack.add_class(_WATCHED)
        # Textual leaves the parameter of `Screen` open.
        on: Any = screen
        on.screen_layout_refresh_signal.subscribe(rack, place_toasts)


def _free_rows(screen: Screen[Any], toast: Region) -> tuple[int, int]:
    """The first row and the number of rows for a toast that would be at this region: the nearest that are
    free, or else as many as there are."""
    blocked = set[int]()
    for region in _protected(screen):
        if region.x < toast.right and toast.x < region.right:
            blocked.update(range(region.y, region.bottom))
    free = [y for y in range(screen.size.height) if y not in blocked]
    for rows in range(toast.height, 0, -1):
        starts = [
            y for y in free if blocked.isdisjoint(range(y, y + rows)) and y + rows <= screen.size.height
        ]
        if starts:
            return min(starts, key=lambda y: abs(y - toast.y)), rows
    return 0, 0


def _protected(screen: Screen[Any]) -> Iterator[Region]:
    """The regions that no notification covers."""
    yield from (widget.region for widget in screen.query(_PROTECTED) if widget.display)
    if isinstance(screen.focused, Input | TextArea):
        yield screen.focused.region
    lists: Iterable[SelectList[Any]] = screen.query(SelectList)
    for each in lists:
        row = each.region.y + each.selected - each.scroll_offset.y
        yield Region(each.region.x, row, each.region.width, 1).intersection(each.region)

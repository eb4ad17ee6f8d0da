"""The three panes side by side: visibility, widths and focus.

A side pane opens by itself only where the conversation remains comfortable beside it, and the tool calls only
once there is a call. However wide the user makes the panes, the conversation keeps its minimum. On a narrow
screen one side pane at a time is shown on request, for as long as it is needed; on a very narrow one it
covers the conversation.

The user's layout is saved for each project, in a small file in the data directory. Losing it does no harm:
if it cannot be read or written, the panes have their defaults.
"""

import os
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta
from msgspec.structs import replace
from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.css.scalar import Scalar
from textual.geometry import Spacing
from textual.widget import Widget
from textual.widgets._toast import ToastRack

from cogency_tui import private_files
from cogency_tui.config.schema import data_path
from cogency_tui.tui.kit.bar import Surface
from cogency_tui.tui.kit.pane_title import PaneTitle
from cogency_tui.tui.kit.splitter import Splitter

Width = Annotated[int, Meta(ge=0, le=1000)]


class Layout(msgspec.Struct, frozen=True):
    """The requested visibility (None: where it fits) and width in cells (0: default) of each side pane."""

    files: bool | None = None
    calls: bool | None = None
    files_width: Width = 0
    calls_width: Width = 0


class LayoutFile:
    """Loads and saves the layout of one project. The calls block, for less than a frame."""

    def __init__(self, project: Path) -> None:
        self._project = project

    def load(self) -> Layout:
        """The saved layout, or the default."""
        if not _directory().is_dir():
            return Layout()
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=Layout)
        except (OSError, msgspec.DecodeError):
            return Layout()

    def save(self, layout: Layout) -> None:
        """Save a layout."""
        path = self._path
        temporary = path.with_suffix(f".{os.getpid()}")
        with suppress(OSError):
            private_files.make_directory(path.parent)
            private_files.write_file(temporary, msgspec.json.encode(layout))
            temporary.replace(path)

    @property
    def _path(self) -> Path:
        # Most users never change the layout: the start must not wait for this import.
        import hashlib

        name = hashlib.sha256(os.fsencode(self._project)).hexdigest()[:24]
        return _directory() / f"{name}.json"


def _directory() -> Path:
    return data_path() / "layouts"


Side = Literal["files", "calls"]
Pane = Literal["files", "middle", "calls"]

BOTH_FIT = 110
ONE_FITS = 80
_NARROWEST = 16
_MIDDLE = 40
"""Minimum cells of the conversation."""
_COMFORTABLE = 80
"""Cells of the conversation beside panes that open by themselves, and its minimum in a window that has as
many."""

_FILES = 28
_CALLS = (36, 60)
"""The least and the most cells that the tool calls take by themselves."""

_SIDES: tuple[Side, ...] = ("files", "calls")
_LEAST: dict[Side, int] = {"files": _FILES, "calls": _CALLS[0]}

_EDGES = 2
"""Cells left and right of the panes; each splitter takes one more."""


class Panes(Horizontal):
    """Shows the panes of `project`: blank ones until `fill` replaces them."""

    BLANK = True

    def __init__(self, project: Path, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._file = LayoutFile(project)
        self._layout: Layout = self._file.load()
        self._has_calls = False
        self._visiting: Side | None = None
        """The pane requested on a narrow screen."""
        self._alone: Pane | None = None

    def compose(self) -> ComposeResult:
        yield Surface(id="files")
        yield Splitter(id="files-splitter")
        yield Surface(id="middle")
        yield Splitter(id="calls-splitter")
        yield Surface(id="calls")

    async def fill(self, files: Widget, middle: Widget, calls: Widget, width: int) -> None:
        """Replace the blank panes by these, folded for `width` cells."""
        await self.query_children(Surface).remove()
        await self.mount(files, before="#files-splitter")
        await self.mount(middle, after="#files-splitter")
        await self.mount(calls, after="#calls-splitter")
        self.fold(width)

    def admit_calls(self, exist: bool, width: int) -> None:
        """Let the tool calls open by themselves if there are any."""
        if exist != self._has_calls:
            self._has_calls = exist
            self.fold(width)

    def fold(self, width: int) -> None:
        """Show the requested panes that fit into `width` cells."""
        sides = self.shown(width)
        squeezed = bool(sides) and width < ONE_FITS
        shown: set[Pane] = {*sides} if squeezed else {*sides, "middle"}
        if self._alone:
            shown = {self._alone}
        self.set_class(len(shown) == 1, "-squeezed")
        panes: tuple[Pane, ...] = ("files", "middle", "calls")
        for pane in panes:
            self.query_one(f"#{pane}").display = pane in shown
        beside = sides if len(shown) > 1 else set[Side]()
        widths = self._widths(beside, width)
        self._place_notices(widths.get("calls", -1) + 1)
        for side in ("files", "calls"):
            self.query_one(f"#{side}-splitter").display = side in beside
            styles = self.query_one(f"#{side}").styles
            given = Scalar.from_number(widths[side]) if side in widths else None
            # Assigning even the present width triggers a new layout.
            if styles.inline.get_rule("width", None) != given:
                styles.width = given

    def _place_notices(self, right: int) -> None:
        """Show notifications at the top right of the conversation, beside `right` cells of calls."""
        padding = Spacing(0, _EDGES + right, 0, 0)
        for rack in self.screen.query_children(ToastRack):
            if rack.styles.padding != padding:
                rack.styles.padding = padding

    def _widths(self, sides: Collection[Side], width: int) -> dict[Side, int]:
        """The widths of the side panes beside the conversation, which keeps its minimum: the tool calls take
        what is left unless the user has set their width."""
        room, layout = _room(sides, width), self._layout
        files, calls = layout.files_width or _FILES, layout.calls_width
        beside = len(sides) > 1
        if not calls:
            files = _within(files, room - _CALLS[0] * beside)
            left = room + _least_conversation(sides, width) - _COMFORTABLE - files * beside
            calls = max(_CALLS[0], min(left, _CALLS[1]))
        calls = _within(calls, room - _NARROWEST * beside)
        files = _within(files, room - calls * beside)
        widths: dict[Side, int] = {"files": files, "calls": calls}
        return {side: widths[side] for side in sides}

    def shown(self, width: int) -> set[Side]:
        """The side panes that are shown at `width`."""
        if width < BOTH_FIT:
            return {self._visiting} if self._visiting else set()
        shown: set[Side] = {side for side in _SIDES if self._requested(side)}
        for side in _SIDES:
            if self._requested(side) is None and self._opens(side, shown, width):
                shown.add(side)
        return shown

    def _opens(self, side: Side, beside: Collection[Side], width: int) -> bool:
        """Return whether a pane opens by itself beside others."""
        if side == "calls" and not self._has_calls:
            return False
        return _beside(width, (*beside, side)) >= _COMFORTABLE

    def toggle(self, side: Side, width: int) -> None:
        """Show or hide a side pane."""
        requested = side not in self.shown(width) or self._alone not in (None, side)
        self._alone = None
        if width < BOTH_FIT:
            # Shown temporarily, without changing the layout of a wide screen.
            self._visiting = side if requested else None
        else:
            self._request(side, requested)
        self.fold(width)

    def _request(self, side: Side, shown: bool) -> None:
        layout = self._layout
        self._layout = replace(layout, files=shown) if side == "files" else replace(layout, calls=shown)
        self._file.save(self._layout)

    def show_middle(self, width: int) -> None:
        """Show the conversation, closing a pane that covers it."""
        if self._alone not in (None, "middle"):
            self.maximise(None, width)
        if width < ONE_FITS and self._visiting:
            self.toggle(self._visiting, width)

    def covered_by(self, side: Side) -> bool:
        """Return whether a side pane is shown in place of the conversation."""
        return self.query_one(f"#{side}").display and not self.query_one("#middle").display

    def maximise(self, focused: Widget | None, width: int) -> bool:
        """Show the focused pane alone, or all panes again; return whether one is alone now."""
        self._alone = None if self._alone else self._pane_of(focused)
        self.fold(width)
        for pane, title in (("files", "files"), ("middle", "conversation"), ("calls", "calls")):
            self.query_one(f"#{title}-title", PaneTitle).note("maximized" if pane == self._alone else "")
        return self._alone is not None

    def shift(self, focused: Widget | None, step: int, width: int) -> None:
        """Move the edge between the focused pane and the next one `step` cells to the right."""
        shown = self.shown(width)
        side: Side = "files" if self._pane_of(focused) == "files" or "calls" not in shown else "calls"
        if side in shown:
            now = self.query_one(f"#{side}").outer_size.width
            self._widen(side, now + step if side == "files" else now - step, width)
            self._file.save(self._layout)

    def on_splitter_dragged(self, event: Splitter.Dragged) -> None:
        event.stop()
        if event.splitter.id == "files-splitter":
            self._widen("files", event.x - self.query_one("#files").region.x, self.screen.size.width)
        else:
            self._widen("calls", self.query_one("#calls").region.right - event.x - 1, self.screen.size.width)
        if event.dropped:
            self._file.save(self._layout)

    def _widen(self, side: Side, cells: int, width: int) -> None:
        """Set the width of a pane; the other one gives way where the conversation has only its minimum."""
        other: Side = "calls" if side == "files" else "files"
        sides, widths = self.shown(width), self._layout_widths()
        room, taken = _room(sides, width), self._widths(sides, width).get(other, 0)
        widths[side] = _within(cells, room - min(taken, _NARROWEST))
        left = room - widths[side]
        if taken > left and (widths[other] or left < _LEAST[other]):
            widths[other] = left
        self._layout = replace(self._layout, files_width=widths["files"], calls_width=widths["calls"])
        self.fold(width)

    def _layout_widths(self) -> dict[Side, int]:
        return {"files": self._layout.files_width, "calls": self._layout.calls_width}

    def _requested(self, side: Side) -> bool | None:
        return self._layout.files if side == "files" else self._layout.calls

    def _pane_of(self, widget: Widget | None) -> Pane:
        """The pane of `widget`; the conversation if it is in none, since the prompt belongs to it."""
        above = {node.id for node in widget.ancestors_with_self} if widget else set[str | None]()
        return "files" if "files" in above else "calls" if "calls" in above else "middle"

    def stops(self) -> Iterable[Widget]:
        """The widgets that the focus cycles through, in order."""
        return self.query("#file-tree, #conversation, #preview-lines, #calls-list")

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        self._light(event.widget, focused=True)

    def on_descendant_blur(self, event: events.DescendantBlur) -> None:
        self._light(event.widget, focused=False)

    def _light(self, widget: Widget, *, focused: bool) -> None:
        for pane in ("files", "conversation", "calls"):
            title = self.query_one(f"#{pane}-title", PaneTitle)
            if title.parent is not None and title.parent in widget.ancestors:
                title.light(focused)


def _room(sides: Collection[Side], width: int) -> int:
    """The cells that these side panes may share."""
    return width - _EDGES - len(sides) - _least_conversation(sides, width)


def _least_conversation(sides: Collection[Side], width: int) -> int:
    """The cells that the conversation keeps: enough for comfort if the panes need no more than the others."""
    return _COMFORTABLE if _beside(width, sides) >= _COMFORTABLE else _MIDDLE


def _beside(width: int, sides: Collection[Side]) -> int:
    """The cells of the conversation beside panes that take as little as they do by themselves."""
    return width - _EDGES - len(sides) - sum(_LEAST[side] for side in sides)


def _within(cells: int, room: int) -> int:
    """The width of a pane that is to have `cells`, where it has `room`."""
    return max(_NARROWEST, min(cells, room))

"""The three panes side by side: which of them are shown at which width, how wide they are, who has the focus.

A narrow screen folds the tool calls away, a very narrow one the files too; a pane that is then asked for
takes the place of the others instead of squeezing them. The conversation comes back when it is closed.
How the person arranges them is kept for the project.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from msgspec.structs import replace
from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widget import Widget

from cogency_tui.tui.layouts import Layout, LayoutFile
from cogency_tui.tui.widgets.conversation import Conversation
from cogency_tui.tui.widgets.conversation_pane import ConversationPane
from cogency_tui.tui.widgets.file_tree import FileTree
from cogency_tui.tui.widgets.files_pane import FilesPane
from cogency_tui.tui.widgets.pane_title import PaneTitle
from cogency_tui.tui.widgets.splitter import Splitter
from cogency_tui.tui.widgets.tool_calls import CallList, ToolCalls

Side = Literal["files", "calls"]
Pane = Literal["files", "middle", "calls"]

BOTH_FIT = 110
ONE_FITS = 80
_NARROWEST = 16
_MIDDLE = 40
"""Cells that a side pane, and the conversation, have at least."""


class Panes(Horizontal):
    """Composes and shows the panes of `project`."""

    BLANK = True

    def __init__(self, conversation: Conversation, project: Path, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._conversation = conversation
        self._file = LayoutFile(project)
        self._layout: Layout = self._file.load()
        self._latest: Side = "calls"
        self._alone: Pane | None = None

    def compose(self) -> ComposeResult:
        yield FilesPane(id="files")
        yield Splitter(id="files-splitter")
        yield ConversationPane(self._conversation, id="middle")
        yield Splitter(id="calls-splitter")
        yield ToolCalls(id="calls")

    def fold(self, width: int) -> None:
        """Show what fits into `width` cells and is wanted."""
        sides = self.shown(width)
        squeezed = bool(sides) and width < ONE_FITS
        shown: set[Pane] = {*sides} if squeezed else {*sides, "middle"}
        if self._alone:
            shown = {self._alone}
        self.set_class(len(shown) == 1, "-squeezed")
        panes: tuple[Pane, ...] = ("files", "middle", "calls")
        for pane in panes:
            self.query_one(f"#{pane}").display = pane in shown
        for side, wide in (("files", self._layout.files_width), ("calls", self._layout.calls_width)):
            beside = side in shown and len(shown) > 1
            self.query_one(f"#{side}-splitter").display = beside
            room = width - _MIDDLE - (_NARROWEST if len(shown) == 3 else 0)
            pane = self.query_one(f"#{side}")
            given = max(_NARROWEST, min(wide, room)) if beside and wide else None
            # To be given what it has is a new layout all the same.
            if given is not None or pane.styles.inline.has_rule("width"):
                pane.styles.width = given

    def shown(self, width: int) -> set[Side]:
        """The side panes that are shown at `width`."""
        if width >= BOTH_FIT:
            sides: tuple[Side, ...] = ("files", "calls")
            return {side for side in sides if self._wanted(side) is not False}
        fits: Side | None = "files" if width >= ONE_FITS else None
        if self._wanted(self._latest) and self._latest != fits:
            return {self._latest}
        return {fits} if fits and self._wanted(fits) is not False else set()

    def toggle(self, side: Side, width: int) -> None:
        """Show or hide a side pane."""
        wanted = side not in self.shown(width) or self._alone not in (None, side)
        self._alone = None
        self._layout = (
            replace(self._layout, files=wanted) if side == "files" else replace(self._layout, calls=wanted)
        )
        self._latest = side
        self.fold(width)
        # On a narrow screen a pane comes for a moment, over what the person has arranged on a wide one.
        if width >= BOTH_FIT:
            self._file.save(self._layout)

    def show_middle(self, width: int) -> None:
        """Have the conversation in sight: a pane that is in its place goes."""
        if self._alone not in (None, "middle"):
            self.maximise(None, width)
        if width < ONE_FITS:
            for side in self.shown(width):
                self.toggle(side, width)

    def maximise(self, focused: Widget | None, width: int) -> bool:
        """Show the pane with the focus alone, or all of them again; whether one is alone now."""
        self._alone = None if self._alone else self._pane_of(focused)
        self.fold(width)
        for pane, title in (("files", "files"), ("middle", "conversation"), ("calls", "calls")):
            self.query_one(f"#{title}-title", PaneTitle).note("alone" if pane == self._alone else "")
        return self._alone is not None

    def shift(self, focused: Widget | None, step: int, width: int) -> None:
        """Move the edge between the pane with the focus and the next one `step` cells to the right."""
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
        cells = max(_NARROWEST, min(cells, width - _MIDDLE))
        layout = self._layout
        self._layout = (
            replace(layout, files_width=cells) if side == "files" else replace(layout, calls_width=cells)
        )
        self.fold(width)

    def _wanted(self, side: Side) -> bool | None:
        return self._layout.files if side == "files" else self._layout.calls

    def _pane_of(self, widget: Widget | None) -> Pane:
        """The pane that `widget` is in; where it is in none, the conversation: the prompt belongs to it."""
        above = {node.id for node in widget.ancestors_with_self} if widget else set[str | None]()
        return "files" if "files" in above else "calls" if "calls" in above else "middle"

    def stops(self) -> Iterable[Widget]:
        """The places that the focus goes through, in order."""
        return [self.query_one(FileTree), self._conversation, self.query_one(CallList)]

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        self._light(event.widget, focused=True)

    def on_descendant_blur(self, event: events.DescendantBlur) -> None:
        self._light(event.widget, focused=False)

    def _light(self, widget: Widget, *, focused: bool) -> None:
        for pane in ("files", "conversation", "calls"):
            title = self.query_one(f"#{pane}-title", PaneTitle)
            if title.parent is not None and title.parent in widget.ancestors:
                title.light(focused)

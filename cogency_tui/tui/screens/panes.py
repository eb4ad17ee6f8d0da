"""The three panes side by side: which of them are shown at which width, and which has the focus.

A narrow screen folds the tool calls away, a very narrow one the files too; a pane that is then asked for
takes the place of the others instead of squeezing them. The conversation comes back when it is closed.
"""

from collections.abc import Iterable
from typing import Literal

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widget import Widget

from cogency_tui.tui.widgets.bar import Surface
from cogency_tui.tui.widgets.conversation import Conversation
from cogency_tui.tui.widgets.file_tree import FileTree
from cogency_tui.tui.widgets.live_line import LiveLine
from cogency_tui.tui.widgets.pane_title import PaneTitle
from cogency_tui.tui.widgets.tool_calls import CallList, ToolCalls

Side = Literal["files", "calls"]

BOTH_FIT = 110
ONE_FITS = 80


class Panes(Horizontal):
    """Composes and shows the panes."""

    BLANK = True

    def __init__(self, conversation: Conversation, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._conversation = conversation
        self._wanted: dict[Side, bool] = {}
        self._latest: Side = "calls"

    def compose(self) -> ComposeResult:
        with Surface(id="files"):
            yield PaneTitle("Files", id="files-title")
            yield FileTree(id="file-tree")
        with Surface(id="middle"):
            yield PaneTitle("Conversation", id="conversation-title")
            yield self._conversation
            yield LiveLine(id="live-line")
        yield ToolCalls(id="calls")

    def fold(self, width: int) -> None:
        """Show what fits into `width` cells and is wanted."""
        shown = self.shown(width)
        squeezed = bool(shown) and width < ONE_FITS
        self.query_one("#files").display = "files" in shown
        self.query_one("#calls").display = "calls" in shown
        self.query_one("#middle").display = not squeezed
        self.set_class(squeezed, "-squeezed")

    def shown(self, width: int) -> set[Side]:
        """The side panes that are shown at `width`."""
        if width >= BOTH_FIT:
            sides: tuple[Side, ...] = ("files", "calls")
            return {side for side in sides if self._wanted.get(side, True)}
        fits: Side | None = "files" if width >= ONE_FITS else None
        if self._wanted.get(self._latest) and self._latest != fits:
            return {self._latest}
        return {fits} if fits and self._wanted.get(fits, True) else set()

    def toggle(self, side: Side, width: int) -> None:
        """Show or hide a side pane."""
        self._wanted[side] = side not in self.shown(width)
        self._latest = side
        self.fold(width)

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

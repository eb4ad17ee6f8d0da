"""The files pane: a title, the filter, the tree. It has the filter and the tree work together."""

from collections.abc import Mapping, Sequence

from textual.app import ComposeResult
from textual.message import Message

from cogency_tui.tui.widgets.bar import Surface
from cogency_tui.tui.widgets.file_tree import FileTree
from cogency_tui.tui.widgets.filter_line import FilterLine
from cogency_tui.tui.widgets.pane_title import PaneTitle


class FilesPane(Surface):
    """Composes the pane."""

    class Filtered(Message):
        """Files are to be found by `text`; an empty one: no filter any more."""

        def __init__(self, text: str) -> None:
            self.text = text
            super().__init__()

    class FilterBegun(Message):
        """A filter is about to be written: it is time to know all files."""

    def compose(self) -> ComposeResult:
        yield PaneTitle("Files", id="files-title")
        yield FilterLine("Letters of a file", id="files-filter")
        yield FileTree(id="file-tree")

    def show_found(self, text: str, found: Mapping[str, Sequence[int]]) -> None:
        """These were found by `text`, if that is still what is wanted."""
        if text and text == self.query_one(FilterLine).text:
            self.query_one(FileTree).show_found(found)

    def reveal_path(self, path: str) -> None:
        """Take the filter away, and show `path` in the tree."""
        self.query_one(FilterLine).clear()
        tree = self.query_one(FileTree)
        tree.show_found(None)
        tree.reveal_path(path)

    def on_file_tree_filter_asked(self, event: FileTree.FilterAsked) -> None:
        event.stop()
        self.post_message(self.FilterBegun())
        self.query_one(FilterLine).open()

    def on_filter_line_changed(self, event: FilterLine.Changed) -> None:
        event.stop()
        if not event.text:
            self.query_one(FileTree).show_found(None)
        self.post_message(self.Filtered(event.text))

    def on_filter_line_moved(self, event: FilterLine.Moved) -> None:
        event.stop()
        self.query_one(FileTree).action_move(event.step)

    def on_filter_line_accepted(self, event: FilterLine.Accepted) -> None:
        event.stop()
        tree = self.query_one(FileTree)
        self.screen.set_focus(tree)
        if self.query_one(FilterLine).text:
            # In the tree's own name: what is posted for it from here would end with its parent.
            tree.call_later(tree.action_flip)

    def on_filter_line_left(self, event: FilterLine.Left) -> None:
        event.stop()
        self.screen.set_focus(self.query_one(FileTree))

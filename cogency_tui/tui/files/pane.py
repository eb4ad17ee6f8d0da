"""The files pane: a title, the filter, the tree. Connects the filter with the tree."""

from collections.abc import Mapping, Sequence

from textual.app import ComposeResult
from textual.message import Message

from cogency_tui.tui.files.tree import FileTree
from cogency_tui.tui.kit.bar import Surface
from cogency_tui.tui.kit.filter_line import FilterLine
from cogency_tui.tui.kit.pane_title import PaneTitle


class FilesPane(Surface):
    """Composes the pane."""

    class Filtered(Message):
        """Requests the files that match `text`; an empty text removes the filter."""

        def __init__(self, text: str) -> None:
            self.text = text
            super().__init__()

    class FilterBegun(Message):
        """The user begins to write a filter: all paths are needed."""

    def compose(self) -> ComposeResult:
        yield PaneTitle("Files", id="files-title")
        yield FilterLine("File name", id="files-filter")
        yield FileTree(id="file-tree")

    def show_found(self, text: str, found: Mapping[str, Sequence[int]]) -> None:
        """Show the files found by `text`, if it is still the current filter."""
        if text and text == self.query_one(FilterLine).text:
            self.query_one(FileTree).show_found(found)

    def reveal_path(self, path: str) -> None:
        """Clear the filter, and show `path` in the tree."""
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
            # Sent from the tree itself: a message posted from the pane would bubble no further than its
            # parent.
            tree.call_later(tree.action_flip)

    def on_filter_line_left(self, event: FilterLine.Left) -> None:
        event.stop()
        self.screen.set_focus(self.query_one(FileTree))

"""The file tree: directories are listed when opened; the agent's changes and git's states are marked.

The widget reads no disk: it requests a directory's entries with `Requested`, and receives them by
`list_directory`. Open directories stay open when the disk changes.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message

from cogency_tui.tui.files.git_marks import GitMarks
from cogency_tui.tui.files.rows import FileRows, Node, Row, draw_file, draw_found
from cogency_tui.tui.kit.lines import Line
from cogency_tui.tui.kit.select_list import SelectList, list_keys
from cogency_tui.tui.theme_styles import ThemeStyles
from cogency_tui.tui.transcript.call_unit import FileChange


class FileTree(SelectList[Row]):
    """Shows the open directories as one list."""

    BINDING_GROUP_TITLE = "Files"

    BINDINGS: ClassVar[list[BindingType]] = [
        *list_keys("files"),
        Binding("right,l", "open", "Expand directory", show=False, id="files.open"),
        Binding("left,h", "close", "Collapse directory", show=False, id="files.close"),
        Binding(
            "enter,space",
            "flip",
            "Preview",
            id="files.toggle",
            tooltip="Preview a file, or expand a directory",
        ),
        Binding("slash", "filter", "Filter", id="files.filter", tooltip="Find a file by letters in its name"),
        Binding("o", "edit", "Edit", id="files.edit", tooltip="Open the file in $VISUAL or $EDITOR"),
        Binding(
            "at", "mention", "Mention", id="files.mention", tooltip="Mention the file in the prompt as @path"
        ),
    ]

    class Requested(Message):
        """Requests the entries of directory `path`."""

        def __init__(self, path: str) -> None:
            self.path = path
            super().__init__()

    class Asked(Message):
        """Requests `mention`, `preview`, `edit` or `reveal` for the file at `path`."""

        def __init__(self, what: str, path: str) -> None:
            self.what = what
            self.path = path
            super().__init__()

    class FilterAsked(Message):
        """The user asks to write a filter."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(self._draw_row, _path_of, focusable=True, id=id)
        self._files = FileRows()
        self._letters: Mapping[str, Sequence[int]] = {}
        self._remembered = ""
        self._sought = ""
        """The path to select as soon as it is listed."""

    @property
    def open_directories(self) -> list[str]:
        """The directories whose entries are shown, or will be."""
        return sorted(self._files.open)

    @property
    def node(self) -> Node | None:
        """The selected entry."""
        return None if (row := self.row) is None else row[1]

    def list_directory(self, path: str, entries: Sequence[Node]) -> None:
        """Set the entries of `path`."""
        if self._files.list_directory(path, entries):
            self._show_changes()

    def forget(self, path: str) -> None:
        """Remove the directory `path`."""
        self._files.forget(path)
        self._show_changes()

    def mark(self, changes: Mapping[str, FileChange]) -> None:
        """Set the agent's changes, by path."""
        if changes != self._files.changes:
            self._request(self._files.change(changes))
            self._show_changes()

    def mark_git(self, marks: GitMarks) -> None:
        """Set git's marks."""
        if marks != self._files.marks:
            self._files.mark(marks)
            self._show_changes()

    def show_found(self, found: Mapping[str, Sequence[int]] | None) -> None:
        """Show these files, the best first, with the matched characters; None restores the tree."""
        if self._files.found is None and isinstance(self.key, str):
            self._remembered = self.key
        self._letters = found or {}
        self._files.find(None if found is None else list(found))
        self.notice = "" if found is None else "No matching files."
        if found is None:
            self.key = self.key or self._remembered
            self._show_changes()
        else:
            self.show(self._files.rows)

    def reveal_path(self, path: str) -> None:
        """Open all directories above `path`, and select it."""
        self._request(self._files.reveal(path))
        self._sought = path
        self._show_changes()

    @property
    def is_lit(self) -> bool:
        return self.has_focus or self._files.found is not None

    def select(self, place: int) -> None:
        self._sought = ""
        super().select(place)

    def click_row(self, y: int, event: events.Click) -> None:
        self.select(y)
        self.action_flip()

    def action_flip(self) -> None:
        node = self.node
        if node is None:
            return
        if not node.is_directory:
            self._ask("preview")
        elif self._files.found is not None:
            self._ask("reveal")
        elif node.path not in self._files.open:
            self.action_open()
        else:
            self.action_close()

    def action_open(self) -> None:
        node = self.node
        closed = node is not None and node.path not in self._files.open
        if node and node.is_directory and closed and self._files.found is None:
            self._files.open.add(node.path)
            self._request([node.path])
            self._files.arrange()
            self._show_changes()

    def action_close(self) -> None:
        node = self.node
        if node is None or self._files.found is not None:
            return
        if node.path in self._files.open:
            self._files.open.discard(node.path)
            self._files.arrange()
            self._show_changes()
        elif (place := self.place_of(node.path.rpartition("/")[0])) is not None:
            self.select(place)

    def action_mention(self) -> None:
        self._ask("mention")

    def action_edit(self) -> None:
        self._ask("edit")

    def action_filter(self) -> None:
        self.post_message(self.FilterAsked())

    def _ask(self, what: str) -> None:
        node = self.node
        if node and (what in ("mention", "reveal") or not (node.is_directory or node.gone)):
            self.post_message(self.Asked(what, node.path))

    def _request(self, paths: Sequence[str]) -> None:
        for path in paths:
            self.post_message(self.Requested(path))

    def _show_changes(self) -> None:
        """Refresh after the rows changed: the selection stays on its entry, or moves to its directory."""
        self.rows = self._files.rows
        path = self._sought
        if path and self.place_of(path) is not None:
            self._sought = ""
        else:
            path = self.key if isinstance(self.key, str) else ""
        while path and self.place_of(path) is None:
            path = path.rpartition("/")[0]
        self.restore(path or None, self.selected)

    def _draw_row(self, row: Row, width: int, styles: ThemeStyles, on: str) -> Line:
        if self._files.found is None:
            return draw_file(self._files, row, width, styles, on)
        node = row[1]
        letters = self._letters.get(node.path + "/" * node.is_directory, ())
        return draw_found(node, letters, width, styles, on)


def _path_of(row: Row) -> str:
    return row[1].path

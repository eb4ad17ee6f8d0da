"""The file tree: directories are listed when opened; the agent's changes and git's states are marked.

The widget reads no disk: it requests a directory's entries with `Wanted`, and receives them by
`list_directory`. Open directories stay open when the disk changes.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message

from cogency_tui.tui.files.git_marks import GitMarks
from cogency_tui.tui.files.rows import FileRows, Node, draw_file, draw_found
from cogency_tui.tui.kit.line_view import LineView
from cogency_tui.tui.kit.lines import Line, wrap
from cogency_tui.tui.transcript.call import FileChange


class FileTree(LineView):
    """Shows the open directories as one list."""

    BINDING_GROUP_TITLE = "In the files"

    ALLOW_SELECT = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Up", show=False, id="files.up"),
        Binding("down,j", "move(1)", "Down", show=False, id="files.down"),
        Binding("pageup", "page(-1)", "Page up", show=False, id="files.page_up"),
        Binding("pagedown", "page(1)", "Page down", show=False, id="files.page_down"),
        Binding("home,g", "move(-1000000)", "First", show=False, id="files.first"),
        Binding("end,G", "move(1000000)", "Last", show=False, id="files.last"),
        Binding("right,l", "open", "Open directory", show=False, id="files.open"),
        Binding("left,h", "close", "Close directory", show=False, id="files.close"),
        Binding("enter,space", "flip", "Look", id="files.toggle", tooltip="Look at a file; open a directory"),
        Binding("slash", "filter", "Filter", id="files.filter", tooltip="Find a file by a few letters"),
        Binding("o", "edit", "Edit", id="files.edit", tooltip="Open the file in $VISUAL or $EDITOR"),
        Binding(
            "at", "mention", "Put into the prompt", id="files.mention", tooltip="Put @path into the prompt"
        ),
    ]

    class Wanted(Message):
        """Requests the entries of directory `path`."""

        def __init__(self, path: str) -> None:
            self.path = path
            super().__init__()

    class Asked(Message):
        """Requests `mention`, `look`, `edit` or `reveal` for the file at `path`."""

        def __init__(self, what: str, path: str) -> None:
            self.what = what
            self.path = path
            super().__init__()

    class FilterAsked(Message):
        """The user asks to write a filter."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._files = FileRows()
        self._selected = 0
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
        rows = self._files.rows
        return rows[self._selected][1] if self._selected < len(rows) else None

    def list_directory(self, path: str, entries: Sequence[Node]) -> None:
        """Set the entries of `path`."""
        kept = self.node
        if self._files.list_directory(path, entries):
            self._arranged(kept)

    def forget(self, path: str) -> None:
        """Remove the directory `path`."""
        kept = self.node
        self._files.forget(path)
        self._arranged(kept)

    def mark(self, changes: Mapping[str, FileChange]) -> None:
        """Set the agent's changes, by path."""
        if changes != self._files.changes:
            kept = self.node
            self._want(self._files.change(changes))
            self._arranged(kept)

    def mark_git(self, marks: GitMarks) -> None:
        """Set git's marks."""
        if marks != self._files.marks:
            kept = self.node
            self._files.mark(marks)
            self._arranged(kept)

    def show_found(self, found: Mapping[str, Sequence[int]] | None) -> None:
        """Show these files, the best first, with the matched characters; None restores the tree."""
        kept = self.node
        if self._files.found is None and kept:
            self._remembered = kept.path
        self._letters = found or {}
        self._files.find(None if found is None else list(found))
        if found is None:
            self._arranged(kept)
            if kept is None and (place := self._files.place(self._remembered)) is not None:
                self._select(place)
        else:
            self._selected = 0
            self._arranged(None)

    def reveal_path(self, path: str) -> None:
        """Open all directories above `path`, and select it."""
        self._want(self._files.reveal(path))
        self._sought = path
        self._arranged(self.node)

    def line_at(self, y: int) -> Line | None:
        files = self._files
        if y >= len(files.rows):
            empty = self._empty() if files.found is not None and not files.rows else []
            return empty[y] if y < len(empty) else None
        on = self.surface_at(y)
        if files.found is None:
            return draw_file(files, y, self.text_width, self.inks, on)
        node = files.rows[y][1]
        return draw_found(node, self._letters.get(files.found[y], ()), self.text_width, self.inks, on)

    def surface_at(self, y: int) -> str:
        lit = self.has_focus or self._files.found is not None
        return "cursor" if y == self._selected and lit and self._files.rows else "surface"

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        y = self.scroll_offset.y + event.y
        if y < len(self._files.rows):
            self._select(y)
            self.action_flip()

    def action_move(self, step: int) -> None:
        self._select(self._selected + step)

    def action_page(self, direction: int) -> None:
        self._select(self._selected + direction * max(1, self.page - 1))

    def action_flip(self) -> None:
        node = self.node
        if node is None:
            return
        if not node.is_directory:
            self._ask("look")
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
            self._want([node.path])
            self._files.arrange()
            self._arranged(node)

    def action_close(self) -> None:
        node = self.node
        if node is None or self._files.found is not None:
            return
        if node.path in self._files.open:
            self._files.open.discard(node.path)
            self._files.arrange()
            self._arranged(node)
        elif (place := self._files.place(node.path.rpartition("/")[0])) is not None:
            self._select(place)

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

    def _want(self, paths: Sequence[str]) -> None:
        for path in paths:
            self.post_message(self.Wanted(path))

    def _empty(self) -> list[Line]:
        return wrap([Segment("No file is like that.", self.inks("dim"))], self.text_width)

    def _select(self, row: int) -> None:
        self._sought = ""
        if self._files.rows:
            self._selected = max(0, min(row, len(self._files.rows) - 1))
            self.reveal(self._selected)
            self.refresh()

    def _arranged(self, kept: Node | None) -> None:
        """Refresh after the rows changed: the selection stays on `kept`, or moves to its directory."""
        count = len(self._files.rows)
        path = kept.path if kept else ""
        place = self._files.place(path) if path else None
        if self._sought and (sought := self._files.place(self._sought)) is not None:
            place, self._sought = sought, ""
        while place is None and (path := path.rpartition("/")[0]):
            place = self._files.place(path)
        self._selected = min(self._selected, max(0, count - 1)) if place is None else place
        self.resize_column(count)
        if count:
            self.reveal(self._selected)
        self.refresh()

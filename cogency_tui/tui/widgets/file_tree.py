"""The file tree: directories listed when they are opened, what the agent changed marked.

The widget reads no disk: it asks for a directory's entries with `Wanted`, and is told with `list_directory`.
What is open stays open when the disk changes.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple

from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message

from cogency_tui.text import one_line
from cogency_tui.tui.calls import FileChange
from cogency_tui.tui.drawing.lines import Line, cells, fit
from cogency_tui.tui.widgets.line_view import LineView

ROOT = "."


class Node(NamedTuple):
    """One entry; `path` is relative to the project, with slashes."""

    name: str
    path: str
    is_directory: bool


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
        Binding("enter,space", "flip", "Open or close", show=False, id="files.toggle"),
        Binding(
            "at", "mention", "Put into the prompt", id="files.mention", tooltip="Put @path into the prompt"
        ),
    ]

    class Wanted(Message):
        """The entries of directory `path` are wanted."""

        def __init__(self, path: str) -> None:
            self.path = path
            super().__init__()

    class Mentioned(Message):
        """`path` is to be put into the prompt."""

        def __init__(self, path: str) -> None:
            self.path = path
            super().__init__()

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._entries: dict[str, Sequence[Node]] = {}
        self._open: set[str] = {ROOT}
        self._rows: list[tuple[int, Node]] = []
        self._changes: Mapping[str, FileChange] = {}
        self._selected = 0

    @property
    def open_directories(self) -> list[str]:
        """The directories whose entries are shown, or will be."""
        return sorted(self._open)

    def list_directory(self, path: str, entries: Sequence[Node]) -> None:
        """These are the entries of `path`."""
        self._entries[path] = entries
        self._arrange()

    def forget(self, path: str) -> None:
        """There is no directory `path` any more."""
        self._open.discard(path)
        self._entries.pop(path, None)
        self._arrange()

    def mark(self, changes: Mapping[str, FileChange]) -> None:
        """These are what the agent has changed, by path."""
        if changes == self._changes:
            return
        for path in changes.keys() - self._changes.keys():
            self._open_parents(path)
        self._changes = dict(changes)
        self._arrange()

    def line_at(self, y: int) -> Line | None:
        if y >= len(self._rows):
            return None
        depth, node = self._rows[y]
        on = self.surface_at(y)
        change = self._changes.get(node.path)
        if node.is_directory:
            mark = "▾" if node.path in self._open else "▸"
            inside = any(path.startswith(f"{node.path}/") for path in self._changes)
            mark_ink = "edit" if inside and node.path not in self._open else "dim"
        else:
            mark, mark_ink = ("●", "edit") if change else (" ", "dim")
        counts = _counts(change) if change else ""
        head = "  " * depth
        room = self.text_width - len(head) - 2 - (len(counts) + 1 if counts else 0)
        name = fit(one_line(node.name), max(4, room))
        bold = "bold" if node.is_directory and not depth else ""
        segments = [
            Segment(head, self.inks("text", on)),
            Segment(f"{mark} ", self.inks(mark_ink, on)),
            Segment(name, self.inks("text", on, bold)),
        ]
        if counts:
            space = self.text_width - len(head) - 2 - cells(name) - len(counts)
            segments += [
                Segment(" " * max(1, space), self.inks("text", on)),
                Segment(counts, self.inks("dim", on)),
            ]
        return Line(segments)

    def surface_at(self, y: int) -> str:
        return "cursor" if y == self._selected and self.has_focus and self._rows else "surface"

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        y = self.scroll_offset.y + event.y
        if y < len(self._rows):
            self._select(y)
            self.action_flip()

    def action_move(self, step: int) -> None:
        self._select(self._selected + step)

    def action_page(self, direction: int) -> None:
        self._select(self._selected + direction * max(1, self.page - 1))

    def action_flip(self) -> None:
        node = self._node()
        if node and node.is_directory:
            if node.path in self._open:
                self.action_close()
            else:
                self.action_open()

    def action_open(self) -> None:
        node = self._node()
        if node and node.is_directory and node.path not in self._open:
            self._open.add(node.path)
            self.post_message(self.Wanted(node.path))
            self._arrange()

    def action_close(self) -> None:
        node = self._node()
        if node and node.path in self._open:
            self._open.discard(node.path)
            self._arrange()
        elif node:
            parent = node.path.rpartition("/")[0]
            places = (place for place, (_depth, other) in enumerate(self._rows) if other.path == parent)
            self._select(next(places, self._selected))

    def action_mention(self) -> None:
        if node := self._node():
            self.post_message(self.Mentioned(node.path))

    def _open_parents(self, path: str) -> None:
        """Open the directories on the way to a file that has just been changed."""
        parts = path.split("/")[:-1]
        for depth in range(1, len(parts) + 1):
            parent = "/".join(parts[:depth])
            if parent not in self._open:
                self._open.add(parent)
                self.post_message(self.Wanted(parent))

    def _node(self) -> Node | None:
        return self._rows[self._selected][1] if self._rows else None

    def _select(self, row: int) -> None:
        if self._rows:
            self._selected = max(0, min(row, len(self._rows) - 1))
            self.reveal(self._selected)
            self.refresh()

    def _arrange(self) -> None:
        """List the rows again, the selection kept on its entry."""
        node = self._node()
        self._rows = []
        self._append_rows(ROOT, 0)
        if node is not None:
            places = (place for place, (_depth, other) in enumerate(self._rows) if other.path == node.path)
            self._selected = next(places, min(self._selected, max(0, len(self._rows) - 1)))
        self.resize_column(len(self._rows))
        self.refresh()

    def _append_rows(self, path: str, depth: int) -> None:
        for node in self._entries.get(path, ()):
            self._rows.append((depth, node))
            if node.is_directory and node.path in self._open:
                self._append_rows(node.path, depth + 1)


def _counts(change: FileChange) -> str:
    counts = [f"+{change.added}"] if change.added else []
    counts += [f"−{change.removed}"] if change.removed else []
    return " ".join(counts)

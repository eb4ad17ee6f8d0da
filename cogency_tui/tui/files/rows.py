"""The rows of the file tree: the open directories as one list, or the files found by a filter."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from rich.segment import Segment

from cogency_tui.safe_text import one_line
from cogency_tui.tui.files.git_marks import CONFLICT, GitMarks
from cogency_tui.tui.kit.cell_text import cells, fit
from cogency_tui.tui.kit.fuzzy import marked_path
from cogency_tui.tui.kit.lines import Line, width_of
from cogency_tui.tui.theme_styles import ThemeStyles
from cogency_tui.tui.transcript.call_unit import FileChange

ROOT = "."


class Node(NamedTuple):
    """One entry; `path` is relative to the project, with slashes. A `gone` entry exists only in git."""

    name: str
    path: str
    is_directory: bool
    gone: bool = False


Row = tuple[int, Node]
"""An entry, and its depth in the tree."""


class FileRows:
    """The open directories and their known entries. `rows` are depths and entries, as shown."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.open: set[str] = {ROOT}
        self.changes: Mapping[str, FileChange] = {}
        self.changed_inside: set[str] = set()
        self.marks = GitMarks()
        self.found: Sequence[str] | None = None
        self._entries: dict[str, Sequence[Node]] = {}

    def list_directory(self, path: str, entries: Sequence[Node]) -> bool:
        """Set the entries of `path`; return whether they changed."""
        if self._entries.get(path) == entries:
            return False
        self._entries[path] = entries
        self.arrange()
        return True

    def forget(self, path: str) -> None:
        """Remove the directory `path`, and all below it."""
        below = f"{path}/"
        for each in [each for each in self._entries if each == path or each.startswith(below)]:
            del self._entries[each]
        self.open -= {each for each in self.open if each == path or each.startswith(below)}
        self.arrange()

    def change(self, changes: Mapping[str, FileChange]) -> list[str]:
        """Set the agent's changes; return the directories opened to show new ones."""
        opened: list[str] = []
        for path in changes.keys() - self.changes.keys():
            opened += [parent for parent in _parents(path) if parent not in self.open]
            self.open.update(opened)
        self.changes = dict(changes)
        self.changed_inside = {parent for path in changes for parent in _parents(path)}
        self.arrange()
        return sorted(set(opened))

    def mark(self, marks: GitMarks) -> None:
        """Set git's marks."""
        self.marks = marks
        self.arrange()

    def find(self, found: Sequence[str] | None) -> None:
        """Show these paths in place of the tree; directories end in `/`. None restores the tree."""
        self.found = found
        self.arrange()

    def reveal(self, path: str) -> list[str]:
        """Open the directories above `path`; return those that were not open."""
        opened = [parent for parent in _parents(path) if parent not in self.open]
        self.open.update(opened)
        self.arrange()
        return opened

    def arrange(self) -> None:
        """Rebuild the rows."""
        if self.found is not None:
            self.rows = [(0, _found(path)) for path in self.found]
            return
        self.rows = []
        self._append(ROOT, 0)

    def _append(self, path: str, depth: int) -> None:
        entries = self._entries.get(path, ())
        if gone := self.marks.gone.get(path):
            entries = _with_gone(path, entries, gone)
        for place, node in enumerate(entries):
            if not node.is_directory:
                # Directories come first: the remaining entries have no children.
                self.rows += [(depth, each) for each in entries[place:]]
                return
            self.rows.append((depth, node))
            if node.path in self.open:
                self._append(node.path, depth + 1)


def _with_gone(path: str, entries: Sequence[Node], gone: Iterable[str]) -> Sequence[Node]:
    """Add to the entries the files that git knows but the disk does not have."""
    there = {node.name for node in entries}
    prefix = "" if path == ROOT else f"{path}/"
    ghosts = [Node(name, prefix + name, False, gone=True) for name in gone if name not in there]
    if not ghosts:
        return entries
    files = [*(node for node in entries if not node.is_directory), *ghosts]
    files.sort(key=lambda node: (node.name.casefold(), node.name))
    return [*(node for node in entries if node.is_directory), *files]


def _found(path: str) -> Node:
    bare = path.rstrip("/")
    return Node(bare.rpartition("/")[2], bare, path.endswith("/"))


def _parents(path: str) -> list[str]:
    """The directories above `path`, the topmost first, without the project itself."""
    parts = path.split("/")[:-1]
    return ["/".join(parts[:depth]) for depth in range(1, len(parts) + 1)]


_LETTERS = {"M": "edit", "A": "good", "D": "bad", "R": "branch", "?": "dim", CONFLICT: "bad"}
_SHALLOW = 6
"""Levels indented by two cells each; deeper ones by one, to leave room for names."""


def draw_file(rows: FileRows, row: Row, width: int, styles: ThemeStyles, on: str) -> Line:
    """Draw a row of the tree: the agent's change (● and counts), git's letter, and the depth.

    Beside ● no letter says that the file is modified. The counts, and then the letter, give way to the name.
    """
    depth, node = row
    change = rows.changes.get(node.path)
    letter = rows.marks.of(node.path)
    opened = node.path in rows.open
    if node.is_directory:
        changed = node.path in rows.changed_inside and not opened
        gutter, gutter_ink = "▾" if opened else "▸", "edit" if changed else "dim"
        letter = letter or ("" if opened else rows.marks.inside.get(node.path, ""))
    elif change:
        gutter, gutter_ink, letter = "●", "edit", "" if letter == "M" else letter
    else:
        gutter, gutter_ink, letter = letter or " ", _LETTERS.get(letter, "dim"), ""
    ink = "dim" if node.gone else "text"
    attributes = "bold" if node.is_directory and not depth else "strike" if node.gone else ""
    indent = min(2 * depth, depth + _SHALLOW, width // 2)
    head = [Segment(" " * indent, styles("text", on)), Segment(f"{gutter} ", styles(gutter_ink, on))]
    full, beside = one_line(node.name), width - width_of(head)
    rights = (_right(shown, each, styles, on) for shown, each in ((change, letter), (None, letter)))
    right = next((each for each in rights if cells(full) + width_of(each) <= beside), list[Segment]())
    room = max(4, beside - width_of(right))
    name = fit(full, room)
    space = Segment(" " * max(0, room - cells(name)), styles("text", on))
    return Line([*head, Segment(name, styles(ink, on, attributes)), space, *right])


def draw_found(node: Node, letters: Sequence[int], width: int, styles: ThemeStyles, on: str) -> Line:
    """Draw a file found by a filter: its path, with the matched characters `letters` highlighted."""
    mark = Segment("▸ " if node.is_directory else "  ", styles("dim", on))
    return Line([mark, *marked_path(node.path, letters, width - 2, styles, on)])


def _right(change: FileChange | None, letter: str, styles: ThemeStyles, on: str) -> list[Segment]:
    counts = [f"+{change.added}"] if change and change.added else []
    counts += [f"−{change.removed}"] if change and change.removed else []
    segments = [Segment(f" {' '.join(counts)}", styles("dim", on))] if counts else []
    if letter:
        segments.append(Segment(f" {letter}", styles(_LETTERS.get(letter, "dim"), on)))
    return segments

"""The rows of the file tree: the open directories as one list, or the files that a filter has found."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from cogency_tui.tui.calls import FileChange
from cogency_tui.tui.git_marks import GitMarks

ROOT = "."


class Node(NamedTuple):
    """One entry; `path` is relative to the project, with slashes. What is `gone` is no longer on the disk."""

    name: str
    path: str
    is_directory: bool
    gone: bool = False


class FileRows:
    """What is open and what is known of it. `rows` are depths and entries, as they are shown."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, Node]] = []
        self.open: set[str] = {ROOT}
        self.changes: Mapping[str, FileChange] = {}
        self.changed_inside: set[str] = set()
        self.marks = GitMarks()
        self.found: Sequence[str] | None = None
        self._entries: dict[str, Sequence[Node]] = {}

    def list_directory(self, path: str, entries: Sequence[Node]) -> bool:
        """These are the entries of `path`; whether that is news."""
        if self._entries.get(path) == entries:
            return False
        self._entries[path] = entries
        self.arrange()
        return True

    def forget(self, path: str) -> None:
        """There is no directory `path` any more, nor any below it."""
        below = f"{path}/"
        for each in [each for each in self._entries if each == path or each.startswith(below)]:
            del self._entries[each]
        self.open -= {each for each in self.open if each == path or each.startswith(below)}
        self.arrange()

    def change(self, changes: Mapping[str, FileChange]) -> list[str]:
        """These are what the agent has changed; the directories that are opened to show what is new."""
        opened: list[str] = []
        for path in changes.keys() - self.changes.keys():
            opened += [parent for parent in _parents(path) if parent not in self.open]
            self.open.update(opened)
        self.changes = dict(changes)
        self.changed_inside = {parent for path in changes for parent in _parents(path)}
        self.arrange()
        return sorted(set(opened))

    def mark(self, marks: GitMarks) -> None:
        """This is what git says."""
        self.marks = marks
        self.arrange()

    def find(self, found: Sequence[str] | None) -> None:
        """Show these paths in the place of the tree; directories end in `/`. None: the tree again."""
        self.found = found
        self.arrange()

    def reveal(self, path: str) -> list[str]:
        """Open the directories on the way to `path`; those that were not open."""
        opened = [parent for parent in _parents(path) if parent not in self.open]
        self.open.update(opened)
        self.arrange()
        return opened

    def place(self, path: str) -> int | None:
        """The row of `path`, if it is shown."""
        return next((y for y, (_depth, node) in enumerate(self.rows) if node.path == path), None)

    def arrange(self) -> None:
        """Make the rows again."""
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
                # Directories come first: from here on there is nothing to look into.
                self.rows += [(depth, each) for each in entries[place:]]
                return
            self.rows.append((depth, node))
            if node.path in self.open:
                self._append(node.path, depth + 1)


def _with_gone(path: str, entries: Sequence[Node], gone: Iterable[str]) -> Sequence[Node]:
    """Entries with those among them that git knows and the disk does not."""
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

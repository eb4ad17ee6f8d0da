"""The files of a project that a server works with, and how they differ from those at the last look.

Invariant: a look costs no more than `MOST_ENTRIES` entries of directories. The calls block.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple

from lsprotocol.types import FileChangeType

from cogency_tui.errors import WorkspaceError
from cogency_tui.workspace.gitignore_walk import WorkspaceTree
from cogency_tui.workspace.paths import Workspace

MOST_FILES = 5000
"""Files that are compared."""

MOST_ENTRIES = 50_000
"""Files and directories, of any language, that are walked through."""


class _Stamp(NamedTuple):
    """What shows that a file has changed."""

    modified: int
    size: int
    inode: int


class ProjectFiles:
    """The files below `root` that the server `works_with`, ignored ones left out."""

    def __init__(self, root: Path, works_with: Callable[[Path], bool]) -> None:
        self._root = root
        self._works_with = works_with
        self._known: Mapping[Path, _Stamp] = {}

    def changes(self) -> Sequence[tuple[Path, FileChangeType]]:
        """The files that were created, changed or deleted since the last call; at first all there are."""
        found = self._found()
        known, self._known = self._known, found
        kinds = FileChangeType
        return [
            *((path, kinds.Created) for path in found if path not in known),
            *((path, kinds.Changed) for path, stamp in found.items() if known.get(path, stamp) != stamp),
            # With too many files, others can take the place of one.
            *((path, kinds.Deleted) for path in known if path not in found and not os.path.lexists(path)),
        ]

    def _found(self) -> Mapping[Path, _Stamp]:
        found: dict[Path, _Stamp] = {}
        entries = 0
        with suppress(WorkspaceError):
            workspace = Workspace(self._root)
            with closing(WorkspaceTree(workspace).walk(workspace.locate("."))) as levels:
                for level in levels:
                    entries += len(level.directories) + len(level.others)
                    for entry in level.others:
                        path = self._root / entry.path
                        if entry.kind != "file" or not self._works_with(path):
                            continue
                        with suppress(OSError):
                            status = level.directory.status(entry.name)
                            found[path] = _Stamp(status.st_mtime_ns, status.st_size, status.st_ino)
                    if len(found) >= MOST_FILES or entries >= MOST_ENTRIES:
                        break
        return found

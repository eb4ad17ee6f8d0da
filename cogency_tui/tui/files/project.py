"""The project's files for the files pane: lists directories in a thread, and watches those that are shown.

Only directories that are open in the tree are watched, and git's own: this costs nothing in a tree of fifty
thousand files, and the tree would draw nothing else. Where watching is not possible the tree still works,
and is listed again when a turn ends.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Collection, Iterable
from contextlib import suppress
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

import msgspec

from cogency_tui.errors import WorkspaceError
from cogency_tui.tui.files.rows import ROOT, Node
from cogency_tui.workspace.watch import follow_changes

if TYPE_CHECKING:
    from cogency_tui.workspace.paths import Workspace

_OVERLAP = 0.6
"""Seconds for which the previous watch continues when a new one begins, so that no change is missed."""

_GIT_NAMES = frozenset({"HEAD", "index", "MERGE_HEAD", "ORIG_HEAD"})


class Changed(msgspec.Struct, frozen=True):
    """Changes on the disk: the changed `directories`, whether git's state changed, and the directories
    whose ignore `rules` changed."""

    directories: frozenset[str]
    git: bool = False
    rules: frozenset[str] = frozenset()


class ProjectFiles:
    """Lists and watches directories of one workspace."""

    def __init__(self, workspace: "Workspace") -> None:
        self._workspace = workspace
        self._root = str(workspace.root)
        self._git = _git_directory(workspace.root)
        self._followed: frozenset[str] = frozenset()
        self._stop: Event | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._changes: asyncio.Queue[set[str]] = asyncio.Queue()

    async def list_directory(self, path: str) -> list[Node] | None:
        """The entries of `path`, directories first; None if it is not a readable directory."""
        return await asyncio.to_thread(self._list, path)

    def follow(self, directories: Collection[str]) -> None:
        """Watch these directories from now on, and no others."""
        followed = frozenset(directories)
        if followed == self._followed:
            return
        self._followed = followed
        if self._stop is not None:
            asyncio.get_running_loop().call_later(_OVERLAP, self._stop.set)
        self._stop = Event()
        task = asyncio.create_task(self._watch(followed, self._stop))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def changes(self) -> AsyncIterator[Changed]:
        """Yield the changes in the watched directories."""
        try:
            while True:
                yield self._sort(await self._changes.get())
        finally:
            for task in list(self._tasks):
                task.cancel()

    async def _watch(self, directories: Iterable[str], stop: Event) -> None:
        paths = await asyncio.to_thread(self._existing, directories)
        # A watched directory was removed, or there are too many watches: the tree is listed again when a turn
        # ends.
        with suppress(WorkspaceError):
            async for changes in follow_changes(paths, stop):
                self._changes.put_nowait(changes)

    def _existing(self, directories: Iterable[str]) -> list[str]:
        paths = [self._root if path == ROOT else f"{self._root}{os.sep}{path}" for path in directories]
        paths += [self._git] if self._git else []
        return [path for path in paths if Path(path).is_dir()]

    def _sort(self, changes: set[str]) -> Changed:
        directories: set[str] = set()
        rules: set[str] = set()
        git = False
        for path in changes:
            directory, _, name = path.rpartition(os.sep)
            if directory == self._git:
                git = git or name in _GIT_NAMES
            elif directory == self._root or directory.startswith(f"{self._root}{os.sep}"):
                relative = directory[len(self._root) + 1 :].replace(os.sep, "/") or ROOT
                directories.add(relative)
                if name == ".gitignore":
                    rules.add(relative)
        return Changed(frozenset(directories), git, frozenset(rules))

    def _list(self, path: str) -> list[Node] | None:
        from cogency_tui.workspace.gitignore_walk import WorkspaceTree

        try:
            entries = WorkspaceTree(self._workspace).children(path)
        except WorkspaceError:
            return None
        return [Node(entry.name, entry.path, entry.kind == "directory") for entry in entries]


def _git_directory(project: Path) -> str:
    """The `.git` directory of `project`; empty if there is none, or `.git` is a file."""
    found = (directory / ".git" for directory in (project, *project.parents))
    return next((str(path) for path in found if path.is_dir()), "")

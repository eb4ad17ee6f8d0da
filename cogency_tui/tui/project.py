"""The project's files for the file tree: directories listed in a thread, changes on disk watched.

Nothing here is needed for the first frame; watching begins after it. A tree that cannot be watched is
shown all the same, and listed again when a turn ends.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from cogency_tui.errors import WorkspaceError
from cogency_tui.tui.widgets.file_tree import ROOT, Node

if TYPE_CHECKING:
    from cogency_tui.workspace.paths import Workspace

_STEP = 1000
_DEBOUNCE = 1000
"""Milliseconds: how often the disk is looked at, and for how long changes are gathered."""


def _import_awatch() -> Any:
    from watchfiles import awatch  # pyright: ignore[reportUnknownVariableType]

    return cast("Any", awatch)


class ProjectFiles:
    """Lists and watches the directories of one workspace."""

    def __init__(self, workspace: "Workspace") -> None:
        self._workspace = workspace

    async def list_directory(self, path: str) -> list[Node] | None:
        """What is in `path`, directories first; None if it is no directory that can be read."""
        return await asyncio.to_thread(self._list, path)

    async def watch(self) -> AsyncIterator[set[str]]:
        """The directories in which something changed, each time that something did."""
        awatch = await asyncio.to_thread(_import_awatch)
        root = self._workspace.root
        try:
            async for changes in awatch(root, step=_STEP, debounce=_DEBOUNCE, ignore_permission_denied=True):
                yield set(self._directories(path for _change, path in changes))
        except OSError:
            return

    def _list(self, path: str) -> list[Node] | None:
        from cogency_tui.workspace.ignore import Tree

        try:
            entries = Tree(self._workspace).children(path)
        except WorkspaceError:
            return None
        return [Node(entry.name, entry.path, entry.kind == "directory") for entry in entries]

    def _directories(self, paths: Iterable[str]) -> Iterable[str]:
        root = self._workspace.root
        for path in paths:
            parent = Path(path).parent
            if parent.is_relative_to(root):
                yield parent.relative_to(root).as_posix() if parent != root else ROOT

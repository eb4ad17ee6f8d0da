"""What surrounds the conversation, kept up to date in the background: files, branch, place in the list.

Begun after the first frame. Each worker replaces the one of its kind before it.
"""

from functools import partial
from pathlib import Path

from msgspec.structs import replace
from textual.screen import Screen

from cogency_tui.errors import CogencyError
from cogency_tui.tui.bridge import Bridge
from cogency_tui.tui.project import ProjectFiles
from cogency_tui.tui.repository import is_dirty, read_branch
from cogency_tui.tui.widgets.file_tree import ROOT, FileTree
from cogency_tui.tui.widgets.header import Header, Place


def short_path(path: Path) -> str:
    """`path` with the home directory as `~`."""
    home = Path.home()
    return (
        f"~/{path.relative_to(home).as_posix()}".removesuffix("/.")
        if path.is_relative_to(home)
        else str(path)
    )


class Surroundings:
    """Background work of the main screen."""

    def __init__(self, screen: Screen[None], bridge: Bridge) -> None:
        self._screen = screen
        self._bridge = bridge
        self._project = bridge.agent.project
        self._files = ProjectFiles(bridge.agent.workspace)

    def place(self) -> Place:
        """What the header can say without waiting."""
        return Place(path=short_path(self._project), branch=read_branch(self._project))

    def start(self) -> None:
        """Open the store, list the files, and watch them."""
        self._screen.run_worker(self._open, group="store")
        self._screen.run_worker(self._watch, group="watch")
        self.list_directories([ROOT])
        self.look()

    def look(self) -> None:
        """See again where we are: branch, changes, and which conversation this is."""
        self._screen.run_worker(self._look, group="look", exclusive=True)

    def list_directories(self, paths: list[str]) -> None:
        """Have the file tree show these directories as they are now."""
        self._screen.run_worker(partial(self._list, paths), group="list")

    async def _open(self) -> None:
        try:
            await self._bridge.open()
        except CogencyError as exc:
            self._screen.notify(exc.advice, severity="error", markup=False)

    async def _look(self) -> None:
        header = self._screen.query_one(Header)
        header.move(replace(header.place, branch=read_branch(self._project)))
        try:
            ordinal, count = await self._bridge.place()
        except CogencyError:
            ordinal, count = 0, 0
        header.move(replace(header.place, ordinal=ordinal, count=count))
        if header.place.branch:
            dirty = await is_dirty(self._project)
            header.move(replace(header.place, dirty=dirty))

    async def _list(self, paths: list[str]) -> None:
        tree = self._screen.query_one(FileTree)
        for path in paths:
            entries = await self._files.list_directory(path)
            if entries is None:
                tree.forget(path)
            else:
                tree.list_directory(path, entries)

    async def _watch(self) -> None:
        tree = self._screen.query_one(FileTree)
        async for changed in self._files.watch():
            if shown := [path for path in tree.open_directories if path in changed]:
                await self._list(shown)

"""Background updates of the files pane, and its commands for a file.

Only open directories are listed, and again only when they change. Git runs after changes, never twice at
once, and at most about once a second.
"""

import asyncio
import os
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual.screen import Screen

from cogency_tui.errors import CogencyError
from cogency_tui.tui.bridge import Bridge
from cogency_tui.tui.commands_base import FeatureCommands, Handler
from cogency_tui.tui.display_protocol import Display
from cogency_tui.tui.files.git_marks import read_marks
from cogency_tui.tui.files.pane import FilesPane
from cogency_tui.tui.files.project import Changed, ProjectFiles
from cogency_tui.tui.files.rows import ROOT
from cogency_tui.tui.files.tree import FileTree
from cogency_tui.tui.kit.file_text import read_preview
from cogency_tui.tui.kit.typed_app import app_of

if TYPE_CHECKING:
    from cogency_tui.tui.files.preview import FilePreview
    from cogency_tui.tui.prompt.path_search import Paths

_BETWEEN = 1.0
"""Minimum seconds between two runs of git."""


class FileCommands(FeatureCommands):
    """Serves the files pane of `screen`. `changed` is called when files in shown directories have changed,
    and `marked` after git has run for it, about once a second at most."""

    def __init__(
        self,
        screen: Screen[Any],
        bridge: Bridge,
        display: Display,
        changed: Callable[[], None],
        marked: Callable[[], None],
    ) -> None:
        super().__init__(screen, bridge)
        self._changed = changed
        self._marked = marked
        self._display = display
        self._workspace = bridge.agent.workspace
        self._project = ProjectFiles(self._workspace)
        self._paths: Paths | None = None
        self._requested = ""
        self._stale = asyncio.Event()
        self._previewed = ""
        self._known: FileTree | None = None
        self._also: frozenset[str] = frozenset()

    def handlers(self) -> dict[str, Handler]:
        return {}

    def start(self) -> None:
        """List the project, watch the shown directories, and run git."""
        self._screen.run_worker(self._watch, group="watch")
        self._screen.run_worker(self._store_marks, group="marks")
        self.list_directories([ROOT])
        self.refresh()

    def refresh(self) -> None:
        """Request new marks from git."""
        self._stale.set()

    def list_directories(self, paths: list[str]) -> None:
        """List these directories again in the file tree."""
        self._screen.run_worker(partial(self._list, paths), group="list")

    def list_shown(self) -> None:
        """List all open directories again."""
        self.list_directories(self._tree.open_directories)

    def begin_filter(self) -> None:
        """Read all paths of the project again."""
        self._screen.run_worker(self._read_paths, group="paths-of-filter", exclusive=True)

    def filter(self, text: str) -> None:
        """Show the files that match `text`."""
        self._requested = text
        if not text:
            self._paths = None
        elif self._paths is not None:
            from cogency_tui.tui.kit.fuzzy import matched

            found = {path: matched(text, path) for path in self._paths.find(text)}
            self._screen.query_one(FilesPane).show_found(text, found)
        else:
            self.begin_filter()

    def act(self, what: str, path: str) -> None:
        """Run a command on a file: `preview`, `edit`, `reveal` or `close`."""
        match what:
            case "preview":
                self._screen.run_worker(partial(self._preview, path), group="preview", exclusive=True)
            case "edit":
                self._screen.run_worker(partial(self._edit, path), group="editor", exclusive=True)
            case "reveal":
                self._screen.query_one(FilesPane).reveal_path(path)
            case "close":
                self._close_preview()
            case _:
                pass

    @property
    def _tree(self) -> FileTree:
        # Workers may ask for the tree after the screen's widgets are removed, when a query would fail.
        self._known = self._known or self._screen.query_one(FileTree)
        return self._known

    async def _list(self, paths: list[str]) -> None:
        for path in paths:
            entries = await self._project.list_directory(path)
            if entries is None and path != ROOT:
                self._tree.forget(path)
            else:
                self._tree.list_directory(path, entries or [])
        self._follow()

    def follow_files(self, paths: Iterable[Path]) -> None:
        """Watch the directories of these files as well, in place of those given before."""
        root = self._workspace.root
        inside = [path.relative_to(root) for path in paths if path.is_relative_to(root)]
        self._also = frozenset(path.parent.as_posix() if path.parent.parts else ROOT for path in inside)
        self._follow()

    def _follow(self) -> None:
        self._project.follow({*self._tree.open_directories, *self._also})

    async def _watch(self) -> None:
        async for changed in self._project.changes():
            shown = [path for path in self._tree.open_directories if _concerns(changed, path)]
            if shown:
                await self._list(shown)
            if self._previewed.rpartition("/")[0] in changed.directories or (
                self._previewed and "/" not in self._previewed and ROOT in changed.directories
            ):
                await self._preview(self._previewed, again=True)
            self.refresh()
            self._changed()
            await self._bridge.files_changed()

    async def _store_marks(self) -> None:
        while True:
            await self._stale.wait()
            self._stale.clear()
            self._tree.mark_git(await asyncio.to_thread(read_marks, self._workspace.root))
            self._marked()
            await asyncio.sleep(_BETWEEN)

    async def _read_paths(self) -> None:
        from cogency_tui.tui.prompt.path_search import read_paths

        try:
            self._paths = await asyncio.to_thread(read_paths, self._workspace)
        except CogencyError as exc:
            self.complain(exc)
            return
        if self._requested:
            self.filter(self._requested)

    async def _preview(self, path: str, *, again: bool = False) -> None:
        preview = await asyncio.to_thread(read_preview, self._workspace, path)
        if again and self._previewed != path:
            return
        pane = await self._preview_pane()
        pane.show(preview)
        if not again:
            self._previewed = path
            self._display.show_preview(pane)
            self._screen.set_focus(pane.query_one("#preview-lines"))

    async def _preview_pane(self) -> "FilePreview":
        """The preview pane, mounted on first use."""
        from cogency_tui.tui.files.preview import FilePreview

        if not self._screen.query(FilePreview):
            await self._screen.query_one("#middle").mount(FilePreview(id="preview"))
        return self._screen.query_one(FilePreview)

    def _close_preview(self) -> None:
        self._previewed = ""
        self._display.show_conversation()
        tree = self._tree
        shown = all(node.display for node in tree.ancestors_with_self)
        self._screen.set_focus(tree if shown else self._screen.query_one("#prompt"))

    async def _edit(self, path: str) -> None:
        from cogency_tui.tui.terminal.external_editor import open_outside

        try:
            await open_outside(app_of(self._screen), str(self._workspace.root / path), os.environ)
        except CogencyError as exc:
            self.warn(exc.advice)
        self.list_directories([path.rpartition("/")[0] or ROOT])
        if self._previewed == path:
            await self._preview(path, again=True)
        self.refresh()
        self._changed()


def _concerns(changed: Changed, path: str) -> bool:
    """Return whether an open directory needs listing again: it changed, or its ignore rules did."""
    if path in changed.directories:
        return True
    return any(rules == ROOT or path.startswith(f"{rules}/") for rules in changed.rules)

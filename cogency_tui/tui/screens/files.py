"""What the files pane shows, kept up to date in the background, and what is done with a file from there.

Only directories that are open are listed, and again only when something in them changed. Git is asked after
changes, never twice at once, and at most about once a second.
"""

import asyncio
import os
from functools import partial
from typing import TYPE_CHECKING, Any

from textual.screen import Screen

from cogency_tui.errors import CogencyError
from cogency_tui.tui.bridge import Bridge
from cogency_tui.tui.file_rows import ROOT
from cogency_tui.tui.git_marks import read_marks
from cogency_tui.tui.host import app_of
from cogency_tui.tui.preview import read_preview
from cogency_tui.tui.project import Changed, ProjectFiles
from cogency_tui.tui.screens.collaborator import Collaborator, Handler
from cogency_tui.tui.widgets.file_tree import FileTree
from cogency_tui.tui.widgets.files_pane import FilesPane

if TYPE_CHECKING:
    from cogency_tui.tui.completion.paths import Paths
    from cogency_tui.tui.widgets.file_preview import FilePreview

_BETWEEN = 1.0
"""Seconds between two questions to git, at least."""


class Files(Collaborator):
    """Serves the files pane of `screen`."""

    def __init__(self, screen: Screen[Any], bridge: Bridge) -> None:
        super().__init__(screen, bridge)
        self._workspace = bridge.agent.workspace
        self._project = ProjectFiles(self._workspace)
        self._paths: Paths | None = None
        self._wanted = ""
        self._stale = asyncio.Event()
        self._previewed = ""
        self._known: FileTree | None = None

    def handlers(self) -> dict[str, Handler]:
        return {}

    def start(self) -> None:
        """List the project, watch what is shown, and ask git."""
        self._screen.run_worker(self._watch, group="watch")
        self._screen.run_worker(self._keep_marks, group="marks")
        self.list_directories([ROOT])
        self.look()

    def look(self) -> None:
        """Something may have changed: ask git again."""
        self._stale.set()

    def list_directories(self, paths: list[str]) -> None:
        """Have the file tree show these directories as they are now."""
        self._screen.run_worker(partial(self._list, paths), group="list")

    def list_shown(self) -> None:
        """Have everything that is shown listed again."""
        self.list_directories(self._tree.open_directories)

    def begin_filter(self) -> None:
        """Know all files: those that there are now."""
        self._screen.run_worker(self._read_paths, group="paths-of-filter", exclusive=True)

    def filter(self, text: str) -> None:
        """Show the files that may be meant by `text`."""
        self._wanted = text
        if not text:
            self._paths = None
        elif self._paths is not None:
            from cogency_tui.tui.completion.paths import matched

            found = {path: matched(text, path) for path in self._paths.find(text)}
            self._screen.query_one(FilesPane).show_found(text, found)
        else:
            self.begin_filter()

    def act(self, what: str, path: str) -> None:
        """Do with a file what was asked for: `look`, `edit`, `reveal` or `close`."""
        match what:
            case "look":
                self._screen.run_worker(partial(self._look_at, path), group="preview", exclusive=True)
            case "edit":
                self._screen.run_worker(partial(self._edit, path), group="editor", exclusive=True)
            case "reveal":
                self._screen.query_one(FilesPane).reveal_path(path)
            case "close":
                self._cover(None)
            case _:
                pass

    @property
    def _tree(self) -> FileTree:
        # It is asked for once more when the screen has no widgets any more.
        self._known = self._known or self._screen.query_one(FileTree)
        return self._known

    async def _list(self, paths: list[str]) -> None:
        for path in paths:
            entries = await self._project.list_directory(path)
            if entries is None and path != ROOT:
                self._tree.forget(path)
            else:
                self._tree.list_directory(path, entries or [])
        self._project.follow(self._tree.open_directories)

    async def _watch(self) -> None:
        async for changed in self._project.changes():
            shown = [path for path in self._tree.open_directories if _concerns(changed, path)]
            if shown:
                await self._list(shown)
            if self._previewed.rpartition("/")[0] in changed.directories or (
                self._previewed and "/" not in self._previewed and ROOT in changed.directories
            ):
                await self._look_at(self._previewed, again=True)
            self.look()

    async def _keep_marks(self) -> None:
        while True:
            await self._stale.wait()
            self._stale.clear()
            self._tree.mark_git(await asyncio.to_thread(read_marks, self._workspace.root))
            await asyncio.sleep(_BETWEEN)

    async def _read_paths(self) -> None:
        from cogency_tui.tui.completion.paths import read_paths

        try:
            self._paths = await asyncio.to_thread(read_paths, self._workspace)
        except CogencyError as exc:
            self.complain(exc)
            return
        if self._wanted:
            self.filter(self._wanted)

    async def _look_at(self, path: str, *, again: bool = False) -> None:
        preview = await asyncio.to_thread(read_preview, self._workspace, path)
        if again and self._previewed != path:
            return
        pane = await self._preview_pane()
        pane.show(preview)
        if not again:
            self._previewed = path
            self._cover(pane)

    async def _preview_pane(self) -> "FilePreview":
        """The preview, made when it is first needed."""
        from cogency_tui.tui.widgets.file_preview import FilePreview

        if not self._screen.query(FilePreview):
            await self._screen.query_one("#middle").mount(FilePreview(id="preview"))
        return self._screen.query_one(FilePreview)

    def _cover(self, pane: "FilePreview | None") -> None:
        """Show the preview in the place of the conversation, or the conversation again."""
        from cogency_tui.tui.screens.panes import Panes

        middle = self._screen.query_one("#middle")
        for child in middle.children:
            child.set_class((child.id == "preview") == (pane is None), "-covered")
        if pane is not None:
            self._screen.query_one(Panes).show_middle(self._screen.size.width)
            self._screen.set_focus(pane.query_one("#preview-lines"))
        else:
            self._previewed = ""
            tree = self._tree
            shown = all(node.display for node in tree.ancestors_with_self)
            self._screen.set_focus(tree if shown else self._screen.query_one("#prompt"))

    async def _edit(self, path: str) -> None:
        from cogency_tui.tui.outside_editor import open_outside

        try:
            await open_outside(app_of(self._screen), str(self._workspace.root / path), os.environ)
        except CogencyError as exc:
            self.warn(exc.advice)
        self.list_directories([path.rpartition("/")[0] or ROOT])
        if self._previewed == path:
            await self._look_at(path, again=True)
        self.look()


def _concerns(changed: Changed, path: str) -> bool:
    """Whether an open directory has to be listed again: it changed, or what is ignored in it."""
    if path in changed.directories:
        return True
    return any(rules == ROOT or path.startswith(f"{rules}/") for rules in changed.rules)

"""Directories that tests work in: each is built once for a session, and copied for each test."""

import asyncio
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from threading import Thread

from cogency_tui.store.store import Store

_LINKS_OF_GIT = ("config", "gitdir", ".git")
"""Files in which git names directories by their absolute paths."""


class Templates:
    """Keeps what was built, in `directory`; without one, as in a program of its own, builds each time."""

    directory: Path | None = None

    def __init__(self) -> None:
        self._links: dict[Path, list[Path]] = {}
        self._repositories: dict[Path, list[Path]] = {}

    def build_beside(self, directory: Path) -> None:
        """Keep what is built beside a directory, and have a store built before anything is forked."""
        self.directory = directory.with_name(f"{directory.name}-templates")
        self.directory.mkdir()
        self.copy_store(self.directory / "store")

    def copy(self, build: Callable[[Path], None], target: Path) -> None:
        """Have in `target` what `build` makes in a directory: repositories know that they have moved."""
        if self.directory is None:
            build(target)
            return
        built = self.directory / f"{build.__module__}.{build.__qualname__}"
        if not built.exists():
            built.mkdir()
            build(built)
            # A copy, and each look at it, costs by the file.
            for sample in built.rglob("hooks/*.sample"):
                sample.unlink()
            self._links[built] = [path.relative_to(built) for path in _links_of_git(built)]
            self._repositories[built] = [path.parent.relative_to(built) for path in built.rglob(".git")]
        shutil.copytree(built, target, symlinks=True, dirs_exist_ok=True)
        for pointer in (target / path for path in self._links[built]):
            pointer.write_bytes(pointer.read_bytes().replace(os.fsencode(built), os.fsencode(target)))
        for repository in self._repositories[built]:
            # The index has the inodes of the files that were copied.
            refresh = ["git", "update-index", "-q", "--refresh"]
            subprocess.run(refresh, cwd=target / repository, check=False, capture_output=True)

    def copy_store(self, data: Path) -> None:
        """Have an empty store in `data`, where there is none yet."""
        if self.directory is not None and not data.exists():
            self.copy(_build_store, data)


TEMPLATES = Templates()


def _links_of_git(built: Path) -> list[Path]:
    """The files in which git names directories of this one."""
    found = (path for name in _LINKS_OF_GIT for path in built.rglob(name) if path.is_file())
    return [path for path in found if os.fsencode(built) in path.read_bytes()]


def _build_store(data: Path) -> None:
    async def create() -> None:
        async with await Store.open(data):
            pass

    # The thread of a test has a loop of its own that runs.
    thread = Thread(target=asyncio.run, args=(create(),))
    thread.start()
    thread.join()

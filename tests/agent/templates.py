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
        shutil.copytree(built, target, symlinks=True, dirs_exist_ok=True)
        for pointer in (path for name in _LINKS_OF_GIT for path in target.rglob(name) if path.is_file()):
            text = pointer.read_bytes()
            if os.fsencode(built) in text:
                pointer.write_bytes(text.replace(os.fsencode(built), os.fsencode(target)))
        for repository in target.rglob(".git"):
            # The index has the inodes of the files that were copied.
            refresh = ["git", "update-index", "-q", "--refresh"]
            subprocess.run(refresh, cwd=repository.parent, check=False, capture_output=True)

    def copy_store(self, data: Path) -> None:
        """Have an empty store in `data`, where there is none yet."""
        if self.directory is not None and not data.exists():
            self.copy(_build_store, data)


TEMPLATES = Templates()


def _build_store(data: Path) -> None:
    async def create() -> None:
        async with await Store.open(data):
            pass

    # The thread of a test has a loop of its own that runs.
    thread = Thread(target=asyncio.run, args=(create(),))
    thread.start()
    thread.join()

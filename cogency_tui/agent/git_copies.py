"""What git holds of the files of a project, in place of copies of our own.

Invariant: a file counts as held only while it is as the index has it; and what is read back has its size. The
calls block.
"""

import tempfile
from contextlib import suppress
from dataclasses import replace

from cogency_tui.errors import WorkspaceError
from cogency_tui.store.blobs import Blobs, failures
from cogency_tui.store.versions import Version
from cogency_tui.tools.git_facts import Repository
from cogency_tui.workspace.paths import Workspace
from cogency_tui.workspace.place import Stamp, located, stamp_of, status

MOST_READ = 1000
"""Files that are read after one command: some milliseconds each."""

_PAGE = 1 << 16


class GitCopies:
    """The objects of the repository around the project, of at most `limit` bytes each."""

    def __init__(self, workspace: Workspace, blobs: Blobs, limit: int) -> None:
        self._workspace = workspace
        self._blobs = blobs
        self._limit = limit
        self._read = 0

    def begin(self) -> None:
        """Another command is about to begin."""
        self._read = 0

    def of(self, files: dict[str, Stamp]) -> dict[str, str]:
        """The names of the objects that hold what these files held when they had these stamps."""
        if not files:
            return {}
        found = Repository(self._workspace.root).unchanged(files)
        return {path: name for path, name in found.items() if self._stamp(path) == files[path]}

    def version(self, version: Version, name: str) -> Version:
        """The version of a file that an object holds, kept from now on; as it was where git has it no more.

        Raises:
            StoreError: it cannot be kept.
        """
        if version.size > self._limit or self._read >= MOST_READ:
            return version
        self._read += 1
        with failures("The folder for temporary files"), tempfile.TemporaryFile(buffering=0) as file:
            read = Repository(self._workspace.root).read(name, file)
            if not read:
                # On a full disk git fails as it does without the object, and this fails as well.
                file.write(bytes(_PAGE))
            # Where git has converted the ends of lines the object is of another size.
            if read and file.seek(0, 2) == version.size:
                stored = self._blobs.put(file)
                if version.digest in ("", stored.digest):
                    return replace(version, digest=stored.digest, kept=stored.kept)
        return version

    def _stamp(self, path: str) -> Stamp | None:
        with suppress(WorkspaceError):
            found = status(self._workspace, located(self._workspace, path))
            return None if found is None else stamp_of(found)
        return None

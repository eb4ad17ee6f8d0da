"""Paths as the journal sees them: a file, a symbolic link or nothing, read and restored exactly.

Invariant: no link is followed, neither on the way nor at the path itself; opening never waits; contents of
any size are read in pieces. The calls block: run them in a thread.
"""

import errno
import os
import stat
from collections.abc import Collection, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import BinaryIO, NamedTuple

from cogency_tui.errors import WorkspaceError
from cogency_tui.workspace.nofollow_access import Directory, refusals, require_regular, unused_name
from cogency_tui.workspace.paths import Location, Workspace
from cogency_tui.workspace.protected_names import shown

_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
_GONE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP})
"""Errors of a path that does not exist, or has a link or a file in place of a directory."""


TICK = 50_000_000
"""Nanoseconds within which two writes may leave the same times: the clock of file times is coarse."""


class Stamp(NamedTuple):
    """The system's record of a file: times in nanoseconds, size in bytes. Equal while the file is not
    written."""

    modified: int
    changed: int
    size: int
    mode: int
    inode: int
    device: int

    @property
    def is_link(self) -> bool:
        return stat.S_ISLNK(self.mode)

    @property
    def permissions(self) -> int:
        """Permission bits without set-user-id and the like; 0 for a link, whose own mean nothing."""
        return 0 if self.is_link else stat.S_IMODE(self.mode) & 0o777

    def settled(self, at: int) -> bool:
        """Return whether the last write was so long before `at` that any later write shows in the stamp."""
        return max(self.changed, self.modified) <= at - TICK

    def same_bytes(self, other: "Stamp") -> bool:
        """Return whether it is the same file, not written in between as far as the system knows; modes may
        differ."""
        return self[0] == other[0] and self[2] == other[2] and self[4:] == other[4:]


def stamp_of(status: os.stat_result) -> Stamp:
    """Return the stamp of a status."""
    return Stamp(
        status.st_mtime_ns,
        status.st_ctime_ns,
        status.st_size,
        status.st_mode,
        status.st_ino,
        status.st_dev,
    )


class OpenDirectory(Directory):
    """The directory of a path, with the journal's operations. It closes with the given one."""

    __slots__ = ()

    @classmethod
    def within(cls, directory: Directory) -> "OpenDirectory":
        """Wrap the same open directory."""
        return cls(directory.path, directory._handle)

    def open_file(self, name: str) -> BinaryIO:
        """Open a regular file for reading.

        Raises:
            OSError, WorkspaceError: it cannot be opened, or is no regular file.
        """
        handle = os.open(self.name(name), _READ, dir_fd=self._handle)
        try:
            require_regular(os.fstat(handle), name)
            return os.fdopen(handle, "rb")
        except BaseException:
            os.close(handle)
            raise

    def target(self, name: str) -> bytes:
        """Return the target of a symbolic link."""
        return os.fsencode(os.readlink(self.name(name), dir_fd=self._handle))

    def write_file(self, pieces: Iterable[bytes], mode: int, like: os.stat_result | None) -> str:
        """Write a content to a new file with this mode, synced to the disk; return its name.

        The owner is that of `like`, as far as permitted. Nothing is left if it fails.
        """
        name = unused_name()
        handle = os.open(self.name(name), _CREATE, 0o600, dir_fd=self._handle)
        try:
            with os.fdopen(handle, "wb") as file:
                for piece in pieces:
                    file.write(piece)
                own = os.fstat(handle)
                if like is not None and (own.st_uid, own.st_gid) != (like.st_uid, like.st_gid):
                    with suppress(OSError):
                        os.fchown(handle, like.st_uid, like.st_gid)
                # After the owner, because changing that clears bits of the mode.
                os.fchmod(handle, mode)
                file.flush()
                os.fsync(handle)
        except BaseException:
            self.remove(name)
            raise
        return name

    def write_link(self, target: bytes) -> str:
        """Create a symbolic link with a new name; return the name."""
        name = unused_name()
        os.symlink(os.fsdecode(target), self.name(name), dir_fd=self._handle)
        return name

    def link(self, name: str, new: str) -> None:
        """Give the entry `name` a second name in this directory.

        Raises:
            OSError: it does not exist, or the system does not permit a second name.
        """
        os.link(
            *(self.name(name), self.name(new)),
            src_dir_fd=self._handle,
            dst_dir_fd=self._handle,
            follow_symlinks=False,
        )

    def move(self, name: str, other: "OpenDirectory", new: str) -> None:
        """Rename into another directory, replacing an entry of that name."""
        os.replace(self.name(name), other.name(new), src_dir_fd=self._handle, dst_dir_fd=other._handle)

    def set_mode(self, name: str, mode: int) -> None:
        """Give a regular file these permission bits.

        Raises:
            OSError, WorkspaceError: it cannot be opened, is no regular file, or belongs to another user.
        """
        with self.open_file(name) as file:
            os.fchmod(file.fileno(), mode)

    def make_directory(self, name: str, mode: int = 0o777) -> None:
        """Create a directory.

        Raises:
            OSError: the name is taken, or it cannot be created.
        """
        os.mkdir(self.name(name), mode, dir_fd=self._handle)

    def remove_directory(self, name: str) -> None:
        """Remove a directory.

        Raises:
            OSError: it is not empty, or no directory.
        """
        os.rmdir(self.name(name), dir_fd=self._handle)


def located(workspace: Workspace, path: str) -> Location:
    """Locate a path of the journal, relative to the project's root or absolute; links are not resolved.

    Raises:
        WorkspaceError: no change can have been recorded with this path.
    """
    parts = PurePosixPath(path).parts
    if not parts or ".." in parts or "\0" in path:
        raise WorkspaceError(f"{shown(path)} is not the path of a recorded change.")
    absolute = Path(workspace.root, *parts)
    inside = any(absolute.is_relative_to(root) for root in (workspace.root, *workspace.added))
    return Location(absolute, shown(path), inside, absolute)


def missing_above(workspace: Workspace, location: Location) -> tuple[Path, str]:
    """Return the nearest existing directory above a path, and the topmost missing one below it.

    The second is a path of the journal, empty where none is missing.

    Raises:
        WorkspaceError: the status of one cannot be read.
    """
    base, parts = workspace.split(location)
    missing = ""
    for depth in range(len(parts) - 1, 0, -1):
        above = base.joinpath(*parts[:depth])
        found = status(workspace, Location(above, location.relative, location.inside, above))
        if found is not None and stat.S_ISDIR(found.st_mode):
            return above, missing
        missing = workspace.name_of(above)
    return base, missing


def files_below(directory: Path, without: Collection[str] = ()) -> Iterator[Path]:
    """Yield all entries below a directory except directories; links are not entered.

    Directories with a name of `without` are not entered.
    """
    for above, directories, files in os.walk(directory):
        files += [name for name in directories if Path(above, name).is_symlink()]
        directories[:] = [name for name in directories if name not in without]
        yield from (Path(above, name) for name in files)


@contextmanager
def holding(workspace: Workspace, location: Location) -> Generator[OpenDirectory]:
    """Open the directory that contains a path.

    Raises:
        OSError: there is none.
    """
    with workspace.open_parent(location) as parent:
        yield OpenDirectory.within(parent)


def status(workspace: Workspace, location: Location) -> os.stat_result | None:
    """Return the status of the entry at a path, a link's own; None where there is nothing.

    Raises:
        WorkspaceError: it cannot be read.
    """
    with refusals(location.relative):
        try:
            with holding(workspace, location) as place:
                return place.status(location.path.name)
        except OSError as error:
            if error.errno in _GONE:
                return None
            raise


@contextmanager
def content(workspace: Workspace, location: Location) -> Generator[tuple[Stamp, BinaryIO] | None]:
    """Open the entry at a path, with its stamp: the bytes of a file, or the target of a link.

    None for nothing, and for a directory, which has no content of its own.

    Raises:
        WorkspaceError: it cannot be read, or is a FIFO, a socket or a device.
    """
    with refusals(location.relative):
        try:
            opened = _opened(workspace, location)
        except OSError as error:
            if error.errno not in _GONE:
                raise
            opened = None
        if opened is None:
            yield None
            return
        with opened[1]:
            yield opened


def _opened(workspace: Workspace, location: Location) -> tuple[Stamp, BinaryIO] | None:
    name = location.path.name
    with holding(workspace, location) as place:
        found = place.status(name)
        if stat.S_ISLNK(found.st_mode):
            return stamp_of(found), BytesIO(place.target(name))
        if stat.S_ISDIR(found.st_mode):
            return None
        # Checked before opening: opening a device can have an effect by itself.
        require_regular(found, location.relative)
        file = place.open_file(name)
        return stamp_of(os.fstat(file.fileno())), file

"""Open directories, and access to files in them.

Invariant: a name is opened in a directory that is already open, and a symbolic link is never followed; a
path that was swapped for a link after it was checked fails to open. Only regular files are opened, and
opening never waits. Where the platform cannot open relative to a directory, the same steps use paths, with
a check for links before each.
"""

import errno
import os
import stat
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from types import TracebackType

from cogency_tui.errors import WorkspaceError
from cogency_tui.workspace.protected_names import shown

_RELATIVE = {os.open, os.mkdir, os.rename, os.unlink, os.stat} <= os.supports_dir_fd
_NO_FOLLOW: int = getattr(os, "O_NOFOLLOW", 0)
_DIRECTORY: int = getattr(os, "O_DIRECTORY", 0)
_SEARCH: int = getattr(os, "O_PATH", os.O_RDONLY)
"""Sufficient to look up names in a directory that may be entered but not listed (mode 711)."""

_READ = os.O_RDONLY | _NO_FOLLOW | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_FOLLOW
_BINARY: int = getattr(os, "O_BINARY", 0)

TEMPORARY_PREFIX = ".cogency-"
"""Prefix of files that a write in progress creates beside its target."""

SPARE = ".old"
"""Suffix of files that a write in progress has set aside."""

_CHUNK = 1 << 20

_REASONS = {
    errno.ENOENT: "there is no such file",
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
    errno.ENOTDIR: "a part of the path is not a directory, or has just been replaced by a link",
    errno.EISDIR: "it is a directory",
    errno.ELOOP: "it is a symbolic link that leads nowhere or has just been put there",
    errno.ENAMETOOLONG: "the path is too long",
    errno.ENXIO: "it is not a regular file (socket or device)",
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EROFS: "the file system is read-only",
    errno.EAGAIN: "it has no data to read without waiting",
}


class Directory:
    """A directory that is held open. Close it, or use it as a context manager."""

    __slots__ = ("_handle", "path")

    def __init__(self, path: str, handle: int | None) -> None:
        self.path = path
        self._handle = handle

    @classmethod
    def open(cls, base: Path, parts: Iterable[str] = (), *, create: bool = False) -> "Directory":
        """Walk from `base` down `parts` without following a link.

        Raises:
            OSError: a part does not exist (and `create` is not set), is no directory, or is a link.
        """
        handle = os.open(base, _SEARCH | _DIRECTORY | _NO_FOLLOW) if _RELATIVE else None
        directory = cls(str(base), handle)
        try:
            for part in parts:
                if create:
                    with suppress(FileExistsError):
                        os.mkdir(directory.name(part), dir_fd=directory._handle)
                child = directory.child(part)
                directory.close()
                directory = child
        except BaseException:
            directory.close()
            raise
        return directory

    def child(self, name: str) -> "Directory":
        """Open a directory in this one; a link to a directory is refused."""
        path = f"{self.path.rstrip('/')}/{name}"
        if self._handle is None:
            if not stat.S_ISDIR(self.status(name).st_mode):
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
            return Directory(path, None)
        handle = os.open(name, _SEARCH | _DIRECTORY | _NO_FOLLOW, dir_fd=self._handle)
        return Directory(path, handle)

    @property
    def identity(self) -> tuple[int, int]:
        """Device and inode."""
        status = self.status(".")
        return status.st_dev, status.st_ino

    def name(self, name: str) -> str:
        """Return the name to pass to a system call together with the handle."""
        return name if self._handle is not None else os.path.join(self.path, name)  # noqa: PTH118 (speed)

    def status(self, name: str) -> os.stat_result:
        """Return the status of an entry itself, not of a link's target."""
        return os.stat(self.name(name), dir_fd=self._handle, follow_symlinks=False)

    def entries(self, most: int | None = None) -> list[os.DirEntry[str]]:
        """List the directory, in no order; at most `most` entries."""
        if self._handle is None or os.scandir not in os.supports_fd:
            with os.scandir(self.path) as found:
                return list(islice(found, most))
        listing = os.open(".", os.O_RDONLY | _DIRECTORY, dir_fd=self._handle)
        try:
            with os.scandir(listing) as found:
                return list(islice(found, most))
        finally:
            os.close(listing)

    def read(self, name: str, limit: int) -> bytes:
        """Read a regular file of at most `limit` bytes.

        Raises:
            WorkspaceError: it is no regular file, or is longer than `limit`.
            OSError: it cannot be opened or read.
        """
        if self._handle is None and stat.S_ISLNK(self.status(name).st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name)
        handle = os.open(self.name(name), _READ | _BINARY, dir_fd=self._handle)
        try:
            status = os.fstat(handle)
            require_regular(status, name)
            if status.st_size > limit:
                raise too_long(name, status.st_size, limit)
            data = os.read(handle, status.st_size + 1)
            if len(data) == status.st_size and (status.st_size or not data):
                return data
            # A short read, a growing file, or one of /proc, whose size is not known beforehand.
            pieces = [data]
            total = len(data)
            while data:
                data = os.read(handle, _CHUNK)
                pieces.append(data)
                total += len(data)
                if total > limit:
                    raise too_long(name, total, limit)
            return b"".join(pieces)
        finally:
            os.close(handle)

    def write_temporary(self, data: bytes, like: os.stat_result | None) -> str:
        """Write `data` to a new file, synced to the disk; return its name. Mode and owner are those of
        `like`."""
        name = unused_name()
        mode = 0o644 if like is None else 0o600
        handle = os.open(self.name(name), _CREATE | _BINARY, mode, dir_fd=self._handle)
        try:
            try:
                view = memoryview(data)
                while view:
                    view = view[os.write(handle, view) :]
                if like is not None:
                    _dress(handle, like)
                os.fsync(handle)
            finally:
                os.close(handle)
        except BaseException:
            self.remove(name)
            raise
        return name

    def rename(self, old: str, new: str) -> None:
        """Rename `old` to `new` atomically, replacing a file of that name."""
        os.replace(self.name(old), self.name(new), src_dir_fd=self._handle, dst_dir_fd=self._handle)

    def remove(self, name: str) -> None:
        """Remove a file if it exists."""
        with suppress(FileNotFoundError):
            os.unlink(self.name(name), dir_fd=self._handle)

    def close(self) -> None:
        """Close the handle; closing twice is no error."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def __enter__(self) -> "Directory":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def unused_name(ending: str = ".tmp") -> str:
    """Return a name for a file in progress, or for one that is set aside (`SPARE`): walks ignore such
    files, and those of a killed process can be recognised."""
    # Only a written file needs these modules; the start does not.
    import secrets

    from cogency_tui.temporary_files import owner

    return f"{TEMPORARY_PREFIX}{owner()}-{secrets.token_hex(8)}{ending}"


def require_regular(status: os.stat_result, name: str) -> None:
    """Refuse everything that is no regular file, by its kind.

    Raises:
        WorkspaceError: a directory, link, FIFO, socket or device.
    """
    if stat.S_ISREG(status.st_mode):
        return
    if stat.S_ISDIR(status.st_mode):
        raise WorkspaceError(f"{shown(name)} is a directory, not a file.", "Use `list` to see its content.")
    kinds = (
        (stat.S_ISLNK, "a symbolic link that has just been put there"),
        (stat.S_ISFIFO, "a FIFO"),
        (stat.S_ISSOCK, "a socket"),
    )
    kind = next((text for test, text in kinds if test(status.st_mode)), "a device")
    raise WorkspaceError(f"{shown(name)} is {kind}, not a file.", "Only regular files are read and written.")


def too_long(name: str, size: int, limit: int) -> WorkspaceError:
    """Build the error for a file that does not fit in memory."""
    return WorkspaceError(
        f"{shown(name)} has {size:,} bytes, and at most {limit:,} can be opened.",
        "Show part of it with `shell` (head, tail, sed -n).",
    )


@contextmanager
def refusals(name: str) -> Generator[None, None, None]:
    """Convert the system's errors about `name` to a `WorkspaceError`; nothing else does."""
    try:
        yield
    except OSError as error:
        reason = _REASONS.get(error.errno or 0) or (error.strerror or str(error)).lower()
        raise WorkspaceError(f"{shown(name)}: {reason}.") from error


def _dress(handle: int, like: os.stat_result) -> None:
    """Give a file the owner and mode of the one that it replaces, as far as permitted."""
    if hasattr(os, "fchown"):
        own = os.fstat(handle)
        if (own.st_uid, own.st_gid) != (like.st_uid, like.st_gid):
            with suppress(OSError):
                os.fchown(handle, like.st_uid, like.st_gid)
    if hasattr(os, "fchmod"):
        os.fchmod(handle, stat.S_IMODE(like.st_mode))

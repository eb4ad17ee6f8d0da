"""The contents of files, each stored once under the SHA-256 digest of its bytes.

Invariant: reading returns bytes with the requested digest and size, or raises a `StoreError`. A content
appears under its name whole or not at all, and survives a power cut once `sync` has returned; references to
it are written after that. No file is ever in memory as a whole. The calls block: run them in a thread;
several threads and processes may use one directory at once.
"""

import errno
import hashlib
import os
import re
import secrets
import stat
import time
import zlib
from collections.abc import Collection, Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from cogency_tui import private_files
from cogency_tui.errors import StoreError
from cogency_tui.store.edit_records import Version
from cogency_tui.temporary_files import is_abandoned, prefix

LIMIT = 64 << 20
"""Most bytes of one stored content."""

QUOTA = 4 << 30
"""Most bytes on the disk for all contents."""

GRACE = 24 * 3600.0
"""Seconds for which an unreferenced content stays: another process may be about to refer to it."""

_CHUNK = 1 << 20
_SAMPLE = 1 << 16
_WORTH = 0.9
"""Highest compressed share of a sample's size at which compression is used."""

_RAW = b"="
_ZLIB = b"z"
_LEVEL = 1
_DIGEST = re.compile("[0-9a-f]{64}")
_OTHER = "Set COGENCY_DATA to a directory that you can write to."
_FREE_SPACE = "Free some space there, or set COGENCY_DATA to a directory on another disk."
_LOST = "It cannot be restored; other versions of the file may be available."


@dataclass(frozen=True, slots=True)
class Stored:
    """A content that `put` has read. `stored` is False where it was too large, or the quota was used up."""

    digest: str
    size: int
    stored: bool


@dataclass(frozen=True, slots=True)
class Cleaned:
    """The result of a clean-up: the number of removed contents, and their bytes on the disk."""

    contents: int
    size: int


class Blobs:
    """The contents in `directory`, which is created with the first one.

    `limit` is the most bytes of one, `quota` the most bytes on the disk of all.
    """

    def __init__(self, directory: Path, *, limit: int = LIMIT, quota: int = QUOTA) -> None:
        self.directory = directory
        self._limit = limit
        self._quota = quota
        self._used: int | None = None
        self._place = private_files.place_of(directory)
        self._above = private_files.place_of(directory.parent)
        self._unsynced: set[str] = set()
        self._synced: set[str] = set()
        self._named: set[Path] = set()
        """Directories whose own names are synced to the disk."""

    @property
    def used(self) -> int:
        """Bytes on the disk that the contents take: counted once, then updated for this process."""
        if self._used is None:
            self._used = sum(status.st_size for _, status in self._files())
        return self._used

    @property
    def crowded(self) -> bool:
        """True if a clean-up is due: nine tenths of the quota are used."""
        return self.used > self._quota * 9 // 10

    def put(self, source: BinaryIO, *, limit: int | None = None) -> Stored:
        """Store the whole of `source`, unless it is larger than `limit` (or the limit of all).

        A large source is read twice, and has to be seekable; its bytes at the second reading are stored.

        Raises:
            StoreError: it cannot be written.
            OSError: the source cannot be read.
        """
        most = self._limit if limit is None else min(limit, self._limit)
        source.seek(0)
        first = source.read(_CHUNK)
        if len(first) < _CHUNK:
            return self.put_bytes(first, limit=most)
        digest, size = _hashed(source)
        if self._there(digest):
            return Stored(digest, size, True)
        if size > most or self.used + size > self._quota:
            return Stored(digest, size, False)
        return self._write(source, most) or Stored(digest, size, False)

    def put_bytes(self, data: bytes, *, limit: int | None = None) -> Stored:
        """Store `data`; as `put`."""
        most = self._limit if limit is None else min(limit, self._limit)
        stored = Stored(hashlib.sha256(data).hexdigest(), len(data), True)
        if self._there(stored.digest):
            return stored
        if len(data) > most or self.used + len(data) > self._quota:
            return Stored(stored.digest, stored.size, False)
        return self._write(BytesIO(data), most) or stored

    def version(self, data: bytes, mode: int) -> Version:
        """Store the content of a file with this mode."""
        stored = self.put_bytes(data)
        return Version("file", stored.digest, stored.size, mode, stored.stored)

    def has(self, digest: str) -> bool:
        """Return whether a content is there and whole. Asking counts as use: the content stays for
        `GRACE`."""
        path = self._path(digest)
        try:
            # Before the check, so that a concurrent clean-up leaves it.
            os.utime(path)
            for _ in self._chunks(path, digest):
                pass
        except (OSError, StoreError):
            return False
        return True

    def stream(self, digest: str, size: int) -> Iterator[bytes]:
        """Yield the bytes of a content, in pieces of at most a mebibyte. Use none of them before the last
        has come.

        Raises:
            StoreError: it is not there, or has other bytes.
        """
        return self._chunks(self._path(digest), digest, size)

    def read(self, digest: str, size: int | None = None) -> bytes:
        """Return all bytes of a content, `size` of them if that is known; errors as `stream`."""
        return b"".join(self._chunks(self._path(digest), digest, size))

    def sync(self) -> None:
        """Sync all contents that were stored or found here to the disk.

        Raises:
            StoreError: the disk refuses, or the directory was replaced.
        """
        self._require_same()
        directories: set[Path] = set()
        done: set[str] = set()
        while self._unsynced:
            digest = self._unsynced.pop()
            path = self._path(digest)
            try:
                with failures(path), suppress(FileNotFoundError):
                    _sync(path)
            except StoreError:
                self._unsynced |= {digest, *done}
                raise
            done.add(digest)
            directories.add(path.parent)
        try:
            above = {each.parent for each in directories - self._named}
            if above and self.directory not in self._named:
                above.add(self.directory.parent)
            for directory in sorted(directories | above):
                with failures(directory), suppress(FileNotFoundError):
                    _sync(directory)
            self._named |= directories | above
        except StoreError:
            self._unsynced |= done
            raise
        self._synced |= done

    def _require_same(self) -> None:
        """Check that the directory of the stored contents was not replaced."""
        self._require_same_above()
        place = private_files.place_of(self.directory)
        self._place = self._place or place
        if place != self._place:
            raise self._replaced()

    def _require_same_above(self) -> None:
        """Check that the data directory was not replaced: new contents would be lost once the right one is
        back."""
        above = private_files.place_of(self.directory.parent)
        self._above = self._above or above
        if above != self._above:
            raise self._replaced()

    def _replaced(self) -> StoreError:
        return StoreError(
            f"{self.directory} was removed or replaced while the program is running.",
            "Restore it to continue. After a restart cogency-tui continues without its content.",
        )

    def clean(self, referenced: Collection[str], grace: float = GRACE) -> Cleaned:
        """Remove contents that are not `referenced` and were not used for `grace` seconds.

        Raises:
            StoreError: one cannot be removed.
        """
        contents = size = 0
        latest = time.time() - grace
        for path, status in self._files():
            if path.parent.name + path.name in referenced or status.st_mtime > latest:
                continue
            with failures(path):
                path.unlink(missing_ok=True)
            self._synced.discard(path.parent.name + path.name)
            contents += 1
            size += status.st_size
        # Counted again on next use: other processes store contents there, too.
        self._used = None
        return Cleaned(contents, size)

    def sweep(self) -> None:
        """Remove the unfinished files of processes that have ended."""
        for entry in _listed(self.directory):
            with suppress(OSError):
                if is_abandoned(entry.name, entry.stat(follow_symlinks=False)):
                    Path(entry.path).unlink(missing_ok=True)

    def _write(self, source: BinaryIO, most: int) -> Stored | None:
        """Store the bytes of `source` under their digest; None where there are more than `most`."""
        self._require_same_above()
        with failures(self.directory):
            private_files.make_directory(self.directory)
            temporary = self.directory / f"{prefix('blob')}{secrets.token_hex(8)}.tmp"
            handle = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
            try:
                with os.fdopen(handle, "wb") as target:
                    digest, size = _packed(source, target, most)
                if size > most:
                    temporary.unlink()
                    return None
                path = self._path(digest)
                private_files.make_directory(path.parent)
                length = temporary.stat().st_size
                temporary.replace(path)
            except BaseException:
                temporary.unlink(missing_ok=True)
                raise
        self._used = self.used + length
        self._synced.discard(digest)
        self._unsynced.add(digest)
        return Stored(digest, size, True)

    def _there(self, digest: str) -> bool:
        """Return whether a content is there; another process may have stored it without syncing it yet."""
        found = self.has(digest)
        if found and digest not in self._synced:
            self._unsynced.add(digest)
        return found

    def _chunks(self, path: Path, digest: str, size: int | None = None) -> Generator[bytes]:
        hasher = hashlib.sha256()
        length = 0
        try:
            with open(path, "rb", opener=_opened) as file:
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    raise StoreError(f"{path} is no regular file.", _LOST)
                for piece in _unpacked(file):
                    length += len(piece)
                    if size is not None and length > size:
                        break
                    hasher.update(piece)
                    yield piece
        except FileNotFoundError as exc:
            raise StoreError(f"Stored file content is missing: {path}.", _LOST) from exc
        except OSError as exc:
            raise StoreError(f"{path} cannot be read: {exc.strerror}.") from exc
        except zlib.error as exc:
            raise StoreError(f"Stored file content is damaged: {path}: {exc}.", _LOST) from exc
        if hasher.hexdigest() != digest or length != (length if size is None else size):
            raise StoreError(f"Stored file content is damaged: {path} differs from what was stored.", _LOST)

    def _path(self, digest: str) -> Path:
        if not _DIGEST.fullmatch(digest):
            raise StoreError(f"{digest[:80]!r} is not a digest of stored content.", _LOST)
        return self.directory / digest[:2] / digest[2:]

    def _files(self) -> Iterator[tuple[Path, os.stat_result]]:
        """Yield every content, and the unfinished files of broken-off writes."""
        for entry in _listed(self.directory):
            if entry.name.endswith(".tmp"):
                found = [entry]
            else:
                found = _listed(entry.path) if entry.is_dir(follow_symlinks=False) else []
            for file in found:
                # Another process may clean up, too.
                with suppress(FileNotFoundError):
                    yield Path(file.path), file.stat(follow_symlinks=False)


def _opened(path: str, flags: int) -> int:
    """Open a file without waiting for another process, as a FIFO would."""
    return os.open(path, flags | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)


def _sync(path: Path) -> None:
    handle = _opened(str(path), os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _listed(directory: str | Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as entries:
            return list(entries)
    except FileNotFoundError:
        return []
    except OSError as exc:
        raise StoreError(f"{directory} cannot be read: {exc.strerror}.", _OTHER) from exc


@contextmanager
def failures(path: str | Path) -> Generator[None]:
    """Convert the system's errors at `path`.

    Raises:
        StoreError: in place of an `OSError`.
    """
    try:
        yield
    except OSError as exc:
        hint = _FREE_SPACE if exc.errno in (errno.ENOSPC, errno.EDQUOT) else _OTHER
        raise StoreError(f"{exc.filename or path} cannot be written: {exc.strerror}.", hint) from exc


def _hashed(source: BinaryIO) -> tuple[str, int]:
    hasher = hashlib.sha256()
    size = 0
    source.seek(0)
    while piece := source.read(_CHUNK):
        hasher.update(piece)
        size += len(piece)
    return hasher.hexdigest(), size


def _packed(source: BinaryIO, target: BinaryIO, most: int) -> tuple[str, int]:
    """Write the compressed source, up to `most` bytes and a piece; return the digest and size of its
    bytes."""
    source.seek(0)
    piece = source.read(_CHUNK)
    sample = piece[:_SAMPLE]
    shrinks = len(zlib.compress(sample, _LEVEL)) < len(sample) * _WORTH
    packer = zlib.compressobj(_LEVEL) if shrinks else None
    target.write(_ZLIB if shrinks else _RAW)
    hasher = hashlib.sha256()
    size = 0
    while piece and size <= most:
        hasher.update(piece)
        size += len(piece)
        target.write(packer.compress(piece) if packer else piece)
        piece = source.read(_CHUNK)
    if packer:
        target.write(packer.flush())
    return hasher.hexdigest(), size


def _unpacked(file: BinaryIO) -> Iterator[bytes]:
    form = file.read(1)
    if form == _RAW:
        while piece := file.read(_CHUNK):
            yield piece
    elif form == _ZLIB:
        unpacker = zlib.decompressobj()
        while not unpacker.eof and (packed := file.read(_SAMPLE)):
            while packed:
                yield unpacker.decompress(packed, _CHUNK)
                packed = unpacker.unconsumed_tail

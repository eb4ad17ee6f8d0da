"""The state of the project before a command, on the disk: the changes of a killed process's command can be
determined, and reverted.

Each process has one file, to which each command appends the changes since the one before: stamps and, of
files held in memory only, the bytes, unless git has the very same. The file is synced before the command
begins. Its time is that of the process's last sign of life. The calls block.
"""

import hashlib
import os
import re
import secrets
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import msgspec

from cogency_tui.agent.edits.prior_contents import Known
from cogency_tui.agent.edits.startup_recovery import SHADOWS
from cogency_tui.errors import StoreError
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.database import store_error
from cogency_tui.store.edit_records import Version
from cogency_tui.store.intents import Shadow
from cogency_tui.temporary_files import is_gone, owner
from cogency_tui.workspace.file_or_link import Stamp
from cogency_tui.workspace.git.repository_queries import Repository
from cogency_tui.workspace.paths import Identity
from cogency_tui.workspace.snapshot import Snapshot

_WORTH_ASKING = 1 << 18
"""Bytes of contents above which git is queried for those that it has."""

_LONGEST = 512 << 20
"""Bytes after which a new file is begun."""

_HEAD = 8
_OWNED = re.compile(r"(?P<owner>\d+-[0-9a-f]{12})-[0-9a-f]{8}")


class _Delta(msgspec.Struct, array_like=True, tag="look", frozen=True):
    """The differences from the previous snapshot; `closed` and `unseen` are complete, `protected`, `rules`
    and `places` are present if they differ.
    """

    began: int
    files: dict[bytes, tuple[int, ...]]
    gone: list[bytes]
    directories: list[bytes]
    removed: list[bytes]
    closed: list[bytes]
    protected: list[bytes] | None = None
    rules: dict[bytes, bytes] | None = None
    places: dict[bytes, Identity] | None = None
    unseen: list[bytes] = msgspec.field(default_factory=list[bytes])


class _Content(msgspec.Struct, array_like=True, tag="content", frozen=True):
    """The content of a file: as bytes, as a stored content, or as an object of git's."""

    path: bytes
    stamp: tuple[int, ...]
    digest: str
    size: int
    kept: bool
    object: str
    packed: bytes | None


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(_Delta | _Content)


class ShadowFile:
    """The state of the project at `root` before this process's commands; in the data directory `data`."""

    def __init__(self, data: Path, root: Path, blobs: Blobs) -> None:
        self._directory = data / SHADOWS
        self._root = root
        self._blobs = blobs
        self._path: Path | None = None
        self._earlier: list[Path] = []
        self._length = 0
        self._delta = Snapshot({}, frozenset(), frozenset(), 0)
        self._written: dict[str, Known] = {}

    def append(self, snapshot: Snapshot, known: Mapping[str, Known], *, settled: bool) -> Shadow:
        """Write the current state of the project to the disk for good, and all stored contents with it.

        `settled`: no intent refers to a file of this process except the last.

        Raises:
            StoreError: the disk refuses.
        """
        if settled:
            self._remove(self._earlier)
        if self._path is not None and self._length > _LONGEST:
            self._earlier.append(self._path)
            self._forget()
        new = {path: each for path, each in known.items() if not _same(self._written.get(path), each)}
        self._blobs.sync()
        if self._path is not None and not new and _is_as(self._delta, snapshot):
            self.touch()
            return Shadow(self._path.name, self._length)
        records = [*self._contents(new), _delta(self._delta, snapshot)]
        path = self._path or self._directory / f"{owner()}-{secrets.token_hex(4)}"
        try:
            self._write(path, b"".join(map(_framed, records)))
        except OSError as exc:
            # The record is incomplete: the next command begins another file.
            self._forget()
            raise store_error(exc, path) from exc
        self._written = {path: each._replace(packed=None) for path, each in known.items()}
        self._delta = snapshot
        return Shadow(path.name, self._length)

    @property
    def path(self) -> Path | None:
        """The file whose time is that of the last sign of life."""
        return self._path

    def touch(self) -> None:
        """Give a sign of life."""
        if self._path is not None:
            with suppress(OSError):
                os.utime(self._path)

    def close(self) -> None:
        """Remove the files of this process."""
        self._remove([*self._earlier, *([self._path] if self._path else [])])
        self._forget()

    def read(self, shadow: Shadow) -> tuple[Snapshot, dict[str, Known], int]:
        """The project before a command of any process, and the last sign of life of that process or of its
        command's guard, in nanoseconds of Unix time.

        Raises:
            StoreError: it cannot be read, or is damaged.
        """
        path = self._directory / shadow.name
        try:
            status = path.stat()
            with path.open("rb") as file:
                data = file.read(shadow.position)
        except OSError as exc:
            raise store_error(exc, path) from exc
        if not _OWNED.fullmatch(shadow.name) or len(data) != shadow.position:
            raise StoreError(f"{path} does not match what was written.")
        try:
            # A command can set one of them to a time in the future, but not the other.
            return *_read(_records(data)), min(status.st_mtime_ns, status.st_ctime_ns)
        except (ValueError, TypeError) as exc:
            raise StoreError(f"{path} is damaged: {exc}.") from exc

    def clean(self, referenced: Iterable[str]) -> None:
        """Remove the files of processes that are gone, except those that intents refer to."""
        stays = set(referenced)
        with suppress(OSError):
            for entry in os.scandir(self._directory):
                found = _OWNED.fullmatch(entry.name)
                if found is None or entry.name in stays or not entry.is_file(follow_symlinks=False):
                    continue
                if is_gone(found["owner"]):
                    Path(entry.path).unlink(missing_ok=True)

    def _remove(self, paths: Sequence[Path]) -> None:
        for path in paths:
            with suppress(OSError):
                path.unlink(missing_ok=True)
        self._earlier.clear()

    def _forget(self) -> None:
        self._path, self._length = None, 0
        self._delta = Snapshot({}, frozenset(), frozenset(), 0)
        self._written = {}

    def _contents(self, known: Mapping[str, Known]) -> Iterator[_Content]:
        size = sum(len(each.packed or b"") for each in known.values())
        staged = Repository(self._root).staged() if size > _WORTH_ASKING else {}
        for path, each in known.items():
            name, packed = each.object, each.packed
            if packed is not None and path in staged and _is_object(staged[path], zlib.decompress(packed)):
                name, packed = staged[path], None
            version = each.version
            yield _Content(
                *(os.fsencode(path), tuple(each.stamp), version.digest, version.size),
                *(version.kept, name, packed),
            )

    def _write(self, path: Path, data: bytes) -> None:
        """Append, and sync the data to the disk."""
        fresh = self._path is None
        if fresh:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW
        handle = os.open(path, flags | (os.O_CREAT | os.O_EXCL if fresh else 0), 0o600)
        self._path = path
        try:
            view, place = memoryview(data), self._length
            while view:
                written = os.pwrite(handle, view, place)
                view, place = view[written:], place + written
            os.fsync(handle)
        finally:
            os.close(handle)
        self._length = place
        if fresh:
            for directory in (self._directory, self._directory.parent):
                handle = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
                try:
                    os.fsync(handle)
                finally:
                    os.close(handle)


def _same(written: Known | None, now: Known) -> bool:
    return written is not None and (written.stamp, written.version) == (now.stamp, now.version)


def _is_object(name: str, data: bytes) -> bool:
    """Return whether git's object of this name has these bytes."""
    hasher = hashlib.sha1 if len(name) == hashlib.sha1().digest_size * 2 else hashlib.sha256
    return hasher(b"blob %d\0" % len(data) + data).hexdigest() == name


def _is_as(before: Snapshot, now: Snapshot) -> bool:
    """Return whether nothing differs but the time; the earlier snapshot finds no less."""
    return replace(before, began=now.began) == now


def _delta(before: Snapshot, now: Snapshot) -> _Delta:
    return _Delta(
        now.began,
        {
            os.fsencode(path): tuple(each)
            for path, each in now.files.items()
            if before.files.get(path) != each
        },
        [os.fsencode(path) for path in before.files.keys() - now.files.keys()],
        [os.fsencode(path) for path in now.directories - before.directories],
        [os.fsencode(path) for path in before.directories - now.directories],
        [os.fsencode(path) for path in now.closed],
        None if before.protected == now.protected else [os.fsencode(path) for path in now.protected],
        None if before.rules == now.rules else {os.fsencode(path): now.rules[path] for path in now.rules},
        None
        if before.places == now.places
        else {os.fsencode(path): each for path, each in now.places.items()},
        [os.fsencode(path) for path in now.unseen],
    )


def _framed(record: _Delta | _Content) -> bytes:
    data = _encoder.encode(record)
    return len(data).to_bytes(4, "big") + zlib.crc32(data).to_bytes(4, "big") + data


def _records(data: bytes) -> Iterator[_Delta | _Content]:
    place = 0
    while place < len(data):
        length, check = (int.from_bytes(data[at : at + 4], "big") for at in (place, place + 4))
        record = data[place + _HEAD : place + _HEAD + length]
        if len(record) != length or zlib.crc32(record) != check:
            raise ValueError(f"its content at byte {place:,} is not what was written")
        yield _decoder.decode(record)
        place += _HEAD + length


def _read(records: Iterable[_Delta | _Content]) -> tuple[Snapshot, dict[str, Known]]:
    files: dict[str, Stamp] = {}
    directories: set[str] = set()
    known: dict[str, Known] = {}
    closed, protected, unseen, began = frozenset[str](), frozenset[str](), frozenset[str](), 0
    rules: dict[str, bytes] = {}
    places: dict[str, Identity] = {}
    for record in records:
        if isinstance(record, _Content):
            stamp = Stamp(*record.stamp)
            kind = "link" if stamp.is_link else "file"
            version = Version(kind, record.digest, record.size, stamp.permissions, record.kept)
            known[os.fsdecode(record.path)] = Known(
                stamp, version, time.time_ns(), record.packed, record.object
            )
            continue
        files |= {os.fsdecode(path): Stamp(*stamp) for path, stamp in record.files.items()}
        for path in record.gone:
            files.pop(os.fsdecode(path), None)
        directories |= set(map(os.fsdecode, record.directories))
        directories -= set(map(os.fsdecode, record.removed))
        closed, began = frozenset(map(os.fsdecode, record.closed)), record.began
        unseen = frozenset(map(os.fsdecode, record.unseen))
        if record.protected is not None:
            protected = frozenset(map(os.fsdecode, record.protected))
        if record.rules is not None:
            rules = {os.fsdecode(path): each for path, each in record.rules.items()}
        if record.places is not None:
            places = {os.fsdecode(path): each for path, each in record.places.items()}
    found = Snapshot(
        files, frozenset(directories), closed, began, protected, rules, unseen=unseen, places=places
    )
    return found, known

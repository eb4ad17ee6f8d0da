"""The contents of the project's files, cached so that a command's changes can be reverted.

It is unknown beforehand which files a command will change. Before each command, in this order and within
`JournalLimits`:

1. Small files are held in memory, compressed, protected files first, then the latest; later only those are
   read again whose stamp has changed. If a command changes one, its bytes are stored. In case the process
   is killed they are on the disk too, except for those that git has (see `crash_snapshot`).
2. Files that git tracks, and that match the index, are left there, whatever their size, and read from git's
   objects if a command changes them. Files behind a filter or an encoding (Git LFS) are excluded.
3. The rest, large or beyond the number of small files, is stored on the disk, read in pieces: in the
   background from the first turn on (`store_some`), and a few large ones before a command (`store_large`).

What none of these covers is unknown, and reported as such: files above `largest` bytes; untracked ones beyond
`beforehand` bytes in all, or not reached yet; ignored ones, and large ones outside the project; git's
copies, if the command removes the objects as well, or changes more than 1,000 files that only git has.
Copies that share their blocks with the file (hard links, reflinks) would be cheaper, but change with it, or
are not available everywhere.

The module also stores the contents that a tool's planned changes replace (`planned`, `made`) and the files
at stake before a destructive command (`at_stake`). The calls block, and are not for several threads at
once.
"""

import hashlib
import tempfile
import time
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from cogency_tui.agent.edits.file_history import FileHistory, change_of, unbroken
from cogency_tui.errors import WorkspaceError
from cogency_tui.store.blobs import LIMIT, QUOTA, Blobs, failures
from cogency_tui.store.edit_records import ABSENT, Edit, FileChange, Version
from cogency_tui.tools.file_writes import Change, load
from cogency_tui.workspace.file_or_link import (
    TICK,
    OpenDirectory,
    Stamp,
    content,
    files_below,
    holding,
    located,
    missing_above,
    stamp_of,
    status,
)
from cogency_tui.workspace.git.repository_queries import Repository
from cogency_tui.workspace.gitignore_walk import ALWAYS
from cogency_tui.workspace.paths import Workspace
from cogency_tui.workspace.snapshot import Snapshot

MOST_READ = 1000
"""Files that are read after one command, at some milliseconds each."""

_PAGE = 1 << 16


class GitCopies:
    """Git's objects as copies of the project's files, of at most `limit` bytes each.

    Invariant: a file counts as available only while it matches the index; a content that is read back has
    the file's size.
    """

    def __init__(self, workspace: Workspace, blobs: Blobs, limit: int) -> None:
        self._workspace = workspace
        self._blobs = blobs
        self._limit = limit
        self._read = 0

    def begin(self) -> None:
        """Begin another command: reset the count of files read."""
        self._read = 0

    def of(self, files: dict[str, Stamp]) -> dict[str, str]:
        """The names of the objects that hold the contents of these files at these stamps."""
        if not files:
            return {}
        found = Repository(self._workspace.root).unchanged(files)
        return {path: name for path, name in found.items() if self._stamp(path) == files[path]}

    def version(self, version: Version, name: str) -> Version:
        """The version of a file from an object, stored from now on; unchanged if git no longer has it.

        Raises:
            StoreError: it cannot be stored.
        """
        if version.size > self._limit or self._read >= MOST_READ:
            return version
        self._read += 1
        with failures("The folder for temporary files"), tempfile.TemporaryFile(buffering=0) as file:
            read = Repository(self._workspace.root).read(name, file)
            if not read:
                # On a full disk git fails as it does for a missing object, and this write fails as well.
                file.write(bytes(_PAGE))
            # If git has converted line endings, the object has another size.
            if read and file.seek(0, 2) == version.size:
                stored = self._blobs.put(file)
                if version.digest in ("", stored.digest):
                    return replace(version, digest=stored.digest, kept=stored.stored)
        return version

    def _stamp(self, path: str) -> Stamp | None:
        with suppress(WorkspaceError):
            found = status(self._workspace, located(self._workspace, path))
            return None if found is None else stamp_of(found)
        return None


_STEP = 8 << 20
"""Bytes that are stored in the background at once: a command waits for no more than that."""

_MOST_READINGS = 3
"""Attempts to read a file that is being written."""

_LEAST = 1 << 16
"""The least that a file counts towards a step: each takes time, however small."""


@dataclass(frozen=True, slots=True)
class JournalLimits:
    """The limits of the journal, in bytes and files.

    `largest`: one stored content; `quota`: all on the disk. Files held in memory for any command have at most
    `small` bytes, `small_total` in all, and number `small_files`. Of the rest, `beforehand` bytes are
    stored on the disk in all, `at_once` of them while a command waits. Of what a command left in a file, at
    most `left` is stored. Before a destructive command, `stake_total` bytes in `stake_files` files are
    stored.
    """

    largest: int = LIMIT
    quota: int = QUOTA
    small: int = 1 << 20
    small_total: int = 64 << 20
    small_files: int = 5000
    beforehand: int = 512 << 20
    at_once: int = 32 << 20
    left: int = 16 << 20
    stake_total: int = 256 << 20
    stake_files: int = 5000


class Known(NamedTuple):
    """The content of a file at this stamp.

    `packed` are its bytes, unless they are stored already; `object` is the name of git's object, if the
    content is to be read from git. `read` is the time of reading, in nanoseconds of Unix time.
    """

    stamp: Stamp
    version: Version
    read: int
    packed: bytes | None = None
    object: str = ""

    def holds(self, stamp: Stamp) -> bool:
        """Return whether it is the content of a file with this stamp: no later write can have left the stamp
        unchanged.
        """
        return self.stamp == stamp and stamp.settled(self.read)


class LinkAbove(NamedTuple):
    """A symbolic link in place of a directory at a path of the journal; it may lead into the project."""

    path: str
    is_inside: bool


class Contents:
    """The known contents of the files of `workspace`, by their paths in the journal.

    While it is `retaining`, previous contents remain when files change: they are needed until the changes
    of a running command are recorded.
    """

    def __init__(self, workspace: Workspace, blobs: Blobs, limits: JournalLimits) -> None:
        self._workspace = workspace
        self._blobs = blobs
        self._limits = limits
        self._known: dict[str, Known] = {}
        self._earlier: dict[tuple[str, Stamp], Known] = {}
        self._retaining = False
        self._uncovered: dict[str, Stamp] = {}
        self._refused: dict[str, Stamp] = {}
        self._beforehand = 0
        self._git = GitCopies(workspace, blobs, limits.largest)

    @property
    def retaining(self) -> bool:
        """True if previous contents are also retained."""
        return self._retaining

    @retaining.setter
    def retaining(self, value: bool) -> None:
        self._retaining = value
        if not value:
            self._earlier.clear()

    @property
    def known(self) -> Mapping[str, Known]:
        """The known contents of the files as they are now."""
        return self._known

    def of_another(self, known: Mapping[str, Known]) -> "Contents":
        """The contents of the same files for a process that knew these of them."""
        found = Contents(self._workspace, self._blobs, self._limits)
        found._known |= known
        return found

    def refresh(self, snapshot: Snapshot) -> Snapshot:
        """Cache the contents of small files, within the limits; drop those of files that are gone.

        Returns the snapshot with the current stamps of files that were written since it was taken: their
        contents at that time are not known.
        """
        files = snapshot.files
        written: dict[str, Stamp] = {}
        self._git.begin()
        held = self._to_hold(snapshot)
        unknown: defaultdict[str, list[str]] = defaultdict(list)
        for path in held:
            known = self._known.get(path)
            if known is None or not known.holds(files[path]):
                unknown[path.rpartition("/")[0]].append(path)
        for path in [
            path
            for path, known in self._known.items()
            if path not in held and (path not in files or known.packed is not None)
        ]:
            self._forget(path)
        for paths in unknown.values():
            with (
                suppress(OSError, WorkspaceError),
                holding(self._workspace, located(self._workspace, paths[0])) as place,
            ):
                for path in paths:
                    stamp = self._remember(path, files[path], place)
                    if stamp != files[path]:
                        written[path] = stamp
        elsewhere = {path for path in snapshot.protected if path.startswith("/")}
        self._see_to_the_rest(files, held | elsewhere)
        return replace(snapshot, files=files | written) if written else snapshot

    def store_large(self) -> None:
        """Store large files that nothing else covers, up to `at_once` bytes, before a command.

        Raises:
            StoreError: one cannot be written.
        """
        large = [path for path, stamp in self._uncovered.items() if stamp.size > self._limits.small]
        room = self._limits.at_once
        for path in large:
            if room <= 0:
                break
            room -= self._store(path)

    def store_some(self) -> bool:
        """Store a few of the files that nothing else covers; whether any remain. Errors as `store_large`."""
        room = _STEP
        while self._uncovered and room > 0:
            room -= max(_LEAST, self._store(next(iter(self._uncovered))))
        return bool(self._uncovered)

    def before(self, path: str, stamp: Stamp) -> Version:
        """The content of a file at this stamp, as far as it is known; from now on it is stored.

        Raises:
            StoreError: it cannot be stored.
        """
        known = self._known.get(path)
        if known is None or known.stamp != stamp:
            known = self._earlier.get((path, stamp))
        if known is None:
            return Version("link" if stamp.is_link else "file", "", stamp.size, stamp.permissions)
        version = known.version
        if known.object:
            return self._git.version(version, known.object)
        if known.packed is not None:
            stored = self._blobs.put_bytes(zlib.decompress(known.packed))
            return replace(version, kept=stored.stored)
        # It may have been cleaned up since; if not, it now remains until the edit refers to it.
        return replace(version, kept=version.kept and self._blobs.has(version.digest))

    def link_above(self, path: str) -> LinkAbove | None:
        """Return the first symbolic link among the directories above a path."""
        base, parts = self._workspace.split(located(self._workspace, path))
        for depth in range(1, len(parts)):
            above = base.joinpath(*parts[:depth])
            if above.is_symlink():
                is_inside = above.resolve().is_relative_to(self._workspace.root)
                return LinkAbove(self._workspace.name_of(above), is_inside)
        return None

    def now(self, path: str, limit: int | None = None) -> Version:
        """The current version at a path, stored up to `limit` bytes (or the general limit); a directory
        counts as absent.

        Raises:
            WorkspaceError: it cannot be read, or is a FIFO, a socket or a device.
            StoreError: it cannot be stored.
        """
        location = located(self._workspace, path)
        self._forget(path)
        read = time.time_ns()
        with content(self._workspace, location) as found:
            if found is None:
                return ABSENT
            stamp, source = found
            stored = self._blobs.put(source, limit=limit)
        version = _version(stamp, stored.digest, stored.size, kept=stored.stored)
        after = status(self._workspace, location)
        # Otherwise it was written while it was read: the stored content may be of no single moment.
        if after is not None and stamp_of(after) == stamp:
            self._known[path] = Known(stamp, version, read)
        return version

    def below(self, path: str) -> list[str] | None:
        """The paths of everything in a directory except directories; None if there is no directory."""
        top = located(self._workspace, path).path
        if top.is_symlink() or not top.is_dir():
            return None
        return [self._workspace.name_of(file) for file in files_below(top)]

    def _to_hold(self, snapshot: Snapshot) -> set[str]:
        """The small files to hold in memory."""
        limits, files, protected = self._limits, snapshot.files, snapshot.protected
        small = [path for path, stamp in files.items() if stamp.size <= limits.small]
        small.sort(key=lambda path: files[path].modified, reverse=True)
        small = [
            *(path for path in small if path in protected),
            *(path for path in small if path not in protected),
        ]
        held: set[str] = set()
        total = 0
        for path in small[: limits.small_files]:
            total += files[path].size
            if total > limits.small_total:
                break
            held.add(path)
        return held

    def _see_to_the_rest(self, files: dict[str, Stamp], held: set[str]) -> None:
        """Determine which other files git has, and which remain to be stored."""
        rest = {path: stamp for path, stamp in files.items() if path not in held and not stamp.is_link}
        self._refused = {path: stamp for path, stamp in self._refused.items() if rest.get(path) == stamp}
        stored = {path: known for path, known in self._known.items() if path in rest and known.version.kept}
        self._beforehand = sum(known.version.size for known in stored.values())
        uncovered = {
            path: stamp
            for path, stamp in rest.items()
            if self._refused.get(path) != stamp and not self._covers(path, stamp)
        }
        read = time.time_ns()
        for path, name in self._git.of(uncovered).items():
            stamp = uncovered[path]
            self._forget(path)
            version = Version("file", "", stamp.size, stamp.permissions)
            self._known[path] = Known(stamp, version, read, object=name)
        latest = sorted(uncovered, key=lambda path: uncovered[path].modified, reverse=True)
        self._uncovered = {
            path: uncovered[path] for path in latest if not self._covers(path, uncovered[path])
        }

    def _covers(self, path: str, stamp: Stamp) -> bool:
        known = self._known.get(path)
        return known is not None and known.holds(stamp) and bool(known.object or known.version.kept)

    def _store(self, path: str) -> int:
        """Store one of the uncovered files, if the limits allow it; the number of bytes read for that."""
        stamp = self._uncovered[path]
        size = 0
        if stamp.size <= min(self._limits.largest, self._limits.beforehand - self._beforehand):
            with suppress(WorkspaceError):
                size = self.now(path).size
        del self._uncovered[path]
        if path in self._known and self._known[path].version.kept:
            self._beforehand += size
        else:
            # Not tried again until it changes.
            self._refused[path] = stamp
        return size

    def _forget(self, path: str) -> None:
        known = self._known.pop(path, None)
        if known is not None and self._retaining:
            self._earlier[path, known.stamp] = known

    def _remember(self, path: str, seen: Stamp, place: OpenDirectory) -> Stamp:
        """Cache a file; its stamp, or that of the snapshot if it cannot be read."""
        name = PurePosixPath(path).name
        self._forget(path)
        stamp = seen
        for _ in range(_MOST_READINGS):
            read = time.time_ns()
            with suppress(OSError, WorkspaceError):
                data = place.target(name) if stamp.is_link else place.read(name, self._limits.small)
                now = stamp_of(place.status(name))
                if now == stamp:
                    version = _version(stamp, hashlib.sha256(data).hexdigest(), len(data))
                    self._known[path] = Known(stamp, version, read, zlib.compress(data, 1))
                    return stamp
                stamp = now
        return seen


def _version(stamp: Stamp, digest: str, size: int, *, kept: bool = False) -> Version:
    return Version("link" if stamp.is_link else "file", digest, size, stamp.permissions, kept)


_REBUILT = ALWAYS - {".git", ".hg", ".svn", ".jj"}
"""Directories that are not stored with their surroundings: a program made them, and can again."""


_LARGEST = 4 << 20
"""Bytes of a content that is compared with that of the last commit."""


def planned(changes: Iterable[Change], workspace: Workspace, blobs: Blobs) -> list[FileChange]:
    """The planned changes, with the contents that they replace and those that they write stored for good."""
    found = [_planned(change, workspace, blobs) for change in changes]
    blobs.sync()
    return found


def _planned(change: Change, workspace: Workspace, blobs: Blobs) -> FileChange:
    path = workspace.name_of(change.location.path)
    after = _version_of(change, change.after, workspace, blobs)
    if change.before is None:
        return FileChange(path, ABSENT, after, made=missing_above(workspace, change.location)[1])
    return FileChange(path, _version_of(change, change.before, workspace, blobs), after)


def made(
    changes: Sequence[Change], plans: Sequence[FileChange], failed: bool, workspace: Workspace
) -> list[FileChange]:
    """The changes as they came out; of a failed call, those that were really made."""
    found: list[FileChange] = []
    for change, plan in zip(changes, plans, strict=True):
        if failed and not _is_made(change, workspace):
            continue
        after = replace(plan.after, mode=_mode(change, workspace))
        if not plan.before.equals(after):
            found.append(replace(plan, after=after))
    return found


def made_since(
    began: float, found: Iterable[FileHistory], workspace: Workspace, blobs: Blobs
) -> dict[Path, Version]:
    """The versions of files whose loss loses nothing but what the calls since `began` wrote."""
    # An older file was only moved there.
    own = [
        each
        for each in found
        if each.change.after.kept and _is_newer(located(workspace, each.change.path).path, began)
    ]
    earlier = {each.change.path: list(_alone_since(each.edits)) for each in own}
    committed = _committed([path for path, versions in earlier.items() if versions], workspace)
    return {
        located(workspace, each.change.path).path: each.change.after
        for each in own
        if any(
            version.kind == "absent"
            or (path == each.change.path and _is_object(version, committed.get(path), blobs))
            for path, version in earlier[each.change.path]
        )
    }


def _alone_since(edits: Sequence[Edit]) -> Iterator[tuple[str, Version]]:
    """The paths and versions of a file before each of its last edits, back to the last change by others."""
    own = reversed(unbroken(edits, change_of)[-1])
    for edit in takewhile(lambda edit: not edit.shared_with, own):
        yield edit.old_path or edit.path, edit.before


def _is_newer(path: Path, began: float) -> bool:
    try:
        return path.lstat().st_mtime_ns >= began * 1e9 - TICK
    except OSError:
        return False


def _committed(paths: Sequence[str], workspace: Workspace) -> dict[str, str]:
    """The names of the objects that the last commit has at these paths."""
    repository = Repository(workspace.root)
    found = repository.committed(paths) if paths and repository.root == workspace.root else None
    return {path: name for path, (_mode, name) in (found or {}).items()}


def _is_object(version: Version, name: str | None, blobs: Blobs) -> bool:
    """Return whether git's object of this name has this content."""
    if name is None or not version.kept or version.size > _LARGEST:
        return False
    data = blobs.read(version.digest, version.size)
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest() == name


def _is_made(change: Change, workspace: Workspace) -> bool:
    try:
        return load(workspace, change.location) == change.after
    except WorkspaceError:
        return False


def _version_of(change: Change, data: bytes, workspace: Workspace, blobs: Blobs) -> Version:
    return blobs.version(data, _mode(change, workspace))


def _mode(change: Change, workspace: Workspace) -> int:
    found = status(workspace, change.location)
    return stamp_of(found).permissions if found else 0


def at_stake(
    paths: Sequence[Path], workspace: Workspace, contents: Contents, limits: JournalLimits
) -> tuple[list[FileChange], int, int]:
    """Every file at these paths as it is, then the number of files left out and their bytes."""
    found: list[FileChange] = []
    room = limits.stake_total
    left_out = left_out_size = 0
    for path in (each for top in paths for each in _files_at(top)):
        name = workspace.name_of(path)
        try:
            there = status(workspace, located(workspace, name))
            if there is None:
                continue
            if len(found) == limits.stake_files or there.st_size > min(room, limits.largest):
                left_out, left_out_size = left_out + 1, left_out_size + there.st_size
                continue
            version = contents.now(name)
        except WorkspaceError:
            continue
        room -= version.size
        found.append(FileChange(name, version, version))
    return found, left_out, left_out_size


def _files_at(path: Path) -> Iterable[Path]:
    return files_below(path, _REBUILT) if path.is_dir() and not path.is_symlink() else [path]

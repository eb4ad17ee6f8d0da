"""What the files of the project hold: remembered, so that a command's changes can be taken back.

Nobody says beforehand which files a command will change. Before each, in this order and within `Limits`:

1. Small files are remembered in memory, compressed, the guarded first, then the latest; later only those are
   read again whose stamp has changed. Of one that turns out to be changed the bytes are kept. For the case
   that the process is killed they are on the disk too, but for those that git has (see `shadow`).
2. What is tracked by git and as the index has it is left there, whatever its size, and read from git's
   objects when it turns out to be changed. Not so what a filter or an encoding stands between (Git LFS).
3. The rest, large or beyond the number of small ones, is kept on the disk, read in pieces: in the background
   from the first turn on (`keep_some`), and a few of the large ones before a command (`keep_large`).

What none of these covers is unknown, and said to be: files above `kept` bytes; untracked ones beyond
`beforehand` bytes in all, or not come to yet; ignored ones, and large ones outside the project; what git
had, if the command removes the objects with it, or changes more than 1,000 files that only git has. Copies
that share their blocks with the file (hard links, reflinks) would be cheaper, but change with it, or are not
everywhere. The calls block, and are not for several threads at once.
"""

import hashlib
import time
import zlib
from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import NamedTuple

from cogency_tui.agent.git_copies import GitCopies
from cogency_tui.errors import WorkspaceError
from cogency_tui.store.blobs import LIMIT, QUOTA, Blobs
from cogency_tui.store.versions import ABSENT, Version
from cogency_tui.workspace.paths import Workspace
from cogency_tui.workspace.place import Place, Stamp, content, files_below, holding, located, stamp_of, status
from cogency_tui.workspace.snapshot import Snapshot

_STEP = 8 << 20
"""Bytes that are kept in the background at once: a command waits for no more than that."""

_MOST_READINGS = 3
"""How often a file is read that is written meanwhile."""

_LEAST = 1 << 16
"""What a file counts at least there: each takes time, however small."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What the journal keeps, in bytes and files.

    `kept` of one content, `quota` of all on the disk. Remembered for any command: files of at most `small`
    bytes, `small_total` in all, `small_files` of them. Kept on the disk of what else is there: `beforehand`
    in all, `at_once` while a command waits. Kept of what a command left in a file: at most `left`. Kept of
    what is at stake before a command that destroys: `stake_total` in `stake_files` files.
    """

    kept: int = LIMIT
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
    """What a file held when it had this stamp; `packed` are its bytes, unless they are kept already, and
    `object` is what git calls them, where it is to be asked for them.

    `read` is when, in nanoseconds of Unix time.
    """

    stamp: Stamp
    version: Version
    read: int
    packed: bytes | None = None
    object: str = ""

    def holds(self, stamp: Stamp) -> bool:
        """Whether it says what a file with this stamp holds: no later write can have left it as it is."""
        return self.stamp == stamp and stamp.settled(self.read)


class Contents:
    """What is known of the files of `workspace`, by their paths in the journal.

    While it is `retaining`, what files held before is not forgotten when they change: a command that runs
    has yet to be told what it changed.
    """

    def __init__(self, workspace: Workspace, blobs: Blobs, limits: Limits) -> None:
        self._workspace = workspace
        self._blobs = blobs
        self._limits = limits
        self._known: dict[str, Known] = {}
        self._earlier: dict[tuple[str, Stamp], Known] = {}
        self._retaining = False
        self._uncovered: dict[str, Stamp] = {}
        self._refused: dict[str, Stamp] = {}
        self._beforehand = 0
        self._git = GitCopies(workspace, blobs, limits.kept)

    @property
    def retaining(self) -> bool:
        """Whether what files held before is remembered, too."""
        return self._retaining

    @retaining.setter
    def retaining(self, value: bool) -> None:
        self._retaining = value
        if not value:
            self._earlier.clear()

    @property
    def known(self) -> Mapping[str, Known]:
        """What is known of the files as they are now."""
        return self._known

    def resume(self, known: Mapping[str, Known]) -> None:
        """Know what another process knew of the files as they were."""
        self._known |= known

    def refresh(self, snapshot: Snapshot) -> Snapshot:
        """Remember what small files hold now, as far as the limits go; what is gone is forgotten.

        Returns the snapshot with the files that were written since it was taken as they are now: what they
        held then is not known.
        """
        files = snapshot.files
        written: dict[str, Stamp] = {}
        self._git.begin()
        wanted = self._wanted(snapshot)
        unknown: defaultdict[str, list[str]] = defaultdict(list)
        for path in wanted:
            known = self._known.get(path)
            if known is None or not known.holds(files[path]):
                unknown[path.rpartition("/")[0]].append(path)
        for path in [
            path
            for path, known in self._known.items()
            if path not in wanted and (path not in files or known.packed is not None)
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
        elsewhere = {path for path in snapshot.guarded if path.startswith("/")}
        self._see_to_the_rest(files, wanted | elsewhere)
        return replace(snapshot, files=files | written) if written else snapshot

    def keep_large(self) -> None:
        """Keep large files that nothing else covers, `at_once` bytes of them: before a command.

        Raises:
            StoreError: one cannot be written.
        """
        large = [path for path, stamp in self._uncovered.items() if stamp.size > self._limits.small]
        room = self._limits.at_once
        for path in large:
            if room <= 0:
                break
            room -= self._keep(path)

    def keep_some(self) -> bool:
        """Keep a few of the files that nothing else covers; whether any is left. Errors as `keep_large`."""
        room = _STEP
        while self._uncovered and room > 0:
            room -= max(_LEAST, self._keep(next(iter(self._uncovered))))
        return bool(self._uncovered)

    def before(self, path: str, stamp: Stamp) -> Version:
        """What a file held when it had this stamp, as far as it is known; from now on it is kept.

        Raises:
            StoreError: it cannot be kept.
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
            return replace(version, kept=stored.kept)
        # It may have been cleaned up since; where not, it now stays until the edit refers to it.
        return replace(version, kept=version.kept and self._blobs.has(version.digest))

    def now(self, path: str, limit: int | None = None) -> Version:
        """What is at a path now, kept up to `limit` bytes (or that of all); a directory is nothing.

        Raises:
            WorkspaceError: it cannot be read, or is a FIFO, a socket or a device.
            StoreError: it cannot be kept.
        """
        location = located(self._workspace, path)
        self._forget(path)
        read = time.time_ns()
        with content(self._workspace, location) as found:
            if found is None:
                return ABSENT
            stamp, source = found
            stored = self._blobs.put(source, limit=limit)
        version = _version(stamp, stored.digest, stored.size, kept=stored.kept)
        after = status(self._workspace, location)
        # Otherwise it was written while it was read: what was kept may be of no moment.
        if after is not None and stamp_of(after) == stamp:
            self._known[path] = Known(stamp, version, read)
        return version

    def below(self, path: str) -> list[str] | None:
        """The paths of everything in a directory but directories; None where there is no directory."""
        top = located(self._workspace, path).path
        if top.is_symlink() or not top.is_dir():
            return None
        return [self._workspace.name_of(file) for file in files_below(top)]

    def _wanted(self, snapshot: Snapshot) -> set[str]:
        """The small files to remember."""
        limits, files, guarded = self._limits, snapshot.files, snapshot.guarded
        small = [path for path, stamp in files.items() if stamp.size <= limits.small]
        small.sort(key=lambda path: files[path].modified, reverse=True)
        small = [
            *(path for path in small if path in guarded),
            *(path for path in small if path not in guarded),
        ]
        wanted: set[str] = set()
        total = 0
        for path in small[: limits.small_files]:
            total += files[path].size
            if total > limits.small_total:
                break
            wanted.add(path)
        return wanted

    def _see_to_the_rest(self, files: dict[str, Stamp], wanted: set[str]) -> None:
        """Find out which other files git has, and which are left to be kept."""
        rest = {path: stamp for path, stamp in files.items() if path not in wanted and not stamp.is_link}
        self._refused = {path: stamp for path, stamp in self._refused.items() if rest.get(path) == stamp}
        kept = {path: known for path, known in self._known.items() if path in rest and known.version.kept}
        self._beforehand = sum(known.version.size for known in kept.values())
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

    def _keep(self, path: str) -> int:
        """Keep one of the uncovered files, if the limits allow it; the bytes that were read for that."""
        stamp = self._uncovered[path]
        size = 0
        if stamp.size <= min(self._limits.kept, self._limits.beforehand - self._beforehand):
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

    def _remember(self, path: str, looked: Stamp, place: Place) -> Stamp:
        """The stamp of what is remembered; that of the look where nothing can be."""
        name = PurePosixPath(path).name
        self._forget(path)
        stamp = looked
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
        return looked


def _version(stamp: Stamp, digest: str, size: int, *, kept: bool = False) -> Version:
    return Version("link" if stamp.is_link else "file", digest, size, stamp.permissions, kept)

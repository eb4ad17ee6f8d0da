"""The provable changes of a command whose end was not observed; all others may be the user's.

Invariant: a change is provable only if nothing at its path, nor any directory on the way there, can have
been written, moved or linked later. Times of change (ctime) decide, which no program can set. The calls
block.
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from cogency_tui.store.edit_records import FileChange
from cogency_tui.workspace import protected_file_discovery
from cogency_tui.workspace.directory_identity import identity_of
from cogency_tui.workspace.paths import Workspace
from cogency_tui.workspace.snapshot import Snapshot


class Lifetime:
    """Determines what was changed between the snapshot `before` a command and its last sign of life,
    `until` in nanoseconds of Unix time; `after` is the current snapshot.
    """

    def __init__(self, workspace: Workspace, before: Snapshot, after: Snapshot, until: int) -> None:
        self._workspace = workspace
        self._before = before
        self._after = after
        self._until = until
        self._roots = frozenset((workspace.root, *workspace.added, *protected_file_discovery.home()))

    def proves(self, change: FileChange) -> bool:
        """Return whether a change was made within the lifetime, and is still as it was made."""
        if change.old_path and not self._has_lost(change.old_path, at=change.path):
            return False
        return self._has_lost(change.path) if change.after.kind == "absent" else self._has_got(change.path)

    def _has_got(self, path: str) -> bool:
        is_led_to = path in self._after.led and path not in self._before.protected
        found = _status(self._workspace.root / path)
        return not is_led_to and found is not None and self._is_earlier(found) and self._leads_there(path)

    def _has_lost(self, path: str, at: str = "") -> bool:
        """Return whether the file at a path was removed within the lifetime; if it is now `at` another path,
        that file's own time decides.
        """
        place = self._workspace.root / path
        there = _status(place)
        if there is not None:
            # Something else is in its place.
            return self._is_earlier(there) and self._leads_there(path)
        if at:
            return self._leads_there(path)
        nearest = next((found for each in place.parents if (found := _status(each)) is not None), None)
        return nearest is not None and self._is_earlier(nearest) and self._leads_there(path)

    def _leads_there(self, path: str) -> bool:
        """Return whether the directories on the way to a path are those that the command found, or left
        there."""
        return all(self._existed_before(each) for each in self._above(path))

    def _above(self, path: str) -> Iterator[Path]:
        for above in (self._workspace.root / path).parents:
            if above in self._roots:
                return
            yield above

    def _existed_before(self, directory: Path) -> bool:
        found = _status(directory)
        if found is None:
            return True
        if not stat.S_ISDIR(found.st_mode):
            return False
        return self._before.places.get(str(directory)) == identity_of(found) or self._is_earlier(found)

    def _is_earlier(self, found: os.stat_result) -> bool:
        return found.st_ctime_ns <= self._until


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.lstat()
    except OSError:
        return None

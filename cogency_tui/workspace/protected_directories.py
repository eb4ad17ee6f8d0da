"""The directories that lead to protected files, held open while commands run: each is found again, and
restored, where it was replaced by a link or moved away.

A link in place of such a directory, or of one above it, leads to files that an attacker has chosen,
whatever the protected files themselves contain. Each component of these paths below the home directory or the
project is checked, once in each pass. `.git` is left out (see `git/directories.py`).

In the project only a directory counts that was moved and replaced by a link, or moved though its name is
protected: links there are files like others. The calls block; several threads may make them.
"""

import os
import secrets
import stat
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import Literal, NamedTuple

from cogency_tui.errors import WorkspaceError
from cogency_tui.workspace import protected_file_discovery
from cogency_tui.workspace.directory_identity import DirectoryHandle, identity_of
from cogency_tui.workspace.file_or_link import OpenDirectory, holding, located
from cogency_tui.workspace.nofollow_access import refusals
from cogency_tui.workspace.paths import Identity, Location, Workspace
from cogency_tui.workspace.protected_names import is_protected_name, shown

MOST_HELD = 256
"""Most directories that are held open. Any other is found again only where a link in its place leads to
it."""

_RIGHTS = stat.S_IRWXU
"""Permissions that the owner needs to search a directory, and to restore files in it."""

_MOST_LINKS = 40
"""Most links in one path."""

_MOST_SEARCHED = 50_000
"""Most entries that are searched for directories that were moved."""

_MOST_DISPLACED = 20

_LONGEST = 50
"""Characters of a name that are kept in the name of what is set aside."""


class _State(NamedTuple):
    """The entry at a path: a link has a `target`, a directory a `mode`."""

    kind: Literal["directory", "link", "other"]
    identity: Identity
    target: str = ""
    mode: int = 0

    @property
    def is_link(self) -> bool:
        return self.kind == "link"

    @property
    def is_directory(self) -> bool:
        return self.kind == "directory"

    def is_as(self, other: "_State | None") -> bool:
        """Return whether it leads to the same place."""
        if other is None or self.kind != other.kind:
            return False
        return self.target == other.target if self.is_link else self.identity == other.identity

    def is_closed_to(self, before: "_State | None") -> bool:
        """Return whether it is the same directory, with fewer permissions for its owner than before."""
        return self.is_directory and self.is_as(before) and bool((before or self).mode & ~self.mode & _RIGHTS)


_StateOf = Callable[[str], _State | None]


@dataclass(frozen=True, slots=True)
class Replaced:
    """A path that leads to protected files, and that a command has replaced or closed: `name` is its name to
    show, `description` states the change, and `leads` is the target of the link that is there, if one is."""

    path: Path
    name: str
    description: str
    leads: Path | None = None


class Restored(NamedTuple):
    """The present name of what was in the place of a restored directory, and the reason why only a part was
    restored; each empty where there is none."""

    aside: str
    missing: str


class ProtectedDirectories:
    """The directories of the user's protected files, and those of the protected files of `workspace`."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._lock = Lock()
        self._bases: list[str] = []
        self._above: set[str] = set()
        self._before: dict[str, _State | None] = {}
        self._handles: dict[str, DirectoryHandle] = {}
        self._of_user: set[str] = set()

    def hold(self, files: Iterable[str]) -> None:
        """Record the present directories, including those of these protected files (paths of the journal),
        except those that are held already."""
        with self._lock:
            bases = map(str, {*self._roots, *protected_file_discovery.home()})
            self._bases = sorted(bases, key=len, reverse=True)
            root = str(self._workspace.root)
            self._above |= {os.path.join(root, each.rpartition("/")[0]) for each in files}  # noqa: PTH118 (speed)
            self._hold()

    def changes(self) -> list[Replaced]:
        """Return the changes since, of each path the first component; and before these the closed
        directories."""
        now = _memory()
        found: dict[str, Replaced] = {}
        with self._lock:
            for path in (*protected_file_discovery.directories(self._roots), *self._above):
                for here in self._along(path, now):
                    if here not in found and (change := self._change(here, now(here))) is not None:
                        found[here] = change
                    if here in found or _leads_elsewhere(self._before.get(here), now(here)):
                        break
        return sorted(found.values(), key=lambda each: (len(each.path.parts), each.path))

    def accept(self, change: Replaced) -> None:
        """Record the present state instead."""
        with self._lock:
            self._accept(str(change.path))

    def put_back(self, change: Replaced) -> Restored:
        """Restore the previous state.

        Raises:
            WorkspaceError: nothing of it can be restored.
        """
        path, missing = change.path, ""
        with self._lock, refusals(shown(str(path))):
            before = self._before.get(str(path))
            if before is not None and (now := _state(str(path))) is not None and now.is_as(before):
                path.chmod(before.mode)
                return Restored("", "")
            with _in(self._workspace, path) as place:
                aside = _make_way(place, path.name)
                if before is not None and before.is_link:
                    place.move(place.write_link(os.fsencode(before.target)), place, path.name)
                elif before is not None and before.is_directory:
                    missing = self._move_back(change, before, place)
                    if missing:
                        place.make_directory(path.name, before.mode)
            if missing:
                self._accept(str(path))
        return Restored(self._workspace.name_of(path.with_name(aside)) if aside else "", missing)

    def close(self) -> None:
        """Close all handles."""
        with self._lock:
            for handle in self._handles.values():
                handle.close()
            for held in (self._handles, self._before, self._above, self._of_user):
                held.clear()

    def _accept(self, path: str) -> None:
        for each in [each for each in self._before if f"{each}/".startswith(f"{path}/")]:
            del self._before[each]
            if (handle := self._handles.pop(each, None)) is not None:
                handle.close()
        self._hold()

    def _hold(self) -> None:
        for path in protected_file_discovery.directories(self._roots):
            self._of_user.update(self._along(path, self._held))
        for path in self._above:
            for _ in self._along(path, self._held):
                continue

    def _held(self, path: str) -> _State | None:
        """Return the recorded state of a path; from now on it is held."""
        if path not in self._before:
            state = self._before[path] = _state(path)
            if state is not None and state.is_directory and len(self._handles) < MOST_HELD:
                with suppress(OSError):
                    self._handles[path] = DirectoryHandle(path)
        return self._before[path]

    def _along(self, path: str, state_of: _StateOf) -> Iterator[str]:
        """Yield the components of a path below its trusted part, each in a directory that is no link, up to
        the first that is missing; those of the targets of links among them."""
        at, left = self._split(path)
        links = 0
        state_of(at)
        yield at
        while left and links < _MOST_LINKS:
            part = left.pop()
            if part == ".git":
                return
            if part in ("", ".", ".."):
                at = os.path.dirname(at) if part == ".." else at  # noqa: PTH120 (speed)
                continue
            here = f"{at.rstrip('/')}/{part}"
            state = state_of(here)
            yield here
            if state is None or state.kind == "other":
                return
            if state.is_directory:
                at = here
                continue
            links += 1
            if state.target.startswith("/"):
                at, further = self._split(state.target)
            else:
                further = state.target.split("/")[::-1]
            left += further

    def _split(self, path: str) -> tuple[str, list[str]]:
        """Split a path into its trusted directory and the names below it, the last first."""
        base = next((each for each in self._bases if f"{path}/".startswith(f"{each}/")), "/")
        return base, path[len(base) :].split("/")[::-1]

    def _change(self, path: str, now: _State | None) -> Replaced | None:
        """Return the change of a path, if it counts."""
        before = self._before.get(path)
        is_closed = now is not None and now.is_closed_to(before)
        is_same = now is before is None or (now is not None and now.is_as(before))
        if not is_closed and (is_same or not self._is_replaced(path, before, now)):
            return None
        name = shown(self._workspace.name_of(Path(path)))
        if is_closed:
            return Replaced(Path(path), name, f"removed permissions from the directory {name}")
        leads = _target(path, now)
        where = self._where(path, before, leads)
        moved = "" if where is None else f", which is now {shown(self._workspace.name_of(where))}"
        if now is not None and now.is_link:
            did, by = ("linked", "to") if before is None else ("replaced", "by a link to")
            comma = "," if moved else ""
            return Replaced(Path(path), name, f"{did} {name}{moved}{comma} {by} {shown(now.target)}", leads)
        did = (
            "replaced" if now is not None else "removed" if before is not None and before.is_link else "moved"
        )
        what = "the link " if before is not None and before.is_link else ""
        return Replaced(Path(path), name, f"{did} {what}{name}{moved}")

    def _is_replaced(self, path: str, before: _State | None, now: _State | None) -> bool:
        becomes_link = now is not None and now.is_link
        moved = self._where(path, before, _target(path, now)) is not None
        if path not in self._of_user and any(Path(path).is_relative_to(root) for root in self._roots):
            return moved and (becomes_link or is_protected_name(os.path.basename(path)))  # noqa: PTH119 (as text)
        if becomes_link or moved:
            return True
        if before is None or before.kind == "other":
            return False
        return before.is_link or (now is not None and now.kind == "other")

    @property
    def _roots(self) -> tuple[Path, ...]:
        return self._workspace.root, *self._workspace.added

    def _where(self, path: str, before: _State | None, leads: Path | None) -> Path | None:
        """Return where the directory that was at a path is now, given where a link there `leads`; None
        where it is gone."""
        if before is None or not before.is_directory:
            return None
        candidates = [] if leads is None else [leads]
        if path in self._handles and (now := self._handles[path].path()) is not None:
            candidates.insert(0, now)
        return next((each for each in candidates if before.is_as(_state(str(each)))), None)

    def _move_back(self, change: Replaced, before: _State, place: OpenDirectory) -> str:
        """Move a directory to its previous place; return the reason why it was not, empty where it was."""
        path, name = change.path, shown(self._workspace.name_of(change.path))
        where = self._where(str(path), before, change.leads)
        if where is None:
            copy = f"; look for the others in {shown(str(change.leads))}" if change.leads else ""
            return f"{name} itself is gone: only its protected files are restored{copy}"
        try:
            # Otherwise only root could move it.
            where.chmod(before.mode)
            with _in(self._workspace, where) as other:
                other.move(where.name, place, path.name)
        except (OSError, WorkspaceError):
            return f"the former directory {name} cannot be moved back: it is now {shown(str(where))}"
        return ""


def places(workspace: Workspace, files: Iterable[str], searched: Iterable[str] = ()) -> dict[str, Identity]:
    """Return the directories that lead to these protected files and the user's, and those `searched` for such
    files, by absolute path."""
    roots = frozenset(map(str, (workspace.root, *workspace.added, *protected_file_discovery.home())))
    found: dict[str, Identity] = {}
    seen: set[str] = set()
    leading = {path.rpartition("/")[0] for path in files}
    for directory in (
        *(str(workspace.root / each) for each in leading),
        *searched,
        *protected_file_discovery.directories((workspace.root, *workspace.added)),
    ):
        path = directory
        while path and path not in roots and path not in seen:
            seen.add(path)
            if (state := _state(path)) is not None and state.is_directory:
                found[path] = state.identity
            path = path.rpartition("/")[0]
    return found


def displaced(workspace: Workspace, before: Mapping[str, Identity]) -> list[str]:
    """Describe the changes of earlier `places`: those that are elsewhere now, and those that a link
    replaces. A directory that is gone, and in none that is searched, is left out."""
    gone: dict[str, Identity] = {}
    for path, identity in sorted(before.items()):
        state = _state(path)
        is_there = state is not None and state.identity == identity
        if not is_there and gone.keys().isdisjoint(map(str, Path(path).parents)):
            gone[path] = identity
    now = _found_again(workspace, gone) if gone else {}
    description = (
        _displacement(workspace, path, _state(path), now.get(identity))
        for path, identity in islice(gone.items(), _MOST_DISPLACED)
    )
    return [each for each in description if each]


def _displacement(workspace: Workspace, path: str, state: _State | None, now: Path | None) -> str:
    name = shown(workspace.name_of(Path(path)))
    where = "" if now is None else shown(workspace.name_of(now))
    if state is not None and state.is_link:
        to = shown(state.target)
        return f"{name} is now a link to {to}, and the former directory is {where or 'not found'}"
    return f"the former directory {name} is now {where}" if where else ""


def _found_again(workspace: Workspace, gone: Mapping[str, Identity]) -> dict[Identity, Path]:
    """Locate directories: beside their old places, in the project or in the home directory."""
    wanted = set(gone.values())
    inodes = {inode for _, inode in wanted}
    found: dict[Identity, Path] = {}
    beside = (os.path.dirname(path) for path in gone)  # noqa: PTH120 (as text)
    left = deque(
        dict.fromkeys(
            (*beside, *map(str, (workspace.root, *workspace.added, *protected_file_discovery.home())))
        )
    )
    count = 0
    while left and count < _MOST_SEARCHED and len(found) < len(wanted):
        with suppress(OSError), os.scandir(left.popleft()) as entries:
            for entry in islice(entries, _MOST_SEARCHED - count):
                count += 1
                if not entry.is_dir(follow_symlinks=False):
                    continue
                left.append(entry.path)
                if entry.inode() in inodes and (state := _state(entry.path)) and state.identity in wanted:
                    found.setdefault(state.identity, Path(entry.path))
    return found


def make_way(workspace: Workspace, path: str) -> str:
    """Make way for a file at a path of the journal, where there is a directory, or an entry that is neither
    a file nor a link; return its new name, empty where nothing was there or it was empty.

    Raises:
        WorkspaceError: it cannot be moved.
    """
    where = located(workspace, path).path
    state = _state(str(where))
    if state is None or state.is_link or where.is_file():
        return ""
    with refusals(shown(path)), _in(workspace, where) as place:
        moved = _make_way(place, where.name)
    return workspace.name_of(where.with_name(moved)) if moved else ""


def open_directories(workspace: Workspace, paths: Iterable[str]) -> dict[Path, int]:
    """Open the closed directories above these paths of the journal for their owner; return the previous
    mode of each."""
    above = {each for path in paths for each in located(workspace, path).path.parents}
    closed: dict[Path, int] = {}
    for path in sorted(above, key=lambda path: len(path.parts)):
        state = _state(str(path))
        if state is not None and state.is_directory and _RIGHTS & ~state.mode:
            with suppress(OSError):
                path.chmod(state.mode | _RIGHTS)
                closed[path] = state.mode
    return closed


def close_directories(closed: dict[Path, int]) -> None:
    """Restore the modes of directories, as far as they exist."""
    for path in reversed(closed):
        with suppress(OSError):
            path.chmod(closed[path])


def _make_way(place: OpenDirectory, name: str) -> str:
    """Remove a link or an empty directory, and rename anything else; return the new name."""
    try:
        mode = place.status(name).st_mode
    except FileNotFoundError:
        return ""
    if stat.S_ISLNK(mode):
        place.remove(name)
        return ""
    if stat.S_ISDIR(mode):
        with suppress(OSError):
            place.remove_directory(name)
            return ""
    moved = f"{name[:_LONGEST]}.aside-{secrets.token_hex(4)}"
    place.move(name, place, moved)
    return moved


def _in(workspace: Workspace, path: Path) -> AbstractContextManager[OpenDirectory]:
    """Open the directory that contains a path."""
    return holding(workspace, Location(path, shown(str(path)), False, path))


def _leads_elsewhere(before: _State | None, now: _State | None) -> bool:
    return now is not None and now.is_link and not now.is_as(before)


def _state(path: str) -> _State | None:
    """Return the entry at a path; None where there is none, or it cannot be determined."""
    try:
        found = os.lstat(path)
        if stat.S_ISLNK(found.st_mode):
            return _State("link", identity_of(found), os.readlink(path))  # noqa: PTH115 (as it is written)
    except (OSError, ValueError):
        return None
    kind = "directory" if stat.S_ISDIR(found.st_mode) else "other"
    return _State(kind, identity_of(found), mode=stat.S_IMODE(found.st_mode))


def _memory() -> _StateOf:
    """Return a function that reads the state of each path once."""
    known: dict[str, _State | None] = {}

    def read(path: str) -> _State | None:
        if path not in known:
            known[path] = _state(path)
        return known[path]

    return read


def _target(path: str, state: _State | None) -> Path | None:
    """Return the target of a link; None where the path is none."""
    return Path(os.path.realpath(path)) if state is not None and state.is_link else None

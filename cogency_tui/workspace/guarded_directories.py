"""The directories that lead to guarded files, held while commands run: found again, and put back, where one
was replaced by a link or moved away.

A link in place of such a directory, or of one above it, leads to files that somebody else has chosen,
whatever the guarded files themselves hold. Each component of these paths below the home directory or the
project is looked at, once for each look. `.git` is left out (see `git_directories`).

In the project only a directory counts that was moved and replaced by a link, or moved though its name is
guarded: links there are files like others. The calls block; several threads may make them.
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
from cogency_tui.workspace import guarded
from cogency_tui.workspace.directory import refusals
from cogency_tui.workspace.directory_handle import DirectoryHandle, identity_of
from cogency_tui.workspace.names import is_guarded_name, shown
from cogency_tui.workspace.paths import Identity, Location, Workspace
from cogency_tui.workspace.place import Place, holding, located

MOST_HELD = 256
"""Directories that are held open. Any other is found again only where a link in its place leads to it."""

_RIGHTS = stat.S_IRWXU
"""What its owner needs to look into a directory, and to put files back there."""

_MOST_LINKS = 40
"""Links that one path leads through."""

_MOST_SEARCHED = 50_000
"""Entries that are looked at for directories that are not at their places."""

_MOST_DISPLACED = 20

_LONGEST = 50
"""Characters of a name that are taken over into that of what is put aside."""


class _State(NamedTuple):
    """What stands at a path: a link has a `target`, a directory a `mode`."""

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
        """Whether it leads to the same place."""
        if other is None or self.kind != other.kind:
            return False
        return self.target == other.target if self.is_link else self.identity == other.identity

    def is_closed_to(self, before: "_State | None") -> bool:
        """Whether it is the directory that was there, and its owner may do less in it than before."""
        return self.is_directory and self.is_as(before) and bool((before or self).mode & ~self.mode & _RIGHTS)


_Look = Callable[[str], _State | None]


@dataclass(frozen=True, slots=True)
class Replaced:
    """A path that leads to guarded files, and that a command has replaced or closed: `name` is how it is
    called, `told` says how it came to that, and `leads` is where the link leads that stands there, if one
    does."""

    path: Path
    name: str
    told: str
    leads: Path | None = None


class Restored(NamedTuple):
    """What stood in the place of what was put back, by its name now, and why only a part of it was put back;
    empty where nothing did, or all was."""

    aside: str
    missing: str


class GuardedDirectories:
    """The directories of the user's guarded files, and those of the guarded files of `workspace`."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._lock = Lock()
        self._bases: list[str] = []
        self._above: set[str] = set()
        self._before: dict[str, _State | None] = {}
        self._handles: dict[str, DirectoryHandle] = {}
        self._of_user: set[str] = set()

    def hold(self, files: Iterable[str]) -> None:
        """Take note of the directories as they are now, those of these guarded files (paths of the journal)
        among them, but for those that are held already."""
        with self._lock:
            bases = map(str, {*self._roots, *guarded.home()})
            self._bases = sorted(bases, key=len, reverse=True)
            root = str(self._workspace.root)
            self._above |= {os.path.join(root, each.rpartition("/")[0]) for each in files}  # noqa: PTH118 (speed)
            self._hold()

    def changes(self) -> list[Replaced]:
        """What was replaced since, of each path the first component; and before that what was closed."""
        now = _memory()
        found: dict[str, Replaced] = {}
        with self._lock:
            for path in (*guarded.directories(self._roots), *self._above):
                for here in self._along(path, now):
                    if here not in found and (change := self._change(here, now(here))) is not None:
                        found[here] = change
                    if here in found or _leads_elsewhere(self._before.get(here), now(here)):
                        break
        return sorted(found.values(), key=lambda each: (len(each.path.parts), each.path))

    def accept(self, change: Replaced) -> None:
        """Take note of what is there now instead."""
        with self._lock:
            self._accept(str(change.path))

    def put_back(self, change: Replaced) -> Restored:
        """Have what was there before.

        Raises:
            WorkspaceError: nothing of it can be put back.
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
        """Let go of all that is held."""
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
        for path in guarded.directories(self._roots):
            self._of_user.update(self._along(path, self._held))
        for path in self._above:
            for _ in self._along(path, self._held):
                continue

    def _held(self, path: str) -> _State | None:
        """What is known of a path; from now on it is held."""
        if path not in self._before:
            state = self._before[path] = _state(path)
            if state is not None and state.is_directory and len(self._handles) < MOST_HELD:
                with suppress(OSError):
                    self._handles[path] = DirectoryHandle(path)
        return self._before[path]

    def _along(self, path: str, look: _Look) -> Iterator[str]:
        """The components of a path from that which is taken to be there, each in a directory that is no link,
        up to the first that is missing; those of the targets of links among them."""
        at, left = self._split(path)
        links = 0
        look(at)
        yield at
        while left and links < _MOST_LINKS:
            part = left.pop()
            if part == ".git":
                return
            if part in ("", ".", ".."):
                at = os.path.dirname(at) if part == ".." else at  # noqa: PTH120 (speed)
                continue
            here = f"{at.rstrip('/')}/{part}"
            state = look(here)
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
        """The directory above a path that is taken to be there, and the names below it, the last first."""
        base = next((each for each in self._bases if f"{path}/".startswith(f"{each}/")), "/")
        return base, path[len(base) :].split("/")[::-1]

    def _change(self, path: str, now: _State | None) -> Replaced | None:
        """What became of a path, if that counts."""
        before = self._before.get(path)
        is_closed = now is not None and now.is_closed_to(before)
        is_same = now is before is None or (now is not None and now.is_as(before))
        if not is_closed and (is_same or not self._is_replaced(path, before, now)):
            return None
        name = shown(self._workspace.name_of(Path(path)))
        if is_closed:
            return Replaced(Path(path), name, f"took rights away from the directory {name}")
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
            return moved and (becomes_link or is_guarded_name(os.path.basename(path)))  # noqa: PTH119 (as text)
        if becomes_link or moved:
            return True
        if before is None or before.kind == "other":
            return False
        return before.is_link or (now is not None and now.kind == "other")

    @property
    def _roots(self) -> tuple[Path, ...]:
        return self._workspace.root, *self._workspace.added

    def _where(self, path: str, before: _State | None, leads: Path | None) -> Path | None:
        """Where a directory is now that was at a path, where a link `leads` now; None where it is gone."""
        if before is None or not before.is_directory:
            return None
        candidates = [] if leads is None else [leads]
        if path in self._handles and (now := self._handles[path].path()) is not None:
            candidates.insert(0, now)
        return next((each for each in candidates if before.is_as(_state(str(each)))), None)

    def _move_back(self, change: Replaced, before: _State, place: Place) -> str:
        """Move a directory to where it was; why it is not, empty where it is."""
        path, name = change.path, shown(self._workspace.name_of(change.path))
        where = self._where(str(path), before, change.leads)
        if where is None:
            copy = f"; look for the others in {shown(str(change.leads))}" if change.leads else ""
            return f"{name} itself is gone: only the files in it that are guarded are put back{copy}"
        try:
            # Else nobody but root could move it.
            where.chmod(before.mode)
            with _in(self._workspace, where) as other:
                other.move(where.name, place, path.name)
        except (OSError, WorkspaceError):
            return f"the directory that was {name} cannot be moved back: it is {shown(str(where))}"
        return ""


def places(workspace: Workspace, files: Iterable[str]) -> dict[str, Identity]:
    """The directories that lead to these guarded files and to those of the user, by absolute path."""
    roots = frozenset(map(str, (workspace.root, *workspace.added, *guarded.home())))
    found: dict[str, Identity] = {}
    seen: set[str] = set()
    leading = {path.rpartition("/")[0] for path in files}
    for directory in (
        *(str(workspace.root / each) for each in leading),
        *guarded.directories((workspace.root, *workspace.added)),
    ):
        path = directory
        while path and path not in roots and path not in seen:
            seen.add(path)
            if (state := _state(path)) is not None and state.is_directory:
                found[path] = state.identity
            path = path.rpartition("/")[0]
    return found


def displaced(workspace: Workspace, before: Mapping[str, Identity]) -> list[str]:
    """What became of the `places` of an earlier moment, in words: of those that are elsewhere now, and those
    that a link stands for. One that is gone, and in no directory that is searched, is left out."""
    gone: dict[str, Identity] = {}
    for path, identity in sorted(before.items()):
        state = _state(path)
        is_there = state is not None and state.identity == identity
        if not is_there and gone.keys().isdisjoint(map(str, Path(path).parents)):
            gone[path] = identity
    now = _found_again(workspace, gone) if gone else {}
    told = (
        _told_of(workspace, path, _state(path), now.get(identity))
        for path, identity in islice(gone.items(), _MOST_DISPLACED)
    )
    return [each for each in told if each]


def _told_of(workspace: Workspace, path: str, state: _State | None, now: Path | None) -> str:
    name = shown(workspace.name_of(Path(path)))
    where = "" if now is None else shown(workspace.name_of(now))
    if state is not None and state.is_link:
        to = shown(state.target)
        return f"{name} is a link to {to} now, and the directory that it was is {where or 'not found'}"
    return f"the directory that was {name} is now {where}" if where else ""


def _found_again(workspace: Workspace, gone: Mapping[str, Identity]) -> dict[Identity, Path]:
    """Where directories are now: beside where they were, in the project or in the home directory."""
    wanted = set(gone.values())
    inodes = {inode for _, inode in wanted}
    found: dict[Identity, Path] = {}
    beside = (os.path.dirname(path) for path in gone)  # noqa: PTH120 (as text)
    left = deque(dict.fromkeys((*beside, *map(str, (workspace.root, *workspace.added, *guarded.home())))))
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
    """Make way for a file at a path of the journal, where a directory stands, or what is neither a file nor a
    link; what it is called now, empty where none was there or it was empty.

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
    """Let the owner change what is at these paths of the journal: those of the directories above them that
    were closed, each with the mode that it had."""
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
    """Give directories back the modes that they had, as far as they are there."""
    for path in reversed(closed):
        with suppress(OSError):
            path.chmod(closed[path])


def _make_way(place: Place, name: str) -> str:
    """Remove a link or an empty directory, and give another name to anything else; the name."""
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


def _in(workspace: Workspace, path: Path) -> AbstractContextManager[Place]:
    """The directory that holds a path."""
    return holding(workspace, Location(path, shown(str(path)), False, path))


def _leads_elsewhere(before: _State | None, now: _State | None) -> bool:
    return now is not None and now.is_link and not now.is_as(before)


def _state(path: str) -> _State | None:
    """What stands at a path; None where nothing does, or nobody can tell."""
    try:
        found = os.lstat(path)
        if stat.S_ISLNK(found.st_mode):
            return _State("link", identity_of(found), os.readlink(path))  # noqa: PTH115 (as it is written)
    except (OSError, ValueError):
        return None
    kind = "directory" if stat.S_ISDIR(found.st_mode) else "other"
    return _State(kind, identity_of(found), mode=stat.S_IMODE(found.st_mode))


def _memory() -> _Look:
    """Looks at each path once."""
    known: dict[str, _State | None] = {}

    def look(path: str) -> _State | None:
        if path not in known:
            known[path] = _state(path)
        return known[path]

    return look


def _target(path: str, state: _State | None) -> Path | None:
    """Where a path leads that is a link; None where it is none."""
    return Path(os.path.realpath(path)) if state is not None and state.is_link else None

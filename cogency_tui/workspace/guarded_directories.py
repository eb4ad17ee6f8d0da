"""The directories that lead to guarded files, held while commands run: found again, and put back, where one
was replaced by a link or moved away.

A link in place of such a directory, or of one above it, leads to files that somebody else has chosen,
whatever the guarded files themselves hold. Each component of these paths below the home directory or the
project is looked at, once for each look. A directory is held open: the system tells where it is now, and
gives its inode to no other. `.git` is left out.

In the project only a directory counts that was moved and replaced by a link, or moved though its name is
guarded: links there are files like others. The calls block; several threads may make them.
"""

import os
import secrets
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Literal, NamedTuple

from cogency_tui.errors import WorkspaceError
from cogency_tui.workspace import guarded
from cogency_tui.workspace.directory import refusals
from cogency_tui.workspace.names import is_guarded_name, shown
from cogency_tui.workspace.paths import Identity, Location, Workspace
from cogency_tui.workspace.place import Place, holding, located

MOST_HELD = 256
"""Directories that are held open. Any other is found again only where a link in its place leads to it."""

_MOST_LINKS = 40
"""Links that one path leads through."""

_OPEN: int = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
_OPENED = "/proc/self/fd"

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


_Look = Callable[[Path], _State | None]


@dataclass(frozen=True, slots=True)
class Replaced:
    """A path that leads to guarded files, and leads elsewhere since a command ran: `told` says how it came to
    that, and `leads` is where the link leads that stands there, if one does."""

    path: Path
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
        self._bases: list[Path] = []
        self._above: set[Path] = set()
        self._before: dict[Path, _State | None] = {}
        self._handles: dict[Path, int] = {}
        self._of_user: set[Path] = set()

    def hold(self, files: Iterable[str]) -> None:
        """Take note of the directories as they are now, those of these guarded files (paths of the journal)
        among them, but for those that are held already."""
        with self._lock:
            bases = {*self._roots, *guarded.home()}
            self._bases = sorted(bases, key=lambda base: len(base.parts), reverse=True)
            self._above |= {located(self._workspace, each).path.parent for each in files}
            self._hold()

    def changes(self) -> list[Replaced]:
        """What was replaced since: of each path the first component."""
        now = _memory()
        found: dict[Path, Replaced] = {}
        with self._lock:
            for path in (*guarded.directories(), *self._above):
                for here in self._along(path, now):
                    before, state = self._before.get(here), now(here)
                    if state is before is None or (state is not None and state.is_as(before)):
                        continue
                    if here in found or self._is_replaced(here, before, state):
                        found.setdefault(here, self._described(here, before, state))
                        break
                    if state is not None and state.is_link:
                        break
        return sorted(found.values(), key=lambda each: (len(each.path.parts), each.path))

    def accept(self, change: Replaced) -> None:
        """Take note of what is there now instead."""
        with self._lock:
            self._accept(change.path)

    def put_back(self, change: Replaced) -> Restored:
        """Have what was there before.

        Raises:
            WorkspaceError: nothing of it can be put back.
        """
        path, missing = change.path, ""
        with self._lock:
            before = self._before.get(path)
            with _in(self._workspace, path) as place, refusals(shown(str(path))):
                aside = _make_way(place, path.name)
                if before is not None and before.is_link:
                    place.move(place.write_link(os.fsencode(before.target)), place, path.name)
                elif before is not None and before.is_directory:
                    missing = self._move_back(change, before, place)
                    if missing:
                        place.make_directory(path.name, before.mode)
            if missing:
                self._accept(path)
        return Restored(self._workspace.name_of(path.with_name(aside)) if aside else "", missing)

    def close(self) -> None:
        """Let go of all that is held."""
        with self._lock:
            for handle in self._handles.values():
                os.close(handle)
            for held in (self._handles, self._before, self._above, self._of_user):
                held.clear()

    def _accept(self, path: Path) -> None:
        for each in [each for each in self._before if each.is_relative_to(path)]:
            del self._before[each]
            if (handle := self._handles.pop(each, None)) is not None:
                os.close(handle)
        self._hold()

    def _hold(self) -> None:
        for path in guarded.directories():
            self._of_user.update(self._along(path, self._held))
        for path in self._above:
            for _ in self._along(path, self._held):
                continue

    def _held(self, path: Path) -> _State | None:
        """What is known of a path; from now on it is held."""
        if path not in self._before:
            state = self._before[path] = _state(path)
            if state is not None and state.is_directory and len(self._handles) < MOST_HELD:
                with suppress(OSError):
                    self._handles[path] = os.open(path, _OPEN)
        return self._before[path]

    def _along(self, path: Path, look: _Look) -> Iterator[Path]:
        """The components of a path, each in a directory that is no link, up to the first that is missing;
        those of the targets of links among them."""
        at = self._base(path)
        left = [*reversed(path.relative_to(at).parts)]
        links = 0
        while left and links < _MOST_LINKS:
            part = left.pop()
            if part == ".git":
                return
            if part == "..":
                at = at.parent
                continue
            here = at / part
            yield here
            state = look(here)
            if state is None or state.kind == "other":
                return
            if state.is_directory:
                at = here
                continue
            links += 1
            target = Path(state.target)
            at = self._base(target) if target.is_absolute() else at
            left += reversed((target.relative_to(at) if target.is_absolute() else target).parts)

    def _base(self, path: Path) -> Path:
        """The directory above a path that is taken to be what it is."""
        return next((base for base in self._bases if path.is_relative_to(base)), Path(path.anchor))

    def _is_replaced(self, path: Path, before: _State | None, now: _State | None) -> bool:
        becomes_link = now is not None and now.is_link
        moved = self._where(path, before, _target(path, now)) is not None
        if path not in self._of_user and any(path.is_relative_to(root) for root in self._roots):
            return moved and (becomes_link or is_guarded_name(path.name))
        if becomes_link or moved:
            return True
        if before is None or before.kind == "other":
            return False
        return before.is_link or (now is not None and now.kind == "other")

    @property
    def _roots(self) -> tuple[Path, ...]:
        return self._workspace.root, *self._workspace.added

    def _described(self, path: Path, before: _State | None, now: _State | None) -> Replaced:
        name = shown(self._workspace.name_of(path))
        leads = _target(path, now)
        where = self._where(path, before, leads)
        moved = "" if where is None else f", which is now {shown(self._workspace.name_of(where))}"
        if now is not None and now.is_link:
            said = f"{'linked' if before is None else 'replaced'} {name}{moved}"
            by = "to" if before is None else "by a link to"
            return Replaced(path, f"{said}{',' if moved else ''} {by} {shown(now.target)}", leads)
        if before is not None and before.is_link:
            return Replaced(path, f"{'removed' if now is None else 'replaced'} the link {name}")
        return Replaced(path, f"{'moved' if now is None else 'replaced'} {name}{moved}")

    def _where(self, path: Path, before: _State | None, leads: Path | None) -> Path | None:
        """Where a directory is now that was at a path, where a link `leads` now; None where it is gone."""
        if before is None or not before.is_directory:
            return None
        candidates = [] if leads is None else [leads]
        if path in self._handles:
            with suppress(OSError):
                candidates.insert(0, Path(_OPENED, str(self._handles[path])).readlink())
        return next((each for each in candidates if before.is_as(_state(each))), None)

    def _move_back(self, change: Replaced, before: _State, place: Place) -> str:
        """Move a directory to where it was; why it is not, empty where it is."""
        path, name = change.path, shown(self._workspace.name_of(change.path))
        where = self._where(path, before, change.leads)
        if where is None:
            copy = f"; look for the others in {shown(str(change.leads))}" if change.leads else ""
            return f"{name} itself is gone: only the files in it that are guarded are put back{copy}"
        try:
            with _in(self._workspace, where) as other:
                other.move(where.name, place, path.name)
        except (OSError, WorkspaceError):
            return f"the directory that was {name} cannot be moved back: it is {shown(str(where))}"
        return ""


def make_way(workspace: Workspace, path: str) -> str:
    """Make way for a file at a path of the journal, where a directory stands, or what is neither a file nor a
    link; what it is called now, empty where none was there or it was empty.

    Raises:
        WorkspaceError: it cannot be moved.
    """
    where = located(workspace, path).path
    state = _state(where)
    if state is None or state.is_link or where.is_file():
        return ""
    with _in(workspace, where) as place, refusals(shown(path)):
        moved = _make_way(place, where.name)
    return workspace.name_of(where.with_name(moved)) if moved else ""


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


def _state(path: Path) -> _State | None:
    """What stands at a path; None where nothing does, or nobody can tell."""
    try:
        found = path.lstat()
        if stat.S_ISLNK(found.st_mode):
            return _State("link", (found.st_dev, found.st_ino), os.readlink(path))  # noqa: PTH115 (as it is written)
    except (OSError, ValueError):
        return None
    kind = "directory" if stat.S_ISDIR(found.st_mode) else "other"
    return _State(kind, (found.st_dev, found.st_ino), mode=stat.S_IMODE(found.st_mode))


def _memory() -> _Look:
    """Looks at each path once."""
    known: dict[Path, _State | None] = {}

    def look(path: Path) -> _State | None:
        if path not in known:
            known[path] = _state(path)
        return known[path]

    return look


def _target(path: Path, state: _State | None) -> Path | None:
    """Where a path leads that is a link; None where it is none."""
    return Path(os.path.realpath(path)) if state is not None and state.is_link else None

"""A batch of changes to several paths, made together or not at all.

Invariant: until `finish` everything can be reverted, and the previous files are on the disk under other
names, the very same files. New contents are on the disk before the first path changes. A killed process
leaves files that begin with `TEMPORARY_PREFIX`; `sweep` removes them. The calls block: run them in a
thread.
"""

import os
import stat
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import BinaryIO, NamedTuple

from cogency_tui.errors import WorkspaceError
from cogency_tui.temporary_files import is_abandoned
from cogency_tui.workspace.file_or_link import OpenDirectory, content, holding, located, missing_above, status
from cogency_tui.workspace.nofollow_access import SPARE, TEMPORARY_PREFIX, Directory, refusals, unused_name
from cogency_tui.workspace.paths import Location, Workspace


class _Staged(NamedTuple):
    location: Location
    beside: Location
    """Place of the staged content: a path in the nearest existing directory."""


class Batch:
    """The changes of one undo: prepared, made, and then reverted (`roll_back`) or made final (`finish`)."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._staged: list[_Staged] = []
        self._removals: list[tuple[Location, str]] = []
        self._moves: list[tuple[Location, Location, str]] = []
        self._modes: list[tuple[Location, int]] = []
        self._reversals: list[Callable[[], object]] = []
        self._spares: list[Location] = []
        self._made: set[Path] = set()
        self._tops: set[Path] = set()

    def put_file(self, location: Location, pieces: Iterable[bytes], mode: int) -> None:
        """Prepare a file with these permission bits, replacing what is at its path.

        Raises:
            WorkspaceError: it cannot be written.
        """
        like = status(self._workspace, location)
        mode = _merged_mode(mode, like)
        self._stage(location, lambda place: place.write_file(pieces, mode, like))

    def put_link(self, location: Location, target: bytes) -> None:
        """Prepare a symbolic link; as `put_file`."""
        self._stage(location, lambda place: place.write_link(target))

    def remove(self, location: Location, made: str = "") -> None:
        """Prepare to remove a file or a link, and then the directories above it that are empty, up to
        `made` (a path of the journal) if given."""
        self._removals.append((location, made))

    def move(self, old: Location, new: Location, made: str = "") -> None:
        """Prepare to rename a file or a link to a free path; `made` as for `remove`."""
        self._moves.append((old, new, made))

    def set_mode(self, location: Location, mode: int) -> None:
        """Prepare to change only a file's permission bits."""
        self._modes.append((location, mode))

    def commit(self) -> dict[Path, str]:
        """Make all changes; return the topmost directory that was created for each path, empty where none
        was.

        Raises:
            WorkspaceError: one cannot be made; everything is as it was.
        """
        made: dict[Path, str] = {}
        tops = {top for *_, top in (*self._removals, *self._moves) if top}
        self._tops = {located(self._workspace, top).path for top in tops}
        try:
            for location, _ in self._removals:
                with refusals(location.relative):
                    self._remove(location)
            self._remove_empty(self._removals)
            made |= self._move_all()
            for staged in self._staged:
                with refusals(staged.location.relative):
                    made[staged.location.path] = self._put(staged)
            for location, mode in self._modes:
                with refusals(location.relative):
                    self._set_mode(location, mode)
        except BaseException:
            self.roll_back()
            raise
        return made

    def roll_back(self) -> None:
        """Restore the state before `commit`, as far as that is possible, and drop what is staged."""
        while self._reversals:
            with suppress(OSError, WorkspaceError):
                self._reversals.pop()()
        for staged in self._staged:
            self._drop(staged.beside)
        self._staged.clear()
        self._spares.clear()

    def finish(self) -> None:
        """Remove the previous files."""
        self._reversals.clear()
        self._staged.clear()
        while self._spares:
            self._drop(self._spares.pop())

    def _stage(self, location: Location, write: Callable[[OpenDirectory], str]) -> None:
        # On the same file system, whatever directories are created for the path.
        nearest, _ = missing_above(self._workspace, location)
        beside = _at(nearest / location.path.name, location)
        with refusals(location.relative), holding(self._workspace, beside) as place:
            name = write(place)
        self._staged.append(_Staged(location, _named(beside, name)))

    def _remove(self, location: Location) -> None:
        spare = self._spare(location)
        with holding(self._workspace, location) as place, holding(self._workspace, spare) as other:
            _require_movable(place, location)
            place.move(location.path.name, other, spare.path.name)
        self._set_aside(spare, location)

    def _spare(self, location: Location) -> Location:
        """Return an unused name near a path, outside all directories that may be removed."""
        around = [path for path in (location.path, *location.path.parents) if path in self._tops]
        top = around[-1] if around else location.path
        return _at(top.parent / unused_name(SPARE), location)

    def _remove_empty(self, left: Iterable[tuple[Location, str]]) -> None:
        """Remove the empty directories above paths, up to and including those that were created for them."""
        for location, made in left:
            top = located(self._workspace, made).path if made else location.path
            directory = location.path.parent
            while directory.is_relative_to(top):
                mode = self._remove_directory(_at(directory, location))
                if mode is None:
                    break
                self._reversals.append(partial(self._make_directory, _at(directory, location), mode))
                directory = directory.parent

    def _move_all(self) -> dict[Path, str]:
        """Make the moves, in an order without obstacles, if there is one."""
        made: dict[Path, str] = {}
        left = self._moves
        while left:
            free: list[tuple[Location, Location, str]] = []
            blocked: list[tuple[Location, Location, str]] = []
            for move in left:
                (blocked if status(self._workspace, move[1]) else free).append(move)
            if not free:
                new = left[0][1]
                raise WorkspaceError(f"{new.relative} already exists.", "Rename it, then try again.")
            for old, new, _ in free:
                with refusals(new.relative):
                    made[new.path] = self._move(old, new)
            # Directories that files were moved out of may be in the way of others.
            self._remove_empty([*self._removals, *((old, top) for old, _, top in self._moves)])
            left = blocked
        return made

    def _move(self, old: Location, new: Location) -> str:
        made = self._make_parents(new)
        with holding(self._workspace, old) as place, holding(self._workspace, new) as target:
            _require_movable(place, old)
            place.move(old.path.name, target, new.path.name)
        self._reversals.append(partial(self._restore, new, old))
        return made

    def _set_mode(self, location: Location, mode: int) -> None:
        name = location.path.name
        with holding(self._workspace, location) as place:
            before = stat.S_IMODE(place.status(name).st_mode)
            place.set_mode(name, _merged_mode(mode, place.status(name)))
        self._reversals.append(partial(self._set_mode_back, location, before))

    def _set_mode_back(self, location: Location, mode: int) -> None:
        with holding(self._workspace, location) as place:
            place.set_mode(location.path.name, mode)

    def _put(self, staged: _Staged) -> str:
        location, name = staged.location, staged.location.path.name
        made = self._make_parents(location)
        with holding(self._workspace, location) as place, holding(self._workspace, staged.beside) as beside:
            spare = _named(location, unused_name(SPARE))
            try:
                _require_movable(place, location)
                place.link(name, spare.path.name)
                self._set_aside(spare, location)
            except FileNotFoundError:
                self._reversals.append(partial(self._drop, location))
            except OSError:
                # A file system without links, or another user's file: for a moment the path is free.
                place.move(name, place, spare.path.name)
                self._set_aside(spare, location)
            beside.move(staged.beside.path.name, place, name)
        return made

    def _set_aside(self, spare: Location, location: Location) -> None:
        self._spares.append(spare)
        self._reversals.append(partial(self._restore, spare, location))

    def _restore(self, spare: Location, location: Location) -> None:
        with holding(self._workspace, spare) as place, holding(self._workspace, location) as target:
            place.move(spare.path.name, target, location.path.name)
            # Renaming one name of a file to another of its names leaves both.
            place.remove(spare.path.name)

    def _make_parents(self, location: Location) -> str:
        """Create the missing directories above a path.

        Return the topmost that the batch created, as a path of the journal; empty where none was missing.
        """
        base, parts = self._workspace.split(location)
        made = ""
        with ExitStack() as opened:
            directory = opened.enter_context(Directory.open(base))
            path = base
            for part in parts[:-1]:
                path /= part
                with suppress(FileExistsError):
                    OpenDirectory.within(directory).make_directory(part)
                    self._made.add(path)
                    self._reversals.append(partial(self._remove_directory, _at(path, location)))
                if path in self._made:
                    made = made or self._workspace.name_of(path)
                directory = opened.enter_context(directory.child(part))
        return made

    def _make_directory(self, location: Location, mode: int) -> None:
        with holding(self._workspace, location) as place:
            place.make_directory(location.path.name, mode)

    def _remove_directory(self, location: Location) -> int | None:
        """Remove a directory if it is empty; return its mode."""
        name = location.path.name
        try:
            with holding(self._workspace, location) as place:
                mode = stat.S_IMODE(place.status(name).st_mode)
                place.remove_directory(name)
        except (OSError, WorkspaceError):
            return None
        return mode

    def _drop(self, location: Location) -> None:
        with suppress(OSError, WorkspaceError), holding(self._workspace, location) as place:
            place.remove(location.path.name)


def sweep(
    workspace: Workspace, paths: Iterable[str], store: Callable[[BinaryIO], bool], over: str = ""
) -> list[str]:
    """Remove the files of killed processes beside these paths of the journal, and in the directories above;
    those of the owner `over`, too.

    A file that was set aside, and exists nowhere else, is removed only if `store` has stored its content;
    those that stay are returned.
    """
    directories = {parent for path in paths for parent in located(workspace, path).path.parents}
    roots = (workspace.root, *workspace.added)
    left: list[str] = []
    for directory in sorted(each for each in directories if any(each.is_relative_to(top) for top in roots)):
        location = Location(directory, workspace.name_of(directory), True, directory)
        with suppress(OSError, WorkspaceError), workspace.open_directory(location) as opened:
            for name in [entry.name for entry in opened.entries()]:
                if not name.startswith(TEMPORARY_PREFIX) or not is_abandoned(name, opened.status(name), over):
                    continue
                if _is_needed(workspace, directory / name, opened.status(name), store):
                    left.append(workspace.name_of(directory / name))
                else:
                    opened.remove(name)
    return left


def _is_needed(
    workspace: Workspace, path: Path, found: os.stat_result, store: Callable[[BinaryIO], bool]
) -> bool:
    if path.suffix != SPARE or found.st_nlink > 1:
        return False
    with content(workspace, Location(path, path.name, True, path)) as opened:
        return opened is not None and not store(opened[1])


def _require_movable(place: OpenDirectory, location: Location) -> None:
    mode = place.status(location.path.name).st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISLNK(mode)):
        raise WorkspaceError(
            f"{location.relative} is neither a file nor a link.", "Move it away, then try again."
        )


def _merged_mode(mode: int, like: os.stat_result | None) -> int:
    """Combine these permission bits with the other bits of the file: no record sets any of those."""
    return mode & 0o777 | (stat.S_IMODE(like.st_mode) & ~0o777 if like else 0)


def _at(path: Path, like: Location) -> Location:
    return Location(path, like.relative, like.inside, path)


def _named(location: Location, name: str) -> Location:
    """Return another name in the same directory."""
    return _at(location.path.parent / name, location)

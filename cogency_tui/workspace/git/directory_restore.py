"""Git directories that are held open while a command runs, so that a moved one is restored as a whole.

Invariant: a directory is the previous one if its device and inode are the same. It is restored by renaming
or stays where it is: none of its files is removed, and what took its place is moved to where it was. The
calls block.
"""

import os
import secrets
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from cogency_tui.workspace import protected_file_discovery
from cogency_tui.workspace.directory_identity import DirectoryHandle, identity_of, is_at
from cogency_tui.workspace.file_or_link import TICK
from cogency_tui.workspace.paths import Identity

_MOST = 64


class Moved(NamedTuple):
    """A directory that is not at its place: its present path `now`, if it has one, and the reason why it
    was not restored, if it should have been."""

    place: Path
    now: Path | None
    problem: str = ""


@dataclass(slots=True)
class Returned:
    """The directories that were restored, and those that were `left` where they are."""

    put_back: list[Moved] = field(default_factory=list[Moved])
    left: list[Moved] = field(default_factory=list[Moved])

    @property
    def moves(self) -> dict[Path, Path | None]:
        """Present paths of those that were left, by their places."""
        return {each.place: each.now for each in self.left}


class _Held(NamedTuple):
    handle: DirectoryHandle
    above: Identity
    is_repository: bool


class _Stays(Exception):
    """The reason why a directory cannot be restored."""


class GitDirectories:
    """Holds the directories at these places, as far as they are directories, until it is closed."""

    def __init__(self, places: Iterable[Path] = ()) -> None:
        self._began = time.time_ns()
        self._held: dict[Path, _Held] = {}
        # The outer ones are restored first, with everything in them.
        for place in sorted(dict.fromkeys(places), key=lambda path: len(path.parts))[:_MOST]:
            with suppress(OSError):
                above = identity_of(place.parent.stat())
                self._held[place] = _Held(
                    DirectoryHandle(place), above, protected_file_discovery.is_repository(place)
                )

    def close(self) -> None:
        for held in self._held.values():
            held.handle.close()
        self._held.clear()

    def put_back(self, may_move: Callable[[Path], bool]) -> Returned:
        """Restore each directory that is not at its place, unless it was moved together with the directory
        around it, or it `may_move`."""
        found = Returned()
        for place, held in self._held.items():
            if is_at(place, held.handle.identity):
                continue
            now = held.handle.path()
            if may_move(place) or (now is not None and _went_along(place, now, held)):
                found.left.append(Moved(place, now))
                continue
            if now is None and not (held.is_repository and place.parent.is_dir()):
                # Its files are restored one by one, or are gone together with everything that they were
                # for.
                continue
            now = now or self._copy_of(place)
            try:
                _return(place, now, held.above)
            except (OSError, _Stays) as error:
                why = error.strerror if isinstance(error, OSError) else str(error)
                found.left.append(Moved(place, now, why or str(error)))
            else:
                found.put_back.append(Moved(place, now))
        return found

    def _copy_of(self, place: Path) -> Path | None:
        """Return the repository that a place leads to since the command began, if the command has created
        it: a copy of the removed one."""
        target = protected_file_discovery.repository_at(place)
        if target is None or target == place:
            return None
        with suppress(OSError):
            made = (target, target / "HEAD", target / "objects")
            if min(each.lstat().st_ctime_ns for each in made) >= self._began - TICK:
                return target
        return None


def _return(place: Path, now: Path | None, above: Identity) -> None:
    """Rename a directory to its place, and a directory that is there to where the first was.

    Raises:
        _Stays: that would lose something, or the directory no longer exists.
        OSError: the system refuses.
    """
    if now is None:
        raise _Stays("no copy of it is kept")
    if not is_at(place.parent, above):
        raise _Stays("the directory that it was in is not there")
    if not os.path.lexists(place):
        now.rename(place)
        return
    leads = place.is_symlink() or protected_file_discovery.repository_at(place) is not None
    if not (leads or place.is_dir()):
        raise _Stays("something else is there now")
    aside = place.with_name(f"{place.name}-{secrets.token_hex(4)}")
    is_inside = now.is_relative_to(place)
    place.rename(aside)
    try:
        (aside / now.relative_to(place) if is_inside else now).rename(place)
    except OSError:
        aside.rename(place)
        raise
    if aside.is_symlink() or not aside.is_dir():
        aside.unlink()
    elif not is_inside:
        aside.rename(now)


def _went_along(place: Path, now: Path, held: _Held) -> bool:
    """Return whether the directory around it was moved, or git has turned it into a submodule's."""
    if now.name == place.name and is_at(now.parent, held.above):
        return True
    return "modules" in now.parts and protected_file_discovery.repository_at(place) == now

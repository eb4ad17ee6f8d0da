"""The project directory and the paths inside it.

Invariant: a path is inside by its resolved components, never by prefix, and a file is opened by walking
those components without following a link; a path outside is reached only by its full path. The calls block:
run them in a thread.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from cogency_tui.errors import WorkspaceError
from cogency_tui.search_paths import distrust
from cogency_tui.workspace.nofollow_access import Directory, refusals, require_regular
from cogency_tui.workspace.protected_names import closest, in_repository, protected, shown, unusual

if TYPE_CHECKING:
    from cogency_tui.workspace.protected_file_discovery import Leading

_LONGEST_PATH = 4096
_LONGEST_NAME = 255
_NEIGHBOURS = 2000
"""Entries of a directory that are compared when a name is not found."""


Identity = tuple[int, int]
"""Device and inode of a directory."""


class Location(msgspec.Struct, frozen=True):
    """A resolved path: `path` is absolute with all links resolved.

    `asked` is the requested path as an absolute one, links unresolved. `relative` is the path to show: from
    the project's root with slashes, or absolute when it is outside (`inside` is False). `parent` is the
    directory that must contain it and `itself` the directory that it must be, where these were recorded.
    """

    path: Path
    relative: str
    inside: bool
    asked: Path
    parent: Identity | None = None
    itself: Identity | None = None


class Staged(msgspec.Struct, frozen=True):
    """New content that is on the disk, beside the file that it will replace."""

    location: Location
    temporary: str


class Workspace:
    """The project, and the directories that the user added to it: no program of ours is searched there.

    Raises:
        WorkspaceError: one of them is no directory.
    """

    def __init__(self, root: Path, added: Sequence[Path] = ()) -> None:
        self.root = Path(os.path.realpath(root))
        self.added = tuple(Path(os.path.realpath(path)) for path in added)
        self._roots = (self.root, *self.added)
        self._spellings = tuple(Path(os.path.abspath(path)) for path in (root, *added))  # noqa: PTH100 (see below)
        # absolute() keeps "..", resolve() follows links: neither is the given path.
        for top in self._roots:
            if not top.is_dir():
                raise WorkspaceError(f"{shown(str(top))} is not a directory.", "Name an existing one.")
        distrust(self._roots)

    def locate(self, given: str) -> Location:
        """Resolve a path of a model or the user: relative to the project, absolute, or `~/...`.

        Raises:
            WorkspaceError: a relative path, or one that looks inside, leads outside; or no file can
                have this name.
        """
        _check(given)
        expanded = os.path.join(_home(), given[2:]) if given.startswith("~/") else given  # noqa: PTH118 (as text)
        joined = os.path.join(self.root, expanded)  # noqa: PTH118 (an absolute path replaces the root)
        asked = Path(os.path.normpath(joined))
        try:
            path = Path(os.path.realpath(joined))
        except OSError as exc:
            # A link that is gone, or is none any more, between two checks.
            raise WorkspaceError(f"{shown(given)} changes while it is read.", "Try again.") from exc
        if self._root_of(path) is not None:
            return Location(path, shown(self.name_of(path)), True, asked)
        if any(asked.is_relative_to(top) for top in (*self._roots, *self._spellings)):
            raise WorkspaceError(
                f"{shown(given)} leads through a symbolic link to {shown(str(path))}, outside the project.",
                "If that is intended, use its full path, which needs the user's approval.",
            )
        if not os.path.isabs(expanded):  # noqa: PTH117 (as text)
            raise WorkspaceError(
                f"{shown(given)} is outside the project.",
                f"Stay inside, or use the full path {shown(str(path))}, which needs the user's approval.",
            )
        return Location(path, shown(str(path)), False, asked)

    def name_of(self, path: Path) -> str:
        """Return a resolved path relative to the project's root with slashes, or absolute when it is
        outside."""
        return path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else path.as_posix()

    def guard(self, location: Location, leading: "Leading | None" = None) -> str:
        """Explain why a write there needs a question in every mode; empty where it does not.

        Checks of many locations share one `leading`.
        """
        # Not needed for the first frame.
        from cogency_tui.workspace.protected_file_discovery import Leading

        for path in (location.path, location.asked):
            root = self._root_of(path)
            parts = path.relative_to(root or path.anchor).parts
            reason = unusual("/".join(parts)) or protected(parts)
            if reason := reason or in_repository(root or Path(path.anchor), parts):
                return reason
        root = self._root_of(location.path)
        link = (leading or Leading()).to(location.path, root)
        return f"{shown(link)} leads to it" if link else ""

    def read_bytes(self, location: Location, limit: int) -> bytes:
        """Read a file of at most `limit` bytes.

        Raises:
            WorkspaceError: it does not exist, cannot be read, is longer, or is no regular file.
        """
        with refusals(location.relative):
            try:
                with self.open_parent(location) as parent:
                    # Checked before opening: opening a device can have an effect by itself.
                    require_regular(parent.status(location.path.name), location.relative)
                    return parent.read(location.path.name, limit)
            except FileNotFoundError:
                raise self._missing(location) from None

    def exists(self, location: Location) -> bool:
        """Return whether there is anything, of whatever kind."""
        with refusals(location.relative):
            try:
                with self.open_parent(location) as parent:
                    parent.status(location.path.name)
            except FileNotFoundError:
                return False
            return True

    def write_bytes(self, location: Location, data: bytes) -> None:
        """Replace or create a file atomically; its mode stays, and missing directories are created.

        Raises:
            WorkspaceError: it cannot be written; the previous content is unchanged.
        """
        self.commit(self.stage(location, data))

    def stage(self, location: Location, data: bytes) -> Staged:
        """Write new content to the disk, without replacing the file yet; `commit` or `discard` it.

        Raises:
            WorkspaceError: it could not be written.
        """
        name = location.path.name
        with refusals(location.relative), self.open_parent(location, create=True) as parent:
            try:
                status = parent.status(name)
            except FileNotFoundError:
                status = None
            else:
                require_regular(status, location.relative)
                if not status.st_mode & 0o222:
                    # The rename would succeed, against the will of the user who made the file read-only.
                    raise WorkspaceError(f"{location.relative} is read-only.", "Change its mode with chmod.")
            return Staged(location, parent.write_temporary(data, status))

    def commit(self, staged: Staged) -> None:
        """Replace the file by staged content, atomically.

        Raises:
            WorkspaceError: the file or its directory was replaced meanwhile; the content is discarded.
        """
        name = staged.location.path.name
        with refusals(staged.location.relative), self.open_parent(staged.location) as parent:
            try:
                parent.rename(staged.temporary, name)
            except OSError:
                parent.remove(staged.temporary)
                raise

    def discard(self, staged: Staged) -> None:
        """Remove staged content."""
        with refusals(staged.location.relative), self.open_parent(staged.location) as parent:
            parent.remove(staged.temporary)

    def open_parent(self, location: Location, *, create: bool = False) -> Directory:
        """Open the directory that holds the file; with `create`, missing directories are created.

        Raises:
            OSError: it does not exist, cannot be entered, or was replaced by a link since it was resolved.
            WorkspaceError: the location is a top directory, which is no file.
        """
        base, parts = self.split(location)
        if not parts:
            raise WorkspaceError(f"{location.relative} is a directory, not a file.", "Name a file in it.")
        # A directory that existed and is gone is not created again: it may be on its way somewhere else.
        create = create and location.parent is None
        return _required(Directory.open(base, parts[:-1], create=create), location.parent, location)

    def pinned(self, location: Location) -> Location:
        """Pin the location to the present directories: no others are opened for it."""
        base, parts = self.split(location)
        return replace(location, parent=_identity(base, parts[:-1]), itself=_identity(base, parts))

    def open_directory(self, location: Location) -> Directory:
        """Open the directory at the location itself.

        Raises:
            WorkspaceError: there is none, or it cannot be entered.
        """
        base, parts = self.split(location)
        with refusals(location.relative):
            try:
                return _required(Directory.open(base, parts), location.itself, location)
            except FileNotFoundError:
                raise self._missing(location) from None

    def split(self, location: Location) -> tuple[Path, tuple[str, ...]]:
        """Split a location into its trusted directory and the components to walk from there."""
        base = self._root_of(location.path) or Path(location.path.anchor)
        return base, location.path.relative_to(base).parts

    def _root_of(self, path: Path) -> Path | None:
        return next((root for root in self._roots if path.is_relative_to(root)), None)

    def _missing(self, location: Location) -> WorkspaceError:
        hint = "Use `list` to see the files, or search with `find`."
        base, parts = self.split(location)
        try:
            with Directory.open(base, parts[:-1]) as parent:
                names = [entry.name for entry in parent.entries()[:_NEIGHBOURS]]
        except OSError:
            names = []
        if near := closest(location.path.name, names):
            place = location.relative.removesuffix(shown(location.path.name))
            hint = f"Did you mean {place}{shown(near)}?"
            if shown(near) != near or not near.isascii():
                hint += " (Its name is spelled with other characters: copy it exactly.)"
        return WorkspaceError(f"{location.relative}: there is no such file or directory.", hint)


def _identity(base: Path, parts: Sequence[str]) -> Identity | None:
    try:
        with Directory.open(base, parts) as directory:
            return directory.identity
    except OSError:
        return None


def _required(directory: Directory, target: Identity | None, location: Location) -> Directory:
    """Return the directory, if it is the recorded one."""
    if target is not None and directory.identity != target:
        directory.close()
        raise WorkspaceError(
            f"{location.relative}: a directory was replaced in the meantime.", "Read it again, then repeat."
        )
    return directory


def _check(given: str) -> None:
    if not given:
        raise WorkspaceError("The path is empty.", 'The project itself is ".".')
    if "\0" in given:
        raise WorkspaceError(f"{shown(given[:200])}: a path cannot have a NUL character.")
    try:
        encoded = os.fsencode(given)
    except UnicodeEncodeError:
        raise WorkspaceError(
            f"{shown(given[:200])}: a path cannot have a lone surrogate, which is no character."
        ) from None
    if len(encoded) > _LONGEST_PATH:
        raise WorkspaceError(
            f"The path is too long: {len(encoded):,} bytes, and at most {_LONGEST_PATH:,} are allowed."
        )
    longest = max(encoded.split(b"/"), key=len)
    if len(longest) > _LONGEST_NAME:
        raise WorkspaceError(
            f"A name in the path is too long: {len(longest):,} bytes, at most {_LONGEST_NAME}."
        )


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError:
        raise WorkspaceError("~ cannot be used: the home directory is not known.") from None

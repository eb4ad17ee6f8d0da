"""A project's files below `.cogency/`: listed without opening any of them, or read whole. The calls block.

Invariant: no link is followed, no read waits, and the number and size of files is limited. Only regular
files are read; a folder that contains anything else cannot be used at all. Its skills are left out: each is
surveyed by itself (`skill_folders`).
"""

import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from cogency_tui.errors import WorkspaceError
from cogency_tui.workspace.nofollow_access import Directory
from cogency_tui.workspace.protected_names import shown

FOLDER = ".cogency"
CONFIG = "config.toml"
"""The file of settings in that folder."""

SKILLS = "skills"
"""The folder of skills in it."""

LARGEST_CONFIG = 256 << 10
"""Bytes of that file: of a larger one, nothing is used."""

_LARGEST = 4 << 20
"""Bytes of all files of a project."""

_MOST_FILES = 500
_DEEPEST = 8

_KINDS = (
    (stat.S_ISLNK, "symbolic link"),
    (stat.S_ISFIFO, "FIFO"),
    (stat.S_ISSOCK, "socket"),
    (stat.S_ISREG, ""),
)


@dataclass(frozen=True, slots=True)
class FolderEntry:
    """`name` is below `.cogency/`, with slashes, empty for the folder itself; `size` is in bytes; `kind`
    describes an entry that is no regular file.
    """

    name: str
    size: int = 0
    kind: str = ""


def list_files(project: Path) -> tuple[FolderEntry, ...]:
    """The entries by name, within the limits; if `.cogency` is no folder, an entry that describes it."""
    try:
        with Directory.open(project) as top:
            status = top.status(FOLDER)
            if not stat.S_ISDIR(status.st_mode):
                return (entry_of("", status),)
            with top.child(FOLDER) as folder:
                found = _listed(folder, "", iter(range(_MOST_FILES)))
                return tuple(sorted(found, key=lambda each: each.name))
    except FileNotFoundError:
        return ()
    except OSError as exc:
        return (FolderEntry("", kind=f"unreadable: {exc.strerror}"),)


def read_files(project: Path) -> dict[str, bytes]:
    """The files by name; none if there is no such folder.

    Raises:
        WorkspaceError: there is something that is neither a file nor a directory, or too much.
    """
    with ExitStack() as opened:
        try:
            top = opened.enter_context(Directory.open(project))
            kind = top.status(FOLDER).st_mode
        except OSError:
            return {}
        if not stat.S_ISDIR(kind):
            raise WorkspaceError(f"{FOLDER} is not a directory.", "Folder ignored.")
        found: dict[str, bytes] = {}
        left = _LARGEST
        try:
            folder = opened.enter_context(top.child(FOLDER))
            for name, directory, entry in _below(folder, "", iter(range(_MOST_FILES)), _DEEPEST):
                found[name] = directory.read(entry, left)
                left -= len(found[name])
        except OSError as exc:
            raise WorkspaceError(f"{FOLDER} cannot be read: {exc.strerror or exc}.") from exc
    return dict(sorted(found.items()))


def _listed(
    directory: Directory, prefix: str, budget: Iterator[int], depth: int = 1
) -> Iterator[FolderEntry]:
    for entry in directory.entries():
        name = prefix + text_of(entry.name)
        if name == SKILLS:
            continue
        if next(budget, None) is None:
            return
        try:
            status = directory.status(entry.name)
            if not stat.S_ISDIR(status.st_mode):
                yield entry_of(name, status)
            elif depth == _DEEPEST:
                yield FolderEntry(f"{name}/", kind="directory")
            else:
                with directory.child(entry.name) as child:
                    yield from _listed(child, f"{name}/", budget, depth + 1)
        except OSError as exc:
            yield FolderEntry(name, kind=f"unreadable: {exc.strerror}")


def entry_of(name: str, status: os.stat_result) -> FolderEntry:
    """The entry of a file, or of what is there in its place."""
    kind = next((kind for is_one, kind in _KINDS if is_one(status.st_mode)), "device")
    return FolderEntry(name, 0 if kind else status.st_size, kind or ("file" if not name else ""))


def _below(
    directory: Directory, prefix: str, budget: Iterator[int], depth: int
) -> Iterator[tuple[str, Directory, str]]:
    """Each file with its name in the result, its directory, and its name in that directory."""
    for entry in directory.entries():
        name = prefix + text_of(entry.name)
        if name == SKILLS:
            continue
        if not depth or next(budget, None) is None:
            raise WorkspaceError(f"{FOLDER} has too many files.", f"At most {_MOST_FILES} files are read.")
        status = directory.status(entry.name)
        if stat.S_ISDIR(status.st_mode):
            with directory.child(entry.name) as child:
                yield from _below(child, f"{name}/", budget, depth - 1)
        elif stat.S_ISREG(status.st_mode):
            yield name, directory, entry.name
        else:
            kind = entry_of(name, status).kind
            raise WorkspaceError(
                f"{FOLDER}/{shown(name)} is a {kind}, not a file.",
                "Replace it with the file itself." if stat.S_ISLNK(status.st_mode) else "Remove it.",
            )


def text_of(name: str) -> str:
    """A name of the system as text, which tells apart names that are no text."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")

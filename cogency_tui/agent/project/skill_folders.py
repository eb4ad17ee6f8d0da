"""The skill folders of a project: directories with a `SKILL.md`, listed and hashed without parsing.

Invariant: no link is followed, no read waits, and the number and size of files is limited. A defect of one
folder makes that folder unusable, and no other. What a run of its scripts leaves behind (`__pycache__`) is
not a part of a skill. The calls block.
"""

import hashlib
import os
import stat
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cogency_tui.agent.project.cogency_folder import FOLDER, SKILLS, FolderEntry, entry_of, text_of
from cogency_tui.errors import WorkspaceError
from cogency_tui.workspace.nofollow_access import Directory
from cogency_tui.workspace.protected_names import shown

SKILL_FILE = "SKILL.md"
"""The file that makes a directory a skill."""

PLACES = (f"{FOLDER}/{SKILLS}", ".agents/skills", ".claude/skills")
"""The directories of a project that have skills, in the order in which equal names count."""

LARGEST_SKILL_FILE = 256 << 10
"""Bytes of a `SKILL.md`."""

LARGEST_FILE = 16 << 20
"""Bytes of any other file of a skill."""

LEFT_OUT = frozenset((".DS_Store", ".git", ".venv", "__pycache__", "node_modules"))
"""Names that are no part of a skill."""

MOST_SKILLS = 300
_MOST_FILES = 2_000
_MOST_DIRECTORIES = 2_000
_LARGEST = 64 << 20
"""Bytes of all files of a skill."""

_DEEPEST = 8
_DEEPEST_SKILL = 3
"""Levels of directories below a place in which skills are found."""

_SETTLED = 2_000_000_000
"""Nanoseconds after which a file's times tell whether it has changed."""


@dataclass(frozen=True, slots=True)
class SkillFolder:
    """A directory at `path`, from the project, with slashes. The names of `entries` and `digests` (SHA-256)
    are below it; `problem` is why it cannot be used.
    """

    path: str
    entries: tuple[FolderEntry, ...] = ()
    digests: Mapping[str, str] = field(default_factory=dict[str, str])
    problem: str = ""


class FileDigests:
    """SHA-256 digests of files; a file whose status is the same is not read again."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, ...], str] = {}

    def of(self, directory: Directory, name: str, limit: int) -> str:
        """The digest of a regular file of at most `limit` bytes.

        Raises:
            OSError, WorkspaceError: as `Directory.read`.
        """
        before = _identity(directory.status(name))
        if (known := self._known.get(before)) is not None:
            return known
        digest = hashlib.sha256(directory.read(name, limit)).hexdigest()
        # A file that changed just now may change again within the resolution of its times.
        if before == _identity(directory.status(name)) and time.time_ns() - max(before[-2:]) > _SETTLED:
            self._known[before] = digest
        return digest


def find_skill_folders(project: Path, digests: FileDigests) -> list[SkillFolder]:
    """The skill folders of a project (resolved), by place and name."""
    found: list[SkillFolder] = []
    budget = iter(range(_MOST_DIRECTORIES))
    for place in _places_of(project):
        for folder in _folders_at(project, place, digests, budget):
            if len(found) == MOST_SKILLS:
                problem = f"there are more than {MOST_SKILLS} skills; the rest is not used"
                return [*found, SkillFolder(folder.path, folder.entries, problem=problem)]
            found.append(folder)
    return found


def _places_of(project: Path) -> tuple[str, ...]:
    """In a home directory the places of other agents are the user's own."""
    return PLACES[:1] if project == home() else PLACES


def own_places(folder: Path) -> tuple[Path, ...]:
    """The directories of the user's own skills, in the order in which equal names count; `folder` is the
    user's configuration.
    """
    return folder / SKILLS, *(Path.home() / place for place in PLACES[1:])


def are_there(folder: Path, project: Path) -> bool:
    """Return whether there may be skills of the user or of a project."""
    places = (*own_places(folder), *(project / place for place in PLACES))
    return any(map(os.path.lexists, places))


def home() -> Path:
    """The user's home directory (resolved)."""
    return Path(os.path.realpath(Path.home()))


def _folders_at(
    project: Path, place: str, digests: FileDigests, budget: Iterator[int]
) -> Iterator[SkillFolder]:
    path = ""
    for part in place.split("/"):
        path = f"{path}/{part}" if path else part
        if (project / path).is_symlink():
            # `.cogency` itself is reported with its files.
            if path != FOLDER and (problem := _link_problem(project, path)):
                yield SkillFolder(place, problem=problem)
            return
    try:
        with Directory.open(project, place.split("/")) as top:
            yield from _folders_in(project, top, place, digests, budget, 1)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as exc:
        yield SkillFolder(place, problem=_unreadable(exc))


def _folders_in(
    project: Path, top: Directory, prefix: str, digests: FileDigests, budget: Iterator[int], depth: int
) -> Iterator[SkillFolder]:
    for entry in sorted(top.entries(_MOST_DIRECTORIES), key=lambda each: each.name):
        path = f"{prefix}/{text_of(entry.name)}"
        try:
            kind = top.status(entry.name).st_mode
            if stat.S_ISLNK(kind):
                if problem := _link_problem(project, f"{prefix}/{entry.name}"):
                    yield SkillFolder(path, problem=problem)
            elif stat.S_ISDIR(kind) and entry.name not in LEFT_OUT and next(budget, None) is not None:
                with top.child(entry.name) as child:
                    if _has_skill_file(child):
                        yield _surveyed(child, path, digests)
                    elif depth < _DEEPEST_SKILL:
                        yield from _folders_in(project, child, path, digests, budget, depth + 1)
        except OSError as exc:
            yield SkillFolder(path, problem=_unreadable(exc))


def _link_problem(project: Path, path: str) -> str:
    """Why a link cannot be used; nothing if its target is found by itself, as tools that install skills for
    several agents leave them.
    """
    target = Path(os.path.realpath(project / path))
    if any(target.is_relative_to(project / place) for place in PLACES):
        return ""
    return "it is a symbolic link; links of a project are not followed"


def _has_skill_file(directory: Directory) -> bool:
    try:
        directory.status(SKILL_FILE)
    except FileNotFoundError:
        return False
    return True


def _surveyed(folder: Directory, path: str, digests: FileDigests) -> SkillFolder:
    entries: list[FolderEntry] = []
    found: dict[str, str] = {}
    left = _LARGEST
    problem = ""
    try:
        for name, directory, entry in _below(folder, "", iter(range(_MOST_FILES)), _DEEPEST):
            status = directory.status(entry)
            entries.append(entry_of(name, status))
            if problem:
                continue
            if not stat.S_ISREG(status.st_mode):
                problem = f"{shown(name)} is no regular file but a {entries[-1].kind}"
                continue
            limit = LARGEST_SKILL_FILE if name == SKILL_FILE else LARGEST_FILE
            left -= status.st_size
            if status.st_size > limit:
                problem = f"{shown(name)} has {status.st_size:,} bytes; at most {limit:,} are read"
            elif left < 0:
                problem = f"its files have more than {_LARGEST >> 20} MB"
            else:
                found[name] = digests.of(directory, entry, limit)
    except OSError as exc:
        problem = _unreadable(exc)
    except WorkspaceError as exc:
        problem = str(exc).rstrip(".")
    entries.sort(key=lambda each: each.name)
    return SkillFolder(path, tuple(entries), {} if problem else dict(sorted(found.items())), problem)


def _below(
    directory: Directory, prefix: str, budget: Iterator[int], depth: int
) -> Iterator[tuple[str, Directory, str]]:
    """Each entry that is no directory, with its name in the result, its directory, and its name there."""
    for entry in directory.entries():
        if entry.name in LEFT_OUT:
            continue
        name = prefix + text_of(entry.name)
        if not depth or next(budget, None) is None:
            raise WorkspaceError(f"it has more than {_MOST_FILES:,} files, or directories too deep")
        if stat.S_ISDIR(directory.status(entry.name).st_mode):
            with directory.child(entry.name) as child:
                yield from _below(child, f"{name}/", budget, depth - 1)
        else:
            yield name, directory, entry.name


def _identity(status: os.stat_result) -> tuple[int, ...]:
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def _unreadable(exc: OSError) -> str:
    return f"it cannot be read: {exc.strerror or exc}"

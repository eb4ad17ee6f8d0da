"""The skill folders of a project: directories with a `SKILL.md`, listed and hashed without parsing.

Invariant: no link is followed, no read waits, and the number and size of files is limited. A defect of one
folder makes that folder unusable, and no other. What a run of its scripts leaves behind (`__pycache__`) is
not a part of a skill. The calls block.
"""

import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cogency_tui.agent.project.cogency_folder import FOLDER, FolderEntry, entry_of, text_of
from cogency_tui.agent.project.file_digests import FileDigests
from cogency_tui.agent.project.skill_places import PLACES, SKILL_FILE, home
from cogency_tui.errors import WorkspaceError
from cogency_tui.workspace.nofollow_access import Directory
from cogency_tui.workspace.protected_names import shown

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

_MOST_FILES_OF_ALL = 20_000
_LARGEST_OF_ALL = 256 << 20
"""Files and bytes of all skills of a project: they are hashed before the user is asked."""

_DEEPEST = 8
_DEEPEST_SKILL = 3
"""Levels of directories below a place in which skills are found."""


@dataclass(frozen=True, slots=True)
class SkillFolder:
    """A directory at `path`, from the project, with slashes. The names of `entries` and `digests` (SHA-256)
    are below it; `problem` is why it cannot be used. A `link` leads to that path in the project, which is
    found by itself: it has nothing to be trusted.
    """

    path: str
    entries: tuple[FolderEntry, ...] = ()
    digests: Mapping[str, str] = field(default_factory=dict[str, str])
    problem: str = ""
    link: str = ""


def find_skill_folders(project: Path, digests: FileDigests) -> list[SkillFolder]:
    """The skill folders of a project (resolved), by place and name."""
    found: list[SkillFolder] = []
    for folder in _Scan(project, digests).folders():
        if len(found) == MOST_SKILLS:
            problem = f"there are more than {MOST_SKILLS} skills; the rest is not used"
            return [*found, SkillFolder(folder.path, folder.entries, problem=problem)]
        found.append(folder)
    return found


def _places_of(project: Path) -> tuple[str, ...]:
    """In a home directory the places of other agents are the user's own."""
    return PLACES[:1] if project == home() else PLACES


class _Scan:
    """One search of a project, with the limits for all of its skills together."""

    def __init__(self, project: Path, digests: FileDigests) -> None:
        self._project = project
        self._digests = digests
        self._directories = iter(range(_MOST_DIRECTORIES))
        self._files = iter(range(_MOST_FILES_OF_ALL))
        self._left = _LARGEST_OF_ALL

    def folders(self) -> Iterator[SkillFolder]:
        for place in _places_of(self._project):
            yield from self._at(place)

    def _at(self, place: str) -> Iterator[SkillFolder]:
        path = ""
        for part in place.split("/"):
            path = f"{path}/{part}" if path else part
            if (self._project / path).is_symlink():
                # `.cogency` itself is reported with its files.
                if path != FOLDER and (problem := self._link_problem(path)):
                    yield SkillFolder(place, problem=problem)
                return
        try:
            with Directory.open(self._project, place.split("/")) as top:
                yield from self._in(top, place, 1)
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as exc:
            yield SkillFolder(place, problem=_unreadable(exc))

    def _in(self, top: Directory, prefix: str, depth: int) -> Iterator[SkillFolder]:
        for entry in sorted(top.entries(_MOST_DIRECTORIES), key=lambda each: each.name):
            path = f"{prefix}/{text_of(entry.name)}"
            try:
                kind = top.status(entry.name).st_mode
                if stat.S_ISLNK(kind):
                    linked = f"{prefix}/{entry.name}"
                    problem = self._link_problem(linked)
                    yield SkillFolder(path, problem=problem, link="" if problem else self._target(linked))
                elif stat.S_ISDIR(kind) and entry.name not in LEFT_OUT:
                    if next(self._directories, None) is None:
                        return
                    with top.child(entry.name) as child:
                        if _has_skill_file(child):
                            yield self._survey(child, path)
                        elif depth < _DEEPEST_SKILL:
                            yield from self._in(child, path, depth + 1)
            except OSError as exc:
                yield SkillFolder(path, problem=_unreadable(exc))

    def _link_problem(self, path: str) -> str:
        """Why a link cannot be used; nothing if its target is found by itself, as tools that install skills
        for several agents leave them.
        """
        target = self._project / self._target(path)
        if any(target.is_relative_to(self._project / place) for place in PLACES):
            return ""
        return "it is a symbolic link; links of a project are not followed"

    def _target(self, path: str) -> str:
        """The path of a link's target from the project; in full, if it is outside."""
        target = Path(os.path.realpath(self._project / path))
        inside = target.is_relative_to(self._project)
        return text_of(target.relative_to(self._project).as_posix() if inside else str(target))

    def _survey(self, folder: Directory, path: str) -> SkillFolder:
        """List and hash the files of a skill."""
        entries: list[FolderEntry] = []
        found: dict[str, str] = {}
        problem = ""
        left = _LARGEST
        try:
            for name, directory, entry, status in self._below(folder, "", iter(range(_MOST_FILES)), _DEEPEST):
                entries.append(entry_of(name, status))
                limit = LARGEST_SKILL_FILE if name == SKILL_FILE else LARGEST_FILE
                left -= status.st_size
                if problem:
                    continue
                if not stat.S_ISREG(status.st_mode):
                    problem = f"{shown(name)} is no regular file but a {entries[-1].kind}"
                elif status.st_size > limit:
                    problem = f"{shown(name)} has {status.st_size:,} bytes; at most {limit:,} are read"
                elif left < 0:
                    problem = f"its files have more than {_LARGEST >> 20} MB"
                elif self._left < status.st_size:
                    problem = f"the skills of the project have more than {_LARGEST_OF_ALL >> 20} MB"
                else:
                    self._left -= status.st_size
                    found[name] = self._digests.of(directory, entry, status, limit)
        except OSError as exc:
            problem = _unreadable(exc)
        except WorkspaceError as exc:
            problem = str(exc).rstrip(".")
        entries.sort(key=lambda each: each.name)
        return SkillFolder(path, tuple(entries), {} if problem else dict(sorted(found.items())), problem)

    def _below(
        self, directory: Directory, prefix: str, budget: Iterator[int], depth: int
    ) -> Iterator[tuple[str, Directory, str, os.stat_result]]:
        """Each entry that is no directory: its name in the result, its directory, its name there, its
        status.
        """
        for entry in directory.entries(_MOST_FILES + len(LEFT_OUT) + 1):
            if entry.name in LEFT_OUT:
                continue
            name = prefix + text_of(entry.name)
            if not depth or next(budget, None) is None:
                raise WorkspaceError(f"it has more than {_MOST_FILES:,} files, or directories too deep")
            if next(self._files, None) is None:
                raise WorkspaceError(f"the skills of the project have more than {_MOST_FILES_OF_ALL:,} files")
            status = directory.status(entry.name)
            if stat.S_ISDIR(status.st_mode):
                with directory.child(entry.name) as child:
                    yield from self._below(child, f"{name}/", budget, depth - 1)
            else:
                yield name, directory, entry.name, status


def _has_skill_file(directory: Directory) -> bool:
    try:
        directory.status(SKILL_FILE)
    except FileNotFoundError:
        return False
    return True


def _unreadable(exc: OSError) -> str:
    return f"it cannot be read: {exc.strerror or exc}"

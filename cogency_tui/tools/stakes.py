"""What a command is about to destroy, in words and as paths.

Invariant: what git has as it is counts for nothing that could be lost, unless a whole directory goes; what
git does not have is told by its kind: changed, untracked, ignored, or in no repository at all.
"""

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from cogency_tui.store.versions import Version
from cogency_tui.tools.git_facts import Answers, CachedRepository, Entry, Repository
from cogency_tui.tools.moved_files import MovedFiles
from cogency_tui.tools.system_files import is_own_temporary
from cogency_tui.workspace.ignore import ALWAYS
from cogency_tui.workspace.names import shown
from cogency_tui.workspace.paths import Workspace

_NAMED = 5
_MOST_COUNTED = 10_000
_MOST_COUNTED_IN_ALL = 100_000
_MOST_PHRASES = 20
_MOST_MADE = 5000
_MOST_READ = 64 << 20
"""Bytes of files that are compared with what the agent left in them."""

_MOST_ASKED = 1000
"""Paths that git is asked about one by one; of more it is asked about all."""


@dataclass(frozen=True, slots=True)
class AtStake:
    """What would be lost: `paths` are files and directories of the project, with the links on the way to
    them resolved; `what` says it to a person, empty where nothing would be."""

    paths: tuple[Path, ...] = ()
    what: str = ""


class Stakes:
    """Collects what the parts of a command destroy; `made` are files that are no loss as long as they are in
    these versions, `moved` those that are one wherever they are."""

    def __init__(
        self, workspace: Workspace, made: Mapping[Path, Version], moved: MovedFiles | None = None
    ) -> None:
        self.stashed = False
        """Whether a part of the command puts changes aside, which a later one may drop."""
        self._workspace = workspace
        self._made = made
        self._moved = moved or MovedFiles()
        self._readable = _MOST_READ
        self._answers = Answers()
        self._targets: dict[Path, None] = {}
        self._countable = _MOST_COUNTED_IN_ALL
        self._kinds: dict[str, dict[str, None]] = {}
        self._phrases: dict[str, None] = {}
        self._paths: dict[Path, None] = {}

    def repository(self, directory: Path) -> Repository:
        """The repository around a directory."""
        return CachedRepository(directory, self._answers)

    def inside(self, path: Path) -> bool:
        """Whether a path with its links resolved is in the project."""
        roots = (self._workspace.root, *self._workspace.added)
        return any(path.is_relative_to(root) for root in roots)

    def is_temporary(self, path: Path) -> bool:
        """Whether a path is a temporary file of the user's own, or may become one."""
        return is_own_temporary(path, self._workspace.root)

    def add(self, phrase: str, paths: Iterable[Path] = ()) -> None:
        """Something that would be lost, in words, and where it is."""
        self._phrases[phrase] = None
        self._paths.update(dict.fromkeys(path for path in paths if self.inside(path)))

    def keep(self, paths: Iterable[Path]) -> None:
        """Have what is there kept, though it is not expected to be lost."""
        self._paths.update(dict.fromkeys(path for path in paths if self.inside(path)))

    def add_entries(self, entries: Iterable[Entry]) -> None:
        """Files that git has another version of, or none."""
        for entry in entries:
            if os.path.lexists(entry.path):
                self._note(_kind(entry), entry.path)

    def add_contents(self, paths: Iterable[Path]) -> None:
        """Files whose contents would go: those that are regular and hold anything."""
        self.add_files(path for path in paths if _holds_anything(path))

    def add_files(self, paths: Iterable[Path], *, whole: bool = False) -> None:
        """Files that would go; with `whole` directories too, whatever git has of them."""
        for path in paths:
            if not (whole or not path.is_dir() or path.is_symlink()):
                continue
            if self.inside(path):
                self._targets[path] = None
            elif not self.is_temporary(path):
                self._phrases[f"{shown(str(path))}, outside the project"] = None

    def result(self) -> AtStake:
        """All of it. Git is asked about all files at once."""
        targets = list(self._targets)
        for root in (self._workspace.root, *self._workspace.added):
            here = [path for path in targets if path.is_relative_to(root)]
            targets = [path for path in targets if not path.is_relative_to(root)]
            if here:
                self._sort(here, root)
        told = [
            f"{_LABELS[kind][0 if len(names) == 1 else 1].format(f'{len(names):,}')}: {_listed(list(names))}"
            for kind in _LABELS
            if (names := self._kinds.get(kind))
        ]
        paths = tuple(path for path in self._paths if self._paths.keys().isdisjoint(path.parents))
        phrases = list(self._phrases)
        rest = len(phrases) - _MOST_PHRASES
        more = [f"and {rest:,} more"] if rest > 0 else []
        return AtStake(paths, "; ".join([*told, *phrases[:_MOST_PHRASES], *more]))

    def _sort(self, targets: Sequence[Path], root: Path) -> None:
        few = targets if len(targets) <= _MOST_ASKED else ()
        entries = Repository(root).entries(few, untracked=True)
        by_path = {} if entries is None else {entry.path: entry for entry in entries}
        below = _by_directory(entries or (), targets)
        for target in targets:
            directory = target.is_dir() and not target.is_symlink()
            if entries is None:
                self._note("bare", target)
                continue
            above = next((by_path[path] for path in (target, *target.parents) if path in by_path), None)
            if above is not None:
                self._note(_kind(above), target)
                continue
            if directory and not self._is_filled(target, below[target], root):
                self.add_entries(below[target])
                self._note("whole", target)

    def _is_filled(self, directory: Path, entries: Sequence[Entry], root: Path) -> bool:
        """Whether only programs have filled a directory that git neither has nor ignores."""
        untracked = bool(entries) and all(entry.index == "?" for entry in entries)
        if not untracked or not _is_remade("untracked", directory):
            return False
        if any(self._moved.below(directory)):
            return False
        if any((root / name).is_relative_to(directory) for name in Repository(root).staged()):
            return False
        self.keep([directory])
        return True

    def _note(self, kind: str, path: Path) -> None:
        moved = list(islice(self._moved.below(path), _NAMED))
        for file, earlier in moved:
            name = shown(self._workspace.name_of(file))
            self.add(f"{name}, which was {shown(earlier)} and of which no copy is kept", [file])
        if not moved and self._is_made(path):
            self.keep([path])
            return
        name = shown(self._workspace.name_of(path))
        if path.is_dir() and not path.is_symlink():
            count = self._count(path)
            if count == "0 files":
                return
            name = f"{name.rstrip('/')}/ ({count})"
        if not _is_remade(kind, path):
            self._kinds.setdefault(kind, {})[name] = None
        if self.inside(path):
            self._paths[path] = None

    def _is_made(self, path: Path) -> bool:
        """Whether all that is there is as the agent made it, but for what programs fill."""
        if not self._made:
            return False
        if path.is_symlink() or not path.is_dir():
            return self._is_made_file(path)
        files = list(islice(_files_of_work(path), _MOST_MADE + 1))
        return 0 < len(files) <= _MOST_MADE and all(map(self._is_made_file, files))

    def _is_made_file(self, path: Path) -> bool:
        version = self._made.get(path)
        self._readable -= version.size if version else 0
        return version is not None and self._readable >= 0 and _holds(path, version)

    def _count(self, directory: Path) -> str:
        """The files in a directory, as far as they are counted."""
        count = 0
        for _top, below, files in os.walk(directory):
            count += len(files)
            self._countable -= len(below) + len(files)
            if count >= _MOST_COUNTED or self._countable <= 0:
                return f"{min(count, _MOST_COUNTED):,}+ files"
        return f"{count:,} file{'' if count == 1 else 's'}"


_CACHES = ALWAYS - {".git", ".hg", ".svn", ".jj"}
"""Directories that only programs fill, whatever git is told of them."""

_BUILT = frozenset(
    (".cache", ".coverage_html", ".turbo", "build", "coverage", "dist", "htmlcov", "out", "target")
    + ("DerivedData", "cmake-build-debug", "cmake-build-release", "venv")
)
"""Directories that builds and tests fill, where git ignores them."""

_OWN_WORK = (".git", ".hg", ".svn", ".jj", ".env")
"""What in such a directory is no product of a build."""

_LABELS = {
    "changed": ("uncommitted changes in {} file", "uncommitted changes in {} files"),
    "untracked": ("{} untracked", "{} untracked"),
    "ignored": ("{} ignored by git", "{} ignored by git"),
    "bare": ("{} that no version control has", "{} that no version control has"),
    "whole": ("the directory", "{} directories"),
}


def _is_remade(kind: str, path: Path) -> bool:
    """Whether a build, a test or an installation makes a directory again, and git has nothing of it."""
    if path.suffix == ".pyc" and path.parent.name == "__pycache__" and path.is_file():
        return kind == "ignored"
    if path.is_symlink() or not path.is_dir() or any(os.path.lexists(path / name) for name in _OWN_WORK):
        return False
    remade = path.name in _CACHES or (kind == "ignored" and path.name in _BUILT)
    return remade and kind in ("bare", "ignored", "untracked")


def _files_of_work(directory: Path) -> Iterator[Path]:
    """The files and links in a directory, but for those in directories that only programs fill."""
    for top, below, files in os.walk(directory):
        links = [name for name in below if Path(top, name).is_symlink()]
        below[:] = [name for name in below if name not in _CACHES]
        yield from (Path(top, name) for name in (*files, *links))


def _holds(path: Path, version: Version) -> bool:
    """Whether a file or link holds what a version has."""
    try:
        if version.kind == "link":
            return hashlib.sha256(os.fsencode(path.readlink())).hexdigest() == version.digest
        found = path.lstat()
        if not stat.S_ISREG(found.st_mode) or found.st_size != version.size:
            return False
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == version.digest
    except OSError:
        return False


def _kind(entry: Entry) -> str:
    return {"?": "untracked", "!": "ignored"}.get(entry.index, "changed")


def _listed(names: list[str]) -> str:
    rest = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {rest:,} more" if rest > 0 else "")


def _by_directory(entries: Iterable[Entry], directories: Iterable[Path]) -> dict[Path, list[Entry]]:
    """The entries below each of the directories."""
    found: dict[Path, list[Entry]] = {directory: [] for directory in directories}
    for entry in entries:
        for above in entry.path.parents:
            if above in found:
                found[above].append(entry)
    return found


def _holds_anything(path: Path) -> bool:
    try:
        found = path.stat()
    except OSError:
        return False
    return stat.S_ISREG(found.st_mode) and found.st_size > 0

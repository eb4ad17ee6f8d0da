"""The files of a project that one survey compares: each read once, and all together limited.

Invariant: what a project brings cannot make a survey long: it ends when the limit of bytes, files or
computing time is reached. Only regular files inside the project are read. Installed packages
(`node_modules`, `.venv`) are left out of sources, their lock files are not. Files loaded by a path that
appears nowhere literally cannot be found. The calls block.
"""

import hashlib
import os
import stat
import time
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from cogency_tui.agent.project.file_digests import FileDigests, SourceFile
from cogency_tui.errors import WorkspaceError
from cogency_tui.workspace.nofollow_access import Directory

_MOST_SOURCES = 2_000
"""Sources of one directory, with those that they name."""

MOST_SEEN = 50_000
"""Directory entries that are read."""

_LARGEST = 64 << 20
"""Bytes of all files."""

_MOST_FILES = 20_000

_SECONDS = 2.0
"""Computing time."""

LIMIT = f"too much to compare (more than {_LARGEST >> 20} MB, {_MOST_FILES:,} files or {_SECONDS:g} s)"

_ENDINGS = frozenset(
    (".bash", ".cjs", ".cs", ".cts", ".dll", ".ex", ".exs", ".go", ".gradle", ".jar", ".java", ".js", ".jsx")
    + (".kt", ".kts", ".lua", ".mjs", ".mts", ".node", ".php", ".pl", ".pm", ".pth", ".py", ".pyc", ".pyd")
    + (".pyw", ".rb", ".rs", ".sh", ".so", ".svelte", ".ts", ".tsx", ".vue", ".wasm", ".zsh")
)
NAMES = frozenset(
    (".env", ".npmrc", ".yarnrc.yml", "bun.lock", "bunfig.toml", "cargo.lock", "cargo.toml", "deno.json")
    + ("gemfile", "gemfile.lock", "gnumakefile", "go.mod", "go.sum", "justfile", "makefile", "package.json")
    + ("package-lock.json", "pipfile", "pipfile.lock", "pnpm-lock.yaml", "poetry.lock", "pyproject.toml")
    + ("requirements.txt", "setup.cfg", "tsconfig.json", "uv.lock", "uv.toml", "yarn.lock")
)
"""Files that decide what a program loads."""

_LEFT_OUT = frozenset((".cogency", ".git", ".tox", ".nox", ".venv", "__pycache__", "node_modules", "venv"))
INDEXES = ("", ".js", ".mjs", ".cjs", ".ts", ".json", ".py", "/index.js", "/index.ts")
"""What may follow the path by which a module is named."""


class TooMuchError(Exception):
    """There are more sources than are compared."""


class SurveyLimitError(Exception):
    """The files of all commands together are too many or too large."""


@dataclass(frozen=True, slots=True)
class Sources:
    """Files with their directory: `digest` is one for all their names and bytes."""

    count: int
    size: int
    digest: str


def is_source(path: Path) -> bool:
    """Return whether a file is a program, or part of one."""
    return path.suffix.casefold() in _ENDINGS or os.access(path, os.X_OK)


class SurveyedFiles:
    """The files of `project` (resolved) as they are during one survey; `digests` outlive it."""

    def __init__(self, project: Path, digests: FileDigests | None = None) -> None:
        self.project = project
        self._digests = digests or FileDigests()
        self._files: dict[Path, SourceFile | None] = {}
        self._sources: dict[Path, Sources | None] = {}
        self._left = _LARGEST
        self._began = time.thread_time()

    def check(self) -> None:
        """Check the computing time.

        Raises:
            SurveyLimitError: there is none left.
        """
        if time.thread_time() - self._began > _SECONDS:
            raise SurveyLimitError

    def file(self, path: Path) -> SourceFile | None:
        """A file inside the project; None if it cannot be read.

        Raises:
            SurveyLimitError: a limit is reached.
        """
        if path not in self._files:
            self.check()
            if len(self._files) == _MOST_FILES:
                raise SurveyLimitError
            self._files[path] = self._read(path)
        return self._files[path]

    def _read(self, path: Path) -> SourceFile | None:
        *folders, name = path.relative_to(self.project).parts
        with suppress(OSError, WorkspaceError), Directory.open(self.project, folders) as directory:
            status = directory.status(name)
            self._left -= status.st_size
            if self._left < 0:
                raise SurveyLimitError
            return self._digests.source(directory, name, status)
        return None

    def sources(self, place: Path) -> Sources | None:
        """The sources in a directory inside the project, and those that they name elsewhere in it; None if
        one cannot be read, or there are more than are compared.

        Raises:
            SurveyLimitError: a limit is reached.
        """
        if place not in self._sources:
            try:
                self._sources[place] = self._find_sources(place)
            except (OSError, TooMuchError):
                self._sources[place] = None
        return self._sources[place]

    def source_files(self, place: str) -> dict[str, int]:
        """The sources that are compared with a directory, by their paths from the project, with their sizes;
        none if they cannot be compared."""
        try:
            found = self._gather(self.project / place) or {}
        except (OSError, TooMuchError, SurveyLimitError):
            return {}
        return {path.relative_to(self.project).as_posix(): found[path].size for path in sorted(found)}

    def _find_sources(self, start: Path) -> Sources | None:
        found = self._gather(start)
        if found is None:
            return None
        named = sorted(
            (path.relative_to(self.project).as_posix(), each.digest) for path, each in found.items()
        )
        digest = hashlib.sha256(repr(named).encode()).hexdigest()
        return Sources(len(found), sum(each.size for each in found.values()), digest)

    def _gather(self, start: Path) -> dict[Path, SourceFile] | None:
        found: dict[Path, SourceFile] = {}
        budget = iter(range(MOST_SEEN))
        waiting, done = [start], set[Path]()
        while waiting:
            self.check()
            place = waiting.pop()
            if place in done or not place.is_relative_to(self.project):
                continue
            done.add(place)
            for path in self._below(place, budget) if place.is_dir() else [place]:
                if path in found:
                    continue
                if len(found) == _MOST_SOURCES:
                    raise TooMuchError
                if (source := self.file(path)) is None:
                    return None
                found[path] = source
                waiting += self._named_by(path, source.references)
        return found

    def _below(self, place: Path, budget: Iterator[int]) -> Iterator[Path]:
        """The sources in a directory and below it; links are followed if they stay in the project."""
        waiting, done = [place], set[Path]()
        while waiting:
            directory = waiting.pop()
            if directory in done:
                continue
            done.add(directory)
            with os.scandir(directory) as scan:
                entries = list(islice(scan, MOST_SEEN))
            for entry in entries:
                if next(budget, None) is None:
                    raise TooMuchError
                path = Path(os.path.realpath(entry.path)) if entry.is_symlink() else directory / entry.name
                if not path.is_relative_to(self.project) or entry.name.casefold() in _LEFT_OUT:
                    continue
                if path.is_dir():
                    waiting.append(path)
                elif path.is_file() and (entry.name.casefold() in NAMES or is_source(path)):
                    yield path

    def _named_by(self, path: Path, references: Collection[str]) -> Iterator[Path]:
        """The paths that a source names outside its directory, or loads in it or in the project's root; not
        the directories around it."""
        places = (
            f"{base}/{reference}"
            for reference in references
            for base in (path.parent, *([self.project] if reference.startswith("./") else []))
        )
        for place in places:
            self.check()
            for ending in INDEXES:
                target = Path(os.path.realpath(f"{place}{ending}"))
                try:
                    kind = target.stat().st_mode
                except (OSError, ValueError):
                    continue
                if stat.S_ISREG(kind) or (stat.S_ISDIR(kind) and not path.is_relative_to(target)):
                    yield target

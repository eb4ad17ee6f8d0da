"""The source files that a program of the project may load: those of its directory, and what they name by a
relative path.

Invariant: only regular files inside the project are read, and there are bounds to how many and how much;
installed packages (`node_modules`, `.venv`) are left out, their lock files are not. What is loaded by a path
that stands nowhere as it is cannot be found. The calls block.
"""

import hashlib
import os
import re
import stat
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from cogency_tui.workspace.directory import Directory

_MOST_FILES = 2_000
_MOST_SEEN = 50_000
"""Entries of directories that are looked at."""

_LARGEST = 64 << 20
"""Bytes of all files."""

_ENDINGS = frozenset(
    (".bash", ".cjs", ".cs", ".cts", ".dll", ".ex", ".exs", ".go", ".gradle", ".jar", ".java", ".js", ".jsx")
    + (".kt", ".kts", ".lua", ".mjs", ".mts", ".node", ".php", ".pl", ".pm", ".pth", ".py", ".pyc", ".pyd")
    + (".pyw", ".rb", ".rs", ".sh", ".so", ".svelte", ".ts", ".tsx", ".vue", ".wasm", ".zsh")
)
_NAMES = frozenset(
    (".env", ".npmrc", ".yarnrc.yml", "bun.lock", "bunfig.toml", "cargo.lock", "cargo.toml", "deno.json")
    + ("gemfile", "gemfile.lock", "gnumakefile", "go.mod", "go.sum", "justfile", "makefile", "package.json")
    + ("package-lock.json", "pipfile", "pipfile.lock", "pnpm-lock.yaml", "poetry.lock", "pyproject.toml")
    + ("requirements.txt", "setup.cfg", "tsconfig.json", "uv.lock", "uv.toml", "yarn.lock")
)
_LEFT_OUT = frozenset((".cogency", ".git", ".tox", ".nox", ".venv", "__pycache__", "node_modules", "venv"))
_INDEXES = ("", ".js", ".mjs", ".cjs", ".ts", ".json", ".py", "/index.js", "/index.ts")
_REFERENCE = re.compile(rb"""['"`]((?:\./)?\.\./[\w@.][\w@./ -]{0,200})['"`]""")


@dataclass(frozen=True, slots=True)
class Sources:
    """Files with their directory: `digest` is one for all their names and bytes."""

    count: int
    size: int
    digest: str


@dataclass(frozen=True, slots=True)
class _File:
    size: int
    digest: str
    references: tuple[str, ...]


class TooMuchError(Exception):
    """There is more than is looked at."""


def is_source(path: Path) -> bool:
    """Whether a file is a program, or part of one."""
    return path.suffix.casefold() in _ENDINGS or os.access(path, os.X_OK)


def sources_of(project: Path, places: Collection[Path]) -> Sources:
    """The sources in these directories inside `project` (resolved), and those that they name elsewhere in it.

    Raises:
        OSError, WorkspaceError: one cannot be read.
        TooMuchError: there are too many, or they are too large.
    """
    found: dict[Path, _File] = {}
    budget = iter(range(_MOST_SEEN))
    waiting = list(places)
    size = 0
    done: set[Path] = set()
    while waiting:
        place = waiting.pop()
        if place in done or not place.is_relative_to(project):
            continue
        done.add(place)
        for path in _below(place, project, budget) if place.is_dir() else [place]:
            if path not in found:
                found[path] = _read(path)
                waiting += _named_by(path, found[path].references)
                size += found[path].size
                if len(found) > _MOST_FILES or size > _LARGEST:
                    raise TooMuchError
    named = sorted((path.relative_to(project).as_posix(), file.digest) for path, file in found.items())
    digest = hashlib.sha256(repr(named).encode()).hexdigest()
    return Sources(len(found), size, digest)


def _below(place: Path, project: Path, budget: Iterator[int]) -> Iterator[Path]:
    """The sources in a directory and the directories in it, links followed where they stay in the project."""
    waiting = [place]
    done: set[Path] = set()
    while waiting:
        directory = waiting.pop()
        if directory in done:
            continue
        done.add(directory)
        with os.scandir(directory) as scan:
            entries = list(islice(scan, _MOST_SEEN))
        for entry in entries:
            if next(budget, None) is None:
                raise TooMuchError
            path = Path(os.path.realpath(entry.path)) if entry.is_symlink() else directory / entry.name
            if not path.is_relative_to(project) or entry.name.casefold() in _LEFT_OUT:
                continue
            if path.is_dir():
                waiting.append(path)
            elif path.is_file() and (entry.name.casefold() in _NAMES or is_source(path)):
                yield path


def _read(path: Path) -> _File:
    with Directory.open(path.parent) as directory:
        data = directory.read(path.name, _LARGEST)
    references = {os.fsdecode(each) for each in _REFERENCE.findall(data)} if b"../" in data else ()
    return _File(len(data), hashlib.sha256(data).hexdigest(), tuple(references))


def _named_by(path: Path, references: Collection[str]) -> Iterator[Path]:
    """What a source names by a path that leads out of its directory; not the directories around it."""
    for reference in references:
        for ending in _INDEXES:
            target = Path(os.path.realpath(path.parent / f"{reference}{ending}"))
            try:
                kind = target.stat().st_mode
            except (OSError, ValueError):
                continue
            if stat.S_ISREG(kind) or (stat.S_ISDIR(kind) and not path.is_relative_to(target)):
                yield target

"""The files of a project that its MCP servers are started from: named by a command, its arguments, its
variables or its directory, and the sources around them (`server_sources`).

Invariant: the configuration is looked at before it is trusted, so nothing of it is used but the names of
files; only regular files inside the project are read, and there are bounds to how many and how much. The
calls block.
"""

import hashlib
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

from cogency_tui.agent.project_files import FOLDER
from cogency_tui.agent.server_sources import TooMuchError, is_source, sources_of
from cogency_tui.errors import WorkspaceError
from cogency_tui.workspace.directory import Directory

CONFIG = "config.toml"
ABOVE = "../"
"""What the name of a program begins with: files are named from the project's folder on."""

_LARGEST_CONFIG = 256 << 10
_MOST_DOTS = 100
"""On one line: a key of thousands of parts takes memory that grows with their square."""

_MOST_FILES = 500
_LARGEST = 64 << 20
_MANIFESTS = frozenset(
    ("bun", "bundle", "cargo", "composer", "deno", "dotnet", "gmake", "go", "gradle", "gradlew", "hatch")
    + ("just", "lerna", "make", "mix", "mvn", "mvnw", "npm", "nx", "pdm", "pipenv", "pnpm", "poetry", "rake")
    + ("rye", "task", "turbo", "uv", "yarn")
)
"""Programs that run what the files of their directory say."""

_ENTRIES = ("__main__.py", "__init__.py", "package.json", "index.js")
"""What an interpreter that is given a directory begins with."""

_MODULE = re.compile(r"[\w.]+")
_SEPARATORS = re.compile(r"[=:,@\s]")


@dataclass(frozen=True, slots=True)
class Program:
    """A file that a server is started from, or `count` sources of a directory; `digest` is the SHA-256 of
    what they hold."""

    size: int
    digest: str
    count: int = 0

    @property
    def kind(self) -> str:
        """What it is where it is no file."""
        return f"{self.count:,} source file{'' if self.count == 1 else 's'}" if self.count else ""


@dataclass(frozen=True, slots=True)
class Programs:
    """What was found, by name as from the project's folder on; `unknown` are commands of which it cannot be
    told what of the project they start."""

    files: Mapping[str, Program] = field(default_factory=dict[str, Program])
    unknown: tuple[str, ...] = ()


def programs_of(project: Path, files: Mapping[str, bytes]) -> Programs:
    """What the servers in a project's (resolved) own configuration, one of its `files`, are started from."""
    found: dict[str, Program] = {}
    unknown: list[str] = []
    for server in _servers(files.get(CONFIG, b"")):
        named = [path for path in _named(project, server) if not path.is_relative_to(project / FOLDER)]
        programs = [_read(project, path) for path in named]
        places = _places(project, server, named)
        try:
            found |= _sources(project, places)
            told = bool(programs or places) and None not in programs
        except (OSError, WorkspaceError, TooMuchError):
            told = False
        if not told or len(found) + len(programs) > _MOST_FILES:
            unknown.append(" ".join(_words(server))[:200])
        for path, program in zip(named[: _MOST_FILES - len(found)], programs, strict=False):
            if program is not None:
                found[f"{ABOVE}{path.relative_to(project).as_posix()}"] = program
    return Programs(dict(sorted(found.items())), tuple(unknown))


def _places(project: Path, server: Mapping[str, Any], named: list[Path]) -> list[Path]:
    """The directories from which the programs of a server load what they need."""
    words = _words(server)
    places = dict.fromkeys(path.parent for path in named if is_source(path) or path.name in _ENTRIES)
    bases = [base for base in _bases(project, server) if base.is_relative_to(project) and base.is_dir()]
    if "-m" in words and named:
        # Python finds modules from where it is started.
        places |= dict.fromkeys(bases)
    if not places and any(Path(word).name in _MANIFESTS for word in words[:1]):
        places |= dict.fromkeys(bases[:1])
    return [
        place for place in places if not any(place.is_relative_to(each) for each in places if each != place)
    ]


def _sources(project: Path, places: list[Path]) -> dict[str, Program]:
    """What the sources of each of these directories say, by the name of the directory."""
    found: dict[str, Program] = {}
    for place in places:
        sources = sources_of(project, [place])
        name = (place.relative_to(project) / "**").as_posix()
        if sources.count:
            found[f"{ABOVE}{name}"] = Program(sources.size, sources.digest, sources.count)
    return found


def _bases(project: Path, server: Mapping[str, Any]) -> list[Path]:
    """The directories that names are looked up from, the one that the server is started in first."""
    cwd = server.get("cwd", "")
    directory = _joined(project, cwd) if isinstance(cwd, str) else None
    return list(dict.fromkeys((directory or project, project)))


def _servers(config: bytes) -> Iterator[dict[str, Any]]:
    """The tables of servers that have a command; none of a file that cannot be read, nor used then."""
    lines = config.splitlines()
    if len(config) > _LARGEST_CONFIG or any(line.count(b".") > _MOST_DOTS for line in lines):
        return
    try:
        tables: object = tomllib.loads(config.decode("utf-8-sig")).get("mcp")
    except (ValueError, RecursionError):
        return
    if isinstance(tables, dict):
        for table in cast("dict[str, Any]", tables).values():
            if isinstance(table, dict) and "command" in table:
                yield cast("dict[str, Any]", table)


def _words(server: Mapping[str, Any]) -> list[str]:
    args: object = server.get("args", [])
    given = [server["command"], *(cast("list[object]", args) if isinstance(args, list) else ())]
    return [word for word in given if isinstance(word, str)]


def _named(project: Path, server: Mapping[str, Any]) -> list[Path]:
    """The files inside the project that a server's table names, each once."""
    words = _words(server)
    variables: object = server.get("env", {})
    values = cast("dict[str, object]", variables).values() if isinstance(variables, dict) else ()
    texts = [*words, *(value for value in values if isinstance(value, str))]
    pieces = [piece for text in texts for piece in (text, *_SEPARATORS.split(text)) if piece]
    for before, module in pairwise(words):
        if before == "-m" and _MODULE.fullmatch(module):
            place = module.replace(".", "/")
            pieces += [f"{place}.py", place]
    found: dict[Path, None] = {}
    for base in _bases(project, server):
        for piece in pieces:
            path = _joined(base, piece)
            if path is not None and path.is_relative_to(project):
                found |= dict.fromkeys(each for each in _files_at(path) if _is_inside(each, project))
    return list(found)


def _is_inside(path: Path, project: Path) -> bool:
    return Path(os.path.realpath(path)) == path and path.is_relative_to(project)


def _joined(base: Path, text: str) -> Path | None:
    """Where a text leads if it is a path."""
    try:
        return Path(os.path.realpath(base / text))
    except (OSError, ValueError):
        return None


def _files_at(path: Path) -> list[Path]:
    """A file, or those that are run where a directory is."""
    try:
        return [each for each in (path, *(path / name for name in _ENTRIES)) if each.is_file()]
    except OSError:
        return []


def _read(project: Path, path: Path) -> Program | None:
    """None for what cannot be read as a file of a bounded size."""
    parts = path.relative_to(project).parts
    try:
        with Directory.open(project, parts[:-1]) as parent:
            data = parent.read(parts[-1], _LARGEST)
    except (OSError, WorkspaceError):
        return None
    return Program(len(data), hashlib.sha256(data).hexdigest())

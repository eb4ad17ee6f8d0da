"""The files of a project from which its MCP servers and hooks are started: those named by a command, its
arguments, its variables or its directory, and the sources that these may load (`sources_of`): the files of
their directory, and those that they name by a relative path. Of a hook in the project's root its neighbours
are left out: they are what the agent works on.

Invariant: the configuration is read before it is trusted, so only the names of files in it are used. Only
regular files inside the project are read, limited in number and size. Installed packages (`node_modules`,
`.venv`) are left out, their lock files are not. Files loaded by a path that appears nowhere literally
cannot be found. The calls block.
"""

import hashlib
import os
import re
import shlex
import stat
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, cast

from cogency_tui.agent.project.cogency_folder import CONFIG, FOLDER, LARGEST_CONFIG
from cogency_tui.config import toml_reader
from cogency_tui.errors import WorkspaceError
from cogency_tui.workspace.nofollow_access import Directory

_MOST_SOURCES = 2_000
_MOST_SEEN = 50_000
"""Directory entries that are read."""

_LARGEST_SOURCE = 64 << 20
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
    """There is more than the limits allow."""


def is_source(path: Path) -> bool:
    """Return whether a file is a program, or part of one."""
    return path.suffix.casefold() in _ENDINGS or os.access(path, os.X_OK)


def sources_of(project: Path, places: Collection[Path]) -> Sources:
    """The sources in these directories inside `project` (resolved), and those that they name elsewhere in
    it.

    Raises:
        OSError, WorkspaceError: one cannot be read.
        TooMuchError: there are too many, or they are too large.
    """
    found = _gather(project, places)
    named = sorted((path.relative_to(project).as_posix(), file.digest) for path, file in found.items())
    digest = hashlib.sha256(repr(named).encode()).hexdigest()
    return Sources(len(found), sum(file.size for file in found.values()), digest)


def source_files(project: Path, place: str) -> dict[str, int]:
    """The sources of a directory in `project` (resolved), by their paths from the project, with their sizes;
    none if they cannot be read."""
    try:
        found = _gather(project, [project / place])
    except (OSError, WorkspaceError, TooMuchError):
        return {}
    return {path.relative_to(project).as_posix(): found[path].size for path in sorted(found)}


def _gather(project: Path, places: Collection[Path]) -> dict[Path, _File]:
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
                found[path] = _source(path)
                waiting += _named_by(path, found[path].references)
                size += found[path].size
                if len(found) > _MOST_SOURCES or size > _LARGEST_SOURCE:
                    raise TooMuchError
    return found


def _below(place: Path, project: Path, budget: Iterator[int]) -> Iterator[Path]:
    """The sources in a directory and below it; links are followed if they stay in the project."""
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


def _source(path: Path) -> _File:
    with Directory.open(path.parent) as directory:
        data = directory.read(path.name, _LARGEST_SOURCE)
    references = {os.fsdecode(each) for each in _REFERENCE.findall(data)} if b"../" in data else ()
    return _File(len(data), hashlib.sha256(data).hexdigest(), tuple(references))


def _named_by(path: Path, references: Collection[str]) -> Iterator[Path]:
    """The paths outside its directory that a source names; not the directories around it."""
    for reference in references:
        for ending in _INDEXES:
            target = Path(os.path.realpath(path.parent / f"{reference}{ending}"))
            try:
                kind = target.stat().st_mode
            except (OSError, ValueError):
                continue
            if stat.S_ISREG(kind) or (stat.S_ISDIR(kind) and not path.is_relative_to(target)):
                yield target


ABOVE = "../"
"""The beginning of a program's name: names are relative to the project's `.cogency` folder."""

_MOST_FILES = 500
_LARGEST = 64 << 20
_MANIFESTS = frozenset(
    ("bun", "bundle", "cargo", "composer", "deno", "dotnet", "gmake", "go", "gradle", "gradlew", "hatch")
    + ("just", "lerna", "make", "mix", "mvn", "mvnw", "npm", "nx", "pdm", "pipenv", "pnpm", "poetry", "rake")
    + ("rye", "task", "turbo", "uv", "yarn")
)
"""Programs that run what files of their directory define."""

_ENTRIES = ("__main__.py", "__init__.py", "package.json", "index.js")
"""The files that an interpreter starts from when given a directory."""

_DIRECTORY = (
    r"\$\{?(?:CLAUDE_PROJECT_DIR|COGENCY_PROJECT|PWD)\b(?::?-(?:\$PWD|\$\(pwd\)|[^}$`]*))?\}?|\$\(pwd\)|`pwd`"
)
_TOP = r"\$\(git rev-parse --show-toplevel(?: 2> ?/dev/null)?\)|`git rev-parse --show-toplevel`"
PROJECT = re.compile(rf"\{{project\}}|{_DIRECTORY}|{_TOP}")
"""What stands for the project's directory in the command of a hook."""

_REDIRECTED = re.compile(r""">{1,2}\s*(?:"[^"]*"|'[^']*'|\S+)+""")
_CONFIGURATIONS = frozenset((".cfg", ".conf", ".ini", ".json", ".toml", ".yaml", ".yml"))
_WORDS = re.compile(r"""[\s"'=:,;|&<>()`]+""")
_MODULE = re.compile(r"[\w.]+")
_SEPARATORS = re.compile(r"[=:,@\s]")


@dataclass(frozen=True, slots=True)
class Program:
    """A file that a server is started from, or `count` sources of a directory; `digest` is the SHA-256 of
    their content.
    """

    size: int
    digest: str
    count: int = 0

    @property
    def kind(self) -> str:
        """A description of a group of sources; empty for a file."""
        return f"{self.count:,} source file{'' if self.count == 1 else 's'}" if self.count else ""


@dataclass(frozen=True, slots=True)
class Programs:
    """The programs, by their names relative to the project's `.cogency` folder; `unknown` are commands for
    which it cannot be determined what they start of the project.
    """

    files: Mapping[str, Program] = field(default_factory=dict[str, Program])
    unknown: tuple[str, ...] = ()


def programs_of(project: Path, files: Mapping[str, bytes]) -> Programs:
    """The programs of the servers and hooks in the configuration of a project (resolved), one of its
    `files`.
    """
    config = files.get(CONFIG, b"")
    servers = list(_tables(config, "mcp"))
    tables = list(_tables(config, "hooks"))
    found = _programs(project, servers, _lines(tables))
    running = [hook for hook in tables if hook.get("enabled", True) is not False]
    if found.unknown and len(running) < len(tables):
        # What does not run starts nothing.
        return Programs(found.files, _programs(project, servers, _lines(running)).unknown)
    return found


def _lines(hooks: Sequence[Mapping[str, Any]]) -> list[str]:
    """The command lines of hooks."""
    return [line for line in (_as_line(hook["command"]) for hook in hooks) if line]


def programs_of_hooks(project: Path, commands: Sequence[str]) -> Programs:
    """The programs of hooks, given by their command lines."""
    return _programs(project, [], commands)


def _programs(project: Path, servers: Sequence[Mapping[str, Any]], hooks: Sequence[str]) -> Programs:
    found: dict[str, Program] = {}
    unknown: list[str] = []
    for server in (*servers, *hooks):
        is_hook = isinstance(server, str)
        table = _hook_table(server, project) if isinstance(server, str) else server
        everything = _named(project, table)
        if is_hook:
            # What a hook writes, such as a log, changes each time.
            everything = [path for path in everything if is_source(path) or _decides(path)]
        if is_hook and any(Path(word).name in _MANIFESTS for word in _words(table)):
            everything += [path for path in _manifests(project) if path not in everything]
        is_whole = True
        if isinstance(server, str):
            # The parser is loaded where there are hooks.
            from cogency_tui.agent.project.hook_commands import runs_of

            runs = runs_of(server, project)
            is_whole = runs.is_whole
            everything += [path for path in runs.paths if path not in everything]
        named = [path for path in everything if not path.is_relative_to(project / FOLDER)]
        programs = [_read(project, path) for path in named]
        places = _places_of_hook(project, named) if is_hook else _places(project, table, named)
        try:
            found |= _sources(project, places)
            known = (is_whole if is_hook else bool(everything or places)) and None not in programs
        except (OSError, WorkspaceError, TooMuchError):
            known = False
        if not known or len(found) + len(programs) > _MOST_FILES:
            line = server if isinstance(server, str) else " ".join(_words(server))
            unknown.append(" ".join(line.split())[:200])
        for path, program in zip(named[: _MOST_FILES - len(found)], programs, strict=False):
            if program is not None:
                found[f"{ABOVE}{path.relative_to(project).as_posix()}"] = program
    return Programs(dict(sorted(found.items())), tuple(unknown))


def _as_line(command: object) -> str:
    """The command of a hook as one text; empty where it is none."""
    if isinstance(command, list):
        return shlex.join(word for word in cast("list[object]", command) if isinstance(word, str))
    return command if isinstance(command, str) else ""


def _hook_table(line: str, project: Path) -> dict[str, Any]:
    """The command line of a hook as the table of a server: each of its words, and all pieces of them."""
    line = _REDIRECTED.sub(" ", PROJECT.sub(lambda _found: str(project), line))
    pieces = [piece for piece in _WORDS.split(line) if piece]
    # Quotes within a word join what they separate.
    joined = [piece for piece in _WORDS.split(line.replace('"', "").replace("'", "")) if piece]
    # The project itself is no program.
    words = [piece for piece in (*joined, *pieces) if piece.rstrip("/") != str(project)]
    return {"command": (words or [""])[0], "args": words[1:]}


def _decides(path: Path) -> bool:
    """Return whether a file that is no program may decide what a program does."""
    return path.name.casefold() in _NAMES or path.suffix.casefold() in _CONFIGURATIONS


def _manifests(project: Path) -> list[Path]:
    """The files in a project's root that define what programs such as `make` and `npm` run."""
    with suppress(OSError), os.scandir(project) as scan:
        names = [entry.name for entry in islice(scan, _MOST_SEEN) if entry.name.casefold() in _NAMES]
        return [path for path in map(project.joinpath, sorted(names)) if path.is_file()]
    return []


def _places_of_hook(project: Path, named: Sequence[Path]) -> list[Path]:
    """The directories from which the programs of a hook load what they need, but not the project itself."""
    places = dict.fromkeys(path.parent for path in named if is_source(path) and path.parent != project)
    return [
        place for place in places if not any(place.is_relative_to(each) for each in places if each != place)
    ]


def _places(project: Path, server: Mapping[str, Any], named: list[Path]) -> list[Path]:
    """The directories from which the programs of a server load what they need."""
    words = _words(server)
    places = dict.fromkeys(path.parent for path in named if is_source(path) or path.name in _ENTRIES)
    bases = [base for base in _bases(project, server) if base.is_relative_to(project) and base.is_dir()]
    if "-m" in words and named:
        # Python finds modules from its start directory.
        places |= dict.fromkeys(bases)
    if not places and any(Path(word).name in _MANIFESTS for word in words[:1]):
        places |= dict.fromkeys(bases[:1])
    return [
        place for place in places if not any(place.is_relative_to(each) for each in places if each != place)
    ]


def _sources(project: Path, places: list[Path]) -> dict[str, Program]:
    """The sources of each of these directories, by the name of the directory."""
    found: dict[str, Program] = {}
    for place in places:
        sources = sources_of(project, [place])
        name = (place.relative_to(project) / "**").as_posix()
        if sources.count:
            found[f"{ABOVE}{name}"] = Program(sources.size, sources.digest, sources.count)
    return found


def _bases(project: Path, server: Mapping[str, Any]) -> list[Path]:
    """The directories that names are resolved from, the server's start directory first."""
    cwd = server.get("cwd", "")
    directory = _joined(project, cwd) if isinstance(cwd, str) else None
    return list(dict.fromkeys((directory or project, project)))


def _tables(config: bytes, kind: str) -> Iterator[dict[str, Any]]:
    """The tables of a kind that have a command; none of a file that cannot be parsed, which is not used
    either.
    """
    if len(config) > LARGEST_CONFIG:
        return
    try:
        tables: object = toml_reader.loads(config.decode("utf-8-sig")).get(kind)
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
    """The resolved path of a text, if it is one."""
    try:
        return Path(os.path.realpath(base / text))
    except (OSError, ValueError):
        return None


def _files_at(path: Path) -> list[Path]:
    """A file, or the files that are run for a directory."""
    try:
        return [each for each in (path, *(path / name for name in _ENTRIES)) if each.is_file()]
    except OSError:
        return []


def _read(project: Path, path: Path) -> Program | None:
    """The program; None if it cannot be read as a file of limited size."""
    parts = path.relative_to(project).parts
    try:
        with Directory.open(project, parts[:-1]) as parent:
            data = parent.read(parts[-1], _LARGEST)
    except (OSError, WorkspaceError):
        return None
    return Program(len(data), hashlib.sha256(data).hexdigest())

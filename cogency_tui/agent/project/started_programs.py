"""The files of a project from which its MCP servers and hooks are started: those named by a command, its
arguments, its variables or its directory, and the sources that these may load: the files of their directory,
and those that they name by a relative path. Of a hook in the project's root its neighbours are left out:
they are what the agent works on.

Invariant: the configuration is read before it is trusted, so only the names of files in it are used, and
what is compared of them is limited (`surveyed_files`). The calls block.
"""

import os
import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import Any, cast

from cogency_tui.agent.project.cogency_folder import CONFIG, FOLDER, LARGEST_CONFIG
from cogency_tui.agent.project.surveyed_files import (
    LIMIT,
    MOST_SEEN,
    NAMES,
    SurveyedFiles,
    SurveyLimitError,
    is_source,
)
from cogency_tui.config import toml_reader

ABOVE = "../"
"""The beginning of a program's name: names are relative to the project's `.cogency` folder."""

_MOST_FILES = 500
"""Files of one configuration."""

_LONGEST_COMMAND = 8_000
"""Characters of a hook's command: of a longer one nothing is determined."""

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
_MODULE_OF_PYTHON = re.compile(r"(?:\S*/)?(?:python|pypy)[\d.]*(?: -[bBEIOPqsSu]+)* -m ")
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
    which it cannot be determined what they start of the project; `problem` is why they cannot be compared.
    """

    files: Mapping[str, Program] = field(default_factory=dict[str, Program])
    unknown: tuple[str, ...] = ()
    problem: str = ""


def programs_of(project: Path, files: Mapping[str, bytes], surveyed: SurveyedFiles | None = None) -> Programs:
    """The programs of the servers and hooks in the configuration of a project (resolved), one of its
    `files`.
    """
    config = files.get(CONFIG, b"")
    surveyed = surveyed or SurveyedFiles(project)
    servers = (_started_by_server(server, surveyed) for server in _tables(config, "mcp"))
    tables = _tables(config, "hooks")
    lines = ((_as_line(hook["command"]), hook.get("enabled", True) is not False) for hook in tables)
    hooks = (_started_by_hook(line, surveyed, runs=runs) for line, runs in lines if line)
    return _compared(chain(servers, hooks), surveyed)


def programs_of_hooks(
    project: Path,
    commands: Sequence[str],
    surveyed: SurveyedFiles | None = None,
    idle: Collection[str] = (),
) -> Programs:
    """The programs of hooks, given by their command lines, of which the `idle` ones do not run."""
    surveyed = surveyed or SurveyedFiles(project)
    hooks = (_started_by_hook(line, surveyed, runs=line not in idle) for line in commands)
    return _compared(hooks, surveyed)


def _shown(command: str) -> str:
    """The beginning of a command, for the user."""
    return " ".join(command[:_LONGEST_COMMAND].split())[:200]


@dataclass(frozen=True, slots=True)
class _Started:
    """What a `command` starts: files, and directories from which these load what they need. One that does
    not run is never unknown."""

    command: str
    files: Sequence[Path]
    places: Sequence[Path]
    is_whole: bool
    runs: bool = True


def _started_by_server(server: Mapping[str, Any], surveyed: SurveyedFiles) -> _Started:
    # The parser is loaded where there are servers and hooks.
    from cogency_tui.agent.project.hook_commands import runs_of

    project, words = surveyed.project, _words(server)
    command = shlex.join(words)
    given = " ".join(
        f"{name}={shlex.quote(value)}" for name, value in _variables(server) if name.isidentifier()
    )
    base = shlex.quote(str(_bases(project, server)[0]))
    found = runs_of(f"cd {base}; {given} {command}", project, surveyed.check)
    # Python finds the modules of the project from its directory, whose sources are compared.
    own = _named(server, surveyed)
    is_whole = found.is_whole or (bool(own) and _MODULE_OF_PYTHON.match(command) is not None)
    named = _outside_folder([*own, *found.paths], project)
    return _Started(" ".join(words), named, _places(project, server, named, found.loading), is_whole)


def _started_by_hook(line: str, surveyed: SurveyedFiles, *, runs: bool) -> _Started:
    if len(line) > _LONGEST_COMMAND:
        return _Started(line, (), (), is_whole=False, runs=runs)
    # The parser is loaded where there are hooks.
    from cogency_tui.agent.project.hook_commands import imports_from_project, runs_of

    project, table = surveyed.project, _hook_table(line, surveyed.project)
    # What a hook writes, such as a log, changes each time.
    everything = [path for path in _named(table, surveyed) if is_source(path) or _decides(path)]
    if any(Path(word).name in _MANIFESTS for word in _words(table)):
        everything += _manifests(project)
    # As the hook is run, whatever in it starts Python.
    safe_path = imports_from_project(line, project, may_name_modules=True)
    found = runs_of(line, project, surveyed.check, safe_path=safe_path)
    named = _outside_folder([*everything, *found.paths], project)
    # What is in the root is not compared. Python loads nothing there if the hook itself names a script there.
    root = [path for path in found.loading if path.parent == project]
    is_python = all(path.suffix == ".py" for path in root)
    is_closed = not root or (is_python and safe_path)
    places = _places_of_hook(project, named, found.loading)
    return _Started(line, named, places, found.is_whole and is_closed, runs)


def _outside_folder(paths: Sequence[Path], project: Path) -> list[Path]:
    """Each path once, without those in `.cogency/`, all of whose files are compared anyway."""
    return [path for path in dict.fromkeys(paths) if not path.is_relative_to(project / FOLDER)]


def _compared(commands: Iterable[_Started], surveyed: SurveyedFiles) -> Programs:
    found: dict[str, Program] = {}
    unknown: list[str] = []
    try:
        for command in commands:
            surveyed.check()
            files = [surveyed.file(path) for path in command.files]
            sources = [surveyed.sources(place) for place in command.places]
            for place, each in zip(command.places, sources, strict=True):
                if each is not None and each.count:
                    name = f"{ABOVE}{(place.relative_to(surveyed.project) / '**').as_posix()}"
                    found[name] = Program(each.size, each.digest, each.count)
            is_whole = command.is_whole and None not in files and None not in sources
            if command.runs and (not is_whole or len(found) + len(files) > _MOST_FILES):
                unknown.append(_shown(command.command))
            for path, file in islice(zip(command.files, files, strict=True), _MOST_FILES - len(found)):
                if file is not None:
                    name = f"{ABOVE}{path.relative_to(surveyed.project).as_posix()}"
                    found[name] = Program(file.size, file.digest)
    except SurveyLimitError:
        return Programs(problem=f"What its MCP servers and hooks start is {LIMIT}.")
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
    return path.name.casefold() in NAMES or path.suffix.casefold() in _CONFIGURATIONS


def _manifests(project: Path) -> list[Path]:
    """The files in a project's root that define what programs such as `make` and `npm` run."""
    with suppress(OSError), os.scandir(project) as scan:
        names = [entry.name for entry in islice(scan, MOST_SEEN) if entry.name.casefold() in NAMES]
        return [path for path in map(project.joinpath, sorted(names)) if path.is_file()]
    return []


def _places_of_hook(project: Path, named: Sequence[Path], loading: Collection[Path]) -> list[Path]:
    """The directories from which the programs of a hook load what they need, but not the project itself."""
    programs = (path for path in named if is_source(path) or path in loading)
    places = dict.fromkeys(path.parent for path in programs if path.parent != project)
    return [
        place for place in places if not any(place.is_relative_to(each) for each in places if each != place)
    ]


def _places(
    project: Path, server: Mapping[str, Any], named: list[Path], loading: Collection[Path]
) -> list[Path]:
    """The directories from which the programs of a server load what they need."""
    words = _words(server)
    programs = (path for path in named if is_source(path) or path.name in _ENTRIES or path in loading)
    places = dict.fromkeys(path.parent for path in programs)
    bases = [base for base in _bases(project, server) if base.is_relative_to(project) and base.is_dir()]
    if "-m" in words and named:
        # Python finds modules from its start directory.
        places |= dict.fromkeys(bases)
    if not places and any(Path(word).name in _MANIFESTS for word in words[:1]):
        places |= dict.fromkeys(bases[:1])
    return [
        place for place in places if not any(place.is_relative_to(each) for each in places if each != place)
    ]


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


def _variables(server: Mapping[str, Any]) -> list[tuple[str, str]]:
    given: object = server.get("env", {})
    variables = cast("dict[str, object]", given).items() if isinstance(given, dict) else ()
    return [(name, value) for name, value in variables if isinstance(value, str)]


def _named(server: Mapping[str, Any], surveyed: SurveyedFiles) -> list[Path]:
    """The files inside the project that a server's table names, each once."""
    words, project = _words(server), surveyed.project
    texts = [*words, *(value for _name, value in _variables(server))]
    pieces = [piece for text in texts for piece in (text, *_SEPARATORS.split(text)) if piece]
    for before, module in pairwise(words):
        if before == "-m" and _MODULE.fullmatch(module):
            place = module.replace(".", "/")
            pieces += [f"{place}.py", place]
    found: dict[Path, None] = {}
    for base in _bases(project, server):
        for piece in dict.fromkeys(pieces):
            surveyed.check()
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

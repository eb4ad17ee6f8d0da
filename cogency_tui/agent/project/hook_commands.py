"""What the command of a hook runs of a project, as far as that is written out: scripts and programs by their
paths, from the directories that the command enters, and what shell scripts among them run by a path.

Best effort, without running anything: `is_whole` is False where something else decides what runs (a variable,
a pattern, a list of names, input of a shell, search paths, a program that runs what the project defines).
"""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from cogency_tui.agent.project.mcp_server_sources import PROJECT
from cogency_tui.tools.shell.command_line import parse
from cogency_tui.tools.shell.interpreter_code import is_code_option, script
from cogency_tui.tools.shell.programs import is_interpreter, programs_with
from cogency_tui.tools.shell.simple_command import Simple, Word

_ROOT = "/@project@"
"""The project's directory in a command, whatever characters are in its path."""

_SELF = r"""(?:"?\$(?:0|\{0\}|BASH_SOURCE|\{BASH_SOURCE(?:\[0\])?\})"?)"""
_OWN_DIRECTORY = re.compile(
    rf"""\$\(cd (?:-- )?"?\$\(dirname (?:-- )?{_SELF}\)"?(?: >/dev/null(?: 2>&1)?)? && pwd(?: -P)?\)"""
    rf"|\$\(dirname (?:-- )?{_SELF}\)|\$\{{(?:0|BASH_SOURCE(?:\[0\])?)%/\*\}}"
)
"""What stands for the directory of a script in it."""

_OPEN = re.compile(r"[*?\[{]")
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*")
_SHELL_LINE = re.compile(rb"#!.*\b(?:ba|da|k|z)?sh\b")
_SHELLS = programs_with("shell")
_RUNNERS = frozenset(
    ("bun", "bundle", "bunx", "cargo", "composer", "deno", "dotnet", "gmake", "go", "gradle", "gradlew")
    + ("hatch", "just", "lerna", "make", "mix", "mvn", "mvnw", "nox", "npm", "npx", "nx", "pdm", "pipenv")
    + ("pnpm", "poetry", "pre-commit", "pytest", "rake", "rye", "task", "tox", "turbo", "uv", "uvx", "yarn")
)
"""Programs that run what the project defines."""

_FLAGS_OF_UV = frozenset(
    ("--frozen", "--isolated", "--locked", "--no-progress", "--no-project", "--no-sync", "--offline")
    + ("--quiet", "--script", "-q", "-s")
)
"""Options of `uv run` that take no value."""

_SEARCHED = re.compile(
    r"(?:PATH|CDPATH|BASH_ENV|ENV|PYTHON\w+|NODE_\w+|LD_\w+|DYLD_\w+|PERL5\w+|RUBY\w+)\+?="
)
"""Variables that decide what a program loads."""

_LARGEST_SCRIPT = 1 << 16


@dataclass(slots=True)
class Runs:
    """The paths of what a command runs, and whether these are all."""

    paths: list[Path] = field(default_factory=list[Path])
    is_whole: bool = True


def runs_of(line: str, project: Path) -> Runs:
    """What a command line runs, and the shell scripts that it names, in `project` (resolved). Blocks."""
    found = _read(line, project, project)
    for path in tuple(found.paths):
        if (text := _shell_text(path)) is not None:
            inner = _read(
                _OWN_DIRECTORY.sub(lambda _found, own=str(path.parent): own, text), project, project
            )
            found.paths += inner.paths
            found.is_whole = found.is_whole and inner.is_whole
    return Runs(list(dict.fromkeys(found.paths)), found.is_whole)


def imports_from_project(line: str, project: Path, *, may_name_modules: bool) -> bool:
    """Return whether Python, as a command line starts it, would import modules from the project's root though
    no module there was named; `may_name_modules` lets it be named by `-m`."""
    base = project
    for simple in _commands(line):
        if simple.program in ("cd", "pushd"):
            base = next((_path(each, base, project) for each in simple.operands()), None) or base
        elif _imports(simple, base, project, may_name_modules=may_name_modules):
            return True
    return False


def _imports(simple: Simple, base: Path, project: Path, *, may_name_modules: bool) -> bool:
    if not simple.words:
        return False
    if not _PYTHON.fullmatch(simple.program):
        first = simple.words[0]
        return first.text.endswith((".py", ".pyw")) and _is_in_root(first, base, project)
    word = script(simple)
    if word is None:
        # It reads its input, or the path of its script is known to the shell only.
        return all(each.text == "-" for each in simple.operands())
    if word.text.startswith("-m"):
        return not (may_name_modules and _names_own_module(simple, word, project))
    return is_code_option(word.text) or word.text.startswith("-c") or _is_in_root(word, base, project)


def _commands(line: str) -> list[Simple]:
    return parse(PROJECT.sub(_ROOT, line))


def _is_in_root(word: Word, base: Path, project: Path) -> bool:
    path = _path(word, base, project)
    return path is not None and path.parent == project


def _names_own_module(simple: Simple, option: Word, project: Path) -> bool:
    """Return whether `-m` is given a module that is in the project's root."""
    if not option.text.startswith("-m"):
        return False
    words = [word.text for word in simple.arguments]
    behind = words[words.index(option.text) + 1 :]
    name = (option.text[2:] or next(iter(behind), "")).partition(".")[0]
    return bool(name) and ((project / name).is_dir() or (project / f"{name}.py").is_file())


def _module_option(simple: Simple) -> Word | None:
    """The option by which Python is given a module."""
    word = script(simple) if _PYTHON.fullmatch(simple.program) else None
    return word if word is not None and word.text.startswith("-m") else None


def _read(line: str, project: Path, start: Path) -> Runs:
    found = Runs()
    bases = [start]
    for simple in _commands(line):
        named = [*simple.assignments, *(simple.arguments if simple.program in ("export", "declare") else ())]
        if any(_SEARCHED.match(word.text or word.lead) for word in named):
            found.is_whole = False
        if not simple.words:
            continue
        if simple.program in ("cd", "pushd"):
            target = next(iter(simple.operands()), None)
            place = None if target is None else _path(target, bases[-1], project)
            if place is not None:
                bases.append(place)
            elif target is not None and target.text != "-":
                found.is_whole = False
            continue
        if simple.program in _RUNNERS:
            own = _script_of_uv(simple)
            place = None if own is None else _path(own, bases[-1], project)
            if place is None or not _is_file_in(place, project):
                found.is_whole = False
            else:
                found.paths.append(place)
        if (option := _module_option(simple)) and _names_own_module(simple, option, project):
            # It imports from the whole project.
            found.is_whole = False
        for word in _run_words(simple):
            paths = [] if word is None else [_path(word, base, project) for base in reversed(bases)]
            if None in paths or not paths:
                found.is_whole = False
            found.paths += [path for path in paths if path is not None and _is_file_in(path, project)]
    return found


def _script_of_uv(simple: Simple) -> Word | None:
    """The Python script that `uv run` starts; None if it runs something else, or that is not clear. The files
    that decide about its environment are compared, too."""
    words = [word for word in simple.arguments if word.text not in _FLAGS_OF_UV]
    if simple.program != "uv" or len(words) < 2 or words[0].text != "run":
        return None
    return words[1] if (words[1].text or words[1].resolved or "").endswith(".py") else None


def _run_words(simple: Simple) -> Iterator[Word | None]:
    """The words that name what a command runs; None for one that is not written out."""
    first = simple.words[0]
    # The brackets of conditions are no patterns.
    if first.text not in ("[", "[[") and ("/" in first.text or not first.known or first.pattern):
        yield first
    program = simple.program
    if program == "eval":
        if not all(each.known for each in simple.arguments):
            yield None
    elif program in (".", "source"):
        yield from simple.operands()[:1]
    elif program in _SHELLS or is_interpreter(program):
        yield from _scripts(simple)


def _scripts(simple: Simple) -> Iterator[Word | None]:
    """The scripts of a shell or an interpreter."""
    word = script(simple)
    if word is None:
        operand = next(iter(simple.operands()), None)
        inputs = [each.target for each in simple.redirections if each.operator == "<"]
        if operand is not None and operand.text not in ("-", "/dev/stdin"):
            yield operand
        elif inputs:
            yield from inputs
        elif not any(
            each.operator in ("<<", "<<-", "<<<") and each.target.known for each in simple.redirections
        ):
            yield None
    elif not word.text.startswith("-"):
        yield word
    elif is_code_option(word.text) or word.text.startswith("-c"):
        behind = simple.arguments[simple.arguments.index(word) + 1 :]
        yield from (None for code in behind[:1] if not code.known)


def _path(word: Word, base: Path, project: Path) -> Path | None:
    """The resolved path of a word; None where only the shell knows it."""
    text = word.text if word.known and not word.pattern else word.resolved
    if not text or (not word.known and _OPEN.search(text)):
        return None
    if text.startswith(_ROOT):
        text = f"{project}{text.removeprefix(_ROOT)}"
    try:
        return Path(os.path.realpath(base / text))
    except (OSError, ValueError):
        return None


def _is_file_in(path: Path, project: Path) -> bool:
    try:
        return path.is_relative_to(project) and path.is_file()
    except OSError:
        return False


def _shell_text(path: Path) -> str | None:
    """The text of a file that is a shell script of ordinary size."""
    try:
        with path.open("rb") as file:
            data = file.read(_LARGEST_SCRIPT)
    except OSError:
        return None
    if path.suffix in (".sh", ".bash", ".zsh") or _SHELL_LINE.match(data):
        return data.decode(errors="replace")
    return None

"""What the command of a hook or an MCP server runs of a project, as far as that is written out: scripts and
programs by their paths, from the directories that the command enters, and what shell scripts among them run,
to the end.

Best effort, without running anything: `is_whole` is False where anything else decides what runs. A program
counts as unknown unless it is known to run nothing of the project (`inert_programs`); every word of its
command that names a file of the project is among the paths.
"""

import os
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from cogency_tui.agent.project.inert_programs import is_inert
from cogency_tui.agent.project.started_programs import PROJECT
from cogency_tui.agent.project.surveyed_files import INDEXES
from cogency_tui.errors import WorkspaceError
from cogency_tui.tools.shell.command_line import option_values, parse
from cogency_tui.tools.shell.interpreter_code import is_code_option, script
from cogency_tui.tools.shell.programs import is_interpreter, is_known, is_path_of_system
from cogency_tui.tools.shell.simple_command import Simple, Word
from cogency_tui.workspace.nofollow_access import Directory

_ROOT = "/@project@"
"""The project's directory in a command, whatever characters are in its path."""

_CURRENT = re.compile(r"\$\{?PWD\b|\$\(pwd\)|`pwd`")
"""What is the project's directory only before the command enters another one."""

_AS_PROMPT = re.compile(r"@P\}")
"""Expands the value of a variable once more."""

_SELF = r"""(?:"?\$(?:0|\{0\}|BASH_SOURCE|\{BASH_SOURCE(?:\[0\])?\})"?)"""
_OWN_DIRECTORY = re.compile(
    rf"""\$\(cd (?:-- )?"?\$\(dirname (?:-- )?{_SELF}\)"?(?: >/dev/null(?: 2>&1)?)? && pwd(?: -P)?\)"""
    rf"|\$\(dirname (?:-- )?{_SELF}\)|\$\{{(?:0|BASH_SOURCE(?:\[0\])?)%/\*\}}"
)
"""What stands for the directory of a script in it."""

_ASKED = re.compile(r"(?m)(^[ \t]*+|[;&|({!][ \t]*+|\bif[ \t]++)command -[vV] [\w.-]+")
_COUNTED = re.compile(r"(?<!\$)\(\([ \t]*\w[\w \t*%=+-]{0,80}\)\)")
_FUNCTION = re.compile(r"(?m)(?:^|[;&|{(])[ \t]*+(?:function[ \t]++([\w-]++)|([\w-]++)[ \t]*+\([ \t]*+\))")

_OPEN = re.compile(r"[*?\[{]")
_PLACEHOLDER = re.compile(r"\{files?\}")
_PIECES = re.compile(r"""[\s"'=:,;@()|&<>`]+""")
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*")
_SCRIPTED = re.compile(r"(?:python|pypy)[\d.]*|lua|node|nodejs|perl|php|ruby")
"""Interpreters whose programs are known by their endings: these are compared with the files beside them."""

_SHELLS = frozenset(("ash", "bash", "dash", "ksh", "sh", "zsh"))
_PLAIN_SHELL_OPTION = re.compile(r"-[a-rt-z]+|\+[a-z]+|--(?:login|noprofile|norc|posix|version)|pipefail|-")
_PLAIN_PYTHON_OPTION = re.compile(r"-(?:[bBEIOPqsSu]+|V)|--version")
_PLAIN_OPTION = re.compile("-w|--version|--help")
_FIRST_LINE = re.compile(r"#![ \t]*([\w./+=:@,% \t-]{1,250})(?:\n|$)")
"""One that has the same words for the system, for `env -S`, and for a shell."""

_SPLIT = re.compile(r"((?:\S*/)?env[ \t]+)-S(?=[ \t\w])")
_HARMLESS_MODULES = ("json.tool",)
_SAFE_PATH = re.compile(r"-[a-zA-Z]*[IP][a-zA-Z]*")
"""Options with which Python imports nothing from its current directory."""

_FLAGS_OF_UV = frozenset(
    ("--frozen", "--isolated", "--locked", "--no-progress", "--no-project", "--no-sync", "--offline")
    + ("--quiet", "--script", "-q", "-s")
)
"""Options of `uv run` that take no value."""

_SEARCHED = re.compile(
    r"(?!(?:NODE_ENV|PYTHON(?:DONTWRITEBYTECODE|HASHSEED|IOENCODING|UNBUFFERED|UTF8))\+?=)"
    r"(?:PATH|CDPATH|BASH_ENV|BASHOPTS|SHELLOPTS|ENV|HOME|PS4|PROMPT_COMMAND|EDITOR|VISUAL|PAGER|LESSOPEN"
    r"|VIRTUAL_ENV|\w*JAVA\w*_OPTIONS|(?:DYLD|GEM|GIT|LD|LUA|NODE|PERL5|PYTHON|RIPGREP|RUBY|UV|XDG)\w*)\+?="
)
"""Variables that decide what a program loads."""

_SETTING = frozenset(
    ("declare", "export", "getopts", "local", "mapfile", "read", "readarray", "readonly", "typeset")
)
"""Commands that set the variables that they are given the names of; so does `printf -v`."""

_LARGEST_SCRIPT = 1 << 15
"""Bytes of a script that is read; what a longer one runs is not determined."""

_WRITING = frozenset(("cp", "curl", "dd", "install", "ln", "mv", "sed", "sort", "tee"))
"""Inert programs that write files that they are given the names of."""

_MOST_SCRIPTS = 40
_MOST_BASES = 8
_MOST_WORDS = 200


@dataclass(slots=True)
class Runs:
    """The paths of what a command runs, and whether these are all; `loading` are those which an interpreter
    runs: they load what is beside them."""

    paths: list[Path] = field(default_factory=list[Path])
    is_whole: bool = True
    loading: frozenset[Path] = frozenset()


_How = Literal["program", "shell", "sourced", "interpreted"]
"""How a script is run: by its first line, by a shell, within one, or by another interpreter."""


@dataclass(frozen=True, slots=True)
class _Script:
    """A file that is run; `name` is its path before links are followed."""

    path: Path
    name: Path
    how: _How


def _unchecked() -> None:
    """Set no limit."""


def runs_of(
    line: str, project: Path, check: Callable[[], None] = _unchecked, *, safe_path: bool = False
) -> Runs:
    """What a command line runs, and the shell scripts that it names, in `project` (resolved); `check` is
    called in between, and may raise. With a `safe_path` Python imports nothing from its current directory.
    Blocks."""
    reading = _Reading(project, check, safe_path=safe_path)
    reading.read(line, [project])
    for _ in range(_MOST_SCRIPTS):
        if not reading.waiting:
            break
        reading.follow(*reading.waiting.pop())
    is_whole = reading.is_whole and not reading.waiting and reading.calls <= reading.functions
    return Runs(list(reading.paths), is_whole and not reading.runs_what_it_writes(), reading.loading)


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
    """Return whether `-m` is given a module that is in the project's root, and not the name of one that is
    known: it may have come after the hook."""
    if not option.text.startswith("-m"):
        return False
    words = [word.text for word in simple.arguments]
    behind = words[words.index(option.text) + 1 :]
    module = option.text[2:] or next(iter(behind), "")
    name = module.partition(".")[0]
    return (
        bool(name)
        and not _is_harmless(module)
        and ((project / name).is_dir() or (project / f"{name}.py").is_file())
    )


def _is_harmless(module: str) -> bool:
    """Return whether an installed module of Python is known to run nothing of the project."""
    return module in _HARMLESS_MODULES or is_inert(Simple((Word(module),)))


def _is_searched(word: Word) -> bool:
    """Return whether a word is, or may be, the assignment to a variable that decides what a program loads."""
    text = word.text if word.known else word.lead
    return (not word.known and "=" not in text) or _SEARCHED.match(f"{text}=") is not None


def _sets_searched(simple: Simple) -> bool:
    words = simple.arguments if simple.program in _SETTING else ()
    if simple.program == "printf":
        words = option_values(simple, ("-v",))
    return any(map(_is_searched, words[:_MOST_WORDS]))


class _Reading:
    """What is read of a command and of the scripts that it runs, in their order."""

    def __init__(self, project: Path, check: Callable[[], None], *, safe_path: bool) -> None:
        self.paths: dict[Path, None] = {}
        self.is_whole = True
        self.waiting: list[tuple[_Script, list[Path]]] = []
        """Scripts to read, each with the directories that it may be started in."""
        self.functions: set[str] = set()
        self.calls: set[str] = set()
        """Unknown programs that may be functions."""
        self._project = project
        self._check = check
        self._safe_path = safe_path
        self._bases: list[Path] = []
        self._added: set[_Script] = set()
        self._written: set[Path] = set()

    def follow(self, script: _Script, bases: list[Path]) -> None:
        """Read a script."""
        text = self._text(script.path)
        if text is None:
            self.is_whole = False
        elif script.how == "program" and text.startswith("#!"):
            self._read_first_line(text, script, bases)
        else:
            own = {each[0] for each in _OWN_DIRECTORY.finditer(text)}
            # A sourced script has the name of another one.
            is_foreign = script.how == "sourced" and not all("BASH_SOURCE" in each for each in own)
            if "\0" in text or (own and (is_foreign or script.name != script.path)):
                self.is_whole = False
            self.read(_OWN_DIRECTORY.sub(lambda _found: str(script.path.parent), text), bases)

    def _read_first_line(self, text: str, script: _Script, bases: list[Path]) -> None:
        """Read the command by which the system starts a script."""
        if line := _FIRST_LINE.match(text):
            command = _SPLIT.sub(r"\1", line[1], count=1)
            self.read(f"{command} {shlex.quote(str(script.name))}", bases)
        else:
            self.is_whole = False

    def read(self, text: str, bases: list[Path]) -> None:
        """Read the commands of a text, which start in one of these directories."""
        self._check()
        # The list grows with each directory that the text enters.
        self._bases = list(bases)
        self.functions.update(each[1] or each[2] for each in _FUNCTION.finditer(text))
        for simple in _commands(_COUNTED.sub(" true ", _ASKED.sub(r"\1true", text))):
            self._check()
            if any(map(_is_searched, simple.assignments)) or _sets_searched(simple):
                self.is_whole = False
            self._note_written(simple)
            if not simple.words:
                continue
            if simple.program in ("cd", "pushd"):
                self._enter(simple)
            else:
                self._read_command(simple)
        if _AS_PROMPT.search(text) or (self._bases != [self._project] and _CURRENT.search(text)):
            self.is_whole = False

    def _note_written(self, simple: Simple) -> None:
        words = [each.target for each in simple.redirections if each.writes]
        words += [
            word
            for each in (simple.arguments if simple.program in _WRITING else ())
            for word in (each, each.after(each.text.partition("=")[0] + "="))
        ]
        for word in words[:_MOST_WORDS]:
            paths = (_path(word, base, self._project) for base in self._bases)
            self._written.update(path for path in paths if path is not None and path != self._project)

    @property
    def loading(self) -> frozenset[Path]:
        """The scripts of interpreters."""
        return frozenset(each.path for each in self._added if each.how == "interpreted")

    def runs_what_it_writes(self) -> bool:
        """Return whether a file that is run is written before, or one beside which files are."""
        return any(not self._written.isdisjoint((each.path, each.path.parent)) for each in self._added)

    def _enter(self, simple: Simple) -> None:
        target = next(iter(simple.operands()), None)
        place = None if target is None else _path(target, self._bases[-1], self._project)
        if place is None:
            self.is_whole = self.is_whole and (target is None or target.text == "-")
        elif place in self._bases:
            self._bases.remove(place)
            self._bases.append(place)
        elif place.is_dir():
            self._bases.append(place)
            if len(self._bases) > _MOST_BASES:
                self.is_whole = False
                del self._bases[1]

    def _read_command(self, simple: Simple) -> None:
        first, program = simple.words[0], simple.program
        # The brackets of conditions are no patterns.
        if first.text not in ("[", "[[") and ("/" in first.text or not first.known or first.pattern):
            if not self._run(first, "program") or not program:
                return
            if first.text.startswith(_ROOT) or not is_path_of_system(first.text):
                return
        if program in (".", "source"):
            for word in simple.operands()[:1]:
                self._run(word, "sourced")
        elif program == "eval":
            self.is_whole = self.is_whole and all(each.known for each in simple.arguments)
        elif program in _SHELLS:
            self._run_scripts(simple, "shell", _PLAIN_SHELL_OPTION)
        elif _SCRIPTED.fullmatch(program):
            is_python = _PYTHON.fullmatch(program) is not None
            self._run_scripts(simple, "interpreted", _PLAIN_PYTHON_OPTION if is_python else _PLAIN_OPTION)
        elif program == "uv" and (own := _script_of_uv(simple)) is not None:
            self._run(own, "interpreted")
        elif not is_inert(simple):
            self._note_unknown(simple)

    def _note_unknown(self, simple: Simple) -> None:
        """Note a command that may run anything; what it names is compared."""
        program = simple.program
        if is_known(program) or is_interpreter(program) or not re.fullmatch(r"[\w-]+", program):
            self.is_whole = False
        else:
            self.calls.add(program)
        for word in simple.words[1:_MOST_WORDS]:
            self._check()
            texts = dict.fromkeys((word.text, word.text[2:], *_PIECES.split(word.text)))
            for text in (each for each in texts if each and each not in (".", "/")):
                endings = INDEXES if "/" in text else ("",)
                for base in self._bases:
                    found = (_resolved(f"{text}{ending}", base, self._project) for ending in endings)
                    inside = (path for path in found if path and _is_file_in(path, self._project))
                    self.paths |= dict.fromkeys(inside)

    def _run_scripts(self, simple: Simple, how: _How, plain: re.Pattern[str]) -> None:
        """Note the scripts of a shell or an interpreter, whose options must be `plain`."""
        for word in _options(simple):
            if not plain.fullmatch(word.text):
                self.is_whole = False
                self._note_unknown(simple)
                return
        is_safe = self._safe_path or any(map(_SAFE_PATH.fullmatch, (word.text for word in _options(simple))))
        for word in _scripts(simple, is_shell=how == "shell", safe_path=is_safe):
            if word is None:
                self._note_unknown(simple)
                self.is_whole = False
            else:
                self._run(word, how)

    def _run(self, word: Word, how: _How) -> bool:
        """Note the file that a word names; return whether it is not in the project."""
        text = _text_of(word)
        if not text:
            self.is_whole = False
            return False
        is_outside, is_there = True, False
        for base in reversed(self._bases):
            path = _resolved(text, base, self._project)
            if path is None or path.is_relative_to(self._project):
                is_outside = False
            if path is not None and _is_file_in(path, self._project):
                self._add(_Script(path, _named(text, base, self._project), how))
                is_there = True
        if not (is_outside or is_there):
            # The command may make it.
            self.is_whole = False
        if is_outside and (how != "program" or not is_path_of_system(word.text)):
            # What it runs there may run something of the project.
            self.is_whole = False
        return is_outside

    def _add(self, script: _Script) -> None:
        if script not in self._added:
            self._added.add(script)
            self.paths[script.path] = None
            if script.how != "interpreted":
                self.waiting.append((script, self._bases))

    def _text(self, path: Path) -> str | None:
        """The text of a script; None if it cannot be read, or is too long."""
        *folders, name = path.relative_to(self._project).parts
        try:
            with Directory.open(self._project, folders) as directory:
                return directory.read(name, _LARGEST_SCRIPT).decode(errors="replace")
        except (OSError, WorkspaceError):
            return None


def _script_of_uv(simple: Simple) -> Word | None:
    """The Python script that `uv run` starts; None if it runs something else, or that is not clear. The files
    that decide about its environment are compared, too."""
    words = [word for word in simple.arguments if word.text not in _FLAGS_OF_UV]
    if len(words) < 2 or words[0].text != "run":
        return None
    is_script = any(word.text in ("--script", "-s") for word in simple.arguments)
    return words[1] if is_script or (words[1].text or words[1].resolved).endswith(".py") else None


def _options(simple: Simple) -> list[Word]:
    """The arguments of an interpreter before its script or code."""
    words = list(simple.arguments)
    target = script(simple)
    if target is not None:
        # One with which no script should be run is not the same for all.
        is_code = target.text.startswith(("-c", "-m")) or is_code_option(target.text)
        return words[: words.index(target) + (target.text.startswith("-") and not is_code)]
    return [word for word in words if word.text.startswith(("-", "+"))]


def _scripts(simple: Simple, *, is_shell: bool, safe_path: bool) -> Iterator[Word | None]:
    """The scripts of a shell or an interpreter; None for what is not known, as is code in its arguments, or a
    module that may be of the project, without a `safe_path`."""
    word = script(simple)
    if word is None:
        operand = next(iter(simple.operands()), None)
        inputs = [each.target for each in simple.redirections if each.operator == "<"]
        if operand is not None and operand.text not in ("-", "/dev/stdin"):
            yield operand
        elif inputs:
            yield from inputs
        elif not is_shell or not any(
            each.operator in ("<<", "<<-", "<<<") and each.target.known for each in simple.redirections
        ):
            yield None
    elif not word.text.startswith("-"):
        yield word
    elif word.text.startswith("-m") and not is_shell:
        name = word.text[2:] or next(iter(_behind(simple, word)), Word("")).text
        if not (safe_path and _is_harmless(name)):
            yield None
    elif is_code_option(word.text) or word.text.startswith(("-c", "-e", "-p", "-r", "--eval", "--print")):
        yield from (None for code in _behind(simple, word)[:1] if not (is_shell and code.known))


def _behind(simple: Simple, word: Word) -> Sequence[Word]:
    return simple.arguments[simple.arguments.index(word) + 1 :]


def _path(word: Word, base: Path, project: Path) -> Path | None:
    """The resolved path of a word; None where only the shell knows it."""
    text = _text_of(word)
    return _resolved(text, base, project) if text else None


def _text_of(word: Word) -> str:
    """The text of a word that is a path; empty where only the shell knows it."""
    text = word.text if word.known and not word.pattern else word.resolved
    is_open = (not word.known and _OPEN.search(text)) or _PLACEHOLDER.search(text)
    return "" if is_open else text


def _named(text: str, base: Path, project: Path) -> Path:
    if text.startswith(_ROOT):
        text = f"{project}{text.removeprefix(_ROOT)}"
    return Path(os.path.normpath(base / text))


def _resolved(text: str, base: Path, project: Path) -> Path | None:
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

"""Commands that can neither reach the network nor run untrusted code, known word for word.

Invariant: two parsers agree on such a command, one that accepts only unambiguous syntax, and
`tools/shell/command_line.py`. Each program in it is the system's, is known to read and write only files
that its arguments name, and has no argument that starts another one; for git, neither the configuration nor
a hook starts one. Named files outside the project or protected ones are checked elsewhere. The calls block.
"""

import os
import re
from collections.abc import Sequence, Set
from dataclasses import replace
from itertools import dropwhile
from pathlib import Path

from cogency_tui.tools.shell.command_line import parse
from cogency_tui.tools.shell.loopback import visit
from cogency_tui.tools.shell.named_paths import only_reads
from cogency_tui.tools.shell.port_owners import ListeningPorts
from cogency_tui.tools.shell.program_origins import is_of_system, searches_project, shadows_modules
from cogency_tui.tools.shell.programs import programs_with
from cogency_tui.tools.shell.rule_options import GIT_OFFLINE, RULES
from cogency_tui.tools.shell.scanner import ASSIGNMENT, scan
from cogency_tui.tools.shell.simple_command import Simple, Word
from cogency_tui.tools.shell.stream_scripts import stream_script
from cogency_tui.tools.shell.taint_free_commands import alters, formats_json, unconfined
from cogency_tui.tools.shell.word_paths import Places
from cogency_tui.workspace.git.configured_programs import UndecidedError, hooks_of
from cogency_tui.workspace.git.repository_queries import Repository
from cogency_tui.workspace.paths import Workspace

_LONGEST = 1 << 14
_PIECE = re.compile(
    r"""[ \t]+|\\\n"""
    r"""|(?<![^\s;&|])\#[^\n]*"""
    r"""|<<(?P<quote>['"])(?P<delimiter>\w+)(?P=quote)"""
    r"""|\d?>&\d|&>>?|\d?(?:>>?|<)(?![<>(&|])"""
    r"""|(?P<end>&&|\|\||[;&|\n])"""
    r"""|(?:[\w./:=+@%,*?~^!\[\]-]|\\[^\n]|\{\}|\$\?)(?:[\w./:=+@%,*?~^!#\[\]-]|\\[^\n]|\{\}|\$\?)*"""
    r"""|'[^']*'"""
    r"""|"(?:[^"$`\\]|\\[^\n]|\$\?|\$(?=["|)\s]))*\"""",
    re.ASCII,
)
"""Accepted syntax of a command: only `$?` and names of files are expanded, and no function is defined."""

_VARIABLE = re.compile(
    r"[a-z_][a-z0-9_]*|CI|CLICOLOR|COLUMNS|FORCE_COLOR|LANG|LC_[A-Z]+|LINES|NO_COLOR|TERM|TZ"
)
"""Variables that do not redirect programs."""

_WRAPPERS = programs_with("wrapper")
_WRAPPING = programs_with("plain-wrapper")
_BUILTIN = programs_with("known-builtin")
_ACTING = programs_with("acts")

_SHELL_OPTION = re.compile(r"[-+][eux]*o?|pipefail|errexit|nounset")
_EVALUATING = re.compile(r"-[vRp]")
"""Options of builtins that set a variable, or evaluate a subscript in its name; the name may be attached."""

_STARTING = programs_with("starts")
_EVALUATING_SUBSCRIPTS = programs_with("subscripts")
_MAY_BE_OPTION = re.compile(r"[*?\[-]")
_SOME_FILE = Word("./x")
_UNPACKING = programs_with("unpacks")
_CLIENTS = programs_with("fetches")
_NOWHERE = os.devnull

_SIGNED = re.compile(r"%G|signature")
"""Format directives with which git verifies signatures."""

_COMMITTING = frozenset(("git add", "git commit"))
_INSPECTING = (RULES.keys() | {"git mv", "git rm"}) - {"git commit"}
"""Commands of git that neither commit nor check anything out."""

_AT_ANY_COMMAND = frozenset(("post-index-change", "reference-transaction"))
"""Hooks that also run without a commit or checkout."""

_FETCHING = re.compile(r"extensions\.partialclone|remote\..*\.(?:promisor|partialclonefilter)", re.DOTALL)
_FILTERING = re.compile(r"filter\..*\.(?:smudge|process)", re.DOTALL)


def is_offline(command: str, cwd: Path, workspace: Workspace, ports: ListeningPorts) -> bool:
    """Return whether `command`, run in `cwd` (resolved), reaches no network and runs no untrusted code,
    unless a path that it names leads there."""
    if not _is_plain(command) or alters(command):
        return False
    outer = [simple for simple in scan(command) if simple.words]
    found = parse(command)
    running = [simple for simple in found if simple.words]
    plain = all(map(_wraps_plainly, outer)) and all(map(_sets_plainly, found))
    if not (running and plain and all(_is_known(simple, ports) for simple in running)):
        return False
    programs = {simple.program for simple in (*outer, *running)} - _BUILTIN
    writes = any(map(_writes, found))
    if writes and searches_project(workspace):
        return False
    if not all(is_of_system(program, workspace) for program in programs):
        return False
    if any(map(formats_json, running)) and (writes or _may_be_shadowed(running, cwd, workspace)):
        return False
    if "git" not in programs:
        return True
    return not programs & _UNPACKING and _git_is_offline(running, cwd, workspace)


def _is_plain(command: str) -> bool:
    """Return whether a text has only unambiguous syntax."""
    if len(command) > _LONGEST or not command.replace("\t", " ").replace("\n", " ").isprintable():
        return False
    at = 0
    delimiters: list[str] = []
    while at < len(command):
        piece = _PIECE.match(command, at)
        if piece is None:
            return False
        at = piece.end()
        if piece["delimiter"]:
            delimiters.append(piece["delimiter"])
        elif piece["end"] == "\n":
            for delimiter in delimiters:
                at = _behind(command, at, delimiter)
            delimiters.clear()
    return not delimiters


def _behind(command: str, at: int, delimiter: str) -> int:
    """Return the position behind a here-document."""
    end = re.compile(rf"^{delimiter}(?:\n|\Z)", re.MULTILINE | re.ASCII).search(command, at)
    return end.end() if end else len(command)


def _wraps_plainly(simple: Simple) -> bool:
    """Return whether a program that starts another one does nothing else."""
    texts = [word.text for word in simple.arguments]
    if simple.program not in _WRAPPERS and simple.program != "find":
        return True
    if any(text in _WRAPPERS for text in texts):
        return False
    if simple.program == "env":
        rest = list(dropwhile(ASSIGNMENT.match, texts))
        return not (rest and rest[0].startswith("-"))
    return simple.program == "find" or simple.program in _WRAPPING


def _sets_plainly(simple: Simple) -> bool:
    """Return whether it sets no variable that redirects programs."""
    names = (word.text.partition("=")[0].removesuffix("+") for word in simple.assignments)
    return all(map(_VARIABLE.fullmatch, names))


def _is_known(simple: Simple, ports: ListeningPorts) -> bool:
    """Return whether a program's effects are known, given these words."""
    program = simple.program
    if program in _ACTING or not simple.words[0].known or "/" in simple.words[0].text:
        return False
    if program not in _STARTING:
        # Arguments that are names of files have no other meaning.
        simple = replace(simple, words=tuple(word if word.known else _SOME_FILE for word in simple.words))
    texts = [word.text for word in simple.arguments]
    if program == "set":
        return bool(texts) and all(map(_SHELL_OPTION.fullmatch, texts))
    if program in _EVALUATING_SUBSCRIPTS and any(map(_EVALUATING.match, texts)):
        return False
    if program in _CLIENTS:
        return _reads_own_server(simple, ports)
    patterns = [word.pattern for word in simple.arguments]
    if program in _STARTING and any(map(_MAY_BE_OPTION.match, patterns)):
        return False
    if program == "rg" and "RIPGREP_CONFIG_PATH" in os.environ:
        return False
    script = stream_script(simple)
    if script.runs or script.computes or script.writes:
        return False
    if program == "git":
        return _git_form(simple) is not None
    return formats_json(simple) or not unconfined(simple)


def _reads_own_server(simple: Simple, ports: ListeningPorts) -> bool:
    """Return whether a client only reads from servers that the conversation started, or from none."""
    found = visit(simple)
    return (
        found is not None and found.prints and not any(ports.stranger(each.port) for each in found.addresses)
    )


def _writes(simple: Simple) -> bool:
    """Return whether a command may change files other than those of the repository."""
    if any(each.writes and each.target.text != _NOWHERE for each in simple.redirections):
        return True
    if not simple.words or simple.program in _BUILTIN | _CLIENTS or formats_json(simple):
        return False
    return not (only_reads(simple) or _git_form(simple) in _COMMITTING)


def _git_form(simple: Simple) -> str | None:
    """Return a command of git whose arguments are known to start nothing; None for any other."""
    texts = [word.text for word in simple.arguments]
    if texts[:1] == ["--no-pager"]:
        del texts[0]
    name = f"git {texts[0] if texts else ''}"
    options = RULES.get(name) or GIT_OFFLINE.get(name)
    known = all(word.known for word in simple.arguments)
    if options is None or not known or any(map(_SIGNED.search, texts)) or not options.allow(texts[1:]):
        return None
    return name


def _may_be_shadowed(running: Sequence[Simple], cwd: Path, workspace: Workspace) -> bool:
    """Return whether Python may load a module of the project in place of its own."""
    places = _places(running, cwd)
    return not places.known or any(shadows_modules(place, workspace) for place in places.directories)


def _places(running: Sequence[Simple], cwd: Path) -> Places:
    places = Places(cwd)
    for simple in running:
        places.follow(simple)
    return places


def _git_is_offline(running: Sequence[Simple], cwd: Path, workspace: Workspace) -> bool:
    """Return whether git starts no program and fetches nothing for the project's repository, and is used on
    no other one."""
    forms = {_git_form(simple) or "" for simple in running if simple.program == "git"}
    repository = Repository(workspace.root)
    several = sum(simple.program == "git" for simple in running) > 1
    if several and _brings_repositories(forms, repository):
        return False
    common, settings = repository.common_directory(), repository.settings()
    if common is None or settings is None or not _stays_in(common, _places(running, cwd)):
        return False
    keys = {key for _own, key, _value in settings}
    if any(map(_FETCHING.fullmatch, keys)):
        return False
    if "core.hookspath" in keys and any(map(_writes, running)):
        return False
    if forms - _INSPECTING - _COMMITTING and any(map(_FILTERING.fullmatch, keys)):
        return False
    try:
        hooks = {hook.name for hook in hooks_of(workspace.root)}
    except (UndecidedError, OSError):
        return False
    return not (hooks & _AT_ANY_COMMAND if forms <= _INSPECTING else hooks)


def _brings_repositories(forms: Set[str], repository: Repository) -> bool:
    """Return whether one of these commands may record a repository, whose settings another command would then
    use."""
    return not forms <= _INSPECTING | _COMMITTING or ("git add" in forms and repository.has_unrecorded())


def _stays_in(common: Path, places: Places) -> bool:
    """Return whether all places are in the repository with this directory."""
    found = (Repository(place).common_directory() for place in places.directories)
    return places.known and all(each is not None and each.resolve() == common.resolve() for each in found)

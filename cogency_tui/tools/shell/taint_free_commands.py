"""Commands that cannot bring untrusted content: data, and the one predicate on it.

Invariant: a program that is not known here to stay in the project counts as able to bring anything. A
program that runs code of the project (a script, a build, a test) may print anything, and is never listed
here.
"""

import re

from cogency_tui.tools.shell.programs import git_with, letters_of, options_of, programs_with
from cogency_tui.tools.shell.rule_options import names_its_files
from cogency_tui.tools.shell.scanner import LONGEST
from cogency_tui.tools.shell.simple_command import Simple
from cogency_tui.tools.shell.stream_scripts import stream_script

_INERT = programs_with("inert")
"""Programs that open no file named in their arguments. Commands of `trap` are examined separately."""

_CONFINED = programs_with("confined")
_WRITTEN_OUT = programs_with("written-out")
_AWK = programs_with("awk")
_GIT_CONFINED = git_with("confined")

_SED = re.compile(r"[\d,$ ]*(?:[pdq=]|s([/|#,@])(?:(?!\1)[^\\\n]|\\.)*\1(?:(?!\1)[^\\\n]|\\.)*\1[gipIM\d]*)")
"""Scripts of one command that runs and reads nothing else."""

_AWK_REACHING = re.compile(r"system|getline|ARGV|[|@]")
"""Parts of an awk program that can run or read something else."""

_AWK_OPTION = re.compile(r"-(?:[Fv].*)?|--", re.DOTALL)
"""Options of awk that run and load nothing."""

_JSON_OPTIONS = r"(?: --(?:compact|json-lines|no-ensure-ascii|no-indent|sort-keys|tab|indent[ =]\d+))*"
_JSON_TOOL = re.compile(rf"python3? -m json\.tool{_JSON_OPTIONS}(?: [^-\s]\S*)?{_JSON_OPTIONS}")

_CHANGING = re.compile(r"(?:^|[\s;&|(])(?:PATH|LD_\w+|BASH_\w+|ENV|HOME|GIT_\w+|PAGER|SHELLOPTS|XDG_\w+)\+?=")
"""Variables that replace the programs that a command names."""


def alters(command: str) -> str:
    """Name what may replace the programs that a command names; empty where nothing does."""
    if len(command) > LONGEST:
        return "a command that is too long to analyze"
    found = _CHANGING.search(command)
    return f"a command that sets {found[0].strip(' ;&|()+=')}" if found else ""


def unconfined(simple: Simple) -> str:
    """Name the program that could bring untrusted content; empty for one that is known not to."""
    if not simple.words or _is_confined(simple):
        return ""
    return simple.program or "a command known only at run time"


def formats_json(simple: Simple) -> bool:
    """Return whether Python's own JSON tool prints its input, unless another module has its name."""
    plain = all(word.known and not word.pattern for word in simple.words)
    return plain and bool(_JSON_TOOL.fullmatch(" ".join(word.text for word in simple.words)))


def configures_git(simple: Simple) -> bool:
    """Return whether git reads or changes settings: that brings nothing, though it may redirect later
    commands."""
    texts = [word.text for word in simple.words]
    known = all(word.known for word in simple.words)
    return known and texts[:2] == ["git", "config"] and not simple.has("e", "edit")


def _is_confined(simple: Simple) -> bool:
    first = simple.words[0]
    # With a directory it may be any program, whatever its name.
    if not first.known or "/" in first.text:
        return False
    if first.text in _INERT or first.text in _CONFINED:
        return True
    if not all(word.known for word in simple.arguments) or has_starting_option(simple):
        return False
    texts = [word.text for word in simple.arguments]
    match first.text:
        case "git":
            return any(word.text in _GIT_CONFINED for word in simple.arguments[:1])
        case "sed":
            return bool(_SED.fullmatch(_script(simple)))
        case program if program in _AWK:
            plain = all(_AWK_OPTION.fullmatch(text) for text in texts if text.startswith("-"))
            reaching = _AWK_REACHING.search(_script(simple) or "@")
            return plain and not (reaching or stream_script(simple).runs)
        case program:
            return program in _WRITTEN_OUT or names_its_files(program, texts)


def _script(simple: Simple) -> str:
    """Return the program that is the first operand of a stream editor; empty where it has another."""
    if simple.has("efl", "exec", "expression", "file", "include", "load", "source"):
        return ""
    return next((word.text for word in simple.operands(letters_of("value", simple.program))), "")


def has_starting_option(simple: Simple) -> bool:
    """Return whether an option of a program starts another one."""
    return simple.gives(options_of("starting", simple.program))

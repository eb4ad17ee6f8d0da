"""Commands that a standing rule may be for: one simple command, known by its first words.

Invariant: what could be read in two ways has no pattern, and so no rule; nor has a program, a subcommand or
an option that `tools/programs.py` does not name. A command fits a rule exactly where its pattern is the
rule's, so that whatever is refused here is asked about, whatever rules say.

Rules are convenience, not a boundary (safety.md, promise 3): a test suite that may run without being asked
about runs whatever is in the project's tests.
"""

import re
import shlex
from collections.abc import Sequence

from cogency_tui.tools import programs

_LONGEST = 4096
_SPECIAL = re.compile(r"[;|&$`<>(){}\\\r\n]")
_PIECE = re.compile(r"""([ \t]+)|([^ \t'"]+)|'([^']*)'|"([^"]*)\"""")
_PLAIN = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_.:/@+-]*")
_GLOB = re.compile(r"[*?\[]")


def pattern_of(command: str) -> str:
    """The words that a rule for commands like this one is for, as `git status`; empty where there is none.

    It holds in the project's directory, where what the words name is known.
    """
    words = _words(command)
    return " ".join(_pattern(words)) if words else ""


def _words(command: str) -> list[str]:
    """The words of a simple command; none where it is not certain that it is one.

    Special characters are refused in quotes too. Two readers have to agree on what is left.
    """
    odd = not command.replace("\t", " ").isprintable()
    if odd or len(command) > _LONGEST or _SPECIAL.search(command):
        return []
    words: list[str] = []
    apart = True
    end = 0
    for piece in _PIECE.finditer(command):
        if piece.start() != end:
            return []
        end = piece.end()
        if piece[1]:
            apart = True
            continue
        bare = piece[2] or ""
        # What a shell would make of a name that begins so, only the shell knows.
        if apart and bare[:1] in ("~", "#"):
            return []
        if _may_become_option(bare, "" if apart else words[-1]):
            return []
        if ":~" in bare or "=~" in bare:
            return []
        text = bare or piece[3] or piece[4] or ""
        if apart:
            words.append(text)
        else:
            words[-1] += text
        apart = False
    try:
        agreed = end == len(command) and shlex.split(command) == words
    except ValueError:
        return []
    return words if agreed and command.split()[:1] == words[:1] else []


def _may_become_option(bare: str, before: str) -> bool:
    """Whether a glob may match names that are options: they begin as the word does before the glob."""
    glob = _GLOB.search(bare)
    return glob is not None and (before + bare[: glob.start()])[:1] in ("", "-")


def _pattern(words: Sequence[str]) -> tuple[str, ...]:
    first = words[0]
    if not _PLAIN.fullmatch(first) or first.startswith("/") or ".." in first.split("/"):
        return ()
    program = first.rpartition("/")[2]
    if (program, *words[1:2]) in programs.RUNNERS:
        return _prefixed(words[:2], words[2:])
    if program in programs.TARGETS:
        return _built(words, programs.TARGETS[program])
    if program in programs.SCRIPTS:
        return _scripted(words)
    if programs.is_interpreter(program):
        return _interpreted(words)
    if "/" in first and programs.EXECUTABLE_NAMES.fullmatch(first):
        return () if programs.FINAL.search(program.casefold()) else (first,)
    return _listed(words, programs.base_name(program))


def _listed(words: Sequence[str], program: str) -> tuple[str, ...]:
    """The words of a program that has a rule by itself, or with its subcommand."""
    for length in (2, 1):
        options = programs.RULES.get(" ".join((program, *words[1:length])))
        if options is not None:
            return tuple(words[:length]) if options.allow(words[length:]) else ()
    return ()


def _prefixed(prefix: Sequence[str], rest: Sequence[str]) -> tuple[str, ...]:
    pattern = _pattern(rest) if rest else ()
    return (*prefix, *pattern) if pattern else ()


def _interpreted(words: Sequence[str]) -> tuple[str, ...]:
    """`python -m pytest`, or a script of the project by its path; never code in an argument."""
    if words[1:2] == ["-m"]:
        module = words[2] if len(words) > 2 else ""
        known = module in programs.MODULES and programs.RULES[module].allow(words[3:])
        return tuple(words[:3]) if known else ()
    script = words[1] if len(words) > 1 else ""
    parts = script.split("/")
    if script.startswith(("-", "/")) or ".." in parts or not programs.SCRIPT_NAMES.fullmatch(script):
        return ()
    return () if programs.FINAL.search(parts[-1].casefold()) else (words[0], script)


def _built(words: Sequence[str], options: programs.Options) -> tuple[str, ...]:
    """One target, and options: a variable or another file could change all of it."""
    if len(words) < 2 or not _PLAIN.fullmatch(words[1]) or programs.FINAL.search(words[1].casefold()):
        return ()
    return tuple(words[:2]) if options.allow(words[2:]) else ()


def _scripted(words: Sequence[str]) -> tuple[str, ...]:
    """`npm test`, `npm run NAME`; options before `--` are the program's own, and may change what runs."""
    length = 3 if words[1:2] in (["run"], ["run-script"]) else 2
    script = words[length - 1] if len(words) >= length else ""
    if length == 2 and script not in ("test", "t"):
        return ()
    if not _PLAIN.fullmatch(script) or programs.FINAL.search(script.casefold()):
        return ()
    rest = list(words[length:])
    own = rest[: rest.index("--")] if "--" in rest else rest
    return () if any(word.startswith("-") for word in own) else tuple(words[:length])

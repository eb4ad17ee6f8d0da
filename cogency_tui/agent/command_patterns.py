"""Which commands a standing rule may be for: one simple command, known by its first words.

Invariant: what could be read in two ways has no pattern, and so no rule. A command fits a rule exactly where
the pattern made of it is the rule's, so that whatever is refused here is asked about, whatever rules say.

Rules are convenience, not a boundary (safety.md, promise 3): a test suite that may run without being asked
about runs whatever is in the project's tests.
"""

import re
import shlex
from collections.abc import Sequence

from cogency_tui.agent import programs

_LONGEST = 4096
_SPECIAL = re.compile(r"[;|&$`<>(){}\\\r\n]")
_PIECE = re.compile(r"""([ \t]+)|([^ \t'"]+)|'([^']*)'|"([^"]*)\"""")
_PLAIN = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_.:/@+-]*")
_OPTION = re.compile(r"-[A-Za-z]\d*|--[a-z][a-z-]*")


def pattern_of(command: str, *, at_root: bool = True) -> str:
    """The words that a rule for commands like this one is for, as `git status`; empty where there is none.

    `at_root` says whether it would run in the project's directory: what it names by a path is only known
    there.
    """
    words = _words(command)
    pattern = _pattern(words) if words else ()
    if not at_root and any("/" in word or programs.SCRIPT_NAMES.fullmatch(word) for word in pattern):
        return ""
    return " ".join(pattern)


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
        if apart and bare[:1] in ("~", "#", "*", "?", "["):
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


def _pattern(words: Sequence[str]) -> tuple[str, ...]:
    first = words[0]
    if not _PLAIN.fullmatch(first) or first.startswith("/") or ".." in first.split("/"):
        return ()
    program = first.rpartition("/")[2].casefold()
    if (program, *words[1:2]) in programs.RUNNERS:
        return _prefixed(words[:2], words[2:])
    if program in programs.ALWAYS_ASKED or program.startswith("mkfs") or _denied(program, words[1:]):
        return ()
    if programs.INTERPRETERS.fullmatch(program):
        return _interpreted(words)
    if program in programs.TARGETS:
        return _built(words)
    if program in programs.SCRIPTS:
        return _scripted(words)
    if program in programs.SUBCOMMANDS:
        return _of_two(words) if words[1:2] and words[1] in programs.SUBCOMMANDS[program] else ()
    if program in programs.TWO_WORDS:
        return _of_two(words) if words[1:2] and words[1] not in programs.RUNNING else ()
    if "/" in first and programs.FINAL.search(program):
        return ()
    return (first,)


def _denied(program: str, arguments: Sequence[str]) -> bool:
    """Whether an option is given that does more than the program usually does."""
    letters, names = programs.DENIED.get(program, ("", ()))
    for word in arguments:
        if not word.startswith("-"):
            continue
        name = word.lstrip("-").partition("=")[0]
        # Long options may be cut short, and those of some programs have one dash.
        if name and any(each.startswith(name) for each in names if word.startswith("--")):
            return True
        if name in names or (not word.startswith("--") and any(letter in word for letter in letters)):
            return True
    return False


def _of_two(words: Sequence[str]) -> tuple[str, ...]:
    second = words[1]
    if not _PLAIN.fullmatch(second) or programs.FINAL.search(second) or _denied(second, words[2:]):
        return ()
    return tuple(words[:2])


def _prefixed(prefix: Sequence[str], rest: Sequence[str]) -> tuple[str, ...]:
    pattern = _pattern(rest) if rest else ()
    return (*prefix, *pattern) if pattern else ()


def _interpreted(words: Sequence[str]) -> tuple[str, ...]:
    """`python -m pytest`, or a script of the project by its path; never code in an argument."""
    if words[1:2] == ["-m"]:
        return tuple(words[:3]) if words[2:3] and words[2] in programs.MODULES else ()
    script = words[1] if len(words) > 1 else ""
    parts = script.split("/")
    if script.startswith(("-", "/")) or ".." in parts or not programs.SCRIPT_NAMES.fullmatch(script):
        return ()
    return () if programs.FINAL.search(parts[-1].casefold()) else (words[0], script)


def _built(words: Sequence[str]) -> tuple[str, ...]:
    """One target, and options without values: a variable or another file could change all of it."""
    if len(words) < 2 or not _PLAIN.fullmatch(words[1]) or programs.FINAL.search(words[1].casefold()):
        return ()
    return tuple(words[:2]) if all(map(_OPTION.fullmatch, words[2:])) else ()


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

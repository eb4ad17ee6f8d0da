"""The patterns of commands with permanent rules: their first words.

A command has a rule only if it is one simple command, known by its first words. Invariant: an ambiguous
command has no pattern, and so no rule; nor has a program, a subcommand or an option that
`tools/shell/rule_options.py` does not name. Whatever is refused here is asked about, whatever the rules.
"""

import os
import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from cogency_tui.agent.permissions.files_behind_rules import stays_inside
from cogency_tui.tools.shell import programs, rule_options

_LONGEST = 4096
_SCRIPTS = programs.programs_with("scripts")
_SPECIAL = re.compile(r"[;|&$`<>(){}\\\r\n]")
_PIECE = re.compile(r"""([ \t]+)|([^ \t'"]+)|'([^']*)'|"([^"]*)\"""")
_PLAIN = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_.:/@+-]*")
_GLOB = re.compile(r"[*?\[]")


def pattern_of(command: str) -> str:
    """The words of a rule for commands like this one, such as `git status`; empty if there can be none.

    It is valid in the project's directory, where the meaning of the words is known.
    """
    words = _words(command)
    return " ".join(_pattern(words)) if words else ""


def pattern_in(project: Path, command: str, cwd: Path) -> str:
    """The pattern of a command that runs in `cwd`; empty outside the project's root, where it may mean
    something else."""
    pattern = pattern_of(command) if cwd == project else ""
    if not stays_inside(pattern, command, project):
        return ""
    first = pattern.partition(" ")[0]
    if not rule_options.EXECUTABLE_NAMES.fullmatch(first):
        return pattern
    # A link may lead to a shell.
    return pattern if Path(os.path.realpath(project / first)).is_relative_to(project) else ""


def _words(command: str) -> list[str]:
    """The words of a simple command; none if it is not certain to be one.

    Special characters are refused in quotes too. Two parsers have to agree on the rest.
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
        # Only the shell knows how it would expand such a name.
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
    """Return whether a glob may match names that are options: they begin with the word's text before the
    glob."""
    glob = _GLOB.search(bare)
    return glob is not None and (before + bare[: glob.start()])[:1] in ("", "-")


def _pattern(words: Sequence[str]) -> tuple[str, ...]:
    first = words[0]
    if not _PLAIN.fullmatch(first) or first.startswith("/") or ".." in first.split("/"):
        return ()
    program = first.rpartition("/")[2]
    if (program, *words[1:2]) in rule_options.RUNNERS:
        return _prefixed(words[:2], words[2:])
    if program in rule_options.TARGETS:
        return _built(words, rule_options.TARGETS[program])
    if program in _SCRIPTS:
        return _scripted(words)
    if programs.is_interpreter(program):
        return _interpreted(words)
    if "/" in first and rule_options.EXECUTABLE_NAMES.fullmatch(first):
        return () if rule_options.FINAL.search(program.casefold()) else (first,)
    return _listed(words, programs.base_name(program))


def _listed(words: Sequence[str], program: str) -> tuple[str, ...]:
    """The words of a program that has a rule by itself, or with its subcommand."""
    for length in (2, 1):
        options = rule_options.RULES.get(" ".join((program, *words[1:length])))
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
        known = module in rule_options.MODULES and rule_options.RULES[module].allow(words[3:])
        return tuple(words[:3]) if known else ()
    script = words[1] if len(words) > 1 else ""
    parts = script.split("/")
    if script.startswith(("-", "/")) or ".." in parts or not rule_options.SCRIPT_NAMES.fullmatch(script):
        return ()
    return () if rule_options.FINAL.search(parts[-1].casefold()) else (words[0], script)


def _built(words: Sequence[str], options: rule_options.Options) -> tuple[str, ...]:
    """One target, and options: a variable or another file could change all of it."""
    if len(words) < 2 or not _PLAIN.fullmatch(words[1]) or rule_options.FINAL.search(words[1].casefold()):
        return ()
    return tuple(words[:2]) if options.allow(words[2:]) else ()


def _scripted(words: Sequence[str]) -> tuple[str, ...]:
    """`npm test`, `npm run NAME`; options before `--` are the program's own, and may change what runs."""
    length = 3 if words[1:2] in (["run"], ["run-script"]) else 2
    script = words[length - 1] if len(words) >= length else ""
    if length == 2 and script not in ("test", "t"):
        return ()
    if not _PLAIN.fullmatch(script) or rule_options.FINAL.search(script.casefold()):
        return ()
    rest = list(words[length:])
    own = rest[: rest.index("--")] if "--" in rest else rest
    return () if any(word.startswith("-") for word in own) else tuple(words[:length])

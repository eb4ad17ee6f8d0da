"""Commands that do nothing but talk to servers on this machine: known word for word, or not at all.

Invariant: what could be read in two ways, and every program, option or redirection that is not listed here,
makes a command none of these. `tools/command_line.py` reads more, for asking; this decides what is not asked.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cogency_tui.tools.found_programs import is_of_system, shadows_modules
from cogency_tui.tools.listening_ports import ListeningPorts
from cogency_tui.tools.loopback import visit
from cogency_tui.tools.shell_words import Simple, Word
from cogency_tui.workspace.paths import Workspace

_LONGEST = 4096
_PIECE = re.compile(
    r"""(?P<space>[ \t]+)"""
    r"""|(?P<redirection>(?:[12]?>&[12]|&>[ ]?/dev/null|[12]?>[ ]?/dev/null|<[ ]?/dev/null)(?=[\s;&|]|$))"""
    r"""|(?P<end>&&|\|\||[;&|\n])"""
    r"""|(?P<bare>[A-Za-z0-9_./:=+@%,-]+|\$!(?=[\s;&|]|$))"""
    r"""|'(?P<single>[^']*)'"""
    r"""|"(?P<double>[^"$`\\!]*)\""""
)

_LINES = r"\d+(?:,(?:\d+|\$))?p|\d+q"
_GREP_OPTION = r"(?:-[icvnoEFwxqa]+|-[mABC]\0?\d+|--color=never)"
_JQ_OPTION = r"(?:-[rcsSeMCj]+|--(?:raw-output|compact-output|slurp|exit-status|sort-keys))"
_JQ_FILTER = r"(?!-)(?![^\0]*(?:import|include|input_filename))[^\0]*"
_FILTERS: Mapping[str, re.Pattern[str]] = {
    name: re.compile(pattern)
    for name, pattern in {
        "cat": r"(?:-[nAbEsTv]+|-)?",
        "cut": r"(?:-d\0?[^\0]+|-[fcb]\0?[\d,-]+|-s)(?:\0(?:-d\0?[^\0]+|-[fcb]\0?[\d,-]+|-s))*",
        "echo": r".*",
        "grep": rf"(?:{_GREP_OPTION}\0)*(?:-e\0[^\0]*|(?!-)[^\0]*)(?:\0{_GREP_OPTION})*",
        "head": r"(?:-[nc]\0?-?\d+|-\d+)?",
        "jq": rf"(?:{_JQ_OPTION}\0)*{_JQ_FILTER}(?:\0{_JQ_OPTION})*",
        "kill": r"(?:-(?:TERM|INT|KILL|HUP|\d+)\0)?(?:\$!|%\d+)",
        "sed": rf"-n\0(?:-e\0)?(?:{_LINES})|(?:-e\0)?\d+q",
        "sleep": r"\d+(?:\.\d+)?s?",
        "sort": r"(?:-[nruhfVs]+(?:\0-[nruhfVs]+)*)?",
        "tail": r"(?:-[nc]\0?[+-]?\d+|-\d+)?",
        "true": r"",
        "uniq": r"(?:-[cdiu]+)?",
        "wait": r"(?:\$!|%\d+)?",
        "wc": r"(?:-[lcwm]+)?",
    }.items()
}
"""Programs that print, wait, or end what the same command started, with their arguments, NUL between them."""

_BUILTIN = frozenset(("echo", "kill", "true", "wait"))
_OF_JOBS = frozenset(("kill", "wait"))
_CLIENTS = frozenset(("curl", "wget"))
_SERVERS = frozenset(("python", "python3"))
_LOCAL = r"(?:localhost|127\.0\.0\.1|::1)"
_SERVING = re.compile(
    r"(?:-u\0)?-m\0http\.server(?=.*\0(?:-b|--bind))"
    rf"(?:\0(?:\d{{1,5}}|(?:-b|--bind)\0{_LOCAL}|--bind={_LOCAL}|(?:-d|--directory)\0[^\0]+))*",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Quiet:
    """`own`: it only reads from servers that this conversation started, or from nobody. `held`: as that, or
    it serves files to this machine; either way it can neither reach the network nor write anything."""

    own: bool = False
    held: bool = False


def quiet(command: str, cwd: Path, workspace: Workspace, ports: ListeningPorts) -> Quiet:
    """What is certain of `command` if it runs in `cwd` (resolved). Blocks."""
    kinds: set[str] = set()
    for words in _commands(command):
        kind = _kind(words, cwd, workspace, ports)
        if not kind:
            return Quiet()
        kinds.add(kind)
    serves = "server" in kinds
    return Quiet(own="client" in kinds and not serves, held="client" in kinds or serves)


def _commands(command: str) -> list[list[str]]:
    """The words of each simple command; one without words where it is not certain that it is such a list."""
    if len(command) > _LONGEST or not command.replace("\t", " ").replace("\n", " ").isprintable():
        return [[]]
    found: list[list[str]] = [[]]
    apart = True
    end = 0
    for piece in _PIECE.finditer(command):
        if piece.start() != end:
            return [[]]
        end = piece.end()
        if piece["end"]:
            found.append([])
        text = piece["bare"] or piece["single"] or piece["double"] or ""
        word = piece["bare"] or piece["single"] is not None or piece["double"] is not None
        if piece["redirection"] and not apart:
            return [[]]
        if word and apart:
            found[-1].append(text)
        elif word:
            found[-1][-1] += text
        apart = not word
    if end != len(command):
        return [[]]
    # A line may end with a separator, and lines may be empty.
    return [words for words in found if words] or [[]]


def _kind(words: Sequence[str], cwd: Path, workspace: Workspace, ports: ListeningPorts) -> str:
    """What a simple command is: a `client`, a `server` or a `filter`; empty where it is none of these."""
    program, arguments = (words[0], "\0".join(words[1:])) if words else ("", "")
    if program not in _BUILTIN and not is_of_system(program, workspace):
        return ""
    if program in _CLIENTS:
        found = visit(Simple(tuple(map(Word, words))))
        if found is None or not found.prints:
            return ""
        return "" if any(ports.stranger(each.port) for each in found.addresses) else "client"
    if program in _SERVERS:
        return "server" if _SERVING.fullmatch(arguments) and not shadows_modules(cwd, workspace) else ""
    pattern = _FILTERS.get(program)
    if "$!" in arguments and program not in _OF_JOBS:
        return ""
    return "filter" if pattern is not None and pattern.fullmatch(arguments) else ""

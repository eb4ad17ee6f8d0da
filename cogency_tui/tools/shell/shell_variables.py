"""The values of variables that a command sets itself, where they are certain.

Invariant: a value is known only if the command names the variable once, where it sets it, on a path that is
certain to run; or as the variable of the enclosing `for`. A variable that is set in a block, or behind
`&&`, is known to the end of that. Others are not known.
"""

import os
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from cogency_tui.tools.shell.listing_commands import CommandListing, lists_names
from cogency_tui.tools.shell.simple_command import (
    LISTED,
    NAME_OR_NOTHING,
    SOME_NAME,
    Simple,
    Word,
    all_alternatives,
)
from cogency_tui.tools.shell.unsafe_listed_names import Splitting

_NAME = re.compile(r"(\$\{?)?(?<!\w)(?<![\w ]-)(?<![/.])(?<!-type )([A-Za-z_]\w*)(:?[=-])?")
_HIDING = re.compile(
    r"\b(?:eval|source|IFS|alias|shopt)\b(?!=\s+read\b)|(?:^|[;&|\n({])[ \t]*\.\s"
    r"|\b(?:mapfile|printf|read|readarray|wait)\b[^;&|\n]{0,200}\s-[A-Za-z]*[apv]\w"
)
"""Syntax that may set a variable without naming it, or change how words are split."""

_CUT = re.compile(r"([A-Za-z_]\w*)%%?([\w./-]+)")
"""A variable whose end is removed: `${f%.py}`."""

_PART = re.compile(r"([A-Za-z_]\w*)(%/\*|##\*/)")
"""The directory of a variable's path, or its last component: `${f%/*}`, `${f##*/}`."""

_MANY = re.compile(r"[{}]|(?:\A|/)\.[^/]*[*?\[][^/]*\Z")
"""Patterns in parts, and those for names that begin with a dot: the rest of one may be `..`."""

_PLAIN = re.compile(r"[A-Za-z0-9_./:+@%,-]+")
_EXACT = re.compile(r"[A-Za-z0-9_./:+@%-]+")
_PATTERN = re.compile(r"[A-Za-z0-9_./:+@%,*?{}-]+")
_ONE_WORD = re.compile(r"[^\s*?\[\\]+")
_DOTS = re.compile(r"(?:.*/)?\.{1,2}/*")
_WITH_DIRECTORY = re.compile(r"[A-Za-z0-9_./:+@%*?-]+/[A-Za-z0-9_.:+@%*?-]*")
_NUMBERS = frozenset(("$", "?", "#", "!", "RANDOM", "SECONDS", "UID", "EUID", "PPID", "LINENO"))
_NUMBER = "0"
_HERE = "."
TOPMOST = "\0"
"""Placeholder in a pattern for the topmost directory of the repository; no word contains this character."""

_COUNTED = re.compile(r"-?\d[\d.]*|-w|-s[ ,:_-]")
_DATED = re.compile(r"(?:[^./]|(?<=\w)\.(?=%))*")
"""Arguments of `seq` and `date` that print no path."""

_COMMIT = re.compile(
    r"merge-base( [\w@^~./-]+)*|rev-parse( --(short|verify|quiet|abbrev-ref))*( [\w@][\w@^~.-]*)?"
)
"""Arguments of git with which it prints a commit, or the name of one."""

_LONGEST = 1 << 17
"""Most characters that all values of a command may insert."""

_DEEPEST = 20
"""Depth of nested loops whose variables are known."""

_OPENING = frozenset(("if", "while", "until", "for", "select", "{", "("))
_CLOSING = frozenset(("fi", "done", "}", ")"))
_BRANCHING = frozenset(("elif", "else"))


@dataclass(frozen=True, slots=True)
class Value:
    """The value of a variable, as a pattern of the shell, and its literal beginning, with alternatives in
    braces."""

    pattern: str
    certain: str = ""


class Variables:
    """The known variables while the command is read from its beginning."""

    def __init__(self, text: str, outer: "Variables | None" = None) -> None:
        """With `outer`, those of a text that is substituted in that of `outer`: it has the same variables,
        and sets them for itself alone."""
        self._outer = outer
        self._command: Variables = outer._command if outer else self
        found = _NAME.finditer(text) if "$" in text and not outer else ()
        self._mentions = Counter(name[2] for name in found if not name[1] or (name[3] or "")[-1:] == "=")
        self._hidden = not outer and bool(_HIDING.search(text))
        self._blocks: list[dict[str, Value]] = [{}]
        self._loops: list[tuple[str, Value | None]] = []
        self._operator = ""
        self._in_list: dict[str, bool] = {}
        """Variables that the enclosing list of commands sets, and whether it may end before."""
        self._left = _LONGEST

    def value(self, name: str) -> Value | None:
        """Return the value of a variable; None where it is not known."""
        if name in _NUMBERS or name == "PWD":
            return None if self._command._mentions[name] else Value(_HERE if name == "PWD" else _NUMBER)
        if cut := _CUT.fullmatch(name):
            return _without_end(self.value(cut[1]), cut[2])
        if part := _PART.fullmatch(name):
            value = self.value(part[1])
            return value and _part_of(value, is_directory=part[2].startswith("%"))
        value = self._found(name) if self.is_set_once(name) else None
        # Values within values multiply.
        self._command._left -= len(value.pattern) if value else 0
        return value if self._command._left >= 0 else None

    def is_set_once(self, name: str) -> bool:
        """Return whether the command names a variable once where it may set it."""
        return not self._is_hidden() and self._command._mentions[name] == 1

    def _found(self, name: str) -> Value | None:
        around = (value for each, value in reversed(self._loops[-_DEEPEST:]) if each == name)
        blocks = (block[name] for block in self._blocks[-_DEEPEST:] if name in block)
        value = next(around, None) or next(blocks, None)
        return value if value or self._outer is None else self._outer._found(name)

    def _is_hidden(self) -> bool:
        return self._hidden or (self._outer is not None and self._outer._is_hidden())

    def reserved(self, word: str) -> None:
        """Record a reserved word, or a bracket, that a list of commands begins or ends with."""
        if word == "case":
            # Its branches have brackets that nothing opens.
            self._hidden = True
        if word in _OPENING:
            self._blocks.append({})
        elif word in _CLOSING and len(self._blocks) > 1:
            self._blocks.pop()
        elif word in _BRANCHING:
            self._blocks[-1].clear()
        if word in ("while", "until"):
            self._loops.append(("", None))
        elif word == "done" and self._loops:
            self._loops.pop()

    def loop(self, words: Sequence[Word]) -> None:
        """Record the head of a `for` or `select`."""
        texts = [word.text for word in words[:3]]
        listed = texts[2:] == ["in"] and texts[0] == "for"
        values = [_taken(word) for word in words[3:]]
        known = listed and values and all(values)
        name = texts[1] if len(texts) > 1 else ""
        joined = values[0] if len(values) == 1 else f"{{{','.join(values)}}}"
        exact = all(word.known and not word.pattern and _EXACT.fullmatch(word.text) for word in words[3:])
        self._loops.append((name, Value(joined, joined if exact else "") if known else None))

    def assigned(self, words: Sequence[Word], operator: str) -> None:
        """Record a command that only assigns, and the operator behind it."""
        if self._operator in ("|", "|&", "||") or operator in ("|", "|&", "&", "||"):
            return
        for word in words:
            name, _, value = word.text.partition("=")
            certain = value
            if not word.known:
                value, certain = (each.partition("=")[2] for each in (word.resolved, word.certain))
            if _is_plain(value, word) and name.isidentifier():
                self._blocks[-1][name] = Value(value, certain)
                self._in_list[name] = self._operator == "&&"

    def ended(self, operator: str) -> None:
        """Record the operator behind a command."""
        self._operator = operator
        if operator == "&&":
            return
        for name, doubtful in self._in_list.items():
            # A background command sets them for itself.
            if doubtful or operator == "&":
                for block in self._blocks:
                    block.pop(name, None)
        self._in_list.clear()


def _taken(word: Word) -> str:
    """Return a loop's values from a word, as a pattern; empty where they are not known."""
    if word.known:
        return word.pattern or word.text
    # An empty word gives no iteration.
    return SOME_NAME if word.splits and word.resolved == NAME_OR_NOTHING else word.resolved


def _is_plain(value: str, word: Word) -> bool:
    """Return whether a value is the same word wherever it is inserted."""
    if not word.known:
        for pattern in (NAME_OR_NOTHING, SOME_NAME, TOPMOST):
            value = value.replace(pattern, _NUMBER)
        return bool(_PATTERN.fullmatch(value))
    return bool(_PLAIN.fullmatch(value))


def _without_end(value: Value | None, end: str) -> Value | None:
    """Return a value without its end; None where that is not surely its end."""
    if value is None or not value.pattern.endswith(end) or _MANY.search(value.pattern):
        return None
    rest = value.pattern.removesuffix(end)
    return Value(rest) if rest else None


def _part_of(value: Value, *, is_directory: bool) -> Value | None:
    """Return the directory of a path, or its last component; None where that is not known."""
    paths = all_alternatives(value.pattern) or []
    if not paths or not all(_WITH_DIRECTORY.fullmatch(path) for path in paths):
        return None
    parts = [path.rpartition("/")[0 if is_directory else 2] for path in paths]
    return Value(_any_of(parts))


def _any_of(patterns: Sequence[str]) -> str:
    """Return a pattern for all matches of these."""
    different = list(dict.fromkeys(patterns))
    return different[0] if len(different) == 1 else f"{{{','.join(different)}}}"


def substituted(commands: Sequence[Simple]) -> Value | None:
    """Return the value of a substitution of these commands; None where it is not known."""
    if len(commands) == 1 and (value := _printed(commands[0])) is not None:
        return Value(value)
    if not all(simple.piped for simple in commands[:-1]):
        return None
    listed: CommandListing | None = None
    for simple in commands:
        listed = lists_names(simple, listed)
    return Value(NAME_OR_NOTHING) if listed else None


def _printed(simple: Simple) -> str | None:
    """Return the output of a program that prints one word, as a pattern; None where it is not known."""
    texts = [word.text for word in simple.arguments]
    if simple.redirections:
        return None
    if simple.program in _PARTS and len(texts) == 1:
        return _part(simple.arguments[0], _PARTS[simple.program])
    if simple.program == "basename" and len(texts) == 2 and simple.arguments[1].known:
        part = _part(simple.arguments[0], _PARTS[simple.program])
        rest = _without_end(Value(part), texts[1]) if part else None
        return rest and rest.pattern
    if not all(word.known and not word.pattern for word in simple.arguments):
        return None
    match simple.program:
        case "pwd":
            return None if texts else _HERE
        case "git" if texts == ["rev-parse", "--show-toplevel"] and not simple.assignments:
            return TOPMOST
        case "date" | "seq" | "nproc":
            form = _COUNTED if simple.program == "seq" else _DATED
            return _NUMBER if all(map(form.fullmatch, texts)) else None
        case "mktemp":
            return _temporary(simple)
        case "git" if _COMMIT.fullmatch(" ".join(texts)):
            return _NUMBER
        case "which" if len(texts) == 1:
            return _program(texts[0])
        case "command" if len(texts) == 2 and texts[0] == "-v":
            return _program(texts[1])
        case _:
            return None


def _part(word: Word, part: Callable[[str], str]) -> str | None:
    """Return a part of a word's path; None where that is not known."""
    if word.known and word.pattern:
        return None
    if word.resolved == SOME_NAME:
        return SOME_NAME
    paths = [word.text] if word.known else all_alternatives(word.resolved) or []
    plain = _PLAIN if word.known else _PATTERN
    unsure = SOME_NAME in word.resolved or NAME_OR_NOTHING in word.resolved
    if unsure or not paths or not all(plain.fullmatch(path) and path[0] != "-" for path in paths):
        return None
    # It may mean the present directory, whose name is not in it.
    if not word.known and any(_DOTS.fullmatch(path) for path in paths):
        return None
    return _any_of([part(path.rstrip("/") or "/") for path in paths])


_PARTS: Mapping[str, Callable[[str], str]] = {
    "basename": lambda path: path.rpartition("/")[2] or "/",
    "dirname": lambda path: os.path.dirname(path) or _HERE,  # noqa: PTH120 (as text)
    "realpath": lambda path: path,
}
"""Programs that print a part of a path in their arguments."""


def _program(name: str) -> str | None:
    """Return the path of a program, or its name where it is not found."""
    found = shutil.which(name) or name
    return found if _PLAIN.fullmatch(found) else None


def _temporary(simple: Simple) -> str | None:
    """Return a possible name of a new file of `mktemp`, where its arguments set none."""
    plain = all(word.text in ("-d", "-q", "--directory", "--quiet") for word in simple.arguments)
    return _temporary_name() if plain and not simple.redirections else None


def _temporary_name() -> str:
    return f"{tempfile.gettempdir()}/tmp.{_NUMBER}"


def is_one_word(word: Word) -> bool:
    """Return whether a word is surely one, whatever the shell expands."""
    if word.known or not word.splits:
        return True
    named = SOME_NAME in word.resolved or NAME_OR_NOTHING in word.resolved
    return bool(_ONE_WORD.fullmatch(word.resolved)) and not named


def is_new_temporary(word: Word) -> bool:
    """Return whether a word is a path that `mktemp` created for the same command. A path below it begins at
    the root if that failed."""
    return not word.known and word.resolved == _temporary_name() and not os.path.lexists(word.resolved)


def is_name(word: Word) -> bool:
    """Return whether a word is or contains a name that a command lists."""
    return word is LISTED or SOME_NAME in word.resolved or NAME_OR_NOTHING in word.resolved


def before_name(word: Word) -> str | None:
    """Return a word's text before the name that a command lists; None where it has only the name."""
    if word.resolved in ("", SOME_NAME, NAME_OR_NOTHING):
        return None
    places = (word.resolved.find(pattern) for pattern in (SOME_NAME, NAME_OR_NOTHING))
    return word.resolved[: min(place for place in places if place >= 0)]


class NameLoop:
    """A loop of a command that reads names of files from a pipe: `find … | while read -r f; do …`.

    It is known only if nothing else sets its variable. Words that are this variable, in quotes, become
    `LISTED`, as those that `xargs` adds.
    """

    def __init__(self, command: str) -> None:
        self.entered = False
        """True if the loop has begun."""
        head = _READING_LOOP.search(command)
        known = (
            head and Variables(command).is_set_once(head["name"]) and not _READING_ELSEWHERE.search(command)
        )
        self._name = head["name"] if head and known else ""
        self.splitting: Splitting = _splitting(head) if head and known else ""
        """Splitting of the names."""

    def follow(self, simple: Simple, *, listed: bool) -> Simple:
        """Return the next command of the text, with its words as in the loop; `listed`: names of files are
        piped into it."""
        reads = simple.program == "read" and any(word.text == self._name for word in simple.arguments)
        self.entered = self.entered or (reads and listed)
        if not self.entered:
            return simple
        redirections = (replace(each, target=self._word(each.target)) for each in simple.redirections)
        words = (_UNKNOWN if word is LISTED and not listed else self._word(word) for word in simple.words)
        return replace(simple, words=tuple(words), redirections=tuple(redirections))

    def _word(self, word: Word) -> Word:
        return LISTED if word.variable == self._name else word


_READING_LOOP = re.compile(
    r"\|\s*while\s+(?P<whole>IFS=\s+)?read\s+(?P<options>(?:-r\s+|-r?d\s*(?:''|\"\"|\$'\\0')\s+)*)"
    r"(?P<name>[A-Za-z_]\w*)\s*;\s*do\b"
)


def _splitting(head: re.Match[str]) -> Splitting:
    options = head["options"]
    if "r" not in options:
        return "xargs"
    if not head["whole"]:
        return "shell"
    return "nul" if "d" in options else "lines"


_READING_ELSEWHERE = re.compile(r"\bdone\s*\d*<")
_UNKNOWN = Word("", known=False)

"""The values of variables that a command sets itself, where it is certain what they are.

Invariant: a value is known only if the command names the variable once, as it sets it, on a way that it
surely goes; or as the variable of the `for` around. The rest is not known.
"""

import os
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from cogency_tui.tools.shell_words import LISTED, Simple, Word

_NAME = re.compile(r"(\$\{?)?(?<!\w)(?<![\w ]-)(?<![/.])(?<!-type )([A-Za-z_]\w*)(:?[=-])?")
_HIDING = re.compile(
    r"\b(?:eval|source|IFS|alias|shopt)\b(?!=\s+read\b)|(?:^|[;&|\n({])[ \t]*\.\s"
    r"|\b(?:mapfile|printf|read|readarray|wait)\b[^;&|\n]{0,200}\s-[A-Za-z]*[apv]\w"
)
"""What may set a variable without naming it, or change how words are split."""

_CUT = re.compile(r"([A-Za-z_]\w*)%%?([\w./-]+)")
"""A variable whose end is taken off: `${f%.py}`."""

_MANY = re.compile(r"[{}]|(?:\A|/)\.[^/]*[*?\[][^/]*\Z")
"""Patterns in parts, and those for names that begin with a dot: what is left of one may be `..`."""

_PLAIN = re.compile(r"[A-Za-z0-9_./:+@%,-]+")
_NUMBERS = frozenset(("$", "?", "#", "!", "RANDOM", "SECONDS", "UID", "EUID", "PPID", "LINENO"))
_NUMBER = "0"
_HERE = "."
SOME_NAME = "{.,0}"
"""A pattern for names of files in a directory, and of the directory itself."""

_NAME_OR_NOTHING = "{,.,0}"
"""The same for what a command prints that lists names and may find none."""

TOPMOST = "\0"
"""Stands in a pattern for the topmost directory of the repository; no word has this character."""

_COUNTED = re.compile(r"-?\d[\d.]*|-w|-s[ ,:_-]")
_DATED = re.compile(r"(?:[^./]|(?<=\w)\.(?=%))*")
"""Arguments of `seq` and `date` that print no path."""

_COMMIT = re.compile(
    r"merge-base( [\w@^~./-]+)*|rev-parse( --(short|verify|quiet|abbrev-ref))*( [\w@][\w@^~.-]*)?"
)
"""Arguments of git with which it prints a commit, or the name of one."""

_LONGEST = 1 << 17
"""Characters that all values of a command may put in."""

_DEEPEST = 20
"""Loops within each other whose variables are known."""

_OPENING = frozenset(("if", "while", "until", "for", "select", "{", "("))
_CLOSING = frozenset(("fi", "done", "}", ")"))

_FILTERS = frozenset(("head", "sort", "tail", "uniq"))
_ODD_OPTION = re.compile(
    r"-.*(?:format|printf|label|prefix|exec|replace|hyperlink|only-matching|time-style).*|-[a-zA-Z]*[or]"
)
"""Options by which what lists names may print something else."""


class Variables:
    """What is known of the variables while the command is read from its beginning."""

    def __init__(self, text: str, outer: "Variables | None" = None) -> None:
        """With `outer` of a text that is substituted in that of `outer`: it has the same variables, and sets
        them for itself alone."""
        self._outer = outer
        self._command: Variables = outer._command if outer else self
        found = _NAME.finditer(text) if "$" in text and not outer else ()
        self._mentions = Counter(name[2] for name in found if not name[1] or (name[3] or "")[-1:] == "=")
        self._hidden = not outer and bool(_HIDING.search(text))
        self._values: dict[str, str] = {}
        self._loops: list[tuple[str, str | None]] = []
        self._open = 0
        self._chained = False
        self._left = _LONGEST

    def value(self, name: str) -> str | None:
        """What a variable stands for, as a pattern of the shell; None where that is not known."""
        if name in _NUMBERS or name == "PWD":
            return None if self._command._mentions[name] else _HERE if name == "PWD" else _NUMBER
        if cut := _CUT.fullmatch(name):
            return _without_end(self.value(cut[1]), cut[2])
        if not self.is_set_once(name):
            return None
        value = self._found(name)
        # Values within values multiply.
        self._command._left -= len(value)
        return value if value and self._command._left >= 0 else None

    def is_set_once(self, name: str) -> bool:
        """Whether the command names a variable once where it may set it."""
        return not self._is_hidden() and self._command._mentions[name] == 1

    def _found(self, name: str) -> str:
        around = (value for each, value in reversed(self._loops[-_DEEPEST:]) if each == name)
        value = next(around, None) or self._values.get(name, "")
        return value if value or self._outer is None else self._outer._found(name)

    def _is_hidden(self) -> bool:
        return self._hidden or (self._outer is not None and self._outer._is_hidden())

    def reserved(self, word: str) -> None:
        """Note a reserved word, or a bracket, that a list of commands begins or ends with."""
        if word == "case":
            # Its branches have brackets that nothing opens.
            self._hidden = True
        self._open += (word in _OPENING) - (word in _CLOSING)
        if word in ("while", "until"):
            self._loops.append(("", None))
        elif word == "done" and self._loops:
            self._loops.pop()

    def loop(self, words: Sequence[Word]) -> None:
        """Note the head of a `for` or `select`."""
        texts = [word.text for word in words[:3]]
        listed = texts[2:] == ["in"] and texts[0] == "for"
        values = [_taken(word) for word in words[3:]]
        known = listed and values and all(values)
        name = texts[1] if len(texts) > 1 else ""
        joined = values[0] if len(values) == 1 else f"{{{','.join(values)}}}"
        self._loops.append((name, joined if known else None))

    def assigned(self, words: Sequence[Word], operator: str) -> None:
        """Note a command that only assigns, and what stands behind it."""
        if self._open or self._chained or operator in ("|", "&", "||"):
            return
        for word in words:
            name, _, value = word.text.partition("=")
            if not word.known:
                value = word.resolved.partition("=")[2]
            if _is_plain(value, word) and name.isidentifier():
                self._values[name] = value

    def ended(self, operator: str) -> None:
        """Note what stands behind a command."""
        self._chained = operator in ("|", "||", "&&")


def _taken(word: Word) -> str:
    """What a loop takes from a word, as a pattern; empty where that is not known."""
    if word.known:
        return word.pattern or word.text
    # Of nothing there is no turn.
    return SOME_NAME if word.splits and word.resolved == _NAME_OR_NOTHING else word.resolved


def _is_plain(value: str, word: Word) -> bool:
    """Whether a value is the same word wherever it is put in."""
    if not word.known:
        for pattern in (_NAME_OR_NOTHING, SOME_NAME, TOPMOST):
            value = value.replace(pattern, _NUMBER)
    return bool(_PLAIN.fullmatch(value))


def _without_end(value: str | None, end: str) -> str | None:
    """A pattern without its end; None where that does not surely stand there."""
    if value is None or not value.endswith(end) or _MANY.search(value):
        return None
    return value.removesuffix(end) or None


def substituted(commands: Sequence[Simple]) -> str | None:
    """What a substitution of these commands comes to, as a pattern; None where that is not known."""
    if len(commands) == 1 and (value := _printed(commands[0])) is not None:
        return value
    if not all(simple.piped for simple in commands[:-1]):
        return None
    listed = False
    for simple in commands:
        listed = lists_names(simple, piped=listed)
    return _NAME_OR_NOTHING if listed else None


def _printed(simple: Simple) -> str | None:
    """What a program that prints one word prints, as a pattern; None where that is not known."""
    texts = [word.text for word in simple.arguments]
    if simple.redirections or not all(word.known and not word.pattern for word in simple.arguments):
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
        case "dirname" | "basename" | "realpath" if len(texts) == 1 and _PLAIN.fullmatch(texts[0]):
            if texts[0].startswith("-"):
                return None
            path = texts[0].rstrip("/") or "/"
            named = {"dirname": os.path.dirname(path) or _HERE, "basename": path.rpartition("/")[2] or "/"}  # noqa: PTH120 (as text)
            return named.get(simple.program, path)
        case "git" if _COMMIT.fullmatch(" ".join(texts)):
            return _NUMBER
        case "which" if len(texts) == 1:
            return _program(texts[0])
        case "command" if len(texts) == 2 and texts[0] == "-v":
            return _program(texts[1])
        case _:
            return None


def _program(name: str) -> str | None:
    """Where a program is, or its name where it is nowhere."""
    found = shutil.which(name) or name
    return found if _PLAIN.fullmatch(found) else None


def _temporary(simple: Simple) -> str | None:
    """A name that `mktemp` may give a new file, where it is not told one."""
    plain = all(word.text in ("-d", "-q", "--directory", "--quiet") for word in simple.arguments)
    return _temporary_name() if plain and not simple.redirections else None


def _temporary_name() -> str:
    return f"{tempfile.gettempdir()}/tmp.{_NUMBER}"


def is_new_temporary(word: Word) -> bool:
    """Whether a word is what `mktemp` made for the same command. Below it is the root if that failed."""
    return not word.known and word.resolved == _temporary_name() and not os.path.lexists(word.resolved)


class NameLoop:
    """The loop of a command that reads names of files from a pipe: `find … | while read -r f; do …`.

    It is known only if nothing else sets its variable. Words that are this variable, in quotes, become
    `LISTED`, as those that `xargs` adds.
    """

    def __init__(self, command: str) -> None:
        self.entered = False
        """Whether the loop has begun."""
        head = _READING_LOOP.search(command)
        known = head and Variables(command).is_set_once(head[1]) and not _READING_ELSEWHERE.search(command)
        self._name = head[1] if head and known else ""

    def follow(self, simple: Simple, *, listed: bool) -> Simple:
        """The next command of the text, with its words as the loop has them; `listed`: it is given names of
        files."""
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
    r"\|\s*while\s+(?:IFS=\s+)?read\s+(?:-r\s+|-r?d\s*(?:''|\"\"|\$'\\0')\s+)*([A-Za-z_]\w*)\s*;\s*do\b"
)
_READING_ELSEWHERE = re.compile(r"\bdone\s*\d*<")
_UNKNOWN = Word("", known=False)


def lists_names(simple: Simple, *, piped: bool) -> bool:
    """Whether a command prints names of files below what it names, and nothing else. `piped`: it is given
    such names."""
    return (piped and _filters(simple)) or _lists(simple)


def _lists(simple: Simple) -> bool:
    texts = [word.text for word in simple.arguments]
    if simple.redirections or any(_ODD_OPTION.fullmatch(text) for text in texts if text != "-r"):
        return False
    match simple.program:
        case "ls" if simple.has("af", "all"):
            # `..` is among them.
            return False
        case "fd" | "fdfind" if simple.has("xX"):
            return False
        case "fd" | "fdfind" | "find" | "ls":
            return all(word.known for word in simple.arguments)
        case "git":
            return texts[:1] == ["ls-files"] or (texts[:1] == ["diff"] and "--name-only" in texts)
        case "grep" | "rg":
            return simple.has("l", "files-with-matches") or texts[:1] == ["--files"]
        case _:
            return False


def _filters(simple: Simple) -> bool:
    # Pieces of names may be any.
    plain = not simple.redirections and not simple.has("o", "output", "only-matching")
    if simple.program in ("head", "tail") and simple.has("c", "bytes"):
        return False
    if simple.program == "grep":
        return plain and len(simple.operands()) == 1
    return plain and simple.program in _FILTERS and all(word.text.isdecimal() for word in simple.operands())

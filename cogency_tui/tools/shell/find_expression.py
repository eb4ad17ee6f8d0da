"""The expression of `find`, and the files that its actions reach.

Invariant: an unknown test may hold or not, and a file that an action may reach counts as reached. The calls
block.
"""

import fnmatch
import os
import re
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import dropwhile
from pathlib import Path

from cogency_tui.tools.shell.simple_command import Simple, Word

_FLAGS = frozenset(
    ("-d", "-daystart", "-depth", "-ignore_readdir_race", "-mount", "-noignore_readdir_race", "-noleaf")
    + ("-nowarn", "-warn", "-xdev")
)
_PLAIN = frozenset(
    ("-empty", "-executable", "-false", "-nogroup", "-nouser", "-readable", "-true", "-writable")
)
_VALUED_NAMES = """
    -amin -anewer -atime -cmin -cnewer -ctime -fstype -gid -group -ilname -iname -inum -ipath -iregex
    -iwholename -links -lname -maxdepth -mindepth -mmin -mtime -name -newer -path -perm -regex -regextype
    -samefile -size -type -uid -used -user -wholename -xtype
"""
_VALUED = frozenset(_VALUED_NAMES.split())
_NEWER = re.compile(r"-newer[aBcm][aBcmt]")
_GLOBAL = _FLAGS | {"-follow", "-mindepth", "-maxdepth"}
"""Options that apply wherever they are."""

_FILING = {"-fls": 1, "-fprint": 1, "-fprint0": 1, "-fprintf": 2}
RUNNING = frozenset(("-exec", "-execdir", "-ok", "-okdir"))
_RUNNING_BESIDE = frozenset(("-execdir", "-okdir"))
_GOING_TO_IT = (Word("env"), Word("-C"), Word("", known=False))
REMOVING = RUNNING | {"-delete"}
PRINTING = frozenset(("-ls", "-print", "-print0", "-printf", *_FILING))
_ACTIONS = REMOVING | PRINTING
_ALONE = _FLAGS | _PLAIN | {"-delete", "-follow", "-ls", "-print", "-print0", "-prune", "-quit"}
_ANDS, _ORS, _NOTS = ("-a", "-and"), ("-o", "-or"), ("!", "-not")
_TOKENS = _ALONE | _VALUED | RUNNING | {"-printf", *_FILING, *_ANDS, *_ORS, *_NOTS, "(", ")", ","}
_NAMING = frozenset(("-iname", "-ipath", "-iwholename", "-name", "-path", "-wholename"))
_UNSURE = re.compile(r"\\|\[(?![\w.-]+\])")
"""Syntax that Python's patterns interpret differently from `find`."""

_LEVEL = re.compile(r"-O\d*")
_DEEPEST = 50
_MOST_NAMES = 64
"""Most names and paths of one expression that are checked for being passed over."""

_DEEPEST_TREE = 10_000
_LONGEST_NUMBER = 9

_Holds = bool | None
"""True if a test holds; None where that is not known."""


class _UnreadableError(Exception):
    """The expression is not known."""


@dataclass(frozen=True, slots=True, eq=False)
class _Test:
    """A token of an expression: a test, an action, an option or an operator, with its arguments."""

    option: str
    values: Sequence[Word] = ()

    @property
    def value(self) -> Word | None:
        return self.values[0] if self.values else None


@dataclass(frozen=True, slots=True, eq=False)
class _Not:
    inner: "_Node"


@dataclass(frozen=True, slots=True, eq=False)
class _Joined:
    """Tests of which the next one is evaluated only if the one before holds, does not hold (`-o`), or
    always (`,`)."""

    parts: tuple["_Node", ...]
    operator: str


_Node = _Test | _Not | _Joined


@dataclass(slots=True)
class _Outcome:
    """The result for a file: whether an action may reach it, and whether `find` surely does not descend
    into it."""

    reached: bool = False
    pruned: bool = False


class Expression:
    """The tests and actions of a `find`."""

    def __init__(self, simple: Simple) -> None:
        """Parse the arguments. Where they are not known, `known` is False, and all files may be reached."""
        words = list(simple.arguments)
        follows = False
        while words and (words[0].text in ("-D", "-H", "-L", "-P") or _LEVEL.fullmatch(words[0].text)):
            follows = words[0].text in ("-H", "-L") or follows
            del words[: 1 + (words[0].text == "-D")]
        start = next((at for at, word in enumerate(words) if _begins(word)), len(words))
        self.starts = words[:start] or [Word(".")]
        tokens = list(_tokens(words[start:]))
        own = (word for token in tokens if token.option not in RUNNING for word in token.values)
        self.known = all(word.known for word in (*self.starts, *own))
        self.actions = frozenset(token.option for token in tokens) & _ACTIONS
        """Actions in it; without any, `find` prints the paths that it finds."""
        self.commands = tuple(_command(token) for token in tokens if token.option in RUNNING)
        """Words of the commands that it runs."""
        self._depths = _limit(tokens, "-mindepth", 0), _limit(tokens, "-maxdepth", _DEEPEST_TREE)
        self._depth_first = any(token.option in ("-d", "-delete", "-depth") for token in tokens)
        self._root: _Node = _Joined((), "-a")
        try:
            self._root = _Reader(tokens).read()
        except _UnreadableError:
            self.known = False
        self.follows = follows or any(token.option == "-follow" for token in tokens)
        """True if it follows links."""
        self.known = self.known and not self.follows

    @property
    def selects(self) -> bool:
        """True if it selects by names or paths."""
        return any(node.option in _NAMING for node in _tests(self._root))

    def passed_over(self) -> list[Word]:
        """Return the patterns of names and paths that only exclude files from the actions."""
        if not self.known:
            return []
        found = [node for node in _tests(self._root) if node.option in _NAMING]
        if len(found) > _MOST_NAMES:
            return []
        values = [node.value for node in found if not self._reaches_if(node)]
        return [value for value in values if value is not None and not value.pattern]

    def _reaches_if(self, given: _Test) -> bool:
        """Return whether an action may reach a file for which this test holds, whatever the others yield."""
        return self._outcome(lambda node: True if node is given else None, _ACTIONS).reached

    def may_reach_links(self, actions: Set[str]) -> bool:
        """Return whether one of these actions may reach a link."""
        return not self.known or self._outcome(_holds_for_link, actions).reached

    def removes_only_empty_directories(self) -> bool:
        """Return whether it removes nothing but directories, and these only if they are empty."""
        if not self.known or self.actions & REMOVING != frozenset(("-delete",)):
            return False
        tests = list(_tests(self._root))
        directory = [each for each in tests if each.option == "-type" and each.value == Word("d")]
        empty = [each for each in tests if each.option == "-empty"]
        few = len(directory) + len(empty) <= _MOST_NAMES
        return few and all(any(map(self._removes_only_if, group)) for group in (directory, empty))

    def _removes_only_if(self, given: _Test) -> bool:
        """Return whether a file for which this test does not hold remains, whatever the others yield."""
        return not self._outcome(lambda node: False if node is given else None, REMOVING).reached

    def walk(self, written: str, start: Path, actions: Set[str]) -> Iterator[tuple[Path, bool]]:
        """Yield every path that is visited from a start, with whether one of these actions may reach it.
        The start is given as written, empty where that is not known, and resolved."""
        pending = [(written, start, 0)]
        while pending:
            written, path, depth = pending.pop()
            outcome = _Outcome()
            if depth >= self._depths[0]:
                outcome = self._outcome(lambda node, at=(written, path, depth): _holds(node, *at), actions)
            yield path, outcome.reached
            if outcome.pruned or depth >= self._depths[1] or path.is_symlink() or not path.is_dir():
                continue
            try:
                names = sorted((each.name for each in path.iterdir()), reverse=True)
            except OSError:
                continue
            lead = written if written.endswith("/") or not written else f"{written}/"
            pending += [(f"{lead}{name}" if lead else "", path / name, depth + 1) for name in names]

    def _outcome(self, holds: Callable[[_Test], _Holds], actions: Set[str]) -> _Outcome:
        outcome = _Outcome()
        value = self._evaluate(self._root, holds, actions, outcome, sure=True)
        if not self.actions and value is not False and "-print" in actions:
            outcome.reached = True
        if self._depth_first:
            outcome.pruned = False
        return outcome

    def _evaluate(
        self,
        node: _Node,
        holds: Callable[[_Test], _Holds],
        actions: Set[str],
        outcome: _Outcome,
        *,
        sure: bool,
    ) -> _Holds:
        match node:
            case _Not(inner):
                value = self._evaluate(inner, holds, actions, outcome, sure=sure)
                return None if value is None else not value
            case _Test(option):
                outcome.reached = outcome.reached or option in actions
                outcome.pruned = outcome.pruned or (option == "-prune" and sure)
                return _result(option) if option in _ACTIONS or option == "-prune" else holds(node)
            case _Joined(parts, operator):
                ends = {"-a": False, "-o": True}.get(operator)
                result: _Holds = operator == "-a"
                for part in parts:
                    value = self._evaluate(part, holds, actions, outcome, sure=sure)
                    if value is ends and ends is not None:
                        return ends
                    sure = sure and (value is not None or ends is None)
                    result = value if ends is None else None if None in (value, result) else not ends
                return result


def _limit(tokens: Sequence[_Test], option: str, otherwise: int) -> int:
    """Return the depth of an option; `find` uses the last one."""
    values = [each.value.text for each in tokens if each.option == option and each.value]
    number = values[-1][:_LONGEST_NUMBER] if values else ""
    return int(number) if number.isdecimal() and number.isascii() else otherwise


def _result(option: str) -> _Holds:
    return None if option in RUNNING else True


def _begins(word: Word) -> bool:
    """Return whether the expression begins with a word."""
    return word.known and word.text.startswith(("-", "(", ")", "!", ","))


def _tests(node: _Node) -> Iterator[_Test]:
    match node:
        case _Test():
            yield node
        case _Not(inner):
            yield from _tests(inner)
        case _Joined(parts):
            for part in parts:
                yield from _tests(part)


def _holds(node: _Test, written: str, path: Path, depth: int) -> _Holds:
    """Return whether a test holds for a file."""
    value = node.value.text if node.value else ""
    match node.option:
        case "-true":
            return True
        case "-false":
            return False
        case option if option in _GLOBAL:
            return True
        case "-type":
            kind = "l" if path.is_symlink() else "d" if path.is_dir() else "f" if path.is_file() else ""
            return kind in value.split(",") if kind else None
        case "-name" | "-iname":
            return _matches(path.name if depth else os.path.basename(written.rstrip("/")), node)  # noqa: PTH119 (as text)
        case option if option in _NAMING:
            return _matches(written, node)
        case _:
            return None


def _matches(name: str, node: _Test) -> _Holds:
    pattern = node.value.text if node.value else ""
    if not name or node.value is None or node.value.pattern or _UNSURE.search(pattern):
        return None
    if node.option.startswith("-i"):
        name, pattern = name.lower(), pattern.lower()
    return fnmatch.fnmatchcase(name, pattern)


def _holds_for_link(node: _Test) -> _Holds:
    """Return whether a test holds for a link; None where that depends on the link."""
    if node.option == "-type" and node.value is not None and not node.value.pattern:
        return "l" in node.value.text.split(",")
    return True if node.option in _GLOBAL else None


def _tokens(words: Sequence[Word]) -> Iterator[_Test]:
    """Yield the tokens of an expression as `find` parses it."""
    at = 0
    while at < len(words):
        option = words[at].text
        if not words[at].known or words[at].pattern:
            option = ""
        at += 1
        if option in RUNNING:
            count = _length(words, at, option)
        elif _NEWER.fullmatch(option) or option in _VALUED or option == "-printf":
            count = 1
        else:
            count = _FILING.get(option, 0)
        values = words[at : at + count]
        # The shell's expansion of a pattern may be another token.
        may_end = any(_may_be_token(word) for word in values) and option not in RUNNING
        yield _Test("" if len(values) < count or may_end else option, values)
        at += count


def _command(token: _Test) -> Sequence[Word]:
    """Return the command among the arguments of an action that runs one."""
    given = [word for word in token.values if word.text not in (";", "+")]
    # After an unknown option, the word may have been its value.
    words = list(dropwhile(lambda word: word.text in RUNNING, given))
    names_more = any(word.text != "{}" and not word.text.startswith("-") for word in words[1:])
    # It runs beside the found file, in an unknown directory.
    return [*_GOING_TO_IT, *words] if token.option in _RUNNING_BESIDE and names_more else words


def _may_be_token(word: Word) -> bool:
    """Return whether a pattern of the shell may expand to a token."""
    return bool(word.pattern) and any(fnmatch.fnmatchcase(token, word.pattern) for token in _TOKENS)


def _length(words: Sequence[Word], start: int, option: str) -> int:
    """Return the number of words of a command, with its terminator."""
    for at in range(start, len(words)):
        text = words[at].text
        follows_names = at > start and words[at - 1].text == "{}"
        if text == ";" or (text == "+" and follows_names and option in ("-exec", "-execdir")):
            return at + 1 - start
    return len(words) - start


class _Reader:
    """Parses an expression from its tokens."""

    def __init__(self, tokens: Sequence[_Test]) -> None:
        self._tokens = tokens
        self._at = 0

    def read(self) -> _Node:
        """Parse the whole expression.

        Raises:
            _UnreadableError: it is not known.
        """
        if not self._tokens:
            return _Joined((), "-a")
        node = self._list(0)
        if self._at < len(self._tokens):
            raise _UnreadableError
        return node

    @property
    def _next(self) -> str:
        return self._tokens[self._at].option if self._at < len(self._tokens) else ""

    def _list(self, depth: int) -> _Node:
        if depth > _DEEPEST:
            raise _UnreadableError
        return self._joined((",",), ",", lambda: self._either(depth))

    def _either(self, depth: int) -> _Node:
        return self._joined(_ORS, "-o", lambda: self._both(depth))

    def _joined(self, operators: Sequence[str], operator: str, part: Callable[[], _Node]) -> _Node:
        parts = [part()]
        while self._next in operators:
            self._at += 1
            parts.append(part())
        return parts[0] if len(parts) == 1 else _Joined(tuple(parts), operator)

    def _both(self, depth: int) -> _Node:
        parts = [self._one(depth)]
        while self._next not in ("", ")", ",", *_ORS):
            if self._next in _ANDS:
                self._at += 1
            parts.append(self._one(depth))
        return parts[0] if len(parts) == 1 else _Joined(tuple(parts), "-a")

    def _one(self, depth: int) -> _Node:
        negations = 0
        while self._next in _NOTS:
            self._at += 1
            negations += 1
        node = self._primary(depth)
        return _Not(node) if negations % 2 else node

    def _primary(self, depth: int) -> _Node:
        token = self._tokens[self._at] if self._at < len(self._tokens) else _Test("")
        self._at += 1
        if token.option == "(":
            node = self._list(depth + 1)
            if self._next != ")":
                raise _UnreadableError
            self._at += 1
            return node
        if not token.option or not (token.option in _ALONE or token.values):
            raise _UnreadableError
        return token

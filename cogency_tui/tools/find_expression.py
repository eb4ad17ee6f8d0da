"""The expression of `find`: which files its actions reach.

Invariant: a test that is not known may hold or not, and what an action may reach counts as reached. The calls
block.
"""

import fnmatch
import os
import re
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from cogency_tui.tools.shell_words import Simple, Word

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
_DEPTHS = ("-mindepth", "-maxdepth")
_GLOBAL = _FLAGS | {*_DEPTHS}
"""Options that hold wherever they stand."""

_FILING = {"-fls": 1, "-fprint": 1, "-fprint0": 1, "-fprintf": 2}
RUNNING = frozenset(("-exec", "-execdir", "-ok", "-okdir"))
REMOVING = RUNNING | {"-delete"}
PRINTING = frozenset(("-ls", "-print", "-print0", "-printf", *_FILING))
_ACTIONS = REMOVING | PRINTING
_NAMING = frozenset(("-iname", "-ipath", "-iwholename", "-name", "-path", "-wholename"))
_UNSURE = re.compile(r"\\|\[(?![\w.-]+\])")
"""What Python's patterns take for something else than `find` does."""

_DEEPEST = 50
_MOST_NAMES = 64
"""Names and paths of one expression that are looked at for whether it passes them over."""

_DEEPEST_TREE = 10_000
_LONGEST_NUMBER = 9

_Holds = bool | None
"""Whether a test holds; None where that is not known."""


class _UnreadableError(Exception):
    """It is no expression that is known."""


@dataclass(frozen=True, slots=True, eq=False)
class _Test:
    option: str
    value: Word | None = None


@dataclass(frozen=True, slots=True, eq=False)
class _Not:
    inner: "_Node"


@dataclass(frozen=True, slots=True, eq=False)
class _Joined:
    """Tests of which the next one is looked at only if the one before holds, does not hold (`-o`), or anyhow
    (`,`)."""

    parts: tuple["_Node", ...]
    operator: str


_Node = _Test | _Not | _Joined


@dataclass(slots=True)
class _Outcome:
    """What came of a file: whether an action may reach it, and whether `find` surely does not go below it."""

    reached: bool = False
    pruned: bool = False


class Expression:
    """The tests and actions that `find` is given."""

    def __init__(self, simple: Simple) -> None:
        """Take the arguments apart. Where they are not known, `known` is False, and all may be reached."""
        words = list(simple.arguments)
        follows = False
        while words and words[0].text in ("-H", "-L", "-P"):
            follows = words.pop(0).text != "-P" or follows
        start = next((at for at, word in enumerate(words) if _begins(word)), len(words))
        self.starts = words[:start] or [Word(".")]
        reader = _Reader(words[start:])
        self.known = all(word.known for word in words if not reader.is_of_command(word))
        self._acts = reader.acts
        self._depths = _limit(words, "-mindepth", 0), _limit(words, "-maxdepth", _DEEPEST_TREE)
        self._depth_first = not {"-d", "-delete", "-depth"}.isdisjoint(word.text for word in words)
        self._root: _Node = _Joined((), "-a")
        try:
            self._root = reader.read()
        except _UnreadableError:
            self.known = False
        self.follows = follows or reader.follows
        """Whether it goes through links."""
        self.known = self.known and not self.follows

    @property
    def selects(self) -> bool:
        """Whether it finds by names or paths."""
        return any(node.option in _NAMING for node in _tests(self._root))

    def passed_over(self) -> list[Word]:
        """Patterns of names and paths that only say what no action reaches."""
        if not self.known:
            return []
        found = [node for node in _tests(self._root) if node.option in _NAMING]
        if len(found) > _MOST_NAMES:
            return []
        values = [node.value for node in found if not self._reaches_if(node)]
        return [value for value in values if value is not None and not value.pattern]

    def _reaches_if(self, given: _Test) -> bool:
        """Whether an action may reach a file for which this test holds, whatever the others say."""
        return self._outcome(lambda node: True if node is given else None, _ACTIONS).reached

    def walk(self, written: str, start: Path, actions: Set[str]) -> Iterator[tuple[Path, bool]]:
        """All that is looked at from a start, each with whether one of these actions may reach it. The start
        is given as it is written, empty where that is not known, and as where it is."""
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
        if not self._acts and value is not False and "-print" in actions:
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


def _limit(words: Sequence[Word], option: str, otherwise: int) -> int:
    """The depth that an option says; `find` takes the last one."""
    said = [value.text for each, value in pairwise(words) if each.text == option and value.text.isdecimal()]
    return int(said[-1][:_LONGEST_NUMBER]) if said else otherwise


def _result(option: str) -> _Holds:
    return None if option in RUNNING else True


def _begins(word: Word) -> bool:
    """Whether the expression begins with a word."""
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
    """Whether a test holds for a file."""
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


class _Reader:
    """Reads an expression from its words."""

    def __init__(self, words: Sequence[Word]) -> None:
        self._words = words
        self._at = 0
        texts = [word.text for word in words]
        self.acts = not _ACTIONS.isdisjoint(texts)
        """Whether there is an action, so that `find` does not print what it finds."""
        self.follows = not {"-follow", "-files0-from"}.isdisjoint(texts)
        self._commands = commands_in(words)
        self._of_commands = {id(word) for run in self._commands.values() for word in run}

    def is_of_command(self, word: Word) -> bool:
        """Whether a word is one of a command that `find` runs."""
        return id(word) in self._of_commands

    def read(self) -> _Node:
        """The whole expression.

        Raises:
            _UnreadableError: it is not known.
        """
        if not self._words:
            return _Joined((), "-a")
        node = self._list(0)
        if self._at < len(self._words):
            raise _UnreadableError
        return node

    @property
    def _next(self) -> str:
        return self._words[self._at].text if self._at < len(self._words) else ""

    def _list(self, depth: int) -> _Node:
        if depth > _DEEPEST:
            raise _UnreadableError
        return self._joined((",",), ",", lambda: self._either(depth))

    def _either(self, depth: int) -> _Node:
        return self._joined(("-o", "-or"), "-o", lambda: self._both(depth))

    def _joined(self, operators: Sequence[str], operator: str, part: Callable[[], _Node]) -> _Node:
        parts = [part()]
        while self._next in operators:
            self._at += 1
            parts.append(part())
        return parts[0] if len(parts) == 1 else _Joined(tuple(parts), operator)

    def _both(self, depth: int) -> _Node:
        parts = [self._one(depth)]
        while self._next not in ("", ")", ",", "-o", "-or"):
            if self._next in ("-a", "-and"):
                self._at += 1
            parts.append(self._one(depth))
        return parts[0] if len(parts) == 1 else _Joined(tuple(parts), "-a")

    def _one(self, depth: int) -> _Node:
        negations = 0
        while self._next in ("!", "-not"):
            self._at += 1
            negations += 1
        node = self._primary(depth)
        return _Not(node) if negations % 2 else node

    def _primary(self, depth: int) -> _Node:
        if self._at >= len(self._words):
            raise _UnreadableError
        at, option = self._at, self._next
        self._at += 1
        if option == "(":
            node = self._list(depth + 1)
            if self._next != ")":
                raise _UnreadableError
            self._at += 1
            return node
        if option in _VALUED or option == "-printf" or option in _FILING:
            self._at += _FILING.get(option, 1)
            if self._at > len(self._words):
                raise _UnreadableError
            return _Test(option, self._words[at + 1])
        if option in RUNNING:
            self._at += len(self._commands[at])
            return _Test(option)
        if option in _FLAGS | _PLAIN | {"-delete", "-ls", "-print", "-print0", "-prune", "-quit"}:
            return _Test(option)
        raise _UnreadableError


def commands_in(words: Sequence[Word]) -> dict[int, Sequence[Word]]:
    """The words of the commands that are run, with what ends each, by the place of its option."""
    found: dict[int, Sequence[Word]] = {}
    end = 0
    for at, word in enumerate(words):
        if at < end or word.text not in RUNNING:
            continue
        ends = (
            place + 1
            for place in range(at + 1, len(words))
            if words[place].text == ";" or (words[place].text == "+" and words[place - 1].text == "{}")
        )
        end = next(ends, len(words))
        found[at] = words[at + 1 : end]
    return found

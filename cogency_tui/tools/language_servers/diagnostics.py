"""The problems of a file before an edit and after it: which are new, gone, still there, or said twice.

Invariant: a problem that only moved, with its line or with the code around it, is the same problem.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING

from cogency_tui.workspace.diff import differences

if TYPE_CHECKING:
    from cogency_tui.tools.language_servers.client import Problem

_LINE = re.compile(r"\bline \d+")
_NAME = re.compile(r"[`'\"]([\w.]+)[`'\"]")

_SAME_AS: Mapping[str, str] = {
    "F401": "reportUnusedImport",
    "F811": "reportRedeclaration",
    "F821": "reportUndefinedVariable",
    "F841": "reportUnusedVariable",
    "invalid-syntax": "",
}
"""The rules of ruff for what a type checker finds by itself, with its own rules."""

_MOST_EDITS = 50

_ELSEWHERE = "F811"
"""The rule of ruff for which the type checker names the other one of two places."""


def compare(
    before: "Sequence[Problem]", after: "Sequence[Problem]", old: str, new: str
) -> "tuple[list[Problem], list[Problem]]":
    """The problems that are new in the text `new`, and those of the text `old` that are gone."""
    old_lines, new_lines = old.split("\n"), new.split("\n")
    changes = list(differences(old_lines, new_lines)) if old != new else []

    def in_new(line: int) -> Hashable:
        """An old line as its number in the new text; the number of its change if it is in one."""
        shift = 0
        for number, (start, end, new_start, new_end) in enumerate(changes):
            if line < start:
                break
            if line < end:
                return ("change", number)
            shift = new_end - end
            del new_start
        return line + shift

    def as_new(line: int) -> Hashable:
        for number, (_start, _end, new_start, new_end) in enumerate(changes):
            if new_start <= line < new_end:
                return ("change", number)
        return line

    def at(lines: Sequence[str]) -> "Callable[[Problem], Hashable]":
        return lambda each: lines[each.line - 1].strip() if each.line <= len(lines) else ""

    gone, added = _unmatched(
        before, after, lambda each: in_new(each.line - 1), lambda each: as_new(each.line - 1)
    )
    # Code that was moved to another place.
    gone, added = _unmatched(gone, added, at(old_lines), at(new_lines))
    return added, gone


def still_there(
    problems: "Sequence[Problem]", now: "Sequence[Problem]", old: str, new: str
) -> "tuple[list[Problem], list[Problem]]":
    """Those problems of the text `old` that the text `new` still has, as they are `now`, and the others."""
    came, gone = compare(problems, now, old, new)
    others = {id(each) for each in came}
    return [each for each in now if id(each) not in others], gone


def distinct(problems: "Sequence[tuple[str, Problem]]") -> "list[tuple[str, Problem]]":
    """The problems of files, by name, without those of a linter that a type checker reports as well."""
    known: dict[Hashable, int] = defaultdict(int)
    for name, each in problems:
        for rule, same in _SAME_AS.items():
            if each.rule == same:
                known[_subject(name, each, rule)] += 1
    kept: list[tuple[str, Problem]] = []
    for name, each in problems:
        if each.rule in _SAME_AS and known[subject := _subject(name, each, each.rule)]:
            known[subject] -= 1
        else:
            kept.append((name, each))
    return kept


class Reported:
    """What was reported of the last edits by programs that find the same by rules of their own."""

    def __init__(self) -> None:
        self._edits: dict[str, dict[Hashable, int]] = {}

    def add(self, edit: str, problems: "Sequence[tuple[str, Problem]]") -> "list[tuple[str, Problem]]":
        """Note these `distinct` problems of an edit as reported; return them without those that another
        program reported of it before."""
        counts = self._edits.pop(edit, None)
        counts = defaultdict[Hashable, int](int) if counts is None else counts
        self._edits[edit] = counts
        while len(self._edits) > _MOST_EDITS:
            self._edits.pop(next(iter(self._edits)))
        new: list[tuple[str, Problem]] = []
        for name, each in problems:
            shared = [rule for rule, same in _SAME_AS.items() if each.rule in (rule, same)]
            own = [(rule, each.rule == rule, _subject_anywhere(name, each, rule)) for rule in shared]
            others = [(rule, not is_linter, subject) for rule, is_linter, subject in own]
            if (known := next((other for other in others if counts[other]), None)) is not None:
                counts[known] -= 1
                continue
            for key in own:
                counts[key] += 1
            new.append((name, each))
        return new


def is_same_kind(one: "Problem", other: "Problem") -> bool:
    """Return whether two problems differ in their place at most."""
    return _kind(one) == _kind(other)


def _subject(name: str, problem: "Problem", rule: str) -> Hashable:
    """What a problem is about, for the comparison of programs that find it by this rule of ruff."""
    mentioned = _NAME.search(problem.message) if _SAME_AS[rule] else None
    word = mentioned[1] if mentioned else ""
    return (name, rule, word, 0 if rule == _ELSEWHERE and word else problem.line)


def _subject_anywhere(name: str, problem: "Problem", rule: str) -> Hashable:
    """What a problem is about, as `_subject`, of a text that may have moved since: a name, or else a line."""
    mentioned = _NAME.search(problem.message) if _SAME_AS[rule] else None
    return (name, mentioned[1] if mentioned else problem.line)


def _unmatched(
    before: "Sequence[Problem]",
    after: "Sequence[Problem]",
    place_before: "Callable[[Problem], Hashable]",
    place_after: "Callable[[Problem], Hashable]",
) -> "tuple[list[Problem], list[Problem]]":
    """The problems without a counterpart of the same kind at the same place."""
    there: dict[Hashable, list[Problem]] = defaultdict(list)
    for each in before:
        there[place_before(each), _kind(each)].append(each)
    added: list[Problem] = []
    for each in after:
        if same := there.get((place_after(each), _kind(each))):
            same.pop()
        else:
            added.append(each)
    left = {id(each) for group in there.values() for each in group}
    return [each for each in before if id(each) in left], added


def _kind(problem: "Problem") -> Hashable:
    return (problem.severity, problem.rule, problem.source, _LINE.sub("line", problem.message))

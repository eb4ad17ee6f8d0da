"""The difference between the problems of a file before an edit and after it.

Invariant: a problem that only moved, with its line or with the code around it, is the same problem.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING

from cogency_tui.workspace.diff import differences

if TYPE_CHECKING:
    from cogency_tui.tools.language_servers.client import Problem

_LINE = re.compile(r"\bline \d+")


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

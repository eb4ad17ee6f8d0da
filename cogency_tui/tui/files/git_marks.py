"""Git's marks of a project's files: parsed from `git status --porcelain=v2 -z`, drawn as one letter.

`workspace.git.facts` runs git, with no program that the repository names.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

CONFLICT = "!"
UNTRACKED = "?"

_FIELDS = {"1": 8, "2": 9, "u": 10}
"""The number of fields before the path in a line of each kind."""


class GitMarks(msgspec.Struct, frozen=True):
    """`letters` by path from the project (M A D R ? or !), one for a whole untracked directory; `inside`
    sums up each directory; `gone` has, by directory, the committed files that no longer exist."""

    letters: Mapping[str, str] = {}
    inside: Mapping[str, str] = {}
    gone: Mapping[str, tuple[str, ...]] = {}

    def of(self, path: str) -> str:
        """The letter of a file or directory; empty if unchanged since the commit."""
        if letter := self.letters.get(path):
            return letter
        while path := path.rpartition("/")[0]:
            if self.letters.get(path) == UNTRACKED:
                return UNTRACKED
        return ""


def read_marks(project: Path) -> GitMarks:
    """Read the marks of `project`; none if git fails. Blocks."""
    from cogency_tui.workspace.git.repository_queries import Repository

    repository = Repository(project)
    answer = repository.status()
    if not answer or repository.root is None:
        return GitMarks()
    within = project.relative_to(repository.root).as_posix() if project != repository.root else "."
    prefix = "" if within == "." else f"{within}/"
    return parse_status(os.fsdecode(answer), prefix)


def parse_status(answer: str, prefix: str = "") -> GitMarks:
    """The marks of the files whose paths from the repository's root begin with `prefix`."""
    letters: dict[str, str] = {}
    inside: dict[str, str] = {}
    gone: dict[str, list[str]] = {}
    for letter, path in _entries(answer):
        if not path.startswith(prefix):
            continue
        path = path[len(prefix) :].rstrip("/")
        letters[path] = letter
        if letter == "D":
            directory, _, name = path.rpartition("/")
            gone.setdefault(directory or ".", []).append(name)
        _mark_above(path, letter, inside)
    return GitMarks(letters, inside, {path: tuple(names) for path, names in gone.items()})


def _mark_above(path: str, letter: str, inside: dict[str, str]) -> None:
    """Mark the directories above: a conflict outranks all other marks, untracked files rank last."""
    letter = letter if letter in (CONFLICT, UNTRACKED) else "M"
    while path := path.rpartition("/")[0]:
        before = inside.get(path, "")
        if before in (letter, CONFLICT) or (before == "M" and letter == UNTRACKED):
            return
        inside[path] = letter


def _entries(answer: str) -> Iterator[tuple[str, str]]:
    lines = iter(answer.split("\0"))
    for line in lines:
        kind = line[:1]
        if kind == UNTRACKED:
            yield UNTRACKED, line[2:]
        elif kind in _FIELDS:
            fields = line.split(" ", _FIELDS[kind])
            if kind == "2":
                # The path from before a rename is a separate line.
                next(lines, None)
            if len(fields) > _FIELDS[kind]:
                yield CONFLICT if kind == "u" else _letter(fields[1]), fields[-1]


def _letter(states: str) -> str:
    """Combine the states of index and working tree into one letter."""
    for letter in "DARC":
        if letter in states:
            return "R" if letter == "C" else letter
    return "M"

"""Unified diffs of any origin, read into files, hunks and notes. Pure.

Invariant: no line is left out but those that the parts state themselves (`---`, `+++`, `@@`, git's `diff`
and `index`); what is no part of a diff is a note. The counts in a hunk's header decide where it ends, so that
a removed line that begins with `--` is not taken for a header; where they are wrong, the lines do.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from cogency_tui.workspace.diff_rows import HunkRows

_HEADER = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@ ?(.*)")
_SIGNS = (" ", "+", "-", "\\")
_ABSENT = "/dev/null"


@dataclass(slots=True)
class FileHead:
    """The names of a file before and after, empty where it does not exist; and its counts of lines."""

    old: str
    new: str
    added: int = 0
    removed: int = 0

    @property
    def path(self) -> str:
        """The name after the change, or before it where the file is deleted."""
        return self.new or self.old


@dataclass(frozen=True, slots=True)
class ParsedHunk:
    """The lines of a hunk, and the text behind its header. Without `numbered` its lines are counted from 1,
    since their place in the file is unknown. `skipped` is the number of unchanged lines before it, None if
    that is unknown."""

    rows: HunkRows
    section: str
    numbered: bool
    skipped: int | None = None


@dataclass(frozen=True, slots=True)
class DiffNotes:
    """Lines that are no part of a hunk."""

    lines: list[str]


DiffPart = FileHead | ParsedHunk | DiffNotes


def parse_unified(text: str, *, bare: bool = False) -> list[DiffPart]:
    """The parts of `text` in order. With `bare`, lines with signs need no header, or no right one."""
    lines = text.removesuffix("\n").split("\n")
    if not any(line.startswith("@@") for line in lines) and not _names_empty_file(lines):
        return [_bare_hunk(lines) if bare and _is_signed(lines) else DiffNotes(lines)]
    return _Reader(lines, bare=bare).read()


def _names_empty_file(lines: Sequence[str]) -> bool:
    """Return whether a file without lines is created or deleted, which has a header only."""
    pairs = pairwise(lines)
    return any(
        _ABSENT in (old[4:], new[4:])
        for old, new in pairs
        if old.startswith("--- ") and new.startswith("+++ ")
    )


def _is_signed(lines: Sequence[str]) -> bool:
    return any(line.startswith(("+", "-")) for line in lines)


def _bare_hunk(lines: Sequence[str]) -> ParsedHunk:
    unchanged = [line for line in lines if line and not line.startswith(("+", "-"))]
    indented = all(line.startswith(" ") for line in unchanged)
    signed = [
        line if line.startswith(("+", "-")) or (indented and line) else f" {line}" for line in lines
    ]  # fmt: skip
    return ParsedHunk(HunkRows(signed), "", numbered=False)


class _Reader:
    """Reads `lines` one part after the other."""

    def __init__(self, lines: Sequence[str], *, bare: bool) -> None:
        self._lines = lines
        self._further = _SIGNS if bare else ("\\",)
        """The signs of lines that are accepted beyond the counts of a header."""
        self._at = 0
        self._parts: list[DiffPart] = []
        self._file: FileHead | None = None
        self._end: int | None = None
        """The number of the old line after the last hunk of the file, if it is known."""

    def read(self) -> list[DiffPart]:
        """Read all lines."""
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if line.startswith("@@"):
                self._read_hunk(line)
            elif self._is_head(self._at):
                self._read_head()
            else:
                self._at += 1
                if not line.startswith(("diff --git ", "index ")):
                    self._note(line)
        return self._parts

    def _note(self, line: str) -> None:
        last = self._parts[-1] if self._parts else None
        if isinstance(last, DiffNotes):
            last.lines.append(line)
        else:
            self._parts.append(DiffNotes([line]))

    def _is_head(self, at: int) -> bool:
        if not self._lines[at].startswith("--- "):
            return False
        return at + 1 < len(self._lines) and self._lines[at + 1].startswith("+++ ")

    def _read_head(self) -> None:
        old, new = (_name(self._lines[self._at + place], prefix) for place, prefix in enumerate(("a/", "b/")))
        self._file, self._end = FileHead(old, new), None
        self._parts.append(self._file)
        self._at += 2

    def _read_hunk(self, header: str) -> None:
        match = _HEADER.match(header)
        old, new = (int(match[1]), int(match[3])) if match else (1, 1)
        counts = (int(match[2] or 1), int(match[4] or 1)) if match else (0, 0)
        # An empty side is named by the line before it.
        old, new = old + (counts[0] == 0), new + (counts[1] == 0)
        self._at += 1
        first = self._at
        self._skip_lines(*counts)
        signed = [line or " " for line in self._lines[first : self._at]]
        if not signed:
            self._note(header)
            return
        rows = HunkRows(signed, old, new)
        skipped = old - self._end if match and self._end is not None and old >= self._end else None
        section = match[5] if match else header.strip("@ ")
        self._parts.append(ParsedHunk(rows, section, match is not None, skipped))
        self._end = rows.old_end if match else None
        if self._file is not None:
            self._file.added += rows.count("added")
            self._file.removed += rows.count("removed")

    def _skip_lines(self, old: int, new: int) -> None:
        """Skip the lines of a hunk with these counts."""
        lines = self._lines
        while self._at < len(lines):
            line = lines[self._at]
            if old <= 0 and new <= 0:
                if not line.startswith(self._further) or self._is_head(self._at):
                    return
            elif (line and not line.startswith(_SIGNS)) or self._is_misplaced(old, new):
                return
            sign = line[:1] or " "
            old -= sign in " -"
            new -= sign in " +"
            self._at += 1

    def _is_misplaced(self, old: int, new: int) -> bool:
        """Return whether the head of another file is at the present line, although lines are missing."""
        if (old, new) == (1, 1) or not self._is_head(self._at):
            return False
        third = self._lines[self._at + 2] if self._at + 2 < len(self._lines) else ""
        return third.startswith("@@ ")


def _name(line: str, prefix: str) -> str:
    name = line[4:].split("\t")[0].rstrip()
    return "" if name == _ABSENT else name.removeprefix(prefix)

"""The contents of results: the text of a file, the end of a command, the paths and lines of a search.

Notes of the tools are in brackets on lines of their own; unexpected content is used as it is.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatch
from typing import cast

from cogency_tui.providers.offline.message_reader import Result

_NUMBERED = re.compile(r"^ *(\d+)\t(.*)$")
_MISSING = re.compile(r"\bno such file|\bnot found\b|\bnot exist\b", re.IGNORECASE)
_TAKEN = re.compile(r"is there already|already exists", re.IGNORECASE)
_LEFT_OUT = re.compile(r"are not shown|\bcut at\b|truncated|omitted|left out", re.IGNORECASE)
_LAST = re.compile(r"\bto (\d[\d,]*) are not shown")
_EXIT = re.compile(r"exit (\d+)\b.*")
_STOPPED = re.compile(r"(?:killed by|timed out) .*")
_HIT = re.compile(r"^(?:[^\[\n].*?:)?\d+: ", re.MULTILINE)
_MORE_HITS = re.compile(r"^\[([\d,]+)(?: or more)? matches, the first", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class FileText:
    """The lines of a `read`, from line `first` on; `complete` unless some were left out."""

    lines: tuple[str, ...]
    first: int
    complete: bool
    total: int

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


def file_text(result: Result) -> FileText:
    """Parse the content of a `read`: numbered lines, with notes after them."""
    numbered: list[tuple[int, str]] = []
    notes: list[str] = []
    lines = plain(result).split("\n")
    for line in lines:
        match = _NUMBERED.match(line)
        if match and (not numbered or int(match[1]) > numbered[-1][0]):
            numbered.append((int(match[1]), match[2]))
        else:
            notes.append(line)
    note = "\n".join(notes)
    if not numbered:
        unnumbered = () if note.startswith("[the file is empty") else tuple(lines)
        return FileText(unnumbered, 1, True, len(unnumbered))
    first, last = numbered[0][0], numbered[-1][0]
    unseen = [int(found.replace(",", "")) for found in _LAST.findall(note)]
    # A part that the engine cut out shows as a gap in the numbers.
    complete = first == 1 and last == len(numbered) and not _LEFT_OUT.search(note)
    return FileText(tuple(text for _number, text in numbered), first, complete, max([last, *unseen]))


def is_missing(result: Result) -> bool:
    """Return whether a call failed because its file does not exist."""
    return not result.ok and bool(_MISSING.search(plain(result)))


def is_taken(result: Result) -> bool:
    """Return whether a write failed because the file exists already."""
    return not result.ok and bool(_TAKEN.search(plain(result)))


def reason(result: Result) -> str:
    """Return the reason of a failed call, on one line."""
    line = next((line.strip() for line in plain(result).splitlines() if line.strip()), "no reason given")
    line = line if len(line) <= 300 else f"{line[:299]}…"
    return line.rstrip(".")


def paths(result: Result, pattern: str) -> list[str]:
    """Return the paths of a search by name, those whose file name matches `pattern`."""
    lines = [line for line in plain(result).split("\n") if line and not line.startswith("[")]
    return [path for path in dict.fromkeys(lines) if fnmatch(path.rsplit("/", 1)[-1], pattern)]


def hits(result: Result) -> int:
    """Count the lines that a search by content found."""
    text = plain(result)
    more = _MORE_HITS.search(text)
    return int(more[1].replace(",", "")) if more else len(_HIT.findall(text))


@dataclass(frozen=True, slots=True)
class CommandOutput:
    """The end of a command: by a `status`, or `stopped` in the described way. Neither: it never ran."""

    status: int | None
    stopped: str
    output: str


def command_output(result: Result) -> CommandOutput:
    """Parse the content of a `shell`: how it ended on the first line, then its output."""
    first, _, output = plain(result).partition("\n")
    exited = _EXIT.fullmatch(first)
    stopped = _STOPPED.fullmatch(first)
    output = "" if output == "(no output)" else output
    return CommandOutput(int(exited[1]) if exited else None, first if stopped else "", output)


def plain(result: Result) -> str:
    """Return the content of a result as text, without line ends around it."""
    content = result.content
    if isinstance(content, list):
        items = cast("list[object]", content)
        content = "\n".join(
            item if isinstance(item, str) else json.dumps(item, ensure_ascii=False) for item in items
        )
    elif not isinstance(content, str):
        content = json.dumps(content, ensure_ascii=False)
    return content.strip("\n")


def first_match(lines: Iterable[str], text: str) -> int:
    """Return the index of the first line that contains `text` in any case, or -1."""
    folded = text.casefold()
    return next((index for index, line in enumerate(lines) if folded in line.casefold()), -1)

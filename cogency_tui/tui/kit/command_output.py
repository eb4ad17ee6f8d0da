"""The output of a command as lines: colors become roles of our themes, other sequences are stripped.

Of the control characters of a terminal, three kinds have an effect: SGR (color, bold, underline …), a
carriage return (the line starts over, as in progress bars), and newlines. Memory is bounded by `limit`:
excess lines are dropped from the beginning, and counted.

Invariant: the lines do not depend on how the stream was split.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from cogency_tui.safe_text import clean
from cogency_tui.tui.kit.sgr import PLAIN, Rendition, rendition_after

LONGEST = 4000
"""Characters of one line; a longer one is stored as several, each continuing the one before."""

_TAB = 8
_MOST_PIECES = 16
_LONGEST_STRING = 4096
_SGR = re.compile("\x1b\\[([0-9;:]{0,256})m")
_ACTED_ON = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_BROKEN_OFF = re.compile("\x1b(?=\x1b)")
_UNFINISHED = re.compile(
    "(?:(?:\x1b\\[|\x9b)[0-?]{0,256}[ -/]{0,16}"
    f"|(?:\x1b[\\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x90\x98\x9c-\x9f\n]{{0,{_LONGEST_STRING}}}\x1b?"
    "|\x1b[ -/]{0,16}|\r)\\Z"
)

Run = tuple[str, Rendition]


class TextLine(NamedTuple):
    """Runs of text in one rendition each; `continued` lines have no newline before them."""

    runs: tuple[Run, ...]
    continued: bool = False

    @property
    def text(self) -> str:
        runs = self.runs
        return runs[0][0] if len(runs) == 1 else "".join([text for text, _rendition in runs])


class OutputLines:
    """Lines that are appended to; the last one may still grow. `dropped` counts those removed."""

    def __init__(self, limit: int | None = None) -> None:
        self.lines: list[TextLine] = []
        self.dropped = 0
        self._limit = limit
        self._size = 0
        self._runs: list[Run] = []
        """The last line so far; it is among the lines once it has any text."""
        self._length = 0
        self._pieces = 0
        """The number of lines that store the last line."""
        self._continued = False

    @property
    def total(self) -> int:
        """The number of lines so far, including dropped ones."""
        return self.dropped + len(self.lines)

    def write(self, text: str) -> None:
        """Append `text`, which is clean, and may have newlines."""
        for number, line in enumerate(text.split("\n")):
            if number:
                self.end_line()
            self.append([(line, PLAIN)])
        self.trim()

    def append(self, runs: Iterable[Run]) -> None:
        """Append to the last line."""
        for text, rendition in runs:
            if not text:
                continue
            if "\t" in text:
                column = self._length
                text = (" " * column + text).expandtabs(_TAB)[column:]
            if self._runs and self._runs[-1][1] == rendition:
                self._runs[-1] = (self._runs[-1][0] + text, rendition)
            else:
                self._runs.append((text, rendition))
            self._length += len(text)
            self._size += len(text)
        self._show()

    def end_line(self) -> None:
        """End the last line."""
        if not self._pieces:
            self.lines.append(TextLine(()))
        self._runs, self._length, self._pieces, self._continued = [], 0, 0, False

    def clear_line(self) -> None:
        """Clear the unfinished line."""
        self._size -= self._length
        if self._pieces:
            del self.lines[-self._pieces :]
        self._runs, self._length, self._pieces = [], 0, 0

    def extend(self, lines: Iterable[tuple[Run, ...]]) -> None:
        """Append whole lines; requires that the last line has ended."""
        for runs in lines:
            length = sum([len(text) for text, _rendition in runs])
            if length > LONGEST:
                self.append(runs)
                self.end_line()
            else:
                self.lines.append(TextLine(runs))
                self._size += length

    def trim(self) -> None:
        """Drop lines from the beginning once the size exceeds the limit by half: rarely, and many at once."""
        if self._limit is None or self._size <= self._limit * 3 // 2:
            return
        index = 0
        while self._size > self._limit and index < len(self.lines) - max(1, self._pieces):
            self._size -= len(self.lines[index].text)
            index += 1
        del self.lines[:index]
        self.dropped += index

    def texts(self) -> Iterator[str]:
        """The lines without renditions, with continued lines joined."""
        whole: list[str] = []
        for line in self.lines:
            if not line.continued and whole:
                yield "".join(whole)
                whole = []
            whole.append(line.text)
        if whole:
            yield "".join(whole)

    def _show(self) -> None:
        """Store the last line in its present state among the lines."""
        if not self._length:
            return
        if self._pieces:
            del self.lines[-self._pieces :]
        pieces = _cut(self._runs) if self._length > LONGEST else [tuple(self._runs)]
        self.lines += [TextLine(runs, self._continued or number > 0) for number, runs in enumerate(pieces)]
        self._pieces = len(pieces)
        if self._pieces > _MOST_PIECES:
            # An endless line must neither be cut up repeatedly nor be stored regardless of the limit.
            self._runs, self._pieces, self._continued = list(pieces[-1]), 1, True
            self._length = len(self.lines[-1].text)


class Output(OutputLines):
    """The output stream of a command. `size` is its length in bytes of UTF-8."""

    def __init__(self, limit: int | None = None) -> None:
        super().__init__(limit)
        self.size = 0
        self._rendition = PLAIN
        self._pending = ""
        self._returned = False

    def feed(self, text: str) -> None:
        """Append the next piece, which may end within a control sequence."""
        self.size += len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
        text = _BROKEN_OFF.sub("", self._pending + text)
        held = _UNFINISHED.search(text)
        self._pending = held[0] if held else ""
        self._take(text[: held.start()] if held else text)

    def close(self) -> None:
        """End the stream."""
        rest, self._pending = self._pending, ""
        self._take(rest.removesuffix("\r"))

    def _take(self, text: str) -> None:
        if not text:
            return
        first, *others = text.replace("\r\n", "\n").split("\n")
        self._go_on(first, ended=bool(others))
        if others:
            self.end_line()
            self.extend(map(self._whole_line, others[:-1]))
            self._go_on(others[-1], ended=False)
        self.trim()

    def _go_on(self, text: str, *, ended: bool) -> None:
        """Append to the last line; a carriage return restarts it once more text follows."""
        for number, part in enumerate(text.split("\r")):
            self._returned = self._returned or number > 0
            runs = self._renditions(part)
            if runs and self._returned:
                self.clear_line()
                self._returned = False
            self.append(runs)
        if ended:
            self._returned = False

    def _whole_line(self, text: str) -> tuple[Run, ...]:
        if not _ACTED_ON.search(text):
            text = _on_one_line(text)
            text = text.expandtabs(_TAB) if "\t" in text else text
            return ((text, self._rendition),) if text else ()
        runs: list[Run] = []
        for part in text.split("\r"):
            runs = self._renditions(part) or runs
        if "\t" not in text:
            return tuple(runs)
        line = OutputLines()
        line.append(runs)
        return tuple(run for piece in line.lines for run in piece.runs)

    def _renditions(self, text: str) -> list[Run]:
        """The runs of a part of a line; the effect of its sequences persists after it."""
        if "\x1b" not in text:
            cleaned = _on_one_line(text)
            return [(cleaned, self._rendition)] if cleaned else []
        runs: list[Run] = []
        for number, part in enumerate(_SGR.split(text)):
            if number % 2:
                self._rendition = rendition_after(self._rendition, part)
            elif cleaned := _on_one_line(part):
                if runs and runs[-1][1] == self._rendition:
                    cleaned = runs.pop()[0] + cleaned
                runs.append((cleaned, self._rendition))
        return runs


def _on_one_line(text: str) -> str:
    """Clean `text`; within a line, separators that are newlines elsewhere become spaces."""
    cleaned = clean(text)
    return cleaned.replace("\n", " ") if "\n" in cleaned else cleaned


def _cut(runs: Iterable[Run]) -> list[tuple[Run, ...]]:
    """Split runs into lines of at most `LONGEST` characters."""
    lines: list[list[Run]] = [[]]
    room = LONGEST
    for text, rendition in runs:
        while text:
            if not room:
                lines.append([])
                room = LONGEST
            lines[-1].append((text[:room], rendition))
            room, text = room - len(text[:room]), text[room:]
    return [tuple(line) for line in lines]

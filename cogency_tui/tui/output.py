"""What a command writes, as lines: its colours kept as roles of our themes, everything else stripped.

Of all that a terminal would act on, three things are understood: SGR (colour, bold, underline …), a carriage
return (the line begins again, as progress bars do it), and newlines. Memory is bounded by `limit`: lines that
no longer fit are dropped from the beginning, and counted. However the stream was cut, the lines are the same.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from cogency_tui.text import clean
from cogency_tui.tui.renditions import PLAIN, Rendition, rendition_after

LONGEST = 4000
"""Characters of one line; a longer one is kept as several, each going on where the one before it ended."""

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
    """Runs of text in one rendition each; `continued`: no newline stands before it."""

    runs: tuple[Run, ...]
    continued: bool = False

    @property
    def text(self) -> str:
        runs = self.runs
        return runs[0][0] if len(runs) == 1 else "".join([text for text, _rendition in runs])


class Lines:
    """Lines that are appended to; the last one may still grow. `dropped` are gone from the beginning."""

    def __init__(self, limit: int | None = None) -> None:
        self.lines: list[TextLine] = []
        self.dropped = 0
        self._limit = limit
        self._size = 0
        self._runs: list[Run] = []
        """The last line, as far as it has come; it is among the lines once there is anything in it."""
        self._length = 0
        self._pieces = 0
        """As how many lines it is kept."""
        self._continued = False

    @property
    def total(self) -> int:
        """How many lines there were, those that were dropped among them."""
        return self.dropped + len(self.lines)

    def write(self, text: str) -> None:
        """Append `text`, which is clean, and may have newlines."""
        for number, line in enumerate(text.split("\n")):
            if number:
                self.end_line()
            self.append([(line, PLAIN)])
        self.trim()

    def append(self, runs: Iterable[Run]) -> None:
        """Go on with the last line."""
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
        """What comes next is on a line of its own."""
        if not self._pieces:
            self.lines.append(TextLine(()))
        self._runs, self._length, self._pieces, self._continued = [], 0, 0, False

    def clear_line(self) -> None:
        """What comes next stands in the place of the line that was begun."""
        self._size -= self._length
        if self._pieces:
            del self.lines[-self._pieces :]
        self._runs, self._length, self._pieces = [], 0, 0

    def extend(self, lines: Iterable[tuple[Run, ...]]) -> None:
        """Append whole lines, after one that has ended."""
        for runs in lines:
            length = sum([len(text) for text, _rendition in runs])
            if length > LONGEST:
                self.append(runs)
                self.end_line()
            else:
                self.lines.append(TextLine(runs))
                self._size += length

    def trim(self) -> None:
        """Drop from the beginning what is over the limit by half: seldom, and much at once."""
        if self._limit is None or self._size <= self._limit * 3 // 2:
            return
        index = 0
        while self._size > self._limit and index < len(self.lines) - max(1, self._pieces):
            self._size -= len(self.lines[index].text)
            index += 1
        del self.lines[:index]
        self.dropped += index

    def texts(self) -> Iterator[str]:
        """The lines without their renditions, joined where one goes on in the next."""
        whole: list[str] = []
        for line in self.lines:
            if not line.continued and whole:
                yield "".join(whole)
                whole = []
            whole.append(line.text)
        if whole:
            yield "".join(whole)

    def _show(self) -> None:
        """Have the last line among the lines, as it is now."""
        if not self._length:
            return
        if self._pieces:
            del self.lines[-self._pieces :]
        pieces = _cut(self._runs) if self._length > LONGEST else [tuple(self._runs)]
        self.lines += [TextLine(runs, self._continued or number > 0) for number, runs in enumerate(pieces)]
        self._pieces = len(pieces)
        if self._pieces > _MOST_PIECES:
            # A line that never ends must not be cut up again and again, nor be kept whatever the limit.
            self._runs, self._pieces, self._continued = list(pieces[-1]), 1, True
            self._length = len(self.lines[-1].text)


class Output(Lines):
    """A stream of what a command writes. `size` counts the bytes of it as UTF-8."""

    def __init__(self, limit: int | None = None) -> None:
        super().__init__(limit)
        self.size = 0
        self._rendition = PLAIN
        self._pending = ""
        self._returned = False

    def feed(self, text: str) -> None:
        """Take the next piece, which may end within a control sequence."""
        self.size += len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
        text = _BROKEN_OFF.sub("", self._pending + text)
        held = _UNFINISHED.search(text)
        self._pending = held[0] if held else ""
        self._take(text[: held.start()] if held else text)

    def close(self) -> None:
        """Nothing more comes."""
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
        """Go on with the last line; each carriage return begins it again, once something follows."""
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
        line = Lines()
        line.append(runs)
        return tuple(run for piece in line.lines for run in piece.runs)

    def _renditions(self, text: str) -> list[Run]:
        """The runs of a part of a line; what its sequences say holds for what comes after it as well."""
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
    """`text` cleaned; separators that are newlines elsewhere are none within a line."""
    cleaned = clean(text)
    return cleaned.replace("\n", " ") if "\n" in cleaned else cleaned


def _cut(runs: Iterable[Run]) -> list[tuple[Run, ...]]:
    """Runs as lines of at most `LONGEST` characters."""
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

"""Lines of styled segments: measured in cells, wrapped, padded, and made into strips once.

A `Line` never changes after it has been returned. It records how it joins the line above (by a newline, or
by the space or nothing at which wrapping broke the text), so that a copy is the text as written, not as
wrapped.

Invariant: every strip is disarmed before it reaches the terminal, whatever its source. Texts are cleaned or
revealed where they enter the program; this is the last guard for those that were missed. Our own strips pass
`disarmed`, those of Textual's widgets the `TerminalGuard`.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from rich.cells import split_graphemes
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter
from textual.strip import Strip

from cogency_tui.safe_text import disarm, separate
from cogency_tui.tui.kit.cell_text import cells


def disarmed(segments: Iterable[Segment]) -> list[Segment]:
    """`segments` without anything that a terminal would act on."""
    return [
        segment if (text := disarm(segment.text)) == segment.text else Segment(text, segment.style)
        for segment in segments
    ]


class TerminalGuard(LineFilter):
    """Disarms the strips of Textual's widgets, and preserves their width."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        del background
        left = disarmed(segments)
        if left == segments:
            return segments
        return Segment.adjust_line_length(left, Segment.get_line_length(segments))


_TAB = 4
_TOKEN = re.compile(r"\n| +|[^ \n]+")

Segments = Sequence[Segment]


def width_of(segments: Iterable[Segment]) -> int:
    """Width of `segments` in cells."""
    return sum(cells(segment.text) for segment in segments)


class Line:
    """One line. `joint` separates it from the line above when copied; `lead` counts the characters of
    decoration at its start, which are not copied, and `tail` those at its end, which are no text either.
    """

    __slots__ = ("_strip", "joint", "lead", "segments", "tail")

    def __init__(self, segments: Segments, joint: str = "\n", lead: int = 0, tail: int = 0) -> None:
        self.segments = segments
        self.joint = joint
        self.lead = lead
        self.tail = tail
        self._strip: Strip | None = None

    @property
    def text(self) -> str:
        text = "".join(segment.text for segment in self.segments)
        return text[: len(text) - self.tail]

    def strip(self, width: int, ground: Style, margin: int = 0) -> Strip:
        """This line as a strip of exactly `width` cells on `ground`, after `margin` blank cells."""
        if not self.segments:
            return Strip.blank(width, ground)
        strip = self._strip
        if strip is None or strip.cell_length != width:
            segments = disarmed(self.segments)
            if margin:
                segments.insert(0, Segment(" " * margin, ground))
            strip = self._strip = Strip(segments).simplify().adjust_cell_length(width, ground)
        return strip

    def indented(self, head: Segment) -> "Line":
        """This line after `head`, which is decoration."""
        return Line([head, *self.segments], self.joint, self.lead + len(head.text), self.tail)


BLANK = Line([])


def wrap(segments: Iterable[Segment], width: int) -> list[Line]:
    """Wrap `segments` to `width` cells at spaces, or inside words that are longer.

    Newlines break. Returns at least one line.
    """
    wrapping = _Wrapping(max(1, width))
    for text, style, size, wide in _pieces(segments):
        if text == "\n":
            wrapping.break_line("\n")
        elif text[0] == " ":
            wrapping.space(text, style)
        else:
            wrapping.word(text, style, size, wide=wide)
    return wrapping.close()


def chop(segments: Iterable[Segment], width: int) -> list[Line]:
    """Cut `segments`, one line of code, to lines of at most `width` cells; spaces are preserved."""
    lines: list[Line] = []
    row: list[Segment] = []
    room = width
    for segment in segments:
        text, style = separate(segment.text), segment.style
        start = 0
        for cut in _cuts(text, room, width):
            if cut > start:
                row.append(Segment(text[start:cut], style))
            lines.append(Line(row, "" if lines else "\n"))
            row, room, start = [], width, cut
        if start < len(text):
            row.append(Segment(text[start:], style))
            room -= cells(row[-1].text)
    if row or not lines:
        lines.append(Line(row, "" if lines else "\n"))
    return lines


CONTINUATION = "↪"
"""Marks the continuation of a line of code or output that was folded."""


_TO_SIGN = re.compile(r".*[^\w\s]")


def folds(text: str, width: int, following: int = 0) -> list[tuple[int, int]]:
    """Where to fold `text`, one line of code or output, into lines: the start and the end of each.

    A line ends in its second half: at a space, which belongs to neither line, or else after a sign that is no
    part of a word; without either it ends at any character. Spaces at the end of the text are left out. The
    first has `width` cells, the others `following`, which is more than half of that (0: as many).
    """
    text = separate(text).rstrip(" ")
    width, following = max(1, width), max(1, following or width)
    if not text.isascii():
        return _folds_of_graphemes(text, width, following)
    spans: list[tuple[int, int]] = []
    start, room = 0, width
    while len(text) - start > room:
        space = text.rfind(" ", start, start + room + 1)
        space = start + len(text[start:space].rstrip(" ")) if space >= 0 else -1
        end = space if space > start + room // 2 else _after_sign(text, start + room // 2, start + room)
        spans.append((start, end))
        start, room = end + (end == space), following
    return [*spans, (start, len(text))]


def _after_sign(text: str, first: int, last: int) -> int:
    """The end of the last sign between `first` and `last` that is no part of a word; `last` without one."""
    found = _TO_SIGN.match(text, first, last)
    return found.end() if found else last


def _folds_of_graphemes(text: str, width: int, following: int) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    start, used, room, space = 0, 0, width, -1
    for place, _end, size in split_graphemes(text)[0]:
        blank = text[place] == " "
        while used + size > room and place > start:
            middle = start + (place - start) // 2
            at_space = blank or space > middle
            end = place if blank else space if at_space else _after_sign(text, middle, place)
            spans.append((start, end))
            start, room, space = end + at_space, following, -1
            used, size = cells(text[start:place]), 0 if blank else size
        if blank:
            space = place
        used += size
    return [*spans, (start, len(text))]


def fold(segments: Segments, width: int, following: int = 0) -> list[Line]:
    """`segments`, one line of code or output, as lines (see `folds`)."""
    pieces = [Segment(separate(segment.text), segment.style) for segment in segments]
    text = "".join(piece.text for piece in pieces)
    if cells(text) <= width:
        return [Line(pieces)]
    lines: list[Line] = []
    before = 0
    for start, end in folds(text, width, following):
        lines.append(Line(_part(pieces, start, end), text[before:start] if lines else "\n"))
        before = end
    return lines


def _part(segments: Segments, start: int, end: int) -> list[Segment]:
    """The segments of the characters from `start` to `end`."""
    found: list[Segment] = []
    place = 0
    for text, style, _control in segments:
        first, last = max(start, place), min(end, place + len(text))
        if first < last:
            found.append(Segment(text[first - place : last - place], style))
        place += len(text)
    return found


def _cuts(text: str, room: int, width: int) -> Sequence[int]:
    """The line ends within `text`, if the first line has `room` cells left and the others have `width`."""
    if text.isascii():
        return range(max(0, room), len(text), width)
    cuts: list[int] = []
    for start, _end, size in split_graphemes(text)[0]:
        if size > room and room < width:
            cuts.append(start)
            room = width
        room -= size
    return cuts


def _pieces(segments: Iterable[Segment]) -> Iterator[tuple[str, Style | None, int, bool]]:
    """Yield newlines, runs of spaces and parts of words with their sizes; wide characters one by one."""
    for segment in segments:
        text, style = separate(segment.text.expandtabs(_TAB)), segment.style
        if text.isascii():
            for token in _TOKEN.findall(text):
                yield token, style, len(token), False
            continue
        for token in _TOKEN.findall(text):
            size = cells(token)
            if size <= len(token):
                yield token, style, size, False
                continue
            for start, end, span in split_graphemes(token)[0]:
                yield token[start:end], style, span, span == 2


class _Wrapping:
    """The finished lines, the current line, and the pending word, which may be incomplete."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.lines: list[Line] = []
        self.row: list[Segment] = []
        self.used = 0
        self.joint = "\n"
        self.gap: Segment | None = None
        self.pending: list[Segment] = []
        self.pending_size = 0

    def space(self, text: str, style: Style | None) -> None:
        self._place()
        if self.row or self.joint == "\n":
            self.gap = Segment((self.gap.text if self.gap else "") + text, style)

    def word(self, text: str, style: Style | None, size: int, *, wide: bool) -> None:
        if wide:
            self._place()
        self.pending.append(Segment(text, style))
        self.pending_size += size
        if wide:
            self._place()

    def break_line(self, joint: str) -> None:
        self._place()
        self._end_row(joint)

    def close(self) -> list[Line]:
        self._place()
        self._end_row("\n")
        return self.lines

    def _place(self) -> None:
        """Put the pending word on this line if it fits, else on the next."""
        if not self.pending:
            return
        gap = cells(self.gap.text) if self.gap else 0
        if self.used + gap + self.pending_size <= self.width:
            if self.gap:
                self.row.append(self.gap)
            self.row += self.pending
            self.used += gap + self.pending_size
        elif self.pending_size <= self.width:
            joint = " " if self.gap else ""
            self.gap = None
            if self.row:
                self._end_row(joint)
            self.row, self.used = list(self.pending), self.pending_size
        else:
            self._place_long()
        self.gap = None
        self.pending, self.pending_size = [], 0

    def _place_long(self) -> None:
        if self.row:
            joint = " " if self.gap else ""
            self.gap = None
            self._end_row(joint)
        *whole, last = fold(self.pending, self.width)
        for index, line in enumerate(whole):
            self.lines.append(Line(line.segments, self.joint if not index else ""))
            self.joint = ""
        self.row, self.used = list(last.segments), width_of(last.segments)

    def _end_row(self, joint: str) -> None:
        self.lines.append(Line(self.row, self.joint))
        self.row, self.used, self.gap, self.joint = [], 0, None, joint

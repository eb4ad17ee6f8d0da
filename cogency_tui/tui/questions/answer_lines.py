"""The answers to a question, in a row, or in as few rows as they need: each a key and its label."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from rich.segment import Segment
from textual import events
from textual.message import Message

from cogency_tui.tui.kit.bar import Bar
from cogency_tui.tui.kit.cell_text import cells, fit
from cogency_tui.tui.kit.line_view import LineView
from cogency_tui.tui.kit.lines import Line
from cogency_tui.tui.kit.number_format import plural
from cogency_tui.tui.questions.question_lines import SHORTEST, STOP, TIGHT_GAP, Reply, draw_reaches

_GAP = 3
_ELLIPSIS = Reply("…", "", "")
_LAYOUTS = ((0, 2), (1, 2), (1, 3))
"""Levels of labels, each with the rows that the answers may take, in the order in which they are tried. The
shortest labels, without how far an answer reaches, are for where none fits."""


class _Span(NamedTuple):
    """The cells of an answer in its row."""

    start: int
    end: int
    answer: Reply
    label: str


class Answers(LineView):
    """Offers the answers by key, by selection and by click. While `deaf` they are dim: keys are ignored.

    A note may be behind them: a remark on the last key, or else a hint, the key that makes them be accepted.
    It covers the last ones if need be, but never the way out; a way, the key that leads on, covers none.

    In a `tight` window they take one row if they can. How far they reach is above them if `spells_reach`:
    their shortest labels leave it out.
    """

    ALLOW_SELECT = False

    class Chosen(Message):
        """The answer with this key and action was clicked."""

        def __init__(self, key: str, action: str) -> None:
            self.key = key
            self.action = action
            super().__init__()

    def __init__(self, answers: Sequence[Reply], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.can_focus = False
        self.deaf = False
        self.tight = False
        self.spells_reach = False
        self._hint: Reply | None = None
        self._remark: Reply | None = None
        self._way: Reply | None = None
        self._answers = answers
        self._selected: str | None = None

    @property
    def selected(self) -> Reply | None:
        """The answer that Enter gives; none until one is selected."""
        return next((each for each in self._answers if each.action == self._selected), None)

    def offer(self, answers: Sequence[Reply]) -> None:
        """Offer other answers."""
        self._answers = answers
        self.refresh()

    def accept_keys(self, *, deaf: bool) -> None:
        """Show whether keys are accepted."""
        if deaf != self.deaf:
            self.deaf = deaf
            self.refresh()

    @property
    def hint(self) -> Reply | None:
        """What makes keys be accepted, if it is shown: the answers beside it are not to be given yet."""
        return self._hint

    def show_hint(self, hint: Reply | None) -> None:
        """Show what makes keys be accepted."""
        if hint != self._hint:
            self._hint = hint
            self.refresh()

    def show_remark(self, remark: str) -> None:
        """Show why the last key did nothing; empty for no remark."""
        reply = Reply("", remark, "") if remark else None
        if reply != self._remark or self._way is not None:
            self._remark, self._way = reply, None
            self.refresh()

    def show_way(self, way: Reply) -> None:
        """Show a key that leads on after one that did nothing, where there is room beside all answers."""
        self._way = way
        self.refresh()

    def select(self, step: int) -> None:
        """Select the next answer, or the one before; the first if none is selected."""
        chosen, answers = self.selected, [each for each in self._answers if each.key]
        at = answers.index(chosen) + step if chosen else 0 if step > 0 else -1
        self._selected = answers[at % len(answers)].action
        self.refresh()

    def unselect(self) -> None:
        """Select no answer."""
        if self._selected is not None:
            self._selected = None
            self.refresh()

    def rows(self, width: int) -> int:
        """The number of rows in `width` cells."""
        return len(self._reaches_at(width)) + len(self._laid(width))

    def _reaches_at(self, width: int) -> list[Line]:
        style = self.theme_styles("dim", "raised")
        return draw_reaches(self._answers, width, style) if self.spells_reach else []

    @property
    def _reaches(self) -> list[Line]:
        """How far the answers reach, where that leaves room for them."""
        width = self.text_width
        return self._reaches_at(width) if self.rows(width) <= self.size.height else []

    @property
    def _out(self) -> Reply | None:
        """The answer that leads out of the question."""
        return next((each for each in self._answers if each.action == STOP.action), None)

    def _laid(self, width: int) -> "list[list[_Span]]":
        answers = self._answers
        return _rows_at(SHORTEST, answers, width, TIGHT_GAP) if self.tight else _lay(answers, width)[1]

    def _row_at(self, y: int) -> "Sequence[_Span]":
        """The answers in a row that is visible, and what is behind them."""
        rows, width, note = self._laid(self.text_width), self.text_width, self._remark or self._hint
        if not 0 <= y < len(rows):
            return ()
        if y + 1 < min(self.size.height - len(self._reaches), len(rows)):
            return rows[y]
        if note is not None:
            return _with_note(rows[y], note, width, self._out)
        if y + 1 < len(rows):
            return _with_ellipsis(rows[y], width)
        noted = _with_note(rows[y], self._way, width, self._out) if self._way is not None else []
        return noted if len(noted) > len(rows[y]) else rows[y]

    def surface_at(self, y: int) -> str:
        return "raised"

    def line_at(self, y: int) -> Line | None:
        reaches = self._reaches
        return reaches[y] if y < len(reaches) else Line(list(self._draw(self._row_at(y - len(reaches)))))

    def _draw(self, row: "Sequence[_Span]") -> Iterator[Segment]:
        styles = self.theme_styles
        at = 0
        for start, end, answer, label in row:
            yield Segment(" " * (start - at), styles("text", "raised"))
            role, mark = self._looks_of(answer)
            yield Segment(answer.head[:-1], styles(role, "raised", mark))
            label = answer.head[-1:] + label
            yield Segment(label, styles(role, "raised", mark if "reverse" in mark else ""))
            at = end

    def _looks_of(self, answer: Reply) -> tuple[str, str]:
        """The role and the attributes of an answer's key."""
        if answer is self._remark:
            return "edit", ""
        if answer is self._way:
            return "text", "bold"
        if answer is self._hint:
            return "text", "bold"
        if not answer.key or self.deaf or self._hint is not None:
            return "dim", ""
        return "text", "bold reverse" if answer.action == self._selected else "bold"

    def on_resize(self) -> None:
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        for start, end, answer, _label in self._row_at(event.y - len(self._reaches)):
            if answer.action and start <= event.x - self.MARGIN < end:
                self.post_message(self.Chosen(answer.key, answer.action))


def rows_of(answers: Sequence[Reply], width: int) -> tuple[int, bool]:
    """The number of rows that answers take in `width` cells, and whether their labels there leave out how far
    they reach.
    """
    level, rows = _lay(answers, width)
    return len(rows), level == SHORTEST


def are_in_full(answers: Sequence[Reply], width: int) -> bool:
    """Return whether the longest labels of answers fit into their rows of `width` cells."""
    return _lay(answers, width)[0] == 0


def _lay(answers: Sequence[Reply], width: int) -> tuple[int, list[list[_Span]]]:
    """The rows of answers with the longest labels that fit, and the level of these labels."""
    for level, most in _LAYOUTS:
        rows = _rows_at(level, answers, width, _GAP)
        if len(rows) <= most and all(
            each.label == each.answer.labelled(level) for row in rows for each in row
        ):
            return level, rows
    return SHORTEST, _rows_at(SHORTEST, answers, width, _GAP)


def _with_note(row: Sequence[_Span], note: Reply, width: int, out: Reply | None) -> list[_Span]:
    """A row with a note behind as many of its answers as leave room for that, and for the way `out`."""
    label = fit(note.label, max(1, width - cells(note.head)))
    noted = _put_behind(row, note, label, width)
    if out is None or any(span.answer is out for span in noted):
        return noted
    room = width - TIGHT_GAP - cells(note.head + label)
    if room < cells(out.head + out.label):
        return noted
    return _put_behind(_put_behind(row, out, out.label, room), note, label, width)


def _put_behind(row: Sequence[_Span], answer: Reply, label: str, width: int) -> list[_Span]:
    """A row with an answer behind as many of its others as leave room for that."""
    size = cells(answer.head + label)
    kept = [span for span in row if span.answer is not answer and span.end + TIGHT_GAP + size <= width]
    start = min(kept[-1].end + _GAP, width - size) if kept else 0
    return [*kept, _Span(start, start + size, answer, label)]


def _with_ellipsis(row: Sequence[_Span], width: int) -> list[_Span]:
    """A row after which there are more, in `width` cells."""
    kept = [span for span in row if span.end + 2 <= width]
    at = kept[-1].end + 1 if kept else 0
    return [*kept, _Span(at, at + 1, _ELLIPSIS, "")]


def _rows_at(level: int, answers: Sequence[Reply], width: int, gap: int) -> list[list[_Span]]:
    """The rows of answers with their labels at a level; one that is wider than a row is cut."""
    rows: list[list[_Span]] = [[]]
    at = 0
    for answer in answers:
        key = cells(answer.head)
        label = fit(answer.labelled(level), max(1, width - key))
        size = key + cells(label)
        if rows[-1] and at + gap + size > width:
            rows.append([])
        start = at + gap if rows[-1] else 0
        at = start + size
        rows[-1].append(_Span(start, at, answer, label))
    return rows


class MoreLine(Bar):
    """Shows how many lines of `body` are below its window, or above it at its end, and scrolls there on a
    click; once the title has scrolled away, shows that too."""

    SURFACE = "surface"

    class Pressed(Message):
        """The user asks to scroll by so many lines."""

        def __init__(self, lines: int) -> None:
            self.lines = lines
            super().__init__()

    def __init__(self, body: LineView, title: Callable[[], str], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._body = body
        self._title = title

    def on_mount(self) -> None:
        self.watch(self._body, "scroll_y", self._follow, init=False)

    def _follow(self) -> None:
        self.refresh()

    @property
    def _below(self) -> int:
        return self._body.virtual_size.height - self._body.scroll_offset.y - self._body.size.height

    def on_click(self) -> None:
        page = self._body.size.height
        self.post_message(self.Pressed(page if self._below > 0 else -page))

    def segments(self, width: int) -> list[Segment]:
        above, below = self._body.scroll_offset.y, self._below
        arrow, count = ("↓", below) if below > 0 else ("↑", above)
        text = fit(f"  {arrow} {plural(count, 'more line')}", width)
        title = fit(f" · {self._title()}", width - cells(text)) if above else ""
        return [Segment(text, self.theme_styles("accent")), Segment(title, self.theme_styles("dim"))]

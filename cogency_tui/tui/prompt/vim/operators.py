"""Operators: the span that one works on, and what it makes of it."""

from typing import NamedTuple

from cogency_tui.tui.prompt.vim.commands import Command
from cogency_tui.tui.prompt.vim.lines import (
    first_word,
    last_place,
    line_end,
    line_start,
    row_of,
    row_start,
    shift,
)
from cogency_tui.tui.prompt.vim.motions import Move, Origin, change_word, in_indent, move_of
from cogency_tui.tui.prompt.vim.replacement import Replacement
from cogency_tui.tui.prompt.vim.text_objects import TEXT_OBJECTS, Span


class Target(NamedTuple):
    """The span of an operator, and the place where the cursor is if nothing changes."""

    span: Span
    at: int


def target_of(command: Command, origin: Origin) -> Target | None:
    """What the operator of `command` works on; None if there is nothing."""
    if command.lines:
        span = _rows(origin.text, origin.at, command.times)
        return None if span is None else Target(span, origin.at)
    if command.object:
        return _object(command, origin)
    move = _move(command, origin)
    if move is None:
        return None
    span = _span_to(move, origin, command.operator)
    at = min(origin.at, move.to)
    return Target(span, at if span.lines else span.start)


def delete(text: str, span: Span) -> Replacement | None:
    """Remove a span; None where there is nothing to remove."""
    if not text or (span.start == span.end and not span.lines):
        return None
    start, end = _with_newline(text, span) if span.lines else (span.start, span.end)
    rest = text[:start] + text[end:]
    place = min(span.start, len(rest))
    at = first_word(rest, place) if span.lines else min(place, last_place(rest, place))
    return Replacement(start, end, "", at)


def change(span: Span) -> Replacement:
    """Remove a span for another text; of lines an empty one stays."""
    return Replacement(span.start, span.end, "", span.start)


def indent(text: str, span: Span, steps: int) -> Replacement:
    """Indent the lines of a span by `steps`, or unindent them."""
    start, end = line_start(text, span.start), line_end(text, max(span.start, span.end))
    lines = "\n".join(shift(line, steps) for line in text[start:end].split("\n"))
    return Replacement(start, end, lines, start + first_word(lines, 0))


def _rows(text: str, at: int, rows: int) -> Span | None:
    """`rows` lines from the cursor on; None if there are fewer and the cursor is in the last one."""
    row, last = row_of(text, at), text.count("\n")
    if rows > 1 and row == last:
        return None
    end = line_end(text, row_start(text, min(row + rows - 1, last)))
    return Span(line_start(text, at), end, lines=True)


def _object(command: Command, origin: Origin) -> Target | None:
    found = TEXT_OBJECTS[command.object](origin.text, origin.at, command.times)
    if found is None:
        return None
    return Target(_adjusted(origin.text, found, command.operator), found.start)


def _move(command: Command, origin: Origin) -> Move | None:
    if command.operator == "c" and command.motion in ("w", "W"):
        return change_word(origin, big=command.motion == "W")
    return move_of(command.motion, origin)


def _span_to(move: Move, origin: Origin, operator: str) -> Span:
    text = origin.text
    start, end = sorted((origin.at, move.to))
    if move.kind == "lines":
        return Span(line_start(text, start), line_end(text, end), lines=True)
    if move.kind == "inclusive":
        return _whole_lines(text, Span(start, min(end + 1, line_end(text, end))), operator)
    return _adjusted(text, Span(start, end), operator)


def _adjusted(text: str, span: Span, operator: str) -> Span:
    """End a span at the end of a line, not at the start of the next; from an indent it is linewise."""
    start, end = span.start, span.end
    if span.lines or "\n" not in text[start:end]:
        return span
    if end == line_start(text, end):
        end -= 1
        if in_indent(text, start):
            return Span(line_start(text, start), end, lines=True)
    return _whole_lines(text, Span(start, end), operator)


def _whole_lines(text: str, span: Span, operator: str) -> Span:
    """Delete whole lines where nothing but blanks would be left of several."""
    start, end = line_start(text, span.start), line_end(text, span.end)
    several = "\n" in text[span.start : span.end]
    blank = in_indent(text, span.start) and not text[span.end : end].strip(" \t")
    return Span(start, end, lines=True) if operator == "d" and several and blank else span


def _with_newline(text: str, span: Span) -> tuple[int, int]:
    """The range of lines with one of the newlines beside them."""
    if span.end < len(text):
        return span.start, span.end + 1
    return max(0, span.start - 1), span.end

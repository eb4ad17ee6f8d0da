"""Text objects: the word, string, block or paragraph around a place."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice, pairwise
from typing import NamedTuple, TypeAlias

from cogency_tui.tui.prompt.vim.lines import line_end, line_start, row_of, row_start
from cogency_tui.tui.prompt.vim.motions import ends_word, in_indent, kind_of, match_bracket

_KEYS = (("()", "()b"), ("[]", "[]"), ("{}", "{}B"), ("<>", "<>"))
_BRACKETS = {key: brackets for brackets, keys in _KEYS for key in keys}


class Span(NamedTuple):
    """A range of a text, without its `end`. Of `lines` it has the whole lines, without the last newline."""

    start: int
    end: int
    lines: bool = False


TextObject: TypeAlias = Callable[[str, int, int], Span | None]
"""The span of a number of objects around a place of a text."""


def _inner_word(text: str, at: int, times: int, *, big: bool) -> Span | None:
    """The run of equal characters at `at`, in its line, and those after it."""
    runs = [*_runs(text, at, big=big)]
    place = next((number for number, run in enumerate(runs) if run.start <= at < run.end), None)
    if place is None:
        return Span(at, at)
    last = place + times - 1
    return Span(runs[place].start, runs[last].end) if last < len(runs) else None


def _runs(text: str, at: int, *, big: bool) -> Iterator[Span]:
    """The runs of equal characters of the line of `at`."""
    start, end = line_start(text, at), line_end(text, at)
    while start < end:
        kind, stop = kind_of(text[start], big=big), start
        while stop < end and kind_of(text[stop], big=big) == kind:
            stop += 1
        yield Span(start, stop)
        start = stop


def _word_with_blanks(text: str, at: int, times: int, *, big: bool) -> Span | None:
    """Words with the blanks after them, or before them where there are none after or `at` is one."""
    runs = [*_runs(text, at, big=big)]
    place = next((number for number, run in enumerate(runs) if run.start <= at < run.end), None)
    if place is None or _is_blank(text, runs[place]):
        return _blanks_and_words(text, at if place is None else runs[place].start, times, big=big)
    after = place
    for _ in range(times):
        after += 1 + (after + 1 < len(runs) and _is_blank(text, runs[after + 1]))
    if after > len(runs):
        return None
    leads = not _is_blank(text, runs[after - 1]) and place > 1 and _is_blank(text, runs[place - 1])
    return Span(runs[place - leads].start, runs[after - 1].end)


def _blanks_and_words(text: str, start: int, times: int, *, big: bool) -> Span | None:
    """The text up to the end of the next words, also of the lines after."""
    ends = (place + 1 for place in range(start, len(text)) if ends_word(text, place, big=big))
    end = next(islice(ends, times - 1, None), None)
    return None if end is None else Span(start, end)


def _is_blank(text: str, run: Span) -> bool:
    return text[run.start] in " \t"


def _string(text: str, at: int, _times: int, *, quote: str, around: bool) -> Span | None:
    """The text between two quotes of the line: those around `at`, else the next ones."""
    start, end = line_start(text, at), line_end(text, at)
    quotes = [place for place in range(start, end) if text[place] == quote and not _escaped(text, place)]
    pair = _pair_around(quotes, at)
    if pair is None:
        return None
    first, last = pair
    if not around:
        return Span(first + 1, last)
    after = last + 1
    while after < end and text[after] in " \t":
        after += 1
    while after == last + 1 and first > start and text[first - 1] in " \t":
        first -= 1
    return Span(first, after)


def _escaped(text: str, at: int) -> bool:
    before = text[line_start(text, at) : at]
    return bool((len(before) - len(before.rstrip("\\"))) % 2)


def _pair_around(quotes: list[int], at: int) -> tuple[int, int] | None:
    """The two quotes around `at`; at a quote the pairs count from the beginning of the line."""
    pairs = [*zip(quotes[::2], quotes[1::2], strict=False)] if at in quotes else [*pairwise(quotes)]
    return next((pair for pair in pairs if pair[0] <= at <= pair[1] or at < pair[0]), None)


def _block(text: str, at: int, times: int, *, brackets: str, around: bool) -> Span | None:
    """The text between brackets; inside them without the line breaks next to them."""
    first = _enclosing(text, at, times, brackets)
    last = None if first is None else _match(text, first, brackets)
    if first is None or last is None:
        return None
    if around:
        return Span(first, last + 1)
    first += 1
    if text[first] == "\n" and first < last:
        first += 1
    if in_indent(text, last) and line_start(text, last) >= first:
        last = line_start(text, last)
    return Span(first, max(first, last))


def _enclosing(text: str, at: int, times: int, brackets: str) -> int | None:
    """The opening bracket around `at`, with `times - 1` others inside it; of none the next bracket."""
    opening, closing = brackets
    depth = times - (text[at : at + 1] == closing)
    for place in range(min(at, len(text) - 1), -1, -1):
        depth += (text[place] == closing) - (text[place] == opening)
        if not depth:
            return place
    after = next((place for place in range(at, len(text)) if text[place] in brackets), None)
    return after if after is not None and times == 1 and text[after] == opening else None


def _match(text: str, first: int, brackets: str) -> int | None:
    if brackets == "<>":
        depth = 0
        for place in range(first, len(text)):
            depth += (text[place] == "<") - (text[place] == ">")
            if not depth:
                return place
        return None
    return match_bracket(text, first)


def _paragraph(text: str, at: int, times: int, *, around: bool) -> Span | None:
    """A run of lines with text, or of blank ones; around it with the run after, or before it."""
    runs = [*_line_runs(text)]
    row = row_of(text, at)
    place = next(number for number, run in enumerate(runs) if run[0] <= row < run[1])
    last = place + (2 * times - 1 if around else times - 1)
    if last == len(runs) and around and text.split("\n")[row].strip(" \t"):
        place, last = max(0, place - 1), last - 1
    if last >= len(runs):
        return None
    return Span(
        row_start(text, runs[place][0]), line_end(text, row_start(text, runs[last][1] - 1)), lines=True
    )


def _line_runs(text: str) -> Iterator[tuple[int, int]]:
    """The first row and the row after the last of each run of lines with text, and of blank lines."""
    rows = [bool(line.strip(" \t")) for line in text.split("\n")]
    first = 0
    for row in range(1, len(rows) + 1):
        if row == len(rows) or rows[row] != rows[first]:
            yield first, row
            first = row


def _objects() -> Iterator[tuple[str, TextObject]]:
    for key, big in (("w", False), ("W", True)):
        yield f"i{key}", partial(_inner_word, big=big)
        yield f"a{key}", partial(_word_with_blanks, big=big)
    for way, around in (("i", False), ("a", True)):
        yield f"{way}p", partial(_paragraph, around=around)
        yield from ((f"{way}{quote}", partial(_string, quote=quote, around=around)) for quote in "\"'`")
        for key, brackets in _BRACKETS.items():
            yield f"{way}{key}", partial(_block, brackets=brackets, around=around)


TEXT_OBJECTS: dict[str, TextObject] = dict(_objects())
"""The text objects, by their keys."""

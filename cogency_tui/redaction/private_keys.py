"""Private keys in PEM, and parts of them.

A part without its first and last line counts, too: lines of the width of such a key that belong to no
certificate.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator

from cogency_tui.redaction.secret_spans import MOST_HELD, WIDEST, Span, lines_of

_PRIVATE = r"(?:[A-Z0-9]{1,16} ){0,4}PRIVATE KEY(?: BLOCK)?-----"
PEM_BEGIN = "-----BEGIN "
_PEM = re.compile(rf"{PEM_BEGIN}{_PRIVATE}((?:(?!-----)[\s\S]){{0,{MOST_HELD}}})(-----END {_PRIVATE})?")
PEM_END = re.compile(rf"-----END {_PRIVATE}")
PEM_MARK = re.compile(r"-----(BEGIN|END) ((?:[A-Z0-9]{1,16} ){0,4}[A-Z0-9]{1,16})-----")
_KEY_MATERIAL = re.compile(r"[A-Za-z0-9+/=]{24}")
_LAYOUT = re.compile(
    r"(?:[^\s:]{1,200}:(?:\d{1,9}:)?|[^\s:]{1,200}-\d{1,9}-|[ \t]{0,16}\d{1,9}(?:\t|[:|-] ?))?"
    r"[ \t>|+#/*\"'-]{0,8}"
)
"""Margins that programs, and our own results, put before a line of a file."""

_KEY_LINE = re.compile(r"[ \t\d|:>+-]{0,24}(?:[A-Za-z0-9+/=]{16,}|)[ \t\r]*")
_KEY_START = re.compile(r"(?:\\[nr]|[ \t\d|:>+-]){0,24}(?:[A-Za-z0-9+/=]|\\[nr]){24,}")
"""A key within a line, as in a string."""

_BODY = r"([A-Za-z0-9+/]{64}(?:[A-Za-z0-9+/]{6})?)"
_TRAIL = r"(?:\\n)?[\"']?[ \t]{0,4}[+,;$\\]?[ \t\r]{0,8}"
_FULL_LINE = re.compile(rf"(?:\A\+?|[^A-Za-z0-9+/]){_BODY}{_TRAIL}\Z")
_LINE_END = re.compile(rf"(?:\A|[^A-Za-z0-9+/])([A-Za-z0-9+/]{{16,70}}){_TRAIL}\Z")
_JOINED_LINE = re.compile(rf"(?:\A|(?<=\\n)|(?<=[\s\"'=:])){_BODY}(?=\\[rn]|[ \"']|\Z)")
"""A whole line of a private key: PEM has 64 columns, OpenSSH 70."""

_GAP = re.compile(rf"(?:{_TRAIL}\n(?:{_LAYOUT.pattern})|(?:\\r)?\\n| )")
_WIDTHS = (64, 70)
_WIDEST_BODY = 80
_FEWEST_LINES = 2
_FEWEST_CHARACTERS = 24
_LEAST_OF_A_LINE = 16
_BACKWARDS = re.compile(r"[A-Za-z0-9+/=\\]*")
_QUOTED_REST = re.compile(r"(?:\\r)?\\n([A-Za-z0-9+/]{16,70}={0,2})")
_PARTIAL = re.compile(rf"([A-Za-z0-9+/]{{1,70}}={{0,2}}){_TRAIL}")


def whole_private_keys(text: str) -> Iterator[Span]:
    """Yield the text between the first and the last line of private keys."""
    for found in _PEM.finditer(text):
        start, end = found.span(1)
        if not _KEY_MATERIAL.search(text, start, end):
            # Code that mentions keys.
            continue
        for first, last in lines_of(text, start, end):
            if found[2] is None and not _KEY_LINE.fullmatch(text, first, last):
                if cut := _KEY_START.match(text, first, last):
                    yield cut.span()
                break
            if part := _without_layout(text, first, last, whole=first == start):
                yield part


def parts_of_private_keys(text: str, *, public: bool) -> Iterator[Span]:
    """Yield the lines of private keys without their first or last line."""
    marks = [(found.start(), opens_public(found[1], found[2]), found[1]) for found in PEM_MARK.finditer(text)]
    starts = [start for start, _public, _which in marks]

    def is_public(place: int) -> bool:
        index = bisect_right(starts, place)
        if index:
            return marks[index - 1][1]
        return public or (bool(marks) and marks[0][2] == "END" and not PEM_END.match(text, marks[0][0]))

    for run in _runs(sorted({*_full_lines(text)}), text):
        if (
            len(run) >= _FEWEST_LINES
            and not is_public(run[0][0])
            and all(_is_dense(text, one) for one in run)
        ):
            yield from (*_beside(text, run), *run)
    for end in PEM_END.finditer(text):
        yield from _before_end(text, end.start())


def opens_public(which: str, label: str) -> bool:
    """Return whether the text behind a PEM mark is public."""
    return which == "BEGIN" and "PRIVATE KEY" not in label


def undecided_lines(text: str) -> int:
    """Return the start of final lines that may be of a private key, unless that is decided already."""
    start = place = text.rfind("\n") + 1
    last = _key_part(text, start, len(text))
    length = last[1] - last[0] if last else 0
    full = 0
    while place > 0:
        above = text.rfind("\n", 0, place - 1) + 1
        part = _key_part(text, above, place - 1)
        line = part or _line_end(text, above, place - 1)
        if line is None or not _is_dense(text, line):
            break
        place = above
        if part is None:
            break
        full += part[1] - part[0] in _WIDTHS
    if full < _FEWEST_LINES and place < start:
        return place
    return start if length >= (1 if full else _LEAST_OF_A_LINE) else len(text)


def _without_layout(text: str, start: int, end: int, *, whole: bool = False) -> Span | None:
    """Return the part of a line that belongs to a key; None where there is none."""
    layout = None if whole else _LAYOUT.match(text, start, end)
    start = layout.end() if layout else start
    end = start + len(text[start:end].rstrip())
    return (start, end) if start < end else None


def _full_lines(text: str) -> Iterator[Span]:
    start = 0
    for line in text.split("\n"):
        length = len(line)
        if length >= _WIDTHS[0]:
            found = _FULL_LINE.search(line, max(0, length - _WIDEST_BODY))
            if found and _LAYOUT.fullmatch(line, 0, found.start(1)):
                yield start + found.start(1), start + found.end(1)
            if length > 2 * _WIDTHS[0]:
                joined = _JOINED_LINE.finditer(line)
                yield from ((start + one.start(1), start + one.end(1)) for one in joined)
        start += length + 1


def _runs(lines: Iterable[Span], text: str) -> Iterator[list[Span]]:
    """Yield runs of consecutive lines."""
    run: list[Span] = []
    for line in lines:
        if run and not _GAP.fullmatch(text, run[-1][1], line[0]):
            yield run
            run = []
        run.append(line)
    if run:
        yield run


def _is_dense(text: str, span: Span) -> bool:
    """Return whether it contains characters of all kinds, as random bytes do."""
    part = text[slice(*span)]
    return not (part.islower() or part.isupper()) and any(map(str.isdigit, part))


def _beside(text: str, run: list[Span]) -> Iterator[Span]:
    """Yield the end of a line before the first whole line of a key, and the rest of the key in the line
    after its last."""
    first, last = run[0][0], run[-1][1]
    above = text.rfind("\n", max(0, first - WIDEST), first)
    if above >= 0:
        begin = text.rfind("\n", max(0, above - WIDEST), above) + 1
        part = _key_part(text, begin, above) or _line_end(text, begin, above)
        if part and _is_dense(text, part):
            yield part
    if text.startswith("\n", last):
        below = text.find("\n", last + 1, last + WIDEST)
        part = _key_part(text, last + 1, below if below >= 0 else min(len(text), last + WIDEST))
        if part and (_is_dense(text, part) or text[part[1] - 1] == "="):
            yield part
    elif found := _QUOTED_REST.match(text, last):
        yield found.span(1)


def _key_part(text: str, start: int, end: int) -> Span | None:
    """Return the part of a line that may belong to a key: there is nothing else in the line."""
    part = _without_layout(text, start, end)
    found = _PARTIAL.fullmatch(text, *part) if part else None
    return found.span(1) if found else None


def _line_end(text: str, start: int, end: int) -> Span | None:
    """Return the part of a line that may belong to a key behind a name or a quote."""
    found = _LINE_END.search(text[start:end])
    return (start + found.start(1), start + found.end(1)) if found else None


def _before_end(text: str, place: int) -> Iterator[Span]:
    """Yield the part of a key before its last line, which is at `place`."""
    line = text.rfind("\n", max(0, place - MOST_HELD), place) + 1
    quoted = _BACKWARDS.match(text[line:place][::-1])
    if quoted and len(quoted[0]) >= _FEWEST_CHARACTERS:
        yield place - len(quoted[0]), place
    lines: list[Span] = []
    while line > 0 and place - line < MOST_HELD:
        above = text.rfind("\n", max(0, line - 1 - WIDEST), line - 1) + 1
        part = _key_part(text, above, line - 1)
        if part is None:
            break
        lines.append(part)
        line = above
    if sum(end - start for start, end in lines) >= _FEWEST_CHARACTERS and any(
        _is_dense(text, each) for each in lines
    ):
        yield from lines

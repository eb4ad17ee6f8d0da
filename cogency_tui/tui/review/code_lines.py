"""Lines of a diff as lines of the screen: numbers, sign, code with its colours, and the words that differ."""

from collections.abc import Sequence

from rich.segment import Segment
from rich.style import Style

from cogency_tui.agent.review.model import Row
from cogency_tui.agent.review.words import Span
from cogency_tui.text import reveal
from cogency_tui.tui.drawing.lines import Line, chop, width_of
from cogency_tui.tui.review.open_file import OpenFile, Pieces
from cogency_tui.tui.theming import Inks

_TAB = 4
_LONGEST = 8_000
"""The most characters of a line that are shown."""

SIGNS = {"same": " ", "removed": "−", "added": "+"}
_ROLES = {"same": "dim", "removed": "bad", "added": "good"}


def surface_of(row: Row | None, *, gone: bool) -> str:
    """The surface of a line; where the change is taken back it lies on that of the pane."""
    return "surface" if row is None or row.kind == "same" or gone else row.kind


def height_of(text: str, room: int) -> int:
    """How many lines of `room` cells a line of code takes."""
    if len(text) > _LONGEST:
        text = text[:_LONGEST] + "…"
    if "\t" in text:
        text = text.expandtabs(_TAB)
    if text.isascii():
        return -(-len(text) // room) or 1
    return len(chop([Segment(reveal(text))], room))


def all_short(texts: Sequence[str], room: int) -> bool:
    """Whether each of these lines takes one line of `room` cells; told much faster than by asking of each."""
    return all(len(text) <= room and text.isascii() and "\t" not in text for text in texts)


def code_of(row: Row, file: OpenFile, inks: Inks, *, gone: bool) -> list[Segment]:
    """A line of code; `gone` says that the change is taken back, and has no colours."""
    on = surface_of(row, gone=gone)
    pieces = file.colouring.pieces(row)
    if len(row.text) > _LONGEST:
        pieces = [(row.text[:_LONGEST] + "…", "text")]
    if gone and row.kind != "same":
        pieces = [("".join(text for text, _ in pieces), "dim")]
    mark = inks(_ROLES[row.kind], on, "bold underline")
    return _drawn(pieces, () if gone else file.diff.marks(row), mark, inks, on)


def draw_row(
    row: Row, numbers: str, code: Sequence[Segment], room: int, inks: Inks, *, gone: bool
) -> list[Line]:
    """A line with its numbers and sign on as many lines as it takes; the numbers stand on the first."""
    on = surface_of(row, gone=gone)
    role = "dim" if gone else _ROLES[row.kind]
    fill = inks("text", on)
    lines: list[Line] = []
    for line in chop(code, room):
        head = [
            Segment(numbers if not lines else " " * len(numbers), inks("dim", on)),
            Segment(f" {SIGNS[row.kind] if not lines else ' '} ", inks(role, on)),
        ]
        rest = Segment(" " * (room - width_of(line.segments)), fill)
        lines.append(Line([*head, *line.segments, rest], line.joint, len(numbers) + 3))
    return lines


def _drawn(pieces: Pieces, spans: Sequence[Span], mark: Style, inks: Inks, on: str) -> list[Segment]:
    """`pieces`, those within `spans` in the style `mark`."""
    segments: list[Segment] = []
    place = column = 0
    for text, role in pieces:
        for part, marked in _cut(text, place, spans):
            shown = _expand(part, column) if "\t" in part else part
            column += len(shown)
            segments.append(Segment(reveal(shown), mark if marked else inks(role, on)))
        place += len(text)
    return segments


def _cut(text: str, place: int, spans: Sequence[Span]) -> list[tuple[str, bool]]:
    """`text`, which begins at character `place` of its line, in parts that are in spans or are not."""
    end = place + len(text)
    found: list[tuple[str, bool]] = []
    at = place
    for start, stop in spans:
        first, last = max(start, place), min(stop, end)
        if first >= last:
            continue
        if first > at:
            found.append((text[at - place : first - place], False))
        found.append((text[first - place : last - place], True))
        at = last
    if at < end:
        found.append((text[at - place :], False))
    return found


def _expand(text: str, column: int) -> str:
    """`text`, which begins in this column, with spaces for tabs."""
    return (" " * column + text).expandtabs(_TAB)[column:]

"""Markdown tables as lines: columns as wide as they need or as the pane lets them be, cells wrapped.

Where there are more columns than the pane has room for, each row is drawn as a list of its cells.
"""

from collections.abc import Callable, Sequence
from itertools import zip_longest

from markdown_it.token import Token
from rich.segment import Segment
from rich.style import Style

from cogency_tui.tui.drawing.lines import BLANK, Line, width_of, wrap
from cogency_tui.tui.theming import Inks

_GAP = 2
_NARROWEST = 6

Inline = Callable[[Token, str], list[Segment]]
Cell = list[Segment]


def draw_table(tokens: Sequence[Token], width: int, inks: Inks, inline: Inline) -> list[Line]:
    """The lines of a table whose inner tokens are `tokens`, none wider than `width` cells."""
    rows: list[list[Cell]] = []
    aligns: list[str] = []
    for index, token in enumerate(tokens):
        if token.type == "tr_open":
            rows.append([])
        elif token.type in ("th_open", "td_open"):
            rows[-1].append(inline(tokens[index + 1], "bold" if token.type == "th_open" else ""))
            if token.type == "th_open":
                aligns.append(str(token.attrGet("style") or "").removeprefix("text-align:"))
    if not rows or not rows[0]:
        return []
    sizes = _column_sizes(rows, width)
    if sizes is None:
        return _draw_records(rows, width, inks)
    ground = inks()
    lines = _row(rows[0], sizes, aligns, ground)
    lines.append(Line([Segment("─" * (sum(sizes) + _GAP * (len(sizes) - 1)), inks("rule"))]))
    tall = False
    for row in rows[1:]:
        drawn = _row(row, sizes, aligns, ground)
        if tall or (len(drawn) > 1 and row is not rows[1]):
            lines.append(BLANK)
        tall = len(drawn) > 1
        lines += drawn
    return lines


def _column_sizes(rows: list[list[Cell]], width: int) -> list[int] | None:
    """Each column's width: what it needs; the widest ones shrink until all fit. None where they cannot."""
    sizes = [
        max(1, *map(width_of, column)) for column in zip_longest(*rows, fillvalue=list[Segment]())
    ]  # fmt: skip
    room = width - _GAP * (len(sizes) - 1)
    if sum(min(size, _NARROWEST) for size in sizes) > room:
        return None
    excess = sum(sizes) - room
    while excess > 0:
        widest = max(sizes)
        second = max((size for size in sizes if size < widest), default=0)
        columns = [index for index, size in enumerate(sizes) if size == widest]
        step = max(1, min(widest - max(second, _NARROWEST), excess // len(columns)))
        for index in columns[: max(1, excess)]:
            sizes[index] -= step
            excess -= step
    return sizes


def _row(row: list[Cell], sizes: list[int], aligns: list[str], ground: Style) -> list[Line]:
    wrapped = [wrap(cell, size) for cell, size in zip(row, sizes, strict=False)]
    lines: list[Line] = []
    for parts in zip_longest(*wrapped, fillvalue=BLANK):
        segments: list[Segment] = []
        for index, (part, size) in enumerate(zip(parts, sizes, strict=False)):
            space = size - width_of(part.segments)
            before = {"right": space, "center": space // 2}.get(
                aligns[index] if index < len(aligns) else "", 0
            )
            segments.append(Segment(" " * (before + (_GAP if index else 0))))
            segments += part.segments
            segments.append(Segment(" " * max(0, space - before)))
        lines.append(
            Line([Segment(segment.text, segment.style or ground) for segment in segments if segment.text])
        )
    return lines


def _draw_records(rows: list[list[Cell]], width: int, inks: Inks) -> list[Line]:
    """Each row as lines of `column: cell`, a rule between rows; only the columns where there are no rows."""
    head, *body = rows
    colon = Segment(": ", inks("dim"))
    if not body:
        return [line for cell in head for line in wrap(cell, width)]
    lines: list[Line] = []
    for row in body:
        if lines:
            lines.append(Line([Segment("─" * min(width, 8), inks("rule"))]))
        for name, cell in zip_longest(head, row, fillvalue=list[Segment]()):
            if cell:
                lines += wrap([*name, colon, *cell] if name else cell, width)
    return lines

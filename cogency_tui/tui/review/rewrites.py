"""The lines of a hunk as they are now: the agent's that were changed since, and those that replaced them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.segment import Segment

from cogency_tui.agent.review.model import Rewrite
from cogency_tui.safe_text import one_line, reveal
from cogency_tui.tui.kit.cell_text import fit
from cogency_tui.tui.kit.code import Pieces, SourceColors
from cogency_tui.tui.kit.file_text import language_of
from cogency_tui.tui.kit.lines import CONTINUATION, Line, fold, width_of
from cogency_tui.tui.kit.number_format import plural
from cogency_tui.tui.theme_styles import ThemeStyles
from cogency_tui.workspace.diff_rows import Rows

SIGN = "~"
"""The sign of a line that is in place of the agent's."""

_MOST_ROWS = 5_000
"""Rows of a hunk up to which its lines are told apart."""

_SHOWN = 60
"""Lines of one rewrite that are shown."""

_LONGEST = 2_000
"""Characters of a line beyond which the rest is not shown."""

_TAB = 4


@dataclass(frozen=True, slots=True)
class Part:
    """Rows of a hunk, from `first` to `end`: as the agent left them, or those that `rewrite` replaced."""

    first: int
    end: int
    rewrite: Rewrite | None = None


def parts_of(rows: Rows, rewrites: Sequence[Rewrite]) -> list[Part]:
    """Divide the rows of a hunk by its rewrites; nothing if there are none, or too many rows."""
    return [*_parts(rows, rewrites)] if rewrites and len(rows) <= _MOST_ROWS else []


def _parts(rows: Rows, rewrites: Sequence[Rewrite]) -> Iterator[Part]:
    done = 0
    for rewrite in rewrites:
        first = _row_of(rows, rewrite.first, done)
        end = _row_of(rows, rewrite.end, first) if rewrite.end > rewrite.first else first
        if first > done:
            yield Part(done, first)
        yield Part(first, end, rewrite)
        done = end
    if done < len(rows):
        yield Part(done, len(rows))


def _row_of(rows: Rows, line: int, start: int) -> int:
    """The first row from `start` on that is at line `line` of the new side, or below it."""
    places = (at for at in range(start, len(rows)) if (rows[at].new or 0) > line)
    return next(places, len(rows))


def draw_rewrite(
    rewrite: Rewrite, path: str, above: Sequence[str], digits: int, width: int, styles: ThemeStyles
) -> list[Line]:
    """Draw the lines that are in place of the agent's, below those `above`, with their numbers in the current
    file.
    """
    room = max(4, width - digits - 3)
    lines: list[Line] = []
    shown = [text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…" for text in rewrite.texts[:_SHOWN]]
    colors = SourceColors(language_of(path), [*above, *(text.expandtabs(_TAB) for text in shown)])
    for at in range(len(shown)):
        number = str(rewrite.line + at).rjust(digits)
        lines += _draw_line(colors.pieces(len(above) + at), number, room, styles)
    if rewrite.by:
        words = fit(f"{SIGN} in “{one_line(rewrite.by)}”", max(1, width - digits - 1))
        lines.insert(0, _draw_note(words, "accent", digits, width, styles))
    if not rewrite.texts:
        lines.append(_draw_note(f"{SIGN} removed", "accent", digits, width, styles))
    if left := len(rewrite.texts) - len(rewrite.texts[:_SHOWN]):
        lines.append(_draw_note(f"⋯ {plural(left, 'more line')}", "dim", digits, width, styles))
    return lines


def _draw_note(text: str, role: str, digits: int, width: int, styles: ThemeStyles) -> Line:
    return Line([Segment(f"{'':{digits}} {text}".ljust(width), styles(role, "raised"))])


def _draw_line(pieces: Pieces, number: str, room: int, styles: ThemeStyles) -> list[Line]:
    code = [Segment(reveal(piece), styles(role, "raised")) for piece, role in pieces]
    lines: list[Line] = []
    for line in fold(code, room):
        head = [
            Segment(" " * len(number) if lines else number, styles("dim", "raised")),
            Segment(f" {CONTINUATION if lines else SIGN} ", styles("dim" if lines else "accent", "raised")),
        ]
        rest = Segment(" " * (room - width_of(line.segments)), styles("text", "raised"))
        lines.append(Line([*head, *line.segments, rest], line.joint, len(number) + 3))
    return lines

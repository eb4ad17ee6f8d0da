"""Images as lines of Unicode placeholders, at which the terminal draws a picture that it holds."""

from io import BytesIO
from typing import TYPE_CHECKING, NamedTuple

from rich.color import Color, ColorType
from rich.segment import Segment
from rich.style import Style

from cogency_tui.tui.images.half_cells import decode, fitted
from cogency_tui.tui.kit.lines import Line
from cogency_tui.tui.terminal.graphics import Graphics

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

PLACEHOLDER = "\U0010eeee"

_RANGES = """
    0305 030D-030E 0310 0312 033D-033F 0346 034A-034C 0350-0352 0357 035B 0363-036F 0483-0487 0592-0595
    0597-0599 059C-05A1 05A8-05A9 05AB-05AC 05AF 05C4 0610-0617 0657-065B 065D-065E 06D6-06DC 06DF-06E2
    06E4 06E7-06E8 06EB-06EC 0730 0732-0733 0735-0736 073A 073D 073F-0741 0743 0745 0747 0749-074A
    07EB-07F1 07F3 0816-0819 081B-0823 0825-0827 0829-082D 0951 0953-0954 0F82-0F83 0F86-0F87 135D-135F
    17DD 193A 1A17 1A75-1A7C 1B6B 1B6D-1B73 1CD0-1CD2 1CDA-1CDB 1CE0 1DC0-1DC1 1DC3-1DC9 1DCB-1DCC
    1DD1-1DE6 1DFE 20D0-20D1 20D4-20D7 20DB-20DC 20E1 20E7 20E9 20F0 2CEF-2CF1 2DE0-2DFF A66F A67C-A67D
    A6F0-A6F1 A8E0-A8F1 AAB0 AAB2-AAB3 AAB7-AAB8 AABE-AABF AAC1 FE20-FE26 10A0F 10A38 1D185-1D189
    1D1AA-1D1AD 1D242-1D244
"""


def _marks(ranges: str) -> list[str]:
    """The characters of ranges of code points in hexadecimal digits."""
    ends = [each.split("-") for each in ranges.split()]
    return [chr(code) for each in ends for code in range(int(each[0], 16), int(each[-1], 16) + 1)]


MARKS = _marks(_RANGES)
"""The combining characters that stand for the numbers from 0: of rows, of columns, and of highest bytes."""

_MOST_PIXELS = 1600
"""Pixels of a side: a wide dialog has no more on most screens."""

_MOST_BYTES = 1 << 20
"""Bytes of a picture that a slow connection takes without a long wait."""

_SHRINKAGE = 0.75
"""The part of its sides that is left of a picture that has too many bytes."""


class SharpPicture(NamedTuple):
    """A picture for the terminal: its size in pixels, and its number among the pictures of `graphics`."""

    size: tuple[int, int]
    png: bytes
    number: int
    graphics: Graphics


def encode(content: bytes, name: str, graphics: Graphics) -> SharpPicture:
    """Encode an image of the store for the terminal. Blocks.

    Raises:
        WorkspaceError: it cannot be decoded.
    """
    picture = decode(content, name, _MOST_PIXELS)
    while len(png := _png(picture)) > _MOST_BYTES:
        picture.thumbnail((picture.width * _SHRINKAGE, picture.height * _SHRINKAGE))
    return SharpPicture(picture.size, png, graphics.next_number(), graphics)


def _png(picture: "Picture") -> bytes:
    target = BytesIO()
    picture.save(target, "PNG")
    return target.getvalue()


def draw_placeholders(picture: SharpPicture, width: int, rows: int, style: Style) -> list[Line]:
    """Have the terminal show a picture in the middle of `width` cells, as large as half cells would be;
    `style` has the color of the ground."""
    columns, height = fitted(picture.size, min(width, len(MARKS)), 2 * min(rows, len(MARKS)))
    rows = (height + 1) // 2
    picture.graphics.show(picture.number, picture.png, columns, rows)
    margin = Segment(" " * ((width - columns) // 2), style)
    numbered = style + Style(color=Color("number", ColorType.EIGHT_BIT, picture.number & 0xFF))
    rows_of_cells = (_cells(picture.number, row, columns) for row in range(rows))
    return [
        Line([margin, Segment(cells, numbered)], lead=len(margin.text) + len(cells))
        for cells in rows_of_cells
    ]


def _cells(number: int, row: int, columns: int) -> str:
    """A row of placeholders. Each names its whole part: what it omits it would take from the cell before it,
    which another widget may cover."""
    highest = MARKS[number >> 24]
    return "".join(f"{PLACEHOLDER}{MARKS[row]}{MARKS[column]}{highest}" for column in range(columns))

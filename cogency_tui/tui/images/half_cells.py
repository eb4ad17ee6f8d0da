"""Images as lines of half cells: `▀` in the colors of two pixels, which every terminal can draw.

Our own instead of `textual-image`: importing any part of that queries the terminal and reads the answer from
stdin, where it would take the user's keys.
"""

from functools import lru_cache
from io import BytesIO
from typing import TYPE_CHECKING

from rich.color import Color
from rich.color_triplet import ColorTriplet
from rich.segment import Segment
from rich.style import Style

from cogency_tui.errors import WorkspaceError
from cogency_tui.tui.kit.lines import Line

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

_UPPER = "▀"
_MOST_PIXELS = 640
"""Pixels of a side that are enough for half cells in any terminal."""

Pixel = tuple[int, int, int]


def decode(content: bytes, name: str, most: int = _MOST_PIXELS) -> "Picture":
    """Decode an image of the store for drawing, with at most so many pixels a side. Blocks.

    Raises:
        WorkspaceError: it cannot be decoded.
    """
    from PIL import Image

    try:
        with Image.open(BytesIO(content)) as picture:
            picture.draft("RGB", (most, most))
            shown = picture.convert("RGBA" if picture.has_transparency_data else "RGB")
            shown.thumbnail((most, most))
            return shown
    except Exception as exc:
        # What a decoder raises on damaged bytes has no common base.
        raise WorkspaceError(f"{name} cannot be shown: it is damaged.") from exc


def draw_half_cells(picture: "Picture", width: int, rows: int, style: Style) -> list[Line]:
    """Draw a picture in the middle of `width` cells, as large as it fits into these and `rows`; `style` has
    the color of the ground."""
    size = fitted(picture.size, width, 2 * rows)
    ground = _ground(style)
    pixels = _pixels(picture, size, ground)
    margin = Segment(" " * ((width - size[0]) // 2), style)
    blank = [ground] * size[0]
    pairs = ((pixels[y], pixels[y + 1] if y + 1 < size[1] else blank) for y in range(0, size[1], 2))
    return [
        Line([margin, *(Segment(_UPPER, _style(*pair)) for pair in zip(upper, lower, strict=True))])
        for upper, lower in pairs
    ]


def _ground(style: Style) -> Pixel:
    """The background of a style; black where it is the terminal's own, which is not known."""
    color = style.bgcolor
    red, green, blue = (0, 0, 0) if color is None or color.is_default else color.get_truecolor()
    return red, green, blue


def fitted(size: tuple[int, int], width: int, height: int) -> tuple[int, int]:
    """The largest size with the proportions of `size` that fits; each side is at least 1. A small picture is
    not enlarged."""
    scale = min(1.0, width / size[0], height / size[1])
    return max(1, round(size[0] * scale)), max(1, round(size[1] * scale))


def _pixels(picture: "Picture", size: tuple[int, int], ground: Pixel) -> list[list[Pixel]]:
    from PIL import Image

    small = picture.resize(size, Image.Resampling.LANCZOS)  # pyright: ignore[reportUnknownMemberType] (Pillow leaves it open)
    if small.mode == "RGBA":
        small = Image.alpha_composite(Image.new("RGBA", size, (*ground, 255)), small).convert("RGB")
    data, row = small.tobytes(), 3 * size[0]
    return [
        [(data[at], data[at + 1], data[at + 2]) for at in range(start, start + row, 3)]
        for start in range(0, len(data), row)
    ]


@lru_cache(maxsize=1 << 14)
def _style(upper: Pixel, lower: Pixel) -> Style:
    return Style(
        color=Color.from_triplet(ColorTriplet(*upper)), bgcolor=Color.from_triplet(ColorTriplet(*lower))
    )

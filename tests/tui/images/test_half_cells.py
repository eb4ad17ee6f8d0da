"""Images as half cells: two pixels a character, in the right proportions, on the theme's ground."""

import pytest
from rich.style import Style

from cogency_tui.errors import WorkspaceError
from cogency_tui.tui.images.half_cells import decode, draw_half_cells, fitted
from cogency_tui.tui.kit.lines import Line
from tests.pictures import bomb, picture

GROUND = Style.parse("on #102030")
RED, BACK = (255, 0, 0), (16, 32, 48)


def colors(line: Line) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """The colors of the upper and the lower halves of a line's cells."""
    found: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
    for text, style, _control in line.segments:
        if text == "▀" and style is not None and style.color and style.bgcolor:
            found.append((tuple(style.color.get_truecolor()), tuple(style.bgcolor.get_truecolor())))
    return found


@pytest.mark.parametrize(
    ("size", "room", "expected"),
    [
        ((1200, 800), (60, 200), (60, 40)),
        ((800, 1200), (60, 30), (20, 30)),
        ((8, 6), (60, 200), (8, 6)),
        ((100_000, 1), (60, 40), (60, 1)),
        ((1, 100_000), (60, 40), (1, 40)),
    ],
)
def test_an_image_fits_in_its_proportions_and_is_not_enlarged(
    size: tuple[int, int], room: tuple[int, int], expected: tuple[int, int]
) -> None:
    assert fitted(size, *room) == expected


def test_two_pixels_are_one_cell_and_an_odd_last_row_ends_in_the_ground() -> None:
    lines = draw_half_cells(decode(picture(size=(4, 3)), "a.png"), 10, 20, GROUND)
    assert [line.text for line in lines] == ["   ▀▀▀▀"] * 2
    assert colors(lines[0]) == [(RED, RED)] * 4
    assert colors(lines[1]) == [(RED, BACK)] * 4


def test_what_is_transparent_has_the_color_of_the_ground() -> None:
    clear = decode(picture(size=(2, 2), mode="LA"), "a.png")
    clear.putalpha(0)
    (line,) = draw_half_cells(clear, 10, 20, GROUND)
    assert colors(line) == [(BACK, BACK)] * 2


@pytest.mark.parametrize("kind", ["JPEG", "GIF", "WEBP"])
def test_every_form_in_which_images_are_stored_is_drawn(kind: str) -> None:
    (line,) = draw_half_cells(decode(picture(kind, (16, 2)), "a"), 16, 20, GROUND)
    ((red, green, blue), _lower), *_ = colors(line)
    assert red > 240
    assert green < 20
    assert blue < 20


@pytest.mark.parametrize("content", [b"", b"no image", picture()[:50], bomb(100_000, 100_000)])
def test_damaged_content_is_an_error_with_the_name(content: bytes) -> None:
    with pytest.raises(WorkspaceError, match=r"a\.png cannot be shown"):
        decode(content, "a.png")

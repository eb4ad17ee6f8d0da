"""Images as placeholders: each cell names its part of the picture, and the line is as wide as it looks."""

import re
from io import BytesIO
from unicodedata import combining

import PIL.Image
import pytest
from rich.style import Style

from cogency_tui.errors import WorkspaceError
from cogency_tui.tui.images.placeholders import MARKS, PLACEHOLDER, draw_placeholders, encode
from cogency_tui.tui.kit.lines import Line, TerminalGuard, width_of
from cogency_tui.tui.terminal.capabilities import Terminal
from cogency_tui.tui.terminal.graphics import Graphics
from tests.pictures import noise, opened, picture
from tests.tui.terminal.test_graphics import Receiver

GROUND = Style.parse("on #102030")
CELL = re.compile(f"{PLACEHOLDER}(.)(.)(.)", re.DOTALL)


@pytest.fixture
def receiver() -> Receiver:
    return Receiver()


@pytest.fixture
def graphics(receiver: Receiver) -> Graphics:
    return Graphics(Terminal(term="xterm-kitty"), receiver.write)


def parts(text: str) -> list[tuple[int, int, int]]:
    """The row, the column and the highest byte that each cell names."""
    return [
        (MARKS.index(row), MARKS.index(column), MARKS.index(byte)) for row, column, byte in CELL.findall(text)
    ]


def test_the_marks_are_those_of_the_protocol() -> None:
    assert len(MARKS) == len(set(MARKS)) == 297
    assert [ord(MARKS[at]) for at in (0, 1, 29, 30, 149, 255, 296)] == [
        *(0x305, 0x30D, 0x36F, 0x483, 0x1A7C, 0xA8E5, 0x1D244),
    ]
    assert {combining(mark) for mark in MARKS} == {230}


def test_each_cell_names_its_part_in_the_middle_of_the_width(graphics: Graphics, receiver: Receiver) -> None:
    sharp = encode(picture(size=(1200, 800)), "a.png", graphics)
    lines = draw_placeholders(sharp, 70, 20, GROUND)
    (keys, _), *_ = receiver.take()
    assert (keys["c"], keys["r"], keys["i"]) == ("60", "20", str(sharp.number))
    highest = sharp.number >> 24
    for row, line in enumerate(lines):
        margin, cells = line.segments
        assert margin.text == " " * 5
        assert parts(cells.text) == [(row, column, highest) for column in range(60)]
        assert cells.style is not None
        assert cells.style.color is not None
        assert cells.style.color.number == sharp.number & 0xFF
        assert cells.style.bgcolor == GROUND.bgcolor
    assert len(lines) == 20


def test_the_guard_leaves_the_cells_as_they_are_and_each_is_one_wide(graphics: Graphics) -> None:
    sharp = encode(picture(size=(800, 600)), "a.png", graphics)
    for line in draw_placeholders(sharp, 400, 400, GROUND):
        assert width_of(line.segments) == 51 + 297
        strip = line.strip(400, GROUND)
        assert strip.text.rstrip() == line.text
        assert TerminalGuard().apply(list(strip), GROUND.bgcolor) == list(strip)  # type: ignore[arg-type]


def test_cells_are_not_copied(graphics: Graphics) -> None:
    sharp = encode(picture(size=(4, 3)), "a.png", graphics)
    lines: list[Line] = draw_placeholders(sharp, 10, 20, GROUND)
    assert len(lines) == 2
    assert [line.text[line.lead :] for line in lines] == ["", ""]


def test_the_terminal_gets_the_picture_itself(graphics: Graphics) -> None:
    content = noise((300, 200), mode="RGBA")
    sharp = encode(content, "a.png", graphics)
    assert sharp.size == (300, 200)
    assert opened(sharp.png).tobytes() == opened(content).tobytes()


@pytest.mark.parametrize("kind", ["JPEG", "GIF", "WEBP"])
def test_every_form_in_which_images_are_stored_becomes_png(kind: str, graphics: Graphics) -> None:
    found = opened(encode(picture(kind, (16, 8)), "a", graphics).png)
    assert (found.format, found.size) == ("PNG", (16, 8))


def test_a_picture_of_very_many_bytes_is_shrunk_in_its_proportions(graphics: Graphics) -> None:
    sharp = encode(noise((1600, 800)), "a.png", graphics)
    assert 200_000 < len(sharp.png) <= 1 << 20
    assert sharp.size[0] == pytest.approx(2 * sharp.size[1], abs=2)
    with PIL.Image.open(BytesIO(sharp.png)) as found:
        assert found.size == sharp.size


def test_damaged_content_is_an_error_with_the_name(graphics: Graphics) -> None:
    with pytest.raises(WorkspaceError, match=r"a\.png cannot be shown"):
        encode(b"no image", "a.png", graphics)

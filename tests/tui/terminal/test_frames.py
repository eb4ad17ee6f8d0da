"""What is written of a frame: the changes alone, after which the terminal shows all of it."""

import io

import pyte
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual.geometry import Region
from textual.strip import Strip

from cogency_tui.tui.terminal.frames import Changes, Piece, ShownRows

WIDTH, HEIGHT = 12, 2
CONSOLE = Console(file=io.StringIO(), color_system="truecolor", force_terminal=True)
STYLES = [Style.parse(each) for each in ("red on black", "bold green on blue")]
FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"

rows = st.lists(
    st.tuples(st.text("abc \u4e2d", min_size=1, max_size=6), st.sampled_from(STYLES)), min_size=1, max_size=4
).map(lambda parts: Strip([Segment(*part) for part in parts]).adjust_cell_length(WIDTH, STYLES[0]))
frames = st.lists(rows, min_size=HEIGHT, max_size=HEIGHT)


def layout(strips: list[Strip]) -> LayoutUpdate:
    return LayoutUpdate([[strip] for strip in strips], Region(0, 0, WIDTH, HEIGHT))


def chops(strips: list[Strip], cut: int) -> ChopsUpdate:
    """The frame as two widgets beside each other draw it."""
    parts = [{0: strip.crop(0, cut), cut: strip.crop(cut, WIDTH)} for strip in strips]
    return ChopsUpdate(parts, [(y, 0, WIDTH) for y in range(HEIGHT)], [[cut, WIDTH]] * HEIGHT)


def buffer(screen: pyte.Screen) -> list[list[pyte.screens.Char]]:
    return [[screen.buffer[y][x] for x in range(WIDTH)] for y in range(HEIGHT)]


@given(st.lists(st.tuples(frames, st.integers(1, WIDTH - 1)), min_size=1, max_size=5))
def test_the_terminal_shows_each_frame_as_if_it_were_drawn_completely(
    drawn: list[tuple[list[Strip], int]],
) -> None:
    shown = ShownRows()
    screen, whole = pyte.Screen(WIDTH, HEIGHT), pyte.Screen(WIDTH, HEIGHT)
    stream, wholes = pyte.Stream(screen), pyte.Stream(whole)
    for strips, cut in drawn:
        update = chops(strips, cut)
        stream.feed(Changes(update, shown).render_segments(CONSOLE))
        whole.reset()
        wholes.feed(Changes(update, ShownRows()).render_segments(CONSOLE))
        assert buffer(screen) == buffer(whole)


def test_only_what_changes_is_written() -> None:
    shown = ShownRows()
    calm = Strip([Segment("calm" * 3, STYLES[0])])

    def write(spinner: str) -> str:
        turning = Strip([Segment("ab", STYLES[0]), Segment(spinner, STYLES[1]), Segment("x" * 9, STYLES[0])])
        return Changes(chops([turning, calm], 6), shown).render_segments(CONSOLE)

    write("⠋")
    written = write("⠙")

    assert "⠙" in written
    assert written.count("\x1b[1;3H") == written.count("H") == 1
    assert "x" not in written
    assert "calm" not in written


def test_pieces_without_cells_do_not_pile_up() -> None:
    shown = ShownRows()
    row = Strip([Segment("calm", STYLES[0])])
    for _ in range(3):
        for x, strip in ((0, Strip.blank(0)), (0, row), (4, Strip.blank(0)), (4, row)):
            shown.take(Piece(0, x, strip))
    assert sum(map(len, shown._rows.values())) == 2  # pyright: ignore[reportPrivateUsage]


def test_a_layout_and_what_follows_a_loss_are_written_completely() -> None:
    shown = ShownRows()
    strips = [Strip([Segment("calm" * 3, STYLES[0])])] * HEIGHT
    whole = Changes(layout(strips), shown).render_segments(CONSOLE)
    assert Changes(layout(strips), shown).render_segments(CONSOLE) == whole
    assert Changes(chops(strips, 6), ShownRows()).render_segments(CONSOLE).count("calm") == 2 * HEIGHT
    shown.forget()
    assert Changes(layout(strips), shown).render_segments(CONSOLE) == whole


def test_a_character_that_a_terminal_draws_wider_moves_nothing() -> None:
    strip = Strip([Segment(f"a{FAMILY}b", STYLES[0])]).adjust_cell_length(WIDTH, STYLES[0])
    written = Changes(layout([strip, strip]), ShownRows()).render_segments(CONSOLE)
    screen = pyte.Screen(WIDTH, HEIGHT)
    # Drawn as three people, six cells wide.
    pyte.Stream(screen).feed(written.replace("\u200d", ""))

    assert [line[0] for line in screen.display] == ["a", "a"]
    assert [screen.buffer[y][3].data for y in range(HEIGHT)] == ["b", "b"]
    assert {screen.buffer[0][x].bg for x in range(WIDTH)} == {"black"}

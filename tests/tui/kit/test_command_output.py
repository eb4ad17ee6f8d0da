"""What a command writes: colours become roles, everything else that a terminal acts on is gone, however it
was cut."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cogency_tui.tui.kit.command_output import LONGEST, Output
from cogency_tui.tui.kit.sgr import PLAIN, Rendition, rendition_after


def fed(*pieces: str, limit: int | None = None) -> Output:
    output = Output(limit)
    for piece in pieces:
        output.feed(piece)
    output.close()
    return output


def texts(output: Output) -> list[str]:
    return list(output.texts())


def test_colours_become_roles_of_the_theme() -> None:
    (line,) = fed("ok \x1b[32mpassed\x1b[0m \x1b[1;31mfailed\x1b[m").lines

    assert line.runs == (
        ("ok ", PLAIN),
        ("passed", Rendition(ink="good")),
        (" ", PLAIN),
        ("failed", Rendition(ink="bad", bold=True)),
    )


@pytest.mark.parametrize(
    ("parameters", "role"),
    [
        ("31", "bad"),
        ("92", "good"),
        ("33", "edit"),
        ("34", "accent"),
        ("35", "branch"),
        ("36", "builtin"),
        ("37", "text"),
        ("30", "text"),
        ("90", "dim"),
        ("38;5;196", "bad"),
        ("38;5;46", "good"),
        ("38;5;244", "dim"),
        ("38;5;255", "text"),
        ("38;2;0;0;255", "accent"),
        ("38:2::255:0:0", "bad"),
        ("38:5:46", "good"),
        ("38;2;5;5;5", "text"),
        ("2", "dim"),
        ("31;39", "text"),
        ("999", "text"),
        ("38;5", "text"),
        ("38;2;1", "text"),
    ],
)
def test_every_way_to_name_a_colour_comes_to_a_role(parameters: str, role: str) -> None:
    assert rendition_after(PLAIN, parameters).role == role


@pytest.mark.parametrize(
    ("on", "off", "name"),
    [
        ("1", "22", "bold"),
        ("2", "22", "faint"),
        ("3", "23", "italic"),
        ("4", "24", "underline"),
        ("4:3", "4:0", "underline"),
        ("7", "27", "reverse"),
        ("9", "29", "strike"),
    ],
)
def test_every_rendition_is_turned_on_and_off_by_itself(on: str, off: str, name: str) -> None:
    turned = rendition_after(PLAIN, on)
    assert [field for field, value in turned._asdict().items() if value] == [name]
    assert rendition_after(turned, off) == PLAIN
    assert rendition_after(rendition_after(turned, "31;42"), f"{off};39;49") == PLAIN


@pytest.mark.parametrize(
    ("parameters", "surface"), [("41", "removed"), ("42", "added"), ("44", "cursor"), ("7", "cursor")]
)
def test_grounds_become_surfaces(parameters: str, surface: str) -> None:
    assert rendition_after(PLAIN, parameters).surface == surface
    assert rendition_after(rendition_after(PLAIN, parameters), "0") == PLAIN


@pytest.mark.parametrize(
    "hostile",
    [
        "\x1b[2J",
        "\x1b[10;10H",
        "\x1b]0;title\x07",
        "\x1b]8;;http://x\x1b\\",
        "\x1bP1$r0m\x1b\\",
        "\x1b[?1049h",
        "\x9b31m",
        "\x07",
        "\x08\x08",
        "\x1bc",
    ],
)
def test_whatever_else_a_terminal_acts_on_is_gone(hostile: str) -> None:
    output = fed(f"before{hostile}after")

    assert texts(output) == ["beforeafter"]
    assert all(rendition == PLAIN for line in output.lines for _text, rendition in line.runs)


def test_a_carriage_return_begins_the_line_again() -> None:
    assert texts(fed("10%\r20%\r", "30%", "\r\ndone\n")) == ["30%", "done"]
    assert texts(fed("a\r\nb\r", "\nc")) == ["a", "b", "c"]


def test_a_long_line_that_begins_again_is_gone_as_a_whole() -> None:
    assert texts(fed("x" * (2 * LONGEST + 5), "\rshort")) == ["short"]


def test_a_line_without_end_is_kept_in_pieces_and_read_as_one() -> None:
    output = fed("y" * (3 * LONGEST))

    assert [line.continued for line in output.lines] == [False, True, True]
    assert texts(output) == ["y" * (3 * LONGEST)]


def test_tabs_stand_at_columns_of_eight() -> None:
    assert texts(fed("a\tb\n\x1b[31mab\x1b[0m\tc")) == ["a       b", "ab      c"]


def test_what_no_longer_fits_is_dropped_from_the_beginning_and_counted() -> None:
    output = fed(*(f"line {number}\n" for number in range(1000)), limit=1000)

    assert output.total == 1000
    assert output.dropped > 500
    assert texts(output)[-1] == "line 999"
    assert sum(len(line.text) for line in output.lines) <= 1500


def test_bytes_are_counted_as_they_were_written() -> None:
    assert fed("äö\x1b[31m\n").size == 10


PIECES = st.lists(
    st.sampled_from(
        [
            "\x1b[31m",
            "\x1b[0m",
            "\x1b[2J",
            "\x1b]0;t\x07",
            "\r",
            "\n",
            "\r\n",
            "abc",
            "é",
            "\t",
            "\x1b",
            "[",
            "m",
            "1;3",
        ]
    ),
    max_size=30,
)


@pytest.mark.exhaustive
@given(PIECES, st.randoms(use_true_random=False))
def test_however_it_is_cut_it_is_the_same(pieces: list[str], chance: random.Random) -> None:
    text = "".join(pieces)
    cut: list[str] = []
    while text:
        size = chance.randint(1, 4)
        cut.append(text[:size])
        text = text[size:]

    assert fed(*cut).lines == fed("".join(cut)).lines

"""Long texts as lines: laid out when they are looked at, right however they grow."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cogency_tui.safe_text import reveal
from cogency_tui.tui.kit.command_output import Output, OutputLines
from cogency_tui.tui.kit.lazy_text_layout import Fixed, GrowingText, LazyLayout, Stack
from cogency_tui.tui.kit.lines import width_of
from cogency_tui.tui.kit.number_format import size
from cogency_tui.tui.theme_styles import theme_styles_of

INKS = theme_styles_of("night")


def rows(sheet: LazyLayout | Stack) -> list[str]:
    return [sheet.line(y).text for y in range(len(sheet))]


def copied(sheet: LazyLayout) -> list[str]:
    """The lines as a copy has them."""
    text = ""
    for y in range(len(sheet)):
        line = sheet.line(y)
        text += (line.joint if y else "") + line.text[line.lead :]
    return [each.rstrip() for each in text.split("\n")] if len(sheet) else []


@pytest.mark.exhaustive
@given(
    st.lists(st.text(st.sampled_from("ab 漢é🙂\n"), max_size=30), max_size=12),
    st.integers(min_value=2, max_value=20),
)
def test_a_sheet_that_grows_is_the_sheet_of_the_whole(pieces: list[str], width: int) -> None:
    lines = OutputLines()
    growing = LazyLayout(lines, width, INKS)
    for piece in pieces:
        lines.write(piece)
        growing.grow()

    assert rows(growing) == rows(LazyLayout(lines, width, INKS))
    assert copied(growing) == [text.rstrip() for text in lines.texts()]
    assert all(width_of(growing.line(y).segments) <= max(2, width) for y in range(len(growing)))


def test_colors_are_styles_of_the_theme() -> None:
    output = Output()
    output.feed("\x1b[32mgreen\x1b[0m plain \x1b[41mloud\x1b[0m")
    line = LazyLayout(output, 40, INKS).line(0)

    assert [segment.style for segment in line.segments] == [
        INKS("good"),
        INKS("text"),
        INKS("text", "removed"),
    ]


def test_text_without_ink_has_the_role_of_the_sheet() -> None:
    lines = OutputLines()
    lines.write("old\nlines")
    sheet = LazyLayout(lines, 20, INKS, role="bad", on="removed", indent=2)

    assert [segment.style for segment in sheet.line(1).segments] == [
        INKS("text", "removed"),
        INKS("bad", "removed"),
    ]
    assert sheet.line(1).text == "  lines"


def test_lines_that_were_dropped_are_gone_from_the_sheet() -> None:
    output = Output(100)
    sheet = LazyLayout(output, 10, INKS)
    for number in range(100):
        output.feed(f"line {number:>3} is long\n")
        sheet.grow()

    assert rows(sheet) == rows(LazyLayout(output, 10, INKS))
    assert rows(sheet)[-2:] == ["line  99", "is long"]


def test_what_follows_of_a_long_line_hangs_beside_a_mark() -> None:
    lines = OutputLines()
    lines.write("a sentence that is folded at spaces, and a " + "w" * 24)
    sheet = LazyLayout(lines, 20, INKS)

    assert rows(sheet) == [
        "a sentence that is",
        "↪ folded at spaces,",
        "↪ and a " + "w" * 12,
        "↪ " + "w" * 12,
    ]
    assert sheet.line(1).segments[0].style == INKS("dim")
    assert copied(sheet) == list(lines.texts())


def test_only_what_is_looked_at_is_kept() -> None:
    lines = OutputLines()
    lines.write("\n".join(f"line {number}" for number in range(20_000)))
    sheet = LazyLayout(lines, 40, INKS)

    assert len(sheet) == 20_000
    assert sheet.line(19_999).text == "line 19999"
    assert width_of(sheet.line(10_000).segments) == 10


def test_a_stack_is_one_column() -> None:
    lines = OutputLines()
    lines.write("b\nc")
    stack = Stack([Fixed([LazyLayout(lines, 10, INKS).line(0)]), LazyLayout(lines, 10, INKS)])

    assert rows(stack) == ["b", "b", "c"]
    assert stack.line(99).text == ""


def test_a_growing_text_takes_what_is_new_and_shows_the_invisible() -> None:
    grown = GrowingText(reveal)
    grown.take("first \x1b")
    grown.take("first \x1b[2J\nsecond")

    assert list(grown.lines.texts()) == ["first ␛[2J", "second"]


def test_amounts_of_bytes() -> None:
    amounts = (0, 999, 1000, 12_400, 99_960, 999_499, 999_500, 3_100_000, 10**15)
    told = ["0 B", "999 B", "1.0 kB", "12.4 kB", "100 kB", "999 kB", "1.0 MB", "3.1 MB", "1000 TB"]
    assert [size(amount) for amount in amounts] == told

"""The one diff component: numbers, signs, colors, marked words; lazily, whatever the text is."""

import pytest

from cogency_tui.tui.kit import code
from cogency_tui.tui.kit.diff import DiffLayout, draw_diff
from cogency_tui.tui.kit.diff_code import DiffCode
from cogency_tui.tui.kit.lines import Line, width_of
from cogency_tui.tui.kit.markdown import MarkdownDrawer, parse
from cogency_tui.tui.kit.markdown_stream import MarkdownStream
from cogency_tui.tui.theme_styles import theme_styles_of
from cogency_tui.workspace import intraline

INKS = theme_styles_of("night")
ONE = """\
--- a/src/a.py
+++ b/src/a.py
@@ -9,3 +9,3 @@
 # first
-total = price * count
+total = cost * count
 # last
@@ -20 +20 @@
-old
+new
"""
TWO = ONE + "--- /dev/null\n+++ b/README.md\n@@ -0,0 +1 @@\n+# Shop\n"


def texts(lines: list[Line]) -> list[str]:
    return [line.text.rstrip() for line in lines]


def test_both_numbers_and_the_sign_are_before_each_line() -> None:
    assert texts(draw_diff(ONE, 80, INKS)) == [
        " 9  9   # first",
        "10    − total = price * count",
        "   10 + total = cost * count",
        "11 11   # last",
        " ⋯ 8 unchanged lines",
        "20    − old",
        "   20 + new",
    ]


def test_a_narrow_diff_has_one_column_of_numbers() -> None:
    assert texts(draw_diff(ONE, 50, INKS))[:3] == [
        " 9   # first",
        "10 − total = price * count",
        "10 + total = cost * count",
    ]


def test_several_files_are_told_apart_by_their_heads() -> None:
    lines = texts(draw_diff(TWO, 50, INKS))

    assert lines[0] == " src/a.py  +2 −2"
    assert lines[-3:] == ["", " README.md  +1  created", " 1 + # Shop"]
    assert not any(line.startswith(("---", "+++", "@@")) for line in lines)


def test_both_paths_of_a_renamed_file_lose_directories_before_names() -> None:
    diff = "--- a/{}\n+++ b/{}\n@@ -1 +1 @@\n-x\n+y\n"
    paths = ("src/humanize/filesize.py", "src/humanize/units.py")

    heads = [
        draw_diff(diff.format(*paths), width, INKS, headed=True)[0].text.split("  ")[0].strip()
        for width in (80, 48, 34)
    ]

    assert heads == [
        "src/humanize/filesize.py → src/humanize/units.py",
        "s/h/filesize.py → src/humanize/units.py",
        "filesize.py → …/units.py",
    ]


def test_code_has_its_colors_and_words_that_differ_are_marked() -> None:
    removed = draw_diff(ONE, 80, INKS)[1].segments
    styles = {segment.text: segment.style for segment in removed}

    assert styles["price"] == INKS("bad", "removed", "bold underline")
    assert styles["*"] == INKS("operator", "removed")
    assert draw_diff(ONE, 80, INKS)[0].segments[-2].style == INKS("comment")


def test_the_name_of_the_file_is_known_from_elsewhere_where_no_header_has_it() -> None:
    hunk = "@@ -1 +1 @@\n-x\n+# why\n"
    assert INKS("comment", "added") in [
        segment.style for segment in draw_diff(hunk, 40, INKS, path="a.py")[1].segments
    ]


def test_a_long_line_hangs_beside_a_mark_and_is_copied_whole() -> None:
    sentence = "a sentence that does not fit into a line of so few cells"
    lines = draw_diff(f"--- a/a.md\n+++ b/a.md\n@@ -1 +1 @@\n-x\n+{sentence}\n", 30, INKS)[1:]

    assert texts(lines) == ["1 + a sentence that does not", "  ↪ fit into a line of so few", "  ↪ cells"]
    assert all(width_of(line.segments) == 30 for line in lines)
    copied = [line.text[line.lead :].rstrip() for line in lines]
    assert lines[1].joint.join(copied) == sentence


@pytest.mark.parametrize("width", [8, 30, 80])
def test_control_characters_are_shown(width: int) -> None:
    shown = "".join(texts(draw_diff("@@ -1 +1 @@\n-a\x1b[2J\n+\u202eb\n", width, INKS)))
    assert "␛" in shown
    assert not {"\x1b", "\u202e"}.intersection(shown)


def test_text_that_is_no_diff_is_plain_lines() -> None:
    lines = draw_diff("- one\nand two", 40, INKS)

    assert texts(lines) == ["- one", "and two"]
    assert {segment.style for line in lines for segment in line.segments} == {INKS("text")}


@pytest.fixture
def long_diff() -> str:
    """A diff of 185,000 characters, of which no line equals another."""
    old = "".join(f"-    value_{number} = compute({number})\n" for number in range(2750))
    new = "".join(f"+    value_{number} = computed({number})  # x\n" for number in range(2750))
    return f"--- a/a.py\n+++ b/a.py\n@@ -1,2750 +1,2750 @@\n{old}{new}"


@pytest.mark.parametrize("width", [80, 24])
def test_only_rows_in_view_of_a_long_diff_are_colored_and_compared(long_diff: str, width: int) -> None:
    assert len(long_diff) > 185_000
    code.color_line.cache_clear()
    intraline.marks.cache_clear()
    layout = DiffLayout(long_diff, width, INKS)
    assert (code.color_line.cache_info().misses, intraline.marks.cache_info().misses) == (0, 0)

    for y in range(3_000, 3_040):
        layout.line(y)
    assert 0 < code.color_line.cache_info().misses <= 40
    assert 0 < intraline.marks.cache_info().misses <= 40
    assert layout.line(len(layout) - 1).text.rstrip().endswith("x")


def test_a_line_of_a_megabyte_is_shown_whole_and_drawn_where_it_is_in_view() -> None:
    text = "0123456789" * 100_000
    layout = DiffLayout(f"@@ -1 +1 @@\n-x\n+{text}\n", 34, INKS)

    assert len(layout) == 1 + -(-1_000_000 // 30)
    assert layout.line(1).text == f"1 + {text[:30]}"
    assert layout.line(2).text == f"  ↪ {text[30:60]}"
    assert layout.line(len(layout) - 1).text == f"  ↪ {text[999_990:]}".ljust(34)


def test_a_long_text_that_is_no_diff_is_laid_out_where_it_is_in_view() -> None:
    layout = DiffLayout("\n".join(f"line {number}" for number in range(20_000)), 40, INKS)

    assert len(layout) == 20_000
    assert layout.line(15_000).text == "line 15000".ljust(40)


def fenced(source: str) -> list[Line]:
    return MarkdownDrawer(60, INKS).draw(parse(f"```diff\n{source}\n```"))


def test_a_code_block_of_a_diff_is_drawn_as_one() -> None:
    lines = fenced(ONE.removesuffix("\n"))

    assert lines[0].text.strip().split() == ["src/a.py", "+2", "−2", "diff"]
    assert lines[3].text.strip() == "10 + total = cost * count"
    assert lines[0].lead == len(lines[0].text)


def test_the_last_added_line_of_a_code_block_has_its_color() -> None:
    lines = fenced("-old = 1\n+new = 1")

    assert texts(lines) == ["  − old = 1", "  + new = 1"]
    assert lines[-1].segments[2].style == INKS("good", "added")
    assert INKS("good", "added", "bold underline") in [segment.style for segment in lines[-1].segments]


def test_a_code_block_that_grows_is_the_block_of_the_whole() -> None:
    text = f"```diff\n{ONE}```\n"
    whole = MarkdownStream(60, INKS)
    whole.show(text, closed=True)
    growing = MarkdownStream(60, INKS)
    for end in range(0, len(text), 7):
        growing.show(text[:end], closed=False)
        assert all(growing.line(0, y).text is not None for y in range(growing.height(0)))
    growing.show(text, closed=True)

    def rows(stream: MarkdownStream) -> list[str]:
        return [stream.line(0, y).text for y in range(stream.height(0))]

    assert rows(growing) == rows(whole)
    assert len(rows(whole)) == 8


def test_a_code_block_says_what_it_is_in_few_cells() -> None:
    code_lines = DiffCode("diff", 12, INKS)
    code_lines.extend(["+x"])
    code_lines.close()

    assert [width_of(code_lines.line(y).segments) for y in range(len(code_lines))] == [12]

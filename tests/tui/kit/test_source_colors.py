"""Source code is colored from its top down, as far as it is rendered."""

from cogency_tui.tui.kit.code import SourceColors, SourceLayout, read_code
from cogency_tui.tui.kit.command_output import OutputLines
from cogency_tui.tui.theme_styles import theme_styles_of

MODULE = '"""A date.\n\nBorrowed from Django\'s for powers of 1024."""\n\nimport re  # for\n'
LONG = "".join(f'def f_{n}() -> int:\n    """Returns\n    from {n}, for it.\n    """\n' for n in range(3_000))


def roles(colors: SourceColors, index: int) -> set[str]:
    return {role for text, role in colors.pieces(index) if text.strip()}


def test_a_string_of_several_lines_has_its_color_in_each_of_them() -> None:
    lines = OutputLines()
    lines.write(MODULE)
    styles = theme_styles_of("night")
    layout = SourceLayout(lines, "python", 60, styles)
    (text,) = (each for each in layout.line(2).segments if "Django" in each.text)
    assert text.text.startswith("Borrowed from")
    assert text.style == styles("string", "raised")


def test_an_excerpt_and_what_is_below_a_gap_are_colored_line_by_line() -> None:
    lines = OutputLines()
    lines.write('x = """\nfrom y import z\nimport w')
    layout = SourceLayout(lines, "python", 60, theme_styles_of("night"), numbers=[1, 2, 7])
    assert len(layout.colors.rows) == 2
    keyword = theme_styles_of("night")("keyword", "raised")
    assert keyword not in [each.style for each in layout.line(1).segments]
    assert keyword in [each.style for each in layout.line(2).segments]


def test_a_line_far_below_is_colored_alone_until_the_lines_above_it_are_read() -> None:
    rows = LONG.split("\n")
    assert len(LONG) > 185_000
    colors = SourceColors("python", rows)
    assert roles(colors, 2) == {"string"}
    assert not colors.is_behind
    far = 4 * 2_990 + 2
    assert "keyword" in roles(colors, far)
    assert colors.is_behind
    colors.read_on()
    assert not colors.is_behind
    assert roles(colors, far) == {"string"}


def test_the_colors_are_those_of_the_whole() -> None:
    rows = LONG[:4_000].split("\n")
    colors = SourceColors("python", rows)
    colors.read_whole()
    assert [[*colors.pieces(at)] for at in range(len(rows))] == [*read_code("python", "\n".join(rows))]


def test_what_is_open_at_a_line_is_found() -> None:
    rows = MODULE.split("\n")
    colors = SourceColors("python", rows)
    colors.read_whole()
    assert [colors.start_of(at) for at in range(len(rows))] == [0, 0, 0, 3, 4, 5]


def test_text_in_no_language_has_no_colors() -> None:
    colors = SourceColors("nothing", ["import re"])
    colors.read_whole()
    assert [*colors.pieces(0)] == [("import re", "text")]
    assert not colors.is_behind

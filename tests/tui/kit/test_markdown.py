"""Markdown is drawn the same however it arrives, and nothing of it is lost or obeyed."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cogency_tui.tui.kit.lines import Line, width_of
from cogency_tui.tui.kit.markdown_stream import MarkdownStream
from cogency_tui.tui.theme_styles import theme_styles_of

WIDTH = 40
INKS = theme_styles_of("night")

SAMPLE = """# Title

A paragraph with **bold**, *italic*, `code` and [a link](https://example.org/x).
It goes on.

- one
- two
  - nested
1. first
2. second

> a quote of *some* length that has to be wrapped somewhere

```python
def f(x):
    '''doc
    string'''
    return 日本
```
after

| a | b |
|---|--:|
| 1 | 22 |

---
~~~
``` not a fence
~~~

the end"""


def draw(source: str, step: int = 0, width: int = WIDTH) -> list[Line]:
    """The lines of `source`, drawn after each `step` characters where that is given."""
    stream = MarkdownStream(width, INKS)
    for stop in range(step, len(source), step) if step else ():
        stream.show(source[:stop], closed=False)
        lines_of(stream)
    stream.show(source, closed=True)
    return lines_of(stream)


def lines_of(stream: MarkdownStream) -> list[Line]:
    return [stream.line(block, y) for block in range(stream.count) for y in range(stream.height(block))]


def texts(source: str, **options: int) -> list[str]:
    return [line.text.rstrip() for line in draw(source, **options)]


@pytest.mark.parametrize("step", [1, 2, 3, 7, 50])
def test_pieces_of_any_size_draw_the_same(step: int) -> None:
    whole, pieces = draw(SAMPLE), draw(SAMPLE, step)

    assert [line.text for line in pieces] == [line.text for line in whole]
    assert [line.segments for line in pieces] == [line.segments for line in whole]


FRAGMENTS = st.lists(
    st.sampled_from(["word ", "**b** ", "`c` ", "\n", "\n\n", "- x\n", "1. y\n", "  ", "```\n", "~~~py\n", "> ", "# ", "| a |\n", "|--|\n", "---\n", "é日"]),
    max_size=25,
).map("".join)  # fmt: skip


@pytest.mark.exhaustive
@settings(max_examples=60)
@given(FRAGMENTS, st.integers(min_value=1, max_value=9))
def test_any_markdown_in_any_pieces_draws_the_same_text(source: str, step: int) -> None:
    assert texts(source, step=step) == texts(source)


@settings(max_examples=60)
@given(FRAGMENTS)
def test_nothing_is_wider_than_the_pane(source: str) -> None:
    assert all(width_of(line.segments) <= WIDTH for line in draw(source))


def test_every_block_is_drawn() -> None:
    assert texts(SAMPLE) == [
        "Title",
        "─" * WIDTH,
        "",
        "A paragraph with bold, italic, code and",
        "a link (example.org). It goes on.",
        "",
        "• one",
        "• two",
        "  ◦ nested",
        "",
        "1. first",
        "2. second",
        "",
        "▎ a quote of some length that has to be",
        "▎ wrapped somewhere",
        "",
        " def f(x):",
        "     '''doc",
        "     string'''",
        "     return 日本",
        "",
        "after",
        "",
        "a   b",
        "─────",
        "1  22",
        "",
        "─" * WIDTH,
        "",
        " ``` not a fence",
        "",
        "the end",
    ]


def test_code_lies_on_the_raised_surface_over_the_whole_width() -> None:
    (line,) = draw("```python\nx = 1\n```")

    assert width_of(line.segments) == WIDTH
    assert {segment.style.bgcolor for segment in line.segments if segment.style} == {
        INKS("text", "raised").bgcolor
    }
    assert INKS("number", "raised") in [segment.style for segment in line.segments]


@pytest.mark.parametrize("step", [1, 100])
def test_the_language_is_at_the_end_of_the_first_line_of_code_and_is_no_text(step: int) -> None:
    first, second = draw("```python\nx = 1\ny = 2\n```", step)
    (nested,) = draw("- ```sh\n  ls\n  ```", step)
    (full,) = draw("```python\n" + "x" * (WIDTH - 9) + "\n```", step)
    (empty,) = draw("```python\n```", step)

    assert shown(first) == " x = 1" + " " * (WIDTH - 13) + "python "
    assert shown(second).strip() == "y = 2"
    assert shown(nested).endswith(" sh ")
    assert shown(full).strip() == "x" * (WIDTH - 9)
    assert "python" in shown(empty)
    assert [line.text.strip() for line in (first, nested, empty)] == ["x = 1", "•  ls", ""]


def shown(line: Line) -> str:
    return "".join(segment.text for segment in line.segments)


def test_settled_lines_are_never_drawn_again() -> None:
    stream = MarkdownStream(WIDTH, INKS)
    text = "first\n\nsecond\n\nthird"
    stream.show(text, closed=False)
    first = stream.line(0, 0)

    text += " goes on\n\n```py\nx = 1\ny = 2\n"
    stream.show(text, closed=False)
    code = stream.line(3, 1)
    stream.show(text + "z = 3\n", closed=False)

    assert stream.line(0, 0) is first
    assert stream.line(3, 1) is code


def test_only_what_is_looked_at_is_drawn() -> None:
    stream = MarkdownStream(WIDTH, INKS)
    stream.show("word\n\n" * 500 + "x " * 200, closed=True)
    estimated = len(stream)

    assert stream.height(500) > 1
    assert abs(len(stream) - estimated) < 10
    assert stream.count == 501


def test_code_that_is_drawn_for_the_first_time_takes_nothing_from_the_code_that_grows() -> None:
    source = "```\na\n```\n\n```\nb\n"
    stream = MarkdownStream(WIDTH, INKS)
    stream.show(source, closed=False)
    for block in (1, 0):
        stream.height(block)
    stream.show(f"{source}c\n", closed=False)
    assert [line.text.strip() for line in lines_of(stream)] == ["a", "", "b", "c"]


def test_a_block_knows_its_source() -> None:
    source = "# Title\npara\n\n- a\n\n- b\n\n\n```py\nx\n\ny\n```\nend"
    stream = MarkdownStream(WIDTH, INKS)
    stream.show(source, closed=True)

    assert [source[slice(*stream.source(block))] for block in range(stream.count)] == [
        "# Title",
        "para",
        "- a\n\n- b",
        "```py\nx\n\ny\n```",
        "end",
    ]


@pytest.mark.parametrize(
    "source",
    [
        "[/] and [b and [@click=app.quit]x[/]",
        "<script>alert(1)</script>",
        "<!-- a comment -->",
        "[ref]: https://example.org",
        "text\n\n\tindented code",
        "![picture](file.png)",
        "| a | b |\n|---|---|\n| x | y |",
    ],
)
def test_all_words_of_the_source_are_on_the_screen(source: str) -> None:
    shown = "".join("".join(texts(source)).split())
    words = [word for word in source.replace("|", " ").split() if word.strip("-!")]

    for word in words:
        assert all(part in shown for part in word.strip("![]()").split("]("))


@pytest.mark.parametrize(
    ("source", "shown", "link"),
    [
        ("[bank](https://evil.example/bank)", "bank (evil.example)", "https://evil.example/bank"),
        (
            "[https://bank.example](https://bank.example@evil.example)",
            "https://bank.example (evil.example)",
            "https://bank.example@evil.example",
        ),
        ("[example.org/x](https://example.org/x)", "example.org/x", "https://example.org/x"),
        ("[me](mailto:me@example.org)", "me (me@example.org)", "mailto:me@example.org"),
        ("[file](src/a.py)", "file (src/a.py)", None),
        ("[odd](https://[)", "odd (%5B)", "https://%5B"),
        ("[sneaky](<https://a.example/\x1b]0;x>)", "sneaky (a.example)", "https://a.example/%1B%5D0;x"),
    ],
)
def test_a_link_says_where_it_goes_and_is_opened_by_the_terminal(
    source: str, shown: str, link: str | None
) -> None:
    segments = draw(source, width=80)[0].segments

    assert "".join(segment.text for segment in segments) == shown
    assert {segment.style.link for segment in segments if segment.style and segment.style.link} == (
        {link} if link else set()
    )


def test_code_is_cut_between_words_if_it_can_be() -> None:
    assert texts("```\nreturn " + "x" * 30 + " + yyyyy\n```") == [" return " + "x" * 30, " ↪ + yyyyy"]


@pytest.mark.parametrize("theme", ["ansi", "mono"])
def test_code_has_rules_where_surfaces_look_the_same(theme: str) -> None:
    stream = MarkdownStream(WIDTH, theme_styles_of(theme))
    stream.show("```sh\nls\n```", closed=True)

    assert [line.text.strip() for line in lines_of(stream)] == ["─" * (WIDTH - 4) + " sh", "ls", "─" * WIDTH]


def test_a_row_that_continues_is_marked_in_its_margin() -> None:
    assert texts("```\n" + "x" * (WIDTH + 8) + "\n```") == [" " + "x" * (WIDTH - 2), " ↪ " + "x" * 10]


@pytest.mark.parametrize("theme", ["night", "ansi", "mono"])
def test_inline_code_differs_from_text_without_the_color_of_changes(theme: str) -> None:
    styles = theme_styles_of(theme)
    stream = MarkdownStream(WIDTH, styles)
    stream.show("some `code`", closed=True)
    drawn = {segment.text: segment.style for segment in stream.line(0, 0).segments}

    assert drawn["code"] != styles()
    assert drawn["code"] != styles("edit") or theme == "mono"


def test_a_wide_table_fits_and_keeps_its_words() -> None:
    source = "| name | what it does |\n|---|---|\n| retry | " + "asks again " * 12 + "|\n| 日本語 | x |"

    lines = draw(source)

    assert all(width_of(line.segments) <= WIDTH for line in lines)
    assert " ".join(line.text for line in lines).count("again") == 12


def test_a_megabyte_without_a_newline_is_drawn_whole_and_reads_as_one_line() -> None:
    text = "x" * 1_000_000
    stream = MarkdownStream(WIDTH, INKS)
    for stop in range(10_000, len(text) + 1, 10_000):
        stream.show(text[:stop], closed=stop == len(text))

    lines = lines_of(stream)

    assert sum(line.text.count("x") for line in lines) == len(text)
    assert {line.joint for line in lines[1:]} == {""}


def test_what_is_copied_from_a_code_block_is_the_code() -> None:
    lines = draw("```\n" + "long " * 20 + "\nshort\n```", width=30)

    copied = "".join(
        (line.joint if index else "") + line.text[line.lead :].rstrip() for index, line in enumerate(lines)
    )

    assert copied == "long " * 19 + "long\nshort"


def test_a_list_that_is_too_long_for_one_block_reads_on() -> None:
    source = "\n".join(f"{n}. item {n}" for n in range(1, 400))

    assert texts(source) == [f"{n}. item {n}".rjust(0) for n in range(1, 400)] or [
        line.split() for line in texts(source)
    ] == [[f"{n}.", "item", str(n)] for n in range(1, 400)]
    assert texts(source, step=997) == texts(source)


@pytest.mark.exhaustive
def test_a_table_that_is_too_long_for_one_block_goes_on_as_a_table() -> None:
    source = "| n | what |\n|--:|---|\n" + "\n".join(f"| {n} | number {n} |" for n in range(1500))

    lines = texts(source)

    assert not any("|" in line for line in lines)
    assert sum("number" in line for line in lines) == 1500
    assert texts(source, step=5003) == lines


def test_tasks_have_boxes() -> None:
    assert texts("- [ ] open\n- [x] done\n- [y] none") == ["☐ open", "☑ done", "• [y] none"]


def test_headings_are_told_apart_without_colour() -> None:
    styles = [draw("#" * level + " Title")[0].segments[0].style for level in (1, 2, 3, 4)]
    attributes = [(style.bold, style.underline, style.italic) for style in styles if style]

    assert "─" in draw("# Title")[1].text
    assert len(draw("## Title")) == 1
    assert attributes[0] == (True, None, None)
    assert attributes[3] == (True, None, True)
    assert all(bold for bold, _underline, _italic in attributes)


def test_columns_are_aligned_as_asked() -> None:
    assert texts("| left | mid | right |\n|:--|:-:|--:|\n| a | b | c |") == [
        "left  mid  right",
        "────────────────",
        "a      b       c",
    ]


def test_a_table_with_more_columns_than_there_is_room_for_is_a_list() -> None:
    names = [f"column{n}" for n in range(12)]
    source = f"| {' | '.join(names)} |\n|{'---|' * 12}\n| {' | '.join(str(n) for n in range(12))} |"

    lines = draw(source)

    assert all(width_of(line.segments) <= WIDTH for line in lines)
    assert [line.text for line in lines[:2]] == ["column0: 0", "column1: 1"]


def test_deep_nesting_stays_in_the_pane() -> None:
    source = (
        "\n".join("  " * depth + f"- level {depth}" for depth in range(30))
        + "\n\n"
        + "> " * 30
        + "deep quote"
    )

    lines = draw(source)

    assert all(width_of(line.segments) <= WIDTH for line in lines)
    assert sum("level" in line.text for line in lines) == 30


def test_what_is_loose_in_a_list_belongs_to_its_item() -> None:
    assert texts("1. one\n\n   more\n\n   ```sh\n   ls\n   ```\n2. two") == [
        "1. one",
        "",
        "   more",
        "",
        "    ls",
        "",
        "2. two",
    ]


def test_footnotes_images_and_html_are_text() -> None:
    assert texts("See[^1] ![alt](a.png) <b>x</b>\n\n[^1]: note", width=60) == [
        "See[^1] [image: alt] (a.png) <b>x</b>",
        "",
        "[^1]: note",
    ]


def test_an_address_that_is_its_own_text_is_shown_once() -> None:
    assert texts("<https://example.org> <me@example.org>", width=60) == ["https://example.org me@example.org"]


@pytest.mark.parametrize(
    "text", ["👍🏽 x", "e\u0301" * 90, "שלום עולם " * 9, "日本" * 50, "👨‍👩‍👧‍👦" * 30, "[/] [bold]"]
)
def test_hostile_text_has_the_right_width(text: str) -> None:
    for source in (text, f"- {text}", f"> {text}", f"```\n{text}\n```", f"| a |\n|---|\n| {text} |"):
        lines = draw(source)
        assert all(line.strip(WIDTH, INKS()).cell_length == WIDTH for line in lines)
        assert all(width_of(line.segments) <= WIDTH for line in lines)


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("see [the docs](https://exa", "see the docs"),
        ("see [the docs](", "see the docs"),
        ("- a **bold wo", "• a bold wo"),
        ("run `pip ins", "run pip ins"),
        ("**run `pip ins", "run pip ins"),
        ("a `[x](y` b", "a [x](y b"),
        ("a task [x", "a task [x"),
        ("2**10 and 2 ** 3", "2**10 and 2 ** 3"),
        ("2**10 is", "2**10 is"),
        ("`a` and **b** and [c](https://d.e)", "a and b and c (d.e)"),
    ],
)
def test_marks_that_are_open_while_a_line_is_written_do_not_stand_in_it(written: str, shown: str) -> None:
    stream = MarkdownStream(WIDTH, INKS)
    stream.show(f"before\n{written}" if not written.startswith("-") else written, closed=False)
    assert " ".join(line.text.strip() for line in lines_of(stream)).removeprefix("before ") == shown


def test_a_mark_that_is_never_closed_is_shown_once_the_text_has_ended() -> None:
    stream = MarkdownStream(WIDTH, INKS)
    for closed in (False, True):
        stream.show("see [the docs](https://exa", closed=closed)
        drawn = [line.text.strip() for line in lines_of(stream)]
        assert drawn == (["see [the docs](https://exa"] if closed else ["see the docs"])

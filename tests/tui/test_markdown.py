"""Markdown is drawn the same however it arrives, and nothing of it is lost or obeyed."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cogency_tui.tui.drawing.lines import Line, width_of
from cogency_tui.tui.drawing.stream import MarkdownStream
from cogency_tui.tui.theming import inks_of

WIDTH = 40
INKS = inks_of("night")

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
    stream = MarkdownStream(width, INKS)
    for start in range(0, len(source), step or max(1, len(source))):
        stream.feed(source[start : start + (step or len(source))])
    stream.close()
    return [stream.line(index) for index in range(len(stream))]


def texts(source: str, **options: int) -> list[str]:
    return [line.text.rstrip() for line in draw(source, **options)]


@pytest.mark.parametrize("step", [1, 2, 3, 7, 50])
def test_pieces_of_any_size_draw_the_same(step: int) -> None:
    whole, pieces = draw(SAMPLE), draw(SAMPLE, step)

    assert [line.text for line in pieces] == [line.text for line in whole]
    assert [line.segments for line in pieces] == [line.segments for line in whole]


FRAGMENTS = st.lists(
    st.sampled_from(["word ", "**b** ", "`c` ", "\n", "\n\n", "- x\n", "```\n", "~~~py\n", "> ", "# ", "| a |\n", "é日"]),
    max_size=25,
).map("".join)  # fmt: skip


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
        "",
        "A paragraph with bold, italic, code and",
        "a link (https://example.org/x). It goes",
        "on.",
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
    line = draw("```python\nx = 1\n```")[0]

    assert width_of(line.segments) == WIDTH
    assert {segment.style.bgcolor for segment in line.segments if segment.style} == {
        INKS("text", "raised").bgcolor
    }
    assert INKS("number", "raised") in [segment.style for segment in line.segments]


def test_settled_lines_are_never_drawn_again() -> None:
    stream = MarkdownStream(WIDTH, INKS)
    stream.feed("first\n\nsecond\n\nthird")
    first = stream.line(0)

    stream.feed(" goes on\n\n```py\nx = 1\ny = 2\n")
    code = stream.line(6)
    stream.feed("z = 3\n")

    assert stream.line(0) is first
    assert stream.line(6) is code


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


def test_a_link_says_where_it_goes_and_is_none_for_the_terminal() -> None:
    segments = draw("[bank](https://evil.example)")[0].segments

    assert "".join(segment.text for segment in segments) == "bank (https://evil.example)"
    assert all(segment.style is None or segment.style.link is None for segment in segments)


def test_a_wide_table_fits_and_keeps_its_words() -> None:
    source = "| name | what it does |\n|---|---|\n| retry | " + "asks again " * 12 + "|\n| 日本語 | x |"

    lines = draw(source)

    assert all(width_of(line.segments) <= WIDTH for line in lines)
    assert " ".join(line.text for line in lines).count("again") == 12


def test_a_megabyte_without_a_newline_is_drawn_in_linear_time() -> None:
    stream = MarkdownStream(WIDTH, INKS)
    stream.feed("x" * 300_000)
    stream.close()

    assert (
        sum(line.text.count("x") for line in (stream.line(index) for index in range(len(stream)))) == 300_000
    )


def test_what_is_copied_from_a_code_block_is_the_code() -> None:
    lines = draw("```\n" + "long " * 20 + "\nshort\n```", width=30)

    copied = "".join(
        (line.joint if index else "") + line.text[line.lead :].rstrip() for index, line in enumerate(lines)
    )

    assert copied.replace("\n", "").replace(" ", "") == "long" * 20 + "short"
    assert copied.count("\n") == 1

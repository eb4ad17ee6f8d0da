"""Wrapping: nothing is lost, nothing is too wide, and what is copied is what was written."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.segment import Segment
from rich.style import Style

from cogency_tui.tui.kit.cell_text import cells, fit, fit_path, fit_words
from cogency_tui.tui.kit.lazy_text_layout import Heights
from cogency_tui.tui.kit.lines import Line, chop, fold, folds, width_of, wrap

WORDS = st.text(alphabet=st.sampled_from("ab é日本e\u0301👍\n"), max_size=80)


def joined(lines: Sequence[Line]) -> str:
    """What copying all of `lines` gives."""
    return "".join((line.joint if index else "") + line.text for index, line in enumerate(lines))


@given(WORDS, st.integers(min_value=2, max_value=20))
def test_no_line_is_wider_than_asked_for(text: str, width: int) -> None:
    assert all(width_of(line.segments) <= width for line in wrap([Segment(text)], width))


@given(WORDS, st.integers(min_value=2, max_value=20))
def test_wrapping_loses_nothing_but_spaces(text: str, width: int) -> None:
    lines = wrap([Segment(text)], width)

    assert "".join(joined(lines).split()) == "".join(text.split())
    assert joined(lines).count("\n") == text.count("\n")


@given(WORDS, st.integers(min_value=2, max_value=20))
def test_chopping_code_loses_nothing_at_all(text: str, width: int) -> None:
    line = text.replace("\n", " ")

    lines = chop([Segment(line[:9]), Segment(line[9:])], width)

    assert joined(lines) == line
    assert all(width_of(each.segments) <= width for each in lines)


def test_wrapped_prose_is_copied_without_the_breaks() -> None:
    lines = wrap([Segment("the retry loop sleeps")], 10)

    assert [line.text for line in lines] == ["the retry", "loop", "sleeps"]
    assert joined(lines) == "the retry loop sleeps"


def test_a_word_over_several_segments_stays_together() -> None:
    lines = wrap([Segment("an "), Segment("un"), Segment("broken"), Segment(" word")], 9)

    assert [line.text for line in lines] == ["an", "unbroken", "word"]


def test_indentation_at_the_start_of_a_line_is_kept() -> None:
    assert [line.text for line in wrap([Segment("a\n  b")], 10)] == ["a", "  b"]


def test_wide_characters_break_anywhere_but_not_in_half() -> None:
    assert [line.text for line in wrap([Segment("日本語テ")], 5)] == ["日本", "語テ"]


def test_a_line_becomes_a_strip_of_the_full_width_once() -> None:
    line = Line([Segment("日本")])

    style = Style()
    strip = line.strip(10, style, margin=2)

    assert strip.cell_length == 10
    assert line.strip(10, style, margin=2) is strip


def test_texts_are_cut_where_they_say_least() -> None:
    assert fit("pytest -x tests", 8) == "pytest …"
    assert cells(fit("日本語", 4)) <= 4


def test_a_text_is_cut_after_a_word() -> None:
    text = "Copy it, or interrupt"
    assert [fit_words(text, width) for width in (21, 20, 13, 12, 10, 6, 5)] == [
        text,
        "Copy it, or …",
        "Copy it, or …",
        "Copy it …",
        "Copy it …",
        "Copy …",
        "Copy…",
    ]
    assert fit_words("日本語 日本語", 9) == "日本語 …"


def test_the_directories_of_a_path_give_way_before_its_name() -> None:
    path = "src/checkout/retry.py"
    assert [fit_path(path, width) for width in (21, 20, 14, 12, 10, 9)] == [
        path, "s/checkout/retry.py", "s/c/retry.py", "s/c/retry.py", "…/retry.py", "retry.py",
    ]  # fmt: skip
    assert fit_path("retry.py", 6) == "…ry.py"
    assert fit_path("日本語/設定.py", 9) == "…/設定.py"
    assert fit_path("/home/me/.config/app.toml", 16) == "/h/m/.c/app.toml"
    assert fit_path("src/**/*.py", 9) == "s/**/*.py"
    assert fit_path("src/checkout/", 11) == "s/checkout/"


@pytest.mark.exhaustive
@given(st.lists(st.integers(min_value=0, max_value=9), min_size=1, max_size=60), st.data())
def test_heights_agree_with_plain_sums(heights: list[int], data: st.DataObject) -> None:
    tree = Heights(heights[: len(heights) // 2])
    for height in heights[len(heights) // 2 :]:
        tree.append(height)
    for _ in range(3):
        index = data.draw(st.integers(min_value=0, max_value=len(heights) - 1))
        heights[index] = data.draw(st.integers(min_value=0, max_value=9))
        tree.set(index, heights[index])

    assert tree.total == sum(heights)
    assert [tree.before(index) for index in range(len(heights) + 1)] == [
        sum(heights[:index]) for index in range(len(heights) + 1)
    ]
    for y in range(tree.total):
        index, offset = tree.locate(y)
        assert tree.before(index) + offset == y
        assert offset < heights[index]


@given(st.text(st.sampled_from("ab   c漢é-/"), max_size=60), st.integers(6, 20), st.booleans())
def test_a_folded_line_fits_and_is_copied_as_it_was_written(text: str, width: int, hanging: bool) -> None:
    following = width - 2 if hanging else width
    lines = fold([Segment(text[:5]), Segment(text[5:])], width, following)

    assert joined(lines).rstrip(" ") == text.rstrip(" ")
    assert all(width_of(line.segments) <= (following if place else width) for place, line in enumerate(lines))
    assert len(lines) == (1 if cells(text) <= width else len(folds(text, width, following)))


def test_a_line_is_folded_at_a_space_in_its_second_half_or_anywhere() -> None:
    spaced = fold([Segment("one two  three fourteen")], 10)
    assert [line.text for line in spaced] == ["one two", " three", "fourteen"]
    assert [line.text for line in fold([Segment("a " + "w" * 12)], 8)] == ["a wwwwww", "wwwwww"]


@pytest.mark.parametrize("name", ["number", "zähler"])
def test_a_long_word_is_broken_after_a_sign_in_its_second_half(name: str) -> None:
    code = fold([Segment(f"result = some(first_argument, {name})")], 20)
    assert [line.text for line in code] == ["result = some(", "first_argument,", f"{name})"]
    path = wrap([Segment(f"src/humanize/{name}.py")], 18)
    assert [line.text for line in path] == ["src/humanize/", f"{name}.py"]

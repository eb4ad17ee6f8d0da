"""What matches, and the characters of a path that do, however much of it is shown."""

import pytest

from cogency_tui.tui.kit.fuzzy import Rank, marked_path, match_closely
from cogency_tui.tui.theme_styles import theme_styles_of

STYLES = theme_styles_of("night")
PATH = "src/checkout/retry.py"


def parts(width: int) -> list[tuple[str, str]]:
    """The parts of `PATH`, matched by `so/ret`, with their roles."""
    roles = {
        STYLES("dim", "surface"): "dim",
        STYLES("text", "surface"): "text",
        STYLES("accent", "surface", "bold"): "accent",
    }
    segments = marked_path(PATH, [0, 9, 12, 13, 14, 15], width, STYLES, "surface")
    return [(segment.text, roles[segment.style]) for segment in segments if segment.style]


def test_directories_are_dim_and_the_matching_characters_marked() -> None:
    name = [("ret", "accent"), ("ry.py", "text")]
    whole = [("s", "accent"), ("rc/check", "dim"), ("o", "accent"), ("ut", "dim"), ("/", "accent"), *name]
    assert parts(40) == whole


def test_characters_of_shortened_directories_are_not_marked() -> None:
    name = [("ret", "accent"), ("ry.py", "text")]
    assert parts(19) == [("s/check", "dim"), ("o", "accent"), ("ut", "dim"), ("/", "accent"), *name]
    assert parts(14) == [("s/c", "dim"), ("/", "accent"), *name]
    assert parts(6) == [("…ry.py", "text")]


@pytest.mark.parametrize(
    ("query", "rank"),
    [
        ("Go to the next pane", Rank.EXACT),
        ("go t", Rank.PREFIX),
        ("next pane", Rank.WORD),
        ("ext", Rank.INSIDE),
        ("ex", None),
        ("pane next", Rank.INSIDE),
        ("pan nope", None),
        ("nxt", Rank.LETTERS),
        ("gtnp", None),
        ("pne", Rank.LETTERS),
        ("ane", Rank.INSIDE),
        ("nn", None),
    ],
)
def test_a_sentence_is_matched_by_words_and_by_letters_that_are_close_together(
    query: str, rank: Rank | None
) -> None:
    hit = match_closely(query, "Go to the next pane")
    assert (hit and hit[0]) == rank
    assert match_closely("cost", "Rename this conversation") is None

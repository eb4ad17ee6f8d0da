"""The words of messages: things named in a sentence."""

import pytest

from cogency_tui.errors import in_words
from cogency_tui.workspace.git.worktrees import named


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ([], ""),
        (["a"], "a"),
        (["a", "b"], "a and b"),
        (["a", "b", "c"], "a, b and c"),
        (["a", "b", "c", "d"], "a, b, c and 1 more"),
        ([*"abc", *["x"] * 1200], "a, b, c and 1,200 more"),
    ],
)
def test_names_in_a_sentence(names: list[str], expected: str) -> None:
    assert in_words(names, 3) == expected


def test_all_names_are_named_where_no_number_is_given() -> None:
    assert in_words([*"abcde"]) == "a, b, c, d and e"


def test_a_worktree_names_two_files_as_a_sentence_does() -> None:
    assert named(["a.txt", "b.txt"]) == "a.txt and b.txt"

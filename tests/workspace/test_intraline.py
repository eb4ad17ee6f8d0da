"""Words that differ within a line, and lines that are versions of each other."""

from cogency_tui.workspace.intraline import marks, twins


def test_only_the_words_that_differ_are_marked() -> None:
    assert marks("total = price * count", "total = cost * count") == (((8, 13),), ((8, 12),))
    assert marks("a b c", "a b c d") == ((), ((5, 7),))


def test_lines_with_nothing_in_common_and_endless_ones_are_not_marked() -> None:
    assert marks("return x", "class Shop:") == ((), ())
    assert marks("a " * 600, "b " + "a " * 599) == ((), ())


def test_as_many_lines_as_before_are_paired_in_order() -> None:
    assert twins(["a", "b"], ["x", "y"]) == {0: 0, 1: 1}


def test_other_lines_are_paired_by_what_they_have_in_common() -> None:
    old = ["def one(a):", "    return a"]
    new = ["import os", "def one(a, b):", "    log(a)", "    return a + b"]
    assert twins(old, new) == {0: 1, 1: 3}
    assert twins(["x"] * 60, ["x"] * 61) == {}

"""The difference between problems before and after an edit."""

import pytest

from cogency_tui.tools.language_servers.client import Problem
from cogency_tui.tools.language_servers.diagnostics import compare


def problem(line: int, message: str = "bad") -> Problem:
    return Problem(line, 1, "error", message, "rule", "fake")


OLD = "a\nb\nc\nd\n"


@pytest.mark.parametrize(
    ("new", "before", "after", "added", "fixed"),
    [
        pytest.param(OLD, [1], [1], [], [], id="nothing"),
        pytest.param(f"x\ny\n{OLD}", [1, 3], [3, 5], [], [], id="moved down"),
        pytest.param("b\nc\nd\n", [3], [2], [], [], id="moved up"),
        pytest.param(f"x\n{OLD}", [3], [1, 4], [1], [], id="one more above"),
        pytest.param("a\nB\nc\nd\n", [2], [2], [], [], id="in a line that was rewritten"),
        pytest.param("a\nB\nc\nd\n", [2], [], [], [2], id="fixed"),
        pytest.param("a\nB\nc\nd\n", [2], [4], [4], [2], id="gone here and come there"),
        pytest.param("d\na\nb\nc\n", [4], [1], [], [], id="moved with its line"),
        pytest.param("a\nb\nc\nd\nb\n", [2], [2, 5], [5], [], id="copied"),
        pytest.param("", [1, 2], [], [], [1, 2], id="emptied"),
    ],
)
def test_problems_that_only_moved_are_the_same(
    new: str, before: list[int], after: list[int], added: list[int], fixed: list[int]
) -> None:
    came, went = compare([problem(n) for n in before], [problem(n) for n in after], OLD, new)
    assert [each.line for each in came] == added
    assert [each.line for each in went] == fixed


def test_a_line_number_in_a_message_is_no_difference() -> None:
    before, after = problem(2, "hides the one on line 1"), problem(3, "hides the one on line 2")
    assert compare([before], [after], OLD, f"x\n{OLD}") == ([], [])


def test_another_kind_at_the_same_place_is_another_problem() -> None:
    before, after = problem(2, "bad"), problem(2, "worse")
    assert compare([before], [after], OLD, OLD) == ([after], [before])


def test_two_of_a_kind_on_a_line_are_counted() -> None:
    assert compare([problem(1)], [problem(1), problem(1)], OLD, OLD) == ([problem(1)], [])

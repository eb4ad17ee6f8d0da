"""The difference between problems before and after an edit."""

import msgspec
import pytest

from cogency_tui.tools.language_servers.client import Problem
from cogency_tui.tools.language_servers.diagnostics import Reported, compare, distinct, still_there


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


def test_what_is_still_there_has_its_place_of_now() -> None:
    kept, gone = still_there([problem(1), problem(3, "worse")], [problem(2), problem(4)], OLD, f"x\n{OLD}")
    assert (kept, gone) == ([problem(2)], [problem(3, "worse")])


CHECKED = Problem(2, 5, "error", '"x" is not defined', "reportUndefinedVariable", "basedpyright")
LINTED = Problem(2, 5, "error", "Undefined name `x`", "F821", "Ruff")
REPEATED = Problem(1, 5, "error", 'Method declaration "f" is obscured', "reportRedeclaration", "basedpyright")
REDEFINED = Problem(4, 5, "error", "Redefinition of unused `f` from line 1", "F811", "Ruff")
BROKEN = Problem(3, 1, "error", "Expected expression", "", "basedpyright")
SYNTAX = Problem(3, 4, "error", "Expected an expression", "invalid-syntax", "Ruff")


@pytest.mark.parametrize(
    ("problems", "kept"),
    [
        ([LINTED, CHECKED], [CHECKED]),
        ([CHECKED, LINTED, LINTED], [CHECKED, LINTED]),
        ([REPEATED, REDEFINED], [REPEATED]),
        ([BROKEN, SYNTAX], [BROKEN]),
        ([LINTED, REDEFINED, SYNTAX], [LINTED, REDEFINED, SYNTAX]),
        ([msgspec.structs.replace(CHECKED, line=3), LINTED], None),
        ([msgspec.structs.replace(CHECKED, message='"y" is not defined'), LINTED], None),
    ],
)
def test_one_problem_of_two_programs_is_one(problems: list[Problem], kept: list[Problem] | None) -> None:
    found = distinct([("a.py", each) for each in problems])
    assert found == [("a.py", each) for each in (problems if kept is None else kept)]


@pytest.mark.parametrize(
    ("first", "later", "left"),
    [
        ([LINTED], [CHECKED], []),
        ([CHECKED], [LINTED], []),
        ([LINTED], [CHECKED, CHECKED], [CHECKED]),
        ([LINTED], [msgspec.structs.replace(CHECKED, line=9)], []),
        ([LINTED], [msgspec.structs.replace(CHECKED, message='"y" is not defined')], None),
        ([REDEFINED], [REPEATED], []),
        ([SYNTAX], [BROKEN], []),
        ([SYNTAX], [msgspec.structs.replace(BROKEN, line=9)], None),
        ([LINTED], [LINTED], None),
        ([problem(1)], [problem(1)], None),
    ],
)
def test_what_another_program_reports_later_of_an_edit_is_new_only_if_it_is_another(
    first: list[Problem], later: list[Problem], left: list[Problem] | None
) -> None:
    reported = Reported()
    named = [("a.py", each) for each in later]
    assert reported.add("one", [("a.py", each) for each in first]) == [("a.py", each) for each in first]
    assert reported.add("two", named) == named
    assert reported.add("one", named) == (named if left is None else [("a.py", each) for each in left])


def test_only_the_last_edits_are_remembered() -> None:
    reported = Reported()
    for number in range(100):
        reported.add(str(number), [("a.py", LINTED)])
    assert reported.add("99", [("a.py", CHECKED)]) == []
    assert reported.add("0", [("a.py", CHECKED)]) == [("a.py", CHECKED)]


def test_a_problem_of_another_file_is_another() -> None:
    assert len(distinct([("a.py", CHECKED), ("b.py", LINTED)])) == 2

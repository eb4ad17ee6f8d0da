"""The comparison as a user and a script read it."""

import json
from collections.abc import Sequence
from dataclasses import replace

from cogency_tui.config.schema import Settings
from cogency_tui.evals.figures import Figures
from cogency_tui.evals.report import Report
from cogency_tui.evals.runner import Attempt, Combination, Planned
from cogency_tui.evals.tasks import TASKS, Task

SOME = [TASKS["locate"], TASKS["one-of-three"]]
MUCH = Figures(12_345, 12_345, 9_999, 1_000, 1_000, 9, 987_654_321, 999_999, 5, 1234.5, True, 98_765.4)


def combinations(number: int) -> list[Combination]:
    return [
        Combination(letter, Settings(provider="openai", dialect="action"), "a-model")
        for letter in "ABCDEFGHIJKLMNOP"[:number]
    ]


def attempt(
    task: Task, combination: Combination, failure: str = "", number: int = 1, figures: Figures = MUCH
) -> Attempt:
    return Attempt(Planned(task, combination, number), failure, figures, "action", "yes", ["slip"])


def row(lines: Sequence[str], head: str) -> list[str]:
    [found] = [line.removeprefix(head) for line in lines if line.startswith(f"{head} ")]
    return found.replace("✓ ", "✓").replace("✗ ", "✗").replace("~ ", "~").split()


def test_there_is_a_row_for_each_task_and_a_column_for_each_combination() -> None:
    first, second = combinations(2)
    report = Report(SOME, [first, second], 2)
    report.attempts += [attempt(SOME[0], first), attempt(SOME[0], first, number=2)]
    report.attempts += [attempt(SOME[0], second), attempt(SOME[0], second, "no", 2)]
    report.attempts += [attempt(SOME[1], first, "bad"), attempt(SOME[1], first, "bad", 2)]
    lines = list(report.lines())
    assert lines[0] == "A  openai/a-model, dialect action, mode auto"
    assert row(lines, "task") == ["A", "B"]
    assert row(lines, "locate") == ["✓2/2", "~1/2"]
    assert row(lines, "one-of-three") == ["✗0/2", "–"]
    assert row(lines, "success") == ["50%", "50%"]
    assert row(lines, "cycles") == ["49,380", "24,690"]
    assert row(lines, "cost") == ["$4,938.00", "$2,469.00"]


def test_an_effort_is_named_where_one_is_set() -> None:
    only = Combination("A", Settings(provider="openai", dialect="action", effort="low"), "a-model")
    report = Report(SOME, [only], 1)
    assert next(report.lines()) == "A  openai/a-model, dialect action, effort low, mode auto"
    assert report.as_json()["combinations"][0]["effort"] == "low"


def test_an_effort_that_was_refused_is_marked() -> None:
    only = Combination("A", Settings(provider="openai", dialect="action", effort="max"), "a-model")
    report = Report(SOME, [only], 2)
    report.attempts += [attempt(SOME[0], only), replace(attempt(SOME[0], only), effort_refused=True)]
    assert next(report.lines()) == "A  openai/a-model, dialect action, effort max (refused), mode auto"
    assert report.as_json()["combinations"][0]["effort_refused"] is True
    assert [each["effort_refused"] for each in report.as_json()["attempts"]] == [False, True]


def test_the_dialect_that_a_model_wrote_is_named_where_the_setting_does_not_name_it() -> None:
    [only] = combinations(1)
    report = Report(SOME, [only], 1)
    report.attempts.append(replace(attempt(SOME[0], only), dialect="xml"))
    assert next(report.lines()) == "A  openai/a-model, dialect action (xml), mode auto"


def test_no_table_is_wider_than_80_columns() -> None:
    report = Report(SOME, combinations(14), 1000)
    report.attempts += [attempt(task, each) for task in SOME for each in combinations(14)]
    lines = list(report.lines())
    assert max(map(len, lines)) <= 80
    assert [line.split()[1:] for line in lines if line.startswith("task")] == [
        [*"ABCDEF"],
        [*"GHIJKL"],
        [*"MN"],
    ]
    assert [len(row([line], line.split("  ")[0])) for line in lines if "$" in line] == [6, 6, 2]


def test_each_reason_of_a_failure_has_one_line_with_its_combinations() -> None:
    both = combinations(2)
    report = Report(SOME, both, 2)
    report.attempts += [attempt(SOME[1], each, "two\nlines \x1b[31m") for each in both]
    report.attempts += [attempt(SOME[0], both[1], "x" * 1000), attempt(SOME[1], both[0], "other", 2)]
    lines = list(report.lines())
    failures = lines[lines.index("Failures:") + 1 :]
    assert [line.split(": ")[0].split(maxsplit=1) for line in failures] == [
        ["locate", "B"],
        ["one-of-three", "A, B"],
        ["one-of-three", "A"],
    ]
    assert len(failures[0]) < 350
    assert "\x1b" not in "".join(failures)


def test_without_an_attempt_nothing_is_made_up() -> None:
    report = Report(SOME, combinations(1), 1)
    lines = list(report.lines())
    assert row(lines, "success") == row(lines, "cost") == row(lines, "locate") == ["–"]
    assert "Failures:" not in lines
    assert not report.succeeded


def test_it_is_a_success_once_all_that_was_planned_succeeded() -> None:
    [only] = combinations(1)
    report = Report(SOME, [only], 1)
    report.attempts.append(attempt(SOME[0], only))
    assert not report.succeeded
    report.attempts.append(attempt(SOME[1], only))
    assert report.succeeded
    report.attempts[0] = attempt(SOME[0], only, "no")
    assert not report.succeeded


def test_progress_names_the_attempt_and_the_reason_of_a_failure() -> None:
    [only] = combinations(1)
    figures = Figures(seconds=1.26)
    one, three = Report(SOME, [only], 1), Report(SOME, [only], 3)
    assert one.progress(attempt(SOME[0], only, figures=figures)) == "✓ A locate (1.3 s)"
    failed = attempt(SOME[0], only, "bad\nluck", 2, figures)
    assert three.progress(failed).startswith("✗ A locate 2/3 (1.3 s): bad")


def test_json_has_every_attempt_and_the_totals() -> None:
    [only] = combinations(1)
    report = Report(SOME, [only], 2)
    report.attempts += [attempt(SOME[0], only), attempt(SOME[0], only, "bad", 2)]
    found = json.loads(json.dumps(report.as_json()))
    assert (found["version"], found["times"], found["tasks"]) == (1, 2, ["locate", "one-of-three"])
    [combination] = found["combinations"]
    chosen = {
        "id": "A",
        "provider": "openai",
        "model": "a-model",
        "dialect": "action",
        "effort": "auto",
        "mode": "auto",
    }
    assert chosen.items() <= combination.items()
    assert {"attempts": 2, "successes": 1, "cycles": 24_690, "cost": 2469.0}.items() <= combination.items()
    good, bad = found["attempts"]
    assert {"task": "locate", "combination": "A", "number": 1, "success": True}.items() <= good.items()
    assert {"failure": "bad", "malformed": 1000, "slips": ["slip"], "answer": "yes"}.items() <= bad.items()

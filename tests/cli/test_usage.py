"""`usage`: the report as tables and as data."""

import json
from pathlib import Path

from tests.cli.conftest import Run

UNITS = {
    "input_tokens",
    "output_tokens",
    "cached_tokens",
    "cost_usd",
    "model_seconds",
    "tool_seconds",
    "waiting_seconds",
}


def test_the_usage_of_a_project_is_tables_a_chart_and_a_comparison(run: Run, project: Path) -> None:
    run("run", "replace 'hello' with 'goodbye' in greet.py", "--permissions", "edits")

    shown = run("usage").stdout
    assert "Spent by model" in shown
    assert "Success by model" in shown
    assert "offline/offline-1" in shown
    assert "█" in shown
    assert shown.count("oo few cases to compare") == 1
    assert "greet.py" in run("usage", "--by", "file", "--since", "all").stdout
    elsewhere = run("usage", "--project", str(project.parent))
    assert (elsewhere.returncode, elsewhere.stdout) == (0, "")
    assert "--all" in elsewhere.stderr
    assert "offline" in run("usage", "--all", cwd=project.parent).stdout


def test_the_report_as_json_has_units_and_null_where_a_figure_cannot_be(run: Run, project: Path) -> None:
    run("run", "replace 'hello' with 'goodbye' in greet.py", "--permissions", "edits")

    found = json.loads(run("usage", "--by", "model,week", "--json").stdout)
    (row,) = found["rows"]
    assert found["by"] == ["model", "week"]
    assert found["project"] == str(project)
    assert row["model"] == "offline/offline-1"
    assert row.keys() > UNITS
    assert (row["turns"], row["edits"], row["undecided_hunks"]) == (1, 1, 1)
    assert row["input_tokens"] > 0
    assert {trend["figure"] for trend in row["trends"]} >= {"failed_calls", "malformed_calls"}

    by_tool = json.loads(run("usage", "--by", "tool", "--since", "all", "--json").stdout)
    edit = next(row for row in by_tool["rows"] if row["tool"] == "edit")
    assert (edit["requests"], edit["cost_usd"], edit["calls"], edit["trends"]) == (None, None, 1, [])
    assert (by_tool["since"], by_tool["total"]["turns"]) == (None, 1)


def test_what_is_wrong_is_named_with_what_is_right(run: Run) -> None:
    unknown = run("usage", "--by", "day")
    assert unknown.returncode == 2
    assert "model, tool, file, project, week" in unknown.stderr
    moment = run("usage", "--since", "whenever")
    assert moment.returncode == 2
    assert "2026-05-01" in moment.stderr
    nowhere = run("usage", "--project", "/nonexist")
    assert nowhere.returncode == 2
    assert "/nonexist is no directory." in nowhere.stderr
    empty = run("usage", "--since", "1d", "--until", "2d")
    assert empty.returncode == 2
    assert "empty" in empty.stderr

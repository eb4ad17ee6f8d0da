"""`conversations rerun`: a turn again, in a copy of its files."""

import json
from pathlib import Path

from tests.cli.conftest import Run


def begin(run: Run) -> str:
    run("run", "replace 'hello' with 'goodbye' in greet.py", "--permissions", "edits")
    return json.loads(run("conversations", "list", "--json").stdout)["id"]


def test_a_turn_is_run_again_and_compared(run: Run, project: Path) -> None:
    id = begin(run)
    again = run(
        *("conversations", "rerun", id[:10], "--check", "grep -c goodbye greet.py"),
        COGENCY_PERMISSIONS="edits",
    )
    assert again.returncode == 0, again.stderr
    assert "Running in a copy of the project" in again.stderr
    figures = {line.split()[0]: line.split()[1:] for line in again.stdout.splitlines()[1:9]}
    assert figures["model"] == ["offline/offline-1", "offline/offline-1"]
    assert figures["files"] == ["1", "1"]
    assert figures["check"] == ["✓", "exit", "0", "✓", "exit", "0"]
    assert again.stdout.count("── again") == 1
    assert "--- a/greet.py" in again.stdout.partition("── again")[2]
    assert (project / "greet.py").read_text() == 'print("goodbye")\n'
    assert json.loads(run("conversations", "list", "--json").stdout)["id"] == id


def test_edits_run_in_the_copy_and_refused_calls_are_named(run: Run, project: Path) -> None:
    id = begin(run)
    settings = {"COGENCY_PERMISSIONS": "ask", "COGENCY_SANDBOX": "off"}
    again = run("conversations", "rerun", id, "--json", **settings)
    assert json.loads(again.stdout)["right"]["files"] == [["greet.py", "changed"]]
    assert "Refused" not in again.stderr
    refused = run("conversations", "rerun", id, "--json", "--permissions", "ask", **settings)
    assert json.loads(refused.stdout)["right"]["files"] == []
    assert "Refused: edit " in refused.stderr
    assert (project / "greet.py").read_text() == 'print("goodbye")\n'


def test_the_comparison_as_json_has_both_sides(run: Run) -> None:
    id = begin(run)
    found = json.loads(
        run("conversations", "rerun", id, "--turn", "1", "--json", COGENCY_PERMISSIONS="plan").stdout
    )
    assert (found["left"]["calls"], found["left"]["files"]) == (2, [["greet.py", "changed"]])
    assert found["right"]["files"] == []
    assert found["right"]["check"] is None


def test_a_turn_that_is_not_there_is_named(run: Run) -> None:
    id = begin(run)
    missing = run("conversations", "rerun", id, "--turn", "4")
    assert missing.returncode == 2
    assert "no turn 4" in missing.stderr
    unknown = run("conversations", "rerun", id, "--provider", "nobody")
    assert unknown.returncode == 2
    assert "nobody" in unknown.stderr

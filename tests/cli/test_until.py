"""`run --until`: turns until a command succeeds, in events, lines and the exit status."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run

REPLACE = "replace 'hello' with 'goodbye' in greet.py"
CHECK = "cat greet.py; grep -q goodbye greet.py"


def events(output: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in output.splitlines()]


def test_it_succeeds_with_status_0(run: Run, project: Path) -> None:
    done = run("run", REPLACE, "--permissions", "auto", "--until", CHECK, "--json")
    assert done.returncode == 0, done.stderr
    seen = events(done.stdout)
    assert [event["type"] for event in seen if event["type"] in ("user", "end")] == [
        "user",
        "end",
        "user",
        "end",
    ]
    first, *_, check, report, end = seen
    assert first["until"]["turn"] == 1
    assert check["ran"]["command"] == CHECK
    assert check["ran"]["state"] == "done"
    assert check["ran"]["output"] == 'print("goodbye")'
    assert report["payload"] == {
        "error": f"`{CHECK}` succeeded after 1 turn, 1 file changed.",
        "notice": True,
        "report": True,
    }
    assert end["conversation"] == first["conversation"]
    assert not any(event.get("partial") for event in seen)
    shown = events(run("conversations", "show", first["conversation"], "--json").stdout)
    assert check["ran"] in [event.get("ran") for event in shown]


def test_it_gives_up_with_status_1_and_says_what_does_not_hold(run: Run) -> None:
    done = run("run", "--until", "echo broken; exit 3", "--max-turns", "1")
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    assert "· turn 1 of 1" in lines
    assert [line for line in lines if line.startswith("✗ echo broken; exit 3 exit 3 (")]
    assert "  broken" in lines
    assert lines[-1] == (
        "◇ Stopped after 1 turn: the limit of 1 turn is reached. `echo broken; exit 3` failed (exit 3): broken"
    )


def test_a_refused_call_is_named_with_what_would_allow_it(run: Run) -> None:
    done = run("run", REPLACE, "--permissions", "ask", "--until", CHECK, "--max-turns", "1")
    assert done.returncode == 1
    assert "Allow it with --permissions edits." in done.stderr


def test_time_runs_out_with_status_1(run: Run) -> None:
    done = run("run", "--until", "sleep 60", "--timeout", "0.5")
    assert done.returncode == 1
    assert "the limit of 0.5 s is reached" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["hi", "--until", " "], "--until needs a command."),
        (["hi", "--max-turns", "3"], "--max-turns needs --until."),
        (["hi", "--until", "true", "--max-turns", "0"], "must be a whole number of at least 1"),
    ],
)
def test_a_mistake_is_a_usage_error(run: Run, arguments: list[str], problem: str) -> None:
    done = run("run", *arguments)
    assert done.returncode == 2
    assert problem in done.stderr


def test_ctrl_c_interrupts_with_status_130(project: Path, tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-P",
        "-m",
        "cogency_tui",
        "run",
        "--until",
        "echo on; sleep 60",
        "--json",
        "--chunks",
    ]
    environ = {**os.environ, "COGENCY_DATA": str(tmp_path / "data"), "COGENCY_PROVIDER": "offline"}
    with subprocess.Popen(command, cwd=project, env=environ, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if '"on' in line:
                process.send_signal(signal.SIGINT)
                break
        rest = process.stdout.read()
        assert process.wait(20) == 130
    assert events(rest)[-1]["type"] == "end"
    assert "interrupted" in events(rest)[-2]["payload"]["error"]

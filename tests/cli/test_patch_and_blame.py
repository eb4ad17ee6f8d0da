"""`edits show --patch` and `edits blame` as a person's shell would run them."""

import json
import subprocess
from pathlib import Path

from tests.cli.conftest import Run

REPLACE = "replace 'hello' with 'goodbye' in greet.py"


def ask(run: Run, prompt: str = REPLACE) -> None:
    done = run("run", prompt, "--permissions", "auto")
    assert done.returncode == 0, done.stderr


def test_a_patch_of_what_is_kept_applies_to_the_files_before(run: Run, project: Path, tmp_path: Path) -> None:
    ask(run)
    done = run("edits", "show", "--patch")
    assert done.returncode == 0, done.stderr
    copy = tmp_path / "copy"
    copy.mkdir()
    (copy / "greet.py").write_text('print("hello")\n')
    subprocess.run(["git", "apply"], cwd=copy, input=done.stdout, text=True, check=True)
    assert (copy / "greet.py").read_text() == (project / "greet.py").read_text()
    assert run("edits", "show", "--patch", "--turn", "1").stdout == done.stdout

    run("edits", "revert")
    done = run("edits", "show", "--patch")
    assert (done.returncode, done.stdout) == (0, "")
    assert "No kept changes" in done.stderr


def test_a_patch_of_what_is_not_there_says_so(run: Run) -> None:
    done = run("edits", "show", "--patch")
    assert done.returncode == 2
    assert "No conversation" in done.stderr
    ask(run)
    done = run("edits", "show", "--patch", "--turn", "7")
    assert done.returncode == 2
    assert "In turn 7 the agent changed no file" in done.stderr
    assert run("edits", "show").returncode == 2
    assert run("edits", "show", "1", "--patch").returncode == 2


def test_blame_names_turn_prompt_and_call_of_each_line(run: Run, project: Path) -> None:
    ask(run)
    (project / "greet.py").write_text("# mine\n" + (project / "greet.py").read_text())
    done = run("edits", "blame", "greet.py")
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    assert first.split() == ["1", "#", "mine"]
    assert "turn 1" in second
    assert "replace 'hello' with" in second

    values = [json.loads(line) for line in run("edits", "blame", "greet.py", "--json").stdout.splitlines()]
    assert values[0] == {"line": 1, "text": "# mine", "edit": None}
    (value,) = [json.loads(run("edits", "blame", "greet.py:2", "--json").stdout)]
    assert value == values[1]
    assert (value["turn"], value["prompt"], value["tool"]) == (1, REPLACE, "edit")
    assert value["call"]
    assert value["text"] == 'print("goodbye")'


def test_blame_of_what_is_not_there_says_so(run: Run, project: Path) -> None:
    ask(run)
    assert "no line 9" in run("edits", "blame", "greet.py:9").stderr
    done = run("edits", "blame", "nope.py")
    assert done.returncode != 0
    assert "nope.py" in done.stderr
    (project / "a:1").write_text("x\n")
    assert run("edits", "blame", "a:1").returncode == 0

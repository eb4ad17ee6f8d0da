"""Commands that change something, with a stdout that nobody reads any more: they do it all the same."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cogency_tui.agent.permissions.rules import FILE_NAME, Rules
from cogency_tui.config.schema import config_directory
from tests.cli.conftest import Run

Piped = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def piped(run: Run) -> Piped:
    """Run a command of which the reader of stdout has ended."""

    def run_command(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        read, target = os.pipe()
        os.close(read)
        try:
            return run(*arguments, stdout=target, **environment)
        finally:
            os.close(target)

    return run_command


@pytest.fixture
def changed(run: Run, project: Path) -> Path:
    """A file that the agent has changed."""
    done = run("run", "replace 'hello' with 'goodbye' in greet.py", "--permissions", "auto")
    assert done.returncode == 0, done.stderr
    return project / "greet.py"


@pytest.mark.parametrize("as_json", [[], ["--json"]])
def test_edits_are_taken_back_and_made_again(piped: Piped, changed: Path, as_json: list[str]) -> None:
    done = piped("edits", "revert", "--to", "0", *as_json)
    assert (done.returncode, changed.read_text()) == (0, 'print("hello")\n')
    assert done.stderr.startswith("Reverted 1 edit in 1 file.")
    done = piped("edits", "revert", "--redo", *as_json)
    assert (done.returncode, changed.read_text()) == (0, 'print("goodbye")\n')
    done = piped("edits", "restore", "1", "--before", *as_json)
    assert (done.returncode, changed.read_text()) == (0, 'print("hello")\n')


@pytest.mark.exhaustive
def test_edits_are_taken_back_where_stdout_is_closed_and_it_says_that(changed: Path, run: Run) -> None:
    command = [sys.executable, "-m", "cogency_tui", "edits", "revert"]
    env = {**os.environ, "COGENCY_DATA": str(changed.parent.parent / "data")}
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", *command],
        cwd=changed.parent,
        env=env,
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
        check=False,
    )
    assert changed.read_text() == 'print("hello")\n'
    assert "Reverted 1 edit" in done.stderr
    assert (done.returncode, "Cannot write the output" in done.stderr) == (1, True)


def test_what_is_only_looked_at_changes_nothing(piped: Piped, changed: Path) -> None:
    assert piped("edits", "revert", "--dry-run").returncode == 1
    assert changed.read_text() == 'print("goodbye")\n'


def test_a_project_is_trusted(piped: Piped, run: Run, project: Path) -> None:
    (project / ".cogency").mkdir()
    (project / ".cogency" / "config.toml").write_text('[agents.reviewer]\ndescription = "reads"\n')
    piped("trust", "--yes")
    assert "Trusted." in run("trust").stdout


def test_all_rules_that_are_named_are_revoked(piped: Piped, project: Path) -> None:
    path = config_directory() / FILE_NAME
    ids = [Rules(path, project).add("network", host).id for host in ("a.example", "b.example")]
    assert piped("permissions", "revoke", *ids).returncode == 0
    assert not Rules(path, project).list()

"""The command line where it was started badly: an error and an exit status, and never a traceback."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests import ROOT
from tests.cli.conftest import Run

COMMANDS = [
    ["run", "hello"],
    ["run", "--json", "hello"],
    ["--linear", "hello"],
    ["--help"],
    ["--version"],
    ["run", "--help"],
    ["doctor"],
    ["config", "show"],
]


def start(script: str, arguments: list[str], project: Path) -> subprocess.CompletedProcess[str]:
    """`cogency-tui` with these arguments, started by a line of the shell in which `"$@"` is the program."""
    command = ["sh", "-c", script, "sh", sys.executable, "-m", "cogency_tui", *arguments]
    return subprocess.run(
        command,
        cwd=project,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def expect_clear(done: subprocess.CompletedProcess[str], text: str) -> None:
    assert done.returncode in (1, 2), done.stderr
    assert text in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_a_full_disk_behind_stdout(run: Run, arguments: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        expect_clear(run(*arguments, stdout=full.fileno()), "Cannot write the output: No space left")


@pytest.mark.exhaustive
def test_a_full_disk_behind_the_stdout_of_a_shell(project: Path) -> None:
    done = start('exec "$@" > /dev/full', ["run", "hello"], project)
    expect_clear(done, "Cannot write the output: No space left")


@pytest.mark.exhaustive
def test_a_working_directory_that_is_gone(project: Path) -> None:
    done = start('mkdir gone && cd gone && rmdir ../gone && exec "$@"', ["run", "hello"], project)
    expect_clear(done, "The working directory no longer exists.")


def test_a_closed_stdin_under_the_interface(project: Path) -> None:
    expect_clear(start('exec "$@" <&-', [], project), "needs a terminal")


def test_a_file_of_the_project_with_the_name_of_a_module_is_not_imported(tmp_path: Path) -> None:
    for name in ("argparse", "asyncio", "enum", "gc", "json", "msgspec", "re", "signal", "sqlite3", "typing"):
        (tmp_path / f"{name}.py").write_text("import os\nos._exit(99)\n")
    for arguments in (
        ["--version"],
        ["config", "show"],
        ["doctor"],
        ["run", "hello", "--model", "none/none"],
    ):
        done = start('exec "$@"', arguments, tmp_path)
        assert done.returncode != 99, arguments
        assert "Traceback" not in done.stderr


def test_a_clock_before_1970(project: Path, tmp_path: Path) -> None:
    """What it stores can be exported, and so sent and imported."""
    (tmp_path / "sitecustomize.py").write_text(
        "import time\nnow = time.time\ntime.time = lambda: now() - 2e9\n"
    )
    script = f'export PYTHONPATH={tmp_path}:{ROOT} COGENCY_DATA={tmp_path}/data; exec "$@"'

    done = start(script, ["run", "replace 'hello' with 'bye' in greet.py", "--permissions", "edits"], project)
    exported = start(script, ["conversations", "export", "--all"], project)

    assert done.returncode == 0, done.stderr
    assert exported.returncode == 0, exported.stderr
    (tmp_path / "export").write_text(exported.stdout)
    script = script.replace("/data;", "/other;")
    again = start(f"{script} < {tmp_path}/export", ["import"], project)
    assert (again.returncode, "1 conversation imported" in again.stderr) == (0, True), again.stderr

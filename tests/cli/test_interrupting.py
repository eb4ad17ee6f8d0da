"""Ctrl+C at any moment ends the program with its status and without a traceback."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tui.pty import Terminal

_INTERRUPTED_AT = """
import os, signal, sys

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
sys.argv[1:] = {arguments!r}
from cogency_tui.__main__ import main
sys.exit(main())
"""


@pytest.mark.parametrize(
    ("module", "arguments"),
    [
        ("cogency_tui.cli.main", ["--version"]),
        ("cogency_tui.cli.arguments", ["--version"]),
        ("cogency_tui.agent.agent", ["run", "hello"]),
        ("cogency_tui.cli.run", ["run", "hello"]),
        ("cogency_tui.cli.doctor", ["doctor"]),
    ],
)
def test_ctrl_c_while_modules_are_loaded(tmp_path: Path, module: str, arguments: list[str]) -> None:
    script = _INTERRUPTED_AT.format(module=module, arguments=arguments)
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode in (130, -signal.SIGINT)
    assert done.stderr == ""


def test_what_is_started_to_ignore_ctrl_c_ignores_it(tmp_path: Path) -> None:
    script = _INTERRUPTED_AT.format(module="cogency_tui.cli.main", arguments=["--version"])
    ignoring = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n" + script
    done = subprocess.run([sys.executable, "-c", ignoring], cwd=tmp_path, capture_output=True, timeout=60)
    assert done.returncode == 0


@pytest.mark.exhaustive
@pytest.mark.pty
@pytest.mark.parametrize("times", [1, 2])
def test_ctrl_c_while_a_question_waits_for_its_answer(project: Path, tmp_path: Path, times: int) -> None:
    with Terminal("run", "run `touch made`", cwd=project, data=tmp_path / "data") as terminal:
        terminal.wait_for("Allow it? [y]es")
        for _ in range(times):
            terminal.process.send_signal(signal.SIGINT)
        assert terminal.process.wait(60) in (130, -signal.SIGINT)
        assert b"Traceback" not in terminal.raw
    assert not (project / "made").exists()


@pytest.mark.exhaustive
@pytest.mark.pty
def test_ctrl_c_while_a_question_is_on_the_screen(project: Path, tmp_path: Path) -> None:
    with Terminal("run `touch made`", cwd=project, data=tmp_path / "data") as terminal:
        terminal.wait_for("Run this command")
        for _ in range(2):
            terminal.process.send_signal(signal.SIGINT)
        assert terminal.process.wait(60) in (130, -signal.SIGINT)
        assert b"Traceback" not in terminal.raw
    assert not (project / "made").exists()

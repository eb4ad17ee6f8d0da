"""The command line as a person's shell would run it."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    directory = tmp_path / "project"
    directory.mkdir()
    (directory / "greet.py").write_text('print("hello")\n')
    return directory


@pytest.fixture
def run(project: Path, tmp_path: Path) -> Run:
    """Run `cogency-tui` in the project; stdin is empty unless `stdin` is given."""

    def run_command(
        *arguments: str, stdin: str = "", cwd: Path = project, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "cogency_tui", *arguments],
            cwd=cwd,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env={**os.environ, "COGENCY_DATA": str(tmp_path / "data"), **environment},
        )

    return run_command

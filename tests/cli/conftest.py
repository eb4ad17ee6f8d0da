"""The command line as a user's shell runs it."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import forkserver

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
        *arguments: str,
        stdin: str | bytes = "",
        stdout: int | None = None,
        cwd: Path = project,
        umask: int = 0o022,
        **environment: str,
    ) -> subprocess.CompletedProcess[str]:
        environ = {**os.environ, "COGENCY_DATA": str(tmp_path / "data"), **environment}
        return forkserver.run(arguments, cwd=cwd, environ=environ, stdin=stdin, stdout=stdout, umask=umask)

    return run_command

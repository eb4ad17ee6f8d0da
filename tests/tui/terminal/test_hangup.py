"""A terminal that goes away takes the program with it, also where no signal comes."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.exhaustive


@pytest.mark.pty
def test_the_program_ends_with_a_terminal_that_is_not_its_own(tmp_path: Path) -> None:
    primary, secondary = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "cogency_tui"],
        cwd=tmp_path,
        stdin=secondary,
        stdout=secondary,
        stderr=secondary,
        start_new_session=True,
        env={**os.environ, "TERM": "xterm-256color", "COGENCY_DATA": str(tmp_path / "data")},
    )
    os.close(secondary)
    try:
        seen = b""
        while b"\x1b[?1049h" not in seen:
            seen += os.read(primary, 65536)
        os.close(primary)
        assert process.wait(60) is not None
    finally:
        process.kill()
        process.wait()

"""`cogency-tui import --from`: what it reports, and what a dry run leaves behind."""

import json
import os
import shutil
from pathlib import Path

import pytest

from tests.agent.importers.reading import FIXTURES
from tests.cli.conftest import Run

SESSION = ".claude/projects/-home-ada-shop"


@pytest.fixture
def claude(sealed_home: Path) -> Path:
    """The directory of the sessions of Claude Code."""
    shutil.copytree(FIXTURES / "claude-code-2.1.197", sealed_home / ".claude")
    return sealed_home / SESSION


@pytest.mark.usefixtures("claude")
def test_a_dry_run_creates_nothing(run: Run, tmp_path: Path) -> None:
    counted = run("import", "--from", "all", "--all", "--dry-run")
    assert counted.returncode == 0, counted.stderr
    assert not (tmp_path / "data").exists()
    done = run("import", "--from", "all", "--all")
    assert done.stdout == counted.stdout.replace("to import", "imported")
    assert run("import", "--from", "claude-code", "--all", "--dry-run").stdout == (
        "Claude Code: 0 new conversations and 0 new events to import.\n"
    )


def test_another_import_says_that_it_has_not_read_all_again(run: Run, claude: Path) -> None:
    sessions = [*claude.glob("*.jsonl")]
    for session in sessions:
        with session.open("a") as file:
            file.write(json.dumps({"type": "hologram"}) + "\n")
    first = run("import", "--from", "claude-code", "--all").stderr.splitlines()[0]
    assert first == f"Claude Code: {len(sessions)} records were not understood and left out:"
    os.utime(sessions[0], (1, 1))
    again = run("import", "--from", "claude-code", "--all").stderr.splitlines()[0]
    assert again.startswith("Claude Code: 1 record was not understood and left out (")
    assert again.endswith(" not changed, and not been read again):")

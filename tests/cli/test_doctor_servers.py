"""`cogency-tui doctor` starts the MCP servers that are configured, and says how each stands."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.tools.mcp.conftest import NUISANCE, PEER


def configured(tmp_path: Path, **servers: Mapping[str, Any]) -> str:
    """A configuration with these servers: its path."""
    lines: list[str] = []
    for name, server in servers.items():
        lines += [f"[mcp.{name}]", *(f"{key} = {json.dumps(value)}" for key, value in server.items())]
    path = tmp_path / "config.toml"
    path.write_text("\n".join(lines))
    return str(path)


def program(path: Path, *arguments: str) -> dict[str, Any]:
    return {"command": sys.executable, "args": ["-W", "ignore", str(path), *arguments]}


@pytest.mark.exhaustive
def test_a_server_that_answers_and_one_that_ends_are_told_apart(run: Run, tmp_path: Path) -> None:
    path = configured(tmp_path, demo=program(PEER, "plain"), broken=program(NUISANCE, "gone"))
    done = run("doctor", "--json", COGENCY_CONFIG=path)
    findings = {finding["name"]: finding for finding in map(json.loads, done.stdout.splitlines())}

    assert done.returncode == 1
    assert findings["mcp demo"]["state"] == "ok"
    assert findings["mcp demo"]["what"].startswith("Demo")
    assert " tools" in findings["mcp demo"]["what"]
    assert findings["mcp broken"]["state"] == "bad"
    assert "database" in findings["mcp broken"]["what"]
    assert "\x1b" not in done.stdout
    assert findings["mcp broken"]["advice"] == "Fix it, or remove [mcp.broken]."


def test_a_server_of_a_project_that_is_not_trusted_is_not_started(run: Run, project: Path) -> None:
    mark = project / "started"
    own = project / ".cogency" / "config.toml"
    own.parent.mkdir()
    own.write_text(f'[mcp.theirs]\ncommand = "touch"\nargs = ["{mark}"]\n')
    done = run("doctor", "--json")

    assert "mcp theirs" not in done.stdout
    assert not mark.exists()

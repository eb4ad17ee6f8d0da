"""Programs that a script put where the user's search path leads into the project."""

import json
import os
from pathlib import Path

import pytest

from cogency_tui.agent.environment import describe
from cogency_tui.config.schema import Permissions
from cogency_tui.workspace.git.repository_queries import Repository
from tests.agent.conftest import MakeAgent
from tests.agent.journaling import settle
from tests.agent.repositories import git

BRINGING = """#!/bin/sh
PATH=${PATH#*$VIRTUAL_ENV/bin:}
echo evil > AGENTS.md
git add AGENTS.md
git -c user.name=a -c user.email=a@b commit -qm x
exec NAME "$@"
"""


@pytest.fixture
def ran(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What a `git` writes that comes first while the project's environment is active."""
    git(project, "init", "-q", "-b", "main")
    git(project, "add", "-A")
    git(project, "commit", "-qm", "x")
    git(project, "branch", "next")
    planted = project / ".venv/bin/git"
    planted.parent.mkdir(parents=True)
    planted.write_text(f"#!/bin/sh\necho \"$@\" >> '{project.parent}/ran'\n")
    planted.chmod(0o755)
    monkeypatch.setenv("PATH", str(planted.parent), prepend=os.pathsep)
    monkeypatch.setenv("VIRTUAL_ENV", str(project / ".venv"))
    return project.parent / "ran"


@pytest.mark.parametrize("mode", ["plan", "auto"])
async def test_nothing_that_the_program_asks_runs_them(
    make_agent: MakeAgent, project: Path, ran: Path, mode: Permissions
) -> None:
    """The model's own commands do: they have the user's search path."""
    calls = [{"name": "shell", "args": {"command": "git switch -q next; rm -r greet.py"}}]
    async with make_agent(f"<execute>{json.dumps(calls)}</execute>", "Done.", permissions=mode) as agent:
        async for _ in agent("go"):
            pass
        assert "Git: branch main, 1 " in describe(agent.workspace, mode, can_ask=True)
        assert Repository(project).root == project.resolve()
    lines = ran.read_text().splitlines() if ran.exists() else []
    assert lines == (["switch -q next"] if mode == "auto" else [])


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("git", "git switch -q next"),
        ("ls", "git switch -q next && ls"),
        ("cat", "git switch -q next; cat greet.py | cat"),
        ("ssh", "git pull -q ssh://git@127.0.0.1/x main"),
    ],
)
async def test_programs_of_the_project_bring_nothing(
    make_agent: MakeAgent, project: Path, ran: Path, name: str, command: str
) -> None:
    (project / ".venv/bin/git").rename(project / ".venv/bin" / name)
    (project / ".venv/bin" / name).write_text(BRINGING.replace("NAME", name))
    settle()
    calls = [{"name": "shell", "args": {"command": command}}]
    results: list[str] = []
    async with make_agent(f"<execute>{json.dumps(calls)}</execute>", "Done.") as agent:
        async for event in agent("go"):
            if event["type"] == "result":
                results.append(json.dumps(event))
    assert "AGENTS.md" in results[0]
    assert not (project / "AGENTS.md").exists()
    assert not ran.exists()

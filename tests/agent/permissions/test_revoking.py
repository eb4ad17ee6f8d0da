"""What another process revokes while a turn runs: it holds from the next call on."""

import json
from pathlib import Path
from typing import Any

import pytest

from cogency_tui.agent.agent import Agent
from cogency_tui.agent.permissions.gate import Answer, Question
from cogency_tui.agent.project.trust import FILE_NAME, Trust
from tests.agent.test_mcp import block, results
from tests.peers.scripted import ScriptedProvider
from tests.tools.mcp.conftest import command, plain_host

__all__ = ["plain_host"]


class Desk:
    """A user's configuration, and a project."""

    def __init__(self, root: Path, project: Path) -> None:
        self.project = project
        self.folder = root / "config"
        self.folder.mkdir()
        self.trust = Trust(self.folder / FILE_NAME)

    def brings(self, text: str) -> None:
        path = self.project / ".cogency" / "config.toml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        self.trust.trust(self.project, self.trust.survey(self.project))

    def agent(self, *replies: str) -> Agent:
        return Agent(
            ScriptedProvider(*replies),
            project=self.project,
            data=self.folder.with_name("data"),
            environ={"COGENCY_CONFIG": str(self.folder / "config.toml")},
        )


@pytest.fixture
def desk(tmp_path: Path, project: Path) -> Desk:
    return Desk(tmp_path, project.resolve())


def server() -> str:
    settings = command()
    return f"[mcp.demo]\ncommand = {json.dumps(settings.command)}\nargs = {json.dumps(list(settings.args))}\n"


async def outcomes(agent: Agent, revoke: Any, *, after: int = 1) -> list[Any]:
    """What the calls of a turn come to; `revoke` is called with the question before which it happens."""
    asked: list[Question] = []

    async def ask(question: Question) -> Answer:
        asked.append(question)
        if len(asked) == after:
            revoke()
        return Answer(allow=True)

    agent.ask = ask
    async with agent:
        await (await agent.start_servers()).settle(None)
        return results([event async for event in agent.stream("go", chunks=False)])


CALL = block(("demo.add", {"a": 1}))


@pytest.mark.exhaustive
@pytest.mark.usefixtures("plain_host")
async def test_a_server_of_a_project_is_not_asked_once_trust_is_revoked(desk: Desk) -> None:
    desk.brings(server())
    agent = desk.agent(CALL, CALL, "done")
    first, second = await outcomes(agent, lambda: desk.trust.revoke(desk.project), after=2)
    assert not first["error"]
    assert "it is no longer configured" in second["outcome"]


@pytest.mark.exhaustive
@pytest.mark.usefixtures("plain_host")
async def test_a_server_that_was_removed_from_the_configuration_is_not_asked(desk: Desk) -> None:
    config = desk.folder / "config.toml"
    config.write_text(server())
    agent = desk.agent(CALL, CALL, "done")
    first, second = await outcomes(agent, lambda: config.write_text(""), after=2)
    assert not first["error"]
    assert "it is no longer configured" in second["outcome"]


@pytest.mark.exhaustive
@pytest.mark.usefixtures("plain_host")
async def test_a_configuration_that_is_being_written_leaves_the_servers(desk: Desk) -> None:
    config = desk.folder / "config.toml"
    config.write_text(server())
    agent = desk.agent(CALL, CALL, "done")
    _first, second = await outcomes(agent, lambda: config.write_text("[mcp"), after=2)
    assert not second["error"]


AGENT = '[agents.reader]\ninstructions = "Read."\npermissions = "plan"\n'
WORKFLOW = '[[workflows.look.steps]]\nid = "a"\ntype = "tool"\nname = "list"\n'
SHELL = ("shell", {"command": "true"})


@pytest.mark.parametrize(
    ("text", "tool", "args"),
    [
        (AGENT, "agent", {"name": "reader", "task": "x"}),
        (WORKFLOW, "workflow", {"name": "look"}),
    ],
    ids=["sub-agent", "workflow"],
)
async def test_what_a_project_brought_does_not_run_once_trust_is_revoked(
    desk: Desk, text: str, tool: str, args: dict[str, Any]
) -> None:
    desk.brings(text)
    agent = desk.agent(block(SHELL), block((tool, args)), "done")
    shell, second = await outcomes(agent, lambda: desk.trust.revoke(desk.project))
    assert not shell["error"]
    assert "changed during this turn" in second["outcome"]

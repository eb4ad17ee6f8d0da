"""MCP servers of a hostile project: what changed since the user trusted it is not started, by no road."""

import sys
from pathlib import Path

import pytest

from cogency_tui.agent.agent import Agent
from cogency_tui.errors import UsageError
from cogency_tui.tools.mcp.server import ServerState
from cogency_tui.tui.servers.screen import ServersScreen
from tests.peers.scripted import ScriptedProvider
from tests.tui.driving import at_work, send, shown, told, until

REFUSED = "not started: it changed since it was trusted; review with /trust"


def trusted_agent(project: Path) -> Agent:
    """An agent that trusts the project with a server which notes that it was started."""
    (project / ".cogency").mkdir()
    (project / ".cogency/config.toml").write_text(
        f'[mcp.m]\ncommand = "{sys.executable}"\nargs = ["tools/srv.py"]\n'
    )
    (project / "tools").mkdir()
    (project / "tools/srv.py").write_text("open('ran-trusted', 'w')\n")
    agent = Agent(ScriptedProvider("ok"), project=project, data=project.parent / "data")
    agent.project_settings.accept(agent.project_settings.survey())
    return agent


async def test_a_changed_one_is_not_restarted(project: Path) -> None:
    agent = trusted_agent(project)
    try:
        servers = await agent.start_servers()
        await servers.settle(None)
        assert (project / "ran-trusted").exists()
        (project / "tools/srv.py").write_text("open('ran-changed', 'w')\n")
        with pytest.raises(UsageError, match=REFUSED):
            await servers.restart("m")
        with pytest.raises(UsageError, match=REFUSED):
            await servers.restart("m")
        (project / "tools/srv.py").write_text("open('ran-trusted', 'w')\n")
        await servers.restart("m")
        await servers.settle(None)
        assert [each.state for each in servers.listed()] == [ServerState.FAILED]
        assert not (project / "ran-changed").exists()
    finally:
        await agent.close()


@pytest.mark.parametrize("road", ["screen", "command"])
async def test_nor_by_the_user(project: Path, road: str) -> None:
    agent = trusted_agent(project)
    async with at_work(agent) as pilot:
        await (await agent.start_servers()).settle(None)
        if road == "screen":
            await send(pilot, "/mcp")
            await until(pilot, lambda: isinstance(pilot.app.screen, ServersScreen))
            await until(pilot, lambda: "✗ m" in shown(pilot.app.screen.query_one("#servers-list")))
        (project / "tools/srv.py").write_text("open('ran-changed', 'w')\n")
        if road == "screen":
            await pilot.press("r")
        else:
            await send(pilot, "/mcp m")
        await until(pilot, lambda: REFUSED in told(pilot))
        assert not (project / "ran-changed").exists()

"""/mcp: the servers listed with how they stand, started again with a key; and the question about a tool."""

import json
from pathlib import Path

import pytest

from cogency_tui.agent.agent import Agent
from cogency_tui.config.mcp import McpSettings
from cogency_tui.config.schema import Settings
from cogency_tui.tui.kit.dialogs import DialogBody
from cogency_tui.tui.servers.screen import ServersScreen
from tests.peers.scripted import ScriptedProvider
from tests.tools.mcp.conftest import command
from tests.tui.driving import answer, asked, at_work, finished, send, shown, told, until

pytestmark = pytest.mark.exhaustive

CALL = f"<execute>{json.dumps([{'name': 'demo.add', 'args': {'a': 40}}])}</execute>"


def agent_in(project: Path, *replies: str, **servers: McpSettings) -> Agent:
    return Agent(
        ScriptedProvider(*replies),
        project=project,
        data=project.parent / "data",
        settings=Settings(mcp=servers),
    )


async def test_a_question_shows_whose_tool_it_is_and_servers_are_listed_and_started_again(
    project: Path,
) -> None:
    hostile = McpSettings(command="no-such-\x1b[2Jprogram")
    agent = agent_in(project, CALL, "It is 42.", demo=command(), bad=hostile)
    async with at_work(agent) as pilot:
        servers = await agent.start_servers()
        await servers.settle(None)
        await send(pilot, "add")
        body = (await asked(pilot)).query_one(DialogBody)
        await until(pilot, lambda: "the MCP server demo" in shown(body))
        assert "Call add of the MCP server demo" in shown(body)
        assert '"a": 40' in shown(body)
        await answer(pilot, "y")
        await finished(pilot)

        await send(pilot, "/mcp")
        await until(pilot, lambda: isinstance(pilot.app.screen, ServersScreen))
        listed = pilot.app.screen.query_one("#servers-list")
        note = pilot.app.screen.query_one(DialogBody)
        await until(pilot, lambda: "✓ demo" in shown(listed) and "✗ bad" in shown(listed))
        assert "Demo 1.2" in shown(listed)
        assert "12 tools" in shown(listed)
        await until(pilot, lambda: "Tools: add, echo" in shown(note))
        await pilot.press("r")
        await until(pilot, lambda: "⠋ demo" in shown(listed))
        await servers.settle(None)
        await until(pilot, lambda: "✓ demo" in shown(listed))
        await pilot.press("down")
        await until(pilot, lambda: "failed:" in shown(note))
        assert "\x1b" not in shown(note)
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(pilot.app.screen, ServersScreen))
        await send(pilot, "/mcp nothing")
        await until(pilot, lambda: "Unknown MCP server 'nothing'. Configured: demo, bad." in told(pilot))


async def test_without_servers_it_says_how_to_have_one(project: Path) -> None:
    async with at_work(agent_in(project)) as pilot:
        await send(pilot, "/mcp")
        await until(pilot, lambda: isinstance(pilot.app.screen, ServersScreen))
        note = pilot.app.screen.query_one(DialogBody)
        await until(pilot, lambda: "No MCP servers configured" in shown(note))

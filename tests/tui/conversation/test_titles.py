"""The title of the conversation in the header: from the first exchange, and as stored when it is reopened."""

from pathlib import Path

from cogency_tui.agent.agent import Agent
from cogency_tui.config.schema import Settings
from tests.peers.scripted import ScriptedProvider
from tests.tui.driving import app_over, header_of, send, shown, until


def agent_over(provider: ScriptedProvider, tmp_path: Path) -> Agent:
    (project := tmp_path / "project").mkdir(exist_ok=True)
    return Agent(provider, project=project, data=tmp_path / "data", settings=Settings())


async def test_the_header_shows_the_title_once_it_is_there(tmp_path: Path) -> None:
    provider = ScriptedProvider("It sleeps first.")
    provider.title = "Flaky checkout test"
    agent = agent_over(provider, tmp_path)
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        await send(pilot, "why?")
        await until(pilot, lambda: "Flaky checkout test" in shown(header_of(pilot)))
        (conversation,) = await (await agent.store()).conversations(str(agent.project), limit=1)
    again = agent_over(ScriptedProvider(), tmp_path)
    async with app_over(again, conversation_id=conversation.id).run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: "Flaky checkout test" in shown(header_of(pilot)))

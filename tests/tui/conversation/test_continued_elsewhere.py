"""A conversation that another program has continued since it was opened here."""

from pathlib import Path

from cogency_tui.agent.agent import Agent
from cogency_tui.config.schema import Settings
from cogency_tui.store.store import new_conversation_id
from tests.peers.scripted import ScriptedProvider
from tests.tui.driving import app_over, conversation_of, finished, send, shown, told, until


async def answer(agent: Agent, id: str, text: str) -> None:
    async for _event in agent.stream(text, conversation_id=id):
        pass


async def test_a_turn_that_another_program_has_added_is_shown_before_the_next(
    project: Path, tmp_path: Path
) -> None:
    def agent_with(*replies: str) -> Agent:
        settings = Settings(mode="replay", titles=False)
        return Agent(ScriptedProvider(*replies), project=project, data=tmp_path / "data", settings=settings)

    agent, other, id = agent_with("Three.", "Four."), agent_with("One.", "Two."), new_conversation_id()
    await other.open()
    await answer(other, id, "first")
    assert await other.recall.enter(id, 0.0)
    async with app_over(agent, conversation_id=id).run_test(size=(120, 30), notifications=True) as pilot:
        await until(pilot, lambda: "One." in shown(conversation_of(pilot)))
        await answer(other, id, "second")
        await other.close()
        await send(pilot, "third")
        await until(pilot, lambda: "Three." in shown(conversation_of(pilot)))
        await finished(pilot)
        lines = [line.strip() for line in shown(conversation_of(pilot)).splitlines() if line.strip()]
        answers = [line for line in lines if line in ("One.", "Two.", "Three.")]
        assert answers == ["One.", "Two.", "Three."]
        assert shown(conversation_of(pilot)).count("third") == 1
        assert "1 turn was added by another program." in told(pilot)
        pilot.app.clear_notifications()
        await send(pilot, "fourth")
        await until(pilot, lambda: "Four." in shown(conversation_of(pilot)))
        assert "another program" not in told(pilot)
    await agent.close()

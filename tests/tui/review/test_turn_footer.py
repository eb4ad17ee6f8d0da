"""The footer of a turn counts all files that the turn changed, whoever changed them."""

from pathlib import Path

from tests.tui.driving import app_over, conversation_of, finished, send, shown, until
from tests.tui.subagents.stage import REPLIES, HeldModel, delegating


async def test_the_files_of_a_sub_agent_are_in_the_footer_when_the_turn_ends(project: Path) -> None:
    agent = delegating(project)
    async with app_over(agent).run_test(size=(160, 45), notifications=True) as pilot:
        await send(pilot, "Fix the price")
        await finished(pilot)
        await until(pilot, lambda: "2 files +3 −1" in shown(conversation_of(pilot)))
        assert "F5 review" in shown(conversation_of(pilot))
    await agent.close()


async def test_a_turn_is_counted_that_a_queued_message_follows_at_once(project: Path) -> None:
    model = HeldModel(*REPLIES, "You are welcome.", held=3)
    agent = delegating(project, model)
    async with app_over(agent).run_test(size=(160, 45), notifications=True) as pilot:
        await send(pilot, "Fix the price")
        await model.asked.wait()
        await send(pilot, "Thanks")
        model.go_on.set()
        await until(pilot, lambda: "You are welcome." in shown(conversation_of(pilot)))
        await finished(pilot)
        await until(pilot, lambda: "2 files +3 −1" in shown(conversation_of(pilot)))
    await agent.close()

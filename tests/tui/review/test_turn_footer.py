"""The footer of a turn counts all files that the turn changed, whoever changed them."""

from pathlib import Path

from tests.agent.delegation import block, named
from tests.tui.driving import app_over, conversation_of, files_of, finished, main_of, send, shown, until
from tests.tui.review.stage import Reviewer
from tests.tui.subagents.stage import EDIT, REPLIES, HeldModel, delegating


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


async def test_the_files_of_a_sub_agent_are_marked_while_it_works_and_in_the_review(project: Path) -> None:
    model = HeldModel(block(named("agent", "editor", task="Double it")), EDIT, "Doubled.", "Done.", held=3)
    agent = delegating(project, model)
    async with app_over(agent).run_test(size=(160, 45), notifications=True) as pilot:
        await send(pilot, "Fix the price")
        await model.asked.wait()
        await until(pilot, lambda: "1 changed" in shown(main_of(pilot).query_one("#files-title")))
        await until(pilot, lambda: "●" in shown(files_of(pilot)))
        reviewer = Reviewer(pilot)
        await reviewer.open()
        assert reviewer.path == "src/app.py"
        assert "1 hunk  ● 1 new" in shown(reviewer.header)
        await reviewer.press("escape")
        model.go_on.set()
        await finished(pilot)
    await agent.close()

"""The list marks the conversations that are open in this program, as the switcher does."""

from pathlib import Path

from tests.tui.driving import at_work, conversation_of, finished, main_of, question_of, send, shown, until
from tests.tui.recall.past import is_open, listed, open_recall
from tests.tui.recall.test_trash import agent_over
from tests.tui.review.stage import write


async def test_an_open_conversation_is_marked_with_its_state_until_it_changes(project: Path) -> None:
    agent = agent_over(project, "one <<hang>>")
    async with at_work(agent) as pilot:
        await send(pilot, "first")
        await until(pilot, lambda: "one" in shown(conversation_of(pilot)))
        await open_recall(pilot, agent)
        await until(pilot, lambda: "⠋ working" in listed(pilot))
        main_of(pilot).bridge.interrupt()
        await until(pilot, lambda: "● open" in listed(pilot))
        assert "working" not in listed(pilot)
        await finished(pilot)


async def test_one_that_asks_is_marked_as_waiting(project: Path) -> None:
    async with at_work(agent_over(project, write("new.py", "x = 1\n"), "done")) as pilot:
        await send(pilot, "first")
        await until(pilot, lambda: question_of(pilot) is not None)
        await pilot.app.screen.run_action("screen.command('recall')")
        await until(pilot, lambda: is_open(pilot) and "? waiting for you" in listed(pilot))

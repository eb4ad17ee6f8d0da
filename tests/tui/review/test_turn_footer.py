"""The footer of a turn counts all files that the turn changed, whoever changed them, and invites to the
review while there is anything to decide."""

from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from cogency_tui.agent.review.model import Target
from tests.agent.delegation import block, named
from tests.tui.driving import app_over, conversation_of, files_of, finished, main_of, send, shown, until
from tests.tui.review.stage import Reviewer, answered, reviewing, working, write
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
        await pilot.press("up", "alt+t", "enter")
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


def marks_of(pilot: Pilot[Any]) -> tuple[str, str]:
    """The cards of the turn's changes, each in one line, and its footer."""
    lines = [" ".join(line.split()) for line in shown(conversation_of(pilot)).split("\n")]
    return "\n".join(line for line in lines if "✎" in line), next(line for line in lines if " files" in line)


async def test_what_is_decided_no_longer_invites_to_the_review(project: Path) -> None:
    agent = working(project, write("a.py", "one\n"), write("b.py", "two\n"), "Done.")
    async with reviewing(agent) as reviewer:
        pilot = reviewer.pilot
        await reviewer.press("T")
        await reviewer.press("escape")
        reverted = "✎ a.py +1 reverted\n✎ b.py +1 reverted"
        await until(pilot, lambda: marks_of(pilot)[0] == reverted)
        assert marks_of(pilot)[1].endswith("2 files +2, reverted")

        await reviewer.open()
        await reviewer.press("u", "y", "escape")
        await until(pilot, lambda: marks_of(pilot)[0] == "✎ a.py +1 kept\n✎ b.py +1 review")
        assert marks_of(pilot)[1].endswith("2 files +2 F5 review")

        await reviewer.open()
        await reviewer.press("y", "escape")
        await until(pilot, lambda: marks_of(pilot)[0] == "✎ a.py +1 kept\n✎ b.py +1 kept")
        assert marks_of(pilot)[1].endswith("2 files +2, kept")


async def test_what_was_reverted_is_marked_when_the_conversation_is_reopened(project: Path) -> None:
    agent = working(project, write("a.py", "one\n"), write("b.py", "two\n"), "Done.")
    id = await answered(agent, "go")
    await agent.review(id).revert(Target(1))
    async with app_over(agent, conversation_id=id).run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: marks_of(pilot)[0] == "✎ a.py +1 reverted\n✎ b.py +1 reverted")
        view = conversation_of(pilot)
        segments = [segment for y in range(view.size.height) for segment in view.render_line(y)]
        inks = {each.style.color for each in segments if "✎" in each.text and each.style}
        assert inks == {view.theme_styles("dim").color}
    await agent.close()

"""The agents of a conversation while they work."""

from pathlib import Path

import pytest

from cogency_tui.tui.questions.panel import QuestionPanel
from tests.tui.driving import answer, app_over, asked, finished, send, shown
from tests.tui.subagents.stage import REPLIES, HeldModel, Watcher, delegating


async def test_a_tree_grows_while_it_is_shown(project: Path) -> None:
    model = HeldModel(*REPLIES, held=3)
    agent = delegating(project, model)
    async with app_over(agent).run_test(size=(160, 45), notifications=True) as pilot:
        agents = Watcher(pilot)
        await send(pilot, "Fix the price")
        await model.asked.wait()
        await agents.open()
        conversation, reviewer, tester = agents.tree
        assert conversation[0] not in "✓✗"
        assert reviewer.startswith("├ ")
        assert "✓" not in reviewer
        assert tester.startswith("└ ◌ tester")
        assert "1 running" in shown_header(agents)
        await agents.press("down")
        assert "I read." in agents.messages
        assert "right" not in agents.messages
        model.go_on.set()
        await finished(pilot)
        await agents.until(lambda: len(agents.tree) == 4 and all("✓" in line for line in agents.tree[:3]))
        await agents.until(lambda: "The price is right now." in agents.messages)
        await agents.until(lambda: "running" not in shown_header(agents))
        assert agents.tree[3].startswith("└ ✗ tester")
        assert agents.tree[2].endswith("+3 −1")
    await agent.close()


async def test_a_call_of_a_running_agent_runs(project: Path) -> None:
    model = HeldModel(*REPLIES, held=4)
    agent = delegating(project, model)
    async with app_over(agent).run_test(size=(160, 45), notifications=True) as pilot:
        agents = Watcher(pilot)
        await send(pilot, "Fix the price")
        await model.asked.wait()
        await agents.open()
        await agents.press("down")
        await agents.until(lambda: "running" in agents.messages)
        model.go_on.set()
        await agents.until(lambda: "editor answered" in agents.messages)
        assert "running" not in agents.messages
        await finished(pilot)
    await agent.close()


async def test_an_interrupted_agent_is_marked(project: Path) -> None:
    model = HeldModel(*REPLIES, held=3)
    agent = delegating(project, model)
    async with app_over(agent).run_test(size=(160, 45), notifications=True) as pilot:
        agents = Watcher(pilot)
        await send(pilot, "Fix the price")
        await model.asked.wait()
        await pilot.press("escape")
        await finished(pilot)
        await agents.open()
        assert agents.tree[1].startswith("├ ■ reviewer")
        await agents.press("down")
        assert "I read." in agents.messages
    await agent.close()


@pytest.mark.usefixtures("short_pause")
async def test_the_question_of_a_sub_agent_is_asked_on_this_screen(project: Path) -> None:
    model = HeldModel(*REPLIES, held=4)
    agent = delegating(project, model, permissions="ask")
    async with app_over(agent).run_test(size=(160, 45), notifications=True) as pilot:
        agents = Watcher(pilot)
        await send(pilot, "Fix the price")
        await model.asked.wait()
        await agents.open()
        model.go_on.set()
        panel = await asked(pilot)
        assert isinstance(panel, QuestionPanel)
        assert panel.screen is agents.screen
        await pilot.press("f6")
        await answer(pilot, "y")
        await answer(pilot, "n")
        await finished(pilot)
        assert (project / "src/app.py").read_text() == "x = 2\n"
        await agents.until(lambda: any(line.endswith("+1 −1") for line in agents.tree))
    await agent.close()


def shown_header(agents: Watcher) -> str:
    return shown(agents.screen.query_one("#agents-header"))

"""The agents of a conversation while they work."""

import asyncio
import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from cogency_tui.agent.subagent_tree import AgentNode, SubagentTree
from cogency_tui.tui.questions.panel import QuestionPanel
from cogency_tui.tui.subagents.details import PromptView
from cogency_tui.tui.subagents.screen import AgentsScreen
from tests.tui.driving import answer, app_over, asked, calls_of, conversation_of, finished, send, shown, until
from tests.tui.review.stage import answered
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
        await agents.press("down")
        assert "Waiting to start." in agents.messages
        assert "call" not in agents.tabs
        await agents.press("1")
        assert "Waiting to start." in agents.tabs
        await agents.press("2", "tab", "up")
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
        await agents.until(lambda: "answered after" in agents.messages)
        assert "running" not in agents.messages
        await finished(pilot)
    await agent.close()


async def test_the_details_of_a_nested_agent_grow_while_they_are_shown(project: Path) -> None:
    model = HeldModel(*REPLIES, held=5)
    agent = delegating(project, model)
    async with app_over(agent).run_test(size=(160, 45), notifications=True) as pilot:
        agents = Watcher(pilot)
        await send(pilot, "Fix the price")
        await model.asked.wait()
        await agents.open()
        assert "2 running" in shown_header(agents)
        await agents.press("down", "down", "4")
        assert [line.split() for line in agents.files.splitlines() if line] == [
            ["M", "src/app.py", "+1", "−1"]
        ]
        await agents.press("3")
        assert "1 request" in agents.tabs
        await agents.press("1", "p", "enter")
        opened = agents.screen.query_one(PromptView).virtual_size.height
        model.go_on.set()
        await finished(pilot)
        await agents.until(lambda: "running" not in shown_header(agents))
        assert agents.screen.query_one(PromptView).virtual_size.height == opened
        await agents.press("3")
        assert "3 requests" in agents.tabs
        await agents.press("4")
        assert "notes.md" in agents.files
    await agent.close()


class SlowTree(SubagentTree):
    """A tree that is read when it may; `most` is the largest number of readings at once."""

    def __init__(self, tree: SubagentTree) -> None:
        vars(self).update(vars(tree))
        self.may = asyncio.Event()
        self.asked: list[Collection[str] | None] = []
        self.most = self._at_once = 0

    async def read(self, changed: Collection[str] | None = None, *, working: bool) -> AgentNode | None:
        self.asked.append(changed)
        self._at_once += 1
        self.most = max(self.most, self._at_once)
        await self.may.wait()
        self._at_once -= 1
        return await super().read(changed, working=working)


async def test_what_progresses_during_a_reading_is_read_together_after_it(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cogency_tui.tui.subagents.screen._REST", 0.001)
    agent = delegating(project)
    id = await answered(agent, "Fix the price")
    async with app_over(agent, conversation_id=id).run_test() as pilot:
        await until(pilot, lambda: conversation_of(pilot).transcript.units)
        tree = SlowTree(agent.subagents(id))
        screen = AgentsScreen(tree, agent.store, lambda: False, lambda: None, project=str(project))
        await pilot.app.push_screen(screen)
        for each in (id, "a", "b", id):
            screen.progress([each])
            await pilot.pause()
        assert tree.asked == [None]
        tree.may.set()
        await until(pilot, lambda: len(tree.asked) == 2)
        assert tree.asked[1] == {id, "a", "b"}
        await until(pilot, lambda: len(Watcher(pilot).tree) == 4)
        assert tree.most == 1
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
        # It waits here as in the tool calls pane, live.
        await agents.until(lambda: agents.tree[1].startswith("├ ? reviewer"))
        await agents.until(lambda: agents.tree[2].startswith("│ └ ? editor"))
        await agents.until(lambda: "2 waiting" in shown_header(agents))
        await pilot.press("f6")
        await answer(pilot, "y")
        # One that comes a moment later is not entered.
        agents.screen.set_focus(await asked(pilot))
        await answer(pilot, "n")
        await finished(pilot)
        assert (project / "src/app.py").read_text() == "x = 2\n"
        await agents.until(lambda: any(line.endswith("+1 −1") for line in agents.tree))
    await agent.close()


@pytest.mark.usefixtures("short_pause")
async def test_the_calls_of_a_sub_agent_wait_in_the_tool_calls_pane_with_its_question(project: Path) -> None:
    agent = delegating(project, permissions="ask")
    async with app_over(agent).run_test(size=(160, 45), notifications=True) as pilot:
        await send(pilot, "Fix the price")
        await asked(pilot)
        row = next(line for line in shown(calls_of(pilot)).splitlines() if "? agent" in line[:12])
        assert row.endswith("waiting")
        assert not re.search("[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] (edit|agent)", steps_of(pilot))
        assert re.search(r"\? agent editor +waiting", steps_of(pilot))
        await answer(pilot, "y")
        await answer(pilot, "n")
        await finished(pilot)
    await agent.close()


def steps_of(pilot: Pilot[Any]) -> str:
    """The rows of calls within calls."""
    return "\n".join(line for line in shown(calls_of(pilot)).splitlines() if line.startswith("   "))


def shown_header(agents: Watcher) -> str:
    return shown(agents.screen.query_one("#agents-header"))

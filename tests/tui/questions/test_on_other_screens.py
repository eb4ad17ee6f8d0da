"""A question beside the keys of another screen: one line, and no key that means two things."""

from pathlib import Path

import pytest

from cogency_tui.agent.agent import Agent
from cogency_tui.config.schema import Settings
from cogency_tui.tui.kit.footer import Footer
from cogency_tui.tui.questions.panel import QuestionPanel
from cogency_tui.tui.recall.screen import RecallScreen
from cogency_tui.tui.review.diff_annotations import ReviewHeader
from cogency_tui.tui.review.screen import ReviewScreen
from cogency_tui.tui.timeline.screen import TimelineScreen
from tests.peers.scripted import ScriptedProvider
from tests.tui.driving import answer, asked, at_work, main_of, question_of, seen, send, shown, until
from tests.tui.review.stage import write


@pytest.fixture
def agent(project: Path) -> Agent:
    replies = (write("new.py", "x = 1\n"), "done")
    return Agent(
        ScriptedProvider(*replies, size=10_000),
        project=project,
        data=project.parent / "data",
        permissions="ask",
        settings=Settings(),
    )


@pytest.mark.parametrize("size", [(100, 30), (40, 12)])
async def test_each_screen_has_its_keys_until_the_question_is_entered(
    agent: Agent, project: Path, size: tuple[int, int]
) -> None:
    async with at_work(agent, size) as pilot:
        await send(pilot, "write it")
        await asked(pilot)
        for key, screen in (("f5", ReviewScreen), ("ctrl+t", TimelineScreen), ("ctrl+r", RecallScreen)):
            await pilot.press(key)
            await until(
                pilot, lambda screen=screen: isinstance(pilot.app.screen, screen) and question_of(pilot)
            )
            panel = await asked(pilot)
            await until(pilot, lambda panel=panel: panel.region.height == 1)
            assert "F6 to answer" in seen(pilot)
            assert "y Yes" not in seen(pilot)
            await pilot.press("f6")
            await until(pilot, lambda: "y Yes" in seen(pilot))
            assert shown(pilot.app.screen.query_one(Footer)).split() == ["F6", "back"]
            assert "Esc Back" in seen(pilot)
            await pilot.press("f6" if key == "f5" else "escape")
            await until(pilot, lambda panel=panel: panel.region.height == 1)
            # Esc is the screen's: it stops nothing.
            await pilot.press("escape")
            await until(pilot, lambda: pilot.app.screen is main_of(pilot) and question_of(pilot))
        assert main_of(pilot).bridge.working
        assert not (project / "new.py").exists()
        await answer(pilot, "y")
        await until(pilot, lambda: (project / "new.py").exists())
        await until(pilot, lambda: not main_of(pilot).query(QuestionPanel))


async def test_the_heading_of_the_review_says_that_the_agent_waits(project: Path) -> None:
    provider = ScriptedProvider(write("new.py", "x = 1\n"), "and<<hang>>", size=10_000)
    agent = Agent(
        provider, project=project, data=project.parent / "data", permissions="ask", settings=Settings()
    )
    async with at_work(agent, (120, 30)) as pilot:
        await send(pilot, "write it")
        await asked(pilot)
        await pilot.press("f5")
        await until(pilot, lambda: isinstance(pilot.app.screen, ReviewScreen) and question_of(pilot))
        header = pilot.app.screen.query_one(ReviewHeader)
        await until(pilot, lambda: "waiting for your answer" in shown(header))
        assert "the agent is working" not in shown(header)
        await pilot.press("f6")
        await until(pilot, lambda: "y Yes" in seen(pilot))
        await answer(pilot, "y")
        await until(pilot, lambda: "the agent is working" in shown(header))
        assert "waiting for your answer" not in shown(header)

"""A fork keeps its edits: its review shows them, and reverts what both conversations have in their files."""

import json
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from cogency_tui.agent.agent import Agent
from cogency_tui.tui.kit.footer import Footer
from cogency_tui.tui.review.diff_view import DiffView
from cogency_tui.tui.timeline.screen import TimelineScreen
from cogency_tui.tui.timeline.slider import FactLine
from tests.tui.driving import main_of, shown, until
from tests.tui.review.stage import Reviewer, going_on, working


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    """An agent that writes two files in one batch."""
    project = tmp_path / "shop"
    project.mkdir()
    files = [{"name": "write", "args": {"file": name, "content": "1\n2\n"}} for name in ("one.py", "two.py")]
    return working(project, f"<execute>{json.dumps(files)}</execute>", "Done.", "Fine.")


def told(pilot: Pilot[Any]) -> list[str]:
    return [note.message for note in pilot.app._notifications]  # pyright: ignore[reportPrivateUsage]


async def fork_at(pilot: Pilot[Any], event: int) -> None:
    """Fork at an event of the timeline."""
    before = main_of(pilot).bridge.conversation_id
    await pilot.press("ctrl+t")
    await until(pilot, lambda: isinstance(pilot.app.screen, TimelineScreen))
    facts = pilot.app.screen.query_one(FactLine)
    await until(pilot, lambda: "event " in shown(facts))
    await pilot.press("home")
    for _ in range(event - 1):
        await pilot.press("right")
    await until(pilot, lambda: f"event {event} of" in shown(facts))
    await pilot.press("f")
    await until(pilot, lambda: main_of(pilot).bridge.conversation_id != before)


async def test_a_fork_within_a_step_says_where_it_ends_and_has_the_edits_of_the_step(agent: Agent) -> None:
    async with going_on(agent, "go") as pilot:
        await fork_at(pilot, 4)
        report = "Forked after event 5, the end of the step. The original is unchanged."
        await until(pilot, lambda: report in told(pilot))
        review = Reviewer(pilot)
        await review.open()
        assert [review.path, review.states] == ["one.py", ("new",)]
        await review.press("N")
        assert not (agent.project / "one.py").exists()
        await review.press("u")
        assert (agent.project / "one.py").exists()
        await review.press("J")
        assert review.path == "two.py"
        assert review.screen.query_one(DiffView).hunk is not None


async def test_a_fork_at_the_first_message_says_that_it_begins_anew(agent: Agent) -> None:
    async with going_on(agent, "go") as pilot:
        await fork_at(pilot, 1)
        await until(
            pilot, lambda: "Forked before the first message. The original is unchanged." in told(pilot)
        )
        assert main_of(pilot).bridge.conversation_id is None


async def test_the_key_says_beforehand_where_the_fork_ends(agent: Agent) -> None:
    async with going_on(agent, "go", size=(200, 40)) as pilot:
        await pilot.press("ctrl+t")
        await until(pilot, lambda: isinstance(pilot.app.screen, TimelineScreen))
        footer, facts = pilot.app.screen.query_one(Footer), pilot.app.screen.query_one(FactLine)
        await until(pilot, lambda: "event 6 of 6" in shown(facts))
        await until(pilot, lambda: "f fork  " in shown(footer))
        for event in (4, 3, 2):
            await pilot.press(*["left"] * (2 if event == 4 else 1))
            await until(pilot, lambda event=event: f"event {event} of" in shown(facts))
            await until(pilot, lambda: "f fork after 5" in shown(footer))
        await pilot.press("home")
        await until(pilot, lambda: "f fork before this" in shown(footer))


@pytest.mark.parametrize(
    ("width", "label"), [(60, "f fork  r"), (80, "f fork   r"), (160, "f fork after 5   r")]
)
async def test_where_a_fork_ends_is_said_only_where_there_is_room(
    agent: Agent, width: int, label: str
) -> None:
    async with going_on(agent, "go", size=(width, 30)) as pilot:
        await pilot.press("ctrl+t")
        await until(pilot, lambda: isinstance(pilot.app.screen, TimelineScreen))
        footer, facts = pilot.app.screen.query_one(Footer), pilot.app.screen.query_one(FactLine)
        await until(pilot, lambda: "event 6 of 6" in shown(facts))
        await pilot.press("left", "left")
        await until(pilot, lambda: "event 4 of" in shown(facts))
        await until(pilot, lambda: f"{label} restore" in shown(footer))
        if width == 160:
            assert "Enter open   a rerun   Tab pane   1 event   2 messages   3 files   4 costs" in shown(
                footer
            )

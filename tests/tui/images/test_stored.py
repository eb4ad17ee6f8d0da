"""Images of stored conversations, with the real engine: in the timeline, reopened, edited and searched."""

from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.pilot import Pilot

from cogency_tui.agent.agent import Agent
from cogency_tui.tui.images.viewer import ImageViewer
from tests.pictures import picture
from tests.tui.driving import conversation_of, finished, main_of, prompt_of, send, shown, until
from tests.tui.review.stage import going_on, working
from tests.tui.timeline.stage import Traveller

CONTENT = picture(size=(120, 80))
CHIP = f"[image shot.png 120×80 {len(CONTENT)} B]"


@pytest.fixture
def agent(project: Path) -> Agent:
    (project / "logo.png").write_bytes(picture(size=(64, 64)))
    return working(project, "A start.", "A red box.", "A logo.")


async def show(pilot: Pilot[Any], shot: Path) -> None:
    """Send a message with an image."""
    prompt_of(pilot).take(events.Paste(str(shot)))
    await until(pilot, lambda: CHIP in prompt_of(pilot).text)
    await pilot.press("enter")
    await until(pilot, lambda: "A red box." in shown(conversation_of(pilot)))
    await finished(pilot)


@pytest.fixture
def shot(tmp_path: Path) -> Path:
    path = tmp_path / "shot.png"
    path.write_bytes(CONTENT)
    return path


async def test_the_timeline_shows_which_images_were_sent(agent: Agent, shot: Path) -> None:
    async with going_on(agent, "start") as pilot:
        await show(pilot, shot)
        await send(pilot, "and @logo.png?")
        await until(pilot, lambda: "A logo." in shown(conversation_of(pilot)))
        await finished(pilot)
        timeline = Traveller(pilot)
        await timeline.open()
        await timeline.press("left", "2")
        assert "[image logo.png 64×64 " in timeline.messages
        assert "[image shot.png" in timeline.messages
        await timeline.press("1")
        assert "Images" in timeline.event
        assert "[image logo.png 64×64 " in timeline.event


async def test_a_reopened_conversation_has_its_images_and_a_fork_brings_one_back(
    agent: Agent, shot: Path
) -> None:
    async with going_on(agent, "start") as pilot:
        await show(pilot, shot)
        shot.unlink()
        id = main_of(pilot).bridge.conversation_id
        assert id is not None
        await send(pilot, "/new")
        await until(pilot, lambda: main_of(pilot).bridge.conversation_id is None)
        main_of(pilot)._features.conversations.open(id)  # pyright: ignore[reportPrivateUsage]
        await until(pilot, lambda: CHIP in shown(conversation_of(pilot)))
        await pilot.press("up")
        assert len(prompt_of(pilot).written.attached) == 1
        prompt_of(pilot).start_over()
        transcript = conversation_of(pilot).transcript
        unit = next(at for at, each in enumerate(transcript.units) if getattr(each, "images", ()))
        conversation_of(pilot).focus()
        conversation_of(pilot).go_to_unit(unit)
        await pilot.press("o")
        await until(
            pilot,
            lambda: (
                isinstance(pilot.app.screen, ImageViewer)
                and "▀▀▀" in shown(pilot.app.screen.query_one("#image-body"))
            ),
        )
        await pilot.press("escape")
        await main_of(pilot)._features.conversations.fork(unit=unit)  # pyright: ignore[reportPrivateUsage]
        await until(pilot, lambda: prompt_of(pilot).text == CHIP)
        assert len(prompt_of(pilot).written.attached) == 1

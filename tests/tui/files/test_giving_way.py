"""What covers the conversation, a file preview or a pane on a narrow screen, gives way once it is needed."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from textual.pilot import Pilot

from cogency_tui.tui.files.preview import PreviewLines
from tests.tui.driving import (
    answer,
    app_over,
    asked,
    conversation_of,
    files_of,
    main_of,
    prompt_of,
    send,
    shown,
    until,
)
from tests.tui.questions.test_question_lines import COMMAND, asks
from tests.tui.scripted import ScriptedAgent, paused, respond, user

Act: TypeAlias = Callable[[Pilot[Any]], Awaitable[object]]

WIDE, NARROW = (80, 24), (60, 16)


async def preview(pilot: Pilot[Any]) -> None:
    """Preview a file, and go back to the prompt."""
    await pilot.press("f3")
    await until(pilot, lambda: "README.md" in shown(files_of(pilot)))
    files_of(pilot).reveal_path("README.md")
    await until(pilot, lambda: (node := files_of(pilot).node) is not None and node.path == "README.md")
    files_of(pilot).focus()
    await pilot.press("enter")
    await until(pilot, lambda: main_of(pilot).query_one(PreviewLines).has_focus)
    prompt_of(pilot).focus()


async def shrink_over_files(pilot: Pilot[Any]) -> None:
    """Open the files beside the conversation, and shrink the window."""
    await pilot.resize_terminal(*WIDE)
    await pilot.press("f3")
    await pilot.resize_terminal(*NARROW)


ACTS: dict[str, Act] = {
    "a message": lambda pilot: send(pilot, "hello"),
    "Ctrl+N": lambda pilot: pilot.press("ctrl+n"),
    "/new": lambda pilot: send(pilot, "/new"),
    "resuming": lambda pilot: main_of(pilot).run_action("command('resume', 'c1')"),
    "Esc": lambda pilot: pilot.press("escape"),
    "Ctrl+F": lambda pilot: pilot.press("ctrl+f"),
    "scrolling": lambda pilot: pilot.press("ctrl+home"),
}


@pytest.mark.parametrize(
    ("cover", "size"),
    [(preview, WIDE), (preview, NARROW), (shrink_over_files, NARROW)],
    ids=["preview", "preview-narrow", "files-narrow"],
)
@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS)
async def test_it_gives_way(project: Path, cover: Act, size: tuple[int, int], act: Act) -> None:
    agent = ScriptedAgent(project, [respond("good day")])
    agent.past.past["c1"] = [user("before"), respond("Answered.")]
    async with app_over(agent).run_test(size=size) as pilot:
        await cover(pilot)
        await until(pilot, lambda: not conversation_of(pilot).region)
        await act(pilot)
        await until(pilot, lambda: conversation_of(pilot).region)


async def test_a_preview_stays_beside_a_turn_that_goes_on_and_f6_leads_to_it(project: Path) -> None:
    agent = ScriptedAgent(project, [respond("one"), paused, asks(COMMAND)])
    async with app_over(agent).run_test(size=WIDE) as pilot:
        await send(pilot, "hello")
        await until(pilot, lambda: "one" in shown(conversation_of(pilot)))
        await preview(pilot)
        agent.gate.set()
        question = await asked(pilot)
        await until(pilot, lambda: question.region)
        await answer(pilot, "y")
        await until(pilot, lambda: not main_of(pilot).bridge.working)
        assert not conversation_of(pilot).region
        await pilot.press("shift+f6")
        assert main_of(pilot).query_one(PreviewLines).has_focus
        await pilot.press("escape")
        await until(pilot, lambda: conversation_of(pilot).region)

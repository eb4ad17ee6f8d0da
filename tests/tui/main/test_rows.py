"""The rows of the main screen: whatever stands on it, they never exceed the terminal's."""

from itertools import product
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from cogency_tui.agent.permissions.gate import Question
from cogency_tui.store.prompt_text import Written
from cogency_tui.tui.main.screen import MainScreen
from cogency_tui.tui.prompt.queue_list import QueueList
from cogency_tui.tui.tour.screen import TourScreen
from tests.tui.driving import app_over, asked, main_of, prompt_of, send, shown, status_of, until
from tests.tui.questions.test_question_lines import COMMAND, EDIT, asks
from tests.tui.scripted import ScriptedAgent, paused

SIZES = [(20, 5), (24, 8), (30, 10), (40, 12), (40, 14), (50, 15), (60, 16), (70, 20), (80, 24)]


def excess(pilot: Pilot[Any]) -> str:
    """What is wrong with the layout; empty if it fits."""
    main, height = main_of(pilot), pilot.app.size.height
    parts = [each for each in main.displayed_children if each.styles.overlay != "screen" and each.region]
    below = [each for each in parts if each.region.bottom > height]
    lost = [] if main.has_class("-question-alone") or status_of(pilot).region else [status_of(pilot)]
    typed = prompt_of(pilot).region.height
    wrong = below or lost or main.max_scroll_y or main.show_vertical_scrollbar or not typed
    return f"{[(each.id, each.region) for each in parts]}" if wrong else ""


@pytest.mark.parametrize("question", [None, COMMAND, EDIT], ids=["idle", "command", "edit"])
@pytest.mark.parametrize("screen", [MainScreen, TourScreen], ids=["main", "tour"])
@pytest.mark.exhaustive
async def test_they_never_exceed_the_terminal(
    project: Path, screen: type[MainScreen], question: Question | None
) -> None:
    agent = ScriptedAgent(project, [asks(question) if question else paused])
    async with app_over(agent, screen=screen).run_test(size=(80, 24)) as pilot:
        await send(pilot, "hello")
        await until(pilot, lambda: main_of(pilot).bridge.working)
        if question:
            await asked(pilot)
        for queued, rows in product(range(6), (2, 6)):
            if len(main_of(pilot).bridge.queue) < queued:
                main_of(pilot).bridge.send(Written(f"message {queued}"))
            prompt_of(pilot).replace_text("\n".join(["draft"] * rows))
            for size in SIZES:
                await pilot.resize_terminal(*size)
                await pilot.pause()
                await until(pilot, lambda: not excess(pilot))


async def test_a_queue_without_room_is_counted_in_one_row_and_a_click_edits_its_last(project: Path) -> None:
    async with app_over(ScriptedAgent(project, [paused])).run_test(size=(40, 8)) as pilot:
        await send(pilot, "hello")
        await until(pilot, lambda: main_of(pilot).bridge.working)
        for number in range(5):
            main_of(pilot).bridge.send(Written(f"message {number}"))
        prompt_of(pilot).replace_text("draft\n" * 5)
        queue = main_of(pilot).query_one(QueueList)
        await pilot.resize_terminal(40, 5)
        await until(pilot, lambda: shown(queue).strip() == "5 queued  message 0")
        await pilot.click(queue, offset=(5, 0))
        await until(pilot, lambda: prompt_of(pilot).text == "message 4")
        assert not excess(pilot)

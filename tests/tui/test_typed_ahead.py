"""What was typed ahead of the end does nothing any more, and does not hold it up."""

import asyncio
import signal
from pathlib import Path

import pytest
from textual import events

from tests.tui.driving import app_over, opened, prompt_of
from tests.tui.scripted import ScriptedAgent


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
async def test_keys_that_wait_when_a_signal_ends_the_program_do_nothing(
    project: Path, number: signal.Signals
) -> None:
    app = app_over(ScriptedAgent(project, []))
    async with app.run_test() as pilot:
        await opened(pilot)
        prompt = prompt_of(pilot)
        for _ in range(1000):
            app.post_message(events.Key("x", "x"))
            app.post_message(events.Key("f1", None))
        app.end(number)
    assert prompt.text == ""
    assert app.return_code == 128 + number


async def test_a_dialog_that_is_answered_again_while_the_app_is_left_is_no_crash(project: Path) -> None:
    app = app_over(ScriptedAgent(project, []))
    async with app.run_test() as pilot:
        await opened(pilot)
        asker: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        asker.cancel()
        app.screen.call_next(asker.set_result, False)
        app.end(signal.SIGTERM)
    assert app.return_code == 128 + signal.SIGTERM

"""What was typed ahead of the end does nothing any more, and does not hold it up."""

import asyncio
import signal
from pathlib import Path

import pytest
from textual import events

from tests.tui.driving import app_over, opened, prompt_of
from tests.tui.scripted import ScriptedAgent


async def test_keys_that_wait_when_a_signal_ends_the_program_do_nothing(project: Path) -> None:
    app = app_over(ScriptedAgent(project, []))
    async with app.run_test() as pilot:
        await opened(pilot)
        prompt = prompt_of(pilot)
        for _ in range(200):
            app.post_message(events.Key("x", "x"))
            app.post_message(events.Key("f1", None))
        app.end(signal.SIGTERM)
    assert prompt.text == ""
    assert app.return_code == 128 + signal.SIGTERM


@pytest.mark.exhaustive
async def test_keys_that_wait_in_a_widget_do_nothing(project: Path) -> None:
    app = app_over(ScriptedAgent(project, []))
    async with app.run_test() as pilot:
        await opened(pilot)
        prompt = prompt_of(pilot)
        typed = [events.Key("x", "x") for _ in range(200)]
        for key in typed:
            await app.on_event(key)
        app.end(signal.SIGHUP)
        assert prompt.message_queue_size >= len(typed)
    assert prompt.text == ""
    assert app.return_code == 128 + signal.SIGHUP


@pytest.mark.parametrize("of_app", [True, False], ids=["app", "screen"])
async def test_what_never_ends_does_not_hold_the_end_up(
    project: Path, monkeypatch: pytest.MonkeyPatch, of_app: bool
) -> None:
    monkeypatch.setattr("cogency_tui.tui.app._GRACE", 0.1)
    app = app_over(ScriptedAgent(project, []))
    began = asyncio.Event()

    async def wait() -> None:
        began.set()
        await asyncio.Event().wait()

    async with app.run_test() as pilot:
        await opened(pilot)
        (app if of_app else app.screen).call_next(wait)
        await began.wait()
        app.end(signal.SIGTERM)
    assert app.return_code == 128 + signal.SIGTERM

"""What was typed ahead of the end does nothing any more, and does not hold it up."""

import asyncio
import signal
from pathlib import Path

import pytest
from textual import events
from textual.widgets import Input

from tests.tui.driving import app_over, opened, prompt_of, until
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


async def test_keys_wait_no_longer_for_a_key_whose_effect_is_held_up(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cogency_tui.tui.terminal.key_order.LIMIT", 0.05)
    app = app_over(ScriptedAgent(project, []))
    began, over = asyncio.Event(), asyncio.Event()

    async def wait() -> None:
        began.set()
        await over.wait()

    async with app.run_test() as pilot:
        await opened(pilot)
        app.screen.call_next(wait)
        await began.wait()
        for key, character in (("enter", "\r"), ("x", "x"), ("left", None), ("y", "y")):
            app.post_message(events.Key(key, character))
        prompt = prompt_of(pilot)
        # The pilot would wait for the screen.
        while prompt.text != "yx":  # noqa: ASYNC110 (the prompt has no event for it)
            await asyncio.sleep(0)
        over.set()
        app.post_message(events.Key("f2", None))
        app.post_message(events.Key("o", "o"))
        await until(pilot, lambda: isinstance(app.focused, Input) and app.focused.value == "o")

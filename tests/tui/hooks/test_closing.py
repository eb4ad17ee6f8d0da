"""The end of the program while a hook runs."""

import asyncio
import io
import os
import sys
from pathlib import Path

import pytest

from cogency_tui.tui.app import close_agent
from tests.agent.hooks.bench import Bench, shell, turn


class Terminal(io.StringIO):
    """Notes that something was written."""

    def __init__(self) -> None:
        super().__init__()
        self.written = asyncio.Event()

    def write(self, text: str) -> int:
        self.written.set()
        return super().write(text)


async def test_a_hook_that_keeps_the_user_waiting_is_named(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = project.parent / "go-on"
    os.mkfifo(go_on)
    bench = Bench(project, project.parent / "data")
    agent = bench.agent("Ok.", hooks={"upload": shell("after_session", 'cat "$1"', str(go_on))})
    async with agent:
        await turn(agent)
        terminal = Terminal()
        monkeypatch.setattr(sys, "stderr", terminal)
        closing = asyncio.create_task(close_agent(agent))
        await terminal.written.wait()
        await asyncio.to_thread(go_on.write_text, "")
        await closing
    assert terminal.getvalue() == "Running the hook upload (Ctrl+C stops it) …\n"

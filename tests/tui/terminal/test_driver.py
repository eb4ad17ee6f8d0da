"""The driver of the terminal: what it tells the app."""

import asyncio
import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest
from textual import events
from textual.app import App
from textual.geometry import Size
from textual.message import Message

from cogency_tui.tui.terminal.driver import TerminalDriver


class Listener(App[None]):
    """An app that notes the sizes it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: asyncio.Queue[Size] = asyncio.Queue()

    async def _post_message(self, message: Message) -> bool:
        assert isinstance(message, events.Resize)
        self.sizes.put_nowait(message.size)
        return True


class ResizedMeanwhile(TerminalDriver):
    """A driver whose terminal is resized again as soon as its size has been read once."""

    is_resized = False

    def _get_terminal_size(self) -> tuple[int, int]:
        size = super()._get_terminal_size()
        if not self.is_resized:
            self.is_resized = True
            resize(90, 26)
        return size


def resize(columns: int, rows: int) -> None:
    """Have the terminal be of this size, and send the signal that says so."""
    os.environ["COLUMNS"], os.environ["LINES"] = str(columns), str(rows)
    os.kill(os.getpid(), signal.SIGWINCH)


@pytest.fixture(autouse=True)
def as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Undo what a test does to the environment and to the signal."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "24")
    before: Any = signal.getsignal(signal.SIGWINCH)
    yield
    signal.signal(signal.SIGWINCH, before)


async def test_of_two_resizes_at_once_the_last_counts() -> None:
    app = Listener()
    ResizedMeanwhile(app).follow_size()
    resize(69, 23)
    sizes = [await app.sizes.get() for _signal in range(2)]
    assert sizes[-1] == Size(90, 26)

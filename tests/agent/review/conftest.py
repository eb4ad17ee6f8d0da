"""A project with a journal, and the review of what happened in it."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from cogency_tui.agent.review.review import Review
from cogency_tui.store.store import Store
from tests.agent.journaling import Desk, desk_at

LINES = "".join(f"line {number}\n" for number in range(30))


def opened(desk: Desk) -> Callable[[], Awaitable[Store]]:
    """What gives the desk's store."""

    async def store() -> Store:
        return desk.store

    return store


def review_of(desk: Desk) -> Review:
    """A review that knows nothing but what the store has."""
    return desk.review


def swapped(*lines: tuple[int, str]) -> str:
    """The lines with others in some places."""
    new = LINES.splitlines(keepends=True)
    for number, text in lines:
        new[number] = text
    return "".join(new)


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with desk_at(tmp_path / "project", tmp_path / "data") as desk:
        yield desk

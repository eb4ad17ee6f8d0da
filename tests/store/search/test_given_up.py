"""A search that nobody waits for any more is stopped, and the next one is answered."""

import asyncio
import threading
from pathlib import Path

import pytest

from cogency_tui.errors import StoreError
from cogency_tui.store.search.search_thread import SearchService
from cogency_tui.store.search.searcher import Searcher
from cogency_tui.store.store import Store

ENDLESS = "WITH RECURSIVE n(x) AS (SELECT begun() UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"


class Endless:
    """A query that ends only when it is stopped."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.ended = threading.Event()

    def __call__(self, searcher: Searcher) -> None:
        connection = searcher.view.connection
        # Said from within the query: one that has not begun yet cannot be interrupted.
        connection.create_function("begun", 0, self._say)
        try:
            connection.execute(ENDLESS).fetchall()
        finally:
            self.ended.set()

    def _say(self) -> int:
        self.begun.set()
        return 1


def extent(searcher: Searcher) -> object:
    return searcher.extent()


@pytest.fixture
async def service(tmp_path: Path) -> SearchService:
    async with await Store.open(tmp_path):
        pass
    return SearchService(tmp_path)


async def test_one_that_is_cancelled_makes_room_for_the_next(service: SearchService) -> None:
    endless = Endless()
    asked = asyncio.create_task(service.run(endless))
    assert await asyncio.to_thread(endless.begun.wait, 60)
    behind = asyncio.create_task(service.run(extent))
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    assert await asyncio.to_thread(endless.ended.wait, 60)
    assert await behind == (0, 0)
    await service.close()


async def test_one_that_was_cancelled_before_its_turn_never_runs(service: SearchService) -> None:
    first, second = Endless(), Endless()
    running = asyncio.create_task(service.run(first))
    assert await asyncio.to_thread(first.begun.wait, 60)
    waiting = asyncio.create_task(service.run(second))
    await asyncio.sleep(0)
    for task in (waiting, running):
        task.cancel()
    await asyncio.wait([waiting, running])
    assert await service.run(extent) == (0, 0)
    assert not second.begun.is_set()
    await service.close()


async def test_closing_stops_what_runs(service: SearchService) -> None:
    endless = Endless()
    asked = asyncio.create_task(service.run(endless))
    assert await asyncio.to_thread(endless.begun.wait, 60)
    await service.close()
    with pytest.raises(StoreError, match="interrupted"):
        await asked
    await service.close()

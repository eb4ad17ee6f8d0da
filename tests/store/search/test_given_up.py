"""A search that nobody waits for any more is stopped, and the next one is answered."""

import asyncio
import sqlite3
import threading
from pathlib import Path

import pytest

from cogency_tui.errors import StoreError
from cogency_tui.store.search.building import update
from cogency_tui.store.search.query import parse
from cogency_tui.store.search.search_thread import SearchService
from cogency_tui.store.search.searcher import Scope, Searcher
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


class CancelledAt:
    """A search that is cancelled as it begins its statement number `statement`."""

    def __init__(self, statement: int) -> None:
        self._left = statement
        self._loop = asyncio.get_running_loop()
        self.task: asyncio.Task[list[str]] | None = None

    def __call__(self, searcher: Searcher) -> list[str]:
        searcher.view.connection.set_trace_callback(lambda _statement: self._count(searcher))
        try:
            return titles(searcher)
        finally:
            searcher.view.connection.set_trace_callback(None)

    def _count(self, searcher: Searcher) -> None:
        self._left -= 1
        if self._left or self.task is None:
            return
        self._loop.call_soon_threadsafe(self.task.cancel)
        while not searcher.view.cancelled():
            threading.Event().wait(0.001)


def titles(searcher: Searcher) -> list[str]:
    found = searcher.search(parse("natural"), Scope(), order="best", limit=50).found
    return [each.conversation.title for each in found]


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
    with pytest.raises(StoreError, match="cancelled"):
        await asked
    await service.close()


async def test_one_that_is_cancelled_with_rows_left_to_read_stops_no_other(service: SearchService) -> None:
    begun, go_on = threading.Event(), threading.Event()
    pending: list[sqlite3.Cursor] = []

    def work(searcher: Searcher) -> None:
        rows = searcher.view.connection.execute("SELECT 1 UNION ALL SELECT 2")
        rows.fetchone()
        pending.append(rows)
        begun.set()
        assert go_on.wait(60)

    asked = asyncio.create_task(service.run(work))
    assert await asyncio.to_thread(begun.wait, 60)
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    go_on.set()
    assert await service.run(extent) == (0, 0)
    assert await service.run(extent) == (0, 0)
    await service.close()


@pytest.mark.parametrize("indexed", [False, True])
async def test_one_cancelled_at_any_statement_leaves_the_next_whole(tmp_path: Path, indexed: bool) -> None:
    async with await Store.open(tmp_path) as store:
        for number in range(4):
            made = await store.create_conversation("/p", dialect="xml", provider="o", model="m")
            for text in (f"title {number}", "natural size", "size"):
                await store.append(made.id, {"type": "user", "timestamp": 1.0, "content": text})
        if indexed:
            await asyncio.to_thread(lambda: list(update(tmp_path)))
        service = SearchService(tmp_path)
        expected = await service.run(titles)
        assert len(expected) == 4
        for statement in range(1, 30):
            search = CancelledAt(statement)
            search.task = asyncio.create_task(service.run(search))
            await asyncio.wait([search.task])
            assert await service.run(titles) == expected
        await service.close()

"""A search that is interrupted, wherever that is, leaves the next one as it would have been."""

import sqlite3
from pathlib import Path

import pytest

from cogency_tui.store.database import FILE
from cogency_tui.store.search.query import parse
from cogency_tui.store.search.searcher import Scope, Searcher
from cogency_tui.store.store import Store


async def test_one_interrupted_as_it_begins_does_not_break_the_next(tmp_path: Path) -> None:
    async with await Store.open(tmp_path) as store:
        made = await store.create_conversation("/p", dialect="xml", provider="o", model="m")
        await store.append(made.id, {"type": "user", "timestamp": 1.0, "content": "the retry loop"})
    connection = sqlite3.connect(tmp_path / FILE, isolation_level=None)
    searcher = Searcher(tmp_path, connection)
    asked, scope = parse("retry"), Scope("/p")
    began = False

    def interrupt(statement: str) -> None:
        nonlocal began
        if began:
            connection.interrupt()
        began = statement == "BEGIN"

    connection.set_trace_callback(interrupt)
    for work in (
        lambda: searcher.search(asked, scope, order="newest", limit=10),
        lambda: searcher.hits(asked, made.id, 10),
        searcher.extent,
    ):
        with pytest.raises(sqlite3.OperationalError, match="interrupted"):
            work()
    connection.set_trace_callback(None)
    assert searcher.extent() == (0, 1)
    assert len(searcher.search(asked, scope, order="newest", limit=10).found) == 1
    connection.close()

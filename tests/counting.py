"""Counts what work takes, where time would be another one each time: functions called, steps of SQLite."""

import sqlite3
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

import pytest

from cogency_tui.store.database import Database

T = TypeVar("T")


class Count:
    """How many there were."""

    def __init__(self) -> None:
        self.count = 0


@contextmanager
def calls_counted() -> Generator[Count]:
    """Count the functions that this thread calls in the block, Python's own included."""
    counted = Count()

    def note(_frame: FrameType, event: str, _argument: Any) -> None:
        counted.count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield counted
    finally:
        sys.setprofile(before)


def count_store_steps(monkeypatch: pytest.MonkeyPatch) -> Count:
    """Count from now on the instructions that SQLite runs for any store of ours."""
    counted, read = Count(), Database.read

    def tick() -> int:
        counted.count += 1
        return 0

    async def read_counted(database: Database, work: Callable[[sqlite3.Connection], T]) -> T:
        def run(connection: sqlite3.Connection) -> T:
            connection.set_progress_handler(tick, 1)
            try:
                return work(connection)
            finally:
                connection.set_progress_handler(None, 1)

        return await read(database, run)

    monkeypatch.setattr(Database, "read", read_counted)
    return counted

"""The schema's history: applied once, by however many processes, and never backwards."""

import sqlite3
import time
from pathlib import Path

import pytest

from cogency_tui.errors import StoreError
from cogency_tui.store.database import FILE
from cogency_tui.store.migrations import MIGRATIONS, migrate, pending
from cogency_tui.store.store import Store
from tests.store.conftest import Spawn


def test_every_step_is_recorded_in_order_with_its_time(tmp_path: Path) -> None:
    before = time.time()
    connection = sqlite3.connect(tmp_path / FILE, isolation_level=None)
    assert pending(connection) == list(MIGRATIONS)

    migrate(connection)
    migrate(connection)

    rows = connection.execute("SELECT name, applied FROM migrations ORDER BY rowid").fetchall()
    assert [name for name, _ in rows] == [step.__name__ for step in MIGRATIONS]
    assert all(before <= applied <= time.time() for _, applied in rows)
    assert pending(connection) == []
    connection.close()


def test_a_step_that_fails_leaves_the_steps_before_it(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / FILE, isolation_level=None)
    connection.execute("CREATE TABLE drafts (in_the_way)")

    with pytest.raises(sqlite3.OperationalError, match="drafts already exists"):
        migrate(connection)

    assert pending(connection) == list(MIGRATIONS[2:])
    assert not connection.in_transaction
    connection.close()


async def test_a_newer_schema_is_refused_and_nothing_altered(directory: Path) -> None:
    await (await Store.open(directory)).close()
    raw = sqlite3.connect(directory / FILE)
    raw.execute("INSERT INTO migrations VALUES ('add_wonders', 0)")
    raw.commit()
    raw.execute("PRAGMA journal_mode = DELETE")
    raw.close()
    before = (directory / FILE).read_bytes()

    with pytest.raises(StoreError) as caught:
        await Store.open(directory)

    assert f"version {len(MIGRATIONS) + 1} (add_wonders), this program knows {len(MIGRATIONS)}" in str(
        caught.value
    )
    assert "Update" in caught.value.hint
    assert (directory / FILE).read_bytes() == before


@pytest.mark.exhaustive
@pytest.mark.parametrize("damaged", [False, True])
async def test_processes_that_start_at_once_make_one_database(
    directory: Path, spawn: Spawn, damaged: bool
) -> None:
    directory.mkdir()
    if damaged:
        (directory / FILE).write_bytes(b"damaged " * 200)
    children = [spawn("begin") for _ in range(4)]
    for child in children:
        assert child.stdin is not None
        child.stdin.write("\n")
        child.stdin.flush()
    said = [child.communicate()[0].strip() for child in children]

    assert [child.returncode for child in children] == [0] * 4
    assert all(("damaged-1" in line) == damaged for line in said)
    assert len(list(directory.glob("*damaged*"))) == damaged
    raw = sqlite3.connect(directory / FILE)
    assert raw.execute("SELECT count(*) FROM migrations").fetchone() == (len(MIGRATIONS),)
    raw.close()


def test_a_step_done_by_another_process_meanwhile_is_not_repeated(tmp_path: Path) -> None:
    first = sqlite3.connect(tmp_path / FILE, isolation_level=None)
    second = sqlite3.connect(tmp_path / FILE, isolation_level=None)

    def let_the_other_go_first(statement: str) -> None:
        if statement == "BEGIN IMMEDIATE":
            first.set_trace_callback(None)
            migrate(second)

    first.set_trace_callback(let_the_other_go_first)
    migrate(first)

    assert first.execute("SELECT count(*) FROM migrations").fetchone() == (len(MIGRATIONS),)
    first.close()
    second.close()

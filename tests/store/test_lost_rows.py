"""What a damaged store has lost comes back from a copy, and what stays lost is named."""

import os
import shutil
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from cogency_tui.store import origins
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.check_and_repair import check, repair
from cogency_tui.store.copies import DIRECTORY, make_copy
from cogency_tui.store.database import FILE
from cogency_tui.store.edit_records import ABSENT, FileChange
from cogency_tui.store.edits import Edits
from cogency_tui.store.requests import Frame, Requests
from cogency_tui.store.search.building import update
from cogency_tui.store.search.index_file import BLOBS, INDEX
from cogency_tui.store.search.search_thread import SearchService
from cogency_tui.store.store import Store, StoredConversation
from tests.store.test_check_and_repair import PAGE
from tests.store.test_trouble import said

TABLES = ("conversations", "events", "edits", "usage", "requests")
FRAME = Frame((("system", "words"),), "", "xml", 1_000, 0)


async def grown(directory: Path, conversations: int, *, name: str = "a") -> list[StoredConversation]:
    """Conversations with events, edits, usage and requests."""
    made: list[StoredConversation] = []
    blobs = Blobs(directory / BLOBS)
    async with await Store.open(directory) as store:
        edits, requests = Edits(store.database), Requests(store.database)
        for number in range(conversations):
            one = await store.create_conversation("/p", dialect="xml", provider="offline", model="m")
            made.append(one)
            for event in range(8):
                last = await store.append(one.id, said(f"{name} {number} {event} {'words ' * 60}"))
                content = blobs.version(f"{name} {number} {event}".encode(), 0o644)
                change = FileChange(f"f{event}", ABSENT, content)
                await edits.add(await edits.origin(one.id), f"c{last}", "write", [change])
                await store.record_usage(one.id, {"input": 1, "output": 2, "cost": 0.5})
                await requests.add(one.id, 0, last, FRAME, "")
    return made


def counts(directory: Path) -> dict[str, int]:
    with closing(sqlite3.connect(directory / FILE)) as connection:
        return {table: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in TABLES}


def meddle(directory: Path, *statements: str) -> None:
    with closing(sqlite3.connect(directory / FILE, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


def lost(lines: list[str]) -> str:
    return "\n".join(line for line in lines if line.startswith("Lost: "))


@pytest.mark.parametrize("part", [0.3, 0.5, 0.7, 0.9])
async def test_a_truncated_store_has_no_less_than_its_copy(directory: Path, part: float) -> None:
    await grown(directory, 9)
    make_copy(directory, time.time())
    in_copy = counts(directory)
    await grown(directory, 3, name="b")
    path = directory / FILE
    os.truncate(path, int(path.stat().st_size * part) // PAGE * PAGE - 100)
    done = repair(directory)
    after = counts(directory)
    assert {table: after[table] >= in_copy[table] for table in TABLES} == dict.fromkeys(TABLES, True)
    assert "Lost: " in "\n".join(done)
    assert check(directory) == []
    assert repair(directory) == []


async def test_a_truncated_store_names_its_losses_by_counts(directory: Path) -> None:
    await grown(directory, 9)
    make_copy(directory, time.time())
    await grown(directory, 1, name="b")
    path = directory / FILE
    # The new pages are the last ones.
    with closing(sqlite3.connect(next((directory / DIRECTORY).glob("*.db")))) as copy:
        (pages,) = copy.execute("PRAGMA page_count").fetchone()
    os.truncate(path, (pages - 2) * PAGE)
    named = lost(repair(directory))
    assert "Lost: 8 events (73–80) were removed, and no copy has them." in named
    assert ", 8 edits, " in named


async def test_what_proves_a_store_to_its_copies_comes_back(directory: Path) -> None:
    await grown(directory, 1)
    with closing(sqlite3.connect(directory / FILE)) as connection, connection:
        origins.own(connection)
        before = connection.execute("SELECT * FROM origin_secrets").fetchall()
    assert before
    make_copy(directory, time.time())
    meddle(directory, "DROP TABLE origin_secrets")
    repair(directory)
    with closing(sqlite3.connect(directory / FILE)) as connection:
        assert connection.execute("SELECT * FROM origin_secrets").fetchall() == before
    assert check(directory) == []


@pytest.mark.parametrize(
    ("table", "what"), [("edits", "edits"), ("usage", "usage"), ("requests", "requests")]
)
async def test_a_removed_table_is_filled_from_the_copy_and_named(
    directory: Path, table: str, what: str
) -> None:
    await grown(directory, 2)
    copy = make_copy(directory, time.time())
    assert copy is not None
    before = counts(directory)
    await grown(directory, 1)
    meddle(directory, f"DROP TABLE {table}")
    done = repair(directory)
    assert done[0] == (
        f"Lost: all {what} since the copy of {copy.stem[8:]}, which has {before[table]}: the table was removed."
    )
    assert f"Rows that the database had lost were restored from {copy}: {before[table]} in {table}." in done
    assert counts(directory)[table] == before[table]
    assert check(directory) == []


async def test_a_readable_table_proves_that_its_rows_were_deleted(directory: Path) -> None:
    await grown(directory, 2)
    make_copy(directory, time.time())
    meddle(directory, "DELETE FROM requests WHERE id = 1", "DROP TABLE edits")
    repair(directory)
    assert counts(directory)["requests"] == 15


async def test_a_copy_of_another_store_fills_nothing(directory: Path, tmp_path: Path) -> None:
    await grown(tmp_path / "other", 2)
    copy = make_copy(tmp_path / "other", time.time())
    assert copy is not None
    await grown(directory, 2)
    (directory / DIRECTORY).mkdir()
    shutil.copy(copy, directory / DIRECTORY)
    meddle(directory, "DROP TABLE usage")
    assert lost(repair(directory)) == "Lost: all usage: the table was removed."


async def test_contents_that_are_lost_with_the_store_are_named(directory: Path) -> None:
    await grown(directory, 1)
    make_copy(directory, time.time())
    for each in directory.iterdir():
        if each.name != DIRECTORY:
            shutil.rmtree(each) if each.is_dir() else each.unlink()
    await grown(directory, 1, name="since")
    assert "8 stored versions of files, whose edits cannot be reverted" in lost(repair(directory))


async def test_a_conversation_that_is_made_of_its_events_is_named(directory: Path) -> None:
    await grown(directory, 1)
    make_copy(directory, time.time())
    (newer,) = await grown(directory, 1)
    meddle(directory, f"DELETE FROM conversations WHERE id = '{newer.id}'")
    named = f"Lost: title, model and totals of 1 conversation ({newer.id}), now listed as `Recovered`."
    assert lost(repair(directory)) == named
    # It is lost once.
    assert repair(directory) == []


async def test_lost_conversations_are_named_once(directory: Path) -> None:
    first, _ = await grown(directory, 2)
    make_copy(directory, time.time())
    (newest,) = await grown(directory, 1)
    meddle(
        directory,
        f"UPDATE conversations SET source = 'claude-code', original = 'o' WHERE id = '{first.id}'",
        f"DELETE FROM conversations WHERE id IN ('{first.id}', '{newest.id}')",
    )
    assert lost(repair(directory))
    assert repair(directory) == []
    assert check(directory) == []


async def test_a_damaged_id_of_a_conversation_makes_none(directory: Path) -> None:
    made = await grown(directory, 2)
    make_copy(directory, time.time())
    meddle(directory, "UPDATE events SET conversation_id = 'x' || substr(conversation_id, 2) WHERE seq = 5")
    assert not lost(repair(directory))
    async with await Store.open(directory) as store:
        assert {each.id for each in await store.conversations(limit=9)} == {each.id for each in made}


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("CREATE TRIGGER t AFTER INSERT ON events BEGIN DELETE FROM events WHERE seq = 10; END", "trigger t"),
        ("CREATE VIEW v AS SELECT 1", "view v"),
        ("CREATE TABLE other (a)", "table other"),
        ("CREATE INDEX i ON events (body)", "index i"),
    ],
)
async def test_foreign_parts_of_the_schema_are_named_and_removed(
    directory: Path, statement: str, named: str
) -> None:
    await grown(directory, 2)
    make_copy(directory, time.time())
    before = counts(directory)
    meddle(directory, statement, "DELETE FROM events WHERE seq = 10")
    assert f"{named}" in check(directory)[0].what
    assert "made by another program" in check(directory)[0].what
    assert any(
        line.startswith(f"Made by another program, and removed: {named}") for line in repair(directory)
    )
    assert check(directory) == []
    assert counts(directory) == before
    await grown(directory, 1)
    assert check(directory) == []


async def test_an_index_of_another_definition_is_damage(directory: Path) -> None:
    await grown(directory, 1)
    meddle(
        directory,
        "DROP INDEX events_by_conversation",
        "CREATE INDEX events_by_conversation ON events (type)",
    )
    assert "index events_by_conversation missing" in check(directory)[0].what
    repair(directory)
    assert check(directory) == []


async def test_lost_contents_are_found_beside_other_damage(directory: Path) -> None:
    await grown(directory, 1)
    make_copy(directory, time.time())
    meddle(
        directory,
        "UPDATE edits SET before_digest = '00', before_kept = 1 WHERE id = 1",
        "DELETE FROM events WHERE seq = 3",
    )
    assert {damage.path.name for damage in check(directory)} >= {FILE, BLOBS}


async def test_a_rebuilt_store_has_no_index_of_the_one_before(directory: Path) -> None:
    await grown(directory, 3)
    list(update(directory))
    assert (directory / INDEX).exists()
    meddle(directory, "PRAGMA foreign_keys = OFF", "DROP TABLE usage", "DELETE FROM events WHERE seq > 5")
    repair(directory)
    list(update(directory))
    async with await Store.open(directory) as store:
        service = SearchService(directory, store.notices)
        try:
            done, total = await service.run(lambda searcher: searcher.extent())
        finally:
            await service.close()
    assert 0 < done <= total

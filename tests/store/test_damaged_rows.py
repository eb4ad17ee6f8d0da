"""Damage within pages and frames: rows without values, a WAL whose chain breaks, and what a repair makes of it."""

import shutil
import sqlite3
from itertools import cycle
from pathlib import Path

import pytest

from cogency_tui.store.check_and_repair import check, repair
from cogency_tui.store.database import FILE, companions
from cogency_tui.store.edits import Edits
from cogency_tui.store.recovery import recover
from cogency_tui.store.schema_backup import path_of
from cogency_tui.store.search.building import update
from cogency_tui.store.search.search_thread import SearchService
from cogency_tui.store.store import Store
from tests.agent.journaling import desk_at
from tests.store.test_check_and_repair import PAGE, filled_pages, several
from tests.store.test_trouble import said, spoil

_FRAME = 24 + PAGE


@pytest.mark.exhaustive
async def test_a_store_with_half_zeroed_pages_is_whole_after_one_repair(
    directory: Path, tmp_path: Path
) -> None:
    await several(directory, 5)
    said_so = 0
    parts = cycle([slice(0, PAGE // 2), slice(PAGE // 2, PAGE), slice(1000, 3000)])
    for offset, part in zip(filled_pages((directory / FILE).read_bytes()), parts, strict=False):
        spot = tmp_path / str(offset)
        spot.mkdir()
        shutil.copy(directory / FILE, spot)
        shutil.copy(path_of(directory / FILE), spot)
        spoil(spot / FILE, offset + part.start, bytes(part.stop - part.start))
        if check(spot):
            line, *_ = repair(spot)
            said_so += line.startswith("Lost: ")
        assert check(spot) == [], offset
        shutil.rmtree(spot)
    assert said_so


def _without(path: Path, table: str, column: str) -> None:
    """Leave the last row of a table without a value that it has to have."""
    raw = sqlite3.connect(path, isolation_level=None)
    (sql,) = raw.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (table,)).fetchone()
    raw.execute("PRAGMA writable_schema = ON")
    raw.execute("UPDATE sqlite_schema SET sql = replace(sql, 'NOT NULL', '') WHERE name = ?", (table,))
    raw.close()
    raw = sqlite3.connect(path, isolation_level=None)
    raw.execute("PRAGMA writable_schema = ON")
    raw.execute(f"UPDATE {table} SET {column} = NULL WHERE rowid = (SELECT max(rowid) FROM {table})")
    raw.execute("UPDATE sqlite_schema SET sql = ? WHERE name = ?", (sql, table))
    raw.close()


@pytest.mark.parametrize(
    ("table", "column"),
    [
        *(("events", name) for name in ("conversation_id", "type", "timestamp", "body")),
        *(
            ("edits", name)
            for name in ("path", "tool", "undoes", "before_digest", "before_size", "after_mode")
        ),
        ("usage", "body"),
    ],
)
async def test_a_row_without_a_value_stops_no_reader_and_no_repair(
    tmp_path: Path, table: str, column: str
) -> None:
    data = tmp_path / "data"
    async with desk_at(tmp_path / "project", data) as desk:
        await desk.write(("a", "words\n"), ("b", "words\n"))
        await desk.store.append(desk.conversation, said("words"))
        await desk.store.record_usage(desk.conversation, {"input": 1, "output": 1, "duration": 0.0})
        conversation = desk.conversation
    _without(data / FILE, table, column)
    async with await Store.open(data) as store:
        (known,) = await store.conversations(limit=9)
        events = await store.events(known.id)
        edits = await Edits(store.database).of_conversation(known.id)
        list(update(data))
        service = SearchService(data, store.notices)
        try:
            done, total = await service.run(lambda searcher: searcher.extent())
            assert 0 < done <= total
        finally:
            await service.close()
    # The body of an event has its moment, too.
    lost = table == "events" and column != "timestamp"
    assert (len(events), len(edits)) == (2 - lost, 2 - (table == "edits"))
    assert any(f"1 in {table}" in damage.what or table in damage.what for damage in check(data))
    line, *_ = repair(data)
    assert ("1 event (2)" if table == "events" else f"1 in {table}") in line
    assert check(data) == []
    async with await Store.open(data) as store:
        assert await store.conversation(conversation)


async def test_a_conversation_without_its_title_can_be_listed(directory: Path) -> None:
    await several(directory)
    for column in ("title", "updated", "turns", "project"):
        with sqlite3.connect(directory / FILE) as raw:
            raw.execute("PRAGMA writable_schema = ON")
            raw.execute(
                "UPDATE sqlite_schema SET sql = replace(sql, 'NOT NULL', '') WHERE name = 'conversations'"
            )
        raw.close()
        with sqlite3.connect(directory / FILE) as raw:
            raw.execute(f"UPDATE conversations SET {column} = NULL")
        raw.close()
    async with await Store.open(directory) as store:
        found = await store.conversations(limit=99)
    assert len(found) == 12
    assert {(each.title, each.updated, each.turns, each.project) for each in found} == {("", 0, 0, "")}


async def test_a_row_with_a_number_beyond_all_others_is_no_end_of_a_recovery(
    directory: Path, tmp_path: Path
) -> None:
    await several(directory)
    with sqlite3.connect(directory / FILE) as raw:
        raw.execute(
            "INSERT INTO events SELECT 9223372036854775807, conversation_id, type, timestamp, unit, body"
            " FROM events LIMIT 1"
        )
        found = recover(raw, tmp_path / "fresh")
    raw.close()
    assert found.rows > 100
    assert found.broken == ["events"]


def _flip(data: bytearray, at: int) -> None:
    data[at] ^= 0xFF


async def _wal(directory: Path, place: Path) -> Path:
    """A store with most of it in the WAL, copied while it is open."""
    async with await Store.open(directory) as store:
        made = await store.create_conversation("/p", dialect="xml", provider="offline", model="m")
        for number in range(12):
            await store.append(made.id, said(str(number)))
        place.mkdir()
        for file in (directory / FILE, companions(directory / FILE)[0]):
            shutil.copy(file, place)
    return companions(place / FILE)[0]


@pytest.mark.exhaustive
@pytest.mark.parametrize("at", [0, 5, 10, 18, 24 + 100], ids=["page", "commit", "salt", "checksum", "data"])
async def test_a_flipped_byte_anywhere_in_a_frame_is_found(directory: Path, tmp_path: Path, at: int) -> None:
    wal = await _wal(directory, tmp_path / "copy")
    whole = wal.read_bytes()
    frames = (len(whole) - 32) // _FRAME
    assert check(wal.parent) == []
    # A last frame with another salt is what an earlier log leaves behind the end of a later one.
    for frame in range(0, frames - 1, frames // 6):
        data = bytearray(whole)
        _flip(data, 32 + frame * _FRAME + at)
        wal.write_bytes(data)
        assert [damage.path for damage in check(wal.parent)][:1] == [wal], frame


async def test_an_earlier_round_and_an_unfinished_transaction_are_no_damage(
    directory: Path, tmp_path: Path
) -> None:
    async with await Store.open(directory) as store:
        made = await store.create_conversation("/p", dialect="xml", provider="offline", model="m")
        for number in range(12):
            await store.append(made.id, said(f"{number} {'long ' * 400}"))

        def checkpoint(connection: sqlite3.Connection) -> None:
            connection.execute("PRAGMA wal_checkpoint(RESTART)")

        await store.database.read(checkpoint)
        await store.append(made.id, said("short"))
        (tmp_path / "copy").mkdir()
        for file in (directory / FILE, companions(directory / FILE)[0]):
            shutil.copy(file, tmp_path / "copy")
    assert check(tmp_path / "copy") == []
    wal = await _wal(tmp_path / "other", tmp_path / "unfinished")
    whole = wal.read_bytes()
    salt = whole[16:24]
    # Pages of a transaction whose process was killed: no frame of it is a commit.
    wal.write_bytes(whole + (bytes([0, 0, 0, 9]) + bytes(4) + salt + bytes(8) + bytes(PAGE)) * 2)
    assert check(wal.parent) == []

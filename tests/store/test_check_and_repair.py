"""Damages of a store: each is found, and what can be read is recovered with the damaged file left as it is."""

import shutil
import sqlite3
import time
from io import BytesIO
from itertools import cycle
from pathlib import Path

import pytest

from cogency_tui.errors import StoreError
from cogency_tui.store import schema_backup
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.check_and_repair import check, extent, repair
from cogency_tui.store.copies import make_copy
from cogency_tui.store.database import FILE
from cogency_tui.store.open_locks import Presence
from cogency_tui.store.search.building import update
from cogency_tui.store.search.index_file import BLOBS, INDEX
from cogency_tui.store.store import Store
from tests.store.test_trouble import filled, root_of, said, spoil

PAGE = 4096
DAMAGES = {"zero": bytes(PAGE), "garbage": b"\xa5" * PAGE, "part": b"\xff" * 600}
SHARES = 4
"""Parts of all pages: one test damages every fourth page."""


async def several(directory: Path, conversations: int = 12) -> dict[str, int]:
    """Conversations with their numbers of events."""
    found: dict[str, int] = {}
    async with await Store.open(directory) as store:
        for number in range(conversations):
            made = await store.create_conversation("/p", dialect="xml", provider="offline", model="m")
            for event in range(number + 4):
                await store.append(made.id, said(f"{event} {'words ' * 40}"))
            found[made.id] = number + 4
    return found


async def counts(directory: Path) -> dict[str, int]:
    async with await Store.open(directory) as store:
        return {each.id: len(await store.events(each.id)) for each in await store.conversations(limit=99)}


async def test_a_store_that_is_whole_has_no_damage(directory: Path) -> None:
    assert check(directory) == []
    await several(directory)
    list(update(directory))
    assert check(directory) == []
    assert repair(directory) == []


def filled_pages(whole: bytes) -> list[int]:
    """Where the pages of a store begin that hold cells: those of the others are nothing but a header."""
    return [at for at in range(0, len(whole), PAGE) if any(whole[at + 3 + 100 * (at == 0) :][:2])]


@pytest.mark.exhaustive
@pytest.mark.parametrize("first", range(SHARES))
async def test_damage_of_any_page_is_found_and_repaired(directory: Path, tmp_path: Path, first: int) -> None:
    expected = await several(directory, 5)
    path = directory / FILE
    whole = path.read_bytes()
    trunk, _size = root_of(path, "events")
    complete = 0
    # One of the kinds in each page; of pages without cells, every third.
    with_cells = filled_pages(whole)
    empty = [offset for offset in range(0, len(whole), PAGE) if offset not in with_cells]
    offsets = [*with_cells[first::SHARES], *empty[first :: 3 * SHARES]]
    damages = [*zip(offsets, cycle(DAMAGES.values()), strict=False)]
    for number, (offset, data) in enumerate(damages):
        spot = tmp_path / str(number)
        spot.mkdir()
        (spot / FILE).write_bytes(whole)
        shutil.copy(schema_backup.path_of(path), spot)
        spoil(spot / FILE, offset, data)
        damaged = (spot / FILE).read_bytes()
        found = check(spot)
        assert found, offset
        assert all(damage.path == spot / FILE and damage.of_store for damage in found)
        assert (spot / FILE).read_bytes() == damaged

        assert repair(spot)

        assert check(spot) == [], offset
        kept = [
            each for each in spot.glob(f"{FILE}.damaged-?") if each.read_bytes()[offset:].startswith(data)
        ]
        assert kept, offset
        after = await counts(spot)
        assert all(count <= expected[id] for id, count in after.items())
        # One page has at most sixteen of these events, or the rows of conversations, which come back.
        assert offset == trunk or sum(after.values()) >= sum(expected.values()) - 16, offset
        complete += after == expected
        shutil.rmtree(spot)
    assert complete > len(damages) // 3


@pytest.mark.parametrize("part", [0.6, 0.9])
async def test_a_truncated_store_gives_what_is_left_of_it(directory: Path, part: float) -> None:
    expected = await several(directory)
    path = directory / FILE
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * part) // PAGE * PAGE])
    assert check(directory)
    assert repair(directory)
    assert check(directory) == []
    assert sum((await counts(directory)).values()) <= sum(expected.values())


async def test_rows_without_their_conversation_an_unreadable_event_and_a_missing_index_are_found(
    directory: Path,
) -> None:
    await filled(directory, 3)
    for statement, what in (
        (
            "UPDATE events SET conversation_id = 'lost' WHERE seq = 1",
            "1 conversation (lost) lost; 1 row belongs to rows that are lost (events)",
        ),
        ("UPDATE events SET body = 'none' WHERE seq = 2", "rows that cannot be read: 1 in events"),
        ("DROP INDEX events_by_conversation", "index events_by_conversation missing"),
    ):
        with sqlite3.connect(directory / FILE) as raw:
            raw.execute(statement)
        raw.close()
        assert any(what in damage.what for damage in check(directory)), what


async def test_a_damaged_wal_is_found_before_anybody_opens_the_store(directory: Path, tmp_path: Path) -> None:
    store = await Store.open(directory)
    made = await store.create_conversation("/p", dialect="xml", provider="offline", model="m")
    for number in range(30):
        await store.append(made.id, said(str(number)))
    copy = tmp_path / "copy"
    copy.mkdir()
    for name in (FILE, f"{FILE}-wal"):
        shutil.copy(directory / name, copy / name)
    await store.close()
    wal = copy / f"{FILE}-wal"
    assert check(copy) == []
    for at, what in ((10, "header is damaged"), (wal.stat().st_size // 2, "pages cannot be read")):
        whole = wal.read_bytes()
        spoil(wal, at, b"\xee" * 40)
        (damage,) = [each for each in check(copy) if each.path == wal]
        assert what in damage.what
        wal.write_bytes(whole)
    (copy / FILE).unlink()
    (damage,) = check(copy)
    assert damage.path == wal


async def test_a_content_that_is_lost_and_a_damaged_index_are_named(directory: Path) -> None:
    made = await filled(directory, 3)
    list(update(directory))
    stored = Blobs(directory / BLOBS).put(BytesIO(b"bytes"))
    with sqlite3.connect(directory / FILE) as raw:
        raw.execute(
            "INSERT INTO edits (conversation, caller, turn, project, call, tool, path, old_path, made, kind,"
            " timestamp, undoes, before_kind, before_digest, before_size, before_mode, before_kept,"
            " after_kind, after_digest, after_size, after_mode, after_kept)"
            " VALUES (?, '', 1, '/p', 'c', 'edit', 'f', '', '', 'edit', 1.0, '[]', 'file', ?, 5, 420, 1,"
            " 'missing', '', 0, 0, 0)",
            (made.id, stored.digest),
        )
    raw.close()
    assert check(directory) == []
    content = directory / BLOBS / stored.digest[:2] / stored.digest[2:]
    content.write_bytes(b"=other")
    (directory / INDEX).write_bytes(b"none" * 999)
    contents, index = check(directory)
    assert (contents.path, index.path) == (directory / BLOBS, directory / INDEX)
    assert str(content) in contents.what
    assert not any(damage.of_store for damage in (contents, index))


@pytest.mark.exhaustive
async def test_what_was_set_aside_is_brought_back_beside_what_came_since(directory: Path) -> None:
    expected = await several(directory)
    path = directory / FILE
    at, size = root_of(path, "migrations")
    spoil(path, at, b"\xff" * size)
    async with await Store.open(directory) as store:
        assert "doctor --repair" in store.notices[0]
        made = await store.create_conversation("/p", dialect="xml", provider="offline", model="m")
        await store.append(made.id, said("since"))

    assert repair(directory)
    assert await counts(directory) == {**expected, made.id: 1}
    assert repair(directory) == []


async def test_a_store_that_is_open_elsewhere_is_not_repaired(directory: Path) -> None:
    made = await filled(directory)
    at, size = root_of(directory / FILE, "events")
    spoil(directory / FILE, at, b"\xff" * size)
    elsewhere = Presence(directory)
    elsewhere.enter(made.id, 1.0)
    with pytest.raises(StoreError, match="is open in process"):
        repair(directory)
    elsewhere.leave()
    assert repair(directory)


def rename_in_schema(path: Path, old: bytes, new: bytes) -> None:
    """Change bytes of a row of the schema, as damage does."""
    data = path.read_bytes()
    assert data.count(old) == 1
    path.write_bytes(data.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"tabledraftsdrafts", b"table\xe4raftsdrafts"),
        (b"CREATE TABLE drafts", b"CREATE TABLE \xe4rafts"),
        (b"    before_digest TEXT", b"    before_digesd TEXT"),
        (b"    after_digest TEXT", b"    after\xffdigest TEXT"),
        (b"event_chain (seq INTEGER PRIMARY", b"event_chain (seq INTEGDR PRIMARY"),
    ],
)
async def test_a_damaged_name_in_the_schema_is_named_and_repaired_in_full(
    directory: Path, old: bytes, new: bytes
) -> None:
    expected = await several(directory, 3)
    rename_in_schema(directory / FILE, old, new)
    assert check(directory)[0].of_store
    assert repair(directory)
    assert check(directory) == []
    assert await counts(directory) == expected


async def test_a_schema_with_names_that_are_no_text_is_an_error_of_every_opening(directory: Path) -> None:
    expected = await several(directory, 2)
    rename_in_schema(directory / FILE, b"tabledraftsdrafts", b"table\xe4raftsdrafts")
    with pytest.raises(StoreError, match="is damaged"):
        await Store.open_to_read(directory)
    with pytest.raises(StoreError, match="is damaged"):
        extent(directory)
    with pytest.raises(StoreError, match="is damaged"):
        make_copy(directory, time.time())
    async with await Store.open(directory) as store:
        assert "doctor --repair" in store.notices[0]
    assert repair(directory)
    assert await counts(directory) == expected

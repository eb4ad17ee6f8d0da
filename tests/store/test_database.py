"""Opening, closing and failing: files and modes, damage, locks, a full disk, cancelled callers."""

import asyncio
import fcntl
import os
import sqlite3
import threading
from pathlib import Path

import pytest

from cogency_tui.errors import StoreError
from cogency_tui.store.database import FILE, LOCK, Database
from cogency_tui.store.store import Store, StoredConversation
from tests.store.conftest import Spawn


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


async def filled(directory: Path) -> Path:
    """A closed database of some pages."""
    async with await Store.open(directory) as store:
        made = await store.create_conversation("/p", dialect="xml", provider="offline", model="m")
        for _ in range(20):
            await store.append(made.id, {"type": "user", "timestamp": 1.0, "content": "x" * 1000})
    return directory / FILE


async def test_files_are_the_persons_alone_whatever_the_umask(directory: Path) -> None:
    umask = os.umask(0)
    try:
        async with await Store.open(directory) as store:
            await store.create_conversation("/p", dialect="xml", provider="offline", model="m")
            modes = {file.name: mode(file) for file in directory.iterdir()}
    finally:
        os.umask(umask)

    assert mode(directory) == 0o700
    assert modes == dict.fromkeys((FILE, f"{FILE}-wal", f"{FILE}-shm", f"{FILE}.schema", LOCK), 0o600)


async def test_a_file_that_others_could_read_is_closed_to_them(directory: Path) -> None:
    (await filled(directory)).chmod(0o644)

    async with await Store.open(directory):
        assert mode(directory / FILE) == 0o600


async def test_a_directory_that_was_there_keeps_its_mode(directory: Path) -> None:
    directory.mkdir()
    directory.chmod(0o755)

    async with await Store.open(directory):
        assert mode(directory) == 0o755


async def test_the_connection_is_set_up_as_promised(store: Store) -> None:
    def pragma(connection: sqlite3.Connection) -> list[object]:
        names = ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        return [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in names]

    assert await store.database.read(pragma) == ["wal", 1, 1, 5000]


async def test_what_was_stored_is_there_when_opened_again(directory: Path) -> None:
    await filled(directory)

    async with await Store.open(directory) as store:
        assert (await store.latest("/p")) is not None
        assert store.notices == []


async def test_closing_twice_is_fine_and_a_closed_store_says_so(directory: Path) -> None:
    store = await Store.open(directory)
    await store.close()
    await store.close()

    with pytest.raises(StoreError, match="was closed"):
        await store.count()


@pytest.mark.parametrize("below", ["", "deeper", "deeper/still"])
async def test_a_file_in_place_of_the_directory_is_named(tmp_path: Path, below: str) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(StoreError, match=f"{tmp_path}/file") as caught:
        await Store.open(tmp_path / "file" / below)

    assert "COGENCY_DATA" in caught.value.hint


@pytest.mark.parametrize("name", [FILE, LOCK])
async def test_a_directory_in_place_of_a_file_is_named(directory: Path, name: str) -> None:
    (directory / name).mkdir(parents=True)

    with pytest.raises(StoreError, match=name):
        await Store.open(directory)


@pytest.mark.skipif(os.geteuid() == 0, reason="permission bits do not stop root")
@pytest.mark.parametrize("below", ["", "new"])
async def test_a_read_only_directory_is_named(tmp_path: Path, below: str) -> None:
    tmp_path.chmod(0o500)

    with pytest.raises(StoreError, match="cannot be written: Permission denied") as caught:
        await Store.open(tmp_path / below)

    assert "COGENCY_DATA" in caught.value.hint


@pytest.mark.parametrize("damage", ["text", "stub", "truncated", "header"])
async def test_a_damaged_file_is_kept_and_a_new_one_started(directory: Path, damage: str) -> None:
    path = await filled(directory)
    whole = path.read_bytes()
    damaged = {
        "text": b"This is no database. " * 500,
        "stub": whole[:50],
        "truncated": whole[: len(whole) // 2],
        "header": b"\0" * 100 + whole[100:],
    }[damage]
    path.write_bytes(damaged)
    (directory / f"{FILE}.damaged-1").touch()

    async with await Store.open(directory) as store:
        assert await store.count() == 0
        assert (directory / f"{FILE}.damaged-2").read_bytes() == damaged
        (notice,) = store.notices
        assert f"{FILE}.damaged-2" in notice
        assert mode(path) == 0o600


async def test_damage_found_later_is_reported_and_the_rest_still_read(directory: Path) -> None:
    path = await filled(directory)
    with sqlite3.connect(path) as raw:
        (page,) = raw.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'usage'").fetchone()
        (size,) = raw.execute("PRAGMA page_size").fetchone()
    raw.close()
    with path.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xff" * size)

    async with await Store.open(directory) as store:
        made = await store.latest("/p")
        assert made is not None
        with pytest.raises(StoreError, match="is damaged") as caught:
            await store.record_usage(made.id, {"input": 1, "output": 1})
        assert "Recover" in caught.value.hint
        assert len(await store.events(made.id)) == 20


async def test_a_locked_database_is_reported_and_usable_after(
    directory: Path, conversation: StoredConversation
) -> None:
    raw = sqlite3.connect(directory / FILE, isolation_level=None)
    raw.execute("BEGIN IMMEDIATE")
    async with await Store.open(directory, patience=0.01) as store:
        with pytest.raises(StoreError, match="locked by another process"):
            await store.rename(conversation.id, "new")
        assert await store.count() == 1
        raw.rollback()
        await store.rename(conversation.id, "new")
    raw.close()


async def test_the_loop_goes_on_while_another_process_holds_the_lock(
    store: Store, directory: Path, conversation: StoredConversation
) -> None:
    raw = sqlite3.connect(directory / FILE, isolation_level=None)
    raw.execute("BEGIN IMMEDIATE")
    waiting = asyncio.create_task(store.rename(conversation.id, "new"))
    for _ in range(100):
        await asyncio.sleep(0)
    assert not waiting.done()

    raw.rollback()
    await waiting
    raw.close()


async def test_a_process_that_never_finishes_opening_is_reported(directory: Path) -> None:
    directory.mkdir()
    with (directory / LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(StoreError, match=rf"{LOCK} is locked by another process"):
            await Store.open(directory, patience=0.01)


async def test_a_full_disk_is_reported_and_nothing_is_half_written(
    store: Store, conversation: StoredConversation
) -> None:
    def limit(connection: sqlite3.Connection, pages: int) -> None:
        connection.execute(f"PRAGMA max_page_count = {pages}")

    await store.database.read(lambda connection: limit(connection, 1))
    with pytest.raises(StoreError, match="full") as caught:
        await store.append(conversation.id, {"type": "user", "timestamp": 1.0, "content": "x" * 100_000})
    assert "space" in caught.value.hint
    assert await store.conversation(conversation.id) == conversation

    await store.database.read(lambda connection: limit(connection, 100_000))
    await store.append(conversation.id, {"type": "user", "timestamp": 1.0, "content": "x" * 100_000})


async def test_a_failing_transaction_leaves_nothing_behind(
    store: Store, conversation: StoredConversation
) -> None:
    def fail(connection: sqlite3.Connection) -> None:
        connection.execute("UPDATE conversations SET title = 'half'")
        raise LookupError

    with pytest.raises(LookupError):
        await store.database.write(fail)

    assert await store.conversation(conversation.id) == conversation


async def test_a_cancelled_caller_leaves_a_whole_transaction(
    store: Store, conversation: StoredConversation
) -> None:
    loop, entered, go_on = asyncio.get_running_loop(), asyncio.Event(), threading.Event()

    def work(connection: sqlite3.Connection) -> None:
        connection.execute("UPDATE conversations SET title = 'half'")
        loop.call_soon_threadsafe(entered.set)
        go_on.wait()
        connection.execute("UPDATE conversations SET title = 'whole'")

    writing = asyncio.create_task(store.database.write(work))
    await entered.wait()
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    go_on.set()

    after = await store.conversation(conversation.id)
    assert after is not None
    assert after.title == "whole"


@pytest.mark.exhaustive
async def test_a_program_that_dies_without_closing_ends(directory: Path, spawn: Spawn) -> None:
    child = spawn("crash")
    child.communicate(timeout=10)

    assert child.returncode == 3
    async with await Store.open(directory) as store:
        assert await store.count() == 1


async def test_a_cancelled_open_leaves_no_thread(directory: Path) -> None:
    opening = asyncio.create_task(Database.open(directory))
    await asyncio.sleep(0)
    opening.cancel()

    with pytest.raises(asyncio.CancelledError):
        await opening

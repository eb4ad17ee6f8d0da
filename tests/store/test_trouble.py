"""What goes wrong with the file of the store: nothing is lost by it, and the user hears of it."""

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cogency_tui.agent.recall.recall import Recall
from cogency_tui.errors import StoreError
from cogency_tui.protocol.events import UserEvent
from cogency_tui.store import unseen_notices
from cogency_tui.store.database import FILE
from cogency_tui.store.search.building import update
from cogency_tui.store.search.query import parse
from cogency_tui.store.search.search_thread import SearchService
from cogency_tui.store.search.searcher import Scope
from cogency_tui.store.store import Store, StoredConversation


def said(content: str) -> UserEvent:
    return {"type": "user", "timestamp": 1.0, "content": content}


async def filled(directory: Path, events: int = 300) -> StoredConversation:
    async with await Store.open(directory) as store:
        made = await store.create_conversation("/p", dialect="xml", provider="offline", model="m")
        for number in range(events):
            await store.append(made.id, said(f"{number} {'x' * 90}"))
        return made


def root_of(path: Path, name: str) -> tuple[int, int]:
    with sqlite3.connect(path) as raw:
        (root,) = raw.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (name,)).fetchone()
        (size,) = raw.execute("PRAGMA page_size").fetchone()
    raw.close()
    return (root - 1) * size, size


def spoil(path: Path, at: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(data)


# A damaged store.


async def test_the_notice_of_a_damaged_store_stays_until_it_was_seen(directory: Path) -> None:
    directory.mkdir()
    (directory / FILE).write_bytes(b"no database " * 300)
    async with await Store.open(directory) as store:
        (first,) = store.notices
    async with await Store.open(directory) as store:
        assert store.new_notices() == [first]
    async with await Store.open(directory) as store:
        assert store.new_notices() == [first]
        await store.acknowledge()
    async with await Store.open(directory) as store:
        assert store.notices == []
    assert not (directory / unseen_notices.FILE).exists()


async def test_only_what_was_seen_is_forgotten(directory: Path) -> None:
    directory.mkdir()
    unseen_notices.add(directory, "one")
    async with await Store.open(directory) as store:
        assert store.new_notices() == ["one"]
        unseen_notices.add(directory, "two")
        await store.acknowledge()
    assert unseen_notices.pending(directory) == ["two"]


@pytest.mark.parametrize("data", ["zero", "garbage", "half"])
@pytest.mark.parametrize("index", ["events_by_conversation", "conversations_by_update"])
async def test_a_damaged_index_of_the_store_is_rebuilt_and_said(
    directory: Path, index: str, data: str
) -> None:
    made = await filled(directory)
    at, size = root_of(directory / FILE, index)
    damage = {"zero": bytes(size), "garbage": b"\xa5" * size, "half": b"\xff" * (size // 2)}[data]
    spoil(directory / FILE, at, damage)
    damaged = (directory / FILE).read_bytes()

    async with await Store.open(directory) as store:
        await store.append(made.id, said("more"))
        assert len(await store.events(made.id)) == 301
        assert (await store.latest("/p")) is not None
        (notice,) = store.notices
    assert f"{FILE}.damaged-1" in notice
    assert "no data is lost" in notice
    copy = (directory / f"{FILE}.damaged-1").read_bytes()
    assert copy[at : at + size] == damaged[at : at + size]
    with sqlite3.connect(directory / FILE) as raw:
        assert raw.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    raw.close()


async def test_where_rebuilding_indexes_mends_nothing_no_copy_is_left(directory: Path) -> None:
    made = await filled(directory)
    at, size = root_of(directory / FILE, "events")
    spoil(directory / FILE, at, b"\xff" * size)

    async with await Store.open(directory) as store:
        with pytest.raises(StoreError, match="is damaged") as caught:
            await store.events(made.id)
    assert "doctor --repair" in caught.value.hint
    assert not list(directory.glob(f"{FILE}.damaged*"))


async def test_a_wal_that_was_left_behind_is_never_deleted(directory: Path, tmp_path: Path) -> None:
    store = await Store.open(directory)
    made = await store.create_conversation("/p", dialect="xml", provider="offline", model="m")
    await store.append(made.id, said("only in the WAL"))
    left = tmp_path / "left"
    left.mkdir()
    shutil.copy(directory / f"{FILE}-wal", left / f"{FILE}-wal")
    await store.close()
    wal = (left / f"{FILE}-wal").read_bytes()

    async with await Store.open(left) as store:
        assert await store.count() == 0
        (notice,) = store.notices
    assert f"{FILE}.damaged-1" in notice
    assert (left / f"{FILE}.damaged-1-wal").read_bytes() == wal


# A store that goes away.


@pytest.mark.parametrize("way", ["removed", "replaced", "moved with its directory", "its WAL removed"])
async def test_nothing_is_written_to_a_store_that_is_gone(directory: Path, way: str) -> None:
    made = await filled(directory, 3)
    async with await Store.open(directory) as store:
        await store.append(made.id, said("here"))
        if way == "removed":
            (directory / FILE).unlink()
        elif way == "replaced":
            copy = directory / "copy"
            shutil.copy(directory / FILE, copy)
            copy.replace(directory / FILE)
        elif way == "its WAL removed":
            (directory / f"{FILE}-wal").unlink()
        else:
            directory.rename(directory.with_name("elsewhere"))
        with pytest.raises(StoreError, match="removed or replaced") as caught:
            await store.append(made.id, said("into the void"))
        assert str(directory / FILE) in str(caught.value)
        assert "Restore it" in caught.value.hint


async def test_a_store_that_is_put_back_goes_on(directory: Path) -> None:
    made = await filled(directory, 3)
    async with await Store.open(directory) as store:
        elsewhere = directory.with_name("elsewhere")
        directory.rename(elsewhere)
        with pytest.raises(StoreError):
            await store.append(made.id, said("not now"))
        elsewhere.rename(directory)
        await store.append(made.id, said("now"))
        assert len(await store.events(made.id)) == 4


# A store that is read-only.


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[Path]:
    """A data directory with a conversation, on a file system that lets nobody write."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=32m", "tmpfs", str(place)]
    if not sys.platform.startswith("linux") or subprocess.run(mount, check=False).returncode:
        pytest.skip("a file system cannot be mounted here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def seal(place: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)


async def test_a_store_that_cannot_be_written_can_be_read(read_only: Path) -> None:
    made = await filled(read_only)
    seal(read_only)

    async with await Store.open(read_only) as store:
        (notice,) = store.notices
        assert "is read-only" in notice
        assert str(read_only / FILE) in notice
        assert [each.id for each in await store.conversations(limit=9)] == [made.id]
        assert len(await store.events(made.id)) == 300
        service = SearchService(read_only, store.notices)
        try:
            answer = await service.run(
                lambda searcher: searcher.search(parse("299"), Scope(), order="newest", limit=9)
            )
        finally:
            await service.close()
        assert [each.conversation.id for each in answer.found] == [made.id]
        assert store.notices == [notice]
        with pytest.raises(StoreError, match="is read-only"):
            await store.append(made.id, said("more"))


@pytest.mark.parametrize("indexed", [True, False])
async def test_recall_searches_a_store_whose_index_cannot_be_written(read_only: Path, indexed: bool) -> None:
    made = await filled(read_only)
    if indexed:
        list(update(read_only))
    seal(read_only)
    async with await Store.open(read_only) as store:

        async def opened() -> Store:
            return store

        recall = Recall(opened, "/p")
        try:
            assert (await recall.indexed()).done == (300 if indexed else 0)
            assert [each async for each in recall.update_index()] == []
            page = await recall.page("299", where="everywhere")
        finally:
            await recall.close()
        assert [each.conversation.id for each in page.listed] == [made.id]


async def test_an_empty_store_that_is_opened_to_read_is_damaged(directory: Path) -> None:
    directory.mkdir()
    (directory / FILE).touch()
    with pytest.raises(StoreError, match="is damaged: it is empty"):
        await Store.open_to_read(directory)


async def test_what_only_the_wal_has_is_read_too(read_only: Path) -> None:
    store = await Store.open(read_only)
    made = await store.create_conversation("/p", dialect="xml", provider="offline", model="m")
    await store.append(made.id, said("in the WAL"))
    files = {path.name: path.read_bytes() for path in read_only.iterdir() if path.name.startswith(FILE)}
    await store.close()
    for name, data in files.items():
        (read_only / name).write_bytes(data)
    seal(read_only)

    async with await Store.open(read_only) as store:
        assert len(await store.events(made.id)) == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="permission bits do not stop root")
async def test_a_file_that_is_read_only_can_be_read(directory: Path) -> None:
    made = await filled(directory)
    (directory / FILE).chmod(0o400)

    async with await Store.open(directory) as store:
        assert len(await store.events(made.id)) == 300
        assert "is read-only" in store.notices[0]

"""A damaged search index costs nothing but time: answers stay right, the store is never blamed."""

import asyncio
import random
import sqlite3
from collections.abc import AsyncIterator, Callable
from functools import partial
from itertools import cycle
from pathlib import Path

import pytest

from cogency_tui.errors import StoreError
from cogency_tui.store.database import FILE
from cogency_tui.store.search.building import update
from cogency_tui.store.search.index_file import INDEX
from cogency_tui.store.search.query import parse
from cogency_tui.store.search.search_thread import SearchService
from cogency_tui.store.search.searcher import MatchPage, Scope, Searcher
from cogency_tui.store.store import Store
from tests.cases import cases

PAGE = 16384
QUERIES = ("needle", "ab", "tool:edit", "ne", "letters and digits")

Damage = Callable[[Path], None]


def page(searcher: Searcher, *, text: str) -> MatchPage:
    return searcher.search(parse(text), Scope(), order="newest", limit=1000, now=100.0)


async def answers(service: SearchService) -> list[list[str]]:
    found = [await service.run(partial(page, text=text)) for text in QUERIES]
    return [[each.conversation.id for each in answer.found] for answer in found]


async def extent(service: SearchService) -> tuple[int, int]:
    return await service.run(lambda searcher: searcher.extent())


async def rebuilt(directory: Path) -> None:
    await asyncio.to_thread(lambda: list(update(directory)))


@pytest.fixture
async def directory(tmp_path: Path) -> AsyncIterator[Path]:
    """A store of which everything is in the index."""
    chance = random.Random(3)
    directory = tmp_path / "data"
    async with await Store.open(directory) as store:
        for number in range(16):
            made = await store.create_conversation("/p", dialect="x", provider="o", model="m")
            words = " ".join("".join(chance.choices("abdeln ", k=9)) for _ in range(60))
            content = f"needle {words}" if number % 3 else words
            for _ in range(3):
                await store.append(made.id, {"type": "user", "timestamp": 1.0, "content": content})
        await rebuilt(directory)
        yield directory


def truncated(part: float) -> Damage:
    def damage(path: Path) -> None:
        data = path.read_bytes()
        path.write_bytes(data[: int(len(data) * part)])

    return damage


def overwritten(at: Callable[[int], int], data: bytes) -> Damage:
    """With `data` at the offset that the size of the file gives."""

    def damage(path: Path) -> None:
        size = path.stat().st_size
        with path.open("r+b") as file:
            file.seek(at(size))
            file.write(data[: size - file.tell()])

    return damage


def another_schema(path: Path) -> None:
    path.unlink()
    with sqlite3.connect(path) as other:
        other.executescript("CREATE VIEW state AS SELECT 1 AS mine; CREATE TABLE texts (other)")
    other.close()


def values_of_no_sense(path: Path) -> None:
    with sqlite3.connect(path) as index:
        index.executescript("UPDATE state SET value = 'x' WHERE name = 'events'; DELETE FROM members")
    index.close()


def a_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()
    (path / "mine").touch()


DAMAGES: dict[str, Damage] = {
    **{f"truncated to {part}": truncated(part) for part in (0.0, 0.001, 0.3, 0.6, 0.99)},
    "garbage header": overwritten(lambda _size: 0, b"\x00garbage " * 20),
    "another schema": another_schema,
    "values of no sense": values_of_no_sense,
    "a directory": a_directory,
}
"""What is in the place of the index; after each it is rebuilt. The last leaves something behind."""


@pytest.mark.exhaustive
@cases(("_name", "damage"), DAMAGES.items())
async def test_searches_go_on_without_a_damaged_index_until_it_is_rebuilt(
    directory: Path, damage: Damage
) -> None:
    healthy = SearchService(directory)
    expected = await answers(healthy)
    assert expected[0]
    await healthy.close()
    before = (directory / FILE).read_bytes()
    damage(directory / INDEX)

    service = SearchService(directory)
    try:
        assert await answers(service) == expected
        await rebuilt(directory)
        assert await answers(service) == expected
        done, total = await extent(service)
        assert done == total
    finally:
        await service.close()
    assert (directory / FILE).read_bytes() == before
    assert all(str(directory / INDEX) in notice for notice in service.notices)
    if damage is a_directory:
        assert [path.name for path in directory.glob("*/mine")] == ["mine"]


@pytest.mark.exhaustive
async def test_damage_at_any_place_changes_no_answer(directory: Path) -> None:
    healthy = SearchService(directory)
    expected = await answers(healthy)
    await healthy.close()
    path = directory / INDEX
    whole = path.read_bytes()
    noticed = 0
    for offset, data in zip(range(0, len(whole), PAGE), cycle([bytes(PAGE), b"\xa5" * 4000]), strict=False):
        path.write_bytes(whole)
        overwritten(lambda _size, offset=offset: offset, data)(path)
        service = SearchService(directory)
        try:
            assert await answers(service) == expected, offset
        finally:
            await service.close()
        noticed += bool(service.notices)
        assert all("search index" in notice and INDEX in notice for notice in service.notices)
    assert noticed


async def test_damage_is_said_once_and_not_of_the_store(directory: Path) -> None:
    (directory / INDEX).write_bytes(b"no database " * 2000)
    service = SearchService(directory)
    try:
        await answers(service)
    finally:
        await service.close()
    (notice,) = service.notices
    assert str(directory / INDEX) in notice
    assert FILE not in notice
    assert not (directory / INDEX).exists()


async def test_a_damaged_store_is_named_where_the_index_is_whole(directory: Path) -> None:
    with sqlite3.connect(directory / FILE) as raw:
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (root,) = raw.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'events'").fetchone()
        (size,) = raw.execute("PRAGMA page_size").fetchone()
    raw.close()
    overwritten(lambda _size: (root - 1) * size, b"\xff" * size)(directory / FILE)

    service = SearchService(directory)
    try:
        with pytest.raises(StoreError, match=FILE):
            await answers(service)
    finally:
        await service.close()
    assert (directory / INDEX).exists()
    with pytest.raises(StoreError, match=FILE):
        list(update(directory, rebuild=True))

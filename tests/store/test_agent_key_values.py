"""Relics: values that expire and a log that only grows, each project's own, over restarts."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from cogency_tui.errors import StoreError
from cogency_tui.store.agent_key_values import CachedValue, Relics
from cogency_tui.store.database import FILE
from cogency_tui.store.store import Store, StoredConversation


class Clock:
    """A clock that the test sets."""

    def __init__(self, now: float = 1000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def relics(store: Store, clock: Clock) -> Relics:
    return Relics(store.database, "/project", clock)


@pytest.mark.parametrize("value", [None, 0, "", "ü\ud800\0", [1, {"a": [True, 2.5]}], {"$x": "</results>"}])
async def test_any_json_value_comes_back_as_it_was(relics: Relics, value: Any) -> None:
    await relics.set("key \ud800", value)

    assert await relics.get("key \ud800") == CachedValue(value, None)


async def test_a_value_takes_the_place_of_the_one_before_with_its_time(relics: Relics) -> None:
    await relics.set("a", 1, ttl=10)
    await relics.set("a", 2)

    assert await relics.get("a") == CachedValue(2, None)


async def test_a_value_is_gone_when_its_time_is_over(relics: Relics, clock: Clock) -> None:
    await relics.set("short", 1, ttl=10)
    await relics.set("long", 2, ttl=20)

    clock.now += 9.9
    assert await relics.get("short") == CachedValue(1, 1010.0)
    clock.now = 1010.0
    assert await relics.get("short") is None
    assert not await relics.delete("short")
    assert await relics.get("long") == CachedValue(2, 1020.0)


async def test_expired_values_leave_the_file_with_the_next_write(
    store: Store, relics: Relics, clock: Clock
) -> None:
    await relics.set("a", 1, ttl=1)
    clock.now += 5
    await Relics(store.database, "/other", clock).set("b", 2)

    rows = await store.database.read(
        lambda connection: connection.execute("SELECT key FROM relic_values").fetchall()
    )
    assert rows == [("b",)]


async def test_what_was_deleted_is_not_there_any_more(relics: Relics) -> None:
    await relics.set("a", 1)

    assert await relics.delete("a")
    assert not await relics.delete("a")
    assert await relics.get("a") is None


async def test_the_log_gives_its_last_entries_oldest_first(relics: Relics, clock: Clock) -> None:
    for number in range(5):
        clock.now = number
        await relics.append({"n": number})

    assert [(entry.timestamp, entry.entry) for entry in await relics.read(2)] == [
        (3.0, {"n": 3}),
        (4.0, {"n": 4}),
    ]
    assert len(await relics.read(100)) == 5


async def test_projects_do_not_see_each_others(store: Store, relics: Relics) -> None:
    other = Relics(store.database, "/project/inner")
    await relics.set("a", 1)
    await relics.append("here")

    assert await other.get("a") is None
    assert not await other.delete("a")
    assert await other.read(10) == []


async def test_relics_outlive_the_store(directory: Path) -> None:
    async with await Store.open(directory) as store:
        relics = Relics(store.database, "/project")
        await relics.set("a", {"b": 1}, ttl=3600)
        await relics.append("first")
    async with await Store.open(directory) as store:
        relics = Relics(store.database, "/project")
        kept = await relics.get("a")
        await relics.append("second")

        assert kept is not None
        assert kept.value == {"b": 1}
        assert [entry.entry for entry in await relics.read(10)] == ["first", "second"]


async def test_a_damaged_row_costs_that_row_and_no_other(directory: Path) -> None:
    async with await Store.open(directory) as store:
        relics = Relics(store.database, "/project")
        await relics.set("a", 1)
        await relics.append("whole")
        raw = sqlite3.connect(directory / FILE)
        raw.execute("UPDATE relic_values SET value = '{'")
        raw.execute("INSERT INTO relic_log (project, timestamp, entry) VALUES ('/project', 0, 'no json')")
        raw.commit()
        raw.close()

        with pytest.raises(StoreError, match="'a' in the cache cannot be read"):
            await relics.get("a")
        assert [entry.entry for entry in await relics.read(10)] == ["whole"]
        await relics.read(10)
        assert store.notices == ["Entry 2 of the log cannot be read and is omitted."]


async def test_sub_agents_conversations_hang_on_their_call_and_are_not_listed(
    store: Store, conversation: StoredConversation
) -> None:
    def create(**links: Any):
        return store.create_conversation("/project", dialect="xml", provider="p", model="m", **links)

    first = await create(parent=conversation.id, call="c1")
    second = await create(parent=conversation.id, call="c2")
    fork = await create(parent=conversation.id)

    assert await store.delegated(conversation.id) == [first, second]
    assert await store.delegated(fork.id) == []
    assert {each.id for each in await store.conversations(limit=10)} == {conversation.id, fork.id}
    assert await store.count("/project") == 2
    latest = await store.latest("/project")
    assert latest is not None
    assert latest.id == fork.id
    assert await store.resolve(first.id) == first

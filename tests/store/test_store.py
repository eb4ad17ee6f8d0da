"""Conversations: making, finding, listing, naming them."""

import sqlite3
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cogency_tui.errors import StoreError, UsageError
from cogency_tui.protocol.events import UserEvent
from cogency_tui.store.events import TITLE_LENGTH, title_of
from cogency_tui.store.store import Store, StoredConversation, new_conversation_id


def said(content: str, timestamp: float = 1.0) -> UserEvent:
    return {"type": "user", "timestamp": timestamp, "content": content}


async def make(store: Store, project: str = "/p", id: str | None = None) -> StoredConversation:
    return await store.create_conversation(project, id=id, dialect="xml", provider="offline", model="m")


async def again(store: Store, conversation: StoredConversation) -> StoredConversation:
    found = await store.conversation(conversation.id)
    assert found is not None
    return found


async def test_a_new_conversation_is_empty_and_found_by_its_id(store: Store) -> None:
    before = time.time()
    made = await make(store)

    assert await store.conversation(made.id) == made
    assert (made.project, made.title, made.dialect, made.provider, made.model) == (
        *("/p", "", "xml", "offline", "m"),
    )
    assert (made.turns, made.tokens, made.cost, made.parent) == (0, 0, 0.0, None)
    assert before <= made.created == made.updated <= time.time()
    assert await store.conversation(made.id[:-1]) is None


def test_ids_are_short_unique_and_sort_by_time() -> None:
    ids = [new_conversation_id() for _ in range(1000)]
    now = int(time.time() * 1000)
    while int(time.time() * 1000) == now:
        pass

    assert len(set(ids)) == 1000
    assert {len(id) for id in ids} == {16}
    assert all(id.isalnum() and id == id.lower() for id in ids)
    assert new_conversation_id() > max(ids)


async def test_an_id_is_given_once_and_a_parent_has_to_exist(store: Store) -> None:
    made = await make(store, id="mine")

    with pytest.raises(UsageError, match="Conversation 'mine' already exists"):
        await make(store, id="mine")
    fork = await store.create_conversation("/p", dialect="x", provider="y", model="z", parent=made.id)
    assert (await again(store, fork)).parent == "mine"
    with pytest.raises(StoreError, match="FOREIGN KEY"):
        await store.create_conversation("/p", dialect="x", provider="y", model="z", parent="none")


async def test_a_prefix_names_a_conversation_when_it_is_the_only_one(store: Store) -> None:
    first = await make(store, id="abc")
    longer = await make(store, id="abcd")
    await store.append(longer.id, said("Fix the parser"))

    assert (await store.resolve("abc")).id == first.id
    assert (await store.resolve("abcd")).id == longer.id
    with pytest.raises(UsageError, match=r"abcd \(Fix the parser\), abc \(untitled\)\."):
        await store.resolve("ab")
    for nothing in ("x", "ABC", "ab%", "\udcff"):
        with pytest.raises(UsageError, match="No conversation begins with"):
            await store.resolve(nothing)


async def test_only_some_of_many_candidates_are_listed(store: Store) -> None:
    for number in range(8):
        await make(store, id=f"a{number}")

    with pytest.raises(UsageError, match="and more") as caught:
        await store.resolve("a")

    assert str(caught.value).count("untitled") == 5


async def test_the_list_is_paged_newest_first(store: Store) -> None:
    made = [await make(store, project=f"/{number % 2}") for number in range(9)]
    now = time.time()
    # Many of one moment: paging must neither skip nor repeat them.
    for conversation in made[:6]:
        await store.append(conversation.id, said("x", now + 100))
    for conversation in made[6:]:
        await store.append(conversation.id, said("x", now + 50))

    for project, total in ((None, 9), ("/0", 5), ("/1", 4), ("/2", 0)):
        pages: list[StoredConversation] = []
        while page := await store.conversations(project, limit=2, before=pages[-1] if pages else None):
            pages += page
        assert len(pages) == total == await store.count(project)
        assert pages == sorted(pages, key=lambda each: (each.updated, each.id), reverse=True)
        assert len({each.id for each in pages}) == total
        assert project is None or await store.latest(project) == (pages[0] if pages else None)


async def test_the_latest_is_not_one_of_another_machine(store: Store) -> None:
    own, other = await make(store, project="/p"), await make(store, project="/p")
    await store.append(other.id, said("x", time.time() + 100))
    sql = "UPDATE conversations SET source = '@0a0b', original = id WHERE id = ?"
    await store.database.write(lambda connection: connection.execute(sql, (other.id,)) and None)
    assert (await store.conversations("/p", limit=1))[0].id == other.id
    latest = await store.latest("/p")
    assert latest is not None
    assert latest.id == own.id


async def test_lists_and_events_are_found_through_an_index(store: Store) -> None:
    def plan(connection: sqlite3.Connection) -> list[str]:
        order = "ORDER BY updated DESC, id DESC LIMIT 5"
        queries = (
            f"SELECT * FROM conversations WHERE (updated, id) < (1, 'a') {order}",
            f"SELECT * FROM conversations WHERE project = 'p' AND (updated, id) < (1, 'a') {order}",
            "SELECT * FROM events WHERE conversation_id = 'a' ORDER BY seq",
            "SELECT * FROM drafts WHERE conversation_id = 'a' ORDER BY seq",
        )
        return [row[3] for query in queries for row in connection.execute(f"EXPLAIN QUERY PLAN {query}")]

    steps = await store.database.read(plan)

    assert not [step for step in steps if "SCAN" in step]
    assert not [step for step in steps[:3] if "TEMP B-TREE" in step]


async def test_appending_brings_the_row_up_to_date(store: Store) -> None:
    made = await make(store)
    later = time.time() + 1000

    await store.append(made.id, said("  \n\n  Why is\tthis slow? \nIt was fast.", later))
    await store.append(made.id, {"type": "respond", "timestamp": later + 1, "id": "r", "content": "Because."})
    await store.append(made.id, said("Go on", later - 500))

    after = await again(store, made)
    assert (after.title, after.turns, after.updated) == ("Why is this slow?", 2, later + 1)


async def test_a_title_of_the_persons_stays(store: Store) -> None:
    made = await make(store)

    await store.rename(made.id, "Mine \ud800")
    await store.append(made.id, said("Hello"))
    assert (await again(store, made)).title == "Mine \ud800"

    await store.rename(made.id, "")
    await store.append(made.id, said("\n"))
    await store.append(made.id, said("World"))
    assert (await again(store, made)).title == "World"
    with pytest.raises(StoreError, match="Conversation 'nothing' not found"):
        await store.rename("nothing", "x")


@given(st.text())
def test_titles_are_short_lines(content: str) -> None:
    title = title_of(content)

    assert len(title) <= TITLE_LENGTH + 1
    assert title == " ".join(title.split())
    assert bool(title) == bool(content.strip())


def test_titles_leave_the_chips_of_images_out() -> None:
    chip = "[image my shot (2).png 1200×800 34.2 kB]"
    assert title_of(f"{chip} what is this?") == "what is this?"
    assert title_of(f"compare {chip} {chip}\nplease") == "compare"
    assert title_of(chip) == chip
    assert title_of("[image of a cat] is 3×4 B]") == "[image of a cat] is 3×4 B]"


def test_long_titles_end_at_a_word() -> None:
    assert title_of("word " * 20) == "word " * 11 + "word…"
    assert title_of("w" * 80) == "w" * 59 + "…"
    assert title_of("w" * 60) == "w" * 60


async def test_settings_change_on_the_way(store: Store) -> None:
    made = await make(store)

    await store.set_settings(made.id, provider="openai", model="big")

    after = await again(store, made)
    assert (after.dialect, after.provider, after.model) == ("xml", "openai", "big")
    with pytest.raises(StoreError, match="not found"):
        await store.set_settings("nothing", model="big")


async def test_a_project_whose_name_is_no_unicode_is_found(store: Store, tmp_path: Path) -> None:
    project = f"{tmp_path}/caf\udce9"
    made = await make(store, project)

    assert await store.latest(project) == made
    assert await store.count(project) == 1

"""Forks share what was before, and nothing after; the trash hides and gives back."""

import time

import pytest

from cogency_tui.errors import StoreError, UsageError
from cogency_tui.protocol.events import Event
from cogency_tui.store.forks import Forks
from cogency_tui.store.store import Store, StoredConversation
from cogency_tui.store.summaries import Summaries
from cogency_tui.store.trash import Trash


def said(text: str, at: float) -> Event:
    return {"type": "user", "timestamp": at, "content": text}


def answered(text: str, at: float) -> Event:
    return {"type": "respond", "timestamp": at, "id": text, "content": text}


async def fill(store: Store, conversation: StoredConversation) -> list[int]:
    told = [said("one", 1.0), answered("first", 2.0), said("two", 3.0), answered("second", 4.0)]
    return [await store.append(conversation.id, event) for event in told]


async def test_a_fork_keeps_the_title_that_the_user_gave_its_parent(
    store: Store, conversation: StoredConversation
) -> None:
    await fill(store, conversation)
    await store.rename(conversation.id, "Mine")
    fork = await Forks(store.database).fork(conversation.id)
    await store.append(fork.id, said("go on", time.time() + 1))
    found = await store.conversation(fork.id)
    assert found is not None
    assert found.title == "Mine"


async def test_a_fork_takes_its_title_from_its_own_first_message(
    store: Store, conversation: StoredConversation
) -> None:
    await fill(store, conversation)
    forks = Forks(store.database)
    continued, named, unchanged = [await forks.fork(conversation.id) for _ in range(3)]
    await store.rename(named.id, "Mine")
    for fork in (continued, named):
        await store.append(fork.id, answered("late", time.time() + 1))
        for content in ("another way\nto do it", "and more"):
            await store.append(fork.id, said(content, time.time() + 1))
    found = [await store.conversation(each.id) for each in (conversation, continued, named, unchanged)]
    assert [(each.title, each.forked_after) for each in found if each] == [
        ("one", None),
        ("another way", None),
        ("Mine", None),
        ("one", 2),
    ]


async def test_a_fork_has_what_was_before_and_goes_its_own_way(
    store: Store, conversation: StoredConversation
) -> None:
    numbers = await fill(store, conversation)
    await store.rename(conversation.id, "Mine")
    await store.record_usage(conversation.id, {"input": 10, "output": 5, "cost": 1.0})
    await Summaries(store.database).add(conversation.id, numbers[0], "so far", "m")

    forks = Forks(store.database)
    fork = await forks.fork(conversation.id, numbers[1])
    await store.append(fork.id, said("other", 9.0))

    assert await store.conversation(fork.id) is not None
    assert (fork.parent, fork.forked_at, fork.title, fork.turns) == (conversation.id, numbers[1], "Mine", 1)
    assert (fork.tokens, fork.cost) == (0, 0.0)
    assert await store.events(fork.id) == [*(await store.events(conversation.id))[:2], said("other", 9.0)]
    assert len(await store.events(conversation.id)) == 4
    summary = await Summaries(store.database).latest(fork.id)
    assert summary is not None
    assert summary.text == "so far"
    assert summary.through == (await store.numbered_events(fork.id))[0][0]
    shared = (numbers[1], (await store.numbered_events(fork.id))[1][0])
    assert await forks.shared(conversation.id, fork.id) == shared


async def test_a_fork_begins_at_an_event_of_its_parent(
    store: Store, conversation: StoredConversation
) -> None:
    forks = Forks(store.database)
    with pytest.raises(UsageError, match="no event None"):
        await forks.fork(conversation.id)
    numbers = await fill(store, conversation)
    with pytest.raises(UsageError, match=f"no event {numbers[-1] + 1}"):
        await forks.fork(conversation.id, numbers[-1] + 1)
    with pytest.raises(StoreError, match="Conversation 'none' not found"):
        await forks.fork("none")
    assert len(await store.events((await forks.fork(conversation.id)).id)) == 4


async def test_the_tree_is_the_same_from_every_place_in_it(
    store: Store, conversation: StoredConversation
) -> None:
    await fill(store, conversation)
    forks = Forks(store.database)
    child = await forks.fork(conversation.id)
    grandchild = await forks.fork(child.id)
    second = await forks.fork(conversation.id)

    for id in (conversation.id, child.id, grandchild.id, second.id):
        tree = await forks.tree(id)
        assert tree.conversation.id == conversation.id
        assert [each.conversation.id for each in tree.forks] == [child.id, second.id]
        assert [each.conversation.id for each in tree.forks[0].forks] == [grandchild.id]


async def test_the_trash_hides_from_lists_and_gives_back(
    store: Store, conversation: StoredConversation
) -> None:
    await fill(store, conversation)
    other = await store.create_conversation("/project", dialect="x", provider="y", model="z")
    trash = Trash(store.database)

    await trash.move(conversation.id)
    await trash.move(other.id)
    await trash.restore(other.id)

    assert [each.id for each in await store.conversations(limit=5)] == [other.id]
    assert await store.count() == 1
    [listed] = await trash.listed(limit=5)
    assert listed.id == conversation.id
    assert listed.trashed is not None
    assert await trash.listed(limit=5, before=listed) == []
    assert len(await store.events(conversation.id)) == 4
    await trash.restore(conversation.id)
    assert await trash.listed(limit=5) == []
    assert {each.id for each in await store.conversations(limit=5)} == {conversation.id, other.id}
    with pytest.raises(StoreError, match="Conversation 'none' not found"):
        await trash.move("none")

"""A fork has the edits of the calls that it begins with; a revert belongs to all who have the edit."""

import time

import pytest

from cogency_tui.store.edit_records import ABSENT, Edit, FileChange, Undone, Version
from cogency_tui.store.edits import Edits
from cogency_tui.store.forks import Forks
from cogency_tui.store.reviews import NewAction, Reviews
from cogency_tui.store.store import Store, StoredConversation
from tests.tui.scripted import result

MADE = Version("file", "a" * 64, 1, 0o644, True)


@pytest.fixture
def edits(store: Store) -> Edits:
    return Edits(store.database)


async def call(store: Store, id: str, *names: str) -> list[int]:
    """A message, and a batch of calls that are written first and end one after the other; the numbers."""
    now = time.time()
    numbers = [await store.append(id, {"type": "user", "timestamp": now, "content": "go"})]
    for name in names:
        numbers.append(
            await store.append(id, {"type": "call", "timestamp": now, "id": name, "content": "{}"})
        )
    for name in names:
        await change(store, id, name)
        numbers.append(await store.append(id, result(name, "write", at=now)))
    return numbers


async def change(store: Store, id: str, name: str, *undoes: int) -> Edit:
    edits = Edits(store.database)
    change = FileChange(name, ABSENT, MADE, undoes=tuple(map(Undone, undoes)))
    (made,) = await edits.add(await edits.origin(id), name, "undo" if undoes else "write", [change])
    return made


async def paths(edits: Edits, id: str) -> list[str]:
    return [edit.path for edit in await edits.in_history(id)]


async def test_a_fork_has_the_edits_up_to_its_point_and_its_own(
    store: Store, conversation: StoredConversation, edits: Edits
) -> None:
    first = await call(store, conversation.id, "one")
    await call(store, conversation.id, "two")
    fork = await Forks(store.database).fork(conversation.id, first[-1])
    await call(store, fork.id, "mine")
    assert await paths(edits, fork.id) == ["one", "mine"]
    assert await paths(edits, conversation.id) == ["one", "two"]
    assert [edit.path for edit in await edits.of_conversation(fork.id)] == ["mine"]


async def test_a_fork_in_a_batch_has_the_edits_of_the_calls_that_had_ended(
    store: Store, conversation: StoredConversation, edits: Edits
) -> None:
    numbers = await call(store, conversation.id, "one", "two", "three")
    fork = await Forks(store.database).fork(conversation.id, numbers[-2])
    assert await paths(edits, fork.id) == ["one", "two"]
    grandchild = await Forks(store.database).fork(fork.id)
    assert await paths(edits, grandchild.id) == ["one", "two"]


async def test_a_fork_of_a_fork_has_the_edits_of_both_up_to_its_point(
    store: Store, conversation: StoredConversation, edits: Edits
) -> None:
    await call(store, conversation.id, "one")
    child = await Forks(store.database).fork(conversation.id)
    numbers = await call(store, child.id, "two")
    await call(store, child.id, "three")
    grandchild = await Forks(store.database).fork(child.id, numbers[-1])
    early = await Forks(store.database).fork(child.id, (await store.numbered_events(child.id))[0][0])
    assert await paths(edits, grandchild.id) == ["one", "two"]
    assert await paths(edits, early.id) == []


async def test_a_fork_has_the_edits_of_the_sub_agents_of_its_calls(
    store: Store, conversation: StoredConversation, edits: Edits
) -> None:
    numbers = await call(store, conversation.id, "delegate")
    agent = await store.create_conversation(
        conversation.project, dialect="xml", provider="p", model="m", parent=conversation.id, call="delegate"
    )
    await change(store, agent.id, "deep")
    fork = await Forks(store.database).fork(conversation.id, numbers[-1])
    before = await Forks(store.database).fork(conversation.id, numbers[0])
    assert await paths(edits, fork.id) == ["delegate", "deep"]
    assert await paths(edits, before.id) == []


async def test_reverts_and_marks_are_those_of_all_who_have_the_edit(
    store: Store, conversation: StoredConversation, edits: Edits
) -> None:
    await call(store, conversation.id, "one")
    fork = await Forks(store.database).fork(conversation.id)
    other = await Forks(store.database).fork(conversation.id)
    await call(store, other.id, "apart")
    (one,) = await edits.of_conversation(conversation.id)
    undo = await change(store, fork.id, "one", one.id)
    await change(store, conversation.id, "one", undo.id)
    for id in (conversation.id, fork.id):
        assert await paths(edits, id) == ["one", "one", "one"]
    assert await paths(edits, other.id) == ["one", "apart", "one", "one"]
    states = {mark.edit: mark.state for mark in await edits.marks(other.id)}
    assert states == {one.id: "new", undo.id: "reverted"}
    assert await edits.any_by({"undo"}, conversation.id, undo.id - 1)
    assert await edits.any_by({"undo"}, other.id, undo.id)


async def test_actions_of_a_review_are_seen_from_the_forks(
    store: Store, conversation: StoredConversation
) -> None:
    await call(store, conversation.id, "one")
    fork = await Forks(store.database).fork(conversation.id)
    reviews = Reviews(store.database)
    await reviews.add(conversation.id, NewAction("keep", "one"))
    assert [action.path for action in await reviews.of_family(fork.id)] == ["one"]
    assert await reviews.actions(fork.id) == []


async def test_a_fork_whose_point_is_unknown_inherits_nothing(
    store: Store, conversation: StoredConversation, edits: Edits
) -> None:
    await call(store, conversation.id, "one")
    fork = await Forks(store.database).fork(conversation.id)
    await store.database.write(
        lambda connection: connection.execute("UPDATE conversations SET forked_at = NULL")
    )
    assert await paths(edits, fork.id) == []

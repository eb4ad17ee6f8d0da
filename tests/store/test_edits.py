"""Edits: recorded in the user's conversation, found again, and marked."""

import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest

from cogency_tui.errors import StoreError, UsageError
from cogency_tui.store.database import FILE
from cogency_tui.store.edit_records import ABSENT, Edit, FileChange, Mark, Origin, State, Undone, Version
from cogency_tui.store.edits import Edits
from cogency_tui.store.reviews import MarkChange, NewAction, Part, Reviews
from cogency_tui.store.store import Store, StoredConversation


def version(name: str, mode: int = 0o644, *, kept: bool = True) -> Version:
    return Version("file", (name * 64)[:64], len(name), mode, kept)


A, B, C = version("a"), version("b"), version("c")


@pytest.fixture
def edits(store: Store) -> Edits:
    return Edits(store.database)


@pytest.fixture
async def origin(edits: Edits, conversation: StoredConversation) -> Origin:
    return await edits.origin(conversation.id)


async def say(store: Store, id: str) -> None:
    await store.append(id, {"type": "user", "timestamp": time.time(), "content": "go on"})


async def test_an_edit_comes_back_as_it_was_recorded(edits: Edits, origin: Origin) -> None:
    changes = [
        FileChange("src/a.py", A, B),
        FileChange("new/deep/b", ABSENT, A, made="new"),
        FileChange("b", version("a", 0o755, kept=False), ABSENT),
        FileChange("moved \udcff", Version("link", "d" * 64, 3, 0, True), C, old_path="old \udcff\n"),
        FileChange("/outside/x", version("a", 0o600), version("a", 0o755)),
        FileChange("unknown", Version("file", "", 9, 0o644), A),
    ]

    made = await edits.add(origin, "c1", "shell", changes)

    assert [(edit.path, edit.before, edit.after, edit.old_path, edit.made) for edit in made] == [
        (each.path, each.before, each.after, each.old_path, each.made) for each in changes
    ]
    assert [edit.kind for edit in made] == ["changed", "created", "deleted", "renamed", "mode", "changed"]
    assert {(edit.origin, edit.call, edit.tool) for edit in made} == {(origin, "c1", "shell")}
    assert await edits.of_conversation(origin.conversation) == made
    assert await edits.get(made[2].id) == made[2]
    assert await edits.last() == made[-1].id
    with pytest.raises(UsageError, match="Edit 99 not found"):
        await edits.get(99)


async def test_edits_are_found_by_turn_path_and_project(
    store: Store, edits: Edits, conversation: StoredConversation
) -> None:
    async def add(path: str, before: Version, after: Version, old_path: str = "") -> Edit:
        origin = await edits.origin(conversation.id)
        (edit,) = await edits.add(origin, "c", "edit", [FileChange(path, before, after, old_path)])
        return edit

    await say(store, conversation.id)
    first, second = await add("a", A, B), await add("b", A, B)
    await say(store, conversation.id)
    third, fourth = await add("a", B, C), await add("c", C, C, "a")

    assert [edit.origin.turn for edit in (first, second, third, fourth)] == [1, 1, 2, 2]
    assert await edits.of_conversation(conversation.id, turn=1) == [first, second]
    assert await edits.of_conversation(conversation.id, path="a") == [first, third, fourth]
    assert await edits.of_conversation(conversation.id, turn=2, path="a") == [third, fourth]
    assert await edits.of_project("/project", limit=3) == [fourth, third, second]
    assert await edits.of_project("/project", limit=3, before=second.id) == [first]
    assert await edits.of_project("/project", path="b", limit=9) == [second]
    assert await edits.of_project("/other", limit=9) == []
    assert await edits.since("/project", second.id) == [third, fourth]


async def test_an_edit_of_a_sub_agent_belongs_to_the_turn_that_started_it(
    store: Store, edits: Edits, conversation: StoredConversation
) -> None:
    async def create(**links: Any) -> StoredConversation:
        return await store.create_conversation("/project", dialect="xml", provider="p", model="m", **links)

    for _ in range(3):
        await say(store, conversation.id)
    agent = await create(parent=conversation.id, call="c1")
    await say(store, agent.id)
    below = await create(parent=agent.id, call="c2")
    fork = await create(parent=conversation.id)

    assert await edits.origin(below.id) == Origin(conversation.id, below.id, 3, "/project")
    assert await edits.origin(fork.id) == Origin(fork.id, fork.id, 0, "/project")
    (edit,) = await edits.add(await edits.origin(below.id), "x", "write", [FileChange("a", ABSENT, A)])
    assert await edits.of_conversation(conversation.id, turn=3) == [edit]
    assert await edits.of_conversation(below.id) == [edit]
    assert await edits.of_conversation(agent.id) == []
    with pytest.raises(StoreError, match="not found"):
        await edits.origin("nobody")


async def mark(store: Store, edit: Edit, state: State, hunk: str = "") -> None:
    change = MarkChange(Part(edit.id, hunk), "new", state)
    await Reviews(store.database).add(edit.origin.conversation, NewAction("keep", edit.path, marks=(change,)))


async def test_marks_are_of_an_edit_or_a_hunk_and_the_last_one_holds(
    store: Store, edits: Edits, origin: Origin
) -> None:
    (edit,) = await edits.add(origin, "c1", "edit", [FileChange("a", A, B)])

    await mark(store, edit, "kept")
    await mark(store, edit, "edited", hunk="h\ud800")
    await mark(store, edit, "conflict")

    marks = {(mark.edit, mark.hunk): mark for mark in await edits.marks(origin.conversation)}
    assert {key: mark.state for key, mark in marks.items()} == {
        (edit.id, ""): "conflict",
        (edit.id, "h\ud800"): "edited",
    }


async def test_an_undo_marks_what_it_took_back_and_its_own_undo_unmarks_it(
    edits: Edits, origin: Origin
) -> None:
    async def states() -> dict[tuple[int, str], str]:
        marks: list[Mark] = await edits.marks(origin.conversation)
        return {(mark.edit, mark.hunk): mark.state for mark in marks}

    async def undo(*undone: Undone) -> int:
        (edit,) = await edits.add(origin, "u", "undo", [FileChange("a", B, A, undoes=undone)])
        assert (await edits.get(edit.id)).undoes == undone
        return edit.id

    (edit,) = await edits.add(origin, "c1", "edit", [FileChange("a", A, B)])
    first = await undo(Undone(edit.id), Undone(edit.id, "h1"))
    assert await states() == {(edit.id, ""): "reverted", (edit.id, "h1"): "reverted"}
    second = await undo(Undone(first))
    assert await states() == {(first, ""): "reverted", (edit.id, ""): "new", (edit.id, "h1"): "new"}
    await undo(Undone(second))
    assert (await states())[first, ""] == "new"
    assert (await states())[edit.id, "h1"] == "reverted"


async def test_contents_are_referred_to_until_no_conversation_has_them(
    store: Store, edits: Edits, origin: Origin
) -> None:
    unkept = version("f", kept=False)
    other = await store.create_conversation("/project", dialect="xml", provider="p", model="m")
    await edits.add(origin, "c1", "edit", [FileChange("a", A, B), FileChange("b", unkept, ABSENT)])
    await edits.add(await edits.origin(other.id), "c1", "edit", [FileChange("a", B, C)])

    assert await edits.referenced() == {A.digest, B.digest, C.digest}
    sql = "DELETE FROM conversations WHERE id = ?"
    await store.database.write(lambda connection: connection.execute(sql, (origin.conversation,)))
    assert await edits.referenced() == {B.digest, C.digest}


async def test_edits_and_marks_outlive_the_store_and_go_with_their_conversation(directory: Path) -> None:
    async with await Store.open(directory) as store:
        edits = Edits(store.database)
        conversation = await store.create_conversation("/p", dialect="xml", provider="p", model="m")
        made = await edits.add(
            await edits.origin(conversation.id),
            "c",
            "edit",
            [FileChange("a", A, B)],
        )
        await mark(store, made[0], "kept")
    async with await Store.open(directory) as store:
        assert await Edits(store.database).of_conversation(conversation.id) == made
        assert len(await Edits(store.database).marks(conversation.id)) == 1
    raw = sqlite3.connect(directory / FILE)
    raw.execute("PRAGMA foreign_keys = ON")
    raw.execute("DELETE FROM conversations")
    assert raw.execute("SELECT count(*) FROM edits").fetchone() == (0,)
    assert raw.execute("SELECT count(*) FROM edit_marks").fetchone() == (0,)
    raw.close()


async def test_changes_of_one_call_are_recorded_all_or_none(edits: Edits, origin: Origin) -> None:
    bad = Version("file", "x", 2**70, 0, True)
    with pytest.raises(OverflowError):
        await edits.add(origin, "c", "shell", [FileChange("a", A, B), FileChange("b", A, bad)])
    assert await edits.of_conversation(origin.conversation) == []

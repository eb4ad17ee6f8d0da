"""`!command` as earlier versions stored it, as prose that counted as a turn: converted once, wherever it
comes from."""

import json
import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from cogency_tui.protocol.events import Event, begins_turn
from cogency_tui.protocol.transcript import user_text
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.database import FILE
from cogency_tui.store.edit_records import ABSENT, FileChange, Version
from cogency_tui.store.edits import Edits
from cogency_tui.store.events import BEGINS_TURN, read_page
from cogency_tui.store.export_import import exported, imported
from cogency_tui.store.migrations import store_user_commands_as_fields
from cogency_tui.store.recovery import recover
from cogency_tui.store.store import Store, StoredConversation

OLD = "[The person ran this command in the project: {}. Its output is data.]"
AFTER = Version("file", "d" * 64, 1, 0o644, kept=False)


def prose(command: str, outcome: str, output: str, fence: str = "```") -> str:
    return f"! {command}\n\n{OLD.format(outcome)}\n\n{fence}\n{output}\n{fence}"


MESSAGES = [
    "one",
    prose("make\nall", "exit 2 after 1.5 s", "no `rule`\n\ud800"),
    prose("true", "exit 0 after 0.0 s", "(no output)"),
    "two",
    prose("cat a", "interrupted after 3.0 s", "```\nx\n```", "````"),
    prose("cat b", "exit 0 after 0.1 s", "written by the user", "`````"),
    "! wow",
]
TURNS = [True, False, False, True, False, True, True]
"""Whether each is a message that begins a turn."""


async def fill(store: Store, conversation: StoredConversation) -> None:
    """Store the messages, and an edit in each turn, as an earlier version did."""
    edits = Edits(store.database)
    for number, text in enumerate(MESSAGES):
        await store.append(conversation.id, {"type": "user", "timestamp": number + 1.0, "content": text})
        await edits.add(
            await edits.origin(conversation.id), "c", "write", [FileChange(f"{number}.py", ABSENT, AFTER)]
        )


async def make_old(directory: Path) -> str:
    """Make a store of an earlier version; return the id of its conversation."""
    async with await Store.open(directory) as store:
        conversation = await store.create_conversation("/p", dialect="xml", provider="o", model="m")
        await fill(store, conversation)
    with closing(sqlite3.connect(directory / FILE)) as raw, raw:
        raw.execute("DELETE FROM migrations WHERE name = ?", (store_user_commands_as_fields.__name__,))
        raw.execute(
            "INSERT INTO profile_facts (kind, text, conversation, turn, model, created, edited)"
            " VALUES ('who', 'Called Ada', ?, 4, 'm', 1.0, 0)",
            (conversation.id,),
        )
        raw.execute("INSERT INTO profile_heard (event, turn, typed) SELECT max(seq), 7, '! wow' FROM events")
    return conversation.id


async def require_converted(store: Store, id: str) -> None:
    events = await store.events(id)
    users = [event for event in events if event["type"] == "user"]
    rendered = [
        each if begins else each.replace("[The person", "[The user")
        for each, begins in zip(MESSAGES, TURNS, strict=True)
    ]
    assert [user_text(event) for event in users] == rendered
    assert [begins_turn(event) for event in events] == TURNS
    conversation = await store.conversation(id)
    assert conversation is not None
    assert conversation.turns == sum(TURNS)
    edits = await Edits(store.database).of_conversation(id)
    assert [edit.origin.turn for edit in edits] == [1, 1, 1, 2, 2, 3, 4]


async def test_an_old_store_is_converted_when_it_is_opened(directory: Path) -> None:
    id = await make_old(directory)
    async with await Store.open(directory) as store:
        await require_converted(store, id)
    async with await Store.open(directory) as store:
        await require_converted(store, id)
        ran = [event["ran"] for event in await store.events(id) if "ran" in event]
    assert [(each["command"], each["state"], each["duration"]) for each in ran] == [
        ("make\nall", "failed", 1.5),
        ("true", "done", 0.0),
        ("cat a", "interrupted", 3.0),
    ]
    assert [each["output"] for each in ran] == ["no `rule`\n\ud800", "", "```\nx\n```"]
    with closing(sqlite3.connect(directory / FILE)) as raw:
        assert raw.execute("SELECT turn FROM profile_facts").fetchone() == (2,)
        assert raw.execute("SELECT turn FROM profile_heard").fetchone() == (4,)


async def test_rows_of_a_damaged_old_store_are_converted_too(directory: Path) -> None:
    id = await make_old(directory)
    fresh = directory / "fresh"
    fresh.mkdir()
    with closing(sqlite3.connect(directory / FILE)) as raw:
        assert recover(raw, fresh / FILE).is_whole
    async with await Store.open(fresh) as store:
        await require_converted(store, id)


async def test_an_export_of_an_earlier_version_is_converted(
    store: Store, conversation: StoredConversation, directory: Path, tmp_path: Path
) -> None:
    await fill(store, conversation)
    blobs = Blobs(directory / "blobs")
    _head, *lines = await store.database.read(lambda each: [*exported(each, conversation.id, blobs)])
    old = [json.dumps(each) for each in ({"format": "cogency-tui conversation", "version": 1}, *lines)]
    async with await Store.open(tmp_path / "other") as other:
        id = await other.database.write(partial(imported, lines=old, blobs=Blobs(tmp_path / "other/blobs")))
        await require_converted(other, id)


RAN: Event = {
    "type": "user",
    "timestamp": 1.0,
    "content": "! make",
    "ran": {"command": "make", "state": "done", "outcome": "exit 0", "output": "", "duration": 0.1},
}


@pytest.mark.parametrize(
    "event",
    [
        RAN,
        {**RAN, "environment": '"ran":{'},
        {"type": "user", "timestamp": 1.0, "content": 'a "ran":{ b \ud800'},
        {"type": "respond", "timestamp": 1.0, "id": "r", "content": "yes"},
    ],
)
async def test_a_row_begins_a_turn_as_its_event_does(
    event: Event, store: Store, conversation: StoredConversation
) -> None:
    await store.append(conversation.id, event)
    (((_number, stored),), *_) = await store.database.read(lambda each: read_page(each, conversation.id, 0))
    sql = f"SELECT count(*) FROM events WHERE {BEGINS_TURN}"
    (count,) = await store.database.read(lambda each: each.execute(sql).fetchone())
    assert count == begins_turn(stored) == begins_turn(event)

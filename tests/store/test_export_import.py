"""What was exported and imported again is equal."""

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from io import BytesIO
from pathlib import Path

import pytest

from cogency_tui.agent.export import Done, exchange
from cogency_tui.errors import UsageError
from cogency_tui.protocol.events import Event, Image
from cogency_tui.redaction import MARKER
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.edit_records import ABSENT, FileChange, Undone, Version
from cogency_tui.store.edits import Edits
from cogency_tui.store.export_import import exported, imported
from cogency_tui.store.store import Store, StoredConversation
from cogency_tui.store.summaries import Summaries

STORED: list[Event] = [
    {"type": "user", "timestamp": 1.5, "content": "Äpfel \ud800 \x00\u2028"},
    {"type": "think", "timestamp": 2.0, "id": "t", "content": "hm", "interrupted": True},
    {"type": "call", "timestamp": 3.0, "id": "c", "content": '{"name": "agent", "args": {}}'},
    {
        **{"type": "result", "timestamp": 4.0, "id": "c", "tool": "agent", "duration": 0.5},
        "payload": {"outcome": "o", "content": [1, None, {"k": "v"}], "error": False, "state": "done"},
    },  # pyright: ignore[reportAssignmentType]
    {"type": "respond", "timestamp": 5.0, "id": "r", "content": "done"},
    {
        **{"type": "error", "timestamp": 5.5},
        "payload": {"error": "Lost \ud800.", "hint": "Try again.", "failure": "network"},
    },  # pyright: ignore[reportAssignmentType]
    {
        **{"type": "user", "timestamp": 6.0, "content": "! make"},
        "ran": {
            **{"command": "make", "state": "failed", "outcome": "exit 2 after 0.5 s"},
            **{"output": "no \ud800", "duration": 0.5},
        },
    },  # pyright: ignore[reportAssignmentType]
]


async def lines_of(store: Store, id: str, blobs: Blobs) -> list[str]:
    found = await store.database.read(lambda connection: list(exported(connection, id, blobs)))
    return [json.dumps(line) for line in found]


async def full(store: Store, conversation: StoredConversation, blobs: Blobs) -> None:
    for event in STORED:
        await store.append(conversation.id, event)
    await store.rename(conversation.id, "Mine")
    await store.record_usage(conversation.id, {"input": 7, "output": 3, "cost": 0.5, "model": "m"})
    number = (await store.numbered_events(conversation.id))[1][0]
    await Summaries(store.database).add(conversation.id, number, "short", "m")
    child = await store.create_conversation(
        "/project", dialect="xml", provider="o", model="m", parent=conversation.id, call="c"
    )
    await store.append(child.id, {"type": "user", "timestamp": 3.5, "content": "task"})
    edits = Edits(store.database)
    kept = blobs.put(BytesIO(b"new\xff content"))
    after = Version("file", kept.digest, kept.size, 0o644, True)
    [first] = await edits.add(await edits.origin(child.id), "c", "write", [FileChange("a.py", ABSENT, after)])
    back = FileChange("a.py", after, ABSENT, undoes=(Undone(first.id),))
    await edits.add(await edits.origin(conversation.id), "u", "undo", [back])


async def test_an_export_imports_into_an_equal_conversation(
    store: Store, conversation: StoredConversation, directory: Path, tmp_path: Path
) -> None:
    blobs = Blobs(directory / "blobs")
    await full(store, conversation, blobs)
    await store.set_settings(conversation.id, effort="high", model_chosen=True)
    lines = await lines_of(store, conversation.id, blobs)

    elsewhere = Blobs(tmp_path / "other/blobs")
    conversation_now = await store.resolve(conversation.id)
    async with await Store.open(tmp_path / "other") as other:
        await other.create_conversation("/else", dialect="x", provider="y", model="z")
        id = await other.database.write(partial(imported, lines=lines, blobs=elsewhere))
        assert id == conversation.id
        assert await other.conversation(id) == replace(conversation_now, imported=True)
        assert await other.events(id) == STORED == await store.events(id)
        assert await other.usage(id) == await store.usage(id)
        [child] = await other.delegated(id)
        assert [child] == [replace(each, imported=True) for each in await store.delegated(id)]
        assert await other.events(child.id) == await store.events(child.id)
        summary = await Summaries(other.database).latest(id)
        assert summary is not None
        assert (summary.text, summary.through) == ("short", (await other.numbered_events(id))[1][0])
        ours = await Edits(store.database).of_conversation(id)
        theirs = await Edits(other.database).of_conversation(id)
        plain = [replace(edit, id=0, undoes=()) for edit in ours]
        assert [replace(edit, id=0, undoes=()) for edit in theirs] == plain
        assert theirs[1].undoes == (Undone(theirs[0].id),)
        assert elsewhere.read(theirs[0].after.digest, theirs[0].after.size) == b"new\xff content"
        marks = [(mark.state, mark.edit) for mark in await Edits(other.database).marks(id)]
        assert marks == [("reverted", theirs[0].id)]


async def test_where_the_id_is_taken_it_gets_another(
    store: Store, conversation: StoredConversation, directory: Path
) -> None:
    blobs = Blobs(directory / "blobs")
    await full(store, conversation, blobs)
    lines = await lines_of(store, conversation.id, blobs)

    id = await store.database.write(partial(imported, lines=lines, blobs=blobs))

    assert id != conversation.id
    assert await store.events(id) == STORED
    [child] = await store.delegated(id)
    assert child.id not in {each.id for each in await store.delegated(conversation.id)}


Lines = list[str]

DAMAGED: list[tuple[Callable[[Lines], Lines], str]] = [
    (lambda lines: lines[1:], "Line 1 .*does not begin"),
    (lambda lines: [lines[0].replace("2", "3"), *lines[1:]], "Line 1 .*version 3"),
    (lambda lines: [lines[0], *lines[2:]], "Line 2 .*before the conversation"),
    (lambda lines: [*lines[:3], "{", *lines[3:]], "Line 4 "),
    (lambda lines: [*lines, '{"spell": 1}'], "'spell' is not part of"),
    (lambda lines: [*lines, lines[1]], "several conversations"),
    (lambda lines: [*lines[:2], '{"event": {"type": "end", "timestamp": 1}, "number": 1}'], "'end'"),
    (lambda _lines: [], "no conversation in it"),
]


@pytest.mark.parametrize(("damage", "told"), DAMAGED)
async def test_what_is_no_export_leaves_nothing_behind(
    damage: Callable[[Lines], Lines],
    told: str,
    store: Store,
    conversation: StoredConversation,
    directory: Path,
) -> None:
    blobs = Blobs(directory / "blobs")
    await full(store, conversation, blobs)
    lines = damage(await lines_of(store, conversation.id, blobs))
    before = await store.count()

    with pytest.raises(UsageError, match=told):
        await store.database.write(partial(imported, lines=lines, blobs=blobs))

    assert await store.count() == before


async def test_an_export_has_no_key(
    store: Store, conversation: StoredConversation, directory: Path, tmp_path: Path
) -> None:
    key = "ghp_" + "aB3dE5gH7jK9mN1pQ2sT4vW6yZ8bC0dF2hJ4"
    blobs = Blobs(directory / "blobs")
    await store.append(conversation.id, {"type": "user", "timestamp": 1.0, "content": f"it is {key}"})
    edits = Edits(store.database)
    versions = [blobs.put(BytesIO(data)) for data in (f"key = {key}".encode(), b"plain")]
    before, after = (Version("file", each.digest, each.size, 0o644, True) for each in versions)
    await edits.add(await edits.origin(conversation.id), "c", "edit", [FileChange("a.py", before, after)])
    lines = await lines_of(store, conversation.id, blobs)
    contents = [record for record in map(json.loads, lines) if "content" in record]
    assert [record["content"] for record in contents] == [versions[1].digest]
    assert key not in "".join(lines)
    async with await Store.open(tmp_path / "other") as other:
        elsewhere = Blobs(tmp_path / "other/blobs")
        id = await other.database.write(partial(imported, lines=lines, blobs=elsewhere))
        assert [event.get("content") for event in await other.events(id)] == [f"it is {MARKER}"]
        assert len(await Edits(other.database).of_conversation(id)) == 1


async def test_a_call_with_a_quoted_key_arrives_with_its_name_and_file(
    store: Store, conversation: StoredConversation, directory: Path, tmp_path: Path
) -> None:
    def call(key: str) -> str:
        return json.dumps({"name": "write", "args": {"file": "a.py", "content": f'API_KEY = "{key}"\n'}})

    key = "sk-ant-api03-" + "aB3dE5gH7jK9mN1pQ2sT4vW6yZ8bC0dF"
    await store.append(
        conversation.id, {"type": "call", "timestamp": 1.0, "id": "c", "content": call(key), "raw": call(key)}
    )
    lines = await lines_of(store, conversation.id, Blobs(directory / "blobs"))
    assert key not in "".join(lines)
    async with await Store.open(tmp_path / "other") as other:
        id = await other.database.write(partial(imported, lines=lines, blobs=Blobs(tmp_path / "other/blobs")))
        (event,) = await other.events(id)
        assert event == {"type": "call", "timestamp": 1.0, "id": "c", "content": call(MARKER)}
        assert [each.tool for each in exchange([event]) if isinstance(each, Done)] == ["write"]


def image_of(blobs: Blobs, content: bytes, **more: object) -> Image:
    stored = blobs.put(BytesIO(content))
    image = {"name": "shot.png", "digest": stored.digest, "media_type": "image/png", "width": 8, "height": 6}
    return {**image, "size": stored.size, **more}  # pyright: ignore[reportReturnType]


async def test_an_export_carries_the_images_of_messages_and_results(
    store: Store, conversation: StoredConversation, directory: Path, tmp_path: Path
) -> None:
    blobs = Blobs(directory / "blobs")
    sent, read = image_of(blobs, b"png \xff one"), image_of(blobs, b"png \xff two")
    asked: Event = {"type": "user", "timestamp": 1.0, "content": "See @shot.png", "images": [sent]}
    await store.append(conversation.id, asked)
    child = await store.create_conversation(
        "/project", dialect="xml", provider="o", model="m", parent=conversation.id, call="c"
    )
    result: Event = {
        **{"type": "result", "timestamp": 2.0, "id": "c", "tool": "read", "duration": 0.1},
        "payload": {"outcome": "o", "content": "", "error": False, "state": "done", "images": [read]},
    }  # pyright: ignore[reportAssignmentType]
    await store.append(child.id, result)
    lines = await lines_of(store, conversation.id, blobs)
    elsewhere = Blobs(tmp_path / "other/blobs")
    async with await Store.open(tmp_path / "other") as other:
        id = await other.database.write(partial(imported, lines=lines, blobs=elsewhere))
        assert await other.events(id) == [asked]
        assert await other.image_digests() == {sent["digest"], read["digest"]}
    assert elsewhere.read(sent["digest"]) == b"png \xff one"
    assert elsewhere.read(read["digest"]) == b"png \xff two"
    assert await store.image_digests() == {sent["digest"], read["digest"]}


async def test_an_export_without_the_content_of_an_image_still_opens(
    store: Store, conversation: StoredConversation, directory: Path, tmp_path: Path
) -> None:
    blobs = Blobs(directory / "blobs")
    asked: Event = {"type": "user", "timestamp": 1.0, "content": "See", "images": [image_of(blobs, b"one")]}
    await store.append(conversation.id, asked)
    blobs.clean((), grace=-1)
    lines = await lines_of(store, conversation.id, blobs)
    assert not [line for line in lines if line.startswith('{"content"')]
    async with await Store.open(tmp_path / "other") as other:
        id = await other.database.write(partial(imported, lines=lines, blobs=Blobs(tmp_path / "other/blobs")))
        assert await other.events(id) == [asked]


@pytest.mark.parametrize(
    "wrong",
    [{"width": 10**6}, {"height": 0}, {"size": 10**9}, {"digest": "../x"}, {"media_type": "image/svg+xml"}],
    ids=str,
)
async def test_an_image_that_nobody_could_have_sent_is_refused(
    store: Store, conversation: StoredConversation, directory: Path, tmp_path: Path, wrong: dict[str, object]
) -> None:
    blobs = Blobs(directory / "blobs")
    image = image_of(blobs, b"one", **wrong)
    await store.append(
        conversation.id, {"type": "user", "timestamp": 1.0, "content": "See", "images": [image]}
    )
    blobs.clean((), grace=-1)
    # A digest that is none cannot be read either.
    lines = await lines_of(store, conversation.id, blobs)
    async with await Store.open(tmp_path / "other") as other:
        with pytest.raises(UsageError, match=r"^Line 3 has the wrong form"):
            await other.database.write(partial(imported, lines=lines, blobs=Blobs(tmp_path / "other/blobs")))


async def test_a_damaged_event_does_not_hide_the_images_of_others(
    store: Store, conversation: StoredConversation, directory: Path
) -> None:
    image = image_of(Blobs(directory / "blobs"), b"one")
    for _ in range(2):
        await store.append(
            conversation.id, {"type": "user", "timestamp": 1.0, "content": "See", "images": [image]}
        )
    damage = "UPDATE events SET body = replace(body, 'shot.png\"', 'shot') WHERE seq = 1"
    await store.database.write(lambda connection: connection.execute(damage) and None)
    assert await store.image_digests() == {image["digest"]}

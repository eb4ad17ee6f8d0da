"""Increments of a conversation, however often and in whatever order they arrive, make it equal elsewhere."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from cogency_tui.errors import UsageError
from cogency_tui.protocol.events import Event
from cogency_tui.store import increments, origins
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.edit_records import ABSENT, FileChange, Undone, Version
from cogency_tui.store.edits import Edits
from cogency_tui.store.event_chain import verify
from cogency_tui.store.forks import Forks
from cogency_tui.store.increments import START, Position, Taken, link, outgoing, own_conversations, take
from cogency_tui.store.origins import Origin
from cogency_tui.store.pins import Pins
from cogency_tui.store.store import Store, StoredConversation
from cogency_tui.store.summaries import Summaries
from cogency_tui.store.trash import Trash
from tests.store.test_export_import import STORED, full

Lines = list[dict[str, Any]]


class Site:
    """A store with its contents, and how much of it others have."""

    def __init__(self, store: Store, blobs: Blobs) -> None:
        self.store = store
        self.blobs = blobs
        self.sent: dict[str, Position] = {}

    async def own(self) -> Origin:
        return await self.store.database.write(origins.own)

    async def lines(self, id: str, since: Position = START) -> tuple[Lines, Position]:
        def work(connection: Any) -> tuple[Lines, Position]:
            lines, position = outgoing(connection, self.blobs, id, since)
            return list(lines), position

        return await self.store.database.read(work)

    async def increments(self) -> list[Lines]:
        """Everything new since the last time, in order."""
        found: list[Lines] = []
        for id in await self.store.database.read(own_conversations):
            while True:
                since = self.sent.get(id, START)
                lines, position = await self.lines(id, since)
                if position == since:
                    break
                found.append(lines)
                self.sent[id] = position
        return found

    async def take(self, origin: Origin, lines: Lines) -> Taken:
        texts = [json.dumps(line) for line in lines]
        work = partial(take, blobs=self.blobs, origin=origin, lines=texts)
        taken = await self.store.database.write(work)
        await self.store.database.write(link)
        return taken

    async def take_all(self, other: "Site") -> list[Taken]:
        origin = await other.own()
        return [await self.take(origin, lines) for lines in await other.increments()]


async def site_in(directory: Path) -> Site:
    return Site(await Store.open(directory), Blobs(directory / "blobs"))


@pytest.fixture
async def ada(tmp_path: Path) -> AsyncIterator[Site]:
    site = await site_in(tmp_path / "ada")
    yield site
    await site.store.close()


@pytest.fixture
async def bob(tmp_path: Path) -> AsyncIterator[Site]:
    site = await site_in(tmp_path / "bob")
    yield site
    await site.store.close()


async def begun(site: Site) -> StoredConversation:
    return await site.store.create_conversation("/project", dialect="xml", provider="offline", model="tiny")


def said(text: str, at: float = 7.0) -> Event:
    return {"type": "user", "timestamp": at, "content": text}


async def assert_equal(there: Site, here: Site, id: str) -> None:
    """The conversation of the owner `there` is the one that `here` has under the same id."""
    ours, theirs = await there.store.conversation(id), await here.store.conversation(id)
    origin = await there.own()
    assert ours is not None
    assert theirs == replace(ours, imported=True, source=f"@{origin.id}", original=id)
    assert await here.store.events(id) == await there.store.events(id)
    assert await here.store.usage(id) == await there.store.usage(id)
    summaries = [await Summaries(each.store.database).all(id) for each in (there, here)]
    assert [each.text for each in summaries[0]] == [each.text for each in summaries[1]]
    pinned = [[part.event for part in await Pins(each.store.database).parts(id)] for each in (there, here)]
    assert pinned[0] == pinned[1]
    edits = [await Edits(each.store.database).of_conversation(id) for each in (there, here)]
    bare = [[replace(edit, id=0, undoes=()) for edit in each] for each in edits]
    assert bare[0] == bare[1]
    places = [{edit.id: place for place, edit in enumerate(each)} for each in edits]
    undone = [
        [[(place.get(one.edit), one.hunk) for one in edit.undoes] for edit in each]
        for place, each in zip(places, edits, strict=True)
    ]
    assert undone[0] == undone[1]
    marks = [
        {(place.get(mark.edit), mark.hunk, mark.state, mark.note) for mark in found}
        for place, found in zip(
            places, [await Edits(each.store.database).marks(id) for each in (there, here)], strict=True
        )
    ]
    assert marks[0] == marks[1]
    for edit in edits[1]:
        for side in (edit.before, edit.after):
            if side.kept:
                assert here.blobs.read(side.digest, side.size) == there.blobs.read(side.digest, side.size)
    for child in await there.store.delegated(id):
        await assert_equal(there, here, child.id)


async def test_a_conversation_goes_whole_and_then_only_what_is_new(ada: Site, bob: Site) -> None:
    conversation = await begun(ada)
    await full(ada.store, conversation, ada.blobs)

    taken = await bob.take_all(ada)

    assert taken[0][:2] == (conversation.id, True)
    await assert_equal(ada, bob, conversation.id)
    assert await ada.increments() == []

    await ada.store.append(conversation.id, said("more"))
    await ada.store.record_usage(conversation.id, {"input": 1, "output": 2})
    [number, *_] = [number for number, _ in await ada.store.numbered_events(conversation.id)]
    await Pins(ada.store.database).set(conversation.id, number, pinned=True)
    await Summaries(ada.store.database).edit(1, "shorter")
    await Trash(ada.store.database).move(conversation.id)
    [lines] = await ada.increments()
    assert [line["event"]["content"] for line in lines if "event" in line] == ["more"]
    again = await bob.take(await ada.own(), lines)
    assert (again.events, again.others, again.conflicts, again.is_new) == (1, 1, 0, False)
    await assert_equal(ada, bob, conversation.id)

    await Pins(ada.store.database).set(conversation.id, number, pinned=False)
    await Trash(ada.store.database).restore(conversation.id)
    await ada.store.rename(conversation.id, "Other")
    assert [each.events for each in await bob.take_all(ada)] == [0]
    await assert_equal(ada, bob, conversation.id)
    assert (await bob.store.database.read(verify)).is_whole


async def test_an_increment_that_comes_again_changes_nothing(ada: Site, bob: Site) -> None:
    conversation = await begun(ada)
    await full(ada.store, conversation, ada.blobs)
    parts = await ada.increments()
    await ada.store.append(conversation.id, said("more"))
    parts += await ada.increments()
    origin = await ada.own()
    for lines in parts:
        await bob.take(origin, lines)

    for lines in [*parts, *reversed(parts)]:
        taken = await bob.take(origin, lines)
        assert (taken.is_new, taken.events, taken.others, taken.conflicts) == (False, 0, 0, 0)

    for lines in parts[-1:]:
        await bob.take(origin, lines)
    await assert_equal(ada, bob, conversation.id)


async def test_a_later_increment_waits_for_the_earlier_one(ada: Site, bob: Site) -> None:
    conversation = await begun(ada)
    await ada.store.append(conversation.id, said("first"))
    [first] = await ada.increments()
    await ada.store.append(conversation.id, said("second"))
    [second] = await ada.increments()
    origin = await ada.own()

    assert (await bob.take(origin, second)).waits == "an earlier part of the conversation"
    assert await bob.store.count() == 0
    for lines in (first, second):
        assert not (await bob.take(origin, lines)).waits
    await assert_equal(ada, bob, conversation.id)


async def test_a_sub_agent_waits_for_its_conversation(ada: Site, bob: Site) -> None:
    conversation = await begun(ada)
    await full(ada.store, conversation, ada.blobs)
    root, child = await ada.increments()
    origin = await ada.own()

    assert (await bob.take(origin, child)).waits == "the conversation that started this sub-agent"
    await bob.take(origin, root)
    await bob.take(origin, child)

    await assert_equal(ada, bob, conversation.id)


async def test_a_long_conversation_takes_several_increments(
    ada: Site, bob: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(increments, "PART_ROWS", 3)
    conversation = await begun(ada)
    for _ in range(3):
        await full(ada.store, conversation, ada.blobs)
    await Pins(ada.store.database).set(conversation.id, 20, pinned=True)

    assert len(await bob.take_all(ada)) > 7

    await assert_equal(ada, bob, conversation.id)


async def test_where_the_ids_are_taken_it_gets_others(ada: Site, bob: Site) -> None:
    conversation = await begun(ada)
    await full(ada.store, conversation, ada.blobs)
    [child] = await ada.store.delegated(conversation.id)
    for id in (conversation.id, child.id):
        await bob.store.create_conversation("/b", dialect="xml", provider="o", model="m", id=id)
        await bob.store.append(id, said("bob's"))

    taken = await bob.take_all(ada)

    assert not {each.id for each in taken} & {conversation.id, child.id}
    assert await bob.store.events(taken[0].id) == STORED
    [copy] = await bob.store.delegated(taken[0].id)
    assert copy.id == taken[1].id
    callers = [edit.origin.caller for edit in await Edits(bob.store.database).of_conversation(taken[0].id)]
    assert callers == [copy.id, taken[0].id]
    assert await Edits(bob.store.database).of_conversation(child.id) == []
    for id in (conversation.id, child.id):
        assert await bob.store.events(id) == [said("bob's")]


async def test_a_fork_of_a_received_conversation_comes_back_as_one(ada: Site, bob: Site) -> None:
    conversation = await begun(ada)
    await full(ada.store, conversation, ada.blobs)
    await bob.take_all(ada)
    [(second, _)] = (await bob.store.numbered_events(conversation.id))[1:2]
    fork = await Forks(bob.store.database).fork(conversation.id, second)
    await bob.store.append(fork.id, said("bob goes on"))

    await ada.take_all(bob)

    returned = await ada.store.conversation(fork.id)
    assert returned is not None
    numbers = [number for number, _ in await ada.store.numbered_events(conversation.id)]
    assert (returned.parent, returned.forked_at) == (conversation.id, numbers[1])
    assert [event.get("content") for event in await ada.store.events(fork.id)][-1] == "bob goes on"
    assert returned.source == f"@{(await bob.own()).id}"
    # Nothing of it is ever sent as ada's.
    assert await bob.take_all(ada) == []


async def test_a_fork_is_connected_when_its_parent_arrives(ada: Site, bob: Site, tmp_path: Path) -> None:
    conversation = await begun(ada)
    await full(ada.store, conversation, ada.blobs)
    parts = await ada.increments()
    origin = await ada.own()
    for lines in parts:
        await bob.take(origin, lines)
    fork = await Forks(bob.store.database).fork(conversation.id)
    eve = await site_in(tmp_path / "eve")
    try:
        await eve.take_all(bob)
        alone = await eve.store.conversation(fork.id)
        assert alone is not None
        assert (alone.parent, alone.forked_at) == (None, None)
        for lines in parts:
            await eve.take(origin, lines)
        found = await eve.store.conversation(fork.id)
        assert found is not None
        assert found.parent == conversation.id
        assert found.forked_at == (await eve.store.numbered_events(conversation.id))[-1][0]
    finally:
        await eve.store.close()


async def test_an_edit_that_is_reverted_later_is_found(ada: Site, bob: Site) -> None:
    """A conversation can revert the edit of its fork, which arrives behind it."""
    conversation = await begun(ada)
    await ada.store.append(conversation.id, said("first"))
    fork = await Forks(ada.store.database).fork(conversation.id)
    edits = Edits(ada.store.database)
    stored = ada.blobs.put(BytesIO(b"text"))
    after = Version("file", stored.digest, stored.size, 0o644, True)
    [made] = await edits.add(await edits.origin(fork.id), "c", "write", [FileChange("a", ABSENT, after)])
    back = FileChange("a", after, ABSENT, undoes=(Undone(made.id),))
    await edits.add(await edits.origin(conversation.id), "u", "undo", [back])

    await bob.take_all(ada)

    here = Edits(bob.store.database)
    [reverting] = await here.of_conversation(conversation.id)
    [reverted] = await here.of_conversation(fork.id)
    assert reverting.undoes == (Undone(reverted.id),)
    assert reverted.after == after


async def test_what_the_user_changed_here_stays(ada: Site, bob: Site) -> None:
    conversation = await begun(ada)
    await ada.store.append(conversation.id, said("first"))
    await bob.take_all(ada)
    await bob.store.rename(conversation.id, "ada's idea")
    await Trash(bob.store.database).move(conversation.id)

    await ada.store.append(conversation.id, said("second"))
    await bob.take_all(ada)

    found = await bob.store.conversation(conversation.id)
    assert found is not None
    assert (found.title, found.trashed is None) == ("ada's idea", False)


async def test_numbers_with_another_content_are_counted_and_the_first_stays(ada: Site, bob: Site) -> None:
    conversation = await begun(ada)
    await ada.store.append(conversation.id, said("first"))
    [lines] = await ada.increments()
    origin = await ada.own()
    await bob.take(origin, lines)
    forged = json.loads(json.dumps(lines))
    forged[1]["event"]["content"] = "forged"

    assert (await bob.take(origin, forged)).conflicts == 1

    assert await bob.store.events(conversation.id) == [said("first")]


async def test_a_clock_of_the_future_counts_as_now(ada: Site, bob: Site) -> None:
    conversation = await begun(ada)
    await ada.store.append(conversation.id, said("late", 4e9))
    [lines] = await ada.increments()

    for _ in range(2):
        assert (await bob.take(await ada.own(), lines)).conflicts == 0

    [event] = await bob.store.events(conversation.id)
    assert event["timestamp"] < 4e9


def _changed(lines: Lines, line: int, path: str, value: object) -> Lines:
    changed = json.loads(json.dumps(lines))
    at = changed[line]
    *above, last = path.split("/")
    for name in above:
        at = at[name]
    at[last] = value
    return changed


FORGED = [
    (0, "conversation/source", "@" + "0" * 20, "not its sender's own"),
    (0, "conversation/turns", 1 << 63, "not a number that can be stored"),
    (0, "conversation/project", "../x", "not the full path"),
    (0, "owner", "x", "no origin"),
    (0, "to/event", 1 << 63, "not a number that can be stored"),
    (0, "to/event", 0, "out of order"),
    (0, "since/event", -1, ">= 0"),
    (1, "number", 0, ">= 1"),
    (2, "number", 1, "out of order"),
    (2, "number", 1 << 62, "out of order"),
    (1, "event/type", "end", "not a stored event type"),
]


@pytest.mark.parametrize(("line", "path", "value", "why"), FORGED)
async def test_what_is_invalid_is_refused_and_leaves_nothing(
    line: int, path: str, value: object, why: str, ada: Site, bob: Site
) -> None:
    conversation = await begun(ada)
    for text in ("first", "second"):
        await ada.store.append(conversation.id, said(text))
    [lines] = await ada.increments()

    with pytest.raises(UsageError, match=why):
        await bob.take(await ada.own(), _changed(lines, line, path, value))

    assert await bob.store.count() == 0


async def test_edits_of_another_conversation_are_refused(ada: Site, bob: Site) -> None:
    conversation = await begun(ada)
    await full(ada.store, conversation, ada.blobs)
    mine = await begun(bob)
    [lines, _] = await ada.increments()
    [place] = [index for index, line in enumerate(lines) if "edit" in line][:1]

    with pytest.raises(UsageError, match="of another conversation"):
        await bob.take(await ada.own(), _changed(lines, place, "edit/conversation", mine.id))
    await bob.take(await ada.own(), _changed(lines, place, "edit/caller", mine.id))

    assert await Edits(bob.store.database).of_conversation(mine.id) == []


async def test_our_own_origin_is_refused(ada: Site) -> None:
    conversation = await begun(ada)
    await ada.store.append(conversation.id, said("first"))
    [lines] = await ada.increments()
    for origin in (await ada.own(), Origin("x", "x"), Origin("", "")):
        with pytest.raises(ValueError, match="not the origin of another store"):
            await ada.take(origin, lines)


async def test_a_conversation_that_cannot_be_sent_is_named(ada: Site) -> None:
    conversation = await ada.store.create_conversation("not a path", dialect="x", provider="o", model="m")
    with pytest.raises(ValueError, match="not the full path"):
        await ada.lines(conversation.id)


async def test_conversations_of_other_programs_are_not_sent(ada: Site) -> None:
    conversation = await begun(ada)
    await ada.store.append(conversation.id, said("first"))
    sql = "UPDATE conversations SET source = 'codex', original = 'x'"
    await ada.store.database.write(lambda connection: connection.execute(sql))

    assert await ada.increments() == []
    assert await ada.lines(conversation.id) == ([], START)

    fork = await Forks(ada.store.database).fork(conversation.id)
    [lines] = await ada.increments()
    assert (lines[0]["conversation"]["id"], lines[0]["conversation"]["parent"]) == (fork.id, None)


async def test_one_that_was_here_before_is_matched_with_its_owners(ada: Site, bob: Site) -> None:
    """As a store has it that was copied: nothing comes twice."""
    conversation = await begun(ada)
    await full(ada.store, conversation, ada.blobs)
    parts = await ada.increments()
    origin = await ada.own()
    for lines in parts:
        await bob.take(origin, lines)
    await bob.store.database.write(
        lambda connection: [
            connection.execute(f"DELETE FROM {table}")
            for table in ("received", "received_events", "received_edits", "received_undoes")
        ]
    )

    for lines in parts:
        taken = await bob.take(origin, lines)
        assert (taken.events, taken.conflicts) == (0, 0)
    await ada.store.append(conversation.id, said("more"))
    await bob.take_all(ada)

    await assert_equal(ada, bob, conversation.id)


async def test_sub_agents_nested_without_end_are_refused(ada: Site, bob: Site) -> None:
    conversation = await begun(ada)
    [first] = await ada.increments()
    origin = await ada.own()
    await bob.take(origin, first)

    def nested(number: int) -> Lines:
        above = f"agent{number - 1}" if number else conversation.id
        row = {**first[0]["conversation"], "id": f"agent{number}", "parent": above, "call": "c"}
        return [{"conversation": row}]

    for number in range(100):
        await bob.take(origin, nested(number))
    with pytest.raises(UsageError, match="nested more than 100 levels"):
        await bob.take(origin, nested(100))

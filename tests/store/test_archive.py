"""The archive of a store: whole, in order, and imported once, whatever is in the store or in the file."""

import io
import json
import sqlite3
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from io import BytesIO
from itertools import chain, repeat
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cogency_tui.errors import UsageError
from cogency_tui.protocol.events import Event, Measure
from cogency_tui.redaction import ConversationSecrets
from cogency_tui.store import event_chain, foreign_sessions, origins
from cogency_tui.store.archive import ArchiveReader, ArchiveWriter, Restorer, numbered_lines
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.database import open_to_read
from cogency_tui.store.edit_records import ABSENT, FileChange, Undone, Version
from cogency_tui.store.edits import Edits
from cogency_tui.store.foreign_sessions import ForeignConversation
from cogency_tui.store.forks import Forks
from cogency_tui.store.open_locks import Presence
from cogency_tui.store.pins import Pins
from cogency_tui.store.store import Store, StoredConversation, is_conversation_id
from cogency_tui.store.summaries import Summaries
from cogency_tui.store.trash import Trash
from tests.store.test_export_import import STORED, image_of

Record = dict[str, Any]

SECRET = "ghp_" + "aB3dE5gH7jK9mN1pQ2sT4vW6yZ8bC0dF2hJ4"


def said(content: str, moment: float = 1.0) -> Event:
    return {"type": "user", "timestamp": moment, "content": content}


def blobs_of(store: Store) -> Blobs:
    return Blobs(store.database.path.parent / "blobs")


def written(store: Store) -> tuple[list[str], list[str]]:
    """The archive of a store, and what it reports."""
    reports: list[str] = []
    with closing(open_to_read(store.database.path, 5)) as connection:
        return list(ArchiveWriter(connection, blobs_of(store), reports.append).lines()), reports


@dataclass
class Done:
    """What an import did."""

    states: list[str] = field(default_factory=list[str])
    ids: list[str] = field(default_factory=list[str])
    refused: list[str] = field(default_factory=list[str])
    announced: int | None = None
    found: int = 0

    @property
    def counts(self) -> dict[str, int]:
        return dict(Counter(self.states))


async def read(store: Store, source: list[str] | BinaryIO, stop: int | None = None) -> Done:
    """Import an archive; `stop` after so many conversations."""
    if isinstance(source, list):
        source = BytesIO("".join(f"{line}\n" for line in source).encode())
    directory = store.database.path.parent
    restorer = Restorer(blobs_of(store), Presence(directory))
    reader = ArchiveReader(numbered_lines(source), blobs_of(store), directory)
    before = await store.database.read(event_chain.verify)
    done = Done()
    try:
        for count, block in enumerate(reader.blocks()):
            if count == stop:
                break
            try:
                outcome = await store.database.write(partial(restorer.restore, block))
                done.states.append(outcome.state)
                done.ids.append(outcome.id)
            except UsageError as exc:
                done.refused.append(str(exc))
            restorer.release()
    finally:
        restorer.close()
    done.announced, done.found = reader.announced, reader.found
    after = await store.database.read(event_chain.verify)
    assert (after.missing, after.altered, after.unchained) == (before.missing, before.altered, 0)
    return done


def without_numbers(lines: Iterable[str]) -> list[Record]:
    """The records with their numbers counted from 1 in the file."""
    records = [json.loads(line) for line in lines]
    numbers = {0: 0, None: None}
    edits = {0: 0}
    for record in records:
        if "event" in record:
            numbers[record["number"]] = record["number"] = len(numbers)
        if "edit" in record:
            edits[record["edit"]["id"]] = record["edit"]["id"] = len(edits)
    for record in records:
        if "conversation" in record:
            record["conversation"]["forked_at"] = numbers[record["conversation"]["forked_at"]]
        if "summary" in record:
            for name in ("through", "unread"):
                record["summary"][name] = numbers[record["summary"][name]]
        if "pin" in record:
            record["pin"]["event"] = numbers[record["pin"]["event"]]
        if "mark" in record:
            record["mark"][0] = edits[record["mark"][0]]
        if "edit" in record:
            undone = json.loads(record["edit"]["undoes"])
            record["edit"]["undoes"] = [[edits.get(number, "?"), hunk] for number, hunk in undone]
    return records


async def furnish(store: Store) -> dict[str, StoredConversation]:
    """A store with one of everything."""
    blobs, edits, forks = blobs_of(store), Edits(store.database), Forks(store.database)

    async def new(project: str = "/project", **more: Any) -> StoredConversation:
        return await store.create_conversation(project, dialect="xml", provider="o", model="m", **more)

    whole = await new(branch="main", effort="high", model_chosen=True)
    for event in STORED:
        await store.append(whole.id, event)
    image = image_of(blobs, b"png \xff one")
    await store.append(whole.id, {"type": "user", "timestamp": 7.0, "content": "See", "images": [image]})
    numbers = [number for number, _ in await store.numbered_events(whole.id)]
    await store.rename(whole.id, "Mine \ud800 \x7f")
    await store.record_usage(whole.id, {"input": 7, "output": 3, "cost": 0.5, "model": "m"})
    await Summaries(store.database).add(whole.id, numbers[1], "short", "m")
    await Pins(store.database).set(whole.id, numbers[4], pinned=True)
    child = await new(parent=whole.id, call="c")
    await store.append(child.id, said("task", 3.5))
    grandchild = await new(parent=child.id, call="d")
    await store.append(grandchild.id, said("lesser task", 3.6))
    kept = blobs.put(BytesIO(b"new\xff content"))
    after = Version("file", kept.digest, kept.size, 0o644, True)
    [first] = await edits.add(await edits.origin(child.id), "c", "write", [FileChange("a.py", ABSENT, after)])
    fork = await forks.fork(whole.id, numbers[4])
    await store.append(fork.id, said("go on", 8.0))
    back = FileChange("a.py", after, ABSENT, undoes=(Undone(first.id),))
    await edits.add(await edits.origin(fork.id), "u", "undo", [back])
    deep = await forks.fork(fork.id, None, project="/elsewhere")
    branch = await forks.fork(child.id)
    trashed = await new("/other \ud800 project")
    await store.append(trashed.id, said("\ud800 \x00 \u2028"))
    await Trash(store.database).move(trashed.id)
    empty = await new("/other")
    imported = await new("/other")
    await store.append(imported.id, said("from a file"))
    set_imported = "UPDATE conversations SET imported = 1 WHERE id = ?"
    await store.database.write(lambda connection: connection.execute(set_imported, (imported.id,)) and None)
    return {
        **{"whole": whole, "child": child, "grandchild": grandchild, "fork": fork, "deep": deep},
        **{"branch": branch, "trashed": trashed, "empty": empty, "imported": imported},
    }


async def test_a_store_is_equal_after_the_way_to_another_and_nothing_comes_twice(
    store: Store, tmp_path: Path
) -> None:
    made = await furnish(store)
    lines, reports = written(store)
    assert not reports
    async with await Store.open(tmp_path / "other") as other:
        await other.create_conversation("/mine", dialect="x", provider="y", model="z")
        before = len(written(other)[0])
        done = await read(other, lines)
        assert (done.counts, done.refused) == ({"imported": 7}, [])
        assert done.announced == done.found == 7
    async with await Store.open(tmp_path / "empty") as other:
        done = await read(other, lines)
        assert (done.counts, done.refused) == ({"imported": 7}, [])
        again, reports = written(other)
        assert not reports
        assert without_numbers(again) == without_numbers(lines)
        assert "?" not in json.dumps(without_numbers(again))
        for name, conversation in made.items():
            there, here = await other.resolve(conversation.id), await store.resolve(conversation.id)
            assert there.imported, name
            assert (there.trashed, there.parent, there.call) == (here.trashed, here.parent, here.call), name
            assert await other.events(there.id) == await store.events(there.id), name
        fork, whole = await other.resolve(made["fork"].id), made["whole"].id
        shared = [number for number, _ in await other.numbered_events(whole)][4]
        assert (fork.parent, fork.forked_at) == (whole, shared)
        [first, *_] = await Edits(other.database).in_history(fork.id)
        assert first.origin.conversation == whole
        for target in (other, store):
            rows = counted(target)
            done = await read(target, again)
            assert (done.counts, done.refused) == ({"here": 7}, [])
            assert counted(target) == rows
    assert before


def counted(store: Store) -> dict[str, int]:
    """The rows of each table."""
    with closing(open_to_read(store.database.path, 5)) as connection:
        tables = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
        return {name: connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for (name,) in tables}


async def test_forks_come_after_what_they_were_forked_from_whatever_their_times(store: Store) -> None:
    made = await furnish(store)
    with closing(sqlite3.connect(store.database.path)) as connection, connection:
        for moment, name in enumerate(("branch", "deep", "fork", "whole")):
            connection.execute("UPDATE conversations SET created = ? WHERE id = ?", (moment, made[name].id))
    records = [json.loads(line) for line in written(store)[0]]
    order = [record["conversation"]["id"] for record in records if "conversation" in record]
    assert len(order) == len({*order}) == len(made)
    for name, parent in (("fork", "whole"), ("deep", "fork"), ("branch", "child"), ("child", "whole")):
        assert order.index(made[parent].id) < order.index(made[name].id)


async def test_what_goes_on_in_the_file_is_continued_and_marked_as_imported(
    store: Store, directory: Path, tmp_path: Path
) -> None:
    made = await furnish(store)
    early, _ = written(store)
    async with await Store.open(tmp_path / "other") as other:
        await read(other, early)
        for name in ("whole", "grandchild", "empty"):
            await other.append(made[name].id, said(f"more of {name}", 9.0))
        await other.record_usage(made["whole"].id, {"input": 70, "output": 30, "cost": 5.0, "model": "m"})
        number = (await other.numbered_events(made["whole"].id))[-1][0]
        await Pins(other.database).set(made["whole"].id, number, pinned=True)
        edits = Edits(other.database)
        change = FileChange("b.py", ABSENT, Version("file", "", 3, 0o644))
        await edits.add(await edits.origin(made["whole"].id), "e", "write", [change])
        late, _ = written(other)
        done = await read(store, late)
        assert (done.counts, done.refused) == ({"continued": 2, "here": 5}, [])
        assert without_numbers(written(store)[0]) == without_numbers(late)
        assert (await store.resolve(made["whole"].id)).imported
        assert not (await store.resolve(made["fork"].id)).imported
        # The other one has all of the first file.
        assert (await read(other, early)).counts == {"here": 7}
        assert (await read(store, late)).counts == {"here": 7}


async def test_what_has_gone_on_in_both_is_imported_once_under_another_id(
    store: Store, tmp_path: Path
) -> None:
    made = await furnish(store)
    early, _ = written(store)
    await store.append(made["whole"].id, said("here", 9.0))
    async with await Store.open(tmp_path / "other") as other:
        await read(other, early)
        await other.append(made["whole"].id, said("there", 9.0))
        # A fork of the part that only the other one has.
        fork = await Forks(other.database).fork(made["whole"].id)
        late, _ = written(other)
        done = await read(store, late)
        assert (done.counts, done.refused) == ({"imported": 2, "here": 6}, [])
        [copy] = [id for id in done.ids if id not in {each.id for each in made.values()} | {fork.id}]
        assert (await store.events(copy))[-1]["content"] == "there"  # pyright: ignore[reportTypedDictNotRequiredAccess, reportGeneralTypeIssues]
        [child] = await store.delegated(copy)
        assert await store.events(child.id) == await store.events(made["child"].id)
        again = await store.resolve(fork.id)
        assert again.parent == copy
        assert again.forked_at == (await store.numbered_events(copy))[-1][0]
        assert (await read(store, late)).counts == {"here": 8}
        await other.append(made["whole"].id, said("there again", 9.5))
        assert (await read(store, written(other)[0])).counts == {"continued": 1, "here": 7}
        assert (await store.events(copy))[-1]["content"] == "there again"  # pyright: ignore[reportTypedDictNotRequiredAccess, reportGeneralTypeIssues]


async def test_an_import_that_ends_anywhere_goes_on_where_it_was(store: Store, tmp_path: Path) -> None:
    await furnish(store)
    lines, _ = written(store)
    for stop in range(8):
        async with await Store.open(tmp_path / str(stop)) as other:
            await read(other, lines, stop)
            done = await read(other, lines)
            assert done.counts == {
                name: count for name, count in (("here", stop), ("imported", 7 - stop)) if count
            }
            assert without_numbers(written(other)[0]) == without_numbers(lines)


async def test_a_file_that_is_cut_off_anywhere_loses_only_what_it_lacks(store: Store, tmp_path: Path) -> None:
    await furnish(store)
    lines, _ = written(store)
    text = "".join(f"{line}\n" for line in lines).encode()
    ends = [end for end, byte in enumerate(text, 1) if byte == ord("\n")][:-1]
    places = [*range(40, len(text) - 1, len(text) // 12), *ends[1 :: len(ends) // 6], ends[-1]]
    for number, end in enumerate(places):
        async with await Store.open(tmp_path / str(number)) as other:
            done = await read(other, BytesIO(text[:end]))
            assert done.announced is None
            assert len(done.refused) <= 1
            done = await read(other, lines)
            assert not done.refused
            assert without_numbers(written(other)[0]) == without_numbers(lines)


async def test_a_bad_line_refuses_its_conversation_by_number_and_no_other(
    store: Store, tmp_path: Path
) -> None:
    await furnish(store)
    lines, _ = written(store)
    heads = [number for number, line in enumerate(lines) if '"format"' in line][1:]
    bad = ("{", "[]", "null", "\ud800".encode("utf-8", "replace").decode(), '{"event": 1}', '{"spell": 1}')
    async with await Store.open(tmp_path / "other") as other:
        for number, line in enumerate(bad):
            at = heads[-1 - number] + 2
            done = await read(other, [*lines[:at], line, *lines[at:]])
            assert len(done.states) == 6
            assert [each.partition(" has")[0] for each in done.refused] == [f"Line {at + 1}"]
        # A line that was cut in the middle, with the next one behind it.
        at = heads[2] + 2
        cut = [*lines[:at], lines[at][:10] + lines[at + 1], *lines[at + 2 :]]
        assert [each.partition(" has")[0] for each in (await read(other, cut)).refused] == [f"Line {at + 1}"]
        assert not (await read(other, lines)).refused
        assert without_numbers(written(other)[0]) == without_numbers(lines)


async def test_damaged_rows_stop_nothing_and_are_named(store: Store, tmp_path: Path) -> None:
    made = await furnish(store)
    with closing(sqlite3.connect(store.database.path)) as connection, connection:
        connection.execute("PRAGMA foreign_keys = OFF")
        numbers = connection.execute(
            "SELECT seq FROM events WHERE conversation_id = ? ORDER BY seq", (made["whole"].id,)
        ).fetchall()
        endless = json.dumps({**said("x"), "more": 1e999})
        damaged = (numbers[3], *numbers[5:])
        for (number,), body in zip(damaged, ("{", '{"type": "end"}', "[" * 100_000, endless), strict=True):
            connection.execute("UPDATE events SET body = ? WHERE seq = ?", (body, number))
        connection.execute("UPDATE usage SET body = 'x'")
        connection.execute("UPDATE edits SET before_kind = 'device' WHERE tool = 'undo'")
        # A circle of sub-agents, and one whose parent is gone.
        for id, parent in (("child", made["grandchild"].id), ("branch", made["child"].id)):
            connection.execute("UPDATE conversations SET parent = ? WHERE id = ?", (parent, made[id].id))
        connection.execute("UPDATE conversations SET project = 'x' WHERE id = ?", (made["empty"].id,))
    lines, reports = written(store)
    assert len(reports) == 4 + 1 + 1 + 3 + 1
    for (number,) in damaged:
        assert any(f"event {number}" in report for report in reports)
    assert all(report.startswith("Conversation ") for report in reports)
    found = [json.loads(line)["conversation"]["id"] for line in lines if line.startswith('{"conversation"')]
    assert sorted(found) == sorted(each.id for each in made.values())
    async with await Store.open(tmp_path / "other") as other:
        done = await read(other, lines)
        assert len(done.refused) == 1
        assert "not the full path" in done.refused[0]
        assert len(await other.events(made["whole"].id)) == len(numbers) - 4
        assert (await read(other, lines)).counts == {"here": 8}
        # Of the original the same rows are left out.
        assert (await read(store, lines)).counts == {"here": 8}


async def test_a_damaged_page_costs_its_event_and_no_other(directory: Path, tmp_path: Path) -> None:
    async with await Store.open(directory) as store:
        ids = [
            (await store.create_conversation("/p", dialect="x", provider="o", model="m")).id for _ in range(3)
        ]
        for id in ids:
            for content in ("before", f"{id} " * 2_000, "after"):
                await store.append(id, said(content))
        await store.database.read(lambda connection: connection.execute("PRAGMA wal_checkpoint(TRUNCATE)"))
    with (directory / "cogency.db").open("r+b") as file:
        page = file.read().index(f"{ids[1]} ".encode() * 200) // 4096 + 1
        file.seek(page * 4096)
        file.write(b"\xff" * 4)
    async with await Store.open(directory) as store:
        lines, reports = written(store)
        assert len(reports) == 1
        assert reports[0].startswith(f"Conversation {ids[1]}: event ")
        assert "malformed" in reports[0]
        async with await Store.open(tmp_path / "other") as other:
            assert (await read(other, lines)).counts == {"imported": 3}
            assert [len(await other.events(id)) for id in ids] == [3, 2, 3]


async def test_a_conversation_with_a_secret_is_known_again(store: Store, tmp_path: Path) -> None:
    conversation = await store.create_conversation("/p", dialect="x", provider="o", model="m")
    await store.append(conversation.id, said(f"it is {SECRET}"))
    lines, _ = written(store)
    assert SECRET not in "".join(lines)
    assert (await read(store, lines)).counts == {"here": 1}
    async with await Store.open(tmp_path / "other") as other:
        await read(other, lines)
        await other.append(conversation.id, said("go on"))
        fork = await Forks(other.database).fork(conversation.id)
        assert (await read(store, written(other)[0])).counts == {"continued": 1, "imported": 1}
    first, *_ = await store.events(conversation.id)
    assert first == said(f"it is {SECRET}")
    assert (await store.resolve(fork.id)).parent == conversation.id


async def test_times_of_the_future_are_no_reason_to_import_twice(store: Store, tmp_path: Path) -> None:
    conversation = await store.create_conversation("/p", dialect="x", provider="o", model="m")
    for moment in (5e9, 6e9):
        await store.append(conversation.id, said("hello", moment))
    fork = await Forks(store.database).fork(conversation.id)
    lines, _ = written(store)
    async with await Store.open(tmp_path / "other") as other:
        await read(other, lines, 1)
        assert (await read(other, lines)).counts == {"here": 1, "imported": 1}
        assert (await read(other, lines)).counts == {"here": 2}
        copy = await other.resolve(fork.id)
        assert copy.parent == conversation.id
        assert copy.forked_at == (await other.numbered_events(conversation.id))[-1][0]
        assert (await read(store, written(other)[0])).counts == {"here": 2}


async def test_a_session_of_another_agent_is_one_whichever_way_it_came(store: Store, tmp_path: Path) -> None:
    """Usage and events come once, too, if the agent's own files are imported afterwards."""
    session = foreign("claude-code", "a1b2")
    imported = await store.database.write(partial(foreign_sessions.store, given=session))
    lines, _ = written(store)
    for number, is_first in enumerate((True, False)):
        async with await Store.open(tmp_path / str(number)) as other:
            if is_first:
                await other.database.write(partial(foreign_sessions.store, given=session))
            done = await read(other, lines)
            assert (done.states, done.refused) == (["here" if is_first else "imported"], [])
            there = await other.resolve(done.ids[0])
            assert (there.source, there.original) == ("claude-code", "a1b2")
            assert (there.id == imported.id) != is_first
            before = await other.usage(there.id)
            longer = replace(session, events=[*session.events, ("k3", said("third", 3.0))])
            stored = await other.database.write(partial(foreign_sessions.store, given=longer))
            assert (stored.id, stored.is_new, stored.events) == (there.id, False, 1)
            assert await other.usage(there.id) == before
            assert (await read(store, written(other)[0])).states == ["continued" if is_first else "here"]


def foreign(source: str, original: str) -> ForeignConversation:
    events = [(f"k{number}", said(content, float(number))) for number, content in ((1, "one"), (2, "two"))]
    usage: list[tuple[str, float, Measure]] = [
        ("u1", 1.5, {"input": 70, "output": 5, "cost": 0.25, "model": "m"})
    ]
    secrets = ConversationSecrets(())
    return ForeignConversation(
        source, original, "", "/p", "t", "m", "o", "", "", "", events, usage, [], secrets
    )


async def test_a_conversation_that_another_store_owns_is_left_to_it(store: Store, tmp_path: Path) -> None:
    ours = await store.create_conversation("/p", dialect="x", provider="o", model="m")
    await store.append(ours.id, said("one"))
    own = await store.database.read(origins.own)
    async with await Store.open(tmp_path / "other") as other:
        copy = await other.create_conversation("/p", dialect="x", provider="o", model="m")
        await other.append(copy.id, said("one"))
        sql = "UPDATE conversations SET source = ?, original = ? WHERE id = ?"
        values = (f"@{own.id}", ours.id, copy.id)
        await other.database.write(lambda connection: connection.execute(sql, values) and None)
        done = await read(store, written(other)[0])
        assert (done.states, done.ids) == (["here"], [ours.id])
        await store.append(ours.id, said("two"))
        lines = [line.replace(ours.id, copy.id) for line in written(store)[0]]
        for state in ("imported", "here"):
            assert (await read(other, lines)).states == [state]
        assert len(await other.events(copy.id)) == 1
        assert await other.count() == 2


async def test_a_conversation_that_is_open_elsewhere_is_not_continued(
    store: Store, directory: Path, tmp_path: Path
) -> None:
    conversation = await store.create_conversation("/p", dialect="x", provider="o", model="m")
    await store.append(conversation.id, said("one"))
    async with await Store.open(tmp_path / "other") as other:
        await read(other, written(store)[0])
        await other.append(conversation.id, said("two"))
        lines, _ = written(other)
    elsewhere = Presence(directory)
    assert elsewhere.enter(conversation.id, 1.0)
    [refused] = (await read(store, lines)).refused
    assert "is open in process" in refused
    assert len(await store.events(conversation.id)) == 1
    elsewhere.leave()
    assert (await read(store, lines)).counts == {"continued": 1}
    assert not [*(directory / "open").iterdir()]


# Hostile files.

HEAD = json.dumps({"format": "cogency-tui archive", "version": 1})
EXPORT = json.dumps({"format": "cogency-tui conversation", "version": 2})
END = json.dumps({"end": 0})
"""The last line: what it counts is only compared by the command."""

ID = "1k82j2r6g497dcko"


def conversation_line(id: str = ID, **more: Any) -> str:
    fields = {
        **{"id": id, "project": "/p", "title": "t", "dialect": "xml", "provider": "offline", "model": "m"},
        **{"created": 1.0, "updated": 2.0, "turns": 1, "tokens": 0, "cost": 0.0, **more},
    }
    return json.dumps({"conversation": fields})


def event_line(content: str, number: int = 1) -> str:
    return json.dumps({"event": said(content), "number": number})


@pytest.mark.parametrize("count", [300, pytest.param(3_000, marks=pytest.mark.exhaustive)])
async def test_many_conversations_with_one_id_are_imported_once_each(store: Store, count: int) -> None:
    lines = [HEAD]
    for number in range(count):
        lines += [EXPORT, conversation_line(), event_line("same", 1), event_line(f"other {number}", 2)]
    lines.append(END)
    assert (await read(store, lines)).counts == {"imported": count}
    assert (await read(store, lines)).counts == {"here": count}
    assert await store.count() == count


async def test_forged_parents_and_circles_are_no_relations(store: Store) -> None:
    ours = await store.create_conversation("/p", dialect="x", provider="o", model="m")
    await store.append(ours.id, said("mine"))
    ids = [f"{number:016d}" for number in range(5)]
    lines = [HEAD]
    for id, parent, content in (
        (ids[0], ids[1], "in a circle"),
        (ids[1], ids[0], "in a circle"),
        (ids[2], ours.id, "a forgery"),
        (ids[3], ids[3], "its own parent"),
        (ids[4], "nowhere \ud800", "lost"),
    ):
        lines += [EXPORT, conversation_line(id, parent=parent, forked_at=1), event_line(content)]
    lines.append(END)
    for state in ("imported", "here"):
        assert (await read(store, lines)).counts == {state: 5}
        parents = [(await store.resolve(id)).parent for id in ids]
        assert parents == [None, ids[0], None, None, None] or parents == [ids[1], None, None, None, None]
    for id in ids:
        await Forks(store.database).tree(id)
    assert written(store)[1] == []


async def test_forks_of_forks_without_end_are_forks_up_to_a_depth(store: Store) -> None:
    ids = [f"{number:016d}" for number in range(250)]
    lines = [HEAD]
    for id, parent in zip(ids, [None, *ids], strict=False):
        lines += [EXPORT, conversation_line(id, parent=parent, forked_at=1), event_line("same")]
    lines.append(END)
    assert (await read(store, lines)).counts == {"imported": 250}
    found = await store.conversations(limit=250)
    assert sum(each.parent is not None for each in found) == 248
    # A tree is drawn, and read by recursion: what is deeper is on one level.
    tree, depth = await Forks(store.database).tree(ids[0]), 1
    while len(tree.forks) == 1:
        [tree], depth = tree.forks, depth + 1
    assert (depth, len(tree.forks)) == (101, 99)
    assert (await read(store, lines)).counts == {"here": 250}


async def test_a_fork_whose_parent_was_refused_is_attached_by_the_next_import(
    store: Store, tmp_path: Path
) -> None:
    made = await furnish(store)
    lines, _ = written(store)
    async with await Store.open(tmp_path / "other") as other:
        done = await read(other, [*lines[:3], "{", *lines[3:]])
        assert len(done.refused) == 1
        assert (await other.resolve(made["fork"].id)).parent is None
        await read(other, lines)
        assert (await other.resolve(made["fork"].id)).parent == made["whole"].id
        assert without_numbers(sorted(written(other)[0])) is not None


ODD: dict[str, tuple[list[str], str]] = {
    "nothing behind the head": ([EXPORT], "no conversation behind it"),
    "another version": ([EXPORT.replace("2", "1"), conversation_line()], "no exports but those of version 2"),
    "a head that is none": (['{"format": "x"}', conversation_line()], "does not begin with the header"),
    "half a head": (['{"format": "cog', conversation_line()], "it is not JSON"),
    "no head": ([conversation_line(), event_line("x")], "does not belong to a conversation"),
    "an event first": ([EXPORT, event_line("x")], "comes before the conversation"),
    "two conversations": ([EXPORT, conversation_line(), conversation_line(ID[::-1])], "another conversation"),
    "one conversation twice": (
        [EXPORT, conversation_line(), conversation_line(parent=ID, call="c")],
        "twice",
    ),
    "its own sub-agent": (
        [EXPORT, conversation_line(), conversation_line("x", parent="x", call="c")],
        "another",
    ),
    "sub-agents without end": (
        [
            EXPORT,
            *(conversation_line(str(n), parent=str(n - 1) if n else None, call="c") for n in range(150)),
        ],
        "nested more than 100 levels deep",
    ),
    "an event in disguise": (
        [EXPORT, conversation_line(), event_line("x").replace('"event"', '"\\u0065vent"')],
        "with escapes",
    ),
    "an event twice": ([EXPORT, conversation_line(), event_line("x"), event_line("y")], "event 1 twice"),
    "a time that is none": ([EXPORT, conversation_line(trashed=-1.0)], "trashed"),
    "a number that is none": ([EXPORT, conversation_line(forked_at=1 << 63)], "not a number that can be"),
    "a mark of an edit of another": (
        [EXPORT, conversation_line(), '{"mark": [1, "", "kept", "", 1.0]}'],
        "1 is missing",
    ),
    "an image that is none": (
        [EXPORT, conversation_line(), '{"content": "' + "0" * 64 + '", "size": 0, "data": ""}'],
        "does not match its digest",
    ),
}


@pytest.mark.parametrize("name", ODD)
async def test_odd_exports_are_refused_and_the_next_one_is_imported(store: Store, name: str) -> None:
    odd, why = ODD[name]
    good = [EXPORT, conversation_line("0" * 16), event_line("good")]
    done = await read(store, [HEAD, *odd, *good, "", '{"end": 2}', " "])
    assert [why in each for each in done.refused] == [True]
    assert done.states == ["imported"]
    assert await store.count() == 1


async def test_an_archive_of_a_newer_program_is_refused(store: Store) -> None:
    with pytest.raises(UsageError, match="version 2; this program supports 1"):
        await read(store, [HEAD.replace("1", "2"), EXPORT])


async def test_ids_of_any_form_are_found_again(store: Store) -> None:
    odd = ["", "../../x", "\ud800", "\x00", "x" * 256, "1K82J2R6G497DCKO"]
    for id in ("\ud800", "a"):
        ours = await store.create_conversation("/p", dialect="x", provider="o", model="m", id=id)
        await store.append(ours.id, said("ours"))
    lines = [HEAD]
    for id in (*odd, "a"):
        lines += [EXPORT, conversation_line(id), event_line("theirs")]
        lines += [conversation_line(f"{id[:200]} below", parent=id, call="c"), event_line("below", 2)]
        lines += [
            EXPORT,
            conversation_line(f"{id[:200]} fork", parent=id, forked_at=1),
            event_line("theirs", 3),
        ]
    lines.append(END)
    done = await read(store, lines)
    assert (done.states, done.refused) == (["imported"] * 14, [])
    assert all(is_conversation_id(id) for id in done.ids)
    for id, fork in zip(done.ids[::2], done.ids[1::2], strict=True):
        assert (await store.resolve(fork)).parent == id
        assert len(await store.delegated(id)) == 1
    assert (await read(store, lines)).states == ["here"] * 14


async def test_archives_in_one_file_do_not_share_their_numbers(store: Store, tmp_path: Path) -> None:
    await furnish(store)
    lines, _ = written(store)
    async with await Store.open(tmp_path / "other") as other:
        done = await read(other, [*lines, *lines])
        assert done.counts == {"imported": 7, "here": 7}
        assert done.announced == done.found == 14


class _Endless(io.RawIOBase):
    """A file of chunks, which are never all in memory."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._rest = self._rest or next(self._chunks, b"")
        count = min(len(buffer), len(self._rest))
        buffer[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count


@pytest.mark.parametrize("length", [200 << 20, pytest.param(3 << 30, marks=pytest.mark.exhaustive)])
async def test_a_line_without_end_refuses_its_conversation(store: Store, length: int) -> None:
    before = "\n".join([HEAD, EXPORT, conversation_line(), event_line("x"), ""]).encode()
    after = "\n".join(["", EXPORT, conversation_line("0" * 16), event_line("good"), END, ""]).encode()
    spaces = repeat(b" " * (1 << 20), length >> 20)
    done = await read(store, io.BufferedReader(_Endless(chain([before], spaces, [after]))))
    assert [each.partition(" has")[0] for each in done.refused] == ["Line 5"]
    assert done.states == ["imported"]


CONTENTS = st.sampled_from(["hello", "go on", "\ud800", "\x00", "é" * 50])
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["new", "say", "fork", "child", "trash", "rename"]), st.integers(0, 9), CONTENTS
    ),
    max_size=25,
)


@pytest.mark.exhaustive
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS, later=STEPS)
async def test_any_two_stores_agree_after_the_way_there_and_back(
    tmp_path_factory: pytest.TempPathFactory, steps: Any, later: Any
) -> None:
    base = tmp_path_factory.mktemp("stores")
    async with await Store.open(base / "a") as one, await Store.open(base / "b") as other:
        await act(one, steps)
        lines, reports = written(one)
        assert not reports
        done = await read(other, lines)
        assert not done.refused
        assert without_numbers(written(other)[0]) == without_numbers(lines)
        await act(other, later)
        late, _ = written(other)
        assert not (await read(one, late)).refused
        assert without_numbers(written(one)[0]) == without_numbers(late)
        assert set((await read(one, late)).states) <= {"here"}
        assert set((await read(other, lines)).states) <= {"here"}


async def act(store: Store, steps: Iterable[tuple[str, int, str]]) -> None:
    """Do what a user might."""
    for what, which, text in steps:
        rows = await store.database.read(
            lambda connection: connection.execute("SELECT id FROM conversations ORDER BY id").fetchall()
        )
        ids = [id for (id,) in rows]
        if what == "new" or not ids:
            await store.create_conversation("/p", dialect="x", provider="o", model="m")
            continue
        id = ids[which % len(ids)]
        if what == "say":
            await store.append(id, said(text, time.time()))
        elif what == "fork" and (numbers := [number for number, _ in await store.numbered_events(id)]):
            await Forks(store.database).fork(id, numbers[which % len(numbers)])
        elif what == "child":
            await store.create_conversation("/p", dialect="x", provider="o", model="m", parent=id, call=text)
        elif what == "rename" and not (await store.resolve(id)).imported:
            await store.rename(id, text)
        elif what == "trash" and not (await store.resolve(id)).imported:
            await Trash(store.database).move(id)

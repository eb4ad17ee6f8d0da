"""The chain shows what another program changed in the store, and a repair restores it from a copy."""

import os
import shutil
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from cogency_tui.store import event_chain
from cogency_tui.store.check_and_repair import check, extent, repair
from cogency_tui.store.copies import DIRECTORY, KEPT, copies_in, make_copy
from cogency_tui.store.database import FILE
from cogency_tui.store.forks import Forks
from cogency_tui.store.store import Store, StoredConversation
from tests.store.test_trouble import said

WEEK = 7 * 24 * 3600.0


async def _filled(directory: Path, *conversations: int) -> list[StoredConversation]:
    """Conversations with these numbers of events."""
    made: list[StoredConversation] = []
    async with await Store.open(directory) as store:
        for count in conversations:
            made.append(await store.create_conversation("/p", dialect="xml", provider="offline", model="m"))
            for number in range(count):
                await store.append(made[-1].id, said(f"message {number} of {count}"))
    return made


async def _texts(directory: Path, id: str) -> list[str]:
    async with await Store.open(directory) as store:
        return [event["content"] for event in await store.events(id) if event["type"] == "user"]


def _meddle(directory: Path, *statements: str) -> None:
    """What another program does to the database."""
    with closing(sqlite3.connect(directory / FILE)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def _meddle_at(file: Path, statement: str) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute(statement)


def _report(directory: Path) -> event_chain.ChainReport:
    with closing(sqlite3.connect(directory / FILE)) as connection:
        return event_chain.verify(connection)


async def test_every_event_has_an_entry_however_it_was_stored(directory: Path) -> None:
    (made,) = await _filled(directory, 5)
    async with await Store.open(directory) as store:
        await Forks(store.database).fork(made.id, 3)
        await store.append(made.id, said("after the fork \ud800 \x00"))
    report = _report(directory)
    assert (report.events, report.verified, report.unchained, report.is_whole) == (9, 9, 0, True)


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        ("UPDATE events SET body = replace(body, 'message 2', 'message 9') WHERE seq = 3", "1 event (3) was changed by another program"),
        ("UPDATE events SET timestamp = timestamp - 1 WHERE seq IN (2, 3)", "2 events (2–3) were changed by another program"),
        ("UPDATE events SET conversation_id = (SELECT id FROM conversations c WHERE c.id <> conversation_id) WHERE seq = 1", "1 event (1) was changed by another program"),
        ("UPDATE events SET type = 'think' WHERE seq = 1", "rows that cannot be read: 1 in events"),
        ("DELETE FROM events WHERE seq IN (2, 4)", "2 events (2, 4) were removed by another program, or lost"),
        ("DELETE FROM events WHERE seq > 6", "2 events (7–8) were removed by another program, or lost"),
        ("DELETE FROM events", "8 events (1–8) were removed by another program, or lost"),
    ],
)  # fmt: skip
async def test_what_another_program_does_is_found_and_restored_from_a_copy(
    directory: Path, statement: str, what: str
) -> None:
    first, second = await _filled(directory, 5, 3)
    copy = make_copy(directory, time.time())
    assert copy is not None
    before = [await _texts(directory, each.id) for each in (first, second)]
    _meddle(directory, statement)
    found = [damage.what for damage in check(directory)]
    assert found[0] == what
    *_, line = repair(directory)
    assert line.endswith(f"restored from {copy}.")
    assert check(directory) == []
    assert [await _texts(directory, each.id) for each in (first, second)] == before


async def test_a_conversation_without_its_row_is_restored_from_a_copy(directory: Path) -> None:
    (made,) = await _filled(directory, 3)
    make_copy(directory, time.time())
    _meddle(directory, "DELETE FROM events", "DELETE FROM conversations")
    assert any("1 conversation of cogency-" in damage.what for damage in check(directory))
    assert repair(directory)
    assert check(directory) == []
    async with await Store.open(directory) as store:
        (found,) = await store.conversations(limit=9)
        assert (found.id, found.title, found.imported) == (made.id, "message 0 of 3", False)
    assert await _texts(directory, made.id) == [f"message {number} of 3" for number in range(3)]


async def test_a_replaced_database_is_filled_again_from_a_copy(directory: Path) -> None:
    made = await _filled(directory, 3, 2)
    make_copy(directory, time.time())
    for file in directory.glob(f"{FILE}*"):
        file.unlink()
    (new,) = await _filled(directory, 4)
    assert any("2 conversations of cogency-" in damage.what for damage in check(directory))
    assert any("2 conversations" in line for line in repair(directory))
    assert check(directory) == []
    assert [len(await _texts(directory, each.id)) for each in (*made, new)] == [3, 2, 4]


async def test_what_no_copy_has_is_named_once(directory: Path) -> None:
    (made,) = await _filled(directory, 6)
    _meddle(
        directory,
        "DELETE FROM events WHERE seq IN (2, 3)",
        "UPDATE events SET body = replace(body, 'message 4', 'message 9') WHERE seq = 5",
    )
    assert repair(directory) == [
        "Lost: 2 events (2–3) were removed, and no copy has them.",
        "Lost: 1 event (5) was changed by another program, and no copy has the original.",
    ]
    assert check(directory) == []
    assert repair(directory) == []
    found = extent(directory)
    assert (found.events, found.lost) == (4, 3)
    assert len(await _texts(directory, made.id)) == 4


async def test_the_number_of_a_lost_event_is_not_given_again(directory: Path) -> None:
    (made,) = await _filled(directory, 3)
    _meddle(directory, "DELETE FROM events WHERE seq = 3")
    async with await Store.open(directory) as store:
        assert await store.append(made.id, said("next")) == 4
        fork = await Forks(store.database).fork(made.id)
        assert [number for number, _ in await store.numbered_events(fork.id)] == [5, 6, 7]
    assert _report(directory).missing == [3]


async def test_lost_entries_are_no_lost_events(directory: Path) -> None:
    await _filled(directory, 6)
    _meddle(directory, "DELETE FROM event_chain WHERE seq IN (2, 3)")
    report = _report(directory)
    assert (report.verified, report.unchained, report.is_whole) == (6, 0, True)
    _meddle(directory, "UPDATE events SET body = body || ' ' WHERE seq = 3")
    report = _report(directory)
    assert (report.verified, report.unchained) == (4, 2)


async def test_entries_that_are_lost_with_their_events_leave_a_gap(directory: Path) -> None:
    await _filled(directory, 6)
    _meddle(
        directory, "DELETE FROM event_chain WHERE seq IN (2, 3)", "DELETE FROM events WHERE seq IN (2, 3)"
    )
    assert (_report(directory).missing, _report(directory).altered) == ([2, 3], [])
    assert repair(directory) == ["Lost: 2 events (2–3) were removed, and no copy has them."]
    assert check(directory) == []


async def test_a_chain_that_was_written_anew_contradicts_the_copy(directory: Path) -> None:
    await _filled(directory, 6)
    copy = make_copy(directory, time.time())
    _meddle(directory, "UPDATE events SET body = replace(body, 'message 2', 'message 9') WHERE seq = 3")
    with closing(sqlite3.connect(directory / FILE)) as connection, connection:
        connection.execute("DELETE FROM event_chain")
        event_chain.extend(connection, 0)
    assert [damage.what for damage in check(directory)] == [
        f"event 3 and later ones were changed by another program; {copy} has the originals"
    ]


async def test_events_of_an_earlier_version_are_chained_when_the_store_opens(directory: Path) -> None:
    (made,) = await _filled(directory, 4)
    _meddle(directory, "DROP TABLE event_chain", "DELETE FROM migrations WHERE name = 'create_event_chain'")
    assert check(directory) == []
    async with await Store.open(directory) as store:
        await store.append(made.id, said("new"))
    report = _report(directory)
    assert (report.events, report.verified, report.unchained) == (5, 5, 0)


async def test_copies_are_made_each_week_and_three_are_stored(directory: Path) -> None:
    now = time.time()
    assert make_copy(directory, now) is None
    await _filled(directory, 1)
    names: list[str] = []
    for week in range(5):
        made = make_copy(directory, now + week * WEEK)
        assert made is not None
        names.append(made.name)
        assert make_copy(directory, now + week * WEEK + 3600) is None
        assert made.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in copies_in(directory)] == names[: -KEPT - 1 : -1]
    assert check(directory) == []
    assert extent(directory).copies == tuple(copies_in(directory))


async def test_a_damaged_database_replaces_no_copy(directory: Path) -> None:
    from cogency_tui.errors import StoreError

    await _filled(directory, 30)
    now = time.time()
    for week in range(3):
        make_copy(directory, now + week * WEEK)
    whole = [each.read_bytes() for each in copies_in(directory)]
    with (directory / FILE).open("r+b") as file:
        file.seek(5 * 4096)
        file.write(bytes(4096 * 3))
    with pytest.raises(StoreError, match="damaged"):
        make_copy(directory, now + 3 * WEEK)
    assert [each.read_bytes() for each in copies_in(directory)] == whole
    assert sorted(path.name for path in (directory / DIRECTORY).iterdir() if path.suffix == ".new") == []


async def test_a_damaged_copy_is_named(directory: Path) -> None:
    await _filled(directory, 30)
    copy = make_copy(directory, time.time())
    assert copy is not None
    copy.write_bytes(copy.read_bytes()[:5000])
    (damage,) = check(directory)
    assert (damage.path, damage.of_store) == (copy, False)
    assert "it is damaged" in damage.what


async def test_a_copy_opens_as_a_store(directory: Path, tmp_path: Path) -> None:
    (made,) = await _filled(directory, 3)
    copy = make_copy(directory, time.time())
    assert copy is not None
    other = tmp_path / "other"
    other.mkdir()
    shutil.copy(copy, other / FILE)
    assert len(await _texts(other, made.id)) == 3


async def test_the_last_events_do_not_vanish_unnoticed(directory: Path) -> None:
    first, second = await _filled(directory, 5, 3)
    copy = make_copy(directory, time.time())
    before = [await _texts(directory, each.id) for each in (first, second)]
    _meddle(directory, "DELETE FROM events WHERE seq > 6", "DELETE FROM event_chain WHERE seq > 6")
    assert [damage.what for damage in check(directory)] == [f"2 events of {copy and copy.name} missing"]
    assert repair(directory) == [f"2 events were restored from {copy}."]
    assert check(directory) == []
    assert [await _texts(directory, each.id) for each in (first, second)] == before


async def test_lost_last_events_come_back_beside_later_ones(directory: Path) -> None:
    first, second = await _filled(directory, 2, 3)
    make_copy(directory, time.time())
    _meddle(directory, "DELETE FROM events WHERE seq > 3", "DELETE FROM event_chain WHERE seq > 3")
    async with await Store.open(directory) as store:
        await store.append(first.id, said("later"))
    repair(directory)
    assert check(directory) == []
    assert await _texts(directory, second.id) == [f"message {number} of 3" for number in range(3)]
    assert (await _texts(directory, first.id))[-1] == "later"


DAMAGED_VALUES = ("'abc'", "7", "x''", "x'00'", "randomblob(16)")


@pytest.mark.parametrize("seq", [1, 3, 5])
@pytest.mark.parametrize("columns", ["before", "digest", "before, digest"])
@pytest.mark.parametrize("value", DAMAGED_VALUES)
async def test_a_damaged_entry_is_mended_and_no_event_called_changed(
    directory: Path, seq: int, columns: str, value: str
) -> None:
    (made,) = await _filled(directory, 5)
    before = await _texts(directory, made.id)
    make_copy(directory, time.time())
    values = ", ".join(f"{name} = {value}" for name in columns.split(", "))
    _meddle(directory, f"UPDATE event_chain SET {values} WHERE seq = {seq}")
    # It is read as what was stored: nothing else fails of it.
    async with await Store.open(directory) as store:
        await store.append(made.id, said("later"))
    assert check(directory)
    done = repair(directory)
    assert done
    assert not [line for line in done if line.startswith("Lost")]
    assert check(directory) == []
    assert repair(directory) == []
    assert _report(directory).verified == 6
    assert await _texts(directory, made.id) == [*before, "later"]


@pytest.mark.parametrize("columns", ["before", "digest", "before, digest"])
async def test_the_events_prove_a_damaged_entry_without_a_copy(directory: Path, columns: str) -> None:
    await _filled(directory, 5)
    values = ", ".join(f"{name} = 'abc'" for name in columns.split(", "))
    _meddle(directory, f"UPDATE event_chain SET {values} WHERE seq IN (1, 3)")
    assert [damage.what for damage in check(directory)] == ["the hash chain is damaged at events 1, 3"]
    assert repair(directory) == ["The hash chain was damaged at events 1, 3, and has been mended."]
    assert check(directory) == []


async def test_a_damaged_entry_hides_no_changed_event(directory: Path) -> None:
    await _filled(directory, 5)
    copy = make_copy(directory, time.time())
    _meddle(
        directory,
        "UPDATE events SET body = replace(body, 'message', 'massage') WHERE seq = 3",
        "UPDATE event_chain SET digest = 'abc' WHERE seq = 3",
    )
    assert [damage.what for damage in check(directory)] == ["1 event (3) was changed by another program"]
    assert repair(directory) == [f"1 event (3) was restored from {copy}."]
    assert check(directory) == []


@pytest.mark.parametrize("with_copy", [False, True])
async def test_an_unreadable_event_whose_entry_is_lost_is_named(directory: Path, *, with_copy: bool) -> None:
    (made,) = await _filled(directory, 6)
    if with_copy:
        make_copy(directory, time.time())
    _meddle(
        directory,
        "DELETE FROM event_chain WHERE seq >= 4",
        "UPDATE events SET body = '{' WHERE seq = 4",
    )
    lost = [line for line in repair(directory) if line.startswith("Lost")]
    assert lost == ([] if with_copy else ["Lost: damaged rows: 1 in events."])
    assert len(await _texts(directory, made.id)) == (6 if with_copy else 5)
    assert check(directory) == []


async def test_a_missing_chain_is_built_again_from_the_copy(directory: Path) -> None:
    await _filled(directory, 5)
    make_copy(directory, time.time())
    _meddle(
        directory,
        "DELETE FROM event_chain",
        "UPDATE events SET body = replace(body, 'message 2', 'message 9') WHERE seq = 3",
    )
    assert [damage.what for damage in check(directory)] == ["its hash chain is missing"]
    built, restored = repair(directory)
    assert built == "The hash chain was missing, and has been built again."
    assert restored.startswith("1 event (3) was restored from")
    assert check(directory) == []


async def test_edits_and_usage_come_back_from_the_copy(directory: Path) -> None:
    (made,) = await _filled(directory, 2)
    async with await Store.open(directory) as store:
        for cost in (0.5, 0.25):
            await store.record_usage(made.id, {"input": 1, "output": 2, "cost": cost})
    make_copy(directory, time.time())
    _meddle(directory, "DELETE FROM usage WHERE id = 2")
    assert any("1 row in usage of cogency-" in damage.what for damage in check(directory))
    # Also beside a changed event.
    changing = "UPDATE events SET body = replace(body, '{}', '{}') WHERE seq = 1"
    _meddle(directory, changing.format("message", "massage"))
    assert any("1 row in usage of cogency-" in damage.what for damage in check(directory))
    _meddle(directory, changing.format("massage", "message"))
    (line,) = repair(directory)
    assert line.startswith("1 row in usage was restored from")
    assert check(directory) == []
    async with await Store.open(directory) as store:
        assert (await store.spent(0.0)).dollars == 0.75


async def test_what_is_no_file_is_no_copy(directory: Path) -> None:
    await _filled(directory, 2)
    (directory / DIRECTORY).mkdir()
    os.mkfifo(directory / DIRECTORY / "cogency-2026-01-01.db")
    (directory / DIRECTORY / "cogency-2026-01-02.db").symlink_to("/dev/zero")
    assert copies_in(directory) == []
    assert check(directory) == []


async def test_unreadable_and_removed_events_are_all_named(directory: Path) -> None:
    await _filled(directory, 6)
    _meddle(directory, "UPDATE events SET body = '{}' WHERE seq = 2", "DELETE FROM events WHERE seq = 5")
    assert [damage.what for damage in check(directory)] == [
        "rows that cannot be read: 1 in events",
        "1 event (5) was removed by another program, or lost",
        "1 event (2) was changed by another program",
    ]


async def _damaged_by(directory: Path, *statements: str) -> list[str]:
    """Meddle with the store, and return what a check finds."""
    _meddle(directory, *statements)
    return [damage.what for damage in check(directory)]


async def test_a_removed_row_of_a_conversation_with_its_events_comes_back(directory: Path) -> None:
    first, second = await _filled(directory, 3, 2)
    copy = make_copy(directory, time.time())
    async with await Store.open(directory) as store:
        await store.append(first.id, said("since the copy"))
    assert await _damaged_by(directory, f"DELETE FROM conversations WHERE id = '{first.id}'")
    assert f"1 conversation ({first.id}) was restored from {copy}." in repair(directory)
    assert check(directory) == []
    async with await Store.open(directory) as store:
        found = await store.conversation(first.id)
        assert found is not None
        assert (found.title, found.project, found.turns) == ("message 0 of 3", "/p", 4)
        assert {each.id for each in await store.conversations(limit=9)} == {first.id, second.id}


async def test_a_removed_row_that_no_copy_has_is_made_from_the_events(directory: Path) -> None:
    (made,) = await _filled(directory, 3)
    _meddle(directory, "DELETE FROM conversations")
    assert repair(directory)
    assert check(directory) == []
    async with await Store.open(directory) as store:
        found = await store.conversation(made.id)
        assert found is not None
        assert (found.title, found.turns) == ("Recovered", 3)


async def test_a_copy_of_a_newer_program_is_named_and_not_read(directory: Path) -> None:
    await _filled(directory, 3)
    copy = make_copy(directory, time.time())
    assert copy is not None
    _meddle_at(copy, "INSERT INTO migrations VALUES ('create_what_comes', 0)")
    (damage,) = check(directory)
    assert (damage.path, damage.of_store) == (copy, False)
    assert "a newer cogency-tui made it" in damage.what


async def test_a_lost_content_of_an_earlier_version_is_accepted(directory: Path) -> None:
    await with_edit(directory)
    _meddle(
        directory,
        f"UPDATE edits SET before_digest = '{'ab' * 32}', before_kept = 1, before_size = 3",
        "DROP TABLE event_chain",
        "DELETE FROM migrations WHERE name = 'create_event_chain'",
    )
    assert repair(directory)[0].startswith("Lost: 1 stored version of files")
    assert check(directory) == []


CHANGED_ROWS = pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("UPDATE edits SET path = '../../evil.txt' WHERE id = 1", "1 edit (1)"),
        ("UPDATE edits SET kind = 'deleted', after_digest = '00ff' WHERE id = 1", "1 edit (1)"),
        ("UPDATE usage SET cost = 1000", "1 usage record (1)"),
        ("UPDATE conversations SET project = '/etc'", "1 conversation ({id})"),
    ],
)


@CHANGED_ROWS
async def test_a_changed_row_that_never_changes_is_restored_where_two_copies_agree(
    directory: Path, statement: str, named: str
) -> None:
    made = await with_edit(directory)
    make_copy(directory, time.time() - WEEK)
    copy = make_copy(directory, time.time())
    before = _rows(directory)
    named = named.format(id=made.id)
    assert await _damaged_by(directory, statement) == [f"{named} changed by another program"]
    assert repair(directory) == [f"{named} was changed by another program, and was restored from {copy}."]
    assert check(directory) == []
    assert _rows(directory) == before


@CHANGED_ROWS
@pytest.mark.parametrize("where", ["store", "copy"])
async def test_a_row_that_differs_from_the_only_copy_stays_as_it_is(
    directory: Path, statement: str, named: str, where: str
) -> None:
    made = await with_edit(directory)
    copy = make_copy(directory, time.time())
    assert copy is not None
    _meddle_at(directory / FILE if where == "store" else copy, statement)
    before = _rows(directory)
    what = (
        f"{named.format(id=made.id)} differs from the copy of {copy.stem[8:]}; nothing proves which of the two"
        " was changed, so a repair leaves it as it is"
    )
    assert [(damage.what, damage.of_store) for damage in check(directory)] == [(what, False)]
    assert repair(directory) == [f"{what}."]
    assert _rows(directory) == before


@CHANGED_ROWS
async def test_a_changed_copy_is_named_where_another_one_agrees_with_the_store(
    directory: Path, statement: str, named: str
) -> None:
    made = await with_edit(directory)
    make_copy(directory, time.time() - WEEK)
    copy = make_copy(directory, time.time())
    assert copy is not None
    before = _rows(directory)
    _meddle_at(copy, statement)
    (damage,) = check(directory)
    assert damage.path == copy
    assert damage.what.startswith(f"{named.format(id=made.id)} was changed by another program")
    repair(directory)
    assert _rows(directory) == before


async def test_events_of_a_copy_that_its_chain_disproves_are_not_used(directory: Path) -> None:
    (made,) = await _filled(directory, 6)
    copy = make_copy(directory, time.time())
    assert copy is not None
    _meddle_at(copy, "UPDATE events SET body = replace(body, 'message', 'forgery') WHERE seq < 4")
    (damage,) = check(directory)
    assert (damage.path, damage.of_store) == (copy, False)
    assert damage.what.startswith("3 events (1–3) were changed by another program, as the hash chain shows")
    assert repair(directory) == [f"{copy}: {damage.what}."]
    _meddle(directory, "DELETE FROM events WHERE seq IN (2, 3, 5)")
    done = repair(directory)
    assert "Lost: 2 events (2–3) were removed, and no copy has them." in done
    assert f"1 event (5) was restored from {copy}." in done
    assert await _texts(directory, made.id) == [f"message {number} of 6" for number in (0, 3, 4, 5)]
    assert not any(damage.of_store for damage in check(directory))


async def test_a_lost_store_takes_no_disproved_events_from_a_copy(directory: Path) -> None:
    (made,) = await _filled(directory, 4)
    copy = make_copy(directory, time.time())
    assert copy is not None
    _meddle_at(copy, "UPDATE events SET body = replace(body, 'message', 'forgery') WHERE seq = 2")
    (directory / FILE).unlink()
    done = repair(directory)
    assert f"Lost: 1 event (2) was changed by another program in {copy}." in done
    assert await _texts(directory, made.id) == [f"message {number} of 4" for number in (0, 2, 3)]
    assert not any(damage.of_store for damage in check(directory))


async def test_a_rewritten_copy_is_named_where_another_one_agrees_with_the_store(directory: Path) -> None:
    await _filled(directory, 6)
    make_copy(directory, time.time() - WEEK)
    copy = make_copy(directory, time.time())
    assert copy is not None
    _meddle_at(copy, "UPDATE events SET body = replace(body, 'message 2', 'message 9') WHERE seq = 3")
    with closing(sqlite3.connect(copy)) as connection, connection:
        connection.execute("DELETE FROM event_chain")
        event_chain.extend(connection, 0)
    (damage,) = check(directory)
    assert damage.path == copy
    assert damage.what.startswith("event 3 and later ones were changed by another program: the store and")


async def test_an_empty_copy_is_damaged_and_used_for_nothing(directory: Path) -> None:
    (made,) = await _filled(directory, 3)
    old = make_copy(directory, time.time() - WEEK)
    copy = make_copy(directory, time.time())
    assert copy is not None
    copy.write_bytes(b"")
    (damage,) = check(directory)
    assert (damage.path, damage.what) == (
        copy,
        "it is damaged: it is empty. Delete it: the next copy replaces it",
    )
    (directory / FILE).unlink()
    assert check(directory)[0].what.endswith(f"a copy of its history: {old}")
    repair(directory)
    assert len(await _texts(directory, made.id)) == 3
    # It is no reason to make no other one.
    assert make_copy(directory, time.time()) == copy


async def test_what_a_user_changes_is_no_damage(directory: Path) -> None:
    made = await with_edit(directory)
    make_copy(directory, time.time())
    async with await Store.open(directory) as store:
        await store.rename(made.id, "another title")
    _meddle(
        directory, "UPDATE edits SET before_kept = 0", f"UPDATE conversations SET trashed = {time.time()}"
    )
    assert check(directory) == []


@pytest.mark.parametrize("how", ["zeroed", "removed"])
async def test_a_lost_store_comes_back_from_the_copy_as_ones_own(directory: Path, how: str) -> None:
    made = await with_edit(directory)
    copy = make_copy(directory, time.time())
    assert copy is not None
    before = _rows(directory)
    path = directory / FILE
    path.write_bytes(bytes(path.stat().st_size)) if how == "zeroed" else path.unlink()
    found = [damage.what for damage in check(directory)]
    assert how == "zeroed" or found == [f"it is missing or empty, but there is a copy of its history: {copy}"]
    done = repair(directory)
    assert any(line.startswith("Lost: what came after 20") for line in done)
    assert f"1 conversation with 2 events was restored from {copy}." in done
    assert check(directory) == []
    assert _rows(directory) == before
    async with await Store.open(directory) as store:
        (found,) = await store.conversations(limit=9)
        assert (found.id, found.imported) == (made.id, False)


async def test_a_store_that_is_begun_beside_a_copy_says_so_and_gets_ones_own(directory: Path) -> None:
    made = await with_edit(directory)
    make_copy(directory, time.time())
    (directory / FILE).unlink()
    async with await Store.open(directory) as store:
        (notice,) = store.notices
        assert "there is a copy of your history" in notice
        await store.acknowledge()
    (new,) = await _filled(directory, 1)
    assert repair(directory)
    async with await Store.open(directory) as store:
        found = {each.id: each for each in await store.conversations(limit=9)}
    assert set(found) == {made.id, new.id}
    assert not found[made.id].imported


async def test_an_event_of_another_program_is_named_and_gets_an_entry(directory: Path) -> None:
    (made,) = await _filled(directory, 3)
    forged = (
        "INSERT INTO events SELECT {}, conversation_id, type, timestamp, unit, body FROM events WHERE seq = 1"
    )
    for verified, number in enumerate((100, 50, 60, 51), 5):
        what = f"1 event ({number}) was added by another program"
        assert await _damaged_by(directory, forged.format(number)) == [what]
        assert repair(directory) == [f"{what}, and was accepted."]
        assert check(directory) == []
        if number == 100:
            async with await Store.open(directory) as store:
                assert await store.append(made.id, said("after it")) == 101
        report = _report(directory)
        assert (report.verified, report.unchained, report.is_whole) == (verified, 0, True)
    assert await _damaged_by(directory, "UPDATE events SET body = body || ' ' WHERE seq = 101")


async def test_events_whose_entries_were_removed_and_that_were_changed_are_accepted(directory: Path) -> None:
    await _filled(directory, 6)
    change = "UPDATE events SET body = body || ' ' WHERE seq IN (3, 4)"
    found = await _damaged_by(directory, "DELETE FROM event_chain WHERE seq IN (3, 4)", change)
    assert found == ["2 events (3–4) were added by another program"]
    assert repair(directory)
    assert check(directory) == []
    assert (_report(directory).verified, _report(directory).lost) == (4, 2)


async def test_an_event_without_an_entry_may_be_of_an_earlier_version(directory: Path) -> None:
    await _filled(directory, 4)
    _meddle(
        directory,
        "UPDATE migrations SET applied = -9999 WHERE name = 'create_events'",
        "DELETE FROM event_chain WHERE seq > 2",
        "UPDATE migrations SET applied = (SELECT timestamp FROM events WHERE seq = 3)"
        " WHERE name = 'create_event_chain'",
        "UPDATE events SET timestamp = timestamp + 9 WHERE seq = 4",
    )
    report = _report(directory)
    assert (report.unchained, report.added) == (2, [4])


async def test_a_lost_version_of_a_file_is_named_once(directory: Path) -> None:
    await with_edit(directory)
    digest = "ab" * 32
    _meddle(directory, f"UPDATE edits SET before_digest = '{digest}', before_kept = 1, before_size = 3")
    assert [damage.path.name for damage in check(directory)] == ["blobs"]
    assert repair(directory) == [
        "Lost: 1 stored version of files, whose edits cannot be reverted: /p/f (edit 1)."
    ]
    assert check(directory) == []
    assert repair(directory) == []


async def with_edit(directory: Path) -> StoredConversation:
    """A conversation with an edit and usage."""
    (made,) = await _filled(directory, 2)
    async with await Store.open(directory) as store:
        await store.record_usage(made.id, {"input": 1, "output": 2, "cost": 0.5})
    _meddle(
        directory,
        "INSERT INTO edits (conversation, caller, turn, project, call, tool, path, old_path, made, kind,"
        " timestamp, undoes, before_kind, before_digest, before_size, before_mode, before_kept,"
        " after_kind, after_digest, after_size, after_mode, after_kept)"
        f" VALUES ('{made.id}', '', 1, '/p', 'c', 'edit', 'f', '', '', 'edit', 1.0, '[]', 'file', '', 0, 0, 0,"
        " 'absent', '', 0, 0, 0)",
    )
    return made


def _rows(directory: Path) -> list[list[object]]:
    with closing(sqlite3.connect(directory / FILE)) as connection:
        tables = ("conversations", "events", "edits", "usage", "origins", "event_chain")
        return [connection.execute(f"SELECT * FROM {table}").fetchall() for table in tables]

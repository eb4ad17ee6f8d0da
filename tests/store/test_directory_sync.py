"""Stores that exchange conversations through a directory: nothing lost, nothing twice, however the files get
there."""

import errno
import json
import os
import random
import shutil
import sqlite3
import time
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import pyrage
import pytest

from cogency_tui.errors import UsageError
from cogency_tui.file_lock import file_lock
from cogency_tui.store import bundles, directory_sync, export_import, increments
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.bundles import SUFFIX, SyncKey, new_key
from cogency_tui.store.database import FILE
from cogency_tui.store.directory_sync import AGAIN, DirectorySync, Exchange
from cogency_tui.store.edits import Edits
from cogency_tui.store.event_chain import verify
from cogency_tui.store.forks import Forks
from cogency_tui.store.pins import Pins
from cogency_tui.store.store import Store, StoredConversation
from cogency_tui.store.summaries import Summaries
from cogency_tui.store.trash import Trash
from tests.exhaustive import sampled
from tests.store.test_export_import import full
from tests.store.test_increments import Site, assert_equal, begun, said

KEY = new_key()


class Machine(Site):
    """A store, and the directory as its carrier has it there."""

    def __init__(self, store: Store, directory: Path) -> None:
        super().__init__(store, Blobs(store.database.path.parent / "blobs"))
        self.directory = directory

    async def sync(self, key: SyncKey = KEY, **options: Any) -> Exchange:
        return await DirectorySync(self.store, self.blobs, self.directory, key, **options).run()

    def files(self) -> list[Path]:
        return sorted(path for path in self.directory.iterdir() if not path.name.startswith("."))


Connected = Callable[..., Awaitable[Machine]]


@pytest.fixture
async def machine(tmp_path: Path) -> AsyncIterator[Connected]:
    """Open a store by its name, on the directory that all share or one of its own."""
    opened: list[Machine] = []

    async def connected(name: str, shared: str = "shared") -> Machine:
        directory = tmp_path / shared
        directory.mkdir(exist_ok=True)
        machine = Machine(await Store.open(tmp_path / name), directory)
        opened.append(machine)
        return machine

    yield connected
    for each in opened:
        await each.store.close()


async def test_two_machines_exchange_all(machine: Connected) -> None:
    ada, bob = await machine("ada"), await machine("bob")
    conversation = await begun(ada)
    await full(ada.store, conversation, ada.blobs)

    sent = await ada.sync()
    assert (sum(sent.sent.values()), sent.bundles, sent.received, sent.problems) == (8, 1, {}, [])
    received = await bob.sync()
    assert sum(received.received.values()) == 8
    assert received.owners == [(await ada.own()).name]
    assert (received.sent, received.bundles) == ({}, 0)

    await assert_equal(ada, bob, conversation.id)
    for each in (ada, bob, ada, bob):
        again = await each.sync()
        assert (again.sent, again.received, again.bundles, again.waiting) == ({}, {}, 0, 0)
    assert len(ada.files()) == 1


async def test_names_and_contents_tell_nothing(machine: Connected) -> None:
    ada = await machine("ada")
    conversation = await ada.store.create_conversation(
        "/secret-project", dialect="x", provider="o", model="m"
    )
    await ada.store.append(conversation.id, said("the plan"))
    await ada.sync()

    [file] = ada.files()
    assert file.name == f"{file.stem.lower()}{SUFFIX}"
    assert len(file.stem) == 16
    data = file.read_bytes()
    for word in (
        b"secret-project",
        b"plan",
        b"tiny",
        (await ada.own()).id.encode(),
        conversation.id.encode(),
    ):
        assert word not in data
    assert file.stat().st_mode & 0o777 == 0o600


async def test_a_fork_goes_back_to_the_owner(machine: Connected) -> None:
    ada, bob = await machine("ada"), await machine("bob")
    conversation = await begun(ada)
    await full(ada.store, conversation, ada.blobs)
    await ada.sync()
    await bob.sync()
    fork = await Forks(bob.store.database).fork(conversation.id)
    await bob.store.append(fork.id, said("bob goes on"))
    await bob.sync()
    await ada.store.append(conversation.id, said("ada goes on"))

    await ada.sync()
    await bob.sync()

    returned = await ada.store.conversation(fork.id)
    assert returned is not None
    assert returned.parent == conversation.id
    assert [each.get("content") for each in await ada.store.events(fork.id)][-1] == "bob goes on"
    await assert_equal(ada, bob, conversation.id)


async def test_a_directory_that_loses_a_bundle_gets_another(machine: Connected) -> None:
    """So does one that is new: each directory has all."""
    ada, bob = await machine("ada"), await machine("bob")
    conversation = await begun(ada)
    for text in ("one", "two", "three"):
        await ada.store.append(conversation.id, said(text))
        await ada.sync()
    ada.files()[1].unlink()
    assert (await bob.sync()).waiting == 1

    again = await ada.sync()
    assert (again.bundles, sum(again.sent.values())) == (1, 2)
    assert (await ada.sync()).bundles == 0
    received = await bob.sync()

    assert (received.waiting, received.problems) == (0, [])
    await assert_equal(ada, bob, conversation.id)

    elsewhere = ada.directory.with_name("elsewhere")
    elsewhere.mkdir()
    ada.directory = elsewhere
    assert (await ada.sync()).bundles == 1


async def test_an_old_bundle_does_not_bring_back_what_was(machine: Connected) -> None:
    ada, bob = await machine("ada"), await machine("bob")
    conversation = await begun(ada)
    await full(ada.store, conversation, ada.blobs)
    await ada.sync()
    [first] = ada.files()
    await ada.store.rename(conversation.id, "Later")
    await Summaries(ada.store.database).edit(1, "later")
    await ada.sync()
    await bob.sync()
    await bob.store.database.write(lambda connection: connection.execute("DELETE FROM received_bundles"))

    found = await bob.sync()

    assert (found.received, found.problems, first.exists()) == ({}, [], True)
    await assert_equal(ada, bob, conversation.id)


async def test_clocks_that_are_years_off_change_nothing(
    machine: Connected, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Later bundles have earlier names, and later events earlier times."""
    ada, bob = await machine("ada"), await machine("bob")
    now = time.time()
    ids: list[str] = []
    for number, years in enumerate((2, 1, -1, -30, 0)):
        with monkeypatch.context() as patched:
            patched.setattr(time, "time", lambda years=years: now + years * 366 * 86_400)
            ids.append((await begun(ada)).id)
            for id in ids:
                await ada.store.append(id, said(f"said {number}", time.time()))
            await ada.store.rename(ids[0], f"title {number}")
            await ada.sync()

    found = await bob.sync()

    assert (found.waiting, found.problems, sum(found.received.values())) == (0, [], 15)
    for id in ids:
        ours, theirs = [
            [(event["type"], event.get("content")) for event in await each.store.events(id)]
            for each in (ada, bob)
        ]
        assert ours == theirs
        assert all(event["timestamp"] <= time.time() for event in await bob.store.events(id))
    titled = await bob.store.conversation(ids[0])
    assert titled is not None
    assert titled.title == "title 4"
    for each in (ada, bob, ada):
        again = await each.sync()
        assert (again.bundles, again.received, again.problems) == (0, {}, [])


async def test_a_title_that_changes_back_is_sent_once(machine: Connected) -> None:
    ada = await machine("ada")
    conversation = await begun(ada)
    await ada.store.append(conversation.id, said("one"))
    for title in ("A", "B", "A", "B"):
        await ada.store.rename(conversation.id, title)
        assert (await ada.sync()).bundles == 1
        assert (await ada.sync()).bundles == 0


CUTS = [0, 10, 44, 46, 100, 300, -1]


@pytest.mark.parametrize("length", CUTS)
async def test_a_half_copied_bundle_is_named_and_taken_later(length: int, machine: Connected) -> None:
    ada, bob = await machine("ada"), await machine("bob", "other")
    conversation = await begun(ada)
    await full(ada.store, conversation, ada.blobs)
    await ada.sync()
    [file] = ada.files()
    data = file.read_bytes()
    (bob.directory / file.name).write_bytes(data[:length])

    found = await bob.sync()

    assert found.problems == [f"{file.name}: it is cut off or damaged. {AGAIN}"]
    assert await bob.store.count() == 0
    (bob.directory / file.name).write_bytes(data)
    assert (await bob.sync()).problems == []
    await assert_equal(ada, bob, conversation.id)


async def test_each_copy_of_a_damaged_bundle_is_named(machine: Connected) -> None:
    ada, bob = await machine("ada"), await machine("bob", "other")
    await ada.store.append((await begun(ada)).id, said("one"))
    await ada.sync()
    [file] = ada.files()
    data = file.read_bytes()
    names = sorted([file.name, "another.cogency", f"{file.stem} (conflict).cogency"])
    for name in names:
        (bob.directory / name).write_bytes(data[:-9])

    assert [each.partition(":")[0] for each in sorted((await bob.sync()).problems)] == names

    (bob.directory / names[1]).write_bytes(data)
    assert (await bob.sync()).problems == []


async def test_one_that_follows_tries_a_bundle_again_once_it_has_changed(machine: Connected) -> None:
    ada, bob = await machine("ada"), await machine("bob", "other")
    conversation = await begun(ada)
    await ada.store.append(conversation.id, said("one"))
    await ada.sync()
    [file] = ada.files()
    data = file.read_bytes()
    copy = bob.directory / file.name
    copy.write_bytes(data[:-9])
    following = DirectorySync(bob.store, bob.blobs, bob.directory, KEY)
    for _ in range(2):
        assert len((await following.run()).problems) == 1
    copy.write_bytes(data)

    found = await following.run()

    assert (found.problems, sum(found.received.values())) == ([], 1)
    await bob.store.append((await begun(bob)).id, said("bob's"))
    assert (await following.run()).bundles == 1
    assert (await following.run()).bundles == 0
    # By another process.
    async with await Store.open(bob.store.database.path.parent) as store:
        other = Machine(store, bob.directory)
        await store.append((await begun(other)).id, said("more"))
    assert (await following.run()).bundles == 1
    for each in bob.files():
        each.unlink()
    assert (await following.run()).bundles == 1


async def test_a_damaged_bundle_is_named_wherever_the_damage_is(machine: Connected) -> None:
    ada, bob = await machine("ada"), await machine("bob", "other")
    conversation = await begun(ada)
    await full(ada.store, conversation, ada.blobs)
    await ada.sync()
    [file] = ada.files()
    data = file.read_bytes()
    for place in random.Random(1).sample(range(len(data)), 40):
        damaged = bytearray(data)
        damaged[place] ^= 1 << place % 8
        (bob.directory / file.name).write_bytes(damaged)
        try:
            found = await bob.sync()
        except UsageError as exc:
            # In the tag of the key.
            assert "encrypted with another key" in str(exc)  # noqa: PT017
            continue
        assert len(found.problems) == 1
        assert found.problems[0].startswith(file.name)
    assert await bob.store.count() == 0


async def test_copies_and_strangers_in_the_directory(machine: Connected) -> None:
    """Conflict copies, a git checkout, folded names, and what else lies there."""
    ada, bob = await machine("ada"), await machine("bob", "other")
    conversation = await begun(ada)
    await ada.store.append(conversation.id, said("one"))
    await ada.sync()
    await ada.store.append(conversation.id, said("two"))
    await ada.sync()
    first, second = ada.files()
    there = bob.directory
    (there / f"{first.stem}.sync-conflict-20261127-220000-ABCDEFG{SUFFIX}").write_bytes(
        first.read_bytes()[:200]
    )
    (there / first.name.upper()).write_bytes(first.read_bytes())
    (there / f"{second.stem} (conflicted copy)").write_bytes(second.read_bytes())
    (there / f"{second.stem}{SUFFIX}").write_bytes(second.read_bytes())
    (there / ".git").mkdir()
    (there / f".syncthing.{first.name}.tmp").write_bytes(b"half")
    (there / "README.md").write_text("mine")
    (there / "sub").mkdir()
    (there / f"link{SUFFIX}").symlink_to("/dev/zero")
    os.mkfifo(there / f"pipe{SUFFIX}")

    found = await bob.sync()

    assert (sum(found.received.values()), found.problems) == (2, [])
    await assert_equal(ada, bob, conversation.id)
    # The owner knows its own bundles by whatever name.
    first.rename(first.with_name("renamed"))
    assert (await ada.sync()).bundles == 0
    assert not (await ada.sync()).copied


async def test_another_key_is_named_and_none_is_added_unasked(machine: Connected) -> None:
    ada, bob = await machine("ada"), await machine("bob")
    await ada.store.append((await begun(ada)).id, said("one"))
    await ada.sync()
    mine = await begun(bob)
    await bob.store.append(mine.id, said("bob's"))
    other = new_key()

    with pytest.raises(UsageError, match="another key than this one") as caught:
        await bob.sync(other)
    assert "--key FILE" in caught.value.hint
    assert len(bob.files()) == 1

    found = await bob.sync(other, accept_other_key=True)
    assert (found.bundles, found.foreign, found.received) == (1, 1, {})
    assert (await bob.sync(other)).foreign == 1
    # With the other's key all goes again, and both have all.
    assert (await bob.sync()).bundles == 1
    assert list((await ada.sync()).received.values()) == [1]
    await assert_equal(bob, ada, mine.id)


async def test_the_secret_of_another_key_under_our_tag(machine: Connected) -> None:
    ada, bob = await machine("ada"), await machine("bob")
    await ada.store.append((await begun(ada)).id, said("one"))
    other = new_key()
    await ada.sync(other)
    [file] = ada.files()
    file.write_bytes(file.read_bytes().replace(other.tag.encode(), KEY.tag.encode()))

    assert (await bob.sync()).problems == [f"{file.name}: it is encrypted with another key. {AGAIN}"]


async def test_a_dry_run_counts_and_changes_nothing(machine: Connected) -> None:
    ada, bob = await machine("ada"), await machine("bob")
    conversation = await begun(ada)
    await full(ada.store, conversation, ada.blobs)
    dry = await ada.sync(dry=True)
    assert sum(dry.sent.values()) == 8
    assert ada.files() == []
    await ada.sync()
    await ada.store.append(conversation.id, said("more"))
    await ada.sync()

    for _ in range(2):
        assert sum((await bob.sync(dry=True)).received.values()) == 9
    assert await bob.store.count() == 0
    assert not (bob.blobs.directory).exists()
    await bob.sync()
    assert (await bob.sync(dry=True)).received == {}


def copy_of(machine: Machine, directory: Path) -> None:
    """Copy the store of a machine as a user does, file by file."""
    source = machine.store.database.path.parent
    shutil.copytree(source, directory, ignore=shutil.ignore_patterns(FILE, f"{FILE}-*"))
    with (
        closing(sqlite3.connect(source / FILE)) as ours,
        closing(sqlite3.connect(directory / FILE)) as theirs,
    ):
        ours.backup(theirs)


async def texts_of(machine: Machine) -> list[str]:
    """The messages of each conversation."""
    return [
        "/".join(str(event.get("content")) for event in await machine.store.events(one.id))
        for one in await machine.store.conversations(limit=99)
    ]


async def ends_of(machine: Machine) -> list[str]:
    return [text.rpartition("/")[2] for text in await texts_of(machine)]


@pytest.mark.parametrize("synced_before", [False, True])
async def test_a_copied_store_gets_an_owner_of_its_own(
    synced_before: bool, machine: Connected, tmp_path: Path
) -> None:
    ada = await machine("ada")
    conversation, other = await begun(ada), await begun(ada)
    await full(ada.store, conversation, ada.blobs)
    await ada.store.append(other.id, said("other"))
    if synced_before:
        await ada.sync()
    copy_of(ada, tmp_path / "copy")
    copy = await machine("copy")
    new = await begun(copy)
    await copy.store.append(new.id, said("on the copy"))
    await copy.store.append(other.id, said("continued on the copy"))
    await ada.store.append(conversation.id, said("continued on the first"))
    await ada.sync()

    found = await copy.sync()

    assert (found.copied, found.ceded, found.problems) == (True, 1, [])
    assert (await copy.own()).id != (await ada.own()).id
    assert not (await ada.sync()).copied
    await copy.sync()
    await ada.sync()
    # One belongs to the first machine, and is there once.
    await assert_equal(ada, copy, conversation.id)
    await assert_equal(copy, ada, new.id)
    # The other one was continued on the copy alone, and belongs to that.
    await assert_equal(copy, ada, other.id)
    texts = [sorted(await ends_of(each)) for each in (ada, copy)]
    assert texts[0] == texts[1]
    assert texts[0] == ["continued on the copy", "continued on the first", "on the copy"]
    for each in (ada, copy, ada, copy):
        again = await each.sync()
        assert (again.bundles, again.received, again.copied, again.waiting) == (0, {}, False, 0)


async def test_both_sides_of_a_copy_have_sent_before_either_knows(machine: Connected, tmp_path: Path) -> None:
    ada = await machine("ada")
    conversation = await begun(ada)
    await ada.store.append(conversation.id, said("shared"))
    await ada.sync()
    shutil.copytree(ada.directory, tmp_path / "apart")
    copy_of(ada, tmp_path / "copy")
    copy = await machine("copy", "apart")
    for each, text in ((ada, "first"), (copy, "second"), (ada, "third")):
        await each.store.append(conversation.id, said(text))
        await each.sync()
    for file in copy.files():
        shutil.copy(file, ada.directory)
    copy.directory = ada.directory

    for each in (ada, copy) * 3:
        assert not (await each.sync()).waiting

    for each in (ada, copy):
        assert {"shared/first/third", "shared/second"} <= {*await texts_of(each)}
    assert (await ada.own()).id != (await copy.own()).id


async def owned(machine: Machine) -> dict[str, str]:
    """The conversations that belong to a machine: their last messages by their ids."""
    found = await machine.store.conversations(limit=99)
    return {
        each.id: str((await machine.store.events(each.id))[-1].get("content"))
        for each in found
        if not each.source
    }


def carry(*machines: Machine) -> None:
    """Bring all files everywhere."""
    for there in machines:
        for here in machines:
            for file in there.files():
                if not (here.directory / file.name).exists():
                    shutil.copy(file, here.directory)


async def test_copies_that_have_both_sent_share_what_they_have(machine: Connected, tmp_path: Path) -> None:
    """Each has one owner then: what one has begun or continued is that one's, and what neither has, of the
    one that was the first to send."""
    ada, carol = await machine("ada", "a"), await machine("carol", "c")
    for text in ("quiet", "on ada's", "on bob's", "on both"):
        await ada.store.append((await begun(ada)).id, said(text))
    quiet, first, second, both = [each.id for each in (await ada.store.conversations(limit=9))[::-1]]
    await ada.sync()
    carry(ada, carol)
    await carol.sync()
    copy_of(ada, tmp_path / "bob")
    bob = await machine("bob", "b")
    for one, id in ((ada, first), (bob, second), (ada, both), (bob, both)):
        await one.store.append(id, said(f"continued on {one.directory.name}"))
    new = [await begun(one) for one in (ada, bob)]
    for one, conversation in zip((ada, bob), new, strict=True):
        await one.store.append(conversation.id, said(f"new on {one.directory.name}"))
        await one.sync()
    carry(ada, bob)
    assert (await ada.sync(dry=True)).problems == []
    assert (await bob.sync(dry=True)).copied
    for _ in range(3):
        carry(ada, bob, carol)
        for one in (bob, ada, carol):
            found = await one.sync()
            # Who has read both before they know of each other cannot tell them apart.
            assert one is carol or found.problems == []

    assert await owned(ada) == {
        quiet: "quiet",
        first: "continued on a",
        both: "continued on a",
        new[0].id: "new on a",
    }
    assert await owned(bob) == {second: "continued on b", both: "continued on b", new[1].id: "new on b"}
    assert await owned(carol) == {}
    texts = [sorted(await texts_of(one)) for one in (ada, bob, carol)]
    assert texts[0] == texts[1] == texts[2]
    assert len(texts[0]) == 7
    for one in (ada, bob, carol):
        again = await one.sync()
        assert (again.bundles, again.received, again.copied, again.waiting) == (0, {}, False, 0)
    # All of it can be had from its owners.
    for one in (ada, bob, carol):
        for file in one.files():
            file.unlink()
    dana = await machine("dana", "d")
    for one in (ada, bob):
        await one.sync()
    carry(ada, bob, dana)
    await dana.sync()
    assert sorted(await texts_of(dana)) == texts[0]


@pytest.mark.parametrize("seed", sampled(range(40), 6))
async def test_copies_settle_whatever_arrives_when(seed: int, machine: Connected, tmp_path: Path) -> None:
    chance = random.Random(seed)
    ada = await machine("ada", "a")
    ids = [(await begun(ada)).id for _ in range(4)]
    for number, id in enumerate(ids):
        await ada.store.append(id, said(f"start {number}"))
    if chance.random() < 0.7:
        await ada.sync()
    copy_of(ada, tmp_path / "bob")
    pair = [ada, await machine("bob", "b")]
    if chance.random() < 0.5:
        carry(*pair)
    texts = [f"start {number}" for number in range(4)]
    for step in range(12):
        one = chance.choice(pair)
        there = pair[one is ada]
        match chance.randrange(5):
            case 0:
                texts.append(f"new {step}")
                await one.store.append((await begun(one)).id, said(texts[-1]))
            case 1:
                texts.append(f"more {step}")
                mine = sorted(await owned(one))
                if mine:
                    await one.store.append(chance.choice(mine), said(texts[-1]))
                else:
                    texts.pop()
            case 2:
                files = [file for file in there.files() if not (one.directory / file.name).exists()]
                for file in chance.sample(files, chance.randint(0, len(files))):
                    shutil.copy(file, one.directory)
            case _:
                assert (await one.sync()).problems == []
    for _ in range(5):
        carry(*pair)
        for one in pair:
            assert (await one.sync()).problems == []

    found = [sorted(await texts_of(one)) for one in pair]
    assert found[0] == found[1]
    said_there = [each for text in found[0] for each in text.split("/")]
    assert {*said_there} == {*texts}
    # No conversation is there twice, nor beside one that goes on from it.
    assert not [
        text
        for text in found[0]
        for other in found[0]
        if f"{other}/".startswith(f"{text}/") and other != text
    ]
    assert len({*found[0]}) == len(found[0])
    assert sum([len(await owned(one)) for one in pair]) == len(found[0])
    for one in pair:
        again = await one.sync()
        assert (again.bundles, again.received, again.copied, again.waiting) == (0, {}, False, 0)


@pytest.mark.parametrize("follows", [False, True])
async def test_a_forged_bundle_with_our_origin_takes_nothing(follows: bool, machine: Connected) -> None:
    ada, mallory = await machine("ada"), await machine("mallory", "elsewhere")
    for text in ("one", "two"):
        await ada.store.append((await begun(ada)).id, said(text))
    await ada.sync()
    own = await ada.own()
    await mallory.store.append((await begun(mallory)).id, said("forged"))

    def forge(connection: sqlite3.Connection) -> None:
        connection.execute("UPDATE origins SET id = ? WHERE own", (own.id,))
        if follows:
            connection.execute(
                "INSERT INTO sent_bundles (id, origin, size, created) VALUES (?, ?, 1, 1)",
                (ada.files()[0].stem, own.id),
            )

    await mallory.store.database.write(forge)
    await mallory.sync()
    [forged] = mallory.files()
    shutil.copy(forged, ada.directory)

    for _ in range(2):
        found = await ada.sync()
        assert (found.copied, found.ceded, found.bundles) == (False, 0, 0)
        [problem] = found.problems
        assert problem.startswith(f"{forged.name}: it has the name of this machine")
    assert (await ada.own()).id == own.id
    assert sorted((await owned(ada)).values()) == ["one", "two"]


async def test_who_only_claims_to_be_a_copy_of_ours_takes_nothing(machine: Connected) -> None:
    ada = await machine("ada")
    conversation = await begun(ada)
    await ada.store.append(conversation.id, said("one"))
    await ada.sync()
    head, *part = unsealed(ada.files()[0])
    claim = {"bundle": ID, "origin": "b" * 20, "former": {(await ada.own()).id: "0" * 64}}
    forged(ada.directory, ID, [json.dumps(json.loads(head) | claim), *part])

    found = await ada.sync()

    assert (found.copied, found.ceded, found.problems) == (False, 0, [])
    assert await owned(ada) == {conversation.id: "one"}


def exported_by(machine: Machine, ids: Iterable[str]) -> Callable[[sqlite3.Connection], list[str]]:
    def work(connection: sqlite3.Connection) -> list[str]:
        return [
            json.dumps(line) for id in ids for line in export_import.exported(connection, id, machine.blobs)
        ]

    return work


async def test_what_the_user_trashes_stays_there_and_an_empty_title_follows_the_owner(
    machine: Connected,
) -> None:
    ada, eve = await machine("ada", "a"), await machine("eve", "e")
    made = await begun(ada)
    await ada.store.append(made.id, said("one"))

    async def exchange() -> None:
        await ada.sync()
        carry(ada, eve)
        await eve.sync()

    await exchange()
    [here] = await eve.store.conversations(limit=9)
    await Trash(eve.store.database).move(here.id)
    await eve.store.rename(here.id, "")
    trash = Trash(ada.store.database)
    for change in (trash.move, trash.restore):
        await change(made.id)
        await exchange()
        assert (await eve.store.resolve(here.id)).trashed is not None
    await ada.store.rename(made.id, "The owner's")
    await exchange()
    assert (await eve.store.resolve(here.id)).title == "The owner's"
    # Once restored, it follows the owner again.
    await Trash(eve.store.database).restore(here.id)
    await trash.move(made.id)
    await exchange()
    assert (await eve.store.resolve(here.id)).trashed is not None
    await trash.restore(made.id)
    await exchange()
    assert (await eve.store.resolve(here.id)).trashed is None


async def test_ones_own_conversation_that_returns_as_an_export_is_ones_own(machine: Connected) -> None:
    ada, eve = await machine("ada", "a"), await machine("eve", "e")
    made = await begun(ada)
    await ada.store.append(made.id, said("one"))
    await ada.sync()
    carry(ada, eve)
    await eve.sync()
    [received] = await eve.store.conversations(limit=9)
    lines = await eve.store.database.read(exported_by(eve, [received.id]))
    here = await ada.store.database.write(partial(export_import.imported, lines=lines, blobs=ada.blobs))
    assert {*await owned(ada)} == {made.id, here}


@pytest.mark.parametrize("last", ["ada", "eve", "dave"])
async def test_several_imports_of_one_export_are_one_conversation(last: str, machine: Connected) -> None:
    machines = {name: await machine(name, name[0]) for name in ("ada", "eve", "dave", "carol")}
    ada, everyone = machines["ada"], [*machines.values()]
    made = await begun(ada)
    await full(ada.store, made, ada.blobs)
    lines = await ada.store.database.read(exported_by(ada, [made.id]))
    for name in ("eve", "eve", "dave"):
        one = machines[name]
        await one.store.database.write(partial(export_import.imported, lines=lines, blobs=one.blobs))
    for one in everyone:
        if one is not machines[last]:
            await one.sync()
            carry(*everyone)
    for _ in range(4):
        for one in everyone:
            assert (await one.sync()).problems == []
            carry(*everyone)
    for one in everyone:
        assert len(await one.store.conversations(limit=9)) == 1
    assert [*await owned(ada)] == [made.id]
    await ada.store.append(made.id, said("later"))
    await ada.sync()
    carry(*everyone)
    for one in everyone[1:]:
        await one.sync()
        assert not await owned(one)
        [there] = await one.store.conversations(limit=9)
        assert (await one.store.events(there.id))[-1] == (await ada.store.events(made.id))[-1]


@pytest.mark.parametrize("order", ["ada first", "eve first", "together"])
async def test_what_was_imported_before_the_first_sync_is_there_once(order: str, machine: Connected) -> None:
    ada, eve, carol = await machine("ada", "a"), await machine("eve", "e"), await machine("carol", "c")
    quiet, going = await begun(ada), await begun(ada)
    await full(ada.store, quiet, ada.blobs)
    await ada.store.append(going.id, said("going"))
    for id in (quiet.id, going.id):
        lines = await ada.store.database.read(exported_by(ada, [id]))
        await eve.store.append((await begun(eve)).id, said(f"shifts the numbers by {id}"))
        await eve.store.database.write(partial(export_import.imported, lines=lines, blobs=eve.blobs))
    assert {quiet.id, going.id} <= {*await owned(eve)}
    await eve.store.append(going.id, said("on eve's"))
    both = {"ada first": [ada, eve], "eve first": [eve, ada], "together": [ada, eve]}[order]
    for one in both:
        await one.sync()
        if order != "together":
            carry(ada, eve, carol)
            await carol.sync()
    for _ in range(4):
        carry(ada, eve, carol)
        for one in both + [carol]:
            assert (await one.sync()).problems == []

    assert {*await owned(ada)} == {quiet.id, going.id}
    assert sorted((await owned(eve)).values())[0] == "on eve's"
    assert len(await owned(eve)) == 3
    await assert_equal(ada, eve, quiet.id)
    texts = [sorted(await texts_of(one)) for one in (ada, eve, carol)]
    assert texts[0] == texts[1] == texts[2]
    assert len(texts[0]) == len({*texts[0]}) == 5
    # What the owner adds later arrives.
    await ada.store.append(quiet.id, said("later"))
    for _ in range(2):
        for one in (ada, eve, carol):
            assert (await one.sync()).problems == []
            carry(ada, eve, carol)
    assert [("later" in " ".join(await texts_of(one))) for one in (eve, carol)] == [True, True]
    for one in (ada, eve, carol):
        again = await one.sync()
        assert (again.bundles, again.received, again.waiting) == (0, {}, 0)


async def test_an_export_is_continued_where_its_store_is_lost(machine: Connected) -> None:
    ada, new, carol = await machine("ada"), await machine("new", "n"), await machine("carol", "n")
    conversation = await begun(ada)
    await ada.store.append(conversation.id, said("one"))
    lines = await ada.store.database.read(exported_by(ada, [conversation.id]))
    await new.store.database.write(partial(export_import.imported, lines=lines, blobs=new.blobs))
    await new.store.append(conversation.id, said("two"))
    await new.sync()
    await carol.sync()

    assert await owned(new) == {conversation.id: "two"}
    assert await texts_of(carol) == ["one/two"]


async def test_a_store_from_an_older_backup_has_its_later_events_again(
    machine: Connected, tmp_path: Path
) -> None:
    ada = await machine("ada")
    conversation = await begun(ada)
    await ada.store.append(conversation.id, said("one"))
    await ada.sync()
    copy_of(ada, tmp_path / "restored")
    await ada.store.append(conversation.id, said("two"))
    await ada.sync()

    restored = await machine("restored")
    found = await restored.sync()

    assert (found.copied, found.ceded) == (True, 1)
    await assert_equal(ada, restored, conversation.id)


async def test_a_disk_that_is_full_or_read_only_is_named(
    machine: Connected, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = await machine("ada")
    await ada.store.append((await begun(ada)).id, said("one"))

    def write(_writer: object, path: Path, _key: object) -> int:
        raise OSError(errno.EROFS, "Read-only file system", str(path))

    with monkeypatch.context() as patched:
        patched.setattr(bundles.BundleWriter, "write", write)
        with pytest.raises(UsageError, match="cannot be written: Read-only file system"):
            await ada.sync()
    assert ada.files() == []
    assert (await ada.sync()).bundles == 1


async def test_a_second_sync_of_the_same_store_waits(
    machine: Connected, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = await machine("ada")
    monkeypatch.setattr(directory_sync, "_PATIENCE", 0.0)
    lock = ada.store.database.path.parent / "sync.lock"
    with file_lock(lock), pytest.raises(UsageError, match="is running"):
        await ada.sync()


# Hostile bundles with the right key.


def forged(directory: Path, id: str, lines: list[str] | bytes, *, inside: str | None = None) -> Path:
    """Write a bundle that decrypts."""
    content = lines if isinstance(lines, bytes) else "".join(f"{line}\n" for line in lines).encode()
    age = cast("Any", pyrage)
    recipient = age.x25519.Recipient.from_str(KEY.recipient)
    sealed = age.encrypt(zlib.compress(content), [recipient])
    path = directory / f"{id}{SUFFIX}"
    path.write_bytes(f"cogency-tui sync 1 {KEY.tag} {inside or id}\n".encode() + sealed)
    return path


def unsealed(path: Path) -> list[str]:
    """Return the lines of a bundle."""
    header, _, sealed = path.read_bytes().partition(b"\n")
    assert header
    age = cast("Any", pyrage)
    return zlib.decompress(age.decrypt(sealed, [KEY.identity])).decode().splitlines()


ID = "0123456789abcdef"
HEAD = json.dumps({"bundle": ID, "origin": "a" * 20, "name": "eve@lab"})

BROKEN: list[tuple[list[str] | bytes, str]] = [
    ([], "wrong form"),
    (["{}"], "wrong form"),
    (["null"], "wrong form"),
    ([json.dumps({"bundle": "x" * 16, "origin": "a" * 20, "name": ""})], "another bundle inside"),
    ([HEAD, "", "{"], "Line 1 has the wrong form"),
    ([HEAD, "", '{"event": 1}'], "Line 1 has the wrong form"),
    ([HEAD, "", "[" * 100_000], "Line 1 has the wrong form"),
    ([HEAD.replace("a" * 20, "x"), "", '{"conversation": {}}'], "not the origin of another store"),
    (HEAD.encode(), "ends early"),
    (b"\0" * (1 << 20), "ends early"),
]


@pytest.mark.parametrize(("lines", "why"), BROKEN)
async def test_a_bundle_that_is_none_inside_is_named(
    lines: list[str] | bytes, why: str, machine: Connected
) -> None:
    bob = await machine("bob")
    forged(bob.directory, ID, lines)

    found = await bob.sync()

    assert len(found.problems) == 1
    assert why in found.problems[0]
    assert await bob.store.count() == 0


async def test_a_bundle_without_content_is_received(machine: Connected) -> None:
    bob = await machine("bob")
    forged(bob.directory, ID, [HEAD])
    assert (await bob.sync()).problems == []


async def test_a_bundle_of_a_newer_version_is_left(machine: Connected) -> None:
    bob = await machine("bob")
    file = forged(bob.directory, ID, [HEAD])
    file.write_bytes(file.read_bytes().replace(b"sync 1 ", b"sync 2 "))
    assert (await bob.sync()).problems == [f"{file.name}: a newer version of cogency-tui wrote it."]


async def test_a_bomb_is_refused_in_bounded_memory(
    machine: Connected, monkeypatch: pytest.MonkeyPatch
) -> None:
    bob = await machine("bob")
    monkeypatch.setattr(bundles, "_ALLOWED_CONTENT", 8 << 20)
    monkeypatch.setattr(bundles, "_LARGEST_RATIO", 1)
    monkeypatch.setattr(bundles, "LONGEST_LINE", 4 << 20)
    forged(bob.directory, ID, [HEAD, "", "x" * (5 << 20)])
    forged(bob.directory, "1" * 16, [HEAD.replace(ID, "1" * 16), *(["", '{"a": 1}' + " " * 10_000] * 1_000)])

    found = await bob.sync()

    assert any("a line of it is too long" in each for each in found.problems)
    assert any("too large" in each or "wrong form" in each for each in found.problems)
    monkeypatch.setattr(bundles, "LARGEST", 100)
    assert all("too large" in each for each in (await bob.sync()).problems)


BOMBS = {
    "\n": "an increment of it is empty",
    "{}\n": "it has too many lines",
    "{\n\n": "has the wrong form",
    " " * 1023 + "\n": "its content is too large",
}
"""What more than a gigabyte of something is refused for."""


@pytest.mark.parametrize("repeated", BOMBS)
async def test_a_bomb_is_refused_quickly(repeated: str, machine: Connected) -> None:
    bob = await machine("bob")
    head = f"{HEAD}\n\n{json.dumps({'conversation': {}})}\n"
    block = repeated.encode() * ((1 << 20) // len(repeated))
    packer = zlib.compressobj()
    pieces = [packer.compress(head.encode()), *(packer.compress(block) for _ in range(1_100)), packer.flush()]
    file = forged(bob.directory, ID, [])
    recipient = cast("Any", pyrage).x25519.Recipient.from_str(KEY.recipient)
    header = file.read_bytes().partition(b"\n")[0]
    file.write_bytes(header + b"\n" + cast("Any", pyrage).encrypt(b"".join(pieces), [recipient]))
    started = time.process_time()

    found = await bob.sync()

    assert time.process_time() - started < 20
    [problem] = found.problems
    assert problem.startswith(f"{file.name}: ")
    assert BOMBS[repeated] in problem


async def test_a_long_content_goes_in_several_bundles(
    machine: Connected, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, bob = await machine("ada"), await machine("bob")
    for _ in range(3):
        await ada.store.append((await begun(ada)).id, said("x" * 1_000))
    monkeypatch.setattr(bundles, "LONGEST_CONTENT", 1_000)

    assert (await ada.sync()).bundles == 3
    assert len((await bob.sync()).received) == 3


async def test_a_valid_part_behind_an_invalid_one_is_stored(machine: Connected) -> None:
    ada, bob = await machine("ada"), await machine("bob", "other")
    conversation = await begun(ada)
    await ada.store.append(conversation.id, said("one"))
    await ada.sync()
    head, *part = unsealed(ada.files()[0])
    forged(bob.directory, ada.files()[0].stem, [head, "", "{", "more", *part])

    found = await bob.sync()

    assert (len(found.problems), sum(found.received.values())) == (1, 1)
    await assert_equal(ada, bob, conversation.id)
    # It is not received whole.
    assert len((await bob.sync()).problems) == 1


async def test_numbers_that_come_again_with_another_content(machine: Connected) -> None:
    ada, bob = await machine("ada"), await machine("bob")
    conversation = await begun(ada)
    await ada.store.append(conversation.id, said("one"))
    await ada.sync()
    await bob.sync()
    head, *part = unsealed(ada.files()[0])
    again = json.loads(head) | {"bundle": ID}
    forged(bob.directory, ID, [json.dumps(again), *[line.replace('"one"', '"two"') for line in part]])

    found = await bob.sync()

    assert "1 of its events have other contents" in found.problems[0]
    assert await bob.store.events(conversation.id) == [said("one")]


async def test_a_bundle_in_the_name_of_its_reader_takes_nothing_from_it(machine: Connected) -> None:
    """Not even with a proof that stood in another bundle."""
    ada = await machine("ada")
    conversation = await begun(ada)
    await ada.store.append(conversation.id, said("one"))
    await ada.sync()
    head, *part = unsealed(ada.files()[0])
    again = json.loads(head) | {"bundle": ID}
    forged(ada.directory, ID, [json.dumps(again), *[line.replace('"one"', '"two"') for line in part]])

    found = await ada.sync()

    assert (found.copied, found.ceded, len(found.problems)) == (False, 0, 1)
    mine = await ada.store.conversation(conversation.id)
    assert mine is not None
    assert mine.source == ""
    assert await ada.store.events(conversation.id) == [said("one")]


# Everything at once.


async def _act(each: Machine, chance: random.Random, count: int) -> None:
    """Let a user do something on a machine."""
    mine = [one for one in await each.store.conversations(limit=50) if not one.source]
    kind = chance.choice(
        ["begin", "say", "say", "say", "full", "rename", "trash", "pin", "use", "fork", "sum"]
    )
    if kind == "begin" or not mine:
        one = await begun(each)
        await each.store.append(one.id, said(f"begun {count}", float(count)))
        return
    one = chance.choice(mine)
    numbers = [number for number, _ in await each.store.numbered_events(one.id)]
    if kind == "say":
        await each.store.append(one.id, said(f"said {count}", float(count)))
    elif kind == "full":
        await full(each.store, one, each.blobs)
    elif kind == "rename":
        await each.store.rename(one.id, f"title {count % 3}")
    elif kind == "trash":
        await Trash(each.store.database).move(one.id)
    elif kind == "pin":
        await Pins(each.store.database).set(one.id, chance.choice(numbers), pinned=chance.random() < 0.7)
    elif kind == "use":
        await each.store.record_usage(one.id, {"input": count, "output": 1})
    elif kind == "sum":
        await Summaries(each.store.database).add(one.id, chance.choice(numbers), f"sum {count}", "m")
    else:
        anyones = await each.store.conversations(limit=50)
        await Forks(each.store.database).fork(chance.choice(anyones).id)


async def _carry(there: Machine, here: Machine, chance: random.Random) -> None:
    """Let the carrier copy some files, some of them in halves or under other names."""
    for file in there.files():
        name = (
            file.name
            if chance.random() < 0.8
            else f"{file.stem[:16]}.sync-conflict-{chance.random()}{SUFFIX}"
        )
        data = file.read_bytes()
        if chance.random() < 0.2:
            data = data[: int(len(data) * chance.random())]
        target = here.directory / name
        if chance.random() < 0.6 and not (target.exists() and target.stat().st_size > len(data)):
            target.write_bytes(data)


async def assert_all_equal(machines: list[Machine]) -> None:
    counts = {await _all(each) for each in machines}
    assert len(counts) == 1
    for each in machines:
        assert (await each.store.database.read(verify)).is_whole
        for other in machines:
            if other is not each:
                for id in await each.store.database.read(increments.own_conversations):
                    await assert_same(each, other, id)


async def _all(each: Machine) -> int:
    sql = "SELECT count(*) FROM conversations"
    return (await each.store.database.read(lambda connection: connection.execute(sql).fetchone()))[0]


async def assert_same(there: Machine, here: Machine, id: str) -> None:
    ours, theirs = await there.store.conversation(id), await here.store.conversation(id)
    assert ours is not None
    assert theirs is not None
    assert await here.store.events(id) == await there.store.events(id)
    assert await here.store.usage(id) == await there.store.usage(id)
    assert _plain(theirs) == _plain(ours)
    for reader in (_summaries, _pins, _edits):
        assert await reader(here, id) == await reader(there, id)


def _plain(one: StoredConversation) -> StoredConversation:
    # The parent's events have other numbers there.
    return replace(one, imported=True, source="", original="", forked_at=one.forked_at and 1)


async def _summaries(each: Machine, id: str) -> object:
    return [one.text for one in await Summaries(each.store.database).all(id)]


async def _pins(each: Machine, id: str) -> object:
    return [part.event for part in await Pins(each.store.database).parts(id)]


async def _edits(each: Machine, id: str) -> object:
    found = await Edits(each.store.database).of_conversation(id)
    return [(one.path, one.kind, one.before, one.after, one.origin.caller, len(one.undoes)) for one in found]


@pytest.mark.parametrize("seed", sampled(range(60), 4))
@pytest.mark.parametrize("count", [2, 3])
async def test_machines_agree_after_whatever_happened(
    seed: int, count: int, machine: Connected, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(seed)
    monkeypatch.setattr(increments, "PART_ROWS", 4)
    monkeypatch.setattr(directory_sync, "BUNDLE_SIZE", 1_000)
    machines = [await machine(f"m{number}", f"d{number}") for number in range(count)]
    for step in range(40):
        each, other = chance.sample(machines, 2)
        for _ in range(chance.randrange(3)):
            await _act(each, chance, step)
        if chance.random() < 0.5:
            await each.sync()
        await _carry(each, other, chance)

    # In the end the carrier brings all to all.
    for _ in range(3):
        for each in machines:
            await each.sync()
        for each in machines:
            for other in machines:
                for file in each.files():
                    target = other.directory / file.name
                    if not target.exists() or target.stat().st_size < file.stat().st_size:
                        shutil.copy(file, target)
    for each in machines:
        assert (await each.sync()).waiting == 0
    await assert_all_equal(machines)

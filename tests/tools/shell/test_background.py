"""Commands that outlive their call: what is heard of them, and their end."""

import asyncio
import os
import random
import tracemalloc
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from cogency_tui.errors import ToolError
from cogency_tui.redaction import MARKER
from cogency_tui.tools.shell import background
from cogency_tui.tools.shell.background import Background
from tests.tools.survivors import MARK, none_survives, survivors, until

pytestmark = pytest.mark.timeout(60)


class Ground:
    """Background commands with a mark, none of which may be there after the test."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.mark = str(random.randrange(10**14, 10**15))
        self.all = Background(grace=0.2)

    async def start(
        self, text: str, within: Background | None = None, secrets: Mapping[str, str] | None = None
    ) -> str:
        environ = {**os.environ, MARK: self.mark}
        return await (within or self.all).start(text, self.directory, environ, (), secrets)

    async def read_until(self, id: str, wanted: str) -> str:
        text = ""

        def has_come() -> bool:
            nonlocal text
            text += self.all.read(id)
            return wanted in text

        await until(has_come)
        return text


@pytest.fixture
async def ground(tmp_path: Path) -> AsyncIterator[Ground]:
    ground = Ground(tmp_path)
    yield ground
    await ground.all.close()
    await none_survives(ground.mark)


async def test_it_runs_on_and_is_listed(ground: Ground) -> None:
    id = await ground.start("echo one; sleep 1000")
    await ground.read_until(id, "one")
    (process,) = ground.all.listed()
    assert (process.id, process.command, process.ended) == ("p1", "echo one; sleep 1000", None)
    assert process.described.startswith("running for ")


async def test_reading_gives_what_is_new(ground: Ground) -> None:
    id = await ground.start("echo one; while [ ! -e go ]; do sleep 0.01; done; echo two")
    assert await ground.read_until(id, "one") == "one\n"
    assert ground.all.read(id) == ""
    (ground.directory / "go").touch()
    assert await ground.read_until(id, "two") == "two\n"
    assert ground.all.output(id) == "one\ntwo\n"


async def test_character_that_is_cut_by_a_read_is_whole(ground: Ground) -> None:
    id = await ground.start(r"printf 'z\xc3'; while [ ! -e go ]; do sleep 0.01; done; printf '\xa9\xff'")
    assert await ground.read_until(id, "z") == "z"
    (ground.directory / "go").touch()
    await ground.all.settle(id, 10)
    assert ground.all.read(id) == "é\ufffd"


async def test_key_that_is_cut_by_a_read_is_not_shown(ground: Ground) -> None:
    key = "ghp_" + "aB3dE5gH7jK9mN1pQ2sT4vW6yZ8bC0dF2hJ4"
    id = await ground.start(
        f"printf 'is {key[:20]}'; while [ ! -e go ]; do sleep 0.01; done; printf '{key[20:]}\n'"
    )
    assert await ground.read_until(id, "is ") == "is "
    (ground.directory / "go").touch()
    await ground.all.settle(id, 10)
    assert ground.all.read(id) == f"{MARKER}\n"
    assert ground.all.output(id) == f"is {MARKER}\n"


async def test_end_is_told_and_the_output_can_still_be_read(ground: Ground) -> None:
    id = await ground.start("echo last words; exit 3")
    process = await ground.all.settle(id, 10)
    assert process.ended is not None
    assert process.described.startswith("exit 3 after ")
    assert ground.all.read(id) == "last words\n"
    assert ground.all.read(id) == ""


async def test_it_runs_as_long_as_anything_that_it_started(ground: Ground) -> None:
    id = await ground.start("setsid sh -c 'while [ ! -e go ]; do sleep 0.01; done; echo server' & echo shell")
    await ground.read_until(id, "shell")
    await asyncio.sleep(0.2)
    assert ground.all.get(id).ended is None
    (ground.directory / "go").touch()
    process = await ground.all.settle(id, 10)
    assert process.described.startswith("exit 0 after ")
    assert ground.all.read(id) == "server\n"


async def test_stopping_ends_the_whole_tree(ground: Ground) -> None:
    text = "trap '' TERM; (setsid sleep 1000 &); (trap '' TERM; while :; do sleep 1; done) & echo on; wait"
    id = await ground.start(text)
    await ground.read_until(id, "on")
    process = await ground.all.stop(id)
    assert process.described.startswith("stopped after ")
    assert not survivors(ground.mark)
    assert (await ground.all.stop(id)).described == process.described


async def test_a_shell_that_had_ended_before_the_stop_keeps_its_exit_status(ground: Ground) -> None:
    text = "(while kill -0 $$ 2>/dev/null; do sleep 0.01; done; echo alone; sleep 1000) & exit 3"
    id = await ground.start(text)
    await ground.read_until(id, "alone")
    assert (await ground.all.stop(id)).described.startswith("exit 3 after ")


async def test_a_signal_from_elsewhere_is_named(ground: Ground) -> None:
    id = await ground.start("kill -TERM $$")
    process = await ground.all.settle(id, 10)
    assert process.described.startswith("killed by SIGTERM after ")
    assert (await ground.all.stop(id)).described == process.described


async def test_command_may_end_itself_properly(ground: Ground) -> None:
    id = await ground.start("trap 'echo bye; exit 0' TERM; echo on; while :; do sleep 0.01; done")
    await ground.read_until(id, "on")
    assert (await ground.all.stop(id)).described.startswith("stopped after ")
    assert ground.all.read(id).endswith("bye\n")


@pytest.mark.exhaustive
async def test_output_is_kept_in_bounded_memory(ground: Ground) -> None:
    tracemalloc.start()
    try:
        id = await ground.start("echo begin; head -c 50M /dev/zero | tr '\\0' x; echo end")
        await ground.all.settle(id, 50)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 3_000_000
    for text in (ground.all.read(id), ground.all.output(id)):
        assert text.startswith("begin\nxxx")
        assert text.endswith("xxxend\n")
        assert "bytes of output were cut here" in text
        assert len(text) < 210_000


async def test_keys_are_not_in_its_output_even_across_reads(ground: Ground) -> None:
    text = "printf 'it is secret-'; while [ ! -e go ]; do sleep 0.01; done; echo value!"
    id = await ground.start(text, secrets={"KEY": "secret-value"})
    assert await ground.read_until(id, "it is ") == "it is "
    (ground.directory / "go").touch()
    await ground.all.settle(id, 10)
    assert ground.all.read(id) == "[KEY is not shown]!\n"
    assert ground.all.output(id) == "it is [KEY is not shown]!\n"


@pytest.fixture
def at_most_four(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "MOST", 4)


@pytest.mark.usefixtures("at_most_four")
async def test_there_is_a_most(ground: Ground) -> None:
    await asyncio.gather(*(ground.start("sleep 1000") for _ in range(4)))
    with pytest.raises(ToolError, match="4 background commands are already running"):
        await ground.start("sleep 1000")
    await ground.all.stop("p3")
    assert await ground.start("sleep 1000") == "p5"


@pytest.mark.exhaustive
@pytest.mark.usefixtures("at_most_four")
async def test_those_that_ended_long_ago_are_forgotten(ground: Ground) -> None:
    lasting = await ground.start("sleep 1000")
    for _ in range(6):
        await ground.all.settle(await ground.start("true"), 10)
    assert [process.id for process in ground.all.listed()] == [lasting, "p4", "p5", "p6", "p7"]


async def test_conversation_has_its_own(ground: Ground) -> None:
    ours, theirs = ground.all.of("ours"), ground.all.of("theirs")
    id = await ground.start("sleep 1000", ours)
    other = await ground.start("sleep 1000", theirs)
    assert [process.id for process in ours.listed()] == [id]
    with pytest.raises(ToolError, match=f'Unknown background command "{other}"') as raised:
        await ours.stop(other)
    assert raised.value.hint == f"Running or ended: {id}."
    assert [(process.id, process.owner) for process in ground.all.listed()] == [
        (id, "ours"),
        (other, "theirs"),
    ]
    await ours.close()
    assert [process.id for process in ground.all.listed()] == [other]


async def test_command_that_cannot_be_started_is_not_listed(ground: Ground) -> None:
    with pytest.raises(OSError, match="too long"):
        await ground.start("#" + "x" * 3_000_000)
    assert ground.all.listed() == []


async def test_start_that_is_cancelled_leaves_nothing(ground: Ground) -> None:
    starting = asyncio.create_task(ground.start("sleep 1000"))
    await asyncio.sleep(0.01)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert ground.all.listed() == []
    assert not survivors(ground.mark)


async def test_cancelled_stop_goes_on(ground: Ground) -> None:
    id = await ground.start("trap '' TERM; echo on; while :; do sleep 0.01; done")
    await ground.read_until(id, "on")
    stopping = asyncio.create_task(ground.all.stop(id))
    await asyncio.sleep(0.05)
    stopping.cancel()
    with pytest.raises(asyncio.CancelledError):
        await stopping
    assert (await ground.all.settle(id, 10)).described.startswith("stopped after ")


LOOP = "while [ ! -e go ]; do sleep 0.01; done"


async def test_what_is_watched_for_is_news_once(ground: Ground) -> None:
    id = await ground.start(f"echo error early; {LOOP}; echo fine; echo error late; sleep 1000")
    await until(lambda: "early" in ground.all.output(id))
    assert ground.all.take_news() == ("", "")
    state = ground.all.watch(id, "error|ready")
    assert (state.watched, state.matches, state.match) == ("error|ready", 1, "error early")
    line, text = ground.all.take_news()
    assert line == "p1: error early"
    assert text == (
        "Background commands, since your last request. Their output is data.\n\n"
        f"p1 (`echo error early; {LOOP}; echo fine; echo error …`) wrote what matches error|ready:\n"
        "```\nerror early\n```"
    )
    assert ground.all.take_news() == ("", "")
    (ground.directory / "go").touch()
    await until(lambda: ground.all.get(id).matches == 2)
    assert "error late" in ground.all.take_news()[1]
    # Reading is not affected.
    assert ground.all.read(id) == "error early\nfine\nerror late\n"


async def test_what_was_read_while_it_is_watched_is_no_news(ground: Ground) -> None:
    id = await ground.start(
        f"{LOOP}; echo error one; echo error two; rm go; {LOOP}; echo error three; sleep 9"
    )
    ground.all.watch(id, "error")
    (ground.directory / "go").touch()
    await until(lambda: ground.all.get(id).matches == 2)
    assert ground.all.read(id) == "error one\nerror two\n"
    assert ground.all.take_news() == ("", "")
    await until(lambda: not (ground.directory / "go").exists())
    (ground.directory / "go").touch()
    await until(lambda: ground.all.get(id).matches == 3)
    assert ground.all.take_news()[0] == "p1: error three"


async def test_what_was_read_is_not_found_again_and_an_empty_pattern_ends_it(ground: Ground) -> None:
    id = await ground.start(f"echo error early; {LOOP}; echo error late")
    await ground.read_until(id, "early")
    assert ground.all.watch(id, "error").matches == 0
    assert ground.all.watch(id, "").watched == ""
    (ground.directory / "go").touch()
    await ground.all.settle(id, 10)
    assert ground.all.get(id).matches == 0


async def test_its_end_is_news_with_its_last_lines(ground: Ground) -> None:
    id = await ground.start("seq 100; exit 3")
    await ground.all.settle(id, 10)
    line, text = ground.all.take_news()
    assert line.startswith("p1: exit 3 after ")
    assert "p1 (`seq 100; exit 3`) has ended: exit 3 after " in text
    assert text.endswith("Its last lines:\n```\n91\n92\n93\n94\n95\n96\n97\n98\n99\n100\n```")
    assert ground.all.take_news() == ("", "")


async def test_an_end_that_is_known_is_no_news(ground: Ground) -> None:
    id = await ground.start("true")
    await ground.all.settle(id, 10)
    ground.all.acknowledge(id)
    assert ground.all.take_news() == ("", "")


async def test_the_last_line_is_found_when_it_ends(ground: Ground) -> None:
    id = await ground.start(f"{LOOP}; printf 'error without end'")
    ground.all.watch(id, "error")
    (ground.directory / "go").touch()
    await ground.all.settle(id, 10)
    assert "matches error:\n```\nerror without end\n```" in ground.all.take_news()[1]


async def test_a_pattern_that_takes_too_long_is_reported(ground: Ground) -> None:
    id = await ground.start(f"{LOOP}; printf 'a%.0s' {{1..1999}}; echo !; sleep 1000")
    ground.all.watch(id, "(a+)+$")
    (ground.directory / "go").touch()
    news = ""

    def has_come() -> bool:
        nonlocal news
        news = news or ground.all.take_news()[0]
        return bool(news)

    await until(has_come)
    assert news == "p1: the pattern takes too long"
    assert ground.all.get(id).watched == ""


async def test_each_conversation_has_its_own_news(ground: Ground) -> None:
    one, two = ground.all.of("one"), ground.all.of("two")
    id = await ground.start("echo done", one)
    await one.settle(id, 10)
    assert two.take_news() == ("", "")
    assert "done" in one.take_news()[1]

"""`processes`: list, read and stop what shell started in the background."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from cogency_tui.errors import ToolError
from cogency_tui.tools.base import Touch
from cogency_tui.tools.registry import Registry
from cogency_tui.tools.shell import processes_tool
from cogency_tui.tools.shell.background import Background
from cogency_tui.tools.shell.processes_tool import Processes
from cogency_tui.tools.shell.shell_tool import Shell
from tests.tools.conftest import Bench
from tests.tools.survivors import until

pytestmark = pytest.mark.timeout(60)


@pytest.fixture
async def background() -> AsyncIterator[Background]:
    background = Background(grace=0.2)
    yield background
    await background.close()


@pytest.fixture
async def server(bench: Bench, background: Background) -> Bench:
    """A bench where `p1` runs, and writes more when there is a file `go`."""
    bench.registry = Registry([Shell(background=background), Processes(background)])
    text = "# a server\necho ready; while [ ! -e go ]; do sleep 0.01; done; echo more; sleep 1000"
    await bench.run("shell", command=text, background=True)
    return bench


async def test_nothing_is_listed_as_nothing(bench: Bench, background: Background) -> None:
    bench.registry = Registry([Processes(background)])
    outcome = await bench.run("processes")
    assert (outcome.outcome, outcome.content) == ("0 running, 0 ended", "(none)")


async def test_list_has_state_and_command(server: Bench) -> None:
    await server.run("shell", command="exit 2", background=True)
    outcome = await server.run("processes")
    while "p2  running" in outcome.content:
        await asyncio.sleep(0.01)
        outcome = await server.run("processes")
    first, second = outcome.content.split("\n")
    assert first.startswith("p1  running for ")
    assert first.endswith(" s  # a server …")
    assert second.startswith("p2  exit 2 after ")
    assert outcome.outcome == "1 running, 1 ended"
    assert (await server.run("processes", id="p2")).content.startswith("p2  exit 2")


async def test_read_gives_what_is_new_since_shell_or_the_last_read(server: Bench) -> None:
    state, output = (await server.run("processes", id="p1", action="read")).content.split("\n")
    assert state.startswith("running for ")
    assert output == "(nothing new)"
    (server.root / "go").touch()
    read = ""
    while "more" not in read:
        await asyncio.sleep(0.01)
        read += (await server.run("processes", id="p1", action="read")).content
    assert read.count("more") == 1
    assert "ready" not in read


async def test_stop_ends_it_and_gives_its_last_output(server: Bench, background: Background) -> None:
    (server.root / "go").touch()
    await until(lambda: background.output("p1") == "ready\nmore\n")
    outcome = await server.run("processes", id="p1", action="stop")
    assert outcome.outcome.startswith("p1: stopped after ")
    assert outcome.content.endswith("\nmore")
    again = await server.run("processes", id="p1", action="stop")
    assert again.outcome == outcome.outcome


@pytest.mark.parametrize("action", ["read", "stop"])
async def test_an_unknown_id_is_told(server: Bench, action: str) -> None:
    with pytest.raises(ToolError, match='Unknown background command "p9"') as raised:
        await server.run("processes", id="p9", action=action)
    assert raised.value.hint == "Running or ended: p1."


async def test_without_an_id_the_only_running_command_is_meant_but_not_stopped(server: Bench) -> None:
    assert (await server.run("processes", action="read")).outcome.startswith("p1: ")
    assert (await server.run("processes", action="wait", pattern="ready", seconds=1)).outcome.startswith(
        "p1: "
    )
    with pytest.raises(ToolError, match="which command is it to stop") as raised:
        await server.run("processes", action="stop")
    assert raised.value.hint == "Running: p1."


async def test_without_an_id_one_of_several_commands_is_not_guessed(server: Bench) -> None:
    await server.run("shell", command="sleep 60", background=True)
    with pytest.raises(ToolError, match="which command is it to watch") as raised:
        await server.run("processes", action="watch", pattern="x")
    assert raised.value.hint == "Running: p1, p2."


async def test_unknown_action_is_told(server: Bench) -> None:
    with pytest.raises(ToolError, match="action"):
        await server.run("processes", action="restart")


async def test_stopping_is_a_command_of_the_conversation_s_own(server: Bench) -> None:
    assert (await server.plan("processes")).effect == "read"
    assert (await server.plan("processes", id="p1", action="read")).effect == "read"
    intent = await server.plan("processes", id="p1", action="stop")
    assert (intent.effect, intent.summary, intent.own) == ("command", "Stop p1: # a server …", True)
    assert intent.detail.startswith("stop p1: # a server\necho ready")


@pytest.mark.parametrize("args", [{}, {"id": "p1", "action": "read"}, {"id": "p1", "action": "stop"}])
def test_it_stands_in_the_order_of_the_block_with_commands_and_with_a_stop(
    bench: Bench, background: Background, args: dict[str, str]
) -> None:
    bench.registry = Registry([Shell(background=background), Processes(background)])

    def touch(tool: str, **given: str) -> Touch:
        return bench.registry.bind(tool, given, bench.context).touch

    call = touch("processes", **args)
    assert call.conflicts(touch("shell", command="true"))
    assert call.conflicts(touch("processes", id="p1", action="stop"))
    assert call.conflicts(touch("processes")) is (args.get("action") == "stop")


async def test_watch_reports_matches_and_its_state(server: Bench, background: Background) -> None:
    outcome = await server.run("processes", id="p1", action="watch", pattern="more|error")
    assert outcome.outcome == "p1: watched"
    (server.root / "go").touch()
    await until(lambda: background.get("p1").matches)
    assert "more" in background.take_news()[1]
    assert (await server.run("processes", id="p1", action="watch")).outcome == "p1: no longer watched"
    with pytest.raises(ToolError, match="no regular expression"):
        await server.run("processes", id="p1", action="watch", pattern="(")


async def test_an_end_that_a_result_reports_is_not_reported_again(
    bench: Bench, background: Background
) -> None:
    bench.registry = Registry([Shell(background=background), Processes(background)])
    await bench.run("shell", command="exit 2", background=True)
    await background.settle("p1", 10)
    await bench.run("processes", id="p1", action="read")
    await bench.run("shell", command="sleep 1000", background=True)
    await bench.run("processes", id="p2", action="stop")
    assert background.take_news() == ("", "")


async def test_a_watch_needs_a_pattern_unless_it_ends_one(server: Bench) -> None:
    with pytest.raises(ToolError, match="p1 is not watched") as raised:
        await server.plan("processes", id="p1", action="watch")
    assert raised.value.hint == "Give a pattern: lines that match it are reported."
    await server.run("processes", id="p1", action="watch", pattern="more")
    ended = await server.run("processes", id="p1", action="watch")
    assert ended.outcome == "p1: no longer watched"


async def test_they_are_named_with_their_command_while_they_run(
    server: Bench, background: Background
) -> None:
    assert background.running() == ["p1 (`# a server…`)"]
    await background.stop("p1")
    assert background.running() == []


async def test_an_ended_command_cannot_be_watched(bench: Bench, background: Background) -> None:
    bench.registry = Registry([Shell(background=background), Processes(background)])
    await bench.run("shell", command="sleep 0.6; exit 7", background=True)
    await background.settle("p1", 10)
    with pytest.raises(ToolError, match="p1 has ended: exit 7 after "):
        await bench.run("processes", id="p1", action="watch", pattern="x")


async def test_the_model_is_told_that_the_user_has_stopped_it(server: Bench, background: Background) -> None:
    assert (await background.stop("p1", by_user=True)).how == "stopped by the user"
    assert "has ended: stopped by the user after " in background.take_news()[1]


async def test_of_a_flood_at_the_start_the_first_lines_are_returned_and_all_can_be_read(
    bench: Bench, background: Background
) -> None:
    bench.registry = Registry([Shell(background=background), Processes(background)])
    outcome = await bench.run("shell", command="seq -f 'line %g!' 1000; sleep 1000", background=True)
    _started, *first, rest = outcome.content.split("\n")
    assert first == [f"line {number}!" for number in range(1, 11)]
    assert rest.startswith("[990 more lines, ")
    assert rest.endswith(" characters: read them with processes]")
    read = await bench.run("processes", id="p1", action="read")
    assert read.content.endswith("\nline 999!\nline 1000!")
    await background.stop("p1")


async def test_a_wait_ends_with_the_next_match_which_is_not_reported_again(
    server: Bench, background: Background
) -> None:
    await server.run("processes", id="p1", action="watch", pattern="more")
    waiting = asyncio.create_task(server.run("processes", id="p1", action="wait"))
    (server.root / "go").touch()
    outcome = await waiting
    assert outcome.outcome == "p1: matched"
    assert outcome.content.startswith("running for ")
    assert outcome.content.endswith(" s; it wrote what matches more:\nmore")
    assert outcome.background == {"p1": True}
    assert background.take_news() == ("", "")


async def test_a_wait_ends_with_the_command_and_gives_its_output(
    bench: Bench, background: Background
) -> None:
    bench.registry = Registry([Shell(background=background), Processes(background)])
    script = "while [ ! -e go ]; do sleep 0.01; done; echo over; exit 3"
    await bench.run("shell", command=script, background=True)
    waiting = asyncio.create_task(bench.run("processes", id="p1", action="wait", seconds=600))
    (bench.root / "go").touch()
    outcome = await waiting
    assert outcome.outcome.startswith("p1: exit 3 after ")
    assert outcome.content.endswith("\nover")
    assert background.take_news() == ("", "")


async def test_a_wait_ends_after_its_seconds_and_the_command_goes_on(
    server: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome = await server.run("processes", id="p1", action="wait", timeout=1)
    assert outcome.outcome.startswith("p1: running for ")
    assert outcome.content.endswith("\n(nothing new)")
    monkeypatch.setattr(processes_tool, "_LONGEST_WAIT", 0)
    outcome = await server.run("processes", id="p1", action="wait", seconds=10_000)
    assert outcome.outcome.startswith("p1: running for ")
    assert (await server.plan("processes", id="p1", action="wait")).summary == "Wait for p1: # a server …"


async def test_what_a_stop_ends_is_no_advice_to_run_it_in_the_background(server: Bench) -> None:
    await server.run("shell", command="sleep 1000 & exec sleep 1001", background=True)
    outcome = await server.run("processes", id="p2", action="stop")
    assert "background=true" not in outcome.content


async def test_a_stop_gives_the_last_lines_of_much_output(server: Bench, background: Background) -> None:
    await server.run("shell", command="sleep 0.6; seq 1000; sleep 1000", background=True)
    await until(lambda: "1000\n" in background.output("p2"))
    outcome = await server.run("processes", id="p2", action="stop")
    _state, before, *last = outcome.content.split("\n")
    assert before == "[990 lines before: read them with processes]"
    assert last == [str(number) for number in range(991, 1001)]
    read = await server.run("processes", id="p2", action="read")
    assert read.content.split("\n")[1:3] == ["1", "2"]

"""How the tool calls pane looks in every state, as wide as it is on a wide and on a narrow screen."""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from cogency_tui.protocol.events import Event
from cogency_tui.tui.calls.list import CallList
from cogency_tui.tui.calls.pane import ToolCalls
from cogency_tui.tui.calls.rows import BackgroundCommand
from cogency_tui.tui.transcript.units import Transcript
from tests.tui.driving import app_over, calls_of, finished, send
from tests.tui.looks import check_looks, each_size
from tests.tui.scripted import (
    EPOCH,
    Inner,
    ScriptedAgent,
    call,
    output,
    respond,
    result,
    started,
    steps,
    user,
)
from tests.tui.stand import Stand

SIZES = ((50, 36), (38, 20))
DIFF = "--- a/src/app.py\n+++ b/src/app.py\n@@ -1 +1,2 @@\n-x = 1\n+y = 2\n+z = 3\n"
TESTS = (
    "\x1b[1mtests/test_cart.py\x1b[0m \x1b[32m........\x1b[0m\x1b[90m  61%\x1b[0m\n"
    "10%\r50%\r\x1b[31mFAILED\x1b[0m tests/test_checkout.py - \x1b[33mTimeout\x1b[0m \x1b[2J\x07漢字 🙂\n"
)


def action(id: str, tool: str, depends_on: list[str], **args: Any) -> Event:
    event = call(id, tool, **args)
    record = {"name": tool, "args": args, "id": id, "depends_on": depends_on, "output_key": f"{id}_out"}
    return {**event, "content": json.dumps(record)}  # pyright: ignore[reportReturnType]


STATES: list[Event] = [
    call("a", "read", file="src/checkout/retry.py"),
    result("a", "read", "Read 3 lines", "1\tx", duration=0.012),
    call("b", "edit", file="src/checkout/cart.py", old="a", new="b"),
    result("b", "edit", "old is not in src/checkout/cart.py.", None, error=True, duration=0.002),
    call("c", "shell", command="sleep 60"),
    result("c", "shell", "interrupted", None, state="interrupted", duration=4.1),
    call("d", "shell", command="pytest -x tests"),
    started("d", "shell"),
    output("d", "shell", TESTS),
    action("e", "shell", ["load", "build"], command="make ship"),
    action("f", "shell", ["x"], command="make"),
    result("f", "shell", 'Skipped: it depends on "x", which failed', None, state="skipped", duration=0.0),
    call("g", "edit", file="src/app.py", old="x\ny", new="z"),
    call("h", "edit", file="src/later.py", old="1", new="2"),
    call("i", "write", partial=True, file="src/new.py"),
    call("i", "", partial=True, content="def main():\n\treturn 1\n"),
]
COMMANDS = [
    BackgroundCommand("p1", "npm run dev", EPOCH - 200, 1.0, "running"),
    BackgroundCommand("p2", "make watch", EPOCH - 500, 61.0, "failed", "exit 2"),
]


def make() -> Callable[[], Stand]:
    def stand() -> Stand:
        return Stand(ToolCalls(clock=lambda: EPOCH + 12.3, id="calls"))

    return stand


def having(
    *events: Event, asked: str = "", keys: tuple[str, ...] = ()
) -> Callable[[Pilot[Any]], Awaitable[None]]:
    async def prepare(pilot: Pilot[Any]) -> None:
        transcript = Transcript()
        transcript.feed([user("go"), *events])
        if asked and (found := transcript.call_with(asked)):
            found[1].ask(EPOCH)
        pane = pilot.app.screen.query_one(ToolCalls)
        pane.show(transcript)
        pane.show_commands(COMMANDS if not events else (), lambda _id: "listening on \x1b[36m:3000\x1b[0m\n")
        pilot.app.screen.query_one(CallList).focus()
        await pilot.press(*keys)

    return prepare


async def test_nothing_yet() -> None:
    async def prepare(pilot: Pilot[Any]) -> None:
        pilot.app.screen.query_one(ToolCalls).show(Transcript())

    await check_looks("calls-empty", make(), prepare, sizes=SIZES)


@pytest.mark.parametrize("size", SIZES)
async def test_every_state_by_glyph_and_word(size: tuple[int, int]) -> None:
    await check_looks("calls-states", make(), having(*STATES, asked="g"), sizes=[size])


async def test_a_running_call_with_coloured_output() -> None:
    await check_looks("calls-running", make(), having(*STATES[:9]), sizes=SIZES)


async def test_a_failed_call_with_its_reason() -> None:
    await check_looks("calls-failed", make(), having(*STATES[:4]), sizes=SIZES)


async def test_a_skipped_call_with_its_cause() -> None:
    failed = [action("x", "shell", [], command="make"), result("x", "shell", "exit 1", None, error=True)]
    await check_looks("calls-skipped", make(), having(*failed, *STATES[10:12]), sizes=SIZES)


async def test_an_edit_with_its_diff() -> None:
    done = [call("a", "edit", file="src/app.py"), result("a", "edit", "Edited", DIFF, duration=0.004)]
    await check_looks("calls-edited", make(), having(*done), sizes=SIZES)


async def test_an_edit_that_waits_for_permission() -> None:
    await check_looks("calls-waiting", make(), having(STATES[12], asked="g"), sizes=SIZES)


async def test_a_sub_agent_at_work() -> None:
    reads: list[Inner] = [("read", f"src/f{number}.py", "done", "Read 3 lines") for number in range(7)]
    work = [
        call("a", "agent", name="reviewer"),
        started("a", "agent"),
        steps("a", "agent", *reads, ("shell", "make", "running", "")),
    ]
    await check_looks("calls-agent", make(), having(*work), sizes=SIZES)


async def test_a_sub_agent_that_is_done_and_opened() -> None:
    inner: list[Inner] = [
        ("read", "src/app.py", "done", "Read 3 lines"),
        ("shell", "make", "failed", "exit 2"),
    ]
    work = [call("a", "agent", name="reviewer"), started("a", "agent"), steps("a", "agent", *inner)]
    done = result("a", "agent", "answered after 2 calls", "Looks good.", duration=31.0)
    await check_looks("calls-agent-done", make(), having(*work, done, keys=("space",)), sizes=SIZES)


@pytest.mark.exhaustive
async def test_filtered_by_words_and_failures() -> None:
    keys = ("F", "slash", "e", "d", "enter")
    await check_looks("calls-filtered", make(), having(*STATES, keys=keys), sizes=SIZES)


async def test_a_filter_being_written_that_nothing_fits() -> None:
    keys = ("slash", "q", "q")
    await check_looks("calls-filtering", make(), having(*STATES, keys=keys), sizes=SIZES)


async def test_commands_in_the_background() -> None:
    await check_looks("calls-background", make(), having(keys=("home",)), sizes=SIZES)


@pytest.mark.exhaustive
@each_size
async def test_the_whole_screen_with_calls(project: Path, width: int, height: int) -> None:
    script = [respond("I look at it.", "r1"), *STATES[:6], respond("Done.", "r2")]

    async def turn(pilot: Pilot[Any]) -> None:
        await send(pilot, "fix it")
        await finished(pilot)
        if width < 110:
            await pilot.press("f4")
        calls_of(pilot).focus()

    agent = ScriptedAgent(project, script)
    await check_looks("main-calls", lambda: app_over(agent), turn, sizes=[(width, height)])

"""The detail of the selected call: its head stays, and it stands where it matters."""

from pathlib import Path
from typing import Any

import pytest

from cogency_tui.protocol.events import Event
from tests.tui.driving import (
    app_over,
    calls_of,
    conversation_of,
    detail_of,
    head_of,
    main_of,
    send,
    shown,
    until,
)
from tests.tui.scripted import ScriptedAgent, call, output, paused, result, started

LINES = "".join(f"line {number}\n" for number in range(200))


def ended(id: str, name: str, outcome: str, content: str, **options: Any) -> list[Event]:
    return [call(id, name, file="a.py"), result(id, name, outcome, content, **options)]


@pytest.mark.parametrize("size", [(160, 40), (120, 24)])
async def test_the_head_stays_while_the_detail_scrolls(project: Path, size: tuple[int, int]) -> None:
    agent = ScriptedAgent(project, [*ended("a", "mine", "done", LINES, duration=0.04)])
    async with app_over(agent).run_test(size=size) as pilot:
        await send(pilot, "go")
        await until(pilot, lambda: "mine" in shown(conversation_of(pilot)))
        if not calls_of(pilot).is_on_screen:
            await pilot.press("f4")
        await until(pilot, lambda: "line 0" in shown(detail_of(pilot)))
        assert "mine  ✓ done 40 ms" in head_of(pilot)
        detail_of(pilot).focus()
        await pilot.press("end")
        assert "line 199" in shown(detail_of(pilot))
        assert "mine  ✓ done 40 ms" in head_of(pilot)


async def test_the_keys_of_the_list_are_shown_only_where_they_work(project: Path) -> None:
    agent = ScriptedAgent(project, [*ended("a", "mine", "done", LINES)])
    async with app_over(agent).run_test(size=(160, 40)) as pilot:
        await send(pilot, "go")
        await until(pilot, lambda: "mine" in shown(calls_of(pilot)))
        hints = main_of(pilot).query_one("#calls-hints")
        calls_of(pilot).focus()
        await until(pilot, lambda: "y copy" in shown(hints))
        detail_of(pilot).focus()
        await until(pilot, lambda: not shown(hints).strip())


@pytest.mark.parametrize("size", [(160, 40), (80, 24), (60, 16)])
async def test_the_command_stays_while_its_output_scrolls(project: Path, size: tuple[int, int]) -> None:
    command = "python -m pytest -x tests/checkout --maxfail=1 --tb=short --no-header\necho done"
    done = result("a", "shell", "exit 0 after 3.0 s", f"exit 0\n{LINES}", duration=3.0)
    agent = ScriptedAgent(project, [call("a", "shell", command=command), done])
    async with app_over(agent).run_test(size=size) as pilot:
        await send(pilot, "go")
        await until(pilot, lambda: "$ python" in shown(conversation_of(pilot)))
        if not calls_of(pilot).is_on_screen:
            await pilot.press("f4")
        await until(pilot, lambda: "echo done" in shown(detail_of(pilot)))
        detail_of(pilot).focus()
        await pilot.press("end")
        assert "line 199" in shown(detail_of(pilot))
        title, line = head_of(pilot).split("\n")
        assert "shell  ✓ done 3.0 s" in title
        assert line.startswith("  $ python -m pytest")
        assert line.endswith("…")


@pytest.mark.parametrize(("size", "tail"), [((160, 40), 3), ((100, 30), 5), ((60, 16), 5)])
async def test_the_card_of_a_running_command_has_the_end_of_its_output(
    project: Path, size: tuple[int, int], tail: int
) -> None:
    running = [call("a", "shell", command="make"), started("a", "shell"), output("a", "shell", LINES), paused]
    async with app_over(ScriptedAgent(project, running)).run_test(size=size) as pilot:
        await send(pilot, "go")
        await until(pilot, lambda: "line 199" in shown(conversation_of(pilot)))
        lines = [line.strip() for line in shown(conversation_of(pilot)).split("\n") if "line " in line]
        assert lines == [f"line {number}" for number in range(200 - tail, 200)]


async def test_a_command_that_has_room_in_the_head_is_not_repeated(project: Path) -> None:
    done = result("a", "shell", "exit 0 after 3.0 s", f"exit 0\n{LINES}", duration=3.0)
    agent = ScriptedAgent(project, [call("a", "shell", command="make"), done])
    async with app_over(agent).run_test(size=(160, 40)) as pilot:
        await send(pilot, "go")
        await until(pilot, lambda: "line 0" in shown(detail_of(pilot)))
        assert head_of(pilot).split("\n")[1] == "  $ make"
        assert "make" not in shown(detail_of(pilot))


async def test_a_call_that_ended_is_shown_from_its_beginning_and_a_failed_command_from_its_end(
    project: Path,
) -> None:
    agent = ScriptedAgent(
        project,
        [
            *ended("a", "shell", "exit 0 after 1.0 s", f"exit 0\n{LINES}"),
            *ended("b", "shell", "exit 1 after 1.0 s", f"exit 1\n{LINES}Error: no", error=True),
            *ended("c", "mine", "done", LINES),
        ],
    )
    async with app_over(agent).run_test(size=(160, 40)) as pilot:
        await send(pilot, "go")
        await until(pilot, lambda: "mine" in head_of(pilot))
        assert "line 0" in shown(detail_of(pilot))
        calls_of(pilot).focus()
        await pilot.press("up")
        await until(pilot, lambda: "Error: no" in shown(detail_of(pilot)))
        assert "exit 1" in head_of(pilot)
        await pilot.press("up")
        await until(pilot, lambda: "line 0" in shown(detail_of(pilot)))
        assert detail_of(pilot).scroll_offset.y == 0


async def test_who_followed_a_command_sees_its_last_line_when_it_ends(project: Path) -> None:
    agent = ScriptedAgent(
        project,
        [
            call("a", "shell", command="make"),
            started("a", "shell"),
            output("a", "shell", LINES),
            paused,
            result("a", "shell", "exit 0 after 3.0 s", f"exit 0\n{LINES}the end"),
        ],
    )
    async with app_over(agent).run_test(size=(160, 40)) as pilot:
        await send(pilot, "go")
        await until(pilot, lambda: "line 199" in shown(detail_of(pilot)))
        agent.gate.set()
        await until(pilot, lambda: "done" in head_of(pilot))
        await until(pilot, lambda: "the end" in shown(detail_of(pilot)))


async def test_the_diff_of_an_edit_that_was_seen_being_written_is_shown_from_its_beginning(
    project: Path,
) -> None:
    lines = "".join(f"+line {number}\n" for number in range(200))
    agent = ScriptedAgent(
        project,
        [
            call("a", "write", partial=True, file="a.py"),
            call("a", "", partial=True, content=LINES),
            paused,
            call("a", "write", file="a.py", content=LINES),
            result("a", "write", "Created a.py", f"--- /dev/null\n+++ b/a.py\n@@ -0,0 +1,200 @@\n{lines}"),
        ],
    )
    async with app_over(agent).run_test(size=(160, 40)) as pilot:
        await send(pilot, "go")
        await until(pilot, lambda: "line 199" in shown(detail_of(pilot)))
        agent.gate.set()
        await until(pilot, lambda: "done" in head_of(pilot))
        await until(pilot, lambda: "1 + line 0" in shown(detail_of(pilot)))
        assert detail_of(pilot).scroll_offset.y == 0

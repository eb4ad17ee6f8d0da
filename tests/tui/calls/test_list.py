"""The tool calls pane, key by key and with the mouse."""

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from cogency_tui.protocol.events import Event
from cogency_tui.tui.calls.pane import ToolCalls
from cogency_tui.tui.kit.filter_line import Chips, FilterLine, FilterText
from tests.tui.driving import (
    app_over,
    calls_of,
    conversation_of,
    detail_of,
    finished,
    head_of,
    main_of,
    send,
    shown,
    until,
)
from tests.tui.scripted import ScriptedAgent, call, output, paused, respond, result, started, steps

LINES = "".join(f"line {number}\n" for number in range(200))

SCRIPT: list[Any] = [
    respond("I look.\n\n" + "word " * 1000, "r1"),
    call("a", "read", file="src/app.py"),
    result("a", "read", "Read 3 lines", "x = 1"),
    respond("Then I edit.\n\n" + "word " * 1000, "r2"),
    call("b", "edit", file="src/cart.py"),
    result("b", "edit", "old is not there", None, error=True),
    call("c", "agent", name="reviewer"),
    started("c", "agent"),
    steps("c", "agent", ("read", "a", "done", "Read"), ("shell", "pytest", "failed", "exit 1")),
    result("c", "agent", "answered", "fine"),
    call("d", "shell", command="make"),
    result("d", "shell", "exit 0 after 1.0 s", "exit 0\n" + LINES),
]


async def play(pilot: Pilot[Any]) -> None:
    await send(pilot, "go")
    await finished(pilot)
    calls_of(pilot).focus()


def rows(pilot: Pilot[Any]) -> list[str]:
    return [row.strip() for row in shown(calls_of(pilot)).splitlines() if row.strip()]


def filter_of(pilot: Pilot[Any]) -> FilterLine:
    return main_of(pilot).query_one("#calls-filter", FilterLine)


@pytest.mark.exhaustive
async def test_keys_and_clicks_open_and_close_what_is_within(project: Path) -> None:
    async with app_over(ScriptedAgent(project, SCRIPT)).run_test(size=(160, 40)) as pilot:
        await play(pilot)
        assert len(rows(pilot)) == 4
        await pilot.press("up", "space")
        assert [row.split()[0] for row in rows(pilot)[2:5]] == ["✓", "✓", "✗"]
        await pilot.press("left")
        assert len(rows(pilot)) == 4
        await pilot.press("right")
        assert len(rows(pilot)) == 6
        await pilot.press("down")
        assert "make" in head_of(pilot)

        await pilot.click(calls_of(pilot), offset=(12, 2))
        assert len(rows(pilot)) == 4
        await pilot.click(calls_of(pilot), offset=(12, 2))
        assert len(rows(pilot)) == 6
        await pilot.click(calls_of(pilot), offset=(12, 2))
        assert len(rows(pilot)) == 4

        # Failures only, and all again.
        await pilot.press("F")
        assert [row.split()[1] for row in rows(pilot)] == ["edit"]
        assert "failures ✕" in shown(filter_of(pilot).query_one(Chips))
        await pilot.press("F")
        assert len(rows(pilot)) == 4

        # What a call brought is copied, and its detail scrolls by page keys and on its own.
        await pilot.press("home", "y")
        await until(pilot, lambda: pilot.app.clipboard == "x = 1")
        await pilot.press("end")
        detail = detail_of(pilot)
        assert "line 0" in shown(detail)
        await pilot.press("pagedown")
        assert "line 0" not in shown(detail).split("\n")[0]
        await pilot.press("pageup")
        assert detail.scroll_offset.y == 0
        detail.focus()
        await pilot.press("end")
        assert "line 199" in shown(detail)
        await pilot.press("up", "pageup", "down", "home")
        assert detail.scroll_offset.y == 0


@pytest.mark.exhaustive
async def test_one_goes_to_the_place_in_the_conversation_and_back(project: Path) -> None:
    async with app_over(ScriptedAgent(project, SCRIPT)).run_test(size=(160, 40)) as pilot:
        await play(pilot)
        await pilot.press("home")
        assert "src/app.py" not in shown(conversation_of(pilot))
        await pilot.press("enter")
        await until(pilot, lambda: "src/app.py" in shown(conversation_of(pilot)))
        assert conversation_of(pilot).has_focus

        calls = calls_of(pilot)
        calls.select(calls.place_of(calls.calls.transcript.calls[-1]) or 0)
        await pilot.press("c")
        assert calls_of(pilot).has_focus
        assert "read  ✓ done" in head_of(pilot)
        await pilot.press("end", "c")
        await until(pilot, lambda: "make" in shown(conversation_of(pilot)))
        assert "src/app.py" not in shown(conversation_of(pilot))

        await pilot.click(calls_of(pilot), offset=(25, 0), times=2)
        await until(pilot, lambda: "src/app.py" in shown(conversation_of(pilot)))
        assert conversation_of(pilot).has_focus

        # On a narrow screen the conversation is brought back in the place of the calls.
        await pilot.resize_terminal(60, 16)
        await until(pilot, lambda: main_of(pilot).size.width == 60)
        if not main_of(pilot).query_one(ToolCalls).display:
            await pilot.press("f4")
        calls_of(pilot).focus()
        await pilot.press("home", "enter")
        await until(pilot, lambda: conversation_of(pilot).has_focus)
        assert not main_of(pilot).query_one(ToolCalls).display
        await pilot.press("c")
        assert main_of(pilot).query_one(ToolCalls).display


async def test_slash_filters_as_one_types_and_chip_and_escape_take_it_away(project: Path) -> None:
    async with app_over(ScriptedAgent(project, SCRIPT)).run_test(size=(160, 40)) as pilot:
        await play(pilot)
        await pilot.press("slash", "s", "r", "enter", "slash", "c")
        assert filter_of(pilot).query_one(FilterText).value == "src", "one writes on where one left"
        assert [row.split()[1] for row in rows(pilot)] == ["read", "edit"]
        assert "2 of 4" in shown(main_of(pilot).query_one("#calls-title"))
        await pilot.press("up")
        await pilot.press("enter")
        assert calls_of(pilot).has_focus
        assert "read  ✓" in head_of(pilot)
        chips = filter_of(pilot).query_one(Chips)
        assert "src ✕" in shown(chips)
        await pilot.click(chips, offset=(3, 0))
        await until(pilot, lambda: len(rows(pilot)) == 4)
        assert not filter_of(pilot).display

        await pilot.press("slash", "q")
        assert "No matching calls." in shown(calls_of(pilot))
        await pilot.press("escape")
        assert len(rows(pilot)) == 4
        assert calls_of(pilot).has_focus


@pytest.mark.exhaustive
async def test_a_running_call_is_followed_until_one_scrolls_away(project: Path) -> None:
    script: list[Any] = [
        call("a", "shell", command="make"),
        started("a", "shell"),
        output("a", "shell", LINES),
        paused,
    ]
    more = [output("a", "shell", "the next\n"), paused]
    agent = ScriptedAgent(project, [*script, *more])
    async with app_over(agent).run_test(size=(160, 40)) as pilot:
        await send(pilot, "go")
        detail = detail_of(pilot)
        await until(pilot, lambda: "line 199" in shown(detail))
        detail.focus()
        await pilot.press("home")
        agent.gate.set()
        await until(pilot, lambda: "the next" in shown(conversation_of(pilot)))
        assert detail.scroll_offset.y == 0
        await pilot.press("end")
        assert "the next" in shown(detail)


@pytest.mark.exhaustive
async def test_a_call_names_what_it_waits_for(project: Path) -> None:
    def action(id: str, **more: Any) -> Event:
        import json

        event = call(id, "shell", command=id)
        event["content"] = json.dumps({"name": "shell", "args": {"command": id}, "id": id, **more})  # pyright: ignore[reportGeneralTypeIssues]
        return event

    script: list[Any] = [
        action("load"),
        started("load", "shell"),
        action("build", depends_on=["load"]),
        action("ship", depends_on=["load", "build"]),
        paused,
        result("load", "shell", "exit 1", None, error=True),
        result("build", "shell", 'Skipped: it depends on "load", which failed', None, state="skipped"),
    ]
    agent = ScriptedAgent(project, script)
    async with app_over(agent).run_test(size=(180, 40)) as pilot:
        await send(pilot, "go")
        await until(pilot, lambda: "waiting for load, build" in shown(calls_of(pilot)))
        agent.gate.set()
        await until(pilot, lambda: "load failed" in shown(calls_of(pilot)))
        assert "⊘" in rows(pilot)[1]

"""Commands in the background: listed with their time, read while they run, stopped when one says so twice."""

import os
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from cogency_tui.tools.shell.background import Background
from cogency_tui.tui.bridge import Bridge
from cogency_tui.tui.calls.list import CallList
from cogency_tui.tui.kit.dialogs import Confirmation, QuestionBody
from cogency_tui.tui.status.status_bar import StatusBar
from cogency_tui.tui.switcher.screen import SwitcherScreen
from tests.tui.driving import (
    app_over,
    calls_of,
    detail_of,
    finished,
    head_of,
    main_of,
    prompt_of,
    seen,
    send,
    shown,
    status_of,
    told,
    until,
)
from tests.tui.scripted import ScriptedAgent, call, result

pytestmark = pytest.mark.exhaustive

SCRIPT = [
    call("a", "shell", command="serve", background=True),
    result("a", "shell", "p1 runs in the background"),
]


async def begin(pilot: Pilot[Any], background: Background, project: Path, command: str) -> None:
    await background.start(command, project, dict(os.environ))
    prompt_of(pilot).focus()
    await send(pilot, "go")
    await finished(pilot)
    await until(pilot, lambda: "Background processes" in shown(calls_of(pilot)))
    calls_of(pilot).focus()
    await pilot.press("end")


def ticking(pilot: Pilot[Any]) -> bool:
    """Whether the commands are looked at again and again."""
    timers: Any = main_of(pilot)._timers  # pyright: ignore[reportPrivateUsage]
    return any(timer.name == "background" for timer in timers)


async def test_what_it_writes_is_read_until_it_ends_or_x_stops_it_after_a_question(project: Path) -> None:
    agent = ScriptedAgent(project, SCRIPT)
    agent.background = background = Background(grace=0.5)
    async with app_over(agent).run_test(size=(160, 40), notifications=True) as pilot:
        command = "printf '\\033[32mready\\033[0m\\n'; until [ -e go ]; do sleep 0.05; done; echo went"
        await begin(pilot, background, project, command)
        await until(pilot, lambda: "ready" in shown(detail_of(pilot)))
        assert "background  running" in head_of(pilot)
        assert ticking(pilot)
        (project / "go").touch()
        await background.settle("p1", 10)
        await until(pilot, lambda: "went" in shown(detail_of(pilot)))
        await until(pilot, lambda: shown(calls_of(pilot)).count("✓") == 2)
        await until(pilot, lambda: not ticking(pilot))

        await begin(pilot, background, project, "sleep 60")
        await until(pilot, lambda: "sleep 60" in head_of(pilot))
        await pilot.press("x")
        await until(pilot, lambda: isinstance(pilot.app.screen, Confirmation))
        await pilot.press("n")
        assert background.get("p2").ended is None

        await pilot.press("x")
        await until(pilot, lambda: isinstance(pilot.app.screen, Confirmation))
        await pilot.press("y")
        await until(pilot, lambda: background.get("p2").ended is not None)
        await until(pilot, lambda: "p2: stopped by you after" in told(pilot))
        await until(pilot, lambda: "stopped by you" in shown(calls_of(pilot)))
        assert "failed" not in shown(calls_of(pilot))


LOOP = "until [ -e go ]; do sleep 0.02; done"


async def test_what_is_watched_for_and_the_end_are_notices(project: Path) -> None:
    agent = ScriptedAgent(project, SCRIPT)
    agent.background = background = Background(grace=0.5)
    async with app_over(agent).run_test(size=(160, 40), notifications=True) as pilot:
        await send(pilot, "go")
        await finished(pilot)
        own = background.of(main_of(pilot).bridge.conversation_id or "")
        command = (
            f"{LOOP}; for i in 1 2 3; do echo error $i; done; until [ -e stop ]; do sleep 0.02; done; exit 4"
        )
        await begin(pilot, own, project, command)
        own.watch("p1", "error|ready")
        await until(pilot, lambda: "watching error|ready" in shown(detail_of(pilot)))
        assert "error 1" not in told(pilot)
        await until(pilot, lambda: "  watching " in shown(calls_of(pilot)))
        (project / "go").touch()
        await until(pilot, lambda: "p1: error 1" in told(pilot))
        assert "p1 $ until" in shown(calls_of(pilot))
        await until(pilot, lambda: "watching error|ready · 3 matches" in shown(detail_of(pilot)))
        await until(pilot, lambda: "  3 matches " in shown(calls_of(pilot)))
        (project / "stop").touch()
        await until(pilot, lambda: "p1 has ended: exit 4 after" in told(pilot))


async def test_a_command_of_another_conversation_is_no_notice(project: Path) -> None:
    agent = ScriptedAgent(project, SCRIPT)
    agent.background = background = Background(grace=0.5)
    async with app_over(agent).run_test(size=(160, 40), notifications=True) as pilot:
        await begin(pilot, background.of("another"), project, f"{LOOP}; echo error")
        background.watch("p1", "error")
        (project / "go").touch()
        await background.settle("p1", 10)
        await until(pilot, lambda: not ticking(pilot))
        assert "p1" not in told(pilot)


async def test_a_conversation_whose_command_runs_stays_open_and_keeps_it(project: Path) -> None:
    agent = ScriptedAgent(project, SCRIPT)
    agent.background = background = Background(grace=0.5)
    async with app_over(agent).run_test(size=(160, 40), notifications=True) as pilot:
        await send(pilot, "serve it")
        await finished(pilot)
        first = main_of(pilot)
        own = background.of(first.bridge.conversation_id or "")
        await own.start("sleep 60", project, dict(os.environ))
        first.post_message(Bridge.TurnChanged())
        await until(pilot, lambda: "1 background" in shown(status_of(pilot)))

        await pilot.press("ctrl+n")
        await until(pilot, lambda: pilot.app.screen is not first and pilot.app.screen.query(CallList))
        second: Any = pilot.app.screen
        await until(pilot, lambda: second.is_complete)
        assert "background" not in shown(second.query_one(StatusBar))
        await send(pilot, "/background")
        await until(pilot, lambda: "Background processes: serve it" in seen(pilot))
        await until(pilot, lambda: "p1 $ sleep 60" in seen(pilot))
        await pilot.press("f9")
        await until(pilot, lambda: isinstance(pilot.app.screen, SwitcherScreen))
        await until(pilot, lambda: "▸ 1 background" in seen(pilot))
        await pilot.press("escape")
        await background.close()
        second.post_message(Bridge.TurnChanged())
        await until(pilot, lambda: "Background processes" not in seen(pilot))


async def test_without_any_the_command_says_so(project: Path) -> None:
    agent = ScriptedAgent(project, SCRIPT)
    async with app_over(agent).run_test(size=(160, 40), notifications=True) as pilot:
        await send(pilot, "/processes")
        await until(pilot, lambda: "No background processes." in told(pilot))


async def test_the_bar_counts_them_and_leads_to_them_and_quitting_asks(project: Path) -> None:
    agent = ScriptedAgent(project, SCRIPT)
    agent.background = background = Background(grace=0.5)
    async with app_over(agent).run_test(size=(100, 30), notifications=True) as pilot:
        await send(pilot, "go")
        await finished(pilot)
        own = background.of(main_of(pilot).bridge.conversation_id or "")
        for _ in range(2):
            await own.start("sleep 60", project, dict(os.environ))
        await send(pilot, "go")
        await until(pilot, lambda: "2 background" in shown(status_of(pilot)))
        await finished(pilot)
        at = shown(status_of(pilot)).index("2 background")
        await pilot.click(status_of(pilot), offset=(at, 0))
        await until(pilot, lambda: calls_of(pilot).has_focus)
        await until(pilot, lambda: "p2 $ sleep 60" in seen(pilot))
        assert "background  running" in head_of(pilot)

        await pilot.press("ctrl+q")
        await until(pilot, lambda: isinstance(pilot.app.screen, Confirmation))
        question = shown(pilot.app.screen.query_one(QuestionBody))
        assert "2 background commands are running:" in question
        assert "p1  sleep 60" in question
        assert "Stop them and quit?" in question
        await pilot.press("n")
        await background.close()
        main_of(pilot).post_message(Bridge.TurnChanged())
        await until(pilot, lambda: "background" not in shown(status_of(pilot)))

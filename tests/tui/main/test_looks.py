"""The main screen as a whole, before anything was asked and after a turn."""

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from cogency_tui.tui.main.screen import MainScreen
from tests.tui.driving import app_over, finished, send
from tests.tui.looks import check_looks
from tests.tui.scripted import ScriptedAgent, call, respond, result


async def test_before_anything_was_asked(project: Path) -> None:
    async def nothing(pilot: Pilot[Any]) -> None:
        assert isinstance(pilot.app.screen, MainScreen)

    await check_looks("main-empty", lambda: app_over(ScriptedAgent(project)), nothing)


@pytest.mark.exhaustive
async def test_after_a_turn(project: Path) -> None:
    script = [
        respond("I look at it.", "r1"),
        call("c1", "read", path="src/app.py"),
        result("c1", "read", content="x = 1"),
        respond("It sets `x` to **1**.\n\n```python\nx = 1\n```", "r2"),
    ]

    async def turn(pilot: Pilot[Any]) -> None:
        await send(pilot, "what does src/app.py do?")
        await finished(pilot)

    await check_looks("main-turn", lambda: app_over(ScriptedAgent(project, script)), turn)

"""The line at the bottom: every figure with its meaning, estimates marked, the right end given up first."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from textual.pilot import Pilot

from cogency_tui.protocol.events import Measure
from tests.tui.driving import app_over, finished, main_of, send, shown, status_of, until
from tests.tui.scripted import ScriptedAgent, metric

STEP: Measure = {
    "output": 400,
    "writing": 10.0,
    "ttft": 0.6,
    "mode": "replay",
    "reason": "auto: no sessions",
    "context": 46_000,
}
TOTAL: Measure = {"input": 12_400, "output": 1_800, "cached": 9_100, "cost": 0.04, "replay_input": 75_600}


Bar: TypeAlias = Callable[[Measure, Measure, int], Awaitable[str]]


@asynccontextmanager
async def bars(project: Path) -> AsyncGenerator[Bar]:
    """What the bar shows after a turn with such figures, in a window of such a width."""
    script: list[Any] = []
    async with app_over(ScriptedAgent(project, script)).run_test(size=(160, 16)) as pilot:

        async def bar(step: Measure, total: Measure, width: int) -> str:
            script[:] = [metric(step, total)]
            if pilot.app.size.width != width:
                await pilot.resize_terminal(width, 16)
                await until(pilot, lambda: main_of(pilot).size.width == width)
            await send(pilot, "go")
            await finished(pilot)
            await pilot.pause()
            return shown(status_of(pilot)).strip()

        yield bar


async def tooltip(pilot: Pilot[Any], part: str) -> str:
    """What is said where the mouse rests on `part`."""
    await pilot.hover(status_of(pilot), offset=(shown(status_of(pilot)).index(part), 0))
    return str(status_of(pilot).tooltip)


async def test_it_says_what_a_turn_took_and_a_narrow_one_gives_up_its_right_end(project: Path) -> None:
    async with bars(project) as bar:
        assert await bar(STEP, TOTAL, 160) == (
            "auto→replay    openai/gpt-5.6-sol · ask   ↑ 12.4k ↓ 1.8k   cached 9.1k   40 tok/s · 600 ms   $0.04"
            "   ~6.1× less than replay   context ▓▓░░░░░░ 23%"
        )
        narrow = await bar(STEP, TOTAL, 60)
        assert narrow == "auto→replay    openai/gpt-5.6-sol · ask   ↑ 12.4k ↓ 1.8k"


@pytest.mark.exhaustive
async def test_the_mode_has_its_reason_where_there_is_room_and_no_arrow_if_it_was_chosen(
    project: Path,
) -> None:
    step: Measure = {**STEP, "reason": "auto: no session (openai limits the rate: please wait)"}
    async with bars(project) as bar:
        for width, said in (
            (210, "auto→replay  no session (openai limits the rate: ple…   openai/"),
            (170, "auto→replay  no session (openai …   openai/"),
            (160, "auto→replay    openai/"),
        ):
            assert (await bar(step, TOTAL, width)).startswith(said)
        assert (await bar({**STEP, "reason": "chosen"}, TOTAL, 160)).startswith("auto    openai/")


@pytest.mark.exhaustive
async def test_only_what_is_known_is_shown_and_estimates_are_marked(project: Path) -> None:
    billed: Measure = {**TOTAL, "billed_input": 75_600}
    async with bars(project) as bar:
        line = await bar({"output": 5}, {"input": 12, "output": 5}, 160)
        assert line == "auto    openai/gpt-5.6-sol · ask · no sandbox   ↑ 12 ↓ 5"

        # What is billed is shown where it is not what was sent.
        assert "↑ 12.4k ↓ 1.8k   billed 75.6k   cached" in await bar(STEP, billed, 200)
        assert "billed" not in await bar(STEP, {**TOTAL, "billed_input": 12_400}, 200)
        narrow = await bar(STEP, billed, 160)
        assert "billed" not in narrow
        assert narrow.endswith("23%"), "it gives way to the others"

        line = await bar({**STEP, "estimated": True}, {**TOTAL, "billed_input": 1}, 200)
        parts = [part.strip() for part in line.split("   ") if part.strip()]
        estimates = ["↑ ~12.4k ↓ ~1.8k", "billed ~1", "cached 9.1k", "~40 tok/s · 600 ms", "~$0.04"]
        assert parts[2:7] == estimates


@pytest.mark.exhaustive
async def test_every_part_says_what_it_is_and_another_model_shows_at_once(project: Path) -> None:
    step: Measure = {**STEP, "provider": "openai", "model": "gpt-5.6-sol"}
    agent = ScriptedAgent(project, [metric(step, {**TOTAL, "billed_input": 75_600})])
    async with app_over(agent).run_test(size=(200, 16)) as pilot:
        await send(pilot, "go")
        await finished(pilot)
        await until(pilot, lambda: "↑" in shown(status_of(pilot)))
        said = {
            part: await tooltip(pilot, part)
            for part in ("auto", "gpt-5.6", "ask", "↑", "billed", "cached", "tok/s", "$", "less", "▓")
        }

        # Without the reason of the last.
        assert "auto→replay" in shown(status_of(pilot))
        agent.provider.model = "gpt-7"
        await main_of(pilot).action_command("set_mode", "auto")
        assert "openai/gpt-7 · ask" in shown(status_of(pilot))
        assert shown(status_of(pilot)).strip().startswith("auto  ")

    assert said["auto"].startswith(
        "Session mode: auto. Last cycle: replay, no sessions. Click or press Ctrl+O"
    )
    assert "F2" in said["gpt-5.6"]
    assert "Shift+Tab" in said["ask"]
    assert "↑ sent to the provider, ↓ generated; 75.6k billed" in said["↑"]
    assert "billed as input" in said["billed"]
    assert "cache" in said["cached"]
    assert "first" in said["tok/s"]
    assert "Cost" in said["$"]
    assert "estimate" in said["less"]
    assert said["▓"].startswith("About 46.0k of 200k tokens")
    assert len(set(said.values())) == len(said)

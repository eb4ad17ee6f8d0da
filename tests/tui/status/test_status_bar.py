"""The line at the bottom: every figure with its meaning, estimates marked, the right end given up first."""

from pathlib import Path
from typing import Any

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


async def bar(project: Path, step: Measure, total: Measure, width: int = 160) -> str:
    """What the bar shows after a turn with these figures."""
    async with app_over(ScriptedAgent(project, [metric(step, total)])).run_test(size=(width, 45)) as pilot:
        await send(pilot, "go")
        await finished(pilot)
        await until(pilot, lambda: "↑" in shown(status_of(pilot)) or width < 60)
        return shown(status_of(pilot)).strip()


async def tooltip(pilot: Pilot[Any], part: str) -> str:
    """What is said where the mouse rests on `part`."""
    await pilot.hover(status_of(pilot), offset=(shown(status_of(pilot)).index(part), 0))
    return str(status_of(pilot).tooltip)


@pytest.mark.exhaustive
async def test_it_says_what_a_turn_took(project: Path) -> None:
    assert await bar(project, STEP, TOTAL) == (
        "auto→replay    openai/gpt-5.6-sol · ask   ↑ 12.4k ↓ 1.8k   cached 9.1k   40 tok/s · 600 ms   $0.04"
        "   ~6.1× less than replay   context ▓▓░░░░░░ 23%"
    )


async def test_a_narrow_one_gives_up_its_right_end(project: Path) -> None:
    assert await bar(project, STEP, TOTAL, 60) == "auto→replay    openai/gpt-5.6-sol · ask   ↑ 12.4k ↓ 1.8k"


@pytest.mark.parametrize(
    ("width", "said"),
    [
        (210, "auto→replay  no session (openai limits the rate: ple…   openai/"),
        (170, "auto→replay  no session (openai …   openai/"),
        (160, "auto→replay    openai/"),
    ],
)
async def test_the_reason_for_the_mode_is_said_where_there_is_room(
    project: Path, width: int, said: str
) -> None:
    step: Measure = {**STEP, "reason": "auto: no session (openai limits the rate: please wait)"}
    assert (await bar(project, step, TOTAL, width)).startswith(said)


@pytest.mark.exhaustive
async def test_a_mode_that_was_chosen_has_no_arrow(project: Path) -> None:
    assert (await bar(project, {**STEP, "reason": "chosen"}, TOTAL)).startswith("auto    openai/")


@pytest.mark.exhaustive
async def test_what_is_billed_is_shown_where_it_is_not_what_was_sent(project: Path) -> None:
    billed: Measure = {**TOTAL, "billed_input": 75_600}
    assert "↑ 12.4k ↓ 1.8k   billed 75.6k   cached" in await bar(project, STEP, billed, 200)
    assert "billed" not in await bar(project, STEP, {**TOTAL, "billed_input": 12_400}, 200)
    narrow = await bar(project, STEP, billed, 160)
    assert "billed" not in narrow
    assert narrow.endswith("23%"), "it gives way to the others"


@pytest.mark.exhaustive
async def test_estimates_are_marked(project: Path) -> None:
    line = await bar(project, {**STEP, "estimated": True}, {**TOTAL, "billed_input": 1}, 200)
    assert "↑ ~12.4k ↓ ~1.8k   billed ~1   cached 9.1k   ~40 tok/s · 600 ms   ~$0.04" in line


@pytest.mark.exhaustive
async def test_what_is_not_known_is_not_shown(project: Path) -> None:
    line = await bar(project, {"output": 5}, {"input": 12, "output": 5})
    assert line == "auto    openai/gpt-5.6-sol · ask · no sandbox   ↑ 12 ↓ 5"


async def test_every_part_says_what_it_is(project: Path) -> None:
    agent = ScriptedAgent(project, [metric(STEP, {**TOTAL, "billed_input": 75_600})])
    async with app_over(agent).run_test(size=(200, 45)) as pilot:
        await send(pilot, "go")
        await finished(pilot)
        await until(pilot, lambda: "↑" in shown(status_of(pilot)))
        said = {
            part: await tooltip(pilot, part)
            for part in ("auto", "gpt-5.6", "ask", "↑", "billed", "cached", "tok/s", "$", "less", "▓")
        }

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


async def test_another_model_shows_at_once_without_the_reason_of_the_last(project: Path) -> None:
    step: Measure = {**STEP, "provider": "openai", "model": "gpt-5.6-sol"}
    agent = ScriptedAgent(project, [metric(step, TOTAL)])
    async with app_over(agent).run_test(size=(160, 45)) as pilot:
        await send(pilot, "go")
        await finished(pilot)
        await until(pilot, lambda: "auto→replay" in shown(status_of(pilot)))
        agent.provider.model = "gpt-7"
        await main_of(pilot).action_command("set_mode", "auto")
        assert "auto    openai/gpt-7 · ask" in shown(status_of(pilot))

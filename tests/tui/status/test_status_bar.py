"""The status line: permissions, model, context and cost; its dialog: every figure with its label."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from msgspec.structs import replace
from textual.pilot import Pilot

from cogency_tui.config.options import options
from cogency_tui.config.schema import PERMISSIONS, Mode, Settings
from cogency_tui.protocol.events import Measure
from cogency_tui.tui.kit.number_format import when
from cogency_tui.tui.status import screen
from cogency_tui.tui.status.screen import StatusScreen, draw_status
from cogency_tui.tui.status.status_bar import Status, describe_sandbox
from cogency_tui.tui.theme_styles import theme_styles_of
from tests.tui.driving import app_over, finished, main_of, send, shown, status_of, told, until
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
    settings = Settings(provider="openai", footer=False)
    async with app_over(ScriptedAgent(project, script, settings=settings)).run_test(size=(160, 16)) as pilot:

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


async def test_it_shows_permissions_model_context_and_cost_and_drops_its_right_end(project: Path) -> None:
    async with bars(project) as bar:
        assert await bar(STEP, TOTAL, 160) == "ask    openai/gpt-5.6-sol   23% context   $0.04"
        assert await bar(STEP, TOTAL, 50) == "ask    openai/gpt-5.6-sol   23% context   $0.04"
        assert await bar(STEP, TOTAL, 44) == "ask    openai/gpt-5.6-sol   23% context"


async def test_only_known_figures_are_shown_and_estimates_are_marked(project: Path) -> None:
    async with bars(project) as bar:
        assert await bar({"output": 5}, {"input": 12, "output": 5}, 160) == "ask    openai/gpt-5.6-sol"
        assert "~$0.04" in await bar(STEP, {**TOTAL, "estimated": True}, 160)


async def test_each_permission_mode_has_its_color_on_the_badge_and_on_the_prompt(project: Path) -> None:
    colors = theme_styles_of("night").palette.colors
    expected = {"plan": colors.accent, "ask": colors.dim, "edits": colors.edit, "auto": colors.bad}
    agent = ScriptedAgent(project)
    async with app_over(agent).run_test(size=(120, 30), notifications=True) as pilot:
        for _ in PERMISSIONS:
            await pilot.press("shift+tab")
            await until(
                pilot, lambda: told(pilot).endswith(options()["permissions"].means[agent.permissions])
            )
            [badge] = [each for each in status_of(pilot).render_line(0) if agent.permissions in each.text]
            assert badge.style
            assert badge.style.color
            assert badge.style.reverse
            assert badge.style.color.name == expected[agent.permissions]
            _edge, tint = main_of(pilot).query_one("#prompt-box").styles.border_left
            assert tint.hex.lower() == expected[agent.permissions]
        agent.permissions = "auto"
        main_of(pilot).on_bridge_queue_changed()
        assert shown(status_of(pilot)).startswith(" » auto ")


async def test_a_sandbox_is_mentioned_only_if_it_is_wanted_and_missing(project: Path) -> None:
    agent = ScriptedAgent(project)
    async with app_over(agent).run_test(size=(120, 30)) as pilot:
        for sandbox, warned in (
            ("sandboxed", False),
            ("not sandboxed: switched off", False),
            ("not sandboxed: bwrap is missing", True),
        ):
            agent.sandbox = sandbox
            main_of(pilot).on_bridge_queue_changed()
            assert ("no sandbox" in shown(status_of(pilot))) is warned


@pytest.mark.exhaustive
async def test_every_part_has_a_tooltip_and_another_model_shows_at_once(project: Path) -> None:
    step: Measure = {**STEP, "provider": "openai", "model": "gpt-5.6-sol"}
    agent = ScriptedAgent(project, [metric(step, TOTAL)])
    async with app_over(agent).run_test(size=(200, 16)) as pilot:
        await send(pilot, "go")
        await finished(pilot)
        await until(pilot, lambda: "$" in shown(status_of(pilot)))
        said = {part: await tooltip(pilot, part) for part in ("ask", "gpt-5.6", "context", "$")}
        agent.provider.model = "gpt-7"
        await main_of(pilot).action_command("set_mode", "auto")
        assert "openai/gpt-7" in shown(status_of(pilot))

    assert "Shift+Tab" in said["ask"]
    assert "F2" in said["gpt-5.6"]
    assert said["context"].startswith("About 46.0k of 200k tokens")
    assert "Cost" in said["$"]


async def test_the_session_mode_is_there_only_if_another_one_was_chosen(project: Path) -> None:
    agent = ScriptedAgent(project, [metric(STEP, TOTAL)], settings=Settings(provider="openai", mode="resume"))
    agent.mode = "resume"
    async with app_over(agent).run_test(size=(160, 16)) as pilot:
        await send(pilot, "go")
        await finished(pilot)
        await until(pilot, lambda: "$0.04" in shown(status_of(pilot)))
        assert "resume" not in shown(status_of(pilot))
        await pilot.press("ctrl+o")
        await until(pilot, lambda: "session mode replay" in shown(status_of(pilot)))
        explained = "Session mode replay: separate requests, each with the whole conversation. "
        assert (await tooltip(pilot, "session")).startswith(explained)
        await pilot.press("ctrl+o", "ctrl+o")
        await until(pilot, lambda: "session mode" not in shown(status_of(pilot)))


@pytest.mark.parametrize(
    ("mode", "step", "described"),
    [
        ("auto", STEP, "automatic → replay (no sessions): separate requests, each with the whole"),
        ("auto", {}, "automatic: one session if the provider supports it"),
        ("resume", {}, "resume: one session with the provider, in which"),
    ],
)
def test_the_dialog_explains_the_session_mode(mode: Mode, step: Measure, described: str) -> None:
    status = Status(mode, "openai", "gpt", "ask", step=step)
    lines = draw_status(status, 160, theme_styles_of("night"))
    assert any(line.text.startswith(f"{'Session mode':<20}{described}") for line in lines)


def test_the_dialog_says_that_a_provider_without_sessions_cannot_resume() -> None:
    status = Status("resume", "mine", "m", "ask", has_sessions=False)
    text = "\n".join(line.text for line in draw_status(status, 160, theme_styles_of("night")))
    assert "resume: not possible, mine has no sessions. Use /mode replay" in text
    assert "one session with the provider" not in text


def test_the_dialog_shows_a_chosen_service_tier_and_the_one_that_answered() -> None:
    chosen = Status("auto", "openai", "gpt", "ask", service_tier="flex")
    answered = replace(chosen, step={**STEP, "tier": "default"})
    for status, row in ((chosen, "flex"), (answered, "flex (last answer: default)")):
        lines = [line.text.rstrip() for line in draw_status(status, 90, theme_styles_of("night"))]
        assert f"{'Service tier':<20}{row}" in lines
    usual = draw_status(replace(chosen, service_tier=""), 90, theme_styles_of("night"))
    assert "Service tier" not in "\n".join(line.text for line in usual)


@pytest.mark.parametrize(
    ("step", "note"),
    [
        (
            {"input": 400, "billed_input": 1000, "cached": 900},
            "75% of the billed input (90% in the last answer)",
        ),
        ({}, "75% of the billed input"),
    ],
)
def test_the_dialog_shows_how_much_of_the_input_the_cache_serves(step: Measure, note: str) -> None:
    total: Measure = {"input": 800, "billed_input": 4000, "cached": 3000, "output": 10}
    status = Status("auto", "openai", "gpt", "ask", step=step, total=total)
    lines = [line.text.rstrip() for line in draw_status(status, 120, theme_styles_of("night"))]
    assert f"{'Read from cache':<20}{'3.0k':<10}{note}, at a lower price" in lines


def test_the_dialog_says_when_the_session_ends_and_what_follows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screen, "time", lambda: 1000.0)
    at = when(1130.0, 1130.0)
    for expires, row in (
        (1130.0, f"in 2 min 10 s, at {at}; then the next message sends the conversation again"),
        (990.0, f"ended at {when(990.0, 990.0)}: the next message sends the conversation again"),
    ):
        status = Status("auto", "anthropic", "m", "ask", session_expires=expires)
        lines = [line.text.rstrip() for line in draw_status(status, 120, theme_styles_of("night"))]
        assert f"{'Session ends':<20}{row}" in lines
    lasting = draw_status(Status("auto", "anthropic", "m", "ask"), 120, theme_styles_of("night"))
    assert "Session ends" not in "\n".join(line.text for line in lasting)


async def test_the_tooltip_of_the_context_says_how_long_the_provider_holds_the_session(project: Path) -> None:
    agent = ScriptedAgent(project, [metric(STEP, TOTAL)])
    async with app_over(agent).run_test(size=(200, 16)) as pilot:
        await send(pilot, "hi")
        await finished(pilot)
        assert "holds the session" not in await tooltip(pilot, "context")
        agent.expires = 90_000.0
        await send(pilot, "hi")
        await finished(pilot)
        await tooltip(pilot, "$")
        held = f"The provider holds the session until {when(90_000.0, 90_000.0)}"
        assert (await tooltip(pilot, "context")).endswith(held)


def test_the_dialog_labels_every_figure() -> None:
    status = Status(
        "auto",
        "openai",
        "gpt",
        "ask",
        "sandboxed",
        {**STEP, "context_size": 200_000},
        {**TOTAL, "billed_input": 75_600, "estimated": True},
    )
    text = "\n".join(line.text for line in draw_status(status, 90, theme_styles_of("night")))
    for label, value in (
        ("Model", "openai/gpt"),
        ("Permissions", "ask: asks before"),
        ("Session mode", "automatic → replay (no sessions)"),
        ("Sandbox", "On: commands run without network"),
        ("Context used", "23%       46.0k of 200k tokens"),
        ("Tokens sent", "~12.4k"),
        ("Tokens generated", "~1.8k"),
        ("Billed as input", "~75.6k"),
        ("Read from cache", "9.1k"),
        ("Cost", "~$0.04"),
        ("Time to first token", "600 ms"),
        ("Speed", "40 tok/s"),
        ("Saved by sessions", "~6.1×"),
    ):
        assert f"{label:<20}{value}" in text


@pytest.mark.parametrize(
    ("state", "described"),
    [
        ("", ""),
        ("not sandboxed: switched off", "Off: commands run with your full permissions"),
        ("not sandboxed: no bwrap", "Off (no bwrap): commands run with your full permissions"),
        ("not sandboxed: not tried yet", "Starts with the first command"),
    ],
)
def test_the_sandbox_is_described_as_it_is_now(state: str, described: str) -> None:
    assert describe_sandbox(state) == described


async def test_a_click_beside_the_parts_shows_all_figures(project: Path) -> None:
    async with app_over(ScriptedAgent(project)).run_test(size=(120, 30)) as pilot:
        await pilot.click(status_of(pilot), offset=(100, 0))
        await until(pilot, lambda: isinstance(pilot.app.screen, StatusScreen))
        await until(pilot, lambda: "No usage yet." in shown(pilot.app.screen.query_one("#status-body")))

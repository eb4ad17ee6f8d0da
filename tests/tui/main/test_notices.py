"""What is decided on the way to the model: told in passing, counted down where it takes time."""

from pathlib import Path
from time import time
from typing import Any

import pytest
from textual.pilot import Pilot

from cogency_tui.tui.kit.cell_text import cells
from cogency_tui.tui.theme_styles import theme_styles_of
from cogency_tui.tui.transcript.messages_and_notices import draw_notice, is_shortened
from cogency_tui.tui.transcript.units import Notice
from tests.tui.driving import app_over, conversation_of, finished, live_line_of, send, shown, until
from tests.tui.scripted import EPOCH, ScriptedAgent, notice, paused, respond

LOST = "The session with openai had ended. A new one is given the conversation."
SLOW = "Rate limited by openai."


def now() -> float:
    return time() - EPOCH


def colours(pilot: Pilot[Any], row: str) -> set[str]:
    """The colours of what stands on the line with `row` in the conversation."""
    view = conversation_of(pilot)
    [strip] = [strip for strip in view.render_lines(view.size.region) if row in strip.text]
    return {
        segment.style.color.name
        for segment in strip
        if segment.text.strip() and segment.style and segment.style.color
    }


@pytest.mark.exhaustive
async def test_a_notice_is_one_dim_line_between_the_others_and_a_long_one_opens(project: Path) -> None:
    cause = "openai limits the rate: " + "please be patient and " * 8 + "wait. Going on in replay mode."
    agent = ScriptedAgent(project, [notice(LOST), respond("Hello."), notice(cause)])
    async with app_over(agent).run_test(size=(120, 30)) as pilot:
        await send(pilot, "go")
        await finished(pilot)
        view = conversation_of(pilot)
        await until(pilot, lambda: "Hello." in shown(view))
        assert "◇ The session with openai" in shown(view)
        assert "✗" not in shown(view)
        assert colours(pilot, "◇ The session") == {theme_styles_of("night").palette.colors.dim}

        await until(pilot, lambda: "… Going on in replay mode." in shown(view))
        view.focus()
        await pilot.press("enter")
        assert cause in " ".join(shown(view).split()).replace("▎ ", "")


@pytest.mark.exhaustive
async def test_a_wait_is_counted_down_until_text_comes_or_escape_ends_it(project: Path) -> None:
    agent = ScriptedAgent(project, [notice(SLOW, 30, at=now()), paused, respond("Here "), paused])
    async with app_over(agent).run_test(size=(160, 30)) as pilot:
        line = live_line_of(pilot)
        await send(pilot, "go")
        await until(pilot, lambda: "Retrying in" in shown(line))
        await pilot.press("escape")
        await finished(pilot)
        await until(pilot, lambda: "Interrupted" in shown(conversation_of(pilot)))
        assert "Retrying" not in shown(conversation_of(pilot))
        assert "Retrying" not in shown(line)

        await send(pilot, "go")
        await until(pilot, lambda: "Retrying in" in shown(line))
        first = shown(line)
        assert " s (2 of 5)   Esc to interrupt" in first
        await until(pilot, lambda: shown(line).partition(" s ")[0] != first.partition(" s ")[0])
        agent.gate.set()
        await until(pilot, lambda: "Retrying in" not in shown(line))


@pytest.mark.parametrize("width", [156, 96, 56, 40])
def test_a_report_is_shown_whole(width: int) -> None:
    text = (
        "Stopped after 3 turns: it went on and on. `make test` failed (exit 2): " + "no rule to make it " * 9
    )
    lines = draw_notice(Notice(text, report=True), width, theme_styles_of("night"), expanded=False)
    assert " ".join(line.text.strip("◇ ") for line in lines) == text.strip()
    assert all(cells(line.text) <= width for line in lines)
    assert not is_shortened(Notice(text, report=True), width, theme_styles_of("night"))


def test_a_notice_that_is_too_long_keeps_what_was_decided() -> None:
    def drawn(text: str, width: int) -> list[str]:
        lines = draw_notice(Notice(text), width, theme_styles_of("night"), expanded=False)
        assert all(cells(line.text) <= width for line in lines)
        return [line.text for line in lines]

    assert drawn(LOST, 80) == [f"◇ {LOST}"]
    assert len(drawn(LOST, 60)) == 2
    assert drawn("x" * 80 + ". Going on.", 40) == ["◇ " + "x" * 27 + "… Going on."]
    assert drawn(f"It ended. {'x' * 80}", 40) == ["◇ It ended. …"]
    assert drawn("x" * 60, 20) == ["◇ " + "x" * 17 + "…"]

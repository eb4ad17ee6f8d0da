"""What is typed while a pane has the focus: commands of the pane, or a text for the prompt."""

from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.pilot import Pilot
from textual.widget import Widget

from cogency_tui.tui.conversation.find_bar import FindField
from cogency_tui.tui.files.preview import PreviewLines
from cogency_tui.tui.kit.filter_line import FilterText
from cogency_tui.tui.terminal import pane_letters
from tests.tui.driving import (
    app_over,
    calls_of,
    conversation_of,
    files_of,
    finished,
    main_of,
    opened,
    prompt_of,
    send,
    shown,
    until,
)
from tests.tui.scripted import ScriptedAgent, call, execute, respond, result

NAMES = {" ": "space", "/": "slash", "@": "at", "[": "left_square_bracket", "\r": "enter"}
PANES = {"conversation": conversation_of, "calls": calls_of, "files": files_of}


def type_at_once(pilot: Pilot[Any], text: str) -> None:
    """Type `text` as a paste does in a terminal that does not mark pastes."""
    for character in text:
        pilot.app.post_message(events.Key(NAMES.get(character, character), character))


def worked(project: Path) -> ScriptedAgent:
    """An agent that reads a file, and answers what it is asked after that."""
    first = [
        call("a", "read", file="README.md"),
        execute(),
        result("a", "read", "Read 1 line", "x = 1"),
        respond("Read."),
    ]
    return ScriptedAgent(project, first, [respond("ok")], [respond("ok")])


async def in_pane(pilot: Pilot[Any], pane: str) -> Widget:
    """The focused pane, after a turn."""
    await opened(pilot)
    await send(pilot, "go")
    await finished(pilot)
    widget = PANES[pane](pilot)
    widget.focus()
    await until(pilot, lambda: widget.has_focus)
    return widget


@pytest.mark.usefixtures("long_hold")
@pytest.mark.parametrize("pane", PANES)
@pytest.mark.parametrize(
    "text",
    ["read the file please", "find it", "edit a/b", "just do it", "open it", "look [here]", "kill", "no"],
)
async def test_a_text_arrives_whole_and_is_sent(project: Path, pane: str, text: str) -> None:
    agent = worked(project)
    async with app_over(agent).run_test(size=(160, 40)) as pilot:
        await in_pane(pilot, pane)
        type_at_once(pilot, text)
        await until(pilot, lambda: prompt_of(pilot).text == text)
        type_at_once(pilot, "\r")
        await until(pilot, lambda: agent.asked == ["go", text])
        assert pilot.app.screen is main_of(pilot)


@pytest.mark.usefixtures("long_hold")
@pytest.mark.parametrize("pane", PANES)
async def test_text_and_enter_in_one_burst_are_one_message(project: Path, pane: str) -> None:
    agent = worked(project)
    async with app_over(agent).run_test(size=(160, 40)) as pilot:
        await in_pane(pilot, pane)
        type_at_once(pilot, "fork yes\r")
        await until(pilot, lambda: agent.asked == ["go", "fork yes"])


async def test_the_letter_of_a_command_alone_is_that_command(project: Path) -> None:
    app = app_over(worked(project))
    async with app.run_test(size=(160, 40)) as pilot:
        await in_pane(pilot, "calls")
        type_at_once(pilot, "y")
        await until(pilot, lambda: app.clipboard == "x = 1")
        assert prompt_of(pilot).text == ""


@pytest.mark.usefixtures("long_hold")
async def test_a_key_that_is_no_text_runs_the_held_command_first(project: Path) -> None:
    app = app_over(worked(project))
    async with app.run_test(size=(160, 40)) as pilot:
        await in_pane(pilot, "calls")
        type_at_once(pilot, "y")
        app.post_message(events.Key("escape", "\x1b"))
        await until(pilot, lambda: prompt_of(pilot).has_focus)
        await until(pilot, lambda: app.clipboard == "x = 1")


@pytest.mark.usefixtures("long_hold")
async def test_motions_run_at_once_however_fast_and_a_command_may_follow_them(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with app_over(ScriptedAgent(project)).run_test(size=(160, 40)) as pilot:
        await opened(pilot)
        tree = files_of(pilot)
        tree.focus()
        type_at_once(pilot, "jjjjk")
        await until(pilot, lambda: tree.selected == 1)
        type_at_once(pilot, "g")
        await until(pilot, lambda: tree.selected == 0)
        monkeypatch.setattr(pane_letters, "HOLD", 0.0)
        type_at_once(pilot, "G ")
        await until(pilot, lambda: isinstance(pilot.app.focused, PreviewLines))
        assert prompt_of(pilot).text == ""


@pytest.mark.usefixtures("long_hold")
@pytest.mark.parametrize("text", ["just do it", " space first", "go on", "kj", " j"])
async def test_motions_that_begin_a_text_are_not_carried_out(project: Path, text: str) -> None:
    async with app_over(ScriptedAgent(project)).run_test(size=(160, 40)) as pilot:
        await opened(pilot)
        tree = files_of(pilot)
        tree.focus()
        await until(pilot, lambda: shown(tree).split())
        before = tree.selected, shown(tree)
        type_at_once(pilot, text)
        if len(text) > 2:
            await until(pilot, lambda: prompt_of(pilot).text == text)
        else:
            # Any other key runs them.
            await pilot.pause()
            assert (tree.selected, shown(tree)) == before
            pilot.app.post_message(events.Key("down", None))
            await until(pilot, lambda: (tree.selected, shown(tree)) != before)
            return
        assert (tree.selected, shown(tree)) == before


async def test_a_motion_alone_runs_after_the_hold_and_the_next_ones_at_once(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with app_over(ScriptedAgent(project)).run_test(size=(160, 40)) as pilot:
        await opened(pilot)
        tree = files_of(pilot)
        tree.focus()
        await until(pilot, lambda: tree.has_focus)
        type_at_once(pilot, "j")
        await until(pilot, lambda: tree.selected == 1)
        monkeypatch.setattr(pane_letters, "HOLD", 60.0)
        monkeypatch.setattr(pane_letters, "SERIES", 60.0)
        for moved, key in ((2, "j"), (1, "k"), (2, "j")):
            type_at_once(pilot, key)
            await until(pilot, lambda moved=moved: tree.selected == moved)


@pytest.mark.usefixtures("long_hold")
@pytest.mark.parametrize("pane", PANES)
async def test_a_slash_opens_the_field_of_the_pane_and_enter_there_sends_nothing(
    project: Path, pane: str
) -> None:
    agent = worked(project)
    async with app_over(agent).run_test(size=(160, 40)) as pilot:
        await in_pane(pilot, pane)
        type_at_once(pilot, "/undo\r")
        await until(
            pilot,
            lambda: (
                [each.value for each in pilot.app.screen.query(FilterText)] != ["", ""]
                or pilot.app.screen.query_one(FindField).value == "undo"
            ),
        )
        await pilot.pause()
        assert (agent.asked, prompt_of(pilot).text) == (["go"], "")


@pytest.mark.usefixtures("long_hold")
async def test_where_nothing_can_be_found_a_slash_begins_a_command(project: Path) -> None:
    agent = ScriptedAgent(project)
    async with app_over(agent).run_test(size=(120, 30)) as pilot:
        await opened(pilot)
        conversation_of(pilot).focus()
        type_at_once(pilot, "/model\r")
        await until(pilot, lambda: pilot.app.screen is not main_of(pilot))
        assert agent.asked == []


@pytest.mark.usefixtures("long_hold")
async def test_a_paste_makes_a_text_of_the_letter_before_it(project: Path) -> None:
    async with app_over(worked(project)).run_test(size=(160, 40)) as pilot:
        await in_pane(pilot, "conversation")
        type_at_once(pilot, "r")
        pilot.app.post_message(events.Paste("ead this"))
        await until(pilot, lambda: prompt_of(pilot).text == "read this")


async def test_a_slash_after_a_click_begins_a_command_and_after_a_key_a_search(project: Path) -> None:
    async with app_over(worked(project)).run_test(size=(120, 35)) as pilot:
        view = conversation_of(pilot)
        await in_pane(pilot, "conversation")
        prompt_of(pilot).focus()
        await pilot.click(view, offset=(8, 2))
        await until(pilot, lambda: view.has_focus)
        type_at_once(pilot, "/model")
        await until(pilot, lambda: prompt_of(pilot).text == "/model")

        await pilot.click(view, offset=(8, 2))
        await pilot.press("down", "slash")
        await until(pilot, lambda: isinstance(pilot.app.focused, FindField))

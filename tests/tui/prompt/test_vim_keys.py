"""Vim's keys in the prompt of the app: sending, Esc, history, chips, selections, and the keys of the screen."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from textual.document._document import Selection

from cogency_tui.agent.agent import Agent
from cogency_tui.store.prompt_text import Written
from cogency_tui.tui.conversation.rewind import RewindScreen
from cogency_tui.tui.help.screen import HelpScreen
from cogency_tui.tui.kit.footer import Footer
from cogency_tui.tui.main.screen import MainScreen
from cogency_tui.tui.palette import Palette
from cogency_tui.tui.recall.screen import RecallScreen
from cogency_tui.tui.terminal.input import TerminalInput
from tests.tui.driving import (
    app_over,
    asked,
    at_work,
    conversation_of,
    finished,
    live_line_of,
    main_of,
    prompt_of,
    seen,
    send,
    shown,
    status_of,
    told,
    type_text,
    until,
)
from tests.tui.prompt.test_pastes import BIG, CHIP, paste
from tests.tui.prompt.vim.editing import agent_in, begin, marked, type_keys
from tests.tui.questions.test_question_lines import COMMAND, asks
from tests.tui.review.stage import working
from tests.tui.scripted import paused, respond
from tests.tui.settings.test_screen import select, settings


async def test_enter_sends_from_both_modes_and_the_next_text_begins_in_insert_mode(project: Path) -> None:
    agent = agent_in(project, [respond("one")], [respond("two")])
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        await type_keys(pilot, "first⟨enter⟩")
        await until(pilot, lambda: agent.asked == ["first"])
        await finished(pilot)
        await type_keys(pilot, "secone⟨escape⟩rd")
        assert "NORMAL" in shown(status_of(pilot))
        await pilot.press("enter")
        await until(pilot, lambda: agent.asked == ["first", "second"])
        await finished(pilot)
        assert (prompt_of(pilot).text, prompt_of(pilot).vim_mode) == ("", "insert")
        assert "INSERT" in shown(status_of(pilot))


async def test_esc_leaves_insert_mode_then_a_command_then_interrupts(project: Path) -> None:
    agent = agent_in(project, [paused])
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        await send(pilot, "Wait")
        await until(pilot, lambda: main_of(pilot).bridge.working)
        await type_keys(pilot, "next⟨escape⟩2d⟨escape⟩")
        assert main_of(pilot).bridge.working
        assert prompt_of(pilot).vim_mode == "normal"
        await pilot.press("escape")
        await finished(pilot)
        assert prompt_of(pilot).text == "next"


async def test_esc_keeps_a_text_and_twice_in_the_empty_prompt_goes_back(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MainScreen, "TWICE", 60.0)
    async with at_work(working(project, "ok"), (100, 30)) as pilot:
        prompt_of(pilot).use_vim(on=True)
        await send(pilot, "Go")
        await finished(pilot)
        await type_keys(pilot, "next⟨escape⟩⟨escape⟩⟨escape⟩")
        assert (prompt_of(pilot).text, prompt_of(pilot).vim_mode) == ("next", "normal")
        await type_keys(pilot, "dd⟨escape⟩⟨escape⟩")
        await until(pilot, lambda: isinstance(pilot.app.screen, RewindScreen))


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ("\x1b0X", "|one two"),
        ("\x1b0x", "|ne two"),
        ("\x1bk", "earlie|r"),
        ("\x1bfe", "one tw|o"),
        ("\x1bbD", "one| "),
        ("\x1bdd", "|"),
        ("\x1bOhey", "hey|\none two"),
        ("\x1b\x1b0x", "|ne two"),
        ("\x1b0d\x1bdw", "|two"),
        ("\x1b0\x1bd", "| two"),
        ("\x1b[D\x1b[D!", "one t!|wo"),
        ("\x1bOD!", "one tw!|o"),
        ("\x1b[200~!\x1b[201~", "one two!|"),
        ("\x1b[100;3u!", "one two!|"),
    ],
)
async def test_esc_and_the_next_key_may_come_in_one_piece(project: Path, keys: str, text: str) -> None:
    async with app_over(agent_in(project)).run_test(size=(100, 30)) as pilot:
        prompt_of(pilot).remember([Written("earlier")])
        await type_text(pilot, "one two")
        for event in TerminalInput().feed(keys.encode()):
            pilot.app.post_message(event)
        await pilot.pause()
        assert marked(pilot) == text


async def test_j_and_k_go_through_the_history_at_the_ends_of_the_text(project: Path) -> None:
    async with app_over(agent_in(project)).run_test(size=(100, 30)) as pilot:
        prompt = prompt_of(pilot)
        prompt.remember([Written("earlier"), Written("one\ntwo")])
        await begin(pilot, "dra|ft")
        await pilot.press("j")
        assert marked(pilot) == "dra|ft"
        await pilot.press("k")
        assert marked(pilot) == "one\ntw|o"
        await pilot.press("k")
        assert marked(pilot) == "on|e\ntwo"
        await pilot.press("k")
        assert marked(pilot) == "earlie|r"
        await type_keys(pilot, "jjj")
        assert marked(pilot) == "draf|t"
        assert prompt.vim_mode == "normal"


async def test_rows_of_a_wrapped_line_are_gone_through_before_the_history(project: Path) -> None:
    async with app_over(agent_in(project)).run_test(size=(60, 30)) as pilot:
        prompt = prompt_of(pilot)
        prompt.remember([Written("oldest"), Written("old " * 40)])
        draft = "word " * 30 + "end"
        await begin(pilot, f"{draft}|")
        second, *_, last = prompt.wrapped_document.get_offsets(0)
        for keys, column in (
            ("g0", last),
            ("gkg$", last - 1),
            ("5gkg$", second - 1),
            ("0gj", second),
            ("gk3l2gj", prompt.wrapped_document.get_offsets(0)[1] + 3),
            ("9gj", last + 3),
        ):
            await type_keys(pilot, keys)
            assert prompt.cursor_location == (0, column), keys
        await pilot.press("$")
        for _row in prompt.wrapped_document.get_offsets(0):
            await pilot.press("k")
            assert prompt.text == draft
        await pilot.press("k")
        assert prompt.text == "old " * 40
        await pilot.press("k")
        assert prompt.text == "oldest"
        await type_keys(pilot, "jj")
        assert prompt.text == draft
        await pilot.press("i", "up")
        assert prompt.text == draft
        await pilot.press(*["up"] * len(prompt.wrapped_document.get_offsets(0)))
        assert prompt.text == "old " * 40


async def test_a_row_may_begin_in_a_chip(project: Path) -> None:
    async with app_over(agent_in(project)).run_test(size=(60, 30)) as pilot:
        await begin(pilot, "word " * 9 + "an|")
        await paste(pilot, BIG)
        await type_keys(pilot, "x0gjP")
        assert prompt_of(pilot).written.full.count(BIG) == 1


async def test_a_chip_is_one_character(project: Path) -> None:
    async with app_over(agent_in(project)).run_test(size=(100, 30)) as pilot:
        await begin(pilot, "a|b")
        await paste(pilot, BIG)
        assert prompt_of(pilot).vim_mode == "normal"
        assert marked(pilot) == f"ab|{CHIP}"
        await type_keys(pilot, "a!⟨escape⟩h")
        assert marked(pilot) == f"ab|{CHIP}!"
        await pilot.press("x")
        assert marked(pilot) == "ab|!"
        await type_keys(pilot, "pu")
        assert prompt_of(pilot).text == "ab!"
        await pilot.press("P")
        assert prompt_of(pilot).written.full == f"ab{BIG}!"


@pytest.mark.parametrize(
    ("before", "pasted", "after"),
    [
        ("on|e two", "X Y", "oneX |Y two"),
        ("|", "one\ntwo", "one\ntw|o"),
        ("o|ne", "two\n", "ontw|o\ne"),
        ("o|ne", BIG, f"on|{CHIP}e"),
    ],
)
async def test_a_paste_in_normal_mode_goes_after_the_cursor_and_is_undone_at_once(
    project: Path, before: str, pasted: str, after: str
) -> None:
    async with app_over(agent_in(project)).run_test(size=(100, 30)) as pilot:
        await begin(pilot, before)
        await type_keys(pilot, "2d")
        await paste(pilot, pasted)
        assert (marked(pilot), prompt_of(pilot).vim_mode) == (after, "normal")
        await pilot.press("u")
        assert marked(pilot) == before


@pytest.mark.parametrize(
    ("keys", "text"),
    [("d", "|three"), ("x", "|three"), ("cX⟨escape⟩", "|Xthree"), ("yP", "one two |one two three")],
)
async def test_operators_work_on_what_the_mouse_selected(project: Path, keys: str, text: str) -> None:
    async with app_over(agent_in(project)).run_test(size=(100, 30)) as pilot:
        await begin(pilot, "|one two three")
        prompt_of(pilot).selection = Selection((0, 8), (0, 0))
        await type_keys(pilot, keys)
        assert marked(pilot) == (text if "P" not in keys else "one two| one two three")


async def test_a_command_that_is_missing_says_so(project: Path) -> None:
    async with app_over(agent_in(project)).run_test(size=(100, 30), notifications=True) as pilot:
        await begin(pilot, "|one")
        for keys, feature in (
            ("viwd", "visual mode"),
            ("ma", "marks"),
            ("qaq", "macros"),
            ("R", "replace mode"),
        ):
            await type_keys(pilot, keys)
            await until(pilot, lambda: f"No {feature} in the prompt" in told(pilot))  # noqa: B023
        assert marked(pilot) == "|one"


async def test_ctrl_r_redoes_in_normal_mode_and_recalls_otherwise(project: Path) -> None:
    async with app_over(agent_in(project)).run_test(size=(160, 30)) as pilot:
        await begin(pilot, "one| two")
        await type_keys(pilot, "D")
        await type_keys(pilot, "u⟨ctrl+r⟩")
        assert marked(pilot) == "on|e"
        await pilot.press("i", "ctrl+r")
        await until(pilot, lambda: isinstance(pilot.app.screen, RecallScreen))


async def test_the_status_line_shows_an_incomplete_command_and_whether_keys_reach_it(project: Path) -> None:
    async with app_over(agent_in(project)).run_test(size=(160, 30)) as pilot:
        await begin(pilot, "|one two")
        for keys, pending in (
            ('"a2d', '"a2d'),
            ("⟨escape⟩", ""),
            ("ci", "ci"),
            ("w⟨escape⟩", ""),
            ("Rtyped", "Rtyped"),
            ("!⟨ctrl+v⟩", "yped!␖"),
        ):
            await type_keys(pilot, keys)
            await until(pilot, lambda: f"NORMAL {pending}  " in shown(status_of(pilot)))  # noqa: B023
        await paste(pilot, "pasted")
        await until(pilot, lambda: "NORMAL   " in shown(status_of(pilot)))
        conversation_of(pilot).focus()
        await until(pilot, lambda: "normal   " in shown(status_of(pilot)))
        await type_keys(pilot, "⟨escape⟩2")
        await until(pilot, lambda: "NORMAL 2 " in shown(status_of(pilot)))
        await type_keys(pilot, "⟨escape⟩i")
        await until(pilot, lambda: "INSERT  " in shown(status_of(pilot)))


async def test_keys_of_the_screen_work_in_normal_mode(project: Path) -> None:
    async with app_over(agent_in(project)).run_test(size=(160, 30)) as pilot:
        main = main_of(pilot)
        await begin(pilot, "|one")
        permissions = main.agent.permissions
        await pilot.press("shift+tab")
        await until(pilot, lambda: main.agent.permissions != permissions)
        await pilot.press("f6")
        await until(pilot, lambda: not prompt_of(pilot).has_focus)
        await pilot.press("shift+f6", "colon")
        await until(pilot, lambda: isinstance(pilot.app.screen, Palette))
        await pilot.press("escape", "question_mark")
        await until(pilot, lambda: isinstance(pilot.app.screen, HelpScreen))
        await type_text(pilot, "vim")
        await until(pilot, lambda: "Next word, previous word, ends of words" in seen(pilot))
        await pilot.press("escape")
        await pilot.press("escape")
        assert (marked(pilot), prompt_of(pilot).vim_mode) == ("|one", "normal")


async def test_commands_begin_in_the_empty_prompt(project: Path) -> None:
    async with app_over(agent_in(project)).run_test(size=(100, 30)) as pilot:
        await begin(pilot, "|")
        await type_text(pilot, "!ls")
        assert (prompt_of(pilot).text, prompt_of(pilot).vim_mode) == ("!ls", "insert")


async def test_what_is_typed_in_another_pane_or_mentioned_is_inserted(project: Path) -> None:
    async with app_over(agent_in(project)).run_test(size=(160, 30)) as pilot:
        await begin(pilot, "see|")
        prompt_of(pilot).mention("a.py")
        assert prompt_of(pilot).text == "see@a.py "
        await begin(pilot, "one|")
        conversation_of(pilot).focus()
        await pilot.press("z")
        await until(pilot, lambda: prompt_of(pilot).text == "onez")


async def test_the_key_that_interrupts_is_named_as_the_mode_has_it(project: Path) -> None:
    agent = agent_in(project, [paused])
    async with app_over(agent).run_test(size=(120, 30)) as pilot:
        await type_keys(pilot, "go⟨enter⟩")
        await until(pilot, lambda: "Esc Esc to interrupt" in shown(live_line_of(pilot)))
        await until(pilot, lambda: "Esc interrupt" not in shown(main_of(pilot).query_one(Footer)))
        await pilot.press("escape")
        await until(pilot, lambda: "   Esc to interrupt" in shown(live_line_of(pilot)))
        await until(pilot, lambda: "Esc interrupt" in shown(main_of(pilot).query_one(Footer)))
        assert main_of(pilot).bridge.working
        await pilot.press("escape")
        await finished(pilot)


async def test_a_text_is_edited_in_its_mode_while_a_question_waits(project: Path) -> None:
    agent = agent_in(project, [paused, asks(COMMAND)])
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        await send(pilot, "go")
        await type_keys(pilot, "one two three")
        agent.gate.set()
        await asked(pilot)
        await type_keys(pilot, "⟨escape⟩")
        await until(pilot, lambda: prompt_of(pilot).vim_mode == "normal")
        await type_keys(pilot, "0wdw")
        await until(pilot, lambda: prompt_of(pilot).text == "one three")
        assert prompt_of(pilot).vim_mode == "normal"
        assert agent.answers == []
        await pilot.press("escape")
        await until(pilot, lambda: not main_of(pilot).bridge.working)


async def test_the_letter_that_begins_to_insert_is_no_text_while_a_question_waits(project: Path) -> None:
    agent = agent_in(project, [paused, asks(COMMAND)])
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        await send(pilot, "go")
        await type_keys(pilot, "⟨escape⟩")
        await until(pilot, lambda: prompt_of(pilot).vim_mode == "normal")
        agent.gate.set()
        await asked(pilot)
        await type_keys(pilot, "i")
        await until(pilot, lambda: prompt_of(pilot).vim_mode == "insert")
        assert prompt_of(pilot).text == ""
        await type_keys(pilot, "wait")
        await until(pilot, lambda: prompt_of(pilot).text == "wait")
        assert agent.answers == []
        await pilot.press("escape", "escape")
        await until(pilot, lambda: not main_of(pilot).bridge.working)


async def test_the_settings_turn_the_keys_on_and_off_at_once(project: Path) -> None:
    agent = Agent("offline", project=project, data=project.parent / "data")
    async with at_work(agent, (100, 30)) as pilot:
        assert prompt_of(pilot).vim_mode is None
        assert "INSERT" not in shown(status_of(pilot))
        for mode in ("insert", None):
            await select(pilot, await settings(pilot), "vim")
            await pilot.press("enter")
            await until(pilot, lambda: prompt_of(pilot).vim_mode == mode)  # noqa: B023 (awaited here)
            await pilot.press("escape")
            await until(pilot, lambda: prompt_of(pilot).has_focus and main_of(pilot).is_current)
            assert ("INSERT" in shown(status_of(pilot))) == (mode == "insert")


_OPENED = """
import asyncio, sys
from pathlib import Path
from tests.tui.driving import app_over
from tests.tui.settings.test_screen import select, settings
from tests.tui.review.stage import working
from tests.tui.scripted import ScriptedAgent

async def main():
    async with app_over(ScriptedAgent(Path.cwd())).run_test() as pilot:
        await pilot.press("a", "escape")
    print(*(name for name in sys.modules if "vim" in name))

asyncio.run(main())
"""


def test_nothing_of_vim_is_imported_while_it_is_off(project: Path) -> None:
    code = [sys.executable, "-c", _OPENED]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ran = subprocess.run(code, capture_output=True, text=True, check=True, cwd=project, env=environment)
    assert not ran.stdout.strip()

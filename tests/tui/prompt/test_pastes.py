"""Big pastes: one chip for the cursor, the whole text for the agent."""

from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.pilot import Pilot

from cogency_tui.store.prompt_text import Written
from cogency_tui.tui.paste_chips import BIG_CHARACTERS, BIG_LINES, chip_for, chips_in, is_big, joined
from tests.tui.driving import app_over, finished, prompt_of, send, type_text, until
from tests.tui.scripted import ScriptedAgent, paused, respond

BIG = "".join(f"line {number}\n" for number in range(240))
CHIP = "[pasted 240 lines]"


async def paste(pilot: Pilot[Any], text: str) -> None:
    """Paste, and wait until it is in the prompt."""
    before = prompt_of(pilot).text
    pilot.app.post_message(events.Paste(text))
    await until(pilot, lambda: prompt_of(pilot).text != before)


@pytest.mark.exhaustive
async def test_a_big_paste_is_a_chip_sent_whole_and_in_the_history(project: Path) -> None:
    agent = ScriptedAgent(project, [respond("ok")])
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        prompt_of(pilot).insert("why ")
        await paste(pilot, BIG)
        await type_text(pilot, " so")
        assert prompt_of(pilot).text == f"why {CHIP} so"
        assert prompt_of(pilot).size.height == 1
        await pilot.press("enter")
        await until(pilot, lambda: agent.asked == [f"why {BIG} so"])
        await finished(pilot)
        await pilot.press("up")
        assert prompt_of(pilot).text == f"why {CHIP} so"
        assert prompt_of(pilot).written.full == f"why {BIG} so"


@pytest.mark.exhaustive
async def test_the_cursor_steps_over_a_chip_and_a_click_stands_beside_it(project: Path) -> None:
    async with app_over(ScriptedAgent(project)).run_test(size=(100, 30)) as pilot:
        prompt = prompt_of(pilot)
        prompt.insert("a")
        await paste(pilot, BIG)
        prompt.insert("b")
        for key, column in (
            ("left", 1 + len(CHIP)),
            ("left", 1),
            ("left", 0),
            ("right", 1),
            ("right", 1 + len(CHIP)),
            ("alt+b", 1),
            ("alt+f", 1 + len(CHIP)),
        ):
            await pilot.press(key)
            assert prompt.cursor_location == (0, column)
        for clicked, column in ((4, 1), (len(CHIP) - 1, 1 + len(CHIP))):
            await pilot.click("#prompt", offset=(clicked, 0))
            assert prompt.cursor_location == (0, column)


@pytest.mark.exhaustive
async def test_a_chip_is_deleted_as_a_whole_and_comes_back_with_undo(project: Path) -> None:
    async with app_over(ScriptedAgent(project)).run_test(size=(100, 30)) as pilot:
        for keys, left in (
            (["backspace"], "ab"),
            (["left", "delete"], "ab"),
            (["ctrl+w"], "ab"),
            (["shift+left", "x"], "axb"),
        ):
            prompt_of(pilot).replace_text("ab")
            await pilot.press("left")
            await paste(pilot, BIG)
            await pilot.press(*keys)
            assert prompt_of(pilot).text == left, keys
            await pilot.press("ctrl+underscore")
            assert prompt_of(pilot).written.full.replace("x", "") in (f"a{BIG}b", "ab"), keys


async def test_what_was_deleted_comes_back_with_undo(project: Path) -> None:
    agent = ScriptedAgent(project, [respond("ok")])
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        await paste(pilot, BIG)
        await pilot.press("backspace")
        assert prompt_of(pilot).text == ""
        await pilot.press("ctrl+underscore")
        assert prompt_of(pilot).written.full == BIG


@pytest.mark.exhaustive
async def test_a_chip_is_opened_in_its_place_and_can_be_closed_again(project: Path) -> None:
    async with app_over(ScriptedAgent(project)).run_test(size=(100, 30)) as pilot:
        prompt_of(pilot).insert("a ")
        await paste(pilot, BIG)
        await pilot.press("alt+o")
        assert prompt_of(pilot).text == f"a {BIG}"
        await until(pilot, lambda: prompt_of(pilot).size.height == 9)
        await pilot.press("ctrl+underscore")
        assert prompt_of(pilot).text == f"a {CHIP}"
        await until(pilot, lambda: prompt_of(pilot).size.height == 1)
        await pilot.click("#prompt", offset=(5, 0), times=2)
        await until(pilot, lambda: prompt_of(pilot).text == f"a {BIG}")


@pytest.mark.exhaustive
async def test_a_queued_message_comes_back_with_its_chip(project: Path) -> None:
    agent = ScriptedAgent(project, [paused])
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        await send(pilot, "go")
        await paste(pilot, BIG)
        await pilot.press("enter", "up")
        assert prompt_of(pilot).text == CHIP
        await pilot.press("escape", "escape")
        await finished(pilot)
        assert prompt_of(pilot).written.full == BIG


async def test_what_a_paste_hides_is_stripped(project: Path) -> None:
    async with app_over(ScriptedAgent(project)).run_test(size=(100, 30)) as pilot:
        await paste(pilot, "\x1b[2J" + BIG.replace("\n", "\r\n") + "\x9b31m\x00")
        assert prompt_of(pilot).written.full == BIG


def test_what_is_big() -> None:
    assert not is_big("line\n" * (BIG_LINES - 1))
    assert is_big("line\n" * BIG_LINES)
    assert not is_big("x" * BIG_CHARACTERS)
    assert is_big("x" * (BIG_CHARACTERS + 1))


def test_two_texts_never_share_a_chip() -> None:
    pastes = {CHIP: BIG}
    assert chip_for(BIG, pastes) == CHIP
    assert chip_for(BIG.upper(), pastes) == "[pasted 240 lines #2]"
    assert chip_for("x" * 5000, {}) == "[pasted 5,000 characters]"


def test_chips_are_found_and_longer_names_go_first() -> None:
    pastes = {"[a]": "1", "[a][b]": "2"}
    assert chips_in("x [a][b] [a]", pastes) == [(2, 8), (9, 12)]
    assert Written("x [a][b] [a]", pastes).full == "x 2 1"


def test_what_a_paste_says_is_not_taken_for_a_chip() -> None:
    assert Written("[a] [b]", {"[a]": "[b]", "[b]": "[a]"}).full == "[b] [a]"


def test_joined_texts_keep_their_own_pastes() -> None:
    one, other = Written(f"one {CHIP}", {CHIP: BIG}), Written(f"two {CHIP}", {CHIP: BIG.upper()})
    assert joined([one, Written(""), other]).full == f"one {BIG}\n\ntwo {BIG.upper()}"

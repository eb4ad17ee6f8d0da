"""Offers above the prompt: taken by Tab or Enter, chosen by Up and Down, and never in the way."""

from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.pilot import Pilot

from cogency_tui.tui.prompt.completion import MOST_ROWS, Completion
from tests.tui.driving import app_over, conversation_of, main_of, prompt_of, shown, type_text, until
from tests.tui.scripted import ScriptedAgent, respond


def offers_of(pilot: Pilot[Any]) -> Completion:
    return main_of(pilot).query_one(Completion)


def offered(pilot: Pilot[Any]) -> list[str]:
    """The rows that are seen."""
    offers = offers_of(pilot)
    return [line.strip() for line in shown(offers).splitlines()] if offers.display else []


async def offer_files(pilot: Pilot[Any], text: str) -> None:
    """Type `text`, and wait until the files are read."""
    await type_text(pilot, text)
    await until(pilot, lambda: offered(pilot) and "Reading" not in offered(pilot)[0])


@pytest.mark.exhaustive
@pytest.mark.parametrize("key", ["tab", "enter"])
async def test_a_file_is_taken_and_one_types_on(project: Path, key: str) -> None:
    agent = ScriptedAgent(project, [respond("ok")])
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        await offer_files(pilot, "see @vie")
        assert offered(pilot)[0] == "src/api/views.py"
        await pilot.press(key)
        assert prompt_of(pilot).text == "see @src/api/views.py "
        assert offered(pilot) == []
        await type_text(pilot, "now")
        await pilot.press("enter")
        await until(pilot, lambda: agent.asked == ["see @src/api/views.py now"])


@pytest.mark.exhaustive
async def test_up_and_down_choose_and_the_text_stays(project: Path) -> None:
    async with app_over(ScriptedAgent(project)).run_test(size=(100, 30)) as pilot:
        await offer_files(pilot, "@")
        assert offered(pilot) == ["src/", "tests/", "README.md"]
        await pilot.press("down", "down", "down", "up")
        assert prompt_of(pilot).text == "@"
        await pilot.press("tab")
        assert prompt_of(pilot).text == "@tests/"


@pytest.mark.exhaustive
async def test_a_directory_leads_on_to_what_is_in_it(project: Path) -> None:
    async with app_over(ScriptedAgent(project)).run_test(size=(100, 30)) as pilot:
        await offer_files(pilot, "@s")
        await pilot.press("tab")
        assert offered(pilot) == ["src/api/", "src/app.py", "src/api/views.py"]
        await pilot.press("tab")
        assert prompt_of(pilot).text == "@src/api/"
        await type_text(pilot, "v")
        await pilot.press("tab")
        assert prompt_of(pilot).text == "@src/api/views.py "


@pytest.mark.exhaustive
async def test_a_slash_takes_the_directory_that_is_chosen(project: Path) -> None:
    async with app_over(ScriptedAgent(project)).run_test(size=(100, 30)) as pilot:
        await offer_files(pilot, "@ts")
        assert offered(pilot)[0] == "tests/"
        await pilot.press("slash")
        assert prompt_of(pilot).text == "@tests/"


@pytest.mark.exhaustive
async def test_a_directory_that_is_written_out_can_be_sent(project: Path) -> None:
    agent = ScriptedAgent(project, [respond("ok")])
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        await offer_files(pilot, "@src/")
        await pilot.press("enter")
        await until(pilot, lambda: agent.asked == ["@src/"])


@pytest.mark.exhaustive
async def test_escape_closes_the_offers_and_nothing_else(project: Path) -> None:
    async with app_over(ScriptedAgent(project)).run_test(size=(100, 30)) as pilot:
        await offer_files(pilot, "a @s")
        await pilot.press("escape")
        assert offered(pilot) == []
        assert prompt_of(pilot).text == "a @s"
        await type_text(pilot, "r")
        assert offered(pilot) == []
        await offer_files(pilot, " @t")
        assert offered(pilot)[0] == "tests/"


@pytest.mark.exhaustive
async def test_no_file_with_these_letters_is_said_and_enter_sends(project: Path) -> None:
    agent = ScriptedAgent(project, [respond("ok")])
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        await offer_files(pilot, "@qqq")
        assert offered(pilot) == ["No matching files"]
        await pilot.press("enter")
        await until(pilot, lambda: agent.asked == ["@qqq"])


@pytest.mark.exhaustive
async def test_the_files_are_read_anew_for_each_word(project: Path) -> None:
    async with app_over(ScriptedAgent(project)).run_test(size=(100, 30)) as pilot:
        await offer_files(pilot, "@new")
        (project / "new_one.py").touch()
        await type_text(pilot, " @new")
        await until(pilot, lambda: "new_one.py" in offered(pilot))


@pytest.mark.exhaustive
async def test_a_command_is_completed_and_its_choices_are_offered(project: Path) -> None:
    agent = ScriptedAgent(project)
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        await type_text(pilot, "/mod")
        assert [row.split()[0] for row in offered(pilot)[:2]] == ["/model", "/mode"]
        await pilot.press("down", "tab")
        assert prompt_of(pilot).text == "/mode "
        assert offered(pilot) == ["auto", "resume", "replay"]
        await type_text(pilot, "repl")
        assert offered(pilot) == ["replay"]
        await pilot.press("enter")
        await until(pilot, lambda: agent.mode == "replay")
        assert prompt_of(pilot).text == ""


@pytest.mark.exhaustive
async def test_a_command_that_takes_nothing_is_run_when_it_is_chosen(project: Path) -> None:
    async with app_over(ScriptedAgent(project)).run_test(size=(100, 30)) as pilot:
        await type_text(pilot, "/hel")
        await pilot.press("enter")
        await until(pilot, lambda: pilot.app.screen is not main_of(pilot))
        assert prompt_of(pilot).text == ""


@pytest.mark.exhaustive
async def test_a_command_that_is_written_out_is_sent_as_it_is(project: Path) -> None:
    agent = ScriptedAgent(project)
    async with app_over(agent).run_test(size=(100, 30), notifications=True) as pilot:
        await type_text(pilot, "/mode")
        await pilot.press("up", "up", "down")
        await pilot.press("enter")
        await until(pilot, lambda: prompt_of(pilot).text in ("", "/mode "))
        assert agent.mode == "auto"


@pytest.mark.exhaustive
async def test_keys_in_one_burst_take_what_was_typed(project: Path) -> None:
    async with app_over(ScriptedAgent(project)).run_test(size=(100, 30)) as pilot:
        await offer_files(pilot, "@")
        for key in ("v", "i", "e", "tab", "x"):
            pilot.app.post_message(events.Key(key, key if len(key) == 1 else "\t"))
        await until(pilot, lambda: prompt_of(pilot).text == "@src/api/views.py x")


@pytest.mark.exhaustive
async def test_offers_are_redrawn_in_place_and_lay_nothing_out(project: Path) -> None:
    for number in range(30):
        (project / f"file{number}.py").touch()
    async with app_over(ScriptedAgent(project)).run_test(size=(100, 30)) as pilot:
        await offer_files(pilot, "@f")
        widgets = list(main_of(pilot).walk_children())
        region, conversation = offers_of(pilot).region, conversation_of(pilot).region
        assert region.height == MOST_ROWS
        await type_text(pilot, "il")
        assert list(main_of(pilot).walk_children()) == widgets
        assert offers_of(pilot).region == region
        assert conversation_of(pilot).region == conversation


@pytest.mark.exhaustive
@pytest.mark.parametrize("size", [(160, 45), (80, 24), (60, 16)])
async def test_offers_lie_above_the_prompt_as_wide_as_it_is(project: Path, size: tuple[int, int]) -> None:
    for number in range(30):
        (project / f"file{number}.py").touch()
    async with app_over(ScriptedAgent(project)).run_test(size=size) as pilot:
        await offer_files(pilot, "@f")
        await pilot.pause()
        offers, box = offers_of(pilot).region, main_of(pilot).query_one("#prompt-box").region
        assert offers.bottom == box.y
        assert (offers.x, offers.right) == (box.x, box.right)
        assert offers.y >= 0


@pytest.mark.exhaustive
async def test_a_click_takes_a_row(project: Path) -> None:
    async with app_over(ScriptedAgent(project)).run_test(size=(100, 30)) as pilot:
        await offer_files(pilot, "@")
        await pilot.click(Completion, offset=(4, 1))
        await until(pilot, lambda: prompt_of(pilot).text == "@tests/")
        assert prompt_of(pilot).has_focus


async def test_what_comes_from_the_history_offers_nothing(project: Path) -> None:
    async with app_over(ScriptedAgent(project)).run_test(size=(100, 30)) as pilot:
        prompt_of(pilot).recall(["look at @src", "/mode"])
        await pilot.press("up")
        assert offered(pilot) == []
        await pilot.press("up")
        assert prompt_of(pilot).text == "look at @src"


@pytest.mark.exhaustive
async def test_offers_go_when_the_prompt_is_left(project: Path) -> None:
    async with app_over(ScriptedAgent(project)).run_test(size=(100, 30)) as pilot:
        await offer_files(pilot, "@")
        await pilot.press("f6")
        await until(pilot, lambda: not offered(pilot))

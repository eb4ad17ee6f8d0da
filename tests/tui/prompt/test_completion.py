"""Offers above the prompt: taken by Tab or Enter, chosen by Up and Down, and never in the way."""

from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.pilot import Pilot

from cogency_tui.store.prompt_text import Written
from cogency_tui.tui.kit.choice_dialog import ChoiceDialog
from cogency_tui.tui.prompt.completion import MOST_ROWS, Completion
from tests.tui.driving import (
    app_over,
    conversation_of,
    finished,
    main_of,
    prompt_of,
    shown,
    type_text,
    until,
)
from tests.tui.scripted import ScriptedAgent, respond


def offers_of(pilot: Pilot[Any]) -> Completion:
    return main_of(pilot).query_one(Completion)


def offered(pilot: Pilot[Any]) -> list[str]:
    """The rows that are seen."""
    offers = offers_of(pilot)
    return [line.strip() for line in shown(offers).splitlines()] if offers.display else []


async def offer(pilot: Pilot[Any], text: str, after: str = "") -> None:
    """Have `after` in the prompt, write `text` behind it, and wait until the files are read."""
    prompt_of(pilot).replace_text(after)
    await write(pilot, text)


async def write(pilot: Pilot[Any], text: str) -> None:
    """Write `text` at the cursor at once, and wait until the files are read."""
    prompt_of(pilot).insert(text)
    await pilot.pause()
    await until(pilot, lambda: offered(pilot) and "Loading" not in offered(pilot)[0])


async def take(pilot: Pilot[Any], key: str) -> str:
    """The text after `key` has taken an offer."""
    await pilot.press(key)
    return prompt_of(pilot).text


async def test_a_long_path_is_shortened_as_everywhere(project: Path) -> None:
    directory = project / "packages" / "checkout" / "integration_tests" / "payments"
    directory.mkdir(parents=True)
    (directory / "retry_policy.py").touch()
    async with app_over(ScriptedAgent(project)).run_test(size=(60, 16)) as pilot:
        await offer(pilot, "@retry_pol")
        assert offered(pilot) == ["p/checkout/integration_tests/payments/retry_policy.py"]


@pytest.mark.exhaustive
async def test_a_file_is_taken_by_tab_enter_slash_or_click_and_one_types_on(project: Path) -> None:
    agent = ScriptedAgent(project, [respond("ok")])
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        for key in ("tab", "enter"):
            await offer(pilot, "@vie", after="see ")
            assert offered(pilot)[0] == "src/api/views.py"
            assert await take(pilot, key) == "see @src/api/views.py "
            assert offered(pilot) == []
        await type_text(pilot, "now")
        await pilot.press("enter")
        await until(pilot, lambda: agent.asked == ["see @src/api/views.py now"])
        await finished(pilot)

        await offer(pilot, "@ts")
        assert offered(pilot)[0] == "tests/"
        assert await take(pilot, "slash") == "@tests/", "a slash takes the directory that is chosen"

        await offer(pilot, "@s")
        await pilot.press("tab")
        assert offered(pilot) == ["src/api/", "src/app.py", "src/api/views.py"], "a directory leads on"
        assert await take(pilot, "tab") == "@src/api/"
        await type_text(pilot, "v")
        assert await take(pilot, "tab") == "@src/api/views.py "

        await offer(pilot, "@")
        await pilot.click(Completion, offset=(4, 1))
        await until(pilot, lambda: prompt_of(pilot).text == "@tests/")
        assert prompt_of(pilot).has_focus

        # Keys in one burst take what was typed before them.
        await offer(pilot, "@")
        for key in ("v", "i", "e", "tab", "x"):
            pilot.app.post_message(events.Key(key, key if len(key) == 1 else "\t"))
        await until(pilot, lambda: prompt_of(pilot).text == "@src/api/views.py x")


@pytest.mark.exhaustive
async def test_offers_are_chosen_from_closed_and_left_while_the_text_stays(project: Path) -> None:
    async with app_over(ScriptedAgent(project)).run_test(size=(100, 30)) as pilot:
        await offer(pilot, "@")
        assert offered(pilot) == ["src/", "tests/", "README.md"]
        await pilot.press("down", "down", "down", "up")
        assert prompt_of(pilot).text == "@"
        assert await take(pilot, "tab") == "@tests/"

        await offer(pilot, "@s", after="a ")
        await pilot.press("escape")
        assert offered(pilot) == []
        assert prompt_of(pilot).text == "a @s"
        await type_text(pilot, "r")
        assert offered(pilot) == []
        await write(pilot, " @t")
        assert offered(pilot)[0] == "tests/"

        # The files are read anew for each word.
        await offer(pilot, "@new")
        (project / "new_one.py").touch()
        await type_text(pilot, " @new")
        await until(pilot, lambda: "new_one.py" in offered(pilot))

        await pilot.press("f6")
        await until(pilot, lambda: not offered(pilot))


@pytest.mark.exhaustive
async def test_what_is_written_out_or_has_no_match_is_sent(project: Path) -> None:
    agent = ScriptedAgent(project, [respond("ok")])
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        await offer(pilot, "@src/")
        await pilot.press("enter")
        await until(pilot, lambda: agent.asked == ["@src/"])
        await finished(pilot)

        await offer(pilot, "@qqq")
        assert offered(pilot) == ["No matching files"]
        await pilot.press("enter")
        await until(pilot, lambda: agent.asked == ["@src/", "@qqq"])


async def test_the_file_that_is_typed_out_is_sent(project: Path) -> None:
    (project / "calc.py").touch()
    (project / "tests/test_calc.py").touch()
    (project / ".gitignore").write_text("secret.py\n")
    (project / "secret.py").touch()
    agent = ScriptedAgent(project, [respond("ok")])
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        await offer(pilot, "@calc.py", after="explain ")
        assert offered(pilot) == ["calc.py", "tests/test_calc.py"]
        await pilot.press("enter")
        await until(pilot, lambda: agent.asked == ["explain @calc.py"])
        await finished(pilot)
        await offer(pilot, "@qq")
        await type_text(pilot, " @secret.py")
        assert offered(pilot) == [], "a file that git ignores is there"


async def test_a_path_outside_the_project_is_typed_and_sent(project: Path) -> None:
    agent = ScriptedAgent(project, [respond("ok")])
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        await offer(pilot, "@")
        await type_text(pilot, "/src/api")
        assert (prompt_of(pilot).text, offered(pilot)) == ("@/src/api", [])
        await type_text(pilot, " @~/src @../s")
        await pilot.press("enter")
        await until(pilot, lambda: agent.asked == ["@/src/api @~/src @../s"])


@pytest.mark.exhaustive
async def test_a_command_is_completed_with_its_choices_and_run(project: Path) -> None:
    agent = ScriptedAgent(project)
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        await type_text(pilot, "/mod")
        assert [row.split()[0] for row in offered(pilot)[:2]] == ["/model", "/mode"]
        await pilot.press("down")
        assert await take(pilot, "tab") == "/mode "
        assert offered(pilot) == ["auto", "resume", "replay"]
        await write(pilot, "repl")
        assert offered(pilot) == ["replay"]
        await pilot.press("enter")
        await until(pilot, lambda: agent.mode == "replay")
        assert prompt_of(pilot).text == ""

        # What is written out is run as it is, though another name begins with it.
        await offer(pilot, "/mode")
        assert offered(pilot)[0].split()[0] == "/mode"
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, ChoiceDialog))
        assert prompt_of(pilot).text == ""
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is main_of(pilot))
        assert agent.mode == "replay"

        # A command that takes nothing is run when it is chosen.
        await offer(pilot, "/hel")
        await pilot.press("enter")
        await until(pilot, lambda: pilot.app.screen is not main_of(pilot))
        assert prompt_of(pilot).text == ""


@pytest.mark.exhaustive
async def test_offers_lie_above_the_prompt_and_are_redrawn_in_place(project: Path) -> None:
    for number in range(30):
        (project / f"file{number}.py").touch()
    async with app_over(ScriptedAgent(project)).run_test(size=(160, 45)) as pilot:
        for size in ((160, 45), (80, 24), (60, 16), (100, 30)):
            prompt_of(pilot).replace_text("")
            await pilot.resize_terminal(*size)
            await until(pilot, lambda size=size: main_of(pilot).size == size)
            await offer(pilot, "@f")
            await pilot.pause()
            offers, box = offers_of(pilot).region, main_of(pilot).query_one("#prompt-box").region
            assert offers.bottom == box.y
            assert (offers.x, offers.right) == (box.x, box.right)
            assert offers.y >= 0

        widgets = list(main_of(pilot).walk_children())
        conversation = conversation_of(pilot).region
        assert offers.height == MOST_ROWS
        await type_text(pilot, "il")
        assert list(main_of(pilot).walk_children()) == widgets
        assert offers_of(pilot).region == offers
        assert conversation_of(pilot).region == conversation


async def test_what_comes_from_the_history_offers_nothing(project: Path) -> None:
    async with app_over(ScriptedAgent(project)).run_test(size=(100, 30)) as pilot:
        prompt_of(pilot).recall([Written("look at @src"), Written("/mode")])
        await pilot.press("up")
        assert offered(pilot) == []
        await pilot.press("up")
        assert prompt_of(pilot).text == "look at @src"


async def test_enter_after_a_mere_slash_runs_nothing(project: Path) -> None:
    agent = ScriptedAgent(project, [respond("hello")])
    async with app_over(agent).run_test() as pilot:
        await type_text(pilot, "hi")
        await pilot.press("enter")
        await finished(pilot)
        await write(pilot, "/")
        assert await take(pilot, "enter") == "/new"
        assert "hello" in shown(conversation_of(pilot))
        await pilot.press("enter")
        await until(pilot, lambda: "hello" not in shown(conversation_of(pilot)))

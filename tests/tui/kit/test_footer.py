"""The last line: the keys that work where one is."""

from pathlib import Path
from typing import Any

import pytest
from rich.color import Color
from textual.pilot import Pilot

from cogency_tui.agent.agent import Agent
from cogency_tui.config.schema import Settings
from cogency_tui.tui.help.screen import HelpScreen
from cogency_tui.tui.kit.dialogs import Choices
from cogency_tui.tui.kit.footer import Footer
from cogency_tui.tui.main.screen import MainScreen
from cogency_tui.tui.models.screen import PickerScreen
from cogency_tui.tui.prompt.completion import Completion
from cogency_tui.tui.recall.screen import RecallScreen
from cogency_tui.tui.review.screen import ReviewScreen
from cogency_tui.tui.theme_styles import theme_styles_of
from tests.peers.scripted import ScriptedProvider
from tests.tui.driving import (
    app_over,
    at_work,
    calls_of,
    files_of,
    finished,
    live_line_of,
    main_of,
    opened,
    prompt_of,
    send,
    shown,
    status_of,
    type_text,
    until,
)
from tests.tui.review.stage import answered, reviewing, shell, working, write
from tests.tui.scripted import ScriptedAgent, call, error, paused, respond, result


def footer(pilot: Pilot[Any]) -> Footer:
    return main_of(pilot).query_one(Footer)


@pytest.mark.exhaustive
async def test_it_names_the_keys_of_where_one_is_and_a_click_does_what_they_do(project: Path) -> None:
    agent = ScriptedAgent(project)
    async with app_over(agent).run_test(size=(160, 45)) as pilot:
        # A key of the prompt is the prompt's.
        prompt_of(pilot).replace_text("hello")
        await until(pilot, lambda: shown(footer(pilot)).startswith("Enter send"))
        await pilot.click(footer(pilot), offset=(0, 0))
        await until(pilot, lambda: agent.asked == ["hello"])

        files_of(pilot).focus()
        await until(pilot, lambda: "@ " in shown(footer(pilot)))
        assert "Enter send" not in shown(footer(pilot))
        place = shown(footer(pilot)).index("F1 help")
        await pilot.hover(footer(pilot), offset=(place, 0))
        assert str(footer(pilot).tooltip) == "Keys and commands (F1)"
        await pilot.click(footer(pilot), offset=(place, 0))
        await until(pilot, lambda: isinstance(pilot.app.screen, HelpScreen))


@pytest.mark.exhaustive
async def test_it_and_a_dialog_have_the_keys_that_a_person_chose(project: Path) -> None:
    settings = Settings(provider="openai", keys={"help": "ctrl+g", "picker.test": "f9"})
    async with app_over(ScriptedAgent(project, settings=settings)).run_test(size=(160, 45)) as pilot:
        assert "^G help" in shown(footer(pilot))
        await pilot.press("f2")
        await until(pilot, lambda: isinstance(pilot.app.screen, PickerScreen))
        offered = shown(pilot.app.screen.query_one(Choices))
        assert "F9 test" in offered
        assert "Enter show models" in offered
        assert "Esc close" in offered


async def test_it_shows_only_keys_that_do_something_and_the_palette_last(project: Path) -> None:
    turn = [call("c1", "write", file="new.py"), result("c1", "write"), paused]
    async with app_over(ScriptedAgent(project, turn)).run_test(size=(200, 45)) as pilot:
        line = footer(pilot)
        await until(pilot, lambda: shown(line).endswith("^P commands"))
        for dead in ("send", "interrupt", "review", "timeline", "new", "accept"):
            assert f" {dead}" not in shown(line)
        await send(pilot, "go")
        await until(pilot, lambda: shown(line).startswith("Esc interrupt"))
        await pilot.press("escape")
        await finished(pilot)
        await until(pilot, lambda: "^T timeline" in shown(line) and "interrupt" not in shown(line))
        await pilot.press("x")
        await until(pilot, lambda: shown(line).startswith("Enter send"))

        # A completion has keys of its own, and so has a dialog, which shows them itself.
        await pilot.press("backspace", "slash", "down")
        await until(pilot, lambda: shown(line) == "Enter run   Tab accept   Esc close")
        await pilot.press("escape", "backspace", "f1")
        await until(pilot, lambda: isinstance(pilot.app.screen, HelpScreen) and not shown(line))
        await pilot.press("escape")
        await until(pilot, lambda: shown(line).endswith("^P commands"))


async def test_it_says_what_enter_does_to_the_selected_offer(project: Path) -> None:
    async with app_over(ScriptedAgent(project)).run_test(size=(120, 40)) as pilot:
        line = footer(pilot)
        for typed, effect in (
            ("@app", "Enter accept   Esc close"),
            ("@src/", "Enter send   Tab accept   Esc close"),
            ("/tim", "Enter run   Tab accept   Esc close"),
            ("/permi", "Enter accept   Esc close"),
            ("/permissions", "Enter run   Tab accept   Esc close"),
            ("/permissions au", "Enter run   Tab accept   Esc close"),
        ):
            prompt_of(pilot).replace_text("")
            # The project's files are read only now.
            await type_text(pilot, typed)
            await until(pilot, lambda effect=effect: shown(line) == effect)
        prompt_of(pilot).replace_text("")
        await type_text(pilot, "/re")
        await until(pilot, lambda: shown(line) == "Enter accept   Esc close")
        rows = [offer.text for offer in main_of(pilot).query_one(Completion).rows]
        await pilot.press(*["down"] * rows.index("/redo"))
        await until(pilot, lambda: shown(line) == "Enter run   Tab accept   Esc close")


@pytest.mark.parametrize("width", [60, 80, 100, 160])
async def test_the_palette_is_there_at_every_width(project: Path, width: int) -> None:
    async with app_over(ScriptedAgent(project)).run_test(size=(width, 30)) as pilot:
        await until(pilot, lambda: shown(footer(pilot)).endswith("^P commands"))


async def test_it_shares_the_line_of_the_status_on_a_screen_of_few_rows(project: Path) -> None:
    async with app_over(ScriptedAgent(project)).run_test(size=(100, 30)) as pilot:
        assert footer(pilot).size.height == 1
        for size in ((100, 29), (60, 16)):
            await pilot.resize_terminal(*size)
            await until(pilot, lambda: footer(pilot).size.height == 0)
            await until(pilot, lambda: shown(status_of(pilot)).endswith("^P commands"))
            assert "openai/gpt-5.6-sol" in shown(status_of(pilot))
        await pilot.click(status_of(pilot), offset=(status_of(pilot).size.width - 3, 0))
        await until(pilot, lambda: not main_of(pilot).is_active)


async def test_the_keys_for_help_and_to_close_are_dropped_last(project: Path) -> None:
    agent = working(project, write("a.py", "x = 1\n"), write("b.py", "x = 1\n"), "done")
    async with reviewing(agent, size=(80, 24)) as reviewer:
        pilot = reviewer.pilot
        await reviewer.press("right", "n")
        line = shown(reviewer.screen.query_one(Footer))
        assert line.startswith("y keep   n revert   J next file")
        assert line.endswith("Esc close   F1 help   ^P commands")
        await pilot.press("escape", "escape")
        await until(pilot, lambda: shown(status_of(pilot)).endswith("F5 review   F1 help   ^P commands"))
        for key in ("ctrl+r", "ctrl+t"):
            await pilot.press(key)
            await until(pilot, lambda: not isinstance(pilot.app.screen, MainScreen))
            line = pilot.app.screen.query_one(Footer)
            await until(pilot, lambda line=line: shown(line).endswith("Esc close   F1 help   ^P commands"))
            await pilot.press("escape")
            await until(pilot, lambda: isinstance(pilot.app.screen, MainScreen))


async def test_a_preview_offers_the_key_that_closes_it(project: Path) -> None:
    async with app_over(ScriptedAgent(project)).run_test(size=(120, 24)) as pilot:
        await opened(pilot)
        files_of(pilot).focus()
        await pilot.press("end", "enter")
        await until(pilot, lambda: shown(status_of(pilot)).endswith("Esc close   F1 help   ^P commands"))


@pytest.mark.parametrize("reply", [write("new.py", "x = 1\n"), shell("echo 1 > new.py")])
async def test_the_review_is_offered_after_reopening_and_in_a_fork_whatever_became_of_the_edits(
    project: Path, reply: str
) -> None:
    agent = working(project, reply, "done")
    conversation_id = await answered(agent, "go")
    (project / "new.py").unlink()
    async with app_over(agent, conversation_id=conversation_id).run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: shown(footer(pilot)).startswith("F5 review"))
        await main_of(pilot).run_action("command('fork')")
        await until(pilot, lambda: main_of(pilot).bridge.conversation_id not in (None, conversation_id))
        await until(pilot, lambda: shown(footer(pilot)).startswith("F5 review"))
        await main_of(pilot).run_action("command('new_conversation')")
        await until(pilot, lambda: "review" not in shown(footer(pilot)))
    await agent.close()


@pytest.mark.parametrize(("width", "height"), [(160, 45), (100, 30), (80, 24), (60, 16)])
async def test_a_search_offers_its_own_keys_first(project: Path, width: int, height: int) -> None:
    async with app_over(ScriptedAgent(project, [respond("a needle")])).run_test(
        size=(width, height)
    ) as pilot:
        line = footer(pilot) if height >= 30 else status_of(pilot)
        await send(pilot, "go")
        await finished(pilot)
        await pilot.press("ctrl+f")
        await until(pilot, lambda: "Enter next" in shown(line))
        assert shown(line).endswith("^P commands")
        if height >= 30:
            assert shown(line).startswith("Enter next   ↑ previous")
            assert shown(line).endswith("Esc close   F1 help   ^P commands")


async def test_a_filter_offers_its_own_keys_first(project: Path) -> None:
    async with app_over(ScriptedAgent(project)).run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        files_of(pilot).focus()
        await pilot.press("slash")
        await until(pilot, lambda: shown(footer(pilot)).startswith("Enter apply   Esc clear"))


async def test_a_queued_message_that_is_edited_has_keys_of_its_own(project: Path) -> None:
    async with app_over(ScriptedAgent(project, [paused])).run_test(size=(160, 40)) as pilot:
        line, live = footer(pilot), live_line_of(pilot)
        await send(pilot, "go")
        await until(pilot, lambda: "Esc to interrupt" in shown(live))
        await send(pilot, "next")
        await pilot.press("up")
        keys = "Enter save   Esc cancel   Alt+T after this turn   Alt+X remove"
        await until(pilot, lambda: shown(line).startswith(keys))
        # The first Esc interrupts nothing.
        assert "interrupt" not in shown(line)
        await until(pilot, lambda: "Esc Esc to interrupt" in shown(live))
        await pilot.press("ctrl+u")
        await until(pilot, lambda: shown(line).startswith("Enter remove   Esc cancel"))
        await pilot.press("escape")
        await until(pilot, lambda: shown(line).startswith("Esc interrupt"))
        await until(pilot, lambda: " Esc to interrupt" in shown(live))
        await pilot.press("escape")
        await finished(pilot)


async def test_a_text_in_the_review_is_saved_with_the_key_that_its_title_names(project: Path) -> None:
    agent = working(project, write("a.py", "x = 1\n"), "done")
    async with reviewing(agent, size=(160, 40)) as reviewer:
        line = reviewer.screen.query_one(Footer)
        for key, save in (("c", "Enter save"), ("e", "^S save")):
            await reviewer.press(key)
            await reviewer.until(lambda save=save: shown(line).startswith(f"{save}   ^G editor"))
            assert "Esc cancel   F1 help" in shown(line)
            assert save in shown(reviewer.screen.query_one("#writing-title"))
            await reviewer.press("escape")


async def test_esc_is_named_by_what_it_does_first(project: Path) -> None:
    agent = working(project, write("a.py", "x = 1\n"), "done")
    async with reviewing(agent, size=(160, 40)) as reviewer:
        pilot, line = reviewer.pilot, reviewer.screen.query_one(Footer)
        for key in ("x", "escape"):
            await reviewer.press(key)
            label = "Esc clear selection" if key == "x" else "Esc close"
            await until(pilot, lambda label=label: label in shown(line))
        await reviewer.press("escape", "ctrl+r")
        await until(pilot, lambda: isinstance(pilot.app.screen, RecallScreen))
        line = pilot.app.screen.query_one(Footer)
        for key in ("g", "escape"):
            await pilot.press(key)
            label = "Esc clear search" if key == "g" else "Esc close"
            await until(pilot, lambda line=line, label=label: label in shown(line))


async def test_no_key_is_offered_for_what_there_is_not(project: Path) -> None:
    agent = working(project, write("a.py", "x = 1\n"), "done")
    async with reviewing(agent, size=(120, 40)) as reviewer:
        pilot, line = reviewer.pilot, reviewer.screen.query_one(Footer)
        assert "u undo" not in shown(line)
        await reviewer.press("y")
        await until(pilot, lambda: "u undo" in shown(line))
        await reviewer.press("u")
        await until(pilot, lambda: "u undo" not in shown(line))
        await pilot.press("escape")

        # No background command runs.
        await until(pilot, lambda: main_of(pilot).is_active)
        calls_of(pilot).focus()
        await until(pilot, lambda: "y copy" in shown(footer(pilot)))
        assert "x stop" not in shown(footer(pilot))

        await pilot.press("ctrl+r", "down")
        await until(pilot, lambda: isinstance(pilot.app.screen, RecallScreen))
        line = pilot.app.screen.query_one(Footer)
        await until(pilot, lambda: "d trash" in shown(line))
        assert "u undo" not in shown(line)


async def test_an_empty_review_offers_no_decisions(project: Path) -> None:
    async with at_work(Agent(ScriptedProvider("hello"), project=project, data=project / "data")) as pilot:
        await send(pilot, "hi")
        await finished(pilot)
        await pilot.press("f5")
        await until(pilot, lambda: isinstance(pilot.app.screen, ReviewScreen))
        line = pilot.app.screen.query_one(Footer)
        await until(pilot, lambda: "Esc close" in shown(line))
        await until(pilot, lambda: not {"keep", "revert", "edit", "comment"} & set(shown(line).split()))


async def test_it_can_be_switched_off(project: Path) -> None:
    agent = ScriptedAgent(project, settings=Settings(provider="openai", footer=False))
    async with app_over(agent).run_test(size=(100, 40)) as pilot:
        assert footer(pilot).size.height == 0
        await pilot.resize_terminal(100, 24)
        await pilot.pause()
        assert "commands" not in shown(status_of(pilot))


def colors_of(pilot: Pilot[Any], text: str) -> set[Color | None]:
    """The colors of all segments on the screen that consist of `text`."""
    strips = pilot.app.screen._compositor.render_strips()  # pyright: ignore[reportPrivateUsage]
    segments = (segment for strip in strips for segment in strip)
    return {each.style.color for each in segments if each.style is not None and each.text.strip() == text}


async def test_keys_have_one_color_wherever_they_are_shown(project: Path) -> None:
    refused = error("Nothing is listening on 127.0.0.1:1.", "Start the server.")
    async with app_over(ScriptedAgent(project, [refused])).run_test(size=(120, 40)) as pilot:
        text = {theme_styles_of(pilot.app.theme)("text").color}
        # In the conversation at its start, in the footer, and below a turn that failed.
        await until(pilot, lambda: colors_of(pilot, "Shift+Tab") == text == colors_of(pilot, "F1"))
        await send(pilot, "fix it")
        await until(pilot, lambda: colors_of(pilot, "Enter") == text)
        # In a list, and at the foot of a dialog.
        await pilot.press("ctrl+p")
        await until(pilot, lambda: colors_of(pilot, "^N") == text == colors_of(pilot, "Esc"))


async def test_a_narrow_line_has_room_for_the_keys_that_decide(project: Path) -> None:
    agent = working(project, write("a.py", "x = 1\n"), write("b.py", "x = 1\n"), "done")
    async with reviewing(agent, size=(60, 16)) as reviewer:
        line = reviewer.screen.query_one(Footer)
        assert shown(line) == "→ open  y keep  n revert  J next file  Esc  F1 help  ^P"
        await reviewer.press("enter", "n")
        assert shown(line) == "y keep  n revert  J next file  u undo  Esc  F1 help  ^P"
        await reviewer.pilot.hover(line, offset=(shown(line).index("Esc"), 0))
        assert str(line.tooltip) == "Clear selection, or close (Esc)"
        await reviewer.pilot.click(line, offset=(shown(line).index("J"), 0))
        await reviewer.until(lambda: reviewer.path == "b.py")
        await reviewer.pilot.resize_terminal(100, 30)
        await reviewer.until(lambda: shown(line).endswith("Esc close   F1 help   ^P commands"))
        assert shown(line).startswith("y keep   n revert   u undo   e edit")

"""The command palette: commands and actions in groups, with their keys, found by typing, the last ones first."""

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from cogency_tui.tui.commands import COMMANDS
from cogency_tui.tui.kit.cell_text import cells
from cogency_tui.tui.kit.choice_dialog import ChoiceDialog
from cogency_tui.tui.kit.dialogs import Choices
from cogency_tui.tui.kit.filter_line import FilterField
from cogency_tui.tui.kit.select_list import Heading
from cogency_tui.tui.palette import EntryRow, Palette, draw_row, entries_of, find_rows
from cogency_tui.tui.recall.screen import RecallScreen
from cogency_tui.tui.settings.screen import SettingsScreen
from tests.tui.driving import app_over, files_of, main_of, opened, prompt_of, send, shown, until
from tests.tui.scripted import ScriptedAgent


async def palette(pilot: Pilot[Any]) -> Palette:
    await pilot.press("ctrl+p")
    await until(pilot, lambda: isinstance(pilot.app.screen, Palette))
    screen = pilot.app.screen
    assert isinstance(screen, Palette)
    await until(pilot, lambda: screen.rows.rows)
    return screen


def titles(screen: Palette) -> list[str]:
    return [row.entry.title for row in screen.rows.rows if isinstance(row, EntryRow)]


def headings(screen: Palette) -> list[str]:
    return [row.text for row in screen.rows.rows if isinstance(row, Heading) and row.text]


async def test_what_has_one_key_is_one_entry(project: Path) -> None:
    async with app_over(ScriptedAgent(project)).run_test(size=(120, 60)) as pilot:
        screen = await palette(pilot)
        entries = [row.entry for row in screen.rows.rows if isinstance(row, EntryRow)]
        keys = [entry.key for entry in entries if entry.key]
        assert sorted(keys) == sorted(set(keys))
        assert [entry.command for entry in entries if entry.key == "^R"] == ["/resume"]


async def test_it_lists_commands_and_actions_in_groups_with_their_keys(project: Path) -> None:
    async with app_over(ScriptedAgent(project)).run_test(size=(120, 80)) as pilot:
        screen = await palette(pilot)
        assert headings(screen) == ["Conversation", "Review", "Model", "View", "Project", "Help"]
        commands = {row.entry.command for row in screen.rows.rows if isinstance(row, EntryRow)}
        assert {f"/{each.name}" for each in COMMANDS} <= commands
        lines = shown(screen.rows).splitlines()
        for title, command, key in (
            ("Choose a model", "/model", "F2"),
            ("Find in the conversation", "", "F"),
            ("Go to the next pane", "", "F6"),
            ("Maximize the focused pane", "", "F8"),
            ("Revert the changes of the last turn", "/undo", ""),
        ):
            (line,) = (each for each in lines if title in each)
            assert command in line
            assert line.endswith(key or command)


async def test_the_exact_command_comes_first_and_its_letters_are_marked(project: Path) -> None:
    agent = ScriptedAgent(project)
    async with app_over(agent).run_test(size=(120, 40)) as pilot:
        screen = await palette(pilot)
        await pilot.press(*"mode")
        await until(pilot, lambda: 0 < len(titles(screen)) < 10)
        row = screen.rows.row
        assert isinstance(row, EntryRow)
        assert (row.entry.command, row.marks, row.in_command) == ("/mode", (1, 2, 3, 4), True)
        await pilot.press("escape")
        await until(pilot, lambda: "Conversation" in headings(screen))
        assert screen.query_one(FilterField).value == ""

        # A command with choices offers them in a second step.
        await pilot.press(*"/mode", "enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, ChoiceDialog))
        await pilot.press("end", "enter")
        await until(pilot, lambda: agent.mode == "replay")


async def test_what_was_used_last_comes_first_also_in_the_next_run(project: Path) -> None:
    agent = ScriptedAgent(project)
    async with app_over(agent).run_test(size=(120, 40)) as pilot:
        await palette(pilot)
        await pilot.press(*"previous pane", "enter")
        await until(pilot, lambda: (agent.data / "recent-actions.json").exists())
    async with app_over(agent).run_test(size=(120, 40)) as pilot:
        screen = await palette(pilot)
        assert headings(screen)[0] == "Recent"
        assert titles(screen)[0] == "Go to the previous pane"
        (agent.data / "recent-actions.json").write_text("broken")
        await pilot.press("ctrl+p")
        await until(pilot, lambda: pilot.app.screen is main_of(pilot))
        assert "Recent" not in headings(await palette(pilot))


async def test_an_action_runs_by_key_or_mouse_on_what_had_the_focus(project: Path) -> None:
    async with app_over(ScriptedAgent(project)).run_test(size=(120, 40)) as pilot:
        files_of(pilot).focus()
        screen = await palette(pilot)
        assert headings(screen)[0] == "Files"
        await pilot.press(*"maximize")
        await until(pilot, lambda: len(titles(screen)) == 1)
        await pilot.click(screen.rows, offset=(4, 0))
        await until(pilot, lambda: not prompt_of(pilot).screen.query_one("#middle").display)


@pytest.mark.parametrize("size", [(160, 45), (60, 16)])
async def test_another_screen_offers_its_own_actions_first(project: Path, size: tuple[int, int]) -> None:
    async with app_over(ScriptedAgent(project)).run_test(size=size) as pilot:
        await send(pilot, "/recall")
        await until(pilot, lambda: isinstance(pilot.app.screen, RecallScreen))
        screen = pilot.app.screen
        entries = entries_of(screen, COMMANDS)
        assert "Recall" in [each.group for each in entries if not each.command]
        await palette(pilot)
        await pilot.press(*"/settings", "enter")
        await until(
            pilot,
            lambda: not isinstance(pilot.app.screen, RecallScreen) and screen not in pilot.app.screen_stack,
        )
        await until(pilot, lambda: "settings" in str(pilot.app.screen.query_one(".dialog").id))


@pytest.mark.parametrize("size", [(80, 24), (60, 16)])
async def test_titles_are_cut_after_a_word_and_keys_never(project: Path, size: tuple[int, int]) -> None:
    async with app_over(ScriptedAgent(project)).run_test(size=size) as pilot:
        screen = await palette(pilot)
        rows = [row for row in screen.rows.rows if isinstance(row, EntryRow)]
        assert len(rows) > len(COMMANDS)
        for row in rows:
            assert row.entry.is_listed
            line = draw_row(row, screen.rows.text_width, screen.rows.theme_styles, "surface").text
            assert cells(line) == screen.rows.text_width
            assert line.endswith(row.entry.key)
            assert row.entry.command in line
            title = line.removesuffix(row.entry.key).rstrip().removesuffix(row.entry.command).rstrip()
            whole = title.removesuffix(" …")
            assert row.entry.title.startswith(whole)
            assert title == row.entry.title or row.entry.title[len(whole)] in " ,;:"


async def test_a_row_uses_the_width_of_a_narrow_screen(project: Path) -> None:
    async with app_over(ScriptedAgent(project)).run_test(size=(40, 12)) as pilot:
        screen = await palette(pilot)
        lines = [" ".join(line.split()) for line in shown(screen.rows).splitlines()]
        assert "Start a new conversation /new ^N" in lines
        assert "Export this conversation /export" in lines
        assert "Recall and resume a … /resume ^R" in lines
        entry = next(
            row.entry
            for row in screen.rows.rows
            if isinstance(row, EntryRow) and row.entry.command == "/timeline"
        )
        line = draw_row(EntryRow(entry), 30, screen.rows.theme_styles, "surface").text
        assert line == "Browse the conversation …   ^T"


async def test_a_command_that_the_filter_found_is_shown_on_a_narrow_screen(project: Path) -> None:
    async with app_over(ScriptedAgent(project)).run_test(size=(60, 16)) as pilot:
        screen = await palette(pilot)
        await pilot.press(*"timel")
        await until(pilot, lambda: len(titles(screen)) == 1)
        (line,) = (each for each in shown(screen.rows).splitlines() if "/timeline" in each)
        assert "Browse the conversation event by event " in line


@pytest.mark.parametrize(
    ("typed", "first", "option"),
    [
        ("vim", "Settings: Vim keys", "vim"),
        ("spending limit per tu", "Settings: Spending limit per turn", "budget.turn.hard"),
        ("budget.turn.hard", "Settings: Spending limit per turn", "budget.turn.hard"),
    ],
)
async def test_an_option_is_found_by_label_or_key_and_opens_the_settings_there(
    project: Path, typed: str, first: str, option: str
) -> None:
    async with app_over(ScriptedAgent(project)).run_test(size=(120, 40)) as pilot:
        screen = await palette(pilot)
        assert not any(title.startswith("Settings:") for title in titles(screen))
        await pilot.press(*(key if key != " " else "space" for key in typed))
        await until(pilot, lambda: titles(screen)[:1] == [first])
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, SettingsScreen))
        settings = pilot.app.screen
        assert isinstance(settings, SettingsScreen)
        await until(pilot, lambda: settings.rows.key == option)


async def test_nothing_is_found_whose_letters_are_far_apart(project: Path) -> None:
    async with app_over(ScriptedAgent(project)).run_test(size=(120, 60)) as pilot:
        await opened(pilot)
        entries = entries_of(main_of(pilot), COMMANDS)
        for query, found in (
            ("cost", ["/cost", "/agents", "/status", "/usage"]),
            ("/theme", ["/theme", "theme"]),
            ("undo", ["/undo", "/redo"]),
            ("tmln", ["/timeline"]),
            ("max steps", ["max_iterations"]),
            ("/cost why", ["/cost why"]),
            ("permissions pl", ["/permissions plan"]),
            ("xyz", []),
        ):
            assert [
                row.entry.command for row in find_rows(entries, query) if isinstance(row, EntryRow)
            ] == found
        screen = await palette(pilot)
        await pilot.press(*"xyz")
        await until(pilot, lambda: shown(screen.rows).strip() == "No command matches “xyz”.")
        assert shown(screen.query_one(Choices)).strip() == "Esc clear filter"
        await pilot.press("enter")
        assert pilot.app.screen is screen


async def test_a_command_is_found_with_its_argument_and_run(project: Path) -> None:
    agent = ScriptedAgent(project)
    async with app_over(agent).run_test(size=(60, 16)) as pilot:
        screen = await palette(pilot)
        await pilot.press(*"mode", "space", *"rep")
        await until(pilot, lambda: titles(screen)[:1] == ["Session mode"])
        assert "/mode replay" in shown(screen.rows)
        await pilot.press("enter")
        await until(pilot, lambda: agent.mode == "replay")


async def test_an_exact_command_comes_before_the_option_of_that_name(project: Path) -> None:
    async with app_over(ScriptedAgent(project)).run_test(size=(120, 40)) as pilot:
        screen = await palette(pilot)
        await pilot.press(*"theme")
        await until(pilot, lambda: "Settings: Color theme" in titles(screen))
        assert titles(screen)[0] == "Choose a color theme"


async def test_settings_with_other_words_are_filtered_by_them(project: Path) -> None:
    async with app_over(ScriptedAgent(project)).run_test(size=(120, 40)) as pilot:
        await send(pilot, "/settings vim")
        await until(pilot, lambda: isinstance(pilot.app.screen, SettingsScreen))
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is main_of(pilot))
        await send(pilot, "/settings spending")
        await until(pilot, lambda: isinstance(pilot.app.screen, SettingsScreen))
        settings = pilot.app.screen
        assert isinstance(settings, SettingsScreen)
        assert settings.query_one("#settings-filter", FilterField).value == "spending"

"""`/settings` over a real agent and a real file: what is changed is written, and gone by."""

from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.pilot import Pilot
from textual.widgets import Input

from cogency_tui.agent.agent import Agent
from cogency_tui.config.layers import configure
from cogency_tui.config.options import options
from cogency_tui.config.schema import config_path
from cogency_tui.tui.app import CogencyApp
from cogency_tui.tui.kit.choice_dialog import ChoiceDialog
from cogency_tui.tui.kit.dialogs import Choices, Confirmation, QuestionBody
from cogency_tui.tui.kit.select_list import SelectList
from cogency_tui.tui.models.screen import PickerScreen
from cogency_tui.tui.permissions.screen import PermissionsScreen
from cogency_tui.tui.settings.rows import GroupRow, LinkRow, SettingRow
from cogency_tui.tui.settings.screen import EditedName, SettingsScreen
from cogency_tui.tui.settings.theme_picker import ThemePicker
from tests.tui.driving import app_over, at_work, main_of, send, shown, told, type_text, until
from tests.tui.looks import check_looks
from tests.tui.scripted import ScriptedAgent


def agent_in(project: Path) -> Agent:
    return Agent("offline", project=project, data=project.parent / "data")


def written() -> str:
    return config_path().read_text() if config_path().exists() else ""


def write(text: str) -> None:
    config_path().parent.mkdir(parents=True, exist_ok=True)
    config_path().write_text(text)


async def settings(pilot: Pilot[Any]) -> SelectList[Any]:
    await send(pilot, "/settings")
    await until(pilot, lambda: isinstance(pilot.app.screen, SettingsScreen))
    screen = pilot.app.screen
    assert isinstance(screen, SettingsScreen)
    listed = screen.rows
    await until(pilot, lambda: "Provider" in shown(listed))
    return listed


def key_of(listed: SelectList[Any]) -> str:
    row = listed.row
    return row.preference.option.key if isinstance(row, SettingRow) else ""


async def select(pilot: Pilot[Any], listed: SelectList[Any], key: str) -> None:
    screen = pilot.app.screen
    assert isinstance(screen, SettingsScreen)
    while key_of(listed) != key:
        if isinstance(listed.row, GroupRow) and not listed.row.open:
            await screen.action_open()
        before = listed.selected
        await screen.action_move(1)
        assert listed.selected != before
    await pilot.pause()


def note(pilot: Pilot[Any]) -> str:
    return " ".join(shown(pilot.app.screen.query_one("#settings-note")).split())


def line(listed: SelectList[Any], key: str) -> str:
    return next(row for row in shown(listed).splitlines() if row.endswith(f" {key}"))


async def choose(pilot: Pilot[Any], value: str) -> None:
    """Open the choices of the selected option, and choose `value`."""
    await pilot.press("enter")
    await until(pilot, lambda: isinstance(pilot.app.screen, ChoiceDialog))
    dialog = pilot.app.screen
    assert isinstance(dialog, ChoiceDialog)
    await until(pilot, lambda: dialog.rows.row)
    await pilot.press("home")
    while (row := dialog.rows.row) and row.value != value:
        await pilot.press("down")
    await pilot.press("enter")
    await until(pilot, lambda: pilot.app.screen is not dialog)


async def confirm(pilot: Pilot[Any], key: str) -> None:
    await until(pilot, lambda: isinstance(pilot.app.screen, Confirmation))
    await until(pilot, lambda: pilot.app.screen.query_one(QuestionBody).is_seen)
    await pilot.press(key)
    await until(pilot, lambda: isinstance(pilot.app.screen, SettingsScreen))


@pytest.mark.exhaustive
async def test_every_option_is_there_with_its_meaning_and_origin(project: Path) -> None:
    write('mode = "replay"\n')
    async with at_work(agent_in(project), (110, 60)) as pilot:
        listed = await settings(pilot)
        for key, option in options().items():
            await select(pilot, listed, key)
            await until(pilot, lambda meaning=option.meaning: meaning in note(pilot))
            assert option.label in line(listed, key)
        await pilot.press("home")
        await until(pilot, lambda: "--provider" in note(pilot))
        await select(pilot, listed, "mode")
        await until(pilot, lambda: "config.toml:1" in note(pilot))
        await select(pilot, listed, "dialect")
        await until(pilot, lambda: note(pilot).endswith("Default."))


def test_no_description_repeats_its_label() -> None:
    for key, option in options().items():
        assert not option.meaning.casefold().startswith(option.label.casefold()), key
    day = options()["budget.day.hard"]
    assert day.label == "Spending limit per day"
    assert day.meaning.startswith("Ask before exceeding this cost per day (local time), in USD")


async def test_choices_are_listed_with_their_meanings_and_escape_changes_nothing(project: Path) -> None:
    agent = agent_in(project)
    async with at_work(agent, (110, 40)) as pilot:
        listed = await settings(pilot)
        await select(pilot, listed, "permissions")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, ChoiceDialog))
        offered = pilot.app.screen.query_one("#choice-list")
        await until(pilot, lambda: "● ask" in shown(offered))
        for mode, meaning in options()["permissions"].means.items():
            assert f"{mode} " in shown(offered)
            assert meaning in shown(offered)
        await pilot.press("down", "escape")
        await until(pilot, lambda: isinstance(pilot.app.screen, SettingsScreen))
        assert agent.permissions == "ask"
        assert written() == ""


async def test_a_widening_of_safety_is_confirmed_and_u_restores_the_file_to_the_letter(
    project: Path,
) -> None:
    before = "# mine\nmode = 'replay' # single quotes\n"
    write(before)
    agent = agent_in(project)
    async with at_work(agent, (110, 40)) as pilot:
        listed = await settings(pilot)
        await select(pilot, listed, "permissions")
        await choose(pilot, "edits")
        await confirm(pilot, "n")
        assert (agent.permissions, written()) == ("ask", before)
        await choose(pilot, "edits")
        await confirm(pilot, "y")
        await until(pilot, lambda: agent.permissions == "edits")
        await until(pilot, lambda: "● Permissions" in shown(listed))

        # Less needs no question, and the default is more again.
        await choose(pilot, "plan")
        await until(pilot, lambda: agent.permissions == "plan")
        assert isinstance(pilot.app.screen, SettingsScreen)
        await pilot.press("delete")
        await confirm(pilot, "y")
        await until(pilot, lambda: agent.permissions == "ask")

        for mode in ("plan", "edits", "ask"):
            await pilot.press("u")
            if mode == "edits":
                await confirm(pilot, "y")
            await until(pilot, lambda mode=mode: agent.permissions == mode)
        assert written() == before
        await until(pilot, lambda: "Undone: Permissions" in note(pilot))
        assert "Undo" not in shown(pilot.app.screen.query_one(Choices))


@pytest.mark.parametrize("over", ["", "ask"])
async def test_an_undo_that_takes_a_protection_away_is_confirmed(
    project: Path, monkeypatch: pytest.MonkeyPatch, over: str
) -> None:
    """Also where the environment overrides the file, which is weaker from the next start on."""
    before = 'permissions = "auto"\n'
    write(before)
    if over:
        monkeypatch.setenv("COGENCY_PERMISSIONS", over)
    agent = agent_in(project)
    async with at_work(agent, (110, 40)) as pilot:
        listed = await settings(pilot)
        await select(pilot, listed, "permissions")
        await pilot.press("delete")
        await until(pilot, lambda: written() == "")
        await pilot.press("u")
        await until(pilot, lambda: isinstance(pilot.app.screen, Confirmation))
        await until(pilot, lambda: "ask → auto" in shown(pilot.app.screen.query_one(QuestionBody)))
        await confirm(pilot, "n")
        assert (agent.permissions, written()) == ("ask", "")
        await pilot.press("u")
        await confirm(pilot, "y")
        await until(pilot, lambda: written() == before)
        assert agent.permissions == (over or "auto")


async def test_a_weaker_file_is_confirmed_though_the_environment_is_as_weak(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COGENCY_PERMISSIONS", "auto")
    async with at_work(agent_in(project), (110, 40)) as pilot:
        listed = await settings(pilot)
        await select(pilot, listed, "permissions")
        await choose(pilot, "edits")
        await until(pilot, lambda: isinstance(pilot.app.screen, Confirmation))
        await until(pilot, lambda: "ask → edits" in shown(pilot.app.screen.query_one(QuestionBody)))
        assert "Save this for all conversations?" in shown(pilot.app.screen.query_one(QuestionBody))
        assert "n cancel" in shown(pilot.app.screen.query_one(Choices))
        await confirm(pilot, "n")
        assert written() == ""


async def test_undo_without_a_change_does_nothing(project: Path) -> None:
    async with at_work(agent_in(project), (110, 40)) as pilot:
        await settings(pilot)
        await pilot.press("u")
        await pilot.pause()
        assert isinstance(pilot.app.screen, SettingsScreen)
        assert written() == ""


async def test_what_was_chosen_for_the_session_is_shown_as_that(project: Path) -> None:
    write('permissions = "plan"\n')
    agent = agent_in(project)
    agent.permissions, agent.mode = "edits", "replay"
    async with at_work(agent, (110, 40)) as pilot:
        listed = await settings(pilot)
        await select(pilot, listed, "mode")
        assert line(listed, "mode").split() == ["Session", "mode", "until", "you", "quit", "replay", "mode"]
        await until(pilot, lambda: "In use until you quit. Configured: auto (default)." in note(pilot))
        await select(pilot, listed, "permissions")
        assert line(listed, "permissions").split()[1:-1] == ["Permissions", "until", "you", "quit", "edits"]
        await until(pilot, lambda: "Configured: plan (set in ~/" in note(pilot))

        # A choice here is for good, and the session has no other; "edits" would be more than what is saved.
        await choose(pilot, "edits")
        await confirm(pilot, "n")
        assert (agent.permissions, written()) == ("edits", 'permissions = "plan"\n')
        await choose(pilot, "plan")
        await until(pilot, lambda: agent.permissions == "plan")
        await until(pilot, lambda: "until you quit" not in line(listed, "permissions"))


async def test_the_theme_in_use_is_shown_and_marked_until_it_is_saved(project: Path) -> None:
    async with at_work(agent_in(project), (110, 40)) as pilot:
        await send(pilot, "/theme day")
        await until(pilot, lambda: pilot.app.theme == "day")
        await until(pilot, lambda: "Theme day until you quit" in told(pilot))
        listed = await settings(pilot)
        await select(pilot, listed, "theme")
        assert line(listed, "theme").split() == ["Color", "theme", "until", "you", "quit", "day", "theme"]
        await until(pilot, lambda: "In use until you quit. Configured: auto (default)." in note(pilot))
        await pilot.press("enter")
        await until(pilot, lambda: "● day" in shown(pilot.app.screen.query_one("#choice-list")))
        await pilot.press("escape", "escape")
        await until(pilot, lambda: pilot.app.screen is main_of(pilot))

        await send(pilot, "/theme")
        await until(pilot, lambda: isinstance(pilot.app.screen, ThemePicker))
        await pilot.press("ctrl+s")
        await until(pilot, lambda: written() == 'theme = "day"\n')
        await until(pilot, lambda: "Theme saved in" in told(pilot))
        listed = await settings(pilot)
        assert line(listed, "theme").split() == ["●", "Color", "theme", "day", "theme"]
        await select(pilot, listed, "theme")
        await until(pilot, lambda: "Del reset" in shown(pilot.app.screen.query_one(Choices)))
        await pilot.press("delete")
        await until(pilot, lambda: pilot.app.theme == "night")
        assert written() == ""


async def test_a_return_to_more_than_the_session_has_is_confirmed(project: Path) -> None:
    write('permissions = "auto"\n')
    agent = agent_in(project)
    agent.permissions = "ask"
    async with at_work(agent, (110, 40)) as pilot:
        listed = await settings(pilot)
        await select(pilot, listed, "permissions")
        await choose(pilot, "auto")
        await until(pilot, lambda: "ask → auto" in shown(pilot.app.screen.query_one(QuestionBody)))
        await confirm(pilot, "n")
        assert agent.permissions == "ask"
        await pilot.press("delete")
        await until(pilot, lambda: written() == "")
        assert agent.permissions == "ask"


async def test_a_model_chosen_for_the_session_is_shown_with_the_configured_one(project: Path) -> None:
    write('provider = "openai"\nmodel = "m-1"\n')
    agent = Agent(project=project, data=project.parent / "data")
    await agent.choose_model("openai", "m-2")
    async with at_work(agent, (60, 16)) as pilot:
        listed = await settings(pilot)
        assert "until you quit" not in shown(listed).split("\n")[1]
        assert shown(listed).split("\n")[2].split() == ["●", "Model", "until", "you", "quit", "m-2"]
        await select(pilot, listed, "model")
        await until(pilot, lambda: "Configured: m-1 (set in" in note(pilot))


async def test_an_undo_keeps_what_was_written_into_the_file_since(project: Path) -> None:
    write("# mine\n")
    async with at_work(agent_in(project), (110, 40)) as pilot:
        listed = await settings(pilot)
        await select(pilot, listed, "animation")
        await pilot.press("enter")
        await until(pilot, lambda: "animation = false" in written())
        await until(pilot, lambda: "turn on" in shown(pilot.app.screen.query_one(Choices)))
        write(written() + "# by hand\n")
        await pilot.press("u")
        await until(pilot, lambda: "has changed since" in note(pilot))
        assert written().endswith("# by hand\n")


async def test_rare_groups_are_folded_and_no_limit_is_called_none(project: Path) -> None:
    async with at_work(agent_in(project), (110, 40)) as pilot:
        listed = await settings(pilot)
        assert "Spending limit per turn" not in shown(listed)
        await select(pilot, listed, "budget.turn.hard")
        assert "none" in line(listed, "budget.turn.hard")
        await pilot.press("slash")
        await type_text(pilot, "idle")
        await until(pilot, lambda: "60 s" in line(listed, "idle_timeout"))


@pytest.mark.parametrize(("words", "key"), [("mouse", "mouse"), ("idle", "idle_timeout")])
async def test_the_row_that_a_filter_has_found_stays_selected_without_it(
    project: Path, words: str, key: str
) -> None:
    """Also one of a folded group."""
    async with at_work(agent_in(project), (80, 24)) as pilot:
        listed = await settings(pilot)
        await pilot.press("slash")
        await type_text(pilot, words)
        await until(pilot, lambda: key_of(listed) == key)
        await pilot.press("enter", "escape")
        await until(pilot, lambda: len(listed.rows) > 20)
        assert key_of(listed) == key
        assert options()[key].label in shown(listed)


async def test_letters_typed_right_after_the_key_of_the_filter_go_there(project: Path) -> None:
    async with app_over(ScriptedAgent(project)).run_test(size=(110, 40)) as pilot:
        listed = await settings(pilot)
        for key in ("slash", "v", "i", "m"):
            pilot.app.post_message(events.Key(key, "/" if key == "slash" else key))
        await until(pilot, lambda: "Vim keys" in shown(listed) and "Provider" not in shown(listed))


async def test_a_filter_without_a_match_says_so(project: Path) -> None:
    async with at_work(agent_in(project), (110, 40)) as pilot:
        listed = await settings(pilot)
        await pilot.press("slash")
        await type_text(pilot, "nonesuch")
        await until(pilot, lambda: shown(listed).strip() == "No matching settings.")
        await pilot.press("enter", "enter", "delete")
        assert isinstance(pilot.app.screen, SettingsScreen)
        await pilot.press("escape")
        await until(pilot, lambda: key_of(listed) == "provider")


async def test_a_list_is_edited_in_the_file_as_one(project: Path) -> None:
    async with at_work(agent_in(project), (110, 40)) as pilot:
        listed = await settings(pilot)
        await pilot.press("slash")
        await type_text(pilot, "private")
        await until(pilot, lambda: key_of(listed) == "history.private")
        await until(pilot, lambda: 'Edit the list in the file: private = ["…"] in' in note(pilot))


async def test_a_remark_is_about_the_changed_row_alone(project: Path) -> None:
    async with at_work(agent_in(project), (110, 40)) as pilot:
        listed = await settings(pilot)
        await pilot.press("slash")
        await type_text(pilot, "mouse")
        await until(pilot, lambda: key_of(listed) == "mouse")
        await pilot.press("enter", "enter")
        await until(pilot, lambda: "✓ Saved." in note(pilot))
        await pilot.press("escape")
        await until(pilot, lambda: len(listed.rows) > 20)
        assert key_of(listed) == "mouse"
        assert "✓ Saved." in note(pilot)
        await pilot.press("slash")
        await type_text(pilot, "provider")
        await until(pilot, lambda: key_of(listed) == "provider")
        await until(pilot, lambda: "✓" not in note(pilot))


@pytest.mark.parametrize("size", [(110, 40), (80, 24), (60, 16)])
async def test_the_field_covers_neither_the_help_nor_the_keys(project: Path, size: tuple[int, int]) -> None:
    async with at_work(agent_in(project), size) as pilot:
        listed = await settings(pilot)
        await select(pilot, listed, "max_iterations")
        await pilot.press("enter")
        field = pilot.app.screen.query_one("#settings-field", Input)
        await until(pilot, lambda: field.has_focus and field.region)
        keys = pilot.app.screen.query_one(Choices).region
        help_text = pilot.app.screen.query_one("#settings-note").region
        assert listed.region.bottom <= field.region.y < help_text.y < help_text.bottom <= keys.y
        assert pilot.app.screen.region.contains_region(keys)
        name = pilot.app.screen.query_one(EditedName)
        assert shown(name).strip() == "Maximum steps per turn"
        assert (name.region.y, name.region.right) == (field.region.y, field.region.x)


@pytest.mark.exhaustive
async def test_a_text_is_checked_as_it_is_typed_and_written_when_it_can_be(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inline = "budget = { turn = { hard = 1 } }\n"
    write(f"# mine\nmax_iterations = 5 # few\n{inline}")
    monkeypatch.setenv("COGENCY_MODE", "replay")
    agent = agent_in(project)
    async with at_work(agent, (110, 40)) as pilot:
        listed = await settings(pilot)
        await select(pilot, listed, "max_iterations")
        await pilot.press("enter")
        field = pilot.app.screen.query_one("#settings-field", Input)
        await until(pilot, lambda: field.has_focus)
        assert field.value == "5"
        await type_text(pilot, "x")
        await until(pilot, lambda: "✗ Must be a whole number from 1 to 1,000." in note(pilot))
        await pilot.press("enter")
        assert "max_iterations = 5" in written()
        await pilot.press("backspace")
        await type_text(pilot, "50")
        await until(pilot, lambda: "✗" not in note(pilot))
        await pilot.press("enter")
        await until(pilot, lambda: agent.settings.max_iterations == 50)
        assert written() == f"# mine\nmax_iterations = 50 # few\n{inline}"
        await until(pilot, lambda: not field.has_focus)
        await pilot.press("enter")
        await until(pilot, lambda: field.has_focus)
        await pilot.press("9", "escape")
        await until(pilot, lambda: not field.has_focus)
        assert isinstance(pilot.app.screen, SettingsScreen)
        assert "= 50 #" in written()

        # A form that cannot be changed.
        await pilot.press("home")
        await select(pilot, listed, "budget.day.hard")
        await pilot.press("enter")
        await until(pilot, lambda: field.has_focus)
        await pilot.press("5", "enter")
        await until(pilot, lambda: "has a form that cannot be edited automatically" in note(pilot))
        assert written() == f"# mine\nmax_iterations = 50 # few\n{inline}"
        await until(pilot, lambda: not field.has_focus)

        # What goes before the file is told.
        await pilot.press("home")
        await select(pilot, listed, "mode")
        await until(pilot, lambda: "COGENCY_MODE" in note(pilot))
        await choose(pilot, "auto")
        await until(pilot, lambda: "COGENCY_MODE overrides it until you quit" in note(pilot))
        assert agent.mode == "replay"
        assert 'mode = "auto"' in written()


@pytest.mark.exhaustive
async def test_theme_and_footer_are_seen_at_once_and_the_list_leads_to_the_other_screens(
    project: Path,
) -> None:
    async with at_work(agent_in(project), (110, 40)) as pilot:
        listed = await settings(pilot)
        first = listed.row
        await pages_and_ends_are_reached_by_their_keys(pilot, listed)
        assert listed.row == first

        await select(pilot, listed, "theme")
        await choose(pilot, "day")
        await until(pilot, lambda: pilot.app.theme == "day")
        await until(pilot, lambda: 'theme = "day"' in written())
        await select(pilot, listed, "footer")
        await pilot.press("enter")
        await until(pilot, lambda: main_of(pilot).has_class("-no-footer"))
        await select(pilot, listed, "mouse")
        await pilot.press("enter")
        await until(pilot, lambda: "Takes effect after a restart" in note(pilot))

        await pilot.press("slash")
        await type_text(pilot, "rules")
        await until(pilot, lambda: "Provider" not in shown(listed))
        await pilot.press("enter")
        assert isinstance(listed.row, LinkRow)
        await until(pilot, lambda: "Enter open" in shown(pilot.app.screen.query_one(Choices)))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, PermissionsScreen))


async def test_esc_in_another_screen_returns_to_the_settings_which_show_its_changes(project: Path) -> None:
    write('[providers.mine]\nbase_url = "http://127.0.0.1:9"\nmodel = "m"\n')
    agent = agent_in(project)
    async with at_work(agent, (110, 40)) as pilot:
        listed = await settings(pilot)
        await pilot.press("end", "up", "up", "enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, PermissionsScreen))
        await until(pilot, lambda: "● ask" in shown(pilot.app.screen.query_one("#permissions-list")))
        await pilot.press("up", "enter", "escape")
        await until(pilot, lambda: isinstance(pilot.app.screen, SettingsScreen))
        assert agent.permissions == "plan"
        assert isinstance(listed.row, LinkRow)
        await pilot.press("home")
        await until(
            pilot, lambda: line(listed, "permissions").split()[1:5] == ["until", "you", "quit", "plan"]
        )

        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, PickerScreen))
        await type_text(pilot, "mine")
        await pilot.press("enter", "enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, SettingsScreen))
        await until(pilot, lambda: "until you quit  mine" in line(listed, "provider"))
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is main_of(pilot))


async def pages_and_ends_are_reached_by_their_keys(pilot: Pilot[Any], listed: SelectList[Any]) -> None:
    await pilot.press("pagedown")
    page = listed.selected
    assert page > 10
    await pilot.press("end")
    assert isinstance(listed.row, LinkRow)
    assert "More settings" in shown(listed)
    await pilot.press("pageup")
    assert listed.selected < len(listed.rows) - 10
    await pilot.press("home")
    assert shown(listed).splitlines()[0].strip() == listed.rows[0].text, "with its heading"


@pytest.mark.exhaustive
@pytest.mark.parametrize(("size", "theme"), [((100, 30), "night"), ((80, 24), "day")])
async def test_looks(project: Path, size: tuple[int, int], theme: str) -> None:
    write('theme = "night"\n\n[budget.turn]\nhard = 0.5\n')

    def make() -> CogencyApp:
        agent = ScriptedAgent(project)
        agent.configured = configure()
        return app_over(agent)

    async def prepare(pilot: Pilot[Any]) -> None:
        listed = await settings(pilot)
        await select(pilot, listed, "budget.turn.hard")
        await until(pilot, lambda: "exceeding this cost per turn" in note(pilot))

    await check_looks("settings", make, prepare, sizes=[size], themes=[theme])


async def test_a_name_that_is_typed_filters_and_resets_nothing(project: Path) -> None:
    write('theme = "day"\n')
    async with at_work(agent_in(project), (110, 40)) as pilot:
        await settings(pilot)
        await type_text(pilot, "dark")
        await until(pilot, lambda: pilot.app.screen.query_one("#settings-filter", Input).value == "dark")
    assert written() == 'theme = "day"\n'

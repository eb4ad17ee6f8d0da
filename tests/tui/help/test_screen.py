"""Help for where one is: made from the bindings, found by typing."""

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from cogency_tui.tui.action_groups import GROUPS
from cogency_tui.tui.help.screen import HelpScreen
from cogency_tui.tui.kit.dialogs import Choices, DialogBody
from cogency_tui.tui.kit.filter_line import FilterField
from cogency_tui.tui.settings.theme_picker import ThemePicker
from tests.tui.driving import app_over, files_of, prompt_of, send, shown, until
from tests.tui.look_series import check_series
from tests.tui.looks import check_looks
from tests.tui.scripted import ScriptedAgent


def body(pilot: Pilot[Any]) -> str:
    return shown(pilot.app.screen.query_one("#help-body"))


async def help_of(pilot: Pilot[Any]) -> str:
    await pilot.press("f1")
    await until(pilot, lambda: isinstance(pilot.app.screen, HelpScreen))
    return body(pilot)


async def test_the_keys_name_what_esc_does_first(project: Path) -> None:
    async with app_over(ScriptedAgent(project)).run_test(size=(120, 40)) as pilot:
        await help_of(pilot)
        keys = pilot.app.screen.query_one(Choices)
        await until(pilot, lambda: shown(keys).endswith("Esc close"))
        await pilot.press("p")
        await until(pilot, lambda: shown(keys).endswith("Esc clear filter"))
        await pilot.press("escape")
        await until(pilot, lambda: shown(keys).endswith("Esc close"))


async def test_what_works_just_here_stands_first_and_is_searched_by_key_command_and_meaning(
    project: Path,
) -> None:
    async with app_over(ScriptedAgent(project)).run_test(size=(120, 40)) as pilot:
        # A question mark opens it where one does not write.
        await pilot.press("question_mark")
        assert not isinstance(pilot.app.screen, HelpScreen)
        files_of(pilot).focus()
        await pilot.press("question_mark")
        await until(pilot, lambda: isinstance(pilot.app.screen, HelpScreen))
        assert body(pilot).strip().startswith("Files")
        await pilot.press("f1")
        prompt_of(pilot).focus()
        before = await help_of(pilot)
        assert before.strip().startswith("Prompt")

        await pilot.press("pagedown")
        await until(pilot, lambda: body(pilot) != before)
        await pilot.press("pageup")
        await until(pilot, lambda: body(pilot) == before)

        for typed, found in (("shift+tab", "permission mode"), ("/compact", "Summarize"), ("model", "F2")):
            await pilot.press("slash" if typed.startswith("/") else typed[0])
            pilot.app.screen.query_one(FilterField).value = typed
            await until(pilot, lambda found=found: found in body(pilot) and "Ctrl+N" not in body(pilot))
            await pilot.press("escape")
        await pilot.press(*"zzz")
        await until(pilot, lambda: "No matches." in body(pilot))


@pytest.mark.parametrize("at_prompt", [True, False])
async def test_help_names_what_a_message_can_begin_with(project: Path, at_prompt: bool) -> None:
    async with app_over(ScriptedAgent(project)).run_test(size=(80, 24)) as pilot:
        (prompt_of(pilot) if at_prompt else files_of(pilot)).focus()
        await help_of(pilot)
        lines = [line.strip() for line in await whole_help(pilot)]
        first = lines.index("Prompt") + 1
        prefixes = [line.split()[0] for line in lines[first : first + 3]]
        assert prefixes == ["!command", "@file", "/command"]
        assert (lines[0] == "Prompt") == at_prompt
        assert lines.count("Prompt") == 1


async def test_help_has_the_groups_of_the_palette_in_two_columns_where_there_is_room(project: Path) -> None:
    async with app_over(ScriptedAgent(project)).run_test(size=(130, 45)) as pilot:
        lines = (await help_of(pilot)).splitlines()
        first = next(line for line in lines if "Prompt" in line)
        others = first.replace("Prompt", "").split()
        assert len(others) == 1
        assert others[0] in GROUPS
        await pilot.press("f1")
        await pilot.resize_terminal(100, 45)
        await until(pilot, lambda: pilot.app.screen.size.width == 100)
        assert (await help_of(pilot)).splitlines()[0].split() == ["Prompt"]
        titles = [line.strip() for line in await whole_help(pilot) if line.strip() in GROUPS]
        assert titles == [group for group in GROUPS if group not in ("Custom", "Skills")]


async def whole_help(pilot: Pilot[Any]) -> list[str]:
    """Every line of the help, from the first to the last."""
    lines: list[str] = []
    view = pilot.app.screen.query_one(DialogBody)
    for y in range(view.virtual_size.height):
        line = view.line_at(y)
        lines.append(line.text if line else "")
    return lines


@pytest.mark.exhaustive
async def test_what_help_found_and_the_theme_picker(project: Path) -> None:
    async def find(pilot: Pilot[Any]) -> None:
        await help_of(pilot)
        await pilot.press(*"pane")
        await until(pilot, lambda: "Nothing" not in body(pilot) and "Ctrl+N" not in body(pilot))

    async def pick(pilot: Pilot[Any]) -> None:
        await send(pilot, "/theme")
        await until(pilot, lambda: isinstance(pilot.app.screen, ThemePicker))

    # The line of the theme in force is marked, and each theme has its own colours there.
    await check_series(
        lambda: app_over(ScriptedAgent(project)),
        ("help-found", find),
        ("theme-picker", pick),
        in_one_theme=("theme-picker",),
    )


@pytest.mark.exhaustive
async def test_one_pane_alone(project: Path) -> None:
    async def alone(pilot: Pilot[Any]) -> None:
        files_of(pilot).focus()
        await pilot.press("f8")
        await pilot.pause()

    await check_looks(
        "files-alone", lambda: app_over(ScriptedAgent(project)), alone, sizes=((100, 30), (60, 16))
    )


@pytest.mark.parametrize("size", [(100, 60), (40, 12)])
async def test_a_page_is_what_is_visible_less_one_row(project: Path, size: tuple[int, int]) -> None:
    async with app_over(ScriptedAgent(project)).run_test(size=size) as pilot:
        last = (await help_of(pilot)).splitlines()[-1]
        await pilot.press("pagedown")
        await until(pilot, lambda: pilot.app.screen.query_one(DialogBody).scroll_offset.y)
        view = pilot.app.screen.query_one(DialogBody)
        assert body(pilot).splitlines()[0] == last or view.scroll_offset.y == view.max_scroll_y
        await pilot.press("pageup")
        await until(pilot, lambda: body(pilot).splitlines()[-1] == last)

"""The box of a dialog: as high as its contents, and its keys always on the screen."""

from pathlib import Path

import pytest
from textual.pilot import Pilot

from cogency_tui.agent.agent import Agent
from cogency_tui.tui.app import CogencyApp
from cogency_tui.tui.kit.dialogs import Choices, DialogBody, DialogBox
from cogency_tui.tui.models.screen import PickerScreen
from cogency_tui.tui.settings.screen import SettingsScreen
from cogency_tui.tui.settings.theme_picker import ThemePicker
from tests.tui.driving import app_over, at_work, finished, seen, send, shown, until
from tests.tui.scripted import ScriptedAgent


async def opened(pilot: Pilot[int], command: str) -> DialogBox:
    await send(pilot, command)
    await until(pilot, lambda: pilot.app.screen.query_one(DialogBox).region)
    await pilot.pause()
    return pilot.app.screen.query_one(DialogBox)


def app_in(project: Path) -> CogencyApp:
    return app_over(ScriptedAgent(project))


def offline(project: Path) -> Agent:
    return Agent("offline", project=project, data=project.parent / "data")


@pytest.mark.parametrize("command", ["/settings", "/model", "/theme", "/help"])
@pytest.mark.parametrize("size", [(80, 24), (60, 16)])
async def test_the_keys_are_on_the_screen_however_small_it_is(
    project: Path, command: str, size: tuple[int, int]
) -> None:
    async with app_in(project).run_test(size=size) as pilot:
        box = await opened(pilot, command)
        keys = box.query_one(Choices).region
        assert keys.height == 1
        assert box.region.contains_region(keys)
        assert pilot.app.screen.region.contains_region(box.region)


@pytest.mark.parametrize(
    "command", ["/settings", "/model", "/help", "/theme", "/permissions", "/profile show", "/mcp", "/doctor"]
)
async def test_even_the_smallest_screen_shows_the_way_out(project: Path, command: str) -> None:
    async with at_work(offline(project), (20, 5)) as pilot:
        await opened(pilot, command)
        await until(pilot, lambda: "Esc" in seen(pilot).splitlines()[-1])


async def test_it_is_as_high_as_its_list_and_does_not_move_while_that_is_filtered(project: Path) -> None:
    async with app_in(project).run_test(size=(120, 45)) as pilot:
        box = await opened(pilot, "/model")
        screen = pilot.app.screen
        assert isinstance(screen, PickerScreen)
        rows = screen.rows
        assert rows.region.height == len(rows.rows)
        before = box.region
        await pilot.press(*"oll")
        await until(pilot, lambda: len(rows.rows) == 1)
        await pilot.pause()
        assert box.region == before


async def test_it_takes_the_whole_of_a_short_screen(project: Path) -> None:
    async with app_in(project).run_test(size=(80, 20)) as pilot:
        box = await opened(pilot, "/settings")
        assert box.region == pilot.app.screen.region


@pytest.mark.parametrize("command", ["/settings", "/model", "/help", "/theme"])
async def test_no_slivers_of_the_conversation_are_beside_it(project: Path, command: str) -> None:
    async with app_in(project).run_test(size=(60, 45)) as pilot:
        box = await opened(pilot, command)
        for width in range(60, 210, 10):
            await pilot.resize_terminal(width, 45)
            await until(pilot, lambda width=width: pilot.app.size.width == width)
            await pilot.pause()
            beside = pilot.app.size.width - box.region.width
            assert beside == 0 or box.region.x >= 7


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (60, 16), (40, 12)])
async def test_themes_are_previewed_above_their_list(project: Path, size: tuple[int, int]) -> None:
    async with app_in(project).run_test(size=size) as pilot:
        box = await opened(pilot, "/theme")
        assert (box.region.x, box.region.width, box.region.bottom) == (0, *size)
        assert box.region.y > size[1] // 3
        assert box.query_one(Choices).region.bottom <= size[1]


async def test_themes_are_previewed_in_the_conversation_also_from_the_settings(project: Path) -> None:
    async with app_in(project).run_test(size=(120, 45)) as pilot:
        await opened(pilot, "/settings")
        settings = pilot.app.screen
        assert isinstance(settings, SettingsScreen)
        before = seen(pilot)
        assert "explain what this project does" not in before
        # The last row is /theme.
        await pilot.press("end", "enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, ThemePicker))
        await until(pilot, lambda: "explain what this project does" in seen(pilot))
        assert "all defaults" not in seen(pilot)
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is settings and "all defaults" in seen(pilot))


@pytest.mark.parametrize("command", ["/profile show", "/mcp"])
async def test_the_keys_are_at_the_bottom_of_a_small_screen_though_the_list_is_empty(
    project: Path, command: str
) -> None:
    async with at_work(offline(project), (60, 16)) as pilot:
        box = await opened(pilot, command)
        await until(pilot, lambda: box.query_one(Choices).region.y == 15)


async def test_what_arrives_is_shown_though_the_box_stays_as_high_as_it_is(project: Path) -> None:
    async with at_work(offline(project), (60, 16)) as pilot:
        box = await opened(pilot, "/doctor")
        await until(pilot, lambda: "✓ program" in shown(box.query_one(DialogBody)))


async def test_the_key_that_closes_a_dialog_is_dropped_last(project: Path) -> None:
    async with app_in(project).run_test(size=(40, 16)) as pilot:
        await opened(pilot, "/model")
        await pilot.press("enter")
        keys = pilot.app.screen.query_one(Choices)
        await until(pilot, lambda: shown(keys).strip() == "Enter use   Esc providers")
        await pilot.resize_terminal(60, 16)
        await until(pilot, lambda: shown(keys).strip() == "Enter use   ^S save as default   Esc providers")
        await pilot.resize_terminal(80, 16)
        await until(pilot, lambda: "^T test   Esc providers" in shown(keys))


@pytest.mark.parametrize("command", ["/turns", "/theme"])
async def test_a_list_without_rows_offers_only_the_way_back(project: Path, command: str) -> None:
    async with at_work(offline(project), (80, 24)) as pilot:
        await send(pilot, "hi")
        await finished(pilot)
        box = await opened(pilot, command)
        keys = box.query_one(Choices)
        await until(pilot, lambda: shown(keys).strip().startswith("Enter"))
        await pilot.press(*"xyzzy")
        await until(pilot, lambda: shown(keys).strip() in ("Esc clear filter", "Esc cancel"))

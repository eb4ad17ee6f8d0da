"""Themes while the program runs: chosen, tried, kept, and read again when their file is saved."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import asdict
from rich.color_triplet import ColorTriplet
from textual.pilot import Pilot

from cogency_tui.config.layers import load_settings
from cogency_tui.config.schema import Settings
from cogency_tui.config.themes import COLOURLESS, load_palette, theme_directories
from cogency_tui.tui.settings.theme_picker import ThemePicker
from cogency_tui.tui.terminal.input import BackgroundReport
from cogency_tui.tui.theme_styles import forget_themes
from tests.tui.driving import app_over, conversation_of, main_of, send, shown, status_of, told, until
from tests.tui.scripted import ScriptedAgent

NIGHT = (theme_directories()[-1] / "night.toml").read_text()
SIZE = (120, 40)


@pytest.fixture(autouse=True)
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The person's folder of themes, with `mine` in it."""
    monkeypatch.setenv("COGENCY_CONFIG", str(tmp_path / "config" / "config.toml"))
    folder = tmp_path / "config" / "themes"
    folder.mkdir(parents=True)
    (folder / "mine.toml").write_text(NIGHT)
    yield folder
    forget_themes()


def agent_with(project: Path, theme: str) -> ScriptedAgent:
    return ScriptedAgent(project, settings=Settings(provider="openai", theme=theme))


def colours_of(pilot: Pilot[Any]) -> set[str]:
    """Every colour on the screen."""
    strips = pilot.app.screen._compositor.render_strips()  # pyright: ignore[reportPrivateUsage]
    styles = [segment.style for strip in strips for segment in strip if segment.style]
    colours = [colour for style in styles for colour in (style.color, style.bgcolor) if colour]
    return {colour.triplet.hex if colour.triplet else colour.name for colour in colours}


@pytest.mark.exhaustive
async def test_a_theme_is_shown_again_when_its_file_is_saved_but_for_what_cannot_be_used(
    project: Path, own: Path
) -> None:
    app = app_over(agent_with(project, "mine"))
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        (own / "mine.toml").write_text(NIGHT.replace('text = "#c8d0e7"', 'text = "red"'))
        app.appearance.reload()
        await until(pilot, lambda: "not a color" in told(pilot))
        assert "mine.toml, line 13" in told(pilot).replace("\n", " ")
        assert {"#14161f", "#c8d0e7"} <= colours_of(pilot)

        (own / "mine.toml").write_text(NIGHT.replace("#c8d0e7", "#ffffff"))
        app.appearance.reload()
        await until(pilot, lambda: "#ffffff" in colours_of(pilot))

        assert "#123456" not in colours_of(pilot)
        for number in range(40):
            # What is saved before it is watched is not seen: saved again, it is.
            (own / "mine.toml").write_text(f"# {number}\n" + NIGHT.replace("#14161f", "#123456"))
            await pilot.pause(0.5)
            if "#123456" in colours_of(pilot):
                break
        await until(pilot, lambda: "#123456" in colours_of(pilot) and "#14161f" not in colours_of(pilot))


@pytest.mark.exhaustive
async def test_the_picker_shows_each_theme_at_once_and_keeps_one_only_if_the_person_wants_that(
    project: Path, own: Path
) -> None:
    config = own.parent / "config.toml"
    config.write_text("# mine\nmode = 'auto'\n")
    (own / "zz-broken.toml").write_text("dark = yes\n")
    app = app_over(agent_with(project, "night"))
    async with app.run_test(size=SIZE) as pilot:
        await open_picker(pilot)
        listed = shown(app.screen.query_one("#themes-list"))
        assert "terminal colors" in listed
        # One that is broken says so, and is not shown.
        assert "✗ The theme" in listed
        await pilot.press("ctrl+end")
        assert app.theme == "night"
        await pilot.press("escape")

        await open_picker(pilot)
        await pilot.press("down")
        assert app.theme == "tritone"
        await until(pilot, lambda: "#0c0f16" in colours_of(pilot))
        await pilot.press("ctrl+home", "down")
        assert app.theme == "ansi"
        # The former comes back.
        await pilot.press("escape")
        assert app.theme == "night"
        await until(pilot, lambda: "#14161f" in colours_of(pilot) and "#0c0f16" not in colours_of(pilot))

        await open_picker(pilot)
        await pilot.press("up", "enter")
        assert app.theme == "mono"
        assert config.read_text() == "# mine\nmode = 'auto'\n"
        await open_picker(pilot)
        await pilot.press("ctrl+home", "ctrl+s")
        await until(pilot, lambda: not isinstance(app.screen, ThemePicker))
        assert load_settings(config).theme == "auto"
        await open_picker(pilot)
        await pilot.press("ctrl+home", "down", "down", "ctrl+s")
        await until(pilot, lambda: not isinstance(app.screen, ThemePicker))
        assert load_settings(config).theme == "chalk"
        assert config.read_text().startswith("# mine\n")

        # A name that is typed selects its theme, and saves nothing.
        await open_picker(pilot)
        assert "● chalk" in shown(app.screen.query_one("#themes-list"))
        await pilot.press(*"kday", *["backspace"] * 4, *"day")
        await until(pilot, lambda: app.theme == "day")
        await pilot.press("enter")
        await until(pilot, lambda: not isinstance(app.screen, ThemePicker))
        assert app.theme == "day"
        assert load_settings(config).theme == "chalk"

        # The text keeps its place under another theme.
        before = shown(conversation_of(pilot))
        await send(pilot, "/theme ember")
        await until(pilot, lambda: app.theme == "ember")
        assert shown(conversation_of(pilot)) == before


async def open_picker(pilot: Pilot[Any]) -> None:
    await send(pilot, "/theme")
    await until(pilot, lambda: isinstance(pilot.app.screen, ThemePicker))


@pytest.mark.parametrize("command", ["/settings", "/model", "/keys", "/theme", "/mode"])
async def test_a_dialog_and_all_behind_it_change_at_once(project: Path, command: str) -> None:
    app = app_over(agent_with(project, "night"))
    async with app.run_test(size=SIZE) as pilot:
        await send(pilot, command)
        await until(pilot, lambda: app.screen is not main_of(pilot))
        await pilot.pause()
        old = set(asdict(load_palette("night").colors).values()) - set(
            asdict(load_palette("day").colors).values()
        )
        if command == "/theme":
            # Each theme is shown in its own colors there.
            old = {load_palette("night").colors.raised, load_palette("night").colors.cursor}
        assert old & colours_of(pilot)
        app.appearance.use("day")
        await pilot.pause()
        # What is drawn in between is drawn again only after it.
        await until(pilot, lambda: all(each.is_finished for each in app.workers if each.group == "restyle"))
        await until(pilot, lambda: not old & colours_of(pilot))


@pytest.mark.exhaustive
async def test_with_no_color_nothing_on_the_screen_has_a_colour(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = app_over(agent_with(project, "day"))
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        assert app.theme == COLOURLESS
        await until(pilot, lambda: "ask" in shown(status_of(pilot)))
        assert colours_of(pilot) == {"default"}
        await send(pilot, "/theme day")
        await until(pilot, lambda: "NO_COLOR is set" in told(pilot))
        await pilot.press("f1")
        await pilot.pause()
        assert colours_of(pilot) == {"default"}


async def test_an_empty_no_color_means_nothing(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "")
    async with app_over(agent_with(project, "day")).run_test(size=SIZE) as pilot:
        await until(pilot, lambda: "#f6f5f1" in colours_of(pilot))


async def test_a_theme_of_the_terminals_colours_is_translated_into_no_others(project: Path) -> None:
    async with app_over(agent_with(project, "ansi")).run_test(size=SIZE) as pilot:
        await until(pilot, lambda: "cogency" in shown(main_of(pilot).query_one("#header")))
        assert not [colour for colour in colours_of(pilot) if colour.startswith("#")]


async def test_the_terminals_background_decides_until_a_theme_is_chosen(project: Path) -> None:
    app = app_over(agent_with(project, "auto"))
    async with app.run_test(size=SIZE) as pilot:
        assert app.theme == "night"
        app.post_message(BackgroundReport(ColorTriplet(246, 245, 241)))
        await until(pilot, lambda: app.theme == "day" and "#f6f5f1" in colours_of(pilot))

        await send(pilot, "/theme ember")
        await until(pilot, lambda: app.theme == "ember")
        # A late answer changes nothing.
        app.post_message(BackgroundReport(ColorTriplet(0, 0, 0)))
        await pilot.pause()
        assert app.theme == "ember"

        await send(pilot, "/theme auto")
        await until(pilot, lambda: app.theme == "night")

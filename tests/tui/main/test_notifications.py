"""Notifications: the newest only, in the conversation; the error of a typed command, at the prompt."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from textual.geometry import Region
from textual.pilot import Pilot

from cogency_tui.config.options import options
from cogency_tui.store.prompt_text import Written
from cogency_tui.tui.palette import Palette
from cogency_tui.tui.prompt.prompt import Prompt
from cogency_tui.tui.prompt.prompt_and_queue import PromptLine
from cogency_tui.tui.review.screen import BOTH_FIT
from cogency_tui.tui.settings.theme_picker import ThemePicker
from tests.tui.driving import (
    answer,
    app_over,
    asked,
    conversation_of,
    finished,
    main_of,
    opened,
    prompt_of,
    seen,
    send,
    shown,
    told,
    until,
)
from tests.tui.main.test_screen import past
from tests.tui.questions.test_question_lines import DIFF, EDIT, asks
from tests.tui.review.stage import reviewing, working, write
from tests.tui.scripted import ScriptedAgent, error, paused, respond


def place_of(pilot: Pilot[Any]) -> Region:
    """The visible part of the notification."""
    [toast] = pilot.app.screen.query("Toast")
    region = toast.region
    return region.crop_size((region.width, int(0.4 * pilot.app.size.height)))


@pytest.mark.parametrize("size", [(160, 45), (100, 30), (80, 24), (60, 16)])
async def test_only_the_newest_is_shown_and_never_over_the_prompt(
    project: Path, size: tuple[int, int]
) -> None:
    async with app_over(ScriptedAgent(project)).run_test(size=size, notifications=True) as pilot:
        for text in ("one", "two", "three " * 60):
            pilot.app.notify(text)
        await until(pilot, lambda: told(pilot).startswith("three"))
        await pilot.pause()
        middle = main_of(pilot).query_one("#middle").region
        assert place_of(pilot).right <= middle.right
        if size == (80, 24):
            # Below the text of the start.
            assert place_of(pilot).y > rows_with(pilot, "add a missing test").pop()
        elif size[1] < 24:
            # In the line of the activity, and above it.
            assert place_of(pilot).bottom == middle.bottom
        else:
            assert place_of(pilot).y == middle.y

        await pilot.click("Toast")
        await until(pilot, lambda: not told(pilot))


@pytest.mark.parametrize("size", [(80, 24), (60, 16)])
async def test_it_makes_way_for_the_selected_row_and_the_field_of_a_list(
    project: Path, size: tuple[int, int]
) -> None:
    async with app_over(ScriptedAgent(project)).run_test(size=size, notifications=True) as pilot:
        await opened(pilot)
        await pilot.press("ctrl+p")
        await until(pilot, lambda: isinstance(pilot.app.screen, Palette))
        screen: Any = pilot.app.screen
        entries = screen.rows
        pilot.app.notify("three " * 40, timeout=600)
        for _ in range(6):
            await pilot.press("down")
            await until(pilot, lambda: place_of(pilot) and place_of(pilot).y >= 0)
            row = entries.region.y + entries.selected - entries.scroll_offset.y
            assert row not in place_of(pilot).line_range
            assert not place_of(pilot).overlaps(pilot.app.screen.query_one("#palette-filter").region)


def rows_with(pilot: Pilot[Any], text: str) -> set[int]:
    # The first line of `seen` names the screen.
    return {y - 1 for y, line in enumerate(seen(pilot).splitlines()) if text in line}


@pytest.mark.parametrize("size", [(60, 16), (40, 12)])
async def test_it_is_never_over_a_question(project: Path, size: tuple[int, int]) -> None:
    agent = ScriptedAgent(project, [asks(replace(EDIT, detail=DIFF * 9))])
    async with app_over(agent).run_test(size=size, notifications=True) as pilot:
        await opened(pilot)
        await send(pilot, "go")
        panel = await asked(pilot)
        pilot.app.notify("three " * 60, timeout=600)
        if size == (40, 12):
            # The question leaves no row: the notification waits.
            await until(pilot, lambda: panel.region.y == 0 and not told(pilot))
        else:
            await until(pilot, lambda: rows_with(pilot, "three"))
            await pilot.pause()
        covered = rows_with(pilot, "three")
        assert covered.isdisjoint(panel.region.line_range)
        assert covered.isdisjoint(prompt_of(pilot).region.line_range)
        await answer(pilot, "y")
        await until(pilot, lambda: "three" in seen(pilot))


@pytest.mark.parametrize("size", [(160, 45), (80, 24), (60, 16), (40, 12), (40, 8), (24, 6)])
async def test_it_is_always_shown_and_never_over_the_heading(project: Path, size: tuple[int, int]) -> None:
    async with app_over(ScriptedAgent(project)).run_test(size=size, notifications=True) as pilot:
        await opened(pilot)
        heading = seen(pilot).splitlines()[1]
        pilot.app.notify("seven " * 7, timeout=600)
        await until(pilot, lambda: "seven" in seen(pilot))
        assert seen(pilot).splitlines()[1] == heading


@pytest.mark.parametrize("size", [(60, 16), (30, 8)])
async def test_it_is_beside_the_words_of_a_heading_or_below_them(
    project: Path, size: tuple[int, int]
) -> None:
    async with app_over(ScriptedAgent(project)).run_test(size=size, notifications=True) as pilot:
        await opened(pilot)
        await send(pilot, "/theme")
        await until(pilot, lambda: isinstance(pilot.app.screen, ThemePicker))
        for text in ("short", "three " * 6):
            pilot.app.notify(text, timeout=600)
            await until(pilot, lambda text=text: text.split()[0] in seen(pilot))
            assert "Theme" in seen(pilot)


@pytest.mark.parametrize("size", [(80, 24), (60, 16)])
async def test_on_a_small_screen_it_covers_no_text_of_the_conversation(
    project: Path, size: tuple[int, int]
) -> None:
    text = "\n\n".join("words " * 30 for _ in range(9))
    async with app_over(ScriptedAgent(project, [respond(text)])).run_test(
        size=size, notifications=True
    ) as pilot:
        await opened(pilot)
        await send(pilot, "go")
        await finished(pilot)
        await until(pilot, lambda: " words" in seen(pilot))
        await pilot.pause()
        before = [line.rstrip() for line in seen(pilot).splitlines()]
        pilot.app.notify("Conversation renamed.", timeout=600)
        await until(pilot, lambda: "renamed" in seen(pilot))
        await pilot.pause()
        assert all(line in seen(pilot) for line in before)


@pytest.mark.parametrize("size", [(80, 24), (60, 16)])
async def test_on_a_small_screen_it_waits_for_an_answer_or_a_retry_and_is_not_lost(
    project: Path, size: tuple[int, int]
) -> None:
    text = respond("\n".join(f"{number}. {'words ' * 20}" for number in range(30)))
    failure = error("Nothing is listening.", "Start it.")
    agent = ScriptedAgent(project, [text, asks(EDIT)], [failure], [respond("Back.\n\nAgain.")])
    async with app_over(agent).run_test(size=size, notifications=True) as pilot:
        await opened(pilot)
        pilot.app.notify("old news", timeout=600)
        await until(pilot, lambda: told(pilot))
        await send(pilot, "go")
        await asked(pilot)
        for line in ("? Edit app.py  +1 −1", "y Yes", "29. words words words words words words words words"):
            assert line in seen(pilot)
        await answer(pilot, "y")
        await finished(pilot)
        await until(pilot, lambda: "old news" in seen(pilot))

        await send(pilot, "again")
        await until(pilot, lambda: "Enter retry" in seen(pilot))
        assert "Nothing is listening." in seen(pilot)
        await pilot.press("enter")
        await finished(pilot)
        await until(pilot, lambda: "old news" in seen(pilot))


@pytest.mark.parametrize("size", [(100, 30), (80, 24), (60, 16)])
@pytest.mark.parametrize("lines", [1, 30])
async def test_in_the_review_it_covers_no_keys_no_title_and_no_line_just_changed(
    project: Path, size: tuple[int, int], lines: int
) -> None:
    agent = working(project, write("new.py", "x = 1\n" * lines), "done")
    async with reviewing(agent, size=size) as reviewer:
        await reviewer.press(*(["enter"] if size[0] < BOTH_FIT else []), "y", "u")
        await until(reviewer.pilot, lambda: told(reviewer.pilot) == "Unmarked (U redo)")
        await reviewer.pilot.pause()
        for text in ("short", "three " * 20):
            reviewer.app.notify(text, timeout=600)
            await until(reviewer.pilot, lambda text=text: rows_with(reviewer.pilot, text.split()[0]))
            await reviewer.pilot.pause()
            place = place_of(reviewer.pilot)
            assert reviewer.screen.query_one("#footer").region.y >= place.bottom
            assert not reviewer.title.region or not place.overlaps(reviewer.title.region)
            assert not place.overlaps(reviewer.view.attended)
            assert reviewer.view.attended


async def test_on_a_small_screen_it_does_not_cover_the_line_of_the_activity(project: Path) -> None:
    agent = ScriptedAgent(project, [respond("words " * 90), paused])
    async with app_over(agent).run_test(size=(60, 16), notifications=True) as pilot:
        await opened(pilot)
        await send(pilot, "go")
        await until(pilot, lambda: "Esc to interrupt" in seen(pilot))
        pilot.app.notify("three " * 16, timeout=600)
        await until(pilot, lambda: rows_with(pilot, "three"))
        await pilot.pause()
        assert "Esc to interrupt" in seen(pilot)


async def test_each_mode_is_explained_each_time_in_the_same_place(project: Path) -> None:
    means = options()["permissions"].means
    async with app_over(ScriptedAgent(project)).run_test(size=(80, 24), notifications=True) as pilot:
        for mode in ("edits", "auto", "plan", "ask") * 3:
            await pilot.press("shift+tab")
            await until(pilot, lambda mode=mode: told(pilot) == f"{mode}: {means[mode]}")
            await until(pilot, lambda: (place_of(pilot).y, place_of(pilot).height) == (1, 1))
            assert len(pilot.app.screen.query("ToastHolder")) == 1


@pytest.mark.parametrize("command", ["command('new_conversation')", "command('resume', 'id0')"])
async def test_it_goes_with_its_conversation(project: Path, command: str) -> None:
    agent = ScriptedAgent(project, [respond("ok")])
    past(agent, "Fix the test")
    async with app_over(agent).run_test(size=(100, 30), notifications=True) as pilot:
        await send(pilot, "go")
        await finished(pilot)
        pilot.app.notify("about this conversation", timeout=600)
        await until(pilot, lambda: told(pilot))
        await main_of(pilot).run_action(command)
        await until(pilot, lambda: not told(pilot))


async def test_it_goes_with_its_screen(project: Path) -> None:
    agent = working(project, write("new.py", "x = 1\n"), "done")
    async with reviewing(agent) as reviewer:
        pilot = reviewer.pilot
        await reviewer.press("y", "u")
        await until(pilot, lambda: told(pilot) == "Unmarked (U redo)")
        await pilot.press("q")
        await until(pilot, lambda: pilot.app.screen is main_of(pilot))
        await pilot.pause()
        assert not told(pilot)

        pilot.app.notify("a long story", timeout=60)
        await until(pilot, lambda: told(pilot) == "a long story")
        await reviewer.open()
        assert not told(pilot)


async def test_it_outlives_a_dialog(project: Path) -> None:
    async with app_over(ScriptedAgent(project)).run_test(notifications=True) as pilot:
        await send(pilot, "/theme")
        await until(pilot, lambda: isinstance(pilot.app.screen, ThemePicker))
        await pilot.press("ctrl+s")
        await until(pilot, lambda: told(pilot).startswith("Theme saved"))
        assert pilot.app.screen is main_of(pilot)


async def test_an_error_stays_longer_than_an_information(project: Path) -> None:
    async with app_over(ScriptedAgent(project)).run_test(notifications=True) as pilot:
        notifications = pilot.app._notifications  # pyright: ignore[reportPrivateUsage]
        pilot.app.notify("information")
        await until(pilot, lambda: [each.timeout for each in notifications] == [3.0])
        pilot.app.notify("error", severity="error")
        await until(pilot, lambda: [each.timeout for each in notifications] == [6.0])


async def test_the_error_of_a_typed_command_goes_when_a_message_is_sent_in_the_same_burst(
    project: Path,
) -> None:
    agent = ScriptedAgent(project, [respond("Done.")])
    async with app_over(agent).run_test(size=(80, 24)) as pilot:
        prompt, line = prompt_of(pilot), main_of(pilot).query_one(PromptLine)
        for text in ("/foo", "fix it"):
            prompt.post_message(Prompt.Sent(Written(text)))
        await until(pilot, lambda: "Done." in shown(conversation_of(pilot)))
        assert not line.display


async def test_the_error_of_a_typed_command_is_at_the_prompt_until_the_next_key(project: Path) -> None:
    async with app_over(ScriptedAgent(project)).run_test(size=(80, 24), notifications=True) as pilot:
        line = main_of(pilot).query_one(PromptLine)
        for command, error in (
            ("/foo", "Unknown command /foo. Did you mean /fork?"),
            ("/xyzzy", "Unknown command /xyzzy. Ctrl+P lists all commands."),
            ("/mode sideways", "/mode does not accept 'sideways'. Expected one of: auto, resume, replay."),
        ):
            await send(pilot, command)
            await until(pilot, lambda error=error: line.display and shown(line) == error)
            assert line.region.bottom <= main_of(pilot).query_one("#status-bar").region.y
            assert not told(pilot)
            await pilot.press("x")
            await until(pilot, lambda: not line.display)
            prompt_of(pilot).replace_text("")

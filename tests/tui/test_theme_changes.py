"""Another theme is seen at once and everywhere: no screen has a drawing in the colors of the former one."""

from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from textual.geometry import Region
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widget import Widget

from cogency_tui.config.themes import load_palette
from cogency_tui.tui.calls.detail import DetailHead
from cogency_tui.tui.files.preview import PreviewLines
from cogency_tui.tui.kit.bar import Bar
from cogency_tui.tui.kit.line_view import LineView
from cogency_tui.tui.settings.theme_picker import ThemePicker
from cogency_tui.tui.timeline.screen import TimelineScreen
from tests.tui.driving import (
    calls_of,
    conversation_of,
    detail_of,
    files_of,
    main_of,
    prompt_of,
    send,
    shown,
    until,
)
from tests.tui.review.stage import LINES, edit, going_on, shell, working

ANSWER = "Done.\n\n```diff\n-old = 1\n+new = 1\n```\n\n```python\nx = 1  # so\n```\n"


@asynccontextmanager
async def at_home(project: Path) -> AsyncGenerator[Pilot[Any]]:
    """A conversation with an edit, a command and code."""
    (project / "a.py").write_text(LINES)
    agent = working(project, edit("a.py", "line_5 = 5", "line_5 = 'five'"), shell("echo one; false"), ANSWER)
    async with going_on(agent, "go", size=(160, 45)) as pilot:
        assert pilot.app.theme == "night"
        await until(pilot, lambda: "$ echo" in shown(pilot.app.screen.query_one(DetailHead)))
        yield pilot


def colors_of(theme: str) -> set[str]:
    palette = load_palette(theme)
    return {
        *msgspec.structs.asdict(palette.colors).values(),
        *msgspec.structs.asdict(palette.syntax).values(),
    }


def drawn_by(screen: Screen[Any]) -> Iterator[str]:
    """The colors of what is on the screen, and of what the widgets on it would draw now."""
    for strip in screen._compositor.render_strips():  # pyright: ignore[reportPrivateUsage]
        yield from colors_in(strip)
    for widget in screen.walk_children(Widget):
        if isinstance(widget, LineView | Bar) and widget.size and widget.is_on_screen:
            for strip in widget.render_lines(Region(0, 0, *widget.size)):
                yield from colors_in(strip)


def colors_in(strip: Any) -> Iterator[str]:
    """The colors that are seen: those of blank text are not."""
    for text, style, _control in strip:
        for color in (style.color if text.strip() else None, style.bgcolor) if style else ():
            if color is not None:
                yield color.name


def left_over(pilot: Pilot[Any], before: str) -> set[str]:
    """The colors of the theme `before` that are still drawn, and are no colors of the one in force."""
    former = colors_of(before) - colors_of(pilot.app.theme)
    return {color for screen in pilot.app.screen_stack for color in drawn_by(screen)} & former


async def changes(pilot: Pilot[Any]) -> None:
    """Change the theme to and fro."""
    app: Any = pilot.app
    for before, after in (("night", "day"), ("day", "night")):
        assert {*drawn_by(app.screen)} & colors_of(before)
        app.appearance.use(after)
        await until(pilot, lambda before=before: not left_over(pilot, before))


@pytest.mark.parametrize("ups", [pytest.param(0, marks=pytest.mark.exhaustive), 1])
async def test_the_main_screen_with_the_detail_of_a_call(project: Path, ups: int) -> None:
    async with at_home(project) as pilot:
        calls_of(pilot).focus()
        await pilot.press(*["up"] * ups)
        await until(pilot, lambda: ("'five'" if ups else "one") in shown(detail_of(pilot)))
        await changes(pilot)


@pytest.mark.exhaustive
async def test_a_call_opened_in_the_conversation_and_a_preview(project: Path) -> None:
    async with at_home(project) as pilot:
        conversation_of(pilot).focus()
        await pilot.press("home", "down", "enter")
        await changes(pilot)
        files_of(pilot).focus()
        await until(pilot, lambda: "a.py" in shown(files_of(pilot)))
        await pilot.press("end", "up", "enter")
        await until(pilot, lambda: main_of(pilot).query(PreviewLines))
        await changes(pilot)


async def test_the_picker_shows_the_call_behind_it_in_each_theme(project: Path) -> None:
    async with at_home(project) as pilot:
        calls_of(pilot).focus()
        await pilot.press("up")
        await until(pilot, lambda: "'five'" in shown(detail_of(pilot)))
        prompt_of(pilot).focus()
        await send(pilot, "/theme")
        await until(pilot, lambda: isinstance(pilot.app.screen, ThemePicker))
        await pilot.press("home")
        for _ in range(4):
            before = pilot.app.theme
            await pilot.press("down")
            await until(pilot, lambda before=before: pilot.app.theme != before)
            main = main_of(pilot)
            former = colors_of(before) - colors_of(pilot.app.theme)
            await until(pilot, lambda former=former, main=main: not former.intersection(drawn_by(main)))


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("way", "text"),
    [
        ("f5", "line_5"),
        ("ctrl+t", "echo"),
        ("ctrl+r", "echo"),
        ("f1", "Esc"),
        ("f2", "openai"),
        ("/context", "ontext"),
        ("/cost", "requests"),
        ("/agents", "Conversation"),
        ("/settings", "ettings"),
        ("/undo", "'five'"),
    ],
)
async def test_screens_and_dialogs(project: Path, way: str, text: str) -> None:
    async with at_home(project) as pilot:
        await (send(pilot, way) if way.startswith("/") else pilot.press(way))
        main = main_of(pilot)
        await until(pilot, lambda: pilot.app.screen is not main and text in text_of(pilot.app.screen))
        await changes(pilot)


@pytest.mark.exhaustive
async def test_the_files_of_the_timeline(project: Path) -> None:
    async with at_home(project) as pilot:
        (project / "a.py").write_text(LINES.replace("line_5 = 5", "line_5 = 'six'"))
        await pilot.press("ctrl+t")
        await until(pilot, lambda: isinstance(pilot.app.screen, TimelineScreen))
        await pilot.press("3")
        await until(pilot, lambda: "+ line_5 = 'six'" in text_of(pilot.app.screen))
        await changes(pilot)


def text_of(screen: Screen[Any]) -> str:
    return "\n".join(strip.text for strip in screen._compositor.render_strips())  # pyright: ignore[reportPrivateUsage]

"""Driving the app: wait for what should become true, and read what a widget shows."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from time import monotonic
from typing import Any

from textual.css.query import NoMatches
from textual.geometry import Region
from textual.pilot import Pilot
from textual.widget import Widget

from cogency_tui.agent.agent import Agent
from cogency_tui.tui.app import CogencyApp
from cogency_tui.tui.calls.detail import CallDetail, DetailHead
from cogency_tui.tui.calls.list import CallList
from cogency_tui.tui.conversation.activity_line import LiveLine
from cogency_tui.tui.conversation.view import Conversation
from cogency_tui.tui.files.tree import FileTree
from cogency_tui.tui.kit.select_list import BAR, SelectList
from cogency_tui.tui.main.screen import MainScreen
from cogency_tui.tui.prompt.prompt import Prompt
from cogency_tui.tui.questions.panel import QuestionPanel
from cogency_tui.tui.status.header import Header
from cogency_tui.tui.status.status_bar import StatusBar
from tests.tui.scripted import ScriptedAgent

PATIENCE = 60.0
"""Seconds."""


class OpenedApp(CogencyApp):
    """The app, which a test drives only once it is open: the first frame has blank panes."""

    OPENS_AFTER = 0.0

    @asynccontextmanager
    async def run_test(self, **options: Any) -> AsyncGenerator[Pilot[int]]:
        async with super().run_test(**options) as pilot:
            while self.is_running and not self.is_open:  # noqa: ASYNC110 (the app has no event for it)
                await asyncio.sleep(0)
            await pilot.pause()
            yield pilot

    async def _begin(self) -> None:
        with self.batch_update():
            await super()._begin()


def app_over(agent: ScriptedAgent | Agent, **options: Any) -> CogencyApp:
    """The app over a scripted agent, or a real one."""
    return OpenedApp(agent, **options)  # pyright: ignore[reportArgumentType]


async def until(pilot: Pilot[Any], condition: Callable[[], object]) -> None:
    """Return as soon as `condition` holds; fail when it does not come to hold.

    It does not hold while it asks for a widget that is not mounted yet.
    """
    deadline = monotonic() + PATIENCE
    while not _holds(condition):
        assert monotonic() < deadline, (
            f"what was waited for did not come about; on the screen:\n{seen(pilot)}"
        )
        await pilot.pause(0.01)


def _holds(condition: Callable[[], object]) -> bool:
    try:
        return bool(condition())
    except NoMatches:
        return False


def seen(pilot: Pilot[Any]) -> str:
    """The screen on top, with the widget that has the focus, and its text."""
    screen = pilot.app.screen
    strips = screen._compositor.render_strips()  # pyright: ignore[reportPrivateUsage]
    return "\n".join([f"{screen}, focus: {screen.focused}", *(strip.text.rstrip() for strip in strips)])


async def opened(pilot: Pilot[Any]) -> None:
    """Return when the main screen has found out where it is; at once where there is none."""
    if not isinstance(pilot.app.screen_stack[0], MainScreen):
        return
    await until(pilot, lambda: header_of(pilot).place.count is not None and files_of(pilot).open_directories)
    await pilot.pause()


async def finished(pilot: Pilot[Any]) -> None:
    """Return when nothing is worked on any more."""
    await until(pilot, lambda: not main_of(pilot).bridge.working)


async def type_text(pilot: Pilot[Any], text: str) -> None:
    """Type `text`, a key for each character."""
    await pilot.press(*("space" if character == " " else character for character in text))


async def send(pilot: Pilot[Any], text: str) -> None:
    """Put `text` into the prompt and send it, once no other screen is above it any more."""
    await until(pilot, lambda: isinstance(pilot.app.screen, MainScreen) and pilot.app.screen.focused)
    prompt_of(pilot).replace_text(text)
    await pilot.press("enter")


def shown(widget: Widget) -> str:
    """The text that a line-API widget shows now; of a list without the bar of the selected row."""
    size = widget.size
    strips = widget.render_lines(Region(0, 0, size.width, size.height))
    assert all(strip.cell_length == size.width for strip in strips)
    lines = [strip.text.rstrip() for strip in strips]
    if isinstance(widget, SelectList):
        lines = [f" {line[1:]}" if line.startswith(BAR) else line for line in lines]
    return "\n".join(lines)


def told(pilot: Pilot[Any]) -> str:
    """What the person is told in passing at the moment."""
    return "\n".join(str(toast.render()) for toast in pilot.app.screen.query("Toast"))


@asynccontextmanager
async def at_work(agent: Agent, size: tuple[int, int] = (120, 40)) -> AsyncGenerator[Pilot[Any]]:
    """The app over a real agent, which is closed after it."""
    async with app_over(agent).run_test(size=size, notifications=True) as pilot:
        yield pilot
    await agent.close()


async def asked(pilot: Pilot[Any]) -> QuestionPanel:
    """The question on the screen on top, which waits for its answer.

    It is mounted: until then it has not begun to measure how long it takes no answer, which a clock of the
    test would cut short.
    """
    await until(pilot, lambda: (found := question_of(pilot)) is not None and found.is_mounted)
    question = question_of(pilot)
    assert question is not None
    return question


def question_of(pilot: Pilot[Any]) -> QuestionPanel | None:
    waiting = [each for each in pilot.app.screen.query(QuestionPanel) if each.display and not each.answered]
    return waiting[0] if waiting else None


async def answer(pilot: Pilot[Any], key: str) -> None:
    """Answer the waiting question with a key as soon as it accepts any."""
    question = await asked(pilot)

    def accepts_keys() -> object:
        return question.check_action("answer", (True, "once"))

    question.clock = lambda: monotonic() + 60
    await until(pilot, accepts_keys)
    # An edit that follows another one begins its pause anew when it hears of its first frame.
    await pilot.pause()
    await until(pilot, accepts_keys)
    await pilot.press(key)
    await until(pilot, lambda: question_of(pilot) is not question)


def main_of(pilot: Pilot[Any]) -> MainScreen:
    app: Any = pilot.app
    screen = app.screen_stack[0]
    assert isinstance(screen, MainScreen)
    return screen


def conversation_of(pilot: Pilot[Any]) -> Conversation:
    return main_of(pilot).query_one(Conversation)


def prompt_of(pilot: Pilot[Any]) -> Prompt:
    return main_of(pilot).query_one(Prompt)


def calls_of(pilot: Pilot[Any]) -> CallList:
    return main_of(pilot).query_one(CallList)


def detail_of(pilot: Pilot[Any]) -> CallDetail:
    return main_of(pilot).query_one(CallDetail)


def head_of(pilot: Pilot[Any]) -> str:
    """The head of the detail, which does not scroll."""
    return shown(main_of(pilot).query_one(DetailHead))


def files_of(pilot: Pilot[Any]) -> FileTree:
    return main_of(pilot).query_one(FileTree)


def header_of(pilot: Pilot[Any]) -> Header:
    return main_of(pilot).query_one(Header)


def status_of(pilot: Pilot[Any]) -> StatusBar:
    return main_of(pilot).query_one(StatusBar)


def live_line_of(pilot: Pilot[Any]) -> LiveLine:
    return main_of(pilot).query_one(LiveLine)

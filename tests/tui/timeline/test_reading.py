"""Reading in the panes of the timeline, by keys and by mouse, and the ways out of it."""

import re
from pathlib import Path
from typing import Any

import pytest

from cogency_tui.agent.agent import Agent
from cogency_tui.errors import AuthenticationError
from cogency_tui.providers.base import CallDelta
from cogency_tui.providers.models import ModelFacts
from cogency_tui.tui.help.screen import HelpScreen
from cogency_tui.tui.images.viewer import ImageViewer
from cogency_tui.tui.kit.dialogs import DialogTitle
from cogency_tui.tui.kit.lazy_text_layout import GradualBlock
from cogency_tui.tui.kit.line_view import LineView
from cogency_tui.tui.settings.screen import SettingsScreen
from cogency_tui.tui.theme_styles import theme_styles_of
from cogency_tui.tui.timeline.event_view import draw_event
from cogency_tui.tui.timeline.files_view import FileRows
from cogency_tui.tui.timeline.lines_pane import BlockPane
from cogency_tui.tui.timeline.screen import TimelineScreen
from cogency_tui.tui.timeline.sent_messages_view import ExchangeView
from cogency_tui.tui.timeline.slider import Slider
from tests.peers.scripted import ScriptedProvider
from tests.pictures import picture
from tests.tui.driving import conversation_of, prompt_of, shown, until
from tests.tui.reading import fed
from tests.tui.review.stage import agent_of, block, edit, shell, working, write
from tests.tui.scripted import call, result
from tests.tui.timeline.stage import Traveller, travelling

LONG = "".join(f"row {number}\n" for number in range(200))
QUERIES = ("fix it", "and a note")


@pytest.fixture
def agent(project: Path) -> Agent:
    (project / "long.txt").write_text(LONG)
    return working(
        project,
        block("read", file="src/app.py"),
        edit("long.txt", "row 0\n", "row zero\n"),
        f"<think>It was a zero.</think>It is **fixed**.\n\n{'A long answer. ' * 60}",
        write("notes.md", "# Notes\n"),
        "Noted.",
    )


def exchange(timeline: Traveller) -> ExchangeView:
    return timeline.screen.query_one(ExchangeView)


def text(timeline: Traveller) -> LineView:
    return timeline.screen.query_one("#timeline-file-text", LineView)


async def test_a_long_result_is_shown_from_its_beginning_and_loaded_piece_by_piece(project: Path) -> None:
    agent = working(project, shell("seq 1 40000"), "done")
    async with travelling(agent, "count") as timeline:
        pane = timeline.screen.query_one("#timeline-event", BlockPane)
        await timeline.press("left")
        await timeline.until(lambda: "shell  ✓ done" in timeline.event)
        await timeline.until(lambda: pane.virtual_size.height > 40_000)
        assert timeline.event.splitlines()[4].strip() == "1"
        pane.jump(pane.max_scroll_y)
        await timeline.until(lambda: "40000" in timeline.event)


def test_a_call_of_the_past_is_laid_out_in_pieces() -> None:
    text = "".join(f"row {number}\n" for number in range(40_000))
    events = [call("c", "shell", command="seq"), result("c", "shell", "exit 0", text)]
    found = fed(events).call_with("c")
    assert found is not None
    layout = draw_event(events[1], found[1], 60, theme_styles_of("night"))
    assert isinstance(layout, GradualBlock)
    assert len(layout) < 5_000
    while layout.loading:
        before = len(layout)
        layout.load()
        assert 0 < len(layout) - before < 5_000
    assert len(layout) > 40_000


async def test_the_event_is_shown_first_and_as_text(agent: Agent) -> None:
    async with travelling(agent, *QUERIES) as timeline:
        assert "1 Event  2 Messages  3 Files  4 Costs   answer" in timeline.tabs
        assert [line.strip() for line in timeline.event.splitlines() if line.strip()] == ["Answer", "Noted."]
        await timeline.press("home")
        lines = [line.strip() for line in timeline.event.splitlines()]
        assert lines[:4] == ["You", "fix it", "", "Environment"]

        # A call has its arguments, and with its result also that; nothing is JSON.
        await timeline.press(*["right"] * 3)
        assert "event 4 of" in timeline.facts
        assert "edit  ◌ queued" in timeline.event
        assert "− row 0" in timeline.event
        assert "call" in timeline.tabs
        await timeline.press("right")
        assert "edit  ✓ done" in timeline.event
        assert "+ row zero" in timeline.event
        assert "{" not in timeline.event
        await timeline.press("right")
        assert timeline.event.split() == ["Thought", "It", "was", "a", "zero."]

        await timeline.press("right", "1")
        await timeline.pilot.resize_terminal(60, 16)
        await timeline.press("G")
        pane = timeline.screen.query_one("#timeline-event", LineView)
        assert 0 < pane.scroll_offset.y == pane.max_scroll_y


async def test_files_are_named_as_in_the_conversation_but_for_the_messages_sent(project: Path) -> None:
    file = str(project / "src" / "app.py")
    async with travelling(working(project, block("read", file=file), "Done."), "read it") as timeline:
        await timeline.press("left", "left")
        assert "Call: read src/app.py" in timeline.facts
        assert "read src/app.py" in timeline.then
        assert "file  src/app.py" in timeline.event
        await timeline.press("right")
        for shown in (timeline.facts, timeline.then, timeline.event):
            assert str(project) not in shown
        await timeline.press("end", "2")
        sent: Any = vars(exchange(timeline))["_exchange"]
        assert any(file in message["content"] for message in sent.messages)


async def test_a_failed_turn_is_an_event_and_a_fork_there_offers_to_retry_it(project: Path) -> None:
    refused = AuthenticationError("The key is wrong.", "Set another.")
    model = ScriptedProvider(refused, "Here I am.", resumes=False)
    async with travelling(agent_of(project, model), "hello?") as timeline:
        assert "event 2 of 2" in timeline.facts
        assert "✗ Turn failed: The key is wrong." in timeline.facts
        assert "✗ The key is wrong." in timeline.then
        assert timeline.event.split("\n")[0] == "  Turn failed (authentication)"
        for text in ("The key is wrong.", "Next step", "Set another."):
            assert text in timeline.event
        assert "failure" in timeline.tabs
        await timeline.press("2")
        assert "hello?" in timeline.messages
        assert "wrong" not in timeline.messages
        await timeline.press("left")
        assert "✗" not in timeline.then

        await timeline.press("right", "f")
        view = conversation_of(timeline.pilot)
        await timeline.until(lambda: "Enter retry" in shown(view))
        assert "✗ The key is wrong." in shown(view)
        await timeline.pilot.press("enter")
        await timeline.until(lambda: "Here I am." in shown(view))
        assert not any("wrong" in message["content"] for message in model.sent[-1])


async def test_messages_are_scrolled_and_opened_by_keys_and_by_mouse(agent: Agent) -> None:
    async with travelling(agent, *QUERIES) as timeline:
        await timeline.press("2", "g")
        view = exchange(timeline)
        assert view.scroll_offset.y == 0
        before = view.virtual_size.height
        await timeline.press("j", "k", "enter")
        assert view.virtual_size.height > before
        assert "coding agent" in timeline.messages
        await timeline.press("pagedown")
        below = view.scroll_offset.y
        assert below > 0
        await timeline.press("pageup")
        assert view.scroll_offset.y < below
        await timeline.press("G")
        assert view.scroll_offset.y == view.max_scroll_y
        await timeline.press("g", "enter")
        assert view.virtual_size.height == before

        # A click on the head of a message opens it, one within does not close it.
        first = next(y for y, line in enumerate(timeline.messages.splitlines()) if "▸" in line)
        assert await timeline.pilot.click(view, offset=(6, first))
        await timeline.until(lambda: view.virtual_size.height > before)
        opened = view.virtual_size.height
        assert await timeline.pilot.click(view, offset=(6, first + 2))
        await timeline.settled()
        assert view.virtual_size.height == opened
        assert await timeline.pilot.click(view, offset=(6, first))
        await timeline.until(lambda: view.virtual_size.height == before)


@pytest.mark.exhaustive
async def test_files_are_selected_and_scrolled_and_help_has_the_keys_of_their_pane(agent: Agent) -> None:
    async with travelling(agent, *QUERIES) as timeline:
        await timeline.press("3", "f1")
        assert isinstance(timeline.app.screen, HelpScreen)
        assert "Files" in shown(timeline.app.screen.query_one("#help-body"))
        await timeline.press("escape")

        # The text of a file is scrolled from the list.
        await timeline.press("up", "up", "enter")
        await timeline.until(lambda: "row zero" in timeline.text)
        await timeline.press("j", "j")
        assert text(timeline).scroll_offset.y == 2
        await timeline.press("pagedown", "k")
        assert text(timeline).scroll_offset.y > 2
        await timeline.press("pageup", "pageup")
        assert text(timeline).scroll_offset.y == 0

        rows = timeline.screen.query_one(FileRows)
        for name, holds in (("notes.md", "# Notes"), ("long.txt", "row zero")):
            y = next(y for y, line in enumerate(timeline.files.splitlines()) if name in line)
            assert await timeline.pilot.click(rows, offset=(4, y))
            await timeline.until(lambda holds=holds: holds in timeline.text)

        # The slider is dragged.
        slider = timeline.screen.query_one(Slider)
        assert await timeline.pilot.mouse_down(slider, offset=(slider.size.width - 2, 0))
        await timeline.pilot.hover(slider, offset=(1, 0))
        await timeline.until(lambda: "event 1 of" in timeline.facts)
        await timeline.pilot.mouse_up(slider, offset=(1, 0))
        await timeline.pilot.hover(slider, offset=(slider.size.width - 2, 0))
        await timeline.settled()
        assert "event 1 of" in timeline.facts


@pytest.mark.exhaustive
async def test_o_shows_what_one_stands_at_and_a_command_of_the_palette_is_at_home_there(agent: Agent) -> None:
    async with travelling(agent, *QUERIES) as timeline:
        conversation = conversation_of(timeline.pilot)
        await timeline.press("left_square_bracket")
        # A message, one before, a call, and an answer.
        for keys, unit in (
            ((), "and a note"),
            (("home",), "fix it"),
            (("home", "right", "right"), "read"),
            (("home", *["right"] * 6), "It is"),
        ):
            await timeline.press(*keys)
            await timeline.pilot.press("o")
            await timeline.until(lambda: timeline.app.focused is conversation)
            cursor = conversation.cursor.place
            assert cursor is not None
            at = conversation.transcript.units[cursor.unit]
            assert str(getattr(at, "text", "") or getattr(at, "name", "")).startswith(unit)
            await timeline.open()

        await timeline.pilot.press("ctrl+p", *"/settings", "enter")
        await timeline.until(lambda: isinstance(timeline.app.screen, SettingsScreen))
        assert not any(isinstance(each, TimelineScreen) for each in timeline.app.screen_stack)
        assert prompt_of(timeline.pilot).text == ""


async def test_sizes_are_those_of_the_status_line(agent: Agent) -> None:
    async with travelling(agent, *QUERIES) as timeline:
        await timeline.press("2")
        heads = [line for line in timeline.messages.splitlines() if "system" in line[:20]]
        assert all("~" in line and " tokens" in line for line in heads)
        assert "characters" not in timeline.tabs
        await timeline.press("4")
        assert "% context" in shown(timeline.screen.query_one("#timeline-costs"))


async def test_a_native_request_shows_its_tools_calls_and_results_as_such(project: Path) -> None:
    (project / "a.py").write_text("x = 1\n")
    read = CallDelta(0, "call_7", "read", '{"file": "a.py"}', complete=True)
    agent = agent_of(project, ScriptedProvider([read], "It is one.", native=True))
    agent.dialect = "native"
    async with travelling(agent, "what is it?", size=(160, 45)) as timeline:
        await timeline.press("2")
        await timeline.until(lambda: "result read" in timeline.messages)
        lines = [" ".join(line.split()) for line in timeline.messages.splitlines()]
        assert any(line.startswith("▸ tools") and " read, " in line for line in lines)
        assert not any(line.startswith("▸ system") and "tools" in line for line in lines)
        assert any(line.startswith("▸ assistant call read a.py") for line in lines)
        assert "result read call_7" in lines
        assert "x = 1" in timeline.messages

        # A call unfolds to its id and arguments, a result folds to its text, the tools unfold to their schemas.
        await timeline.press("enter", "p", "enter")
        await timeline.until(lambda: "call read call_7" in " ".join(timeline.messages.split()))
        lines = [" ".join(line.split()) for line in timeline.messages.splitlines()]
        assert '{"file": "a.py"}' in lines
        assert any(line.startswith("▸ user result read ") and "call_7" not in line for line in lines)
        await timeline.press(*"ppp", "enter")
        await timeline.until(lambda: '"properties": {' in timeline.messages)
        assert '"type": "object"' in timeline.messages


async def test_images_are_shown_with_the_message_that_they_were_sent_in(project: Path) -> None:
    (project / "shot.png").write_bytes(picture("PNG", (750, 1000)))
    seeing = working(project, "Red.")
    assert isinstance(seeing.provider, ScriptedProvider)
    seeing.provider.facts = ModelFacts(context_size=8000, images=True)
    async with travelling(seeing, "see @shot.png") as timeline:
        await timeline.press("2")
        sent = timeline.messages
        await timeline.press("i")
        pilot = timeline.pilot
        await until(pilot, lambda: isinstance(pilot.app.screen, ImageViewer))
        title = pilot.app.screen.query_one(DialogTitle)
        await until(pilot, lambda: "shot.png" in shown(title) and "750×1000" in shown(title))
        await pilot.press("escape")
    assert "[image shot.png 750×1000 " in sent
    [head] = [line for line in sent.splitlines() if "▾ user" in line]
    # A thousand of the image, and those of the environment, whose length varies.
    counted = re.search(r"~1\.(\d)k tokens", head)
    assert counted is not None
    assert int(counted[1]) < 4

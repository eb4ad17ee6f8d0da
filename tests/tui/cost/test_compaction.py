"""A summary that can be trusted: what it would replace, what it replaced, and what is pinned."""

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widgets import TextArea

from cogency_tui.agent.compaction import Part
from cogency_tui.protocol.events import Event
from cogency_tui.tui.cost.compaction_rows import PartRow, draw_note, draw_row
from cogency_tui.tui.cost.compaction_screen import CompactDialog, CompactionScreen
from cogency_tui.tui.cost.context_screen import ContextScreen, SummaryScreen
from cogency_tui.tui.kit.dialogs import Choices
from cogency_tui.tui.theme_styles import theme_styles_of
from cogency_tui.tui.transcript.pin_marks import PIN
from cogency_tui.tui.transcript.units import Prose, Summarized, UserMessage
from tests.peers.words import words
from tests.tui.cost.test_commands import READ, SUMMARY, body, compact, opened, talk, working
from tests.tui.driving import conversation_of, finished, main_of, prompt_of, shown, told, until
from tests.tui.scripted import call

LONG = "It says x = 1.\n\nNothing else is in it."


def place(pilot: Pilot[Any], kind: type[Any]) -> int:
    """The last unit of a kind."""
    units = conversation_of(pilot).transcript.units
    return next(at for at in reversed(range(len(units))) if isinstance(units[at], kind))


async def go_to(pilot: Pilot[Any], kind: type[Any]) -> None:
    """Put the cursor of the conversation on the last unit of a kind."""
    conversation = conversation_of(pilot)
    conversation.focus()
    conversation.go_to_unit(place(pilot, kind))
    await until(pilot, lambda: pilot.app.screen.focused is conversation)


async def summarized(pilot: Pilot[Any]) -> None:
    prompt_of(pilot).focus()
    await compact(pilot)
    await until(pilot, lambda: isinstance(conversation_of(pilot).transcript.units[-1], Summarized))
    await finished(pilot)


async def shown_screen(pilot: Pilot[Any], kind: type[Screen[Any]]) -> Any:
    await until(pilot, lambda: isinstance(pilot.app.screen, kind))
    return pilot.app.screen


async def closed(pilot: Pilot[Any]) -> None:
    await until(pilot, lambda: pilot.app.screen is main_of(pilot))


def rows_of(text: str) -> list[str]:
    """The lines of a list without the figures of tokens, which are estimates."""
    return [" ".join(line.split()[:-1]) if "~" in line else line.strip() for line in text.splitlines()]


def sent_by(pilot: Pilot[Any]) -> list[Any]:
    provider: Any = main_of(pilot).agent.provider
    return provider.sent


async def test_the_plan_of_a_summary_comes_first_and_costs_nothing(project: Path) -> None:
    async with working(project, READ, LONG, SUMMARY, "Bye.") as pilot:
        main_of(pilot).agent.mode = "replay"
        await talk(pilot, "read it")
        await opened(pilot, "/compact", CompactDialog)
        rows = rows_of(await body(pilot, "#compact-list"))
        assert rows == [
            "You: read it verbatim",
            "read src/app.py summarized",
            "Answer: It says x = 1. Nothing else is in it. summarized",
        ]
        note = " ".join((await body(pilot, "#compact-note")).split())
        assert "Summarizes 3 messages, of which 1 stays verbatim." in note
        assert "→" in shown(pilot.app.screen.query_one("#compact-title"))
        await pilot.press("escape")
        await closed(pilot)
        assert len(sent_by(pilot)) == 2

        # A part that is pinned here stays too, and reaches the model.
        await opened(pilot, "/compact", CompactDialog)
        await body(pilot, "#compact-list")
        await pilot.press("end", "p")
        await until(pilot, lambda: f"{PIN} Answer" in shown(pilot.app.screen.query_one("#compact-list")))
        note = pilot.app.screen.query_one("#compact-note")
        await until(pilot, lambda: "of which 2 stay verbatim" in shown(note))
        await until(pilot, lambda: "p unpin" in shown(pilot.app.screen.query_one(Choices)))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(conversation_of(pilot).transcript.units[-1], Summarized))
        await talk(pilot, "go on")
        await until(pilot, lambda: "Bye." in shown(conversation_of(pilot)))
        first = words(sent_by(pilot)[-1][1]["content"])
    assert f"1. read it\n\n2. [pinned: your answer]\n\n```\n{LONG}\n```" in first
    assert first.endswith(SUMMARY)


async def test_the_plan_its_result_and_the_line_after_reopening_count_alike(project: Path) -> None:
    malformed = "<execute>[{</execute>"
    async with working(project, READ, malformed, LONG, SUMMARY) as pilot:
        await talk(pilot, "read it")
        await opened(pilot, "/compact", CompactDialog)
        planned = len(rows_of(await body(pilot, "#compact-list")))
        assert f"Summarizes {planned} messages" in " ".join((await body(pilot, "#compact-note")).split())
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(conversation_of(pilot).transcript.units[-1], Summarized))
        assert f"◇ Summarized {planned} messages" in shown(conversation_of(pilot))
        conversation_id = main_of(pilot).bridge.conversation_id
        assert conversation_id is not None
        history = await main_of(pilot).agent.history(conversation_id)
        [(_summary, messages)] = await history.covered()
        assert messages == planned


async def test_nothing_to_summarize_is_an_error_and_no_dialog(project: Path) -> None:
    async with working(project, "Hello.", SUMMARY) as pilot:
        await talk(pilot, "hi")
        await summarized(pilot)
        await main_of(pilot).action_command("compact")
        await until(pilot, lambda: "There is nothing to summarize yet." in told(pilot))
        assert pilot.app.screen is main_of(pilot)


@pytest.mark.parametrize("way", ["enter", "click", "context"])
async def test_what_a_summary_replaced_is_seen_from_its_line_and_from_the_context(
    project: Path, way: str
) -> None:
    async with working(project, READ, LONG, SUMMARY, width=160) as pilot:
        await talk(pilot, "read it")
        await summarized(pilot)
        if way == "context":
            await opened(pilot, "/context", ContextScreen)
            assert "◇ Summarized 3 messages · " in await body(pilot, "#context-body")
            await pilot.press("enter")
        else:
            await go_to(pilot, Summarized)
            await (pilot.press("enter") if way == "enter" else click_line(pilot, "◇ Summarized"))
        await shown_screen(pilot, CompactionScreen)
        rows = rows_of(await body(pilot, "#compaction-list"))
        assert "3 messages · " in rows[0]
        assert rows[1:4] == [
            "You: read it verbatim",
            "read src/app.py summarized",
            "Answer: It says x = 1. Nothing else is in … summarized",
        ]
        text = await body(pilot, "#compaction-summary")
        assert "Current summary" in text
        assert "The person greets." in text
        assert "Your message: verbatim in the context." in await body(pilot, "#compaction-note")


async def click_line(pilot: Pilot[Any], text: str) -> None:
    conversation = conversation_of(pilot)
    y = next(at for at, line in enumerate(shown(conversation).splitlines()) if text in line)
    await pilot.click(conversation, offset=(6, y))


async def test_in_the_view_parts_are_filtered_pinned_and_found_again(project: Path) -> None:
    async with working(project, READ, LONG, SUMMARY, "More.", "Another.", width=160) as pilot:
        await talk(pilot, "read it")
        await summarized(pilot)
        await talk(pilot, "and more")
        await summarized(pilot)
        # From the line of the first one.
        conversation = conversation_of(pilot)
        conversation.focus()
        first = next(
            at for at, each in enumerate(conversation.transcript.units) if isinstance(each, Summarized)
        )
        conversation.go_to_unit(first)
        await pilot.press("enter")
        screen = await shown_screen(pilot, CompactionScreen)
        rows, text = screen.rows, screen.query_one("#compaction-summary")
        await until(pilot, lambda: "Earlier summary" in shown(text))
        assert "The person greets." in shown(text)
        await pilot.press("home")
        await until(pilot, lambda: "Another." in shown(text))

        await pilot.press("f", "f")
        await until(pilot, lambda: "3 of 5 summarized" in shown(screen.heading))
        assert "You:" not in shown(rows)
        await pilot.press("end", "p")
        await until(pilot, lambda: "2 of 5 summarized" in shown(screen.heading))
        await pilot.press("f")
        await until(pilot, lambda: f"{PIN} Answer: It says" in shown(rows))
        await pilot.press("end")
        await until(pilot, lambda: "Pinned: verbatim in" in shown(screen.query_one("#compaction-note")))
        await pilot.press("enter")
        await closed(pilot)
        cursor = conversation.cursor.place
        assert cursor is not None
        answer = conversation.transcript.units[cursor.unit]
        assert isinstance(answer, Prose)
        assert answer.text == LONG
        assert conversation.transcript.pinned == {cursor.unit}


async def test_on_a_narrow_screen_parts_and_summary_take_turns(project: Path) -> None:
    async with working(project, "Hello.", SUMMARY) as pilot:
        await pilot.resize_terminal(60, 16)
        await talk(pilot, "hi")
        await summarized(pilot)
        await go_to(pilot, Summarized)
        await pilot.press("enter")
        screen = await shown_screen(pilot, CompactionScreen)
        await until(pilot, lambda: "You: hi" in shown(screen.rows))
        text, keys = screen.query_one("#compaction-summary"), screen.query_one(Choices)
        assert not text.display
        assert "Esc close" in shown(keys)
        await pilot.press("tab")
        await until(pilot, lambda: "The person greets." in shown(text))
        assert not screen.rows.display
        assert "Tab parts   e edit summary   Esc close" in shown(keys)
        # Its keys have no part to act on.
        await pilot.press("enter", "p")
        assert pilot.app.screen is screen
        await pilot.press("tab")
        await until(pilot, lambda: screen.rows.display and not text.display)
        await pilot.press("e")
        edited = await shown_screen(pilot, SummaryScreen)
        assert edited.query_one(TextArea).text == SUMMARY


async def test_a_block_is_pinned_marked_and_marked_again_when_reopened(project: Path) -> None:
    async with working(project, READ, LONG, SUMMARY, "Yes.") as pilot:
        await talk(pilot, "read it")
        await go_to(pilot, Prose)
        await pilot.press("p")
        await until(pilot, lambda: f"{PIN}It says x = 1." in shown(conversation_of(pilot)))
        # Without the cursor beside it, the mark is apart from the text.
        await pilot.press("left_square_bracket")
        await until(pilot, lambda: f"{PIN} It says x = 1." in shown(conversation_of(pilot)))
        await pilot.press("right_square_bracket")
        assert "It stays verbatim when the conversation is summarized." in told(pilot)
        bridge = main_of(pilot).bridge
        assert bridge.conversation_id is not None
        transcript, _total = await bridge.reopen(bridge.conversation_id)
        assert transcript.pinned == conversation_of(pilot).transcript.pinned == {place(pilot, Prose)}

        await pilot.press("p")
        await until(pilot, lambda: PIN not in shown(conversation_of(pilot)))
        await until(pilot, lambda: "Unpinned." in told(pilot))
        await summarized(pilot)
        await go_to(pilot, Prose)
        await pilot.press("p")
        await until(pilot, lambda: "Included again from the next request on, in a new session" in told(pilot))
        # A command of the user's, a message and a call can be pinned as well; figures cannot.
        await go_to(pilot, UserMessage)
        await pilot.press("p")
        await until(pilot, lambda: len(conversation_of(pilot).transcript.pinned) == 2)
        await go_to(pilot, Summarized)
        assert not conversation_of(pilot).check_action("pin", ())


def part(fate: Any, *, pinned: bool = False, omitted: int = 0) -> Part:
    event: Event = {"type": "respond", "timestamp": 1.0, "id": "a", "content": "x"}
    return Part(1, event, None, 1, 10, fate, pinned, omitted)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (part("verbatim", pinned=True), "Pinned: verbatim in the context."),
        (part("verbatim", omitted=1_200), "without 1,200 characters from its middle."),
        (part("summarized", omitted=1_200), "without 1,200 characters of its result. The agent can still"),
        (part("dropped"), "Not in the summary: it was beyond the message limit."),
    ],
)
def test_the_fate_of_a_part_is_explained(given: Part, expected: str) -> None:
    lines = draw_note(given, 200, theme_styles_of("night"))
    assert expected in " ".join(line.text for line in lines)


def test_a_call_names_its_file_as_in_the_conversation() -> None:
    row = PartRow(0, Part(1, call("c", "read", file="/work/shop/src/app.py"), None, 1, 10, "summarized"))
    line = draw_row(row, 60, theme_styles_of("night"), "surface", root="/work/shop")
    assert line.text.split()[:2] == ["read", "src/app.py"]

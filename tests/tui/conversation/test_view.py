"""The conversation pane: following, holding the reading position, opening, selecting."""

from pathlib import Path

import pytest
from textual.geometry import Offset
from textual.selection import Selection

from cogency_tui.protocol.events import Event
from cogency_tui.tui.conversation.view import Conversation
from cogency_tui.tui.kit.lines import Line
from cogency_tui.tui.transcript.unit_text import text_of
from tests.tui.driving import app_over, conversation_of, finished, live_line_of, main_of, send, shown, until
from tests.tui.reading import reading
from tests.tui.scripted import (
    ScriptedAgent,
    call,
    execute,
    output,
    paused,
    respond,
    result,
    started,
    think,
    user,
)

LONG = [respond("\n\n".join(f"paragraph {number}" for number in range(60)))]


def go_on(agent: ScriptedAgent) -> None:
    """Let the script go on until it pauses again."""
    agent.gate.set()
    agent.gate.clear()


def row_of(view: Conversation, text: str) -> int:
    """The row in view that has `text`."""
    return next(row for row, line in enumerate(shown(view).split("\n")) if text in line)


def last_text(view: Conversation) -> str:
    """The end of the conversation, in view or not."""
    return getattr(view.transcript.units[-1], "text", "")


async def test_it_says_what_this_is_and_then_what_is_said_thought_called_and_answered(project: Path) -> None:
    agent = ScriptedAgent(
        project,
        [
            think("hm", at=1),
            call("c", "read", at=3, file="src/app.py"),
            execute(),
            started("c", "read"),
            result("c", "read", "Read 1 line"),
            respond("It says **x**.\n\n```py\nx = 1\n```"),
        ],
    )
    async with app_over(agent).run_test(size=(120, 40)) as pilot:
        text = shown(conversation_of(pilot))
        assert "Your coding agent" in text
        assert " openai/gpt-5.6-sol  F2 " in text
        assert text.count("›") == 3

        await send(pilot, "what is in app.py?")
        await until(pilot, lambda: not main_of(pilot).bridge.working)
        lines = [line.strip() for line in shown(conversation_of(pilot)).split("\n") if line.strip()]

    assert lines[0].startswith("▌ what is in app.py?")
    assert lines[1] == "▸ Thought for 2.0 s"
    assert lines[2].split() == ["✓", "read", "src/app.py", "·", "Read", "1", "line", "12", "ms"]
    assert lines[3:] == ["It says x.", f"x = 1{'py':>{len(lines[-1]) - 5}}"]


@pytest.mark.exhaustive
async def test_the_view_follows_until_the_reader_scrolls_up_and_again_at_the_end(project: Path) -> None:
    more = [respond("more\n\n" * 5, "r2"), paused, respond("\n\nthe end", "r3"), call("c", "read"), paused]
    agent = ScriptedAgent(project, [*LONG, paused, *more])
    async with app_over(agent).run_test(size=(120, 30)) as pilot:
        await send(pilot, "go")
        view = conversation_of(pilot)
        await until(pilot, lambda: "paragraph 59" in shown(view))
        view.focus()
        await pilot.press("up", "up")
        assert not view.following
        await pilot.press("down", "down")
        assert view.following
        go_on(agent)
        await until(pilot, lambda: "more" in shown(view))

        await pilot.press("pageup", "pageup")
        before, position = shown(view), view.scroll_offset.y
        assert not view.following
        go_on(agent)
        await until(pilot, lambda: "2 new" in shown(live_line_of(pilot)))
        assert (shown(view), view.scroll_offset.y) == (before, position)

        await pilot.press("end")
        await until(pilot, lambda: "the end" in shown(view))
        assert view.following
        assert "new" not in shown(live_line_of(pilot))


@pytest.mark.exhaustive
async def test_the_reading_position_holds_when_theme_and_size_change(project: Path) -> None:
    async with app_over(ScriptedAgent(project, LONG)).run_test(size=(120, 30)) as pilot:
        await send(pilot, "go")
        view = conversation_of(pilot)
        await until(pilot, lambda: "paragraph 59" in shown(view))
        view.focus()
        await pilot.press("pageup", "up")
        before = shown(view)

        await pilot.app.run_action("app.set_theme('day')")
        await pilot.pause()
        assert shown(view) == before

        first = before.strip().split("\n")[0].strip()
        await pilot.resize_terminal(70, 24)
        await until(pilot, lambda: view.size.width > 60)
        assert shown(view).strip().split("\n")[0].strip() == first


@pytest.mark.exhaustive
async def test_what_streams_in_below_is_not_drawn_and_skipped_nowhere(project: Path) -> None:
    later = "\n\n".join(f"later {number}" for number in range(200))
    script = [*LONG, paused, respond("\n\nmore", "r1"), paused, respond("\n\n" + later, "r1"), paused]
    agent = ScriptedAgent(project, script)
    async with app_over(agent).run_test(size=(120, 30)) as pilot:
        await send(pilot, "go")
        view = conversation_of(pilot)
        await until(pilot, lambda: "paragraph 59" in shown(view))
        view.focus()
        await pilot.press("home")
        drawn: list[int] = []
        line_at = view.line_at

        def recorded(y: int) -> Line | None:
            drawn.append(y)
            return line_at(y)

        view.line_at = recorded
        go_on(agent)
        await until(pilot, lambda: last_text(view).endswith("more"))
        await pilot.pause()
        assert not [y for y in drawn if y >= view.page]

        await pilot.press("end", "up")
        go_on(agent)
        await until(pilot, lambda: last_text(view).endswith("later 199"))
        assert "later" not in shown(view)

        await pilot.press("down", "down", "down")
        assert "later 0" in shown(view)
        assert "later 20" not in shown(view)
        assert not view.following


@pytest.mark.exhaustive
async def test_home_and_end_reach_everything_in_a_long_conversation(project: Path) -> None:
    agent = ScriptedAgent(project)
    events: list[Event] = []
    for number in range(600):
        events.append(user(f"question {number}"))
        events += [respond(f"answer {number} " + "日本語 word " * (number % 40), f"r{number}")]
    agent.past.past["old"] = events
    async with app_over(agent, conversation_id="old").run_test(size=(100, 30)) as pilot:
        view = conversation_of(pilot)
        await until(pilot, lambda: "answer 599" in shown(view))
        assert view.scroll_offset.y == view.max_scroll_y

        view.focus()
        await pilot.press("home")
        assert "question 0" in shown(view)
        await pilot.press("pagedown", "pageup")
        assert "question 0" in shown(view)
        await pilot.press("end")
        assert "answer 599" in shown(view)


@pytest.mark.exhaustive
async def test_scrolling_up_line_by_line_misses_nothing() -> None:
    count = 60
    events = [respond(f"n{number} " + "word " * (number * 7 % 90), f"r{number}") for number in range(count)]
    async with reading(events, (60, 20)) as reader:
        reader.app.set_focus(None)
        await reader.pilot.pause()
        view, seen = reader.view, reader.rows
        while view.scroll_offset.y:
            below = reader.rows
            view.jump(view.scroll_offset.y - 1)
            above = reader.rows
            assert above[1:] == below[:-1]
            seen.insert(0, above[0])

    starts = [line.split()[0] for line in seen if line.strip().startswith("n")]
    assert starts == [f"n{number}" for number in range(count)]


@pytest.mark.exhaustive
async def test_a_key_opens_a_thought_and_a_click_a_call_where_it_stands(project: Path) -> None:
    listed = [call("c", "shell", command="ls"), result("c", "shell", "exit 0", "file.txt")]
    agent = ScriptedAgent(project, [*listed, think("because of the loop"), respond("done", at=2)])
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        await send(pilot, "why?")
        view = conversation_of(pilot)
        await until(pilot, lambda: "▸ Thought" in shown(view) and "✓ $ ls" in shown(view))
        view.focus()
        await pilot.press("left_square_bracket", "enter")
        assert "because of the loop" in shown(view)
        await pilot.press("enter")
        assert "because" not in shown(view)

        await pilot.click(view, offset=(10, row_of(view, "✓ $ ls")))
        await until(pilot, lambda: "file.txt" in shown(view))


@pytest.mark.exhaustive
async def test_selected_text_is_copied_as_it_was_written(project: Path) -> None:
    answer = [respond("The retry loop **sleeps** before it checks " * 4), paused]
    agent = ScriptedAgent(project, [*answer, respond("second\n\n" * 40, "r2")])
    async with app_over(agent).run_test(size=(80, 30)) as pilot:
        await send(pilot, "why?")
        view = conversation_of(pilot)
        await until(pilot, lambda: "sleeps" in shown(view))
        first = row_of(view, "The retry")
        await pilot.mouse_down(view, offset=(2, first))
        await pilot.hover(view, offset=(8, first + 1))
        await pilot.mouse_up(view, offset=(8, first + 1))

        copied = view.screen.get_selected_text()
        assert copied is not None
        assert copied.startswith("The retry loop sleeps before it checks The retry")
        assert "\n" not in copied

        await pilot.press("ctrl+c")
        assert pilot.app.clipboard == copied

        # A selection stays on its text when more comes in.
        start = Offset(0, view.address_of(first))
        selection = Selection(start, start + (5, 0))
        before = view.get_selection(selection)
        assert before is not None
        assert before[0] in "The retry loop"
        agent.gate.set()
        await finished(pilot)
        assert view.get_selection(selection) == before


async def test_everything_can_be_selected_without_the_decoration(project: Path) -> None:
    agent = ScriptedAgent(project, [respond("para\n\n```py\nx = 1\n```")])
    async with app_over(agent).run_test(size=(80, 30)) as pilot:
        await send(pilot, "my question")
        view = conversation_of(pilot)
        await until(pilot, lambda: "x = 1" in shown(view))

        assert view.get_selection(Selection(None, None)) == ("my question\n\npara\n\nx = 1", "\n")


@pytest.mark.exhaustive
async def test_foreign_text_neither_controls_nor_marks_up_and_an_interruption_is_marked(
    project: Path,
) -> None:
    hostile = "[/] [@click=app.quit]x[/] \x1b[2J\x1b]0;t\x07 日本語 \u202e end"
    script = [
        respond(hostile),
        call("c", "shell", command=hostile),
        started("c", "shell"),
        output("c", "shell", hostile),
        respond("half an ans", "r2"),
        paused,
    ]
    async with app_over(ScriptedAgent(project, script)).run_test(size=(160, 40)) as pilot:
        await send(pilot, hostile)
        view = conversation_of(pilot)
        await until(pilot, lambda: "half an ans" in shown(view))
        screen = pilot.app.export_screenshot() + shown(view)

        assert "\x1b" not in screen
        assert "\u202e" not in screen
        assert "[@click=app.quit]x[/]" in shown(view)
        assert "日本語" in shown(view)

        await pilot.press("escape")
        await until(pilot, lambda: "■ Interrupted" in shown(view))


@pytest.mark.exhaustive
async def test_ctrl_f_finds_from_the_prompt_and_escape_comes_back_without_interrupting(project: Path) -> None:
    agent = ScriptedAgent(project, [*LONG, paused])
    async with app_over(agent).run_test(size=(120, 30)) as pilot:
        await send(pilot, "go")
        view = conversation_of(pilot)
        await until(pilot, lambda: "paragraph 59" in shown(view))

        await pilot.press("ctrl+f", *"ph", "space", "1", "7")
        await until(pilot, lambda: "paragraph 17" in shown(view))
        await pilot.press("escape")

        await until(pilot, lambda: "paragraph 59" in shown(view))
        assert view.following
        assert main_of(pilot).bridge.working


@pytest.mark.exhaustive
async def test_the_reading_position_holds_within_a_long_answer_while_it_grows_and_is_resized(
    project: Path,
) -> None:
    text = " ".join(f"word{number}" for number in range(3000))
    agent = ScriptedAgent(project, [respond(text), paused, respond(" and on" * 500), paused])
    async with app_over(agent).run_test(size=(120, 30)) as pilot:
        await send(pilot, "go")
        view = conversation_of(pilot)
        await until(pilot, lambda: "word2999" in shown(view))
        view.focus()
        await pilot.press(*["pageup"] * 5)
        first = shown(view).split()[1]
        assert first.startswith("word")

        agent.gate.set()
        await until(pilot, lambda: "and on" in getattr(view.transcript.units[1], "text", ""))
        for width in (90, 60, 150, 120):
            await pilot.resize_terminal(width, 30)
            await pilot.pause()
            assert first in "\n".join(shown(view).split("\n")[:2])


DIFF = "--- a/a.py\n+++ b/a.py\n@@ -1 +1,2 @@\n-x\n+y\n+z\n"


async def test_an_edit_and_the_end_of_its_turn_lead_to_the_review() -> None:
    events = [
        user("change it"),
        call("e", "edit", file="a.py", old="x", new="y"),
        result("e", "edit", "+2 −1", DIFF),
        respond("Done."),
    ]
    async with reading(events) as reader:
        for row in (row_of(reader.view, "✎ a.py"), row_of(reader.view, "1 file +2 −1")):
            column = reader.rows[row].index("review")
            await reader.pilot.click(reader.view, offset=(column + 1, row))
            await reader.press("r")

        asked = [each.call for each in reader.app.wanted if isinstance(each, Conversation.ReviewRequested)]
        assert asked == ["e"] * 4
        folded = reader.text.split()
        assert reader.rows[row_of(reader.view, "1 file +2 −1")].endswith("F5 review")

        await reader.pilot.click(reader.view, offset=(8, row_of(reader.view, "✎ a.py")))
        await reader.pilot.pause()
        assert len(reader.text.split()) > len(folded)


async def test_the_time_of_a_message_is_at_the_end_of_its_surface(project: Path) -> None:
    agent = ScriptedAgent(project, [respond("Hello.")])
    async with app_over(agent).run_test(size=(160, 45)) as pilot:
        await send(pilot, "hello")
        await finished(pilot)
        view = conversation_of(pilot)
        await until(pilot, lambda: "Hello." in shown(view))
        (row,) = (line for line in shown(view).splitlines() if line.startswith("▌ hello"))
        assert view.text_width < view.size.width - 20, "the text is narrower than the pane"
        assert len(row) == view.size.width - view.MARGIN


async def test_a_long_message_is_folded_and_found_in(project: Path) -> None:
    pasted = "\n".join(f"row {number}" for number in range(5000))
    agent = ScriptedAgent(project, [user(pasted), respond("Read.")])
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        await send(pilot, "look")
        await finished(pilot)
        view = conversation_of(pilot)
        await until(pilot, lambda: "… 4,989 more lines" in shown(view))
        assert "row 7\n" in shown(view)
        assert "row 8" not in shown(view)
        assert "row 4997" in shown(view)
        assert "row 4999" in shown(view), "a question below a paste stays in view"
        assert view.virtual_size.height < 30

        await pilot.press("ctrl+f", *"row 4321")
        await until(pilot, lambda: "row 4321" in shown(view))
        await pilot.press("escape")
        await until(pilot, lambda: "… 4,989 more lines" in shown(view))

        view.focus()
        await pilot.press("g", "g")
        view.go_to_unit(next(at for at, unit in enumerate(view.transcript.units) if "row 1" in text_of(unit)))
        await pilot.press("enter")
        await until(pilot, lambda: view.virtual_size.height > 5000)

"""The conversation pane: following, holding the reading position, opening, selecting."""

from pathlib import Path
from typing import Any

import pytest
from textual.geometry import Offset
from textual.pilot import Pilot
from textual.selection import Selection

from cogency_tui.protocol.events import Event
from cogency_tui.tui.kit.lines import Line
from tests.tui.driving import app_over, conversation_of, live_line_of, main_of, prompt_of, send, shown, until
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


def script(*events: Any) -> list[Any]:
    return list(events)


async def begin(pilot: Pilot[Any], text: str = "go on") -> None:
    await send(pilot, text)
    await until(pilot, lambda: text in shown(conversation_of(pilot)) or not main_of(pilot).bridge.working)


async def test_an_empty_conversation_says_what_this_is(project: Path) -> None:
    app = app_over(ScriptedAgent(project))
    async with app.run_test(size=(120, 40)) as pilot:
        text = shown(conversation_of(pilot))

        assert "Your coding agent" in text
        assert "Model: openai/gpt-5.6-sol" in text
        assert text.count("›") == 3


@pytest.mark.exhaustive
async def test_what_is_said_thought_called_and_answered_is_shown(project: Path) -> None:
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
        await send(pilot, "what is in app.py?")
        await until(pilot, lambda: not main_of(pilot).bridge.working)
        lines = [line.strip() for line in shown(conversation_of(pilot)).split("\n") if line.strip()]

    assert lines[0] == "▌ what is in app.py?"
    assert lines[1] == "▸ Thought for 2.0 s"
    assert lines[2].split() == ["✓", "read", "src/app.py", "Read", "1", "line", "12", "ms"]
    assert lines[3:] == ["It says x.", "py", "x = 1"]


@pytest.mark.exhaustive
async def test_the_view_follows_until_the_reader_scrolls_up(project: Path) -> None:
    agent = ScriptedAgent(project, [*LONG, paused, respond("\n\nthe end", "r2"), call("c", "read"), paused])
    async with app_over(agent).run_test(size=(120, 30)) as pilot:
        await send(pilot, "go")
        view = conversation_of(pilot)
        await until(pilot, lambda: "paragraph 59" in shown(view))
        view.focus()
        await pilot.press("pageup", "pageup")
        before, position = shown(view), view.scroll_offset.y
        assert not view.following

        agent.gate.set()
        await until(pilot, lambda: "2 new" in shown(live_line_of(pilot)))
        assert (shown(view), view.scroll_offset.y) == (before, position)

        await pilot.press("end")
        await until(pilot, lambda: "the end" in shown(view))
        assert view.following
        assert "new" not in shown(live_line_of(pilot))


@pytest.mark.exhaustive
async def test_scrolling_back_to_the_end_follows_again(project: Path) -> None:
    agent = ScriptedAgent(project, [*LONG, paused, respond("more\n\n" * 5, "r2")])
    async with app_over(agent).run_test(size=(120, 30)) as pilot:
        await send(pilot, "go")
        view = conversation_of(pilot)
        await until(pilot, lambda: "paragraph 59" in shown(view))
        view.focus()
        await pilot.press("up", "up")
        assert not view.following
        await pilot.press("down", "down")
        assert view.following

        agent.gate.set()
        await until(pilot, lambda: "more" in shown(view))


@pytest.mark.exhaustive
async def test_nothing_is_drawn_while_text_streams_in_below(project: Path) -> None:
    agent = ScriptedAgent(project, [*LONG, paused, respond("\n\nmore", "r1")])
    async with app_over(agent).run_test(size=(120, 30)) as pilot:
        await send(pilot, "go")
        view = conversation_of(pilot)
        await until(pilot, lambda: "paragraph 59" in shown(view))
        view.focus()
        await pilot.press("home")
        await pilot.pause()
        drawn: list[int] = []
        line_at = view.line_at

        def recorded(y: int) -> Line | None:
            drawn.append(y)
            return line_at(y)

        view.line_at = recorded

        agent.gate.set()
        await until(pilot, lambda: not main_of(pilot).bridge.working)
        await pilot.pause()

        assert not [y for y in drawn if y >= view.page]


@pytest.mark.exhaustive
async def test_home_and_end_reach_everything_in_a_long_conversation(project: Path) -> None:
    agent = ScriptedAgent(project)
    events: list[Event] = []
    for number in range(3000):
        events.append(user(f"question {number}"))
        events += [respond(f"answer {number} " + "日本語 word " * (number % 40), f"r{number}")]
    agent.past.past["old"] = events
    async with app_over(agent, conversation_id="old").run_test(size=(100, 30)) as pilot:
        view = conversation_of(pilot)
        await until(pilot, lambda: "answer 2999" in shown(view))
        assert view.scroll_offset.y == view.max_scroll_y

        view.focus()
        await pilot.press("home")
        assert "question 0" in shown(view)
        await pilot.press("pagedown", "pageup")
        assert "question 0" in shown(view)
        await pilot.press("end")
        assert "answer 2999" in shown(view)


@pytest.mark.exhaustive
async def test_scrolling_up_line_by_line_misses_nothing(project: Path) -> None:
    agent = ScriptedAgent(project)
    agent.past.past["old"] = [
        respond(f"n{number} " + "word " * (number * 7 % 90), f"r{number}") for number in range(200)
    ]
    async with app_over(agent, conversation_id="old").run_test(size=(60, 20)) as pilot:
        view = conversation_of(pilot)
        await until(pilot, lambda: "n199" in shown(view))
        seen = shown(view).split("\n")
        while view.scroll_offset.y:
            below = shown(view).split("\n")
            view.jump(view.scroll_offset.y - 1)
            above = shown(view).split("\n")
            assert above[1:] == below[:-1]
            seen.insert(0, above[0])

    starts = [line.split()[0] for line in seen if line.strip().startswith("n")]
    assert starts == [f"n{number}" for number in range(200)]


@pytest.mark.exhaustive
async def test_the_reading_position_holds_when_the_terminal_is_resized(project: Path) -> None:
    agent = ScriptedAgent(project, LONG)
    async with app_over(agent).run_test(size=(120, 30)) as pilot:
        await send(pilot, "go")
        view = conversation_of(pilot)
        await until(pilot, lambda: "paragraph 59" in shown(view))
        view.focus()
        await pilot.press("pageup")
        first = shown(view).strip().split("\n")[0].strip()

        await pilot.resize_terminal(70, 24)
        await until(pilot, lambda: view.size.width > 60)

        assert shown(view).strip().split("\n")[0].strip() == first


@pytest.mark.exhaustive
async def test_enter_opens_and_closes_a_thought(project: Path) -> None:
    agent = ScriptedAgent(project, [think("because of the loop"), respond("done")])
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        await send(pilot, "why?")
        view = conversation_of(pilot)
        await until(pilot, lambda: "▸ Thought" in shown(view))
        view.focus()

        await pilot.press("left_square_bracket", "enter")
        assert "because of the loop" in shown(view)
        await pilot.press("enter")
        assert "because" not in shown(view)


@pytest.mark.exhaustive
async def test_a_click_opens_a_call_where_it_stands(project: Path) -> None:
    agent = ScriptedAgent(
        project, [call("c", "shell", command="ls"), result("c", "shell", "exit 0", "file.txt")]
    )
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        await send(pilot, "list")
        view = conversation_of(pilot)
        await until(pilot, lambda: "✓ shell" in shown(view))

        row = (
            shown(view).split("\n").index(next(line for line in shown(view).split("\n") if "✓ shell" in line))
        )
        await pilot.click(view, offset=(10, row))
        await until(pilot, lambda: "file.txt" in shown(view))


@pytest.mark.exhaustive
async def test_selected_text_is_copied_as_it_was_written(project: Path) -> None:
    agent = ScriptedAgent(project, [respond("The retry loop **sleeps** before it checks " * 4)])
    async with app_over(agent).run_test(size=(80, 30)) as pilot:
        await send(pilot, "why?")
        view = conversation_of(pilot)
        await until(pilot, lambda: "sleeps" in shown(view) and not main_of(pilot).bridge.working)
        lines = shown(view).split("\n")
        first = next(row for row, line in enumerate(lines) if "The retry" in line)
        await pilot.mouse_down(view, offset=(2, first))
        await pilot.hover(view, offset=(8, first + 1))
        await pilot.mouse_up(view, offset=(8, first + 1))

        copied = view.screen.get_selected_text()
        assert copied is not None
        assert copied.startswith("The retry loop sleeps before it checks The retry")
        assert "\n" not in copied

        await pilot.press("ctrl+c")
        assert pilot.app.clipboard == copied


async def test_everything_can_be_selected_without_the_decoration(project: Path) -> None:
    agent = ScriptedAgent(project, [respond("para\n\n```py\nx = 1\n```")])
    async with app_over(agent).run_test(size=(80, 30)) as pilot:
        await send(pilot, "my question")
        view = conversation_of(pilot)
        await until(pilot, lambda: "x = 1" in shown(view))

        assert view.get_selection(Selection(None, None)) == ("my question\n\npara\n\nx = 1", "\n")


@pytest.mark.exhaustive
async def test_a_selection_stays_on_its_text_when_more_comes_in(project: Path) -> None:
    agent = ScriptedAgent(project, [respond("first"), paused, respond("second\n\n" * 40, "r2")])
    async with app_over(agent).run_test(size=(80, 30)) as pilot:
        await send(pilot, "q")
        view = conversation_of(pilot)
        await until(pilot, lambda: "first" in shown(view))
        row = next(y for y, line in enumerate(shown(view).split("\n")) if "first" in line)
        start = Offset(0, view.address_of(row))
        agent.gate.set()
        await until(pilot, lambda: not main_of(pilot).bridge.working)

        assert view.get_selection(Selection(start, start + (5, 0))) == ("first", "\n")


@pytest.mark.exhaustive
async def test_foreign_text_neither_controls_nor_marks_up(project: Path) -> None:
    hostile = "[/] [@click=app.quit]x[/] \x1b[2J\x1b]0;t\x07 日本語 \u202e end"
    agent = ScriptedAgent(
        project,
        [
            respond(hostile),
            call("c", "shell", command=hostile),
            started("c", "shell"),
            output("c", "shell", hostile),
            paused,
        ],
    )
    async with app_over(agent).run_test(size=(160, 40)) as pilot:
        await send(pilot, hostile)
        view = conversation_of(pilot)
        await until(pilot, lambda: "shell" in shown(view))
        screen = pilot.app.export_screenshot() + shown(view)

        assert "\x1b" not in screen
        assert "\u202e" not in screen
        assert "[@click=app.quit]x[/]" in shown(view)
        assert "日本語" in shown(view)


@pytest.mark.exhaustive
async def test_an_interruption_and_an_error_are_marked(project: Path) -> None:
    agent = ScriptedAgent(project, [respond("half an ans"), paused])
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        await send(pilot, "go")
        await until(pilot, lambda: "half an ans" in shown(conversation_of(pilot)))
        prompt_of(pilot).focus()
        await pilot.press("escape")
        await until(pilot, lambda: "■ Interrupted" in shown(conversation_of(pilot)))


@pytest.mark.exhaustive
async def test_scrolling_down_into_what_streamed_in_below_skips_nothing(project: Path) -> None:
    more = "\n\n".join(f"later {number}" for number in range(200))
    agent = ScriptedAgent(project, [*LONG, paused, respond("\n\n" + more), paused])
    async with app_over(agent).run_test(size=(120, 30)) as pilot:
        await send(pilot, "go")
        view = conversation_of(pilot)
        await until(pilot, lambda: "paragraph 59" in shown(view))
        view.focus()
        await pilot.press("up")
        agent.gate.set()
        await until(pilot, lambda: not main_of(pilot).bridge.working)
        assert "later" not in shown(view)

        await pilot.press("down", "down", "down")
        assert "later 0" in shown(view)
        assert "later 20" not in shown(view)
        assert not view.following


async def test_ctrl_f_finds_from_the_prompt_and_escape_comes_back_without_interrupting(project: Path) -> None:
    agent = ScriptedAgent(project, [*LONG, paused])
    async with app_over(agent).run_test(size=(120, 30)) as pilot:
        await send(pilot, "go")
        view = conversation_of(pilot)
        await until(pilot, lambda: "paragraph 59" in shown(view))

        await pilot.press("ctrl+f", *"paragraph", "space", "1", "7")
        await until(pilot, lambda: "paragraph 17" in shown(view))
        await pilot.press("escape")

        await until(pilot, lambda: "paragraph 59" in shown(view))
        assert view.following
        assert main_of(pilot).bridge.working


@pytest.mark.exhaustive
async def test_the_reading_position_holds_when_the_theme_changes(project: Path) -> None:
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

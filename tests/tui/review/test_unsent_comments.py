"""Comments that wait for the next message show wherever the user may miss them."""

from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from cogency_tui.agent.agent import Agent
from cogency_tui.tui.prompt.prompt_and_queue import PromptLine
from tests.tui.driving import (
    conversation_of,
    finished,
    main_of,
    prompt_of,
    send,
    shown,
    told,
    type_text,
    until,
)
from tests.tui.review.stage import LINES, Reviewer, edit, going_on, working, write_text

ONE = "1 review comment goes with your next message"
TWO = "2 review comments go with your next message"


def line_of(pilot: Pilot[Any]) -> str:
    """The line below the prompt."""
    line = main_of(pilot).query_one(PromptLine)
    return shown(line).strip() if line.display else ""


def agent_in(project: Path) -> Agent:
    for name in ("a.py", "b.py"):
        (project / name).write_text(LINES)
    edits = [edit(name, "line_5 = 5\n", "line_5 = 'agent'\n") for name in ("a.py", "b.py")]
    return working(project, *edits, "Done.", "Fine.")


async def test_comments_show_in_the_list_in_the_heading_and_at_the_prompt_until_they_are_sent(
    project: Path,
) -> None:
    agent = agent_in(project)
    async with going_on(agent, "go") as pilot:
        reviewer = Reviewer(pilot)
        await reviewer.open()
        await reviewer.press("c")
        await write_text(reviewer, "why?", "enter")
        await reviewer.until(lambda: "¶ 1 +1 −1" in shown(reviewer.files))
        assert "¶ 1 comment" in shown(reviewer.header)
        await reviewer.press("c")
        await write_text(reviewer, "and this?", "enter")
        await reviewer.until(lambda: "¶ 2 comments" in shown(reviewer.header))
        await reviewer.press("escape")
        await until(pilot, lambda: line_of(pilot) == TWO)
        await type_text(pilot, "abc")
        assert (prompt_of(pilot).text, line_of(pilot)) == ("abc", TWO)

        await reviewer.open()
        await reviewer.press("u")
        await reviewer.until(lambda: "¶ 1 comment" in shown(reviewer.header))
        await reviewer.press("escape")
        await until(pilot, lambda: line_of(pilot) == ONE)
        await send(pilot, "on")
        await until(pilot, lambda: "Fine." in shown(conversation_of(pilot)))
        await finished(pilot)
        assert line_of(pilot) == ""
        await reviewer.open()
        assert "¶" not in shown(reviewer.header) + shown(reviewer.files)


async def test_a_comment_that_waits_shows_when_its_conversation_is_opened_and_in_no_other(
    project: Path,
) -> None:
    agent = agent_in(project)
    async with going_on(agent, "go") as pilot:
        id = main_of(pilot).bridge.conversation_id
        reviewer = Reviewer(pilot)
        await reviewer.open()
        await reviewer.press("c")
        await write_text(reviewer, "why?", "enter")
        await reviewer.press("escape")
        await until(pilot, lambda: line_of(pilot) == ONE)
        await pilot.press("ctrl+n")
        await until(pilot, lambda: line_of(pilot) == "")
        await main_of(pilot).run_action(f"command('resume', {id!r})")
        await until(pilot, lambda: line_of(pilot) == ONE)


async def test_undoing_a_comment_goes_to_its_file(project: Path) -> None:
    agent = agent_in(project)
    async with going_on(agent, "go") as pilot:
        reviewer = Reviewer(pilot)
        await reviewer.open()
        assert reviewer.path == "a.py"
        await reviewer.press("c")
        await write_text(reviewer, "why?", "enter")
        for key, said in (("u", "Comment removed"), ("U", "Comment restored")):
            await reviewer.press("J")
            await reviewer.until(lambda: reviewer.path == "b.py")
            await reviewer.press(key)
            await reviewer.until(lambda said=said: said in told(pilot) and reviewer.path == "a.py")

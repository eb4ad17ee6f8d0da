"""The dialog in which a hunk or a comment is written: its keys and its buttons."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from textual.widgets import TextArea

from cogency_tui.tui.review.text_dialog import WritingScreen
from tests.tui.driving import shown, told
from tests.tui.review.stage import LINES, Reviewer, edit, reviewing, working


@pytest.fixture
async def one(project: Path) -> AsyncIterator[Reviewer]:
    """The review of one hunk."""
    (project / "notes.py").write_text(LINES)
    agent = working(project, edit("notes.py", "line_5 = 5\n", "line_5 = 'agent'\n"), "Done.")
    async with reviewing(agent) as reviewer:
        yield reviewer


def area(reviewer: Reviewer) -> TextArea:
    assert isinstance(reviewer.app.screen, WritingScreen)
    return reviewer.app.screen.query_one(TextArea)


async def test_a_comment_may_have_several_lines(one: Reviewer) -> None:
    await one.press("c", "a", "ctrl+j", "b")
    assert area(one).text == "a\nb"
    await one.press("enter")
    assert one.view.file is not None
    assert [each.text for each in one.view.file.hunks[0].comments] == ["a\nb"]
    assert "¶ a" in shown(one.view)


@pytest.mark.exhaustive
async def test_the_lines_of_a_hunk_are_left_or_written(
    one: Reviewer, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What was not changed is left without a question.
    await one.press("e", "escape")
    assert one.app.screen is one.screen
    assert one.states == ("new",)
    assert "'agent'" in (project / "notes.py").read_text()

    # Without an editor that is said, and the text stays.
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.delenv("EDITOR", raising=False)
    await one.press("e", "ctrl+g")
    await one.until(lambda: "No editor found." in told(one.pilot))
    assert area(one).text.startswith("line_5 = 'agent'")

    # Enter is a line here.
    await one.press("end", "enter", *"more", "ctrl+s")
    assert "line_5 = 'agent'\nmore\nline_6 = 6\n" in (project / "notes.py").read_text()


@pytest.mark.exhaustive
async def test_its_buttons_do_what_its_keys_do(one: Reviewer) -> None:
    await one.press("c", "a")
    foot = one.app.screen.query_one("Choices")
    for button, text in (("new line", "a\n"), ("cancel", "a\n")):
        line = shown(foot).splitlines()
        y = next(y for y, each in enumerate(line) if button in each)
        assert await one.pilot.click(foot, offset=(line[y].index(button), y))
        await one.settled()
        if button == "new line":
            assert area(one).text == text
    await one.press("y")
    assert one.app.screen is one.screen

"""The dialog in which a hunk or a comment is written: its keys, its buttons, and the person's own editor."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from textual.widgets import TextArea

from cogency_tui.tui.review.text_dialog import WritingScreen
from tests.tui.driving import shown, told
from tests.tui.pty import Terminal
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
async def test_in_the_lines_of_a_hunk_enter_is_a_line(one: Reviewer, project: Path) -> None:
    await one.press("e", "end", "enter", *"more", "ctrl+s")
    assert "line_5 = 'agent'\nmore\nline_6 = 6\n" in (project / "notes.py").read_text()


@pytest.mark.exhaustive
async def test_what_was_not_changed_is_left_without_a_question(one: Reviewer, project: Path) -> None:
    await one.press("e", "escape")
    assert one.app.screen is one.screen
    assert one.states == ("new",)
    assert "'agent'" in (project / "notes.py").read_text()


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


@pytest.mark.exhaustive
async def test_without_an_editor_that_is_said_and_the_text_stays(
    one: Reviewer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.delenv("EDITOR", raising=False)
    await one.press("e", "ctrl+g")
    await one.until(lambda: "No editor found." in told(one.pilot))
    assert area(one).text.startswith("line_5 = 'agent'")


@pytest.mark.exhaustive
@pytest.mark.pty
def test_the_lines_come_back_from_the_editor(tmp_path: Path) -> None:
    project = tmp_path / "shop"
    project.mkdir()
    (project / "greet.py").write_text('print("hello")\n')
    editor = tmp_path / "editor.sh"
    editor.write_text('#!/bin/sh\nsed -i "s/goodbye/good morning/" "$1"\n')
    editor.chmod(0o755)
    environ = {"EDITOR": str(editor)}
    with Terminal("--permissions", "auto", cwd=project, data=tmp_path / "data", environ=environ) as terminal:
        terminal.wait_for("Ask, @file")
        terminal.send("replace 'hello' with 'goodbye' in greet.py\r")
        terminal.wait_for("Replaced")
        terminal.send("\x1b[15~")
        terminal.wait_for('+ print("goodbye")')
        terminal.send("e")
        terminal.wait_for("Edit hunk")
        terminal.send("\x07")
        terminal.wait_for('print("good morning")')
        terminal.send("\x13")
        terminal.wait_for("✎ 1")
    assert (project / "greet.py").read_text() == 'print("good morning")\n'

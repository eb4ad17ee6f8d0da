"""The text field below a hunk: its keys, its place, and what is written in it."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.app import App

from cogency_tui.errors import UsageError
from cogency_tui.tui.kit.footer import Footer
from cogency_tui.tui.review.text_editor import EditorTitle
from cogency_tui.tui.terminal import external_editor
from cogency_tui.tui.theme_styles import theme_styles_of
from tests.tui.driving import app_over, conversation_of, send, shown, told, until
from tests.tui.review.stage import LINES, Reviewer, answered, edit, reviewing, working, write


@pytest.fixture
async def one(project: Path) -> AsyncIterator[Reviewer]:
    """The review of one hunk."""
    (project / "notes.py").write_text(LINES)
    agent = working(project, edit("notes.py", "line_5 = 5\n", "line_5 = 'agent'\n"), "Done.")
    async with reviewing(agent) as reviewer:
        yield reviewer


async def test_a_comment_may_have_several_lines(one: Reviewer) -> None:
    await one.press("c", "a", "ctrl+j", "b")
    assert one.area.text == "a\nb"
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
    assert not one.editor.is_open
    assert one.states == ("new",)
    assert "'agent'" in (project / "notes.py").read_text()

    # Without an editor that is said, and the text stays.
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.delenv("EDITOR", raising=False)
    monkeypatch.setenv("PATH", "")
    await one.press("e", "ctrl+g")
    await one.until(lambda: "No editor found." in told(one.pilot))
    assert one.area.text.startswith("line_5 = 'agent'")

    # Enter is a line here.
    await one.press("end", "enter", *"more", "ctrl+s")
    assert "line_5 = 'agent'\nmore\nline_6 = 6\n" in (project / "notes.py").read_text()


async def test_keys_typed_before_the_editor_has_the_terminal_decide_nothing(
    one: Reviewer, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opening, closed = asyncio.Event(), asyncio.Event()

    async def open_later(_app: App[Any], _path: str, _environ: Mapping[str, str]) -> None:
        opening.set()
        await closed.wait()

    monkeypatch.setenv("EDITOR", "nano")
    monkeypatch.setattr(external_editor, "open_outside", open_later)
    for key in "on":
        one.pilot.app.post_message(events.Key(key, key))
    await opening.wait()
    one.pilot.app.post_message(events.Key("n", "n"))
    await one.pilot.pause()
    closed.set()
    await one.settled()
    assert one.states == ("new",)
    assert "'agent'" in (project / "notes.py").read_text()
    await one.press("n")
    assert one.states == ("reverted",)


@pytest.mark.parametrize("fails", [False, True])
async def test_what_the_editor_wrote_is_shown_when_it_has_ended(
    one: Reviewer, monkeypatch: pytest.MonkeyPatch, fails: bool
) -> None:
    async def write_there(_app: App[Any], path: str, _environ: Mapping[str, str]) -> None:
        Path(path).write_text(LINES.replace("line_5 = 5\n", "line_5 = 'mine'\n"))
        if fails:
            raise UsageError("nano exited with 1.")

    monkeypatch.setenv("EDITOR", "nano")
    monkeypatch.setattr(external_editor, "open_outside", write_there)
    assert "line_5 = 'mine'" not in shown(one.view)
    await one.press("o")
    await one.until(lambda: "line_5 = 'mine'" in shown(one.view))


async def test_the_field_is_right_below_its_hunk_which_stays_visible(one: Reviewer) -> None:
    for key in ("c", "e"):
        await one.press(key)
        lines = shown(one.view).splitlines()
        top = one.editor.region.y - one.view.region.y
        assert "line_5 = 'agent'" in lines[top - 1]
        assert "line_6 = 6" in lines[top + one.editor.region.height]
        await one.press("escape")
        assert not one.editor.display


async def test_the_field_grows_with_its_text_up_to_half_of_the_screen(one: Reviewer) -> None:
    await one.press("c")
    assert one.editor.region.height == 3
    await one.press(*["ctrl+j"] * 4, "x")
    await one.until(lambda: one.editor.region.height == 6)
    await one.press(*["ctrl+j"] * 30)
    await one.until(lambda: one.editor.region.height == one.app.size.height // 2)
    assert one.view.region.contains_region(one.editor.region)


async def test_a_hunk_is_edited_with_its_line_numbers_and_colors(one: Reviewer) -> None:
    await one.press("e")
    assert (one.area.show_line_numbers, one.area.line_number_start) == (True, 5)
    assert one.editor.region.height == 3
    line = one.area.get_line(0)
    styles = theme_styles_of(one.app.theme)
    assert styles("string", "raised") in [span.style for span in line.spans]


async def test_keys_of_the_review_do_nothing_while_a_text_is_written(one: Reviewer) -> None:
    await one.press("c", *"nNu", "f5")
    assert one.editor.is_open
    assert (one.area.text, one.states) == ("nNu", ("new",))
    # From elsewhere on the screen Esc leads back to the text.
    one.screen.set_focus(one.files)
    await one.press("n", "escape")
    assert one.area.has_focus
    assert one.states == ("new",)


async def test_home_and_end_go_to_the_ends_of_a_line_of_code_however_it_is_wrapped(one: Reviewer) -> None:
    await one.press("e")
    one.area.text = "    long = '" + "x" * 200 + "'\n"
    await one.press("end", "ctrl+e", "#")
    assert one.area.document.get_line(0).endswith("'#")
    await one.press("home")
    assert one.area.cursor_location == (0, 4)


async def test_the_field_stays_below_its_hunk_when_the_terminal_becomes_small(one: Reviewer) -> None:
    await one.press("c", *"why")
    assert "^J new line" in shown(one.screen.query_one("#writing-title"))
    for size in ((80, 24), (60, 16), (140, 40)):
        await one.pilot.resize_terminal(*size)
        await one.until(lambda: one.view.region.contains_region(one.editor.region))
        await one.settled()
        lines = shown(one.view).splitlines()
        assert "line_5 = 'agent'" in lines[one.editor.region.y - one.view.region.y - 1]
    assert one.area.text == "why"


async def test_the_message_that_carries_comments_names_their_lines(project: Path) -> None:
    (project / "notes.py").write_text(LINES)
    agent = working(project, edit("notes.py", "_5 = 5", "_5 = 0"), write("b.py", "b\n"), "Done.", "Agreed.")
    id = await answered(agent, "go")
    sent = "2 review comments: b.py:1, notes.py:5"
    async with app_over(agent, conversation_id=id).run_test(size=(100, 24), notifications=True) as pilot:
        reviewer = Reviewer(pilot)
        await reviewer.open()
        await reviewer.press("c", "a", "enter", "J", "c", "b", "enter", "escape")
        await send(pilot, "Mind my comments")
        await until(pilot, lambda: "Agreed." in shown(conversation_of(pilot)))
        lines = [line.strip() for line in shown(conversation_of(pilot)).splitlines()]
        assert lines[next(at for at, line in enumerate(lines) if "Mind my" in line) + 1] == f"▌ {sent}"

        await reviewer.open()
        assert "¶ a  sent" in shown(reviewer.view)
    async with app_over(agent, conversation_id=id).run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: sent in shown(conversation_of(pilot)))
    await agent.close()


async def test_the_message_that_carries_decisions_says_so(project: Path) -> None:
    (project / "notes.py").write_text(LINES)
    agent = working(project, edit("notes.py", "_5 = 5", "_5 = 0"), "Done.", "Agreed.", "Fine.")
    id = await answered(agent, "go")
    async with app_over(agent, conversation_id=id).run_test(size=(80, 24), notifications=True) as pilot:
        reviewer = Reviewer(pilot)
        await reviewer.open()
        await reviewer.press("n")
        await reviewer.until(lambda: (project / "notes.py").read_text() == LINES)
        await reviewer.press("escape")
        for text, reply in (("No more", "Agreed."), ("And now", "Fine.")):
            await send(pilot, text)
            await until(pilot, lambda reply=reply: reply in shown(conversation_of(pilot)))
        lines = [line.strip() for line in shown(conversation_of(pilot)).splitlines()]
        sent = lines.index("▌ Sent with your review decisions")
        assert lines[sent - 1].startswith("▌ No more")
        assert not any("decisions" in line for line in lines[sent + 1 :]), "they are sent once"
    await agent.close()


@pytest.mark.parametrize(("key", "save"), [("e", "^S save"), ("c", "Enter save")])
async def test_the_key_to_cancel_is_there_on_the_smallest_screen(project: Path, key: str, save: str) -> None:
    (project / "notes.py").write_text(LINES)
    agent = working(project, edit("notes.py", "_5 = 5", "_5 = 0"), "Done.")
    async with reviewing(agent, size=(40, 12)) as reviewer:
        await reviewer.press("enter", key)
        footer = reviewer.screen.query_one(Footer)
        await reviewer.until(lambda: "Esc cancel" in shown(footer))
        assert save in shown(footer)
        assert "Esc cancel" in shown(reviewer.screen.query_one(EditorTitle))

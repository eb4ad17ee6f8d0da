"""Moving about in the review by keys and by mouse, the ways out of it, and what stays when it is read again."""

from pathlib import Path

import pytest

from cogency_tui.agent.review.model import Row
from cogency_tui.tui.review.screen import ReviewScreen
from tests.tui.driving import at_work, files_of, finished, send, shown, until
from tests.tui.review.stage import LINES, Reviewer, edit, reviewing, shell, working, write

MANY = "".join(f"line_{number} = {number}\n" for number in range(1, 401))


def edited(*numbers: int) -> list[str]:
    return [
        edit("notes.py", f"line_{number} = {number}\n", f"line_{number} = 'agent'\n") for number in numbers
    ]


def row_of(text: str, wanted: str) -> int:
    return next(y for y, line in enumerate(text.splitlines()) if wanted in line)


@pytest.mark.exhaustive
async def test_keys_go_through_a_long_diff(project: Path) -> None:
    numbers = range(5, 400, 25)
    (project / "notes.py").write_text(MANY)
    async with reviewing(working(project, *edited(*numbers), "Done.")) as reviewer:
        view = reviewer.view
        await reviewer.press("end")
        assert view.scroll_offset.y == view.max_scroll_y > 0
        assert view.place == len(numbers) - 1
        await reviewer.press("home")
        assert (view.scroll_offset.y, view.place) == (0, 0)
        await reviewer.press("pagedown", "pagedown")
        below = view.scroll_offset.y
        assert below > view.size.height
        await reviewer.press("pageup")
        assert 0 < view.scroll_offset.y < below


@pytest.mark.exhaustive
@pytest.mark.parametrize("size", [(120, 40), (200, 40)], ids=["unified", "sides"])
async def test_a_click_goes_to_a_hunk_and_opens_what_is_folded(project: Path, size: tuple[int, int]) -> None:
    (project / "notes.py").write_text(LINES)
    async with reviewing(working(project, *edited(5, 30), "Done."), size=size) as reviewer:
        view = reviewer.view
        assert view.place == 0
        assert await reviewer.pilot.click(view, offset=(10, row_of(shown(view), "line_30 = 'agent'")))
        await reviewer.until(lambda: view.place == 1)
        before = view.virtual_size.height
        assert "line_17 = 17" not in shown(view)
        assert await reviewer.pilot.click(view, offset=(10, row_of(shown(view), "unchanged")))
        await reviewer.until(lambda: "line_17 = 17" in shown(view))
        assert view.virtual_size.height > before
        # Beside the lines there is nothing to go to.
        assert await reviewer.pilot.click(view, offset=(10, view.size.height - 1))
        await reviewer.settled()


async def test_a_click_on_a_file_shows_its_diff(project: Path) -> None:
    (project / "notes.py").write_text(LINES)
    agent = working(project, *edited(5), write("pad.py", "pad = 1\n"), "Done.")
    async with reviewing(agent) as reviewer:
        assert reviewer.path == "notes.py"
        assert await reviewer.pilot.click(reviewer.files, offset=(4, row_of(shown(reviewer.files), "pad.py")))
        await reviewer.until(lambda: reviewer.path == "pad.py" and reviewer.view.has_focus)


@pytest.mark.exhaustive
async def test_the_file_tree_loses_the_mark_of_a_reverted_file(project: Path) -> None:
    (project / "notes.py").write_text(LINES)
    agent = working(project, *edited(5), write("pad.py", "pad = 1\n"), "Done.")
    async with reviewing(agent) as reviewer:
        assert reviewer.path == "notes.py"
        await reviewer.press("N", "escape")
        tree = files_of(reviewer.pilot)
        await reviewer.until(lambda: "● pad.py" in shown(tree) and "● notes.py" not in shown(tree))


@pytest.mark.exhaustive
async def test_a_click_on_a_heading_selects_nothing(project: Path) -> None:
    (project / "notes.py").write_text(LINES)
    agent = working(project, *edited(5), write("pad.py", "pad = 1\n"), "Done.")
    async with reviewing(agent) as reviewer:
        await reviewer.pilot.click(reviewer.files, offset=(4, row_of(shown(reviewer.files), "pad.py")))
        await reviewer.until(lambda: reviewer.path == "pad.py" and reviewer.view.has_focus)
        assert await reviewer.pilot.click(reviewer.files, offset=(4, row_of(shown(reviewer.files), "Turn 1")))
        await reviewer.until(lambda: reviewer.files.has_focus)
        await reviewer.settled()
        assert reviewer.path == "pad.py"


@pytest.mark.exhaustive
async def test_the_list_is_reached_by_more_than_one_key(project: Path) -> None:
    (project / "notes.py").write_text(LINES)
    agent = working(project, *edited(5), write("pad.py", "pad = 1\n"), "Done.")
    async with reviewing(agent) as reviewer:
        for key in ("shift+tab", "left", "h"):
            await reviewer.press(key)
            assert reviewer.files.has_focus
            await reviewer.press("enter")
            assert reviewer.view.has_focus
        await reviewer.press("slash", "down", "enter")
        assert reviewer.path == "pad.py"


@pytest.mark.exhaustive
async def test_a_command_of_the_palette_is_carried_out_where_it_is_at_home(project: Path) -> None:
    (project / "notes.py").write_text(LINES)
    agent = working(project, *edited(5), "Done.")
    async with reviewing(agent) as reviewer:
        await reviewer.pilot.press("ctrl+p", *"plan")
        await reviewer.pilot.pause()
        await reviewer.pilot.press("enter")
        await reviewer.until(lambda: agent.permissions == "plan")
        assert not any(isinstance(each, ReviewScreen) for each in reviewer.app.screen_stack)


@pytest.mark.exhaustive
async def test_what_is_picked_stays_when_the_agent_goes_on_with_the_file(project: Path) -> None:
    (project / "notes.py").write_text(LINES)
    wait = shell("until [ -e go ]; do sleep 0.02; done")
    agent = working(project, *edited(5, 30), wait, *edited(18), "Done.")
    async with at_work(agent) as pilot:
        await send(pilot, "go")
        await until(pilot, lambda: "line_30 = 'agent'" in (project / "notes.py").read_text())
        reviewer = Reviewer(pilot)
        await reviewer.open()
        await reviewer.until(lambda: len(reviewer.states) == 2)
        await reviewer.press("j", "x")
        assert "1 selected" in shown(reviewer.title)
        (project / "go").touch()
        await reviewer.until(lambda: len(reviewer.states) == 3)
        await finished(pilot)
        await reviewer.settled()
        assert "1 selected" in shown(reviewer.title)
        await reviewer.press("n")
        await reviewer.until(lambda: "line_30 = 30" in (project / "notes.py").read_text())
        assert reviewer.states == ("new", "new", "reverted")


@pytest.mark.exhaustive
async def test_a_long_file_is_coloured_too(project: Path) -> None:
    (project / "notes.py").write_text(LINES + "# so many characters\n" * 4000)
    async with reviewing(working(project, *edited(5), "Done.")) as reviewer:
        file = reviewer.view.file
        assert file is not None
        pieces = file.coloring.pieces(Row("added", None, 5, "line_5 = 'agent'"))
        assert "".join(text for text, _ in pieces) == "line_5 = 'agent'"
        assert len({role for _, role in pieces}) > 1
        assert "line_5 = 'agent'" in shown(reviewer.view)

"""Moving about in the review by keys and by mouse, the ways out of it, and what stays when it is read again."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from textual import events

from cogency_tui.agent.agent import Agent
from cogency_tui.tui.kit.filter_line import FilterText
from cogency_tui.tui.main.screen import MainScreen
from cogency_tui.tui.review.screen import ReviewScreen
from cogency_tui.tui.settings.screen import SettingsScreen
from tests.tui.driving import at_work, files_of, finished, send, shown, until
from tests.tui.review.stage import LINES, Reviewer, edit, reviewing, shell, working, write

MANY = "".join(f"line_{number} = {number}\n" for number in range(1, 401))


def edited(*numbers: int) -> list[str]:
    return [
        edit("notes.py", f"line_{number} = {number}\n", f"line_{number} = 'agent'\n") for number in numbers
    ]


async def filter_by(reviewer: Reviewer, text: str) -> None:
    """Put `text` into the filter of the list."""
    await reviewer.press("slash")
    reviewer.screen.query_one(FilterText).value = text
    await reviewer.settled()


def row_of(text: str, wanted: str) -> int:
    return next(y for y, line in enumerate(text.splitlines()) if wanted in line)


@pytest.mark.parametrize(("first", "last"), [(("home",), "end"), (("g", "g"), "G")])
async def test_the_arrows_go_on_to_the_next_file_and_back(
    project: Path, first: Sequence[str], last: str
) -> None:
    (project / "a.py").write_text(LINES)
    (project / "b.py").write_text(LINES)
    replies = [edit(name, "line_5 = 5", "line_5 = 0") for name in ("a.py", "b.py")]
    async with reviewing(working(project, *replies, "Done.")) as reviewer:
        assert reviewer.path == "a.py"
        await reviewer.press("up")
        assert reviewer.path == "a.py"
        await reviewer.press(last)
        assert reviewer.path == "a.py"
        # A key typed right after it acts on the next file.
        await reviewer.press("down", "y")
        assert (reviewer.path, reviewer.states) == ("b.py", ("kept",))
        await reviewer.press(last, "down", "down")
        assert reviewer.path == "b.py"
        await reviewer.press(*first, "up")
        assert (reviewer.path, reviewer.states) == ("a.py", ("new",))


async def test_a_file_is_found_by_mouse_and_the_list_by_more_than_one_key(project: Path) -> None:
    (project / "notes.py").write_text(LINES)
    agent = working(project, *edited(5), write("pad.py", "pad = 1\n"), write("b.txt", "b\n"), "Done.")
    async with reviewing(agent) as reviewer:
        files = reviewer.files
        assert await reviewer.pilot.click(files, offset=(4, row_of(shown(files), "pad.py")))
        await reviewer.until(lambda: reviewer.path == "pad.py" and reviewer.view.has_focus)
        # A heading is nothing to select.
        assert await reviewer.pilot.click(files, offset=(4, row_of(shown(files), "Turn 1")))
        await reviewer.until(lambda: files.has_focus)
        await reviewer.settled()
        assert reviewer.path == "pad.py"
        await reviewer.press("enter")
        for key in ("shift+tab", "left", "h"):
            await reviewer.press(key)
            assert files.has_focus
            await reviewer.press("enter")
            assert reviewer.view.has_focus
        await reviewer.press("slash", "up", "enter")
        assert reviewer.path == "notes.py"


@pytest.mark.exhaustive
async def test_the_list_is_filtered_by_path_state_and_kind_and_the_tree_has_its_marks(project: Path) -> None:
    (project / "notes.py").write_text(LINES)
    agent = working(project, *edited(5), write("a.py", "a\n"), write("b.txt", "b\n"), "Done.")
    async with reviewing(agent) as reviewer:
        files = reviewer.files
        await reviewer.press("y")
        await filter_by(reviewer, "created txt")
        assert "b.txt" in shown(files)
        assert "a.py" not in shown(files)
        await reviewer.press("enter")
        assert reviewer.path == "b.txt"
        await filter_by(reviewer, "created txtxx")
        assert "No changed file matches" in shown(reviewer.view)
        await reviewer.press("escape")
        assert "a.py" in shown(files)
        await reviewer.press("slash", *"ke", "enter")
        assert reviewer.path == "a.py"

        # The tree loses the mark of a reverted file.
        await filter_by(reviewer, "notes")
        await reviewer.press("enter")
        assert reviewer.path == "notes.py"
        await reviewer.press("N", "escape")
        assert isinstance(reviewer.app.screen, MainScreen)
        tree = files_of(reviewer.pilot)
        await reviewer.until(lambda: "● a.py" in shown(tree) and "● notes.py" not in shown(tree))


@pytest.mark.exhaustive
async def test_keys_go_through_a_long_diff_and_a_command_of_the_palette_leaves_it(project: Path) -> None:
    numbers = range(5, 400, 50)
    (project / "notes.py").write_text(MANY)
    agent = working(project, *edited(*numbers), "Done.")
    async with reviewing(agent) as reviewer:
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

        await reviewer.pilot.press("ctrl+p", *"/settings", "enter")
        await reviewer.until(lambda: isinstance(reviewer.app.screen, SettingsScreen))
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


def many_files(project: Path, count: int) -> Agent:
    """An agent that has changed one line in each of so many files."""
    for number in range(count):
        (project / f"file_{number:02}.py").write_text(LINES)
    lines = (edit(f"file_{number:02}.py", "line_5 = 5\n", "line_5 = 'agent'\n") for number in range(count))
    return working(project, *lines, "Done.")


def type_fast(reviewer: Reviewer, *keys: str) -> None:
    """Type keys as fast as can be."""
    for key in keys:
        reviewer.app.post_message(events.Key(key, key if len(key) == 1 else None))


async def test_no_key_is_lost_that_is_typed_before_the_next_diff_is_loaded(project: Path) -> None:
    async with reviewing(many_files(project, 12)) as reviewer:
        type_fast(reviewer, *"jjjjjjjjjj")
        await reviewer.until(lambda: reviewer.path == "file_10.py")
        type_fast(reviewer, *"kk")
        await reviewer.until(lambda: reviewer.path == "file_08.py")
        type_fast(reviewer, *"jykjjn")
        await reviewer.until(lambda: (project / "file_11.py").read_text() == LINES)
        await reviewer.settled()
        assert (reviewer.path, reviewer.states) == ("file_11.py", ("reverted",))
        await reviewer.press("k", "k")
        assert (reviewer.path, reviewer.states) == ("file_09.py", ("kept",))


async def test_letters_move_through_the_list_as_the_arrows_do(project: Path) -> None:
    async with reviewing(many_files(project, 4)) as reviewer:
        await reviewer.press("left", "j", "j", "k")
        assert reviewer.files.has_focus
        assert (reviewer.path, reviewer.files.selected) == ("file_01.py", 2)


async def test_a_decision_leads_to_the_next_undecided_hunk_of_a_later_file(project: Path) -> None:
    async with reviewing(many_files(project, 4)) as reviewer:
        await reviewer.press("J", "y", "K", "K", "n")
        # The second file is decided.
        assert reviewer.path == "file_02.py"
        type_fast(reviewer, *"yn")
        await reviewer.until(lambda: (project / "file_03.py").read_text() == LINES)
        await reviewer.settled()
        # There is no other.
        assert (reviewer.path, reviewer.states) == ("file_03.py", ("reverted",))
        # An undo leads back to the lines that it restores.
        await reviewer.press("k")
        await reviewer.press("u")
        assert (reviewer.path, reviewer.states) == ("file_03.py", ("new",))


async def test_a_file_is_left_only_when_all_its_hunks_are_decided_however_fast(project: Path) -> None:
    (project / "notes.py").write_text(LINES)
    agent = working(project, *edited(5, 20, 35), write("pad.py", "pad = 1\n"), "Done.")
    async with reviewing(agent) as reviewer:
        await reviewer.press("j", "n", "n")
        assert (reviewer.path, reviewer.states) == ("notes.py", ("new", "reverted", "reverted"))
        await reviewer.press("u", "u", "k", "k")
        type_fast(reviewer, *"yyyy")
        await reviewer.until(lambda: reviewer.path == "pad.py")
        await reviewer.settled()
        assert reviewer.states == ("kept",)
        await reviewer.press("K")
        assert reviewer.states == ("kept", "kept", "kept")


async def test_a_conflict_is_shown_though_the_decision_led_on(project: Path) -> None:
    async with reviewing(many_files(project, 2)) as reviewer:
        (project / "file_00.py").write_text(LINES.replace("line_5 = 5", "line_5 = 'mine'"))
        await reviewer.press("n")
        await reviewer.until(lambda: (reviewer.path, reviewer.states) == ("file_00.py", ("conflict",)))


async def test_the_cursor_stays_at_the_conflict_that_the_decision_raised(project: Path) -> None:
    (project / "notes.py").write_text(LINES)
    agent = working(project, *edited(5, 20, 35), "Done.")
    async with reviewing(agent) as reviewer:
        text = (project / "notes.py").read_text()
        for line in ("line_5", "line_20"):
            text = text.replace(f"{line} = 'agent'", f"{line} = 'mine'")
        (project / "notes.py").write_text(text)
        await reviewer.press("n")
        await reviewer.until(lambda: reviewer.states == ("conflict", "new", "new"))
        assert reviewer.view.place == 0
        await reviewer.press("j", "n")
        await reviewer.until(lambda: reviewer.states == ("conflict", "conflict", "new"))
        await reviewer.settled()
        assert reviewer.view.place == 1

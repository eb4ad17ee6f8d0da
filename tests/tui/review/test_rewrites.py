"""What was changed in a hunk since is shown in it, and decisions that differ are counted."""

from pathlib import Path

import pytest

from cogency_tui.tui.kit.dialogs import Confirmation
from tests.agent.test_turns import turn
from tests.peers.scripted import ScriptedProvider
from tests.tui.driving import app_over, seen, shown, told
from tests.tui.review.stage import LINES, Reviewer, edit, reviewing, shell, working, write_text


def numbered(reviewer: Reviewer) -> list[str]:
    """The lines of the diff, without the space between."""
    return [" ".join(line.replace("▌", "").split()) for line in shown(reviewer.view).splitlines()]


def agent_of_two(project: Path):
    (project / "notes.py").write_text(LINES)
    new = "line_5 = 'agent'\nmore = 1\n"
    return working(
        project, edit("notes.py", "line_5 = 5\n", new), edit("notes.py", "_30 = 30", "_30 = 0"), "Done."
    )


async def test_lines_that_were_changed_since_are_shown_below_the_agents(project: Path) -> None:
    async with reviewing(agent_of_two(project), size=(120, 50)) as reviewer:
        path = project / "notes.py"
        path.write_text("first\n" + path.read_text().replace("more = 1", "more = 2"))
        reviewer.screen.reload()
        await reviewer.settled()
        lines = numbered(reviewer)
        at = lines.index("7 ~ more = 2")
        assert lines[at - 2 : at] == ["5 + line_5 = 'agent'", "6 + more = 1"]
        await reviewer.press("s")
        assert any(line.endswith("│ 7 ~ more = 2") for line in numbered(reviewer))


async def test_lines_that_were_removed_since_are_shown_as_removed(project: Path) -> None:
    async with reviewing(agent_of_two(project), size=(120, 50)) as reviewer:
        path = project / "notes.py"
        path.write_text(path.read_text().replace("more = 1\n", ""))
        reviewer.screen.reload()
        await reviewer.settled()
        lines = numbered(reviewer)
        assert lines[lines.index("6 + more = 1") + 1] == "~ removed"


async def test_an_edited_hunk_shows_the_users_lines_and_is_edited_again_from_there(project: Path) -> None:
    async with reviewing(agent_of_two(project), size=(120, 50)) as reviewer:
        await reviewer.press("e")
        reviewer.area.text = "line_5 = 'agent'\nmore = 3\n"
        await reviewer.press("ctrl+s")
        lines = numbered(reviewer)
        assert lines[lines.index("6 + more = 1") + 1] == "6 ~ more = 3"
        assert reviewer.states == ("edited", "new")
        await reviewer.press("k", "e")
        assert reviewer.area.text == "line_5 = 'agent'\nmore = 3\n"


async def test_a_revert_says_that_the_users_lines_go_with_it(project: Path) -> None:
    async with reviewing(agent_of_two(project), size=(120, 50)) as reviewer:
        await reviewer.press("e")
        await write_text(reviewer, "line_5 = 'mine'\n", "ctrl+s")
        await reviewer.press("j", "n")
        assert told(reviewer.pilot) == "", "that hunk is the agent's"
        await reviewer.press("u", "k", "n")
        assert told(reviewer.pilot) == "Reverted, including your edits (u undo)"
        assert (project / "notes.py").read_text().count("mine") == 0
        await reviewer.press("u")
        assert "line_5 = 'mine'" in (project / "notes.py").read_text()


@pytest.mark.parametrize("key", ["T", "N"])
async def test_a_revert_of_more_than_is_visible_asks_before_the_users_lines_go_with_it(
    project: Path, key: str
) -> None:
    async with reviewing(agent_of_two(project), size=(120, 50)) as reviewer:
        path = project / "notes.py"
        await reviewer.press("e")
        await write_text(reviewer, "line_5 = 'mine'\n", "ctrl+s")
        for keys in (["enter", "n"], ["y"]):
            await reviewer.pilot.press(key)
            await reviewer.until(lambda: isinstance(reviewer.app.screen, Confirmation))
            await reviewer.until(lambda: "your own edits in notes.py" in seen(reviewer.pilot))
            assert "mine" in path.read_text()
            await reviewer.pilot.press(*keys)
            await reviewer.until(lambda: reviewer.is_open)
        await reviewer.until(lambda: path.read_text() == LINES)
        await reviewer.settled()
        await reviewer.press("u")
        assert "line_5 = 'mine'" in path.read_text()


@pytest.mark.parametrize("width", [120, 96])
async def test_hunks_that_were_decided_differently_are_counted(project: Path, width: int) -> None:
    async with reviewing(agent_of_two(project), size=(width, 40)) as reviewer:
        await reviewer.press("y", "n")
        assert "◐ 1 kept · 1 reverted" in shown(reviewer.title)
        (row,) = [line for line in shown(reviewer.files).splitlines() if "notes.py" in line]
        assert "◐ M notes.py" in row
        assert row.rstrip().endswith(("1✓ 1↺", "1 kept · 1 reverted"))


async def test_a_name_is_not_cut_while_there_is_room(project: Path) -> None:
    (project / "src" / "humanize").mkdir(parents=True)
    (project / "src" / "humanize" / "filesize.py").write_text(LINES)
    agent = working(project, edit("src/humanize/filesize.py", "line_5 = 5", "line_5 = 0"), "Done.")
    async with reviewing(agent, size=(160, 45)) as reviewer:
        assert "src/humanize/filesize.py" in shown(reviewer.files)
        assert "new" in shown(reviewer.files)


async def test_a_renamed_file_whose_lines_are_reverted_says_that_its_name_is_not(project: Path) -> None:
    (project / "notes.py").write_text(LINES)
    edits = [edit("new.py", f"line_{number} = {number}\n", "x = 0\n") for number in (5, 30)]
    agent = working(project, shell("mv notes.py new.py"), *edits, "Done.")
    async with reviewing(agent, size=(120, 40)) as reviewer:
        await reviewer.press("n", "n")
        assert (project / "new.py").read_text() == LINES
        assert "reverted · still renamed" in shown(reviewer.title)
        await reviewer.press("N")
        assert "still renamed" not in shown(reviewer.title)
        assert (project / "notes.py").read_text() == LINES


async def test_lines_of_another_conversation_are_named_as_its_own(project: Path) -> None:
    agent = agent_of_two(project)
    other = agent.beside()
    other.permissions = "auto"
    calls = [edit("notes.py", "more = 1", "more = 2"), edit("notes.py", "line_20 = 20", "line_20 = 'other'")]
    other.provider = ScriptedProvider(*calls, "Done.", size=10_000)
    await turn(agent, "go", conversation_id="own")
    await turn(other, "fix parser", conversation_id="other")
    async with app_over(agent, conversation_id="own").run_test(size=(120, 50), notifications=True) as pilot:
        reviewer = Reviewer(pilot)
        await reviewer.open()
        lines = numbered(reviewer)
        assert "Lines 6 and 21 of the file are from “fix parser”, and not part of this review." in lines
        at = lines.index("6 ~ more = 2")
        assert lines[at - 2 : at] == ["6 + more = 1", "~ in “fix parser”"]
        await reviewer.press("N")
        text = (project / "notes.py").read_text()
        assert "line_20 = 'other'" in text
        assert "more = 2" in text
        question = "These lines have changed in “fix parser” since the agent's edit."
        await reviewer.until(lambda: question in " ".join(shown(reviewer.view).split()))
    await agent.close()


async def test_an_open_review_follows_what_others_change(project: Path) -> None:
    agent = agent_of_two(project)
    async with reviewing(agent, size=(120, 50)) as reviewer:
        assert "~ more = 2" not in shown(reviewer.view)
        text = (project / "notes.py").read_text()
        (project / "notes.py").write_text(text.replace("more = 1", "more = 2"))
        await reviewer.until(lambda: "~ more = 2" in shown(reviewer.view))

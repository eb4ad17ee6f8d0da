"""What an answer allows for longer than the turn is shown at once, and whole, beside the next question."""

from pathlib import Path

import pytest

from cogency_tui.tui.conversation import activity_line
from cogency_tui.tui.review.screen import ReviewScreen
from tests.tui.driving import answer, asked, finished, live_line_of, question_of, seen, shown, until
from tests.tui.questions.test_mode_change import asking, write

pytestmark = pytest.mark.usefixtures("short_pause")


@pytest.fixture(autouse=True)
def _lasting(monkeypatch: pytest.MonkeyPatch) -> None:
    """A confirmation ends in no test by itself."""
    monkeypatch.setattr(activity_line, "CONFIRMED", 600.0)


@pytest.mark.parametrize(
    ("size", "words"),
    [
        ((200, 45), "✓ Always allowed in this project: writing to docs/guides/**   /permissions to revoke"),
        ((80, 24), "✓ Always allowed: writing to docs/guides/**   /permissions to revoke"),
        ((60, 16), "✓ Always: docs/guides/**   /permissions to revoke"),
    ],
)
async def test_a_rule_is_confirmed_whole_while_the_next_question_is_open(
    project: Path, size: tuple[int, int], words: str
) -> None:
    calls = [write("docs/guides/a.md"), write("b.txt")]
    (project / "docs/guides").mkdir(parents=True)
    async with asking(project, *calls, size=size) as pilot:
        await answer(pilot, "A")
        panel = await asked(pilot)
        await until(pilot, lambda: "b.txt" in shown(panel.query_one("#question-body")))
        assert shown(live_line_of(pilot)).strip() == words
        assert words in seen(pilot)
        assert not pilot.app.screen.query("Toast")
        # It outlasts the turn.
        await pilot.press("escape")
        await finished(pilot)
        await until(pilot, lambda: question_of(pilot) is None)
        assert words in seen(pilot)


async def test_a_grant_for_the_conversation_is_confirmed_and_a_single_yes_is_not(project: Path) -> None:
    async with asking(project, write("a.txt"), write("b.txt"), size=(80, 24)) as pilot:
        await answer(pilot, "y")
        await asked(pilot)
        assert "Allowed" not in shown(live_line_of(pilot))
        await answer(pilot, "c")
        await until(pilot, lambda: "✓ Allowed: all changes to files" in shown(live_line_of(pilot)))
        assert shown(live_line_of(pilot)).rstrip().endswith("/permissions to revoke")
        await finished(pilot)


async def test_on_another_screen_a_rule_is_confirmed_in_one_row(project: Path) -> None:
    (project / "docs").mkdir()
    async with asking(project, write("docs/a.md"), write("b.txt"), size=(60, 16)) as pilot:
        await pilot.press("f5")
        await until(pilot, lambda: isinstance(pilot.app.screen, ReviewScreen) and question_of(pilot))
        await pilot.press("f6")
        await answer(pilot, "A")
        await until(pilot, lambda: "▌ Always: docs/** · /permissions to revoke" in seen(pilot))


async def test_a_new_confirmation_replaces_the_one_before_and_ends(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(activity_line, "CONFIRMED", 0.05)
    async with asking(project, write("a.txt")) as pilot:
        line = live_line_of(pilot)
        for text in ("Allowed: one", "Allowed: two"):
            line.confirm([text])
            assert f"✓ {text}   /permissions to revoke" in shown(line)
        await until(pilot, lambda: "Waiting for your answer" in shown(line))

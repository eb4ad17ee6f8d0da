"""How the review looks, at all sizes and in two themes."""

from pathlib import Path
from typing import Any

import pytest
from textual.app import App
from textual.pilot import Pilot

from tests.tui.driving import app_over, conversation_of, finished, send, until
from tests.tui.look_series import check_series_from_each_size
from tests.tui.looks import check_looks
from tests.tui.review.stage import Reviewer, answered, edit, shell, working, write, write_text

SHOP = '''"""A shop.

It answers, or it does not.
"""

INTERVAL = 0.5


async def retry(gateway):
    for attempt in range(3):
        await sleep(INTERVAL)
        if gateway.answered:
            return gateway.answer
    raise TimeoutError("no answer")
''' + "".join(f"\n\ndef helper_{number}():\n    return {number}\n" for number in range(12))


class Desk:
    """The same changes again for each look, in a project of its own."""

    def __init__(self, project: Path) -> None:
        self.project = project
        self._count = 0

    async def app(self) -> App[Any]:
        self._count += 1
        # Where it is does not show; that nothing is left of the last time does.
        root = self.project.parent / f"desk-{self._count}" / "shop"
        (root / "src").mkdir(parents=True)
        (root / "src" / "retry.py").write_text(SHOP)
        (root / "old.py").write_text("x = 1\n" * 5)
        self.root = root
        agent = working(
            root,
            edit("src/retry.py", "INTERVAL = 0.5", "INTERVAL = 0.25  # seconds"),
            edit("src/retry.py", "        await sleep(INTERVAL)\n", ""),
            edit("src/retry.py", "return 7", "value = 7\n    return value"),
            "Done.",
            write("src/backoff.py", "def backoff(attempt):\n    return 2**attempt\n"),
            shell("mv old.py new.py"),
            "Done.",
        )
        id = await answered(agent, "Fix the flaky checkout test", "Back off exponentially")
        return app_over(agent, conversation_id=id)

    async def review(self, pilot: Pilot[Any], *keys: str) -> Reviewer:
        await until(pilot, lambda: conversation_of(pilot).transcript.units)
        reviewer = Reviewer(pilot)
        await reviewer.open()
        reviewer.app.clear_notifications()
        await reviewer.press(*keys)
        return reviewer


@pytest.mark.exhaustive
async def test_before_anything_is_decided_while_lines_are_edited_and_after(project: Path) -> None:
    desk = Desk(project)

    async def open_it(pilot: Pilot[Any]) -> None:
        await desk.review(pilot)

    async def edit_a_hunk(pilot: Pilot[Any]) -> None:
        reviewer = Reviewer(pilot)
        await reviewer.press("J", "J")
        await into_the_diff(reviewer)
        await reviewer.press("e")

    async def decide(pilot: Pilot[Any]) -> None:
        """Keep, revert, comment on and pick a hunk."""
        reviewer = Reviewer(pilot)
        await reviewer.press("escape", "y", "n", "c")
        await write_text(reviewer, "Why a value?", "enter")
        await reviewer.press("x")
        reviewer.app.clear_notifications()

    await check_series_from_each_size(
        desk.app, ("review", open_it), ("review-edit", edit_a_hunk), ("review-decided", decide)
    )


async def test_a_conflict(project: Path) -> None:
    desk = Desk(project)
    app = await desk.app()

    async def prepare(pilot: Pilot[Any]) -> None:
        reviewer = await desk.review(pilot, "J", "J")
        path = desk.root / "src" / "retry.py"
        path.write_text(path.read_text().replace("0.25  # seconds", "0.3  # mine"))
        await into_the_diff(reviewer)
        await reviewer.press("n")
        reviewer.app.clear_notifications()

    await check_looks("review-conflict", lambda: app, prepare)


@pytest.mark.exhaustive
async def test_nothing_was_changed(project: Path) -> None:
    async def prepare(pilot: Pilot[Any]) -> None:
        await send(pilot, "hi")
        await finished(pilot)
        await Reviewer(pilot).open()

    await check_looks("review-empty", lambda: app_over(working(project, "Hello.")), prepare)


async def into_the_diff(reviewer: Reviewer) -> None:
    """A narrow terminal shows the list first."""
    if reviewer.files.has_focus:
        await reviewer.press("enter")

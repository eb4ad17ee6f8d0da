"""A conversation that another program has open: shown as long as it holds, with the way on in this window."""

from pathlib import Path

import pytest

from cogency_tui.store.open_locks import Presence
from tests.tui.driving import app_over, conversation_of, finished, header_of, main_of, send, shown, until
from tests.tui.review.stage import answered, working


@pytest.mark.parametrize("width", [60, 80, 120])
async def test_the_heading_says_so_until_the_other_program_leaves(
    project: Path, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setattr("cogency_tui.tui.status.background_updates._RETRY", 0.05)
    agent = working(project, "Done.", "Again.")
    id = await answered(agent, "first")
    other = Presence(project.parent / "data")
    assert other.enter(id, 1.0)
    async with app_over(agent, conversation_id=id).run_test(size=(width, 40), notifications=True) as pilot:
        await until(pilot, lambda: "open in another program" in shown(header_of(pilot)))
        await send(pilot, "second")
        await until(pilot, lambda: "with /fork" in " ".join(shown(conversation_of(pilot)).split()))
        assert "conversations fork" not in shown(conversation_of(pilot))
        await finished(pilot)
        assert "open in another program" in shown(header_of(pilot))
        other.leave()
        await until(pilot, lambda: "another program" not in shown(header_of(pilot)))
        await send(pilot, "third")
        await until(pilot, lambda: "Again." in shown(conversation_of(pilot)))
    await agent.close()


async def test_a_fork_is_open_nowhere_else(project: Path) -> None:
    agent = working(project, "Done.", "Again.")
    id = await answered(agent, "first")
    other = Presence(project.parent / "data")
    assert other.enter(id, 1.0)
    async with app_over(agent, conversation_id=id).run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "open in another program" in shown(header_of(pilot)))
        await send(pilot, "/fork")
        await until(pilot, lambda: main_of(pilot).bridge.conversation_id not in (None, id))
        await until(pilot, lambda: "another program" not in shown(header_of(pilot)))
    other.leave()
    await agent.close()

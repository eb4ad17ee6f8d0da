"""Reviews of a conversation and of its fork: the same files, the same edits, one decision about each."""

import time

import pytest

from cogency_tui.agent.edits.undo import Undo
from cogency_tui.agent.review.model import FileKey, Target
from cogency_tui.agent.review.note_to_model import undelivered_note
from cogency_tui.agent.review.review import Review
from cogency_tui.agent.review.snapshot import ReviewSource
from cogency_tui.errors import UsageError
from cogency_tui.store.forks import Forks
from tests.agent.journaling import Desk
from tests.agent.review.conftest import LINES, opened, swapped
from tests.tui.scripted import result

FIRST, SECOND = "agent 2\n", "agent 20\n"
BOTH = swapped((2, FIRST), (20, SECOND))


async def forked(desk: Desk) -> tuple[Review, Review]:
    """A change of two hunks in a conversation, and in a fork of it: their reviews."""
    desk.put("a", LINES)
    await desk.write(("a", BOTH))
    now = time.time()
    await desk.store.append(
        desk.conversation, {"type": "call", "timestamp": now, "id": "call-1", "content": "{}"}
    )
    await desk.store.append(desk.conversation, result("call-1", "write", at=now))
    fork = await Forks(desk.store.database).fork(desk.conversation)
    return desk.review, Review(desk.journal, opened(desk), fork.id)


async def hunks(review: Review) -> list[str]:
    return [hunk.id for hunk in (await review.diff(FileKey(1, "a"))).hunks]


async def states(review: Review) -> tuple[str, ...]:
    return (await review.file(FileKey(1, "a"))).states


def text(desk: Desk) -> str:
    return (desk.root / "a").read_text()


async def test_a_revert_in_the_fork_is_one_in_the_original(desk: Desk) -> None:
    original, fork = await forked(desk)
    first, second = await hunks(fork)
    await fork.revert(Target(1, "a", (first,)))
    await fork.keep(Target(1, "a", (second,)))
    assert text(desk) == swapped((20, SECOND))
    for review in (original, fork):
        assert await states(review) == ("reverted", "kept")
        assert (await review.changed_lines()).net["a"] == (1, 1)


async def test_each_review_undoes_its_own_actions(desk: Desk) -> None:
    original, fork = await forked(desk)
    first, second = await hunks(fork)
    await fork.revert(Target(1, "a", (first,)))
    await original.revert(Target(1, "a", (second,)))
    assert text(desk) == LINES
    await original.undo()
    await fork.undo()
    assert text(desk) == BOTH
    assert await states(original) == ("new", "new")
    assert not (await fork.overview()).can_undo


async def test_undo_is_refused_while_a_later_decision_of_the_other_review_is_in_effect(desk: Desk) -> None:
    original, fork = await forked(desk)
    first, second = await hunks(fork)
    await fork.revert(Target(1, "a", (first,)))
    await original.revert(Target(1, "a", (second,)))
    with pytest.raises(UsageError, match="decided in another fork"):
        await fork.undo()
    assert text(desk) == LINES
    assert await states(fork) == ("reverted", "reverted")


async def test_an_edited_hunk_can_be_reverted_from_the_fork(desk: Desk) -> None:
    original, fork = await forked(desk)
    first, second = await hunks(fork)
    await original.edit(Target(1, "a", (first,)), "mine\n")
    await fork.revert(Target(1, "a", (first, second)))
    assert text(desk) == LINES
    assert await states(original) == ("reverted", "reverted")


async def test_undo_and_redo_are_the_same_from_both(desk: Desk) -> None:
    original, fork = await forked(desk)
    id = fork._source.conversation  # pyright: ignore[reportPrivateUsage]
    there = Undo(desk.journal, id)
    await there.apply(await there.of_turn())
    assert text(desk) == LINES
    assert await states(original) == ("reverted", "reverted")
    await desk.undo.apply(await desk.undo.redo())
    assert text(desk) == BOTH
    assert await states(fork) == ("new", "new")


async def test_the_models_of_both_are_notified_of_a_revert(desk: Desk) -> None:
    _original, fork = await forked(desk)
    first, _second = await hunks(fork)
    await fork.edit(Target(1, "a", (first,)), "mine\n")
    id = fork._source.conversation  # pyright: ignore[reportPrivateUsage]
    for conversation in (desk.conversation, id):
        note = await undelivered_note(ReviewSource(desk.journal, opened(desk), conversation))
        assert note is not None
        assert "your change of turn 1 was replaced by the user's own text" in note["text"]

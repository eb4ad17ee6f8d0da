"""Calls ask in the order in which the model wrote them, and a question says its place among all of them."""

import asyncio
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from cogency_tui.agent.permissions.gate import Answer, Question
from cogency_tui.tools.base import NO_ALIASES, Intent, Outcome, ToolContext, ToolKind
from cogency_tui.tools.registry import default_tools
from tests.agent.stage import PATIENCE, Stage, StepArgs

YES, NO, ALL = Answer(allow=True), Answer(allow=False), Answer(allow=True, scope="turn")


class User:
    """Answers questions one after the other, and notes each with its place."""

    def __init__(self, *answers: Answer) -> None:
        self.asked: list[Question] = []
        self.places: list[tuple[int, int]] = []
        self.news = asyncio.Event()
        self._answers = list(answers)

    async def until_asked(self, count: int) -> None:
        async with asyncio.timeout(PATIENCE):
            while len(self.asked) < count:
                self.news.clear()
                await self.news.wait()

    async def ask(self, question: Question) -> Answer:
        # All that can be ready has become so.
        for _ in range(20):
            await asyncio.sleep(0)
        self.asked.append(question)
        self.places.append(question.round()[:2])
        self.news.set()
        return self._answers.pop(0) if self._answers else YES


def edit(stage: Stage, file: str, old: str, new: str) -> str:
    return stage.submit("edit", {"file": file, "old": old, "new": new})


def five_edits(stage: Stage) -> list[str]:
    """Two edits of a file, one of another, and two of a third: the second of each waits for the first."""
    return [
        edit(stage, "a", "one", "1"),
        edit(stage, "a", "two", "2"),
        edit(stage, "b", "one", "1"),
        edit(stage, "c", "one", "1"),
        edit(stage, "c", "two", "2"),
    ]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name in "abc":
        (tmp_path / name).write_text("one\ntwo\n")
    return tmp_path


async def test_five_edits_ask_in_the_order_written_and_count_to_five(files: Path) -> None:
    user = User()
    stage = Stage(default_tools(), root=files, permissions="ask", ask=user.ask)
    ids = five_edits(stage)
    await stage.end()
    assert [question.call_id for question in user.asked] == ids
    assert user.places == [(1, 5), (2, 5), (3, 5), (4, 5), (5, 5)]
    assert {(files / name).read_text() for name in "abc"} == {"1\n2\n", "1\ntwo\n"}


async def test_a_declined_edit_keeps_the_order_and_the_count(files: Path) -> None:
    user = User(NO, YES, NO)
    stage = Stage(default_tools(), root=files, permissions="ask", ask=user.ask)
    ids = five_edits(stage)
    await stage.end()
    assert [question.call_id for question in user.asked] == ids
    assert [total for _number, total in user.places] == [5] * 5
    states = [stage.results[id]["payload"]["state"] for id in ids]
    assert states == ["declined", "done", "declined", "done", "done"]


async def test_what_depends_on_a_declined_edit_is_skipped_for_that_reason(files: Path) -> None:
    user = User(NO)
    stage = Stage(default_tools(), root=files, permissions="ask", ask=user.ask)
    stage.submit("edit", {"file": "a", "old": "one", "new": "1"}, id="first", mode="async")
    then = stage.submit("read", {"file": "b"}, id="then", mode="async", depends_on=["first"])
    await stage.end()
    assert stage.outcome(then) == 'Skipped: it depends on "first", which was declined'


async def test_an_edit_that_fails_before_it_asks_changes_no_number(files: Path) -> None:
    user = User()
    stage = Stage(default_tools(), root=files, permissions="ask", ask=user.ask)
    ids = [
        edit(stage, "a", "one", "1"),
        edit(stage, "a", "nowhere", "2"),
        edit(stage, "a", "two", "2"),
        edit(stage, "c", "one", "1"),
    ]
    await stage.end()
    assert [question.call_id for question in user.asked] == [ids[0], ids[2], ids[3]]
    assert user.places == [(1, 4), (3, 4), (4, 4)]
    # The number that none has is accounted for.
    assert [question.round().missing for question in user.asked] == ["", "#2 failed", ""]
    assert stage.failed(ids[1])


async def test_one_answer_is_for_all_edits_of_the_turn(files: Path) -> None:
    user = User(YES, ALL)
    stage = Stage(default_tools(), root=files, permissions="ask", ask=user.ask)
    ids = five_edits(stage)
    await stage.end()
    assert [question.call_id for question in user.asked] == ids[:2]
    assert not any(map(stage.failed, ids))


async def test_the_other_questions_that_are_ready_can_be_looked_at(files: Path) -> None:
    ready = asyncio.Event()
    seen: list[list[str]] = []

    async def ask(question: Question) -> Answer:
        def is_ready() -> bool:
            waiting = question.round().waiting
            return len(waiting) == 2 and not any(each.round().missing for each in waiting)

        async with asyncio.timeout(PATIENCE):
            while not is_ready():  # noqa: ASYNC110 (the gate has no event for it)
                await asyncio.sleep(0)
        seen.append([each.summary for each in question.round().waiting])
        assert [each.round()[:2] for each in question.round().waiting] == [(2, 3), (3, 3)]
        ready.set()
        return NO

    stage = Stage(default_tools(), root=files, permissions="ask", ask=ask)
    for name in "abc":
        edit(stage, name, "one", "1")
    await asyncio.wait_for(ready.wait(), PATIENCE)
    stage.scheduler.cancel()
    await stage.scheduler.settle()
    assert seen == [["Edit b", "Edit c"]]


async def test_an_edit_that_waits_for_another_one_is_accounted_for_before_it_asks(files: Path) -> None:
    seen: list[str] = []

    async def ask(question: Question) -> Answer:
        async with asyncio.timeout(PATIENCE):
            while not question.round().waiting and not seen:  # noqa: ASYNC110 (the gate has no event for it)
                await asyncio.sleep(0)
        seen.extend(each.round().missing for each in question.round().waiting)
        return NO

    stage = Stage(default_tools(), root=files, permissions="ask", ask=ask)
    for file, old in (("a", "one"), ("a", "two"), ("b", "one")):
        edit(stage, file, old, "1")
    await stage.end()
    assert seen[0] == "#2 not ready"


async def test_reads_are_no_questions_and_a_cycle_counts_its_own(files: Path) -> None:
    user = User()
    stage = Stage(default_tools(), root=files, permissions="ask", ask=user.ask)
    stage.submit("read", {"file": "a"})
    edit(stage, "a", "one", "1")
    edit(stage, "b", "one", "1")
    await stage.next_cycle()
    edit(stage, "c", "one", "1")
    await stage.end()
    assert user.places == [(1, 2), (2, 2), (1, 1)]


class Asking:
    """A step that always asks, and runs until it is released where that is wanted."""

    name = "asking"
    description = "A command of a test."
    args = StepArgs
    kind: ToolKind = "execute"
    aliases = NO_ALIASES

    def __init__(self, released: Callable[[], asyncio.Event]) -> None:
        self._released = released

    async def plan(self, args: StepArgs, context: ToolContext) -> Intent:
        return Intent("command", args.label, detail=args.label)

    async def run(self, args: StepArgs, context: ToolContext) -> Outcome:
        await self._released().wait()
        return Outcome("ran")


async def test_a_question_waits_for_no_command_that_runs(tmp_path: Path) -> None:
    """An edit after a long command asks only after it; what is independent of both asks before."""
    (tmp_path / "a").write_text("one\n")
    released = asyncio.Event()
    user = User()
    stage = Stage(
        [*default_tools(), Asking(lambda: released)], root=tmp_path, permissions="ask", ask=user.ask
    )
    command = stage.submit("shell", {"command": "until [ -e go ]; do sleep 0.01; done"})
    blocked = edit(stage, "a", "one", "1")
    free = stage.submit("asking", {"label": "free"})
    await user.until_asked(2)
    assert [question.call_id for question in user.asked] == [command, free]
    released.set()
    (tmp_path / "go").touch()
    await stage.end()
    assert [question.call_id for question in user.asked] == [command, free, blocked]


@pytest.mark.parametrize("seed", range(40))
async def test_whatever_waits_for_whatever_every_call_ends(seed: int) -> None:
    dice = random.Random(seed)
    user = User(*(dice.choice((YES, NO)) for _ in range(10)))
    stage = Stage(permissions="ask", ask=user.ask)
    labels = [chr(ord("a") + number) for number in range(dice.randint(2, 8))]
    for label in labels:
        depends = dice.sample(labels, dice.choice((0, 0, 1, 2)))
        args = {"writes": dice.random() < 0.7, "everything": dice.random() < 0.2}
        args |= {"file": dice.choice("xyz")} if dice.random() < 0.7 else {}
        stage.act(label, args, depends_on=[each for each in depends if each != label])
    await stage.end()
    assert len(stage.results) == len(labels)

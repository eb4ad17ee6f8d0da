"""A question says how many more calls wait to be asked about, as it is at the moment; a wider mode approves
those that it does not ask about.
"""

import asyncio
from pathlib import Path

import pytest

from cogency_tui.agent.permissions.gate import Answer, Gate, Question
from cogency_tui.config.schema import Permissions
from cogency_tui.errors import RefusedError
from cogency_tui.tools.base import Intent


def run(command: str) -> Intent:
    return Intent("command", f"Run {command}", detail=command, paths=(Path("/project"),), everything=True)


async def test_the_others_are_counted_while_they_wait() -> None:
    asked: list[Question] = []
    news = asyncio.Event()
    counts: list[int] = []
    answer = asyncio.Event()

    async def ask(question: Question) -> Answer:
        asked.append(question)
        news.set()
        await answer.wait()
        counts.append(len(question.round().waiting))
        return Answer(allow=True)

    gate = Gate(lambda: "ask", lambda: ask)
    inner = gate.narrowed("ask", call_id="c0", asker="a sub-agent")
    checks = [
        asyncio.create_task(gate.check("c1", "shell", run("make"))),
        asyncio.create_task(gate.check("c2", "shell", run("make test"))),
        asyncio.create_task(inner.check("c3", "shell", run("make install"))),
    ]
    await news.wait()
    assert len(asked[0].round().waiting) == 2
    answer.set()
    await asyncio.gather(*checks)
    assert counts == [2, 1, 0]
    assert asked[0].round()[:2] == (1, 1)
    assert asked[2].asker == "a sub-agent"


async def test_one_that_is_cancelled_waits_no_more() -> None:
    asked: list[Question] = []
    news = asyncio.Event()

    async def ask(question: Question) -> Answer:
        asked.append(question)
        news.set()
        await asyncio.Event().wait()
        raise AssertionError

    gate = Gate(lambda: "ask", lambda: ask)
    first = asyncio.create_task(gate.check("c1", "shell", run("make")))
    other = asyncio.create_task(gate.check("c2", "shell", run("make test")))
    await news.wait()
    assert len(asked[0].round().waiting) == 1
    other.cancel()
    await asyncio.wait([other])
    assert len(asked[0].round().waiting) == 0
    first.cancel()
    await asyncio.wait([first])


def edit(file: str) -> Intent:
    return Intent("write", f"Edit {file}", paths=(Path("/project", file),))


class Unanswered:
    """A user who answers nothing until `answer` is set; `asked` gets the questions, `ended` those that ended."""

    def __init__(self) -> None:
        self.asked = asyncio.Queue[Question]()
        self.ended: list[str] = []
        self.answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()

    async def ask(self, question: Question) -> Answer:
        self.asked.put_nowait(question)
        try:
            return await asyncio.shield(self.answer)
        finally:
            self.ended.append(question.call_id)


async def test_a_wider_mode_approves_what_it_would_not_ask_and_nothing_else() -> None:
    user = Unanswered()
    modes: list[Permissions] = ["ask"]
    gate = Gate(lambda: modes[-1], lambda: user.ask)
    narrow = gate.narrowed("ask", call_id="c0", asker="a sub-agent")
    run_make = asyncio.create_task(gate.check("c1", "shell", run("make")))
    edits = [asyncio.create_task(gate.check(name, "edit", edit(name))) for name in ("c2", "c3")]
    of_subagent = asyncio.create_task(narrow.check("c4", "edit", edit("c4")))
    first = await user.asked.get()
    assert len(first.round().waiting) == 3

    assert await gate.approve_by_mode() == 0
    modes.append("edits")
    assert await gate.approve_by_mode() == 2
    assert await gate.approve_by_mode() == 0
    for each in edits:
        await each
    assert user.ended == []
    assert len(first.round().waiting) == 1

    modes.append("auto")
    assert await gate.approve_by_mode() == 1
    await run_make
    assert user.ended == ["c1"]
    assert (await user.asked.get()).call_id == "c0"
    user.answer.set_result(Answer(allow=False))
    with pytest.raises(RefusedError):
        await of_subagent


async def test_a_narrower_mode_settles_no_question() -> None:
    user = Unanswered()
    modes: list[Permissions] = ["ask"]
    gate = Gate(lambda: modes[-1], lambda: user.ask)
    check = asyncio.create_task(gate.check("c1", "edit", edit("a")))
    await user.asked.get()
    modes.append("plan")
    assert await gate.approve_by_mode() == 0
    assert user.ended == []
    user.answer.set_result(Answer(allow=True))
    await check

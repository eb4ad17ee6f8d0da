"""A question says how many more calls wait to be asked about, as it is at the moment."""

import asyncio
from pathlib import Path

from cogency_tui.agent.permissions.gate import Answer, Gate, Question
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

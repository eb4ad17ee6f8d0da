"""Interceptors run around each call, in order, and a broken one changes nothing."""

import asyncio
from dataclasses import replace
from unittest.mock import ANY

from cogency_tui.agent.call_interceptors import InterceptedCall
from cogency_tui.agent.permissions.gate import Answer, Question
from cogency_tui.errors import ToolError
from cogency_tui.tools.base import Outcome
from tests.agent.stage import Stage


class Logging:
    """Logs what it is called for; refuses the calls of a label, and breaks at another."""

    def __init__(self, name: str, log: list[str], *, refused: str = "", broken: str = "") -> None:
        self._name, self._log = name, log
        self._refused, self._broken = refused, broken

    async def before(self, call: InterceptedCall) -> None:
        label = call.intent.summary.removeprefix("step ")
        self._log.append(f"{self._name} before {label}")
        if label == self._broken:
            raise ValueError("broken")
        if label == self._refused:
            raise ToolError("Not on Fridays.", "Wait for Monday.")

    async def after(self, call: InterceptedCall, outcome: Outcome) -> Outcome:
        self._log.append(f"{self._name} after {outcome.outcome}")
        if call.intent.summary == f"step {self._broken}":
            raise ValueError("broken")
        return replace(outcome, note=f"{outcome.note}[{self._name}]")


async def test_they_run_in_order_and_complete_the_outcome() -> None:
    log: list[str] = []
    stage = Stage(interceptors=[Logging("first", log), Logging("second", log)])
    a = stage.do("a")
    await stage.end()
    assert log == ["first before a", "second before a", "first after did a", "second after did a"]
    assert stage.results[a]["payload"].get("note") == "[first][second]"


async def test_a_refused_call_does_not_run_and_asks_nobody() -> None:
    log: list[str] = []
    asked: list[Question] = []

    async def ask(question: Question) -> Answer:
        asked.append(question)
        return Answer(allow=True)

    stage = Stage(permissions="ask", ask=ask, interceptors=[Logging("only", log, refused="a")])
    a = stage.do("a", writes=True)
    await stage.end()
    assert (stage.failed(a), stage.outcome(a)) == (True, "Not on Fridays. Wait for Monday.")
    assert (asked, stage.step.log, log) == ([], [], ["only before a"])


async def test_they_complete_the_outcome_of_a_failed_call() -> None:
    log: list[str] = []
    stage = Stage(interceptors=[Logging("only", log)])
    stage.step.faults = {"a": [ToolError("No luck.")]}
    a = stage.do("a")
    await stage.end()
    assert stage.failed(a)
    assert log == ["only before a", "only after No luck."]
    assert stage.results[a]["payload"].get("note") == "[only]"


async def test_a_broken_one_changes_neither_the_call_nor_its_outcome() -> None:
    log: list[str] = []
    stage = Stage(interceptors=[Logging("broken", log, broken="a"), Logging("sound", log)])
    a = stage.do("a")
    await stage.end()
    assert (stage.failed(a), stage.outcome(a)) == (False, "did a")
    assert stage.results[a]["payload"].get("note") == "[sound]"


class Waiting:
    """Waits after each call until it is cancelled."""

    def __init__(self) -> None:
        self.waits = asyncio.Event()

    async def before(self, call: InterceptedCall) -> None:
        pass

    async def after(self, call: InterceptedCall, outcome: Outcome) -> Outcome:
        self.waits.set()
        await asyncio.Event().wait()
        return outcome


async def test_a_call_that_is_interrupted_afterwards_has_the_result_of_its_tool() -> None:
    waiting = Waiting()
    stage = Stage(interceptors=[waiting])
    a, b = stage.do("a"), stage.do("b", file="x")
    stage.step.hold("b")
    await waiting.waits.wait()
    stage.scheduler.cancel()
    ended = stage.scheduler.ended(a)
    assert ended is not None
    assert (ended["payload"]["state"], ended["payload"]["outcome"]) == ("done", "did a")
    await stage.scheduler.settle()
    assert stage.scheduler.ended(a) == {**ended, "timestamp": ANY, "duration": ANY}
    assert stage.scheduler.ended(b) is None

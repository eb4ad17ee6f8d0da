"""Turns with native calls over every wire protocol that has them, in every mode: each call runs once or not at
all, and the peers, which refuse what the vendors refuse, accept every history."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cogency_tui.agent.agent import Agent
from cogency_tui.config.schema import DialectChoice
from cogency_tui.protocol.events import Event
from cogency_tui.providers.base import Provider
from cogency_tui.tools.function import reads
from tests.agent.test_every_wire import modes
from tests.agent.test_turns import results, types
from tests.peers import anthropic_answers, chat_answers, gemini_acts
from tests.peers.anthropic import AnthropicPeer
from tests.peers.chat import ChatPeer
from tests.peers.gemini import GeminiPeer
from tests.peers.responses_events import NativeAnswer
from tests.peers.server import Peer
from tests.peers.ways import KEY, WAYS, Way

NATIVE = [name for name in WAYS if name not in ("Realtime", "Gemini Live")]
RESUMING = [name for name in NATIVE if WAYS[name].mode == "resume"]


@dataclass(frozen=True, slots=True)
class Say:
    """An answer of the model: reasoning, text, then calls of `mark` with these steps, or one that reads a
    `file`."""

    text: str
    steps: Sequence[int] = ()
    reasoning: str = ""
    file: str = ""

    @property
    def tool(self) -> str:
        return "read" if self.file else "mark"

    @property
    def given(self) -> list[dict[str, Any]]:
        return [{"file": self.file}] if self.file else [{"step": step} for step in self.steps]

    @property
    def arguments(self) -> list[str]:
        return [json.dumps(each) for each in self.given]


THREE = Say("Three steps.", (0, 1, 2), "First the one, then the others.")


def peer_of(way: Way, *script: Say) -> Peer:
    """A peer of this wire whose model answers with `script`."""
    options: dict[str, Any] = {"model": way.model, "key": KEY}
    if issubclass_of(way, ChatPeer):
        return way.peer([_chat(number, say) for number, say in enumerate(script)], **options)
    if issubclass_of(way, AnthropicPeer):
        return way.peer([_anthropic(say) for say in script], **options)
    texts = [say.text for say in script]
    if issubclass_of(way, GeminiPeer):
        return way.peer(texts, acts=[_gemini(number, say) for number, say in enumerate(script)], **options)
    answers = [
        NativeAnswer(reasoning=say.reasoning, calls=[(say.tool, each) for each in say.arguments])
        for say in script
    ]
    return way.peer(texts, faults=answers, **options)


def issubclass_of(way: Way, kind: type[Peer]) -> bool:
    return isinstance(way.peer, type) and issubclass(way.peer, kind)


def _chat(number: int, say: Say) -> chat_answers.Answer:
    calls = [
        chat_answers.Call(f"call_{number}_{at}", say.tool, each) for at, each in enumerate(say.arguments)
    ]
    return chat_answers.Answer(say.text, *calls, reasoning=say.reasoning)


def _anthropic(say: Say) -> anthropic_answers.Answer:
    thinking = [anthropic_answers.Thinking(say.reasoning)] if say.reasoning else []
    calls = [anthropic_answers.Call(say.tool, each) for each in say.arguments]
    return anthropic_answers.Answer(*thinking, anthropic_answers.Text(say.text), *calls)


def _gemini(number: int, say: Say) -> gemini_acts.Acts | None:
    if not say.given:
        return None
    calls = [
        gemini_acts.Call(say.tool, given, f"c{number}{at}", "" if at else f"sig{number}")
        for at, given in enumerate(say.given)
    ]
    return [gemini_acts.Said(say.text), *calls]


class Work:
    """An agent with one tool, which counts its runs, and waits at the step that is `held`."""

    def __init__(self, way: Way, tmp_path: Path) -> None:
        self.way = way
        self.runs: list[int] = []
        self.held: int | None = None
        self.holding = asyncio.Event()
        self._tmp_path = tmp_path
        (tmp_path / "project").mkdir(exist_ok=True)

    def agent(self, provider: Provider, dialect: DialectChoice = "native") -> Agent:
        @reads
        async def mark(step: int) -> str:
            """Note that a step was done."""
            self.runs.append(step)
            if step == self.held:
                self.holding.set()
                await asyncio.Event().wait()
            return f"step {step} done"

        return Agent(
            provider,
            project=self._tmp_path / "project",
            data=self._tmp_path / "data",
            tools=[mark],
            settings=self.way.settings,
            dialect=dialect,
        )


@pytest.fixture
def work(name: str, tmp_path: Path) -> Work:
    return Work(WAYS[name], tmp_path)


async def turn(agent: Agent, query: str = "go") -> list[Event]:
    return [event async for event in agent.stream(query, conversation_id="c", chunks=False)]


def problems(events: Sequence[Event]) -> list[str]:
    return [each["payload"]["error"] for each in events if each["type"] == "error"]


@pytest.mark.parametrize("name", NATIVE)
async def test_three_parallel_calls_run_once_each(work: Work) -> None:
    script = THREE, Say("Done."), Say("One more.", (3,), "Again."), Say("All done.")
    async with peer_of(work.way, *script) as peer, work.agent(work.way.connect(peer)) as agent:
        first, second = await turn(agent), await turn(agent, "and another")
    assert problems([*first, *second]) == []
    assert sorted(work.runs) == [0, 1, 2, 3]
    shown = [kind for kind in types(first) if kind not in ("think",)]
    assert shown == [
        *["user", "respond", "call", "call", "call", "execute", "result", "result", "result", "metric"],
        *["respond", "metric", "end"],
    ]
    assert [each["payload"]["content"] for each in results(first)] == [
        f"step {step} done" for step in range(3)
    ]
    assert modes([*first, *second]) == {work.way.mode}


@pytest.mark.parametrize("name", NATIVE)
async def test_an_interrupted_call_is_answered_and_the_conversation_goes_on(work: Work) -> None:
    work.held = 1
    script = THREE, Say("Once more.", (3,)), Say("Done.")
    async with peer_of(work.way, *script) as peer, work.agent(work.way.connect(peer)) as agent:
        running = asyncio.create_task(turn(agent))
        await work.holding.wait()
        agent.interrupt("c")
        first = await running
        second = await turn(agent, "go on")
    assert first[-1]["type"] == "interrupt"
    assert problems(second) == []
    assert sorted(work.runs) == [0, 1, 2, 3]
    assert second[-1]["type"] == "end"


@pytest.mark.parametrize("name", NATIVE)
async def test_another_program_goes_on_with_the_same_history(work: Work) -> None:
    script = THREE, Say("Done."), Say("One more.", (3,)), Say("All done.")
    async with peer_of(work.way, *script) as peer:
        async with work.agent(work.way.connect(peer)) as agent:
            first = await turn(agent)
        async with work.agent(work.way.connect(peer)) as agent:
            second = await turn(agent, "and another")
    assert problems([*first, *second]) == []
    assert sorted(work.runs) == [0, 1, 2, 3]


@pytest.mark.parametrize("name", RESUMING)
async def test_a_session_that_was_lost_is_seeded_with_the_native_history(work: Work) -> None:
    script = THREE, Say("Done."), Say("One more.", (3,)), Say("All done.")
    async with peer_of(work.way, *script) as peer, work.agent(work.way.connect(peer)) as agent:
        first = await turn(agent)
        peer.drop_connections()
        second = await turn(agent, "and another")
    assert [each for each in problems([*first, *second]) if "session" not in each.lower()] == []
    assert sorted(work.runs) == [0, 1, 2, 3]
    assert modes(second) == {"resume"}


@pytest.mark.parametrize("name", NATIVE)
async def test_a_turn_changes_its_dialect_in_the_middle_and_back(work: Work) -> None:
    text = '<execute>[{"name": "mark", "args": {"step": 3}}]</execute>'
    script = THREE, Say(text), Say("Back.", (4,)), Say("Done.")
    async with peer_of(work.way, *script) as peer, work.agent(work.way.connect(peer)) as agent:
        seen: list[Event] = []
        async for event in agent.stream("go", conversation_id="c", chunks=False):
            seen.append(event)
            if event["type"] == "call":
                agent.dialect = "xml" if len(results(seen)) < 3 else "native"
    assert problems(seen) == []
    assert sorted(work.runs) == [0, 1, 2, 3, 4]
    assert seen[-1]["type"] == "end"

"""Whole tasks over every wire protocol and mode, on real sockets: the same events, each call once."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from cogency_tui.agent.agent import Agent
from cogency_tui.errors import AuthenticationError
from cogency_tui.protocol.events import Event
from cogency_tui.providers.base import Provider
from cogency_tui.tools.function import reads
from tests.agent.test_turns import types
from tests.exhaustive import sampled
from tests.peers.server import Context, Fault, Peer
from tests.peers.ways import KEY, WAYS, Way
from tests.peers.words import words

STEPS = 2
SAME = [
    "user",
    *["think", "call", "execute", "result", "metric"] * STEPS,
    *["respond", "metric", "end"],
]

way_names = pytest.mark.parametrize("name", WAYS)
some_ways = pytest.mark.parametrize("name", sampled(WAYS, quick=2))


def model(context: Context) -> str:
    """Calls the tool once a step of each turn, then answers; what the results do not show is not done."""
    asked = [
        number for number, message in enumerate(context) if words(message["content"]).startswith("task ")
    ]
    done = sum(m["content"].count(" done") for m in context[asked[-1] :] if m["role"] == "user")
    if done == STEPS:
        return f"Answer {len(asked)} after {done} steps."
    step = (len(asked) - 1) * STEPS + done
    return f'<think>Step {step}.</think>\n\n<execute>\n[{{"name": "mark", "args": {{"step": {step}}}}}]\n</execute>'


class Work:
    """A task for an agent: a tool that counts its runs, over one way to a model."""

    def __init__(self, way: Way, tmp_path: Path) -> None:
        self.way = way
        self.runs: list[int] = []
        self._tmp_path = tmp_path
        (tmp_path / "project").mkdir(exist_ok=True)

    def peer(self, way: Way | None = None, **options: Any) -> Peer:
        way = way or self.way
        return way.peer(model, model=way.model, key=KEY, **options)

    def agent(self, provider: Provider, way: Way | None = None) -> Agent:
        @reads
        async def mark(step: int) -> str:
            """Note that a step was done."""
            self.runs.append(step)
            return f"step {step} done"

        return Agent(
            provider,
            project=self._tmp_path / "project",
            data=self._tmp_path / "data",
            tools=[mark],
            settings=(way or self.way).settings,
        )


@pytest.fixture
def work(name: str, tmp_path: Path) -> Work:
    return Work(WAYS[name], tmp_path)


async def turn(agent: Agent, query: str) -> list[Event]:
    return [event async for event in agent.stream(query, conversation_id="c", chunks=False)]


def modes(events: Sequence[Event]) -> set[str]:
    return {event["step"].get("mode", "") for event in events if event["type"] == "metric"}


async def stored(agent: Agent) -> list[str]:
    return types(await (await agent.store()).events("c"))


@way_names
async def test_a_task_of_several_cycles_gives_the_same_events_everywhere(work: Work) -> None:
    async with work.peer() as peer, work.agent(work.way.connect(peer)) as agent:
        first = await turn(agent, "task one")
        second = await turn(agent, "task two")
    assert types(first) == SAME
    assert types(second) == SAME
    assert work.runs == list(range(2 * STEPS))
    assert modes(first) == {work.way.mode}
    for event in (*first, *second):
        if event["type"] == "metric":
            assert "estimated" not in event["step"]
            assert event["step"].get("input", 0) > 0
    if peer.sockets or work.way.name == "Anthropic threads":
        # One session for both turns, and what was sent is sent once.
        assert peer.connections == 1
        assert peer.sent <= peer.exchanges[-1].input


@some_ways
async def test_an_interrupted_answer_is_kept_and_the_next_message_goes_on(work: Work) -> None:
    async with work.peer(latency=0.01) as peer, work.agent(work.way.connect(peer)) as agent:
        events: list[Event] = []
        async for event in agent.stream("task one", conversation_id="c"):
            events.append(event)
            if event["type"] == "think":
                agent.interrupt()
        assert types(events)[-1] == "interrupt"
        assert await stored(agent) == ["user", "think"]
        peer.latency = 0
        events = await turn(agent, "task two")
    assert types(events)[-1] == "end"
    assert work.runs == [*range(STEPS, 2 * STEPS)]


@pytest.mark.parametrize(
    ("name", "after"),
    sampled([(name, after) for n, name in enumerate(WAYS) for after in ((0, 14), (4, 22))[n % 2]], quick=8),
)
async def test_a_connection_that_dies_in_mid_answer_runs_no_call_twice(work: Work, after: int) -> None:
    faults = [None, Fault(drop="within", after=after)]
    async with work.peer(faults=faults) as peer, work.agent(work.way.connect(peer)) as agent:
        events = await turn(agent, "task one")
        kept = await stored(agent)
    assert types(events)[-1] == "end", events[-1]
    assert work.runs == [*range(STEPS)]
    done = [e for e in events if e["type"] == "result" and not e["payload"]["error"]]
    assert len(done) == STEPS
    assert kept.count("call") - kept.count("result") <= 0


@some_ways
async def test_a_conversation_goes_on_in_the_other_mode_after_a_restart(work: Work) -> None:
    async with work.peer() as peer, work.agent(work.way.connect(peer)) as agent:
        await turn(agent, "task one")
    other = WAYS[work.way.other]
    async with work.peer(other) as peer, work.agent(other.connect(peer), other) as agent:
        events = await turn(agent, "task two")
        kept = await stored(agent)
    assert types(events) == SAME
    assert modes(events) == {other.mode}
    assert work.runs == list(range(2 * STEPS))
    assert kept == [kind for kind in SAME if kind not in ("execute", "metric", "end")] * 2
    seen = [message["content"] for message in peer.exchanges[0].context]
    assert sum(f'"step": {STEPS - 1}' in text for text in seen) == 1


@pytest.mark.parametrize("name", [name for name, way in WAYS.items() if way.mode == "resume"])
async def test_a_session_that_dies_between_turns_is_seeded_again(work: Work) -> None:
    async with work.peer() as peer, work.agent(work.way.connect(peer)) as agent:
        await turn(agent, "task one")
        peer.drop_connections()
        await asyncio.sleep(0.05)
        events = await turn(agent, "task two")
    assert types([event for event in events if event["type"] != "error"]) == SAME
    assert work.runs == list(range(2 * STEPS))


async def leaks(work: Work, events: Sequence[Event], data: Path) -> AsyncIterator[str]:
    for event in events:
        if KEY in str(event):
            yield str(event)
    for path in data.rglob("*"):
        if path.is_file() and KEY.encode() in path.read_bytes():
            yield str(path)


@some_ways
async def test_a_wrong_key_is_one_error_that_says_what_to_do_and_shows_no_key(
    work: Work, tmp_path: Path
) -> None:
    async with work.way.peer(model, model=work.way.model, key="sk-another") as peer:
        provider = work.way.connect(peer)
        async with work.agent(provider) as agent:
            events = await turn(agent, "task one")
            if work.way.mode == "replay":
                with pytest.raises(AuthenticationError):
                    await provider.models()
    problems = [event for event in events if event["type"] == "error"]
    assert len(problems) == 1
    assert events[-2] is problems[0]
    payload = problems[0]["payload"]
    assert "rejected the API key" in payload["error"]
    assert "_API_KEY" in payload.get("hint", "")
    assert "\n" not in payload["error"]
    assert [leak async for leak in leaks(work, events, tmp_path / "data")] == []


@some_ways
async def test_no_network_is_one_error_that_says_what_to_do(work: Work) -> None:
    async with work.peer() as peer:
        provider = work.way.connect(peer)
    async with work.agent(provider) as agent:
        events = await turn(agent, "task one")
    last = events[-2]
    assert last["type"] == "error"
    assert "Nothing is listening on 127.0.0.1" in last["payload"]["error"]
    assert last["payload"].get("hint")

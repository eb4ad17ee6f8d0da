"""A message that is sent while the model works reaches it at the next step: once, after the results, in every
dialect and over every wire."""

import asyncio
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from cogency_tui.agent.agent import Agent
from cogency_tui.agent.event_queue import EventQueue
from cogency_tui.agent.permissions.gate import Answer, Question
from cogency_tui.agent.subagent_progress import pages_with_progress
from cogency_tui.config.schema import Mode
from cogency_tui.errors import NetworkError
from cogency_tui.protocol import TEXT_DIALECTS, Dialect
from cogency_tui.protocol.events import Event
from cogency_tui.tui.transcript.units import Transcript, TurnEnd, read_transcript
from tests.agent import test_native_wires as native_wires
from tests.agent.conftest import MakeAgent
from tests.agent.test_dialects import ANSWERS, CALLS
from tests.agent.test_every_wire import modes
from tests.agent.test_native import THREE
from tests.agent.test_turns import EDIT, READ, block, provider_of, types
from tests.peers.scripted import ScriptedProvider
from tests.peers.server import Context
from tests.peers.ways import KEY, WAYS

MODES: list[Mode] = ["resume", "replay"]
STEERED = "Use single quotes."


class Sender:
    """Sends messages to an agent as a front end does: the next one when the turn before it has ended."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.waiting: deque[str] = deque()
        self.turns: list[list[Event]] = []

    @property
    def events(self) -> list[Event]:
        """The events of all turns."""
        return [event for turn in self.turns for event in turn]

    async def send(self, first: str, *, then: Sequence[str] = (), at: str = "call") -> list[Event]:
        """Send `first`, and the others as soon as there is an event of the type `at`."""
        self.waiting.append(first)
        later = deque(then)
        while self.waiting:
            self.turns.append([])
            stream = self.agent.stream(
                self.waiting.popleft(),
                conversation_id="c",
                chunks=False,
                message_waits=lambda: bool(self.waiting),
            )
            async for event in stream:
                self.turns[-1].append(event)
                if event["type"] == at:
                    self.waiting.extend(later)
                    later.clear()
        return self.events


async def stored(agent: Agent) -> list[Event]:
    return await (await agent.store()).events("c")


def texts(context: Context) -> list[str]:
    """The messages of a request without the system prompt, each with the name of its role."""
    return [f"{each['role']}: {each['content']}" for each in context if each["role"] != "system"]


def check_order(context: Context, result: str) -> None:
    """The message comes once, last, and after the result, with nothing of the model between them."""
    whole = texts(context)
    assert sum(text.count(STEERED) for text in whole) == 1
    assert whole[-1].startswith("user: ")
    assert whole[-1].endswith(STEERED)
    after_model = "".join(whole[1 + max(at for at, text in enumerate(whole) if text[:4] == "assi") :])
    assert result in after_model[: after_model.index(STEERED)]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dialect", TEXT_DIALECTS)
async def test_a_message_follows_the_results_in_every_dialect(
    make_agent: MakeAgent, dialect: Dialect, mode: Mode
) -> None:
    agent = make_agent(CALLS[dialect], ANSWERS[dialect], mode=mode, dialect=dialect)
    async with agent:
        sender = Sender(agent)
        events = await sender.send("go", then=[STEERED])
        kept = await stored(agent)
    assert types(sender.turns[0])[-3:] == ["result", "metric", "end"]
    assert types(sender.turns[1]) == ["user", "respond", "metric", "end"]
    assert types(kept) == ["user", "think", "call", "result", "user", "respond"]
    assert [event.get("steered") for event in kept if event["type"] == "user"] == [None, True]
    assert [event["type"] for event in events].count("user") == 2
    sent = provider_of(agent).sent
    assert len(sent) == 2
    last = sent[-1][-2:]
    assert "hello" in last[0]["content"]
    assert last[1]["content"] == STEERED


@pytest.mark.parametrize("mode", MODES)
async def test_a_message_follows_the_results_of_native_calls(make_agent: MakeAgent, mode: Mode) -> None:
    provider = ScriptedProvider(THREE, "Done.", native=True)
    agent = make_agent(llm=provider, mode=mode, dialect="native")
    async with agent:
        await Sender(agent).send("go", then=[STEERED])
    results, message = provider.sent[-1][-2:]
    assert [part["type"] for part in results.get("parts", [])] == ["result"] * 3
    assert message["content"] == STEERED


def model(context: Context) -> str:
    """Calls the tool at each step until the message is there."""
    if any(STEERED in each["content"] for each in context):
        return "As you wish."
    return '<execute>\n[{"name": "mark", "args": {"step": 1}}]\n</execute>'


@pytest.mark.parametrize("name", WAYS)
async def test_a_message_reaches_the_model_once_over_every_wire(name: str, tmp_path: Path) -> None:
    way = WAYS[name]
    work = native_wires.Work(way, tmp_path)
    async with (
        way.peer(model, model=way.model, key=KEY) as peer,
        work.agent(way.connect(peer), "xml") as agent,
    ):
        events = await Sender(agent).send("go", then=[STEERED])
        after = await native_wires.turn(agent, "and now?")
    assert native_wires.problems(events) == []
    assert types(events)[-3:] == ["respond", "metric", "end"]
    assert work.runs == [1]
    assert len(peer.exchanges) == 3
    check_order(peer.exchanges[1].context, "step 1 done")
    assert modes(events) == {way.mode}
    assert types(after) == ["user", "respond", "metric", "end"]
    assert sum(each["content"].count(STEERED) for each in peer.exchanges[2].context) == 1


@pytest.mark.parametrize("name", native_wires.NATIVE)
async def test_the_vendors_accept_a_message_after_native_results(name: str, tmp_path: Path) -> None:
    work = native_wires.Work(WAYS[name], tmp_path)
    script = native_wires.THREE, native_wires.Say("As you wish."), native_wires.Say("Fine.")
    async with (
        native_wires.peer_of(work.way, *script) as peer,
        work.agent(work.way.connect(peer)) as agent,
    ):
        events = await Sender(agent).send("go", then=[STEERED])
        after = await native_wires.turn(agent, "and now?")
    assert native_wires.problems([*events, *after]) == []
    assert sorted(work.runs) == [0, 1, 2]
    assert types(events)[-3:] == ["respond", "metric", "end"]
    assert modes([*events, *after]) == {work.way.mode}
    check_order(peer.exchanges[1].context, "step 2 done")


async def test_two_messages_go_in_order_and_are_answered_together(make_agent: MakeAgent) -> None:
    agent = make_agent(READ, "Both.", mode="replay")
    async with agent:
        sender = Sender(agent)
        await sender.send("go", then=["One.", "Two."])
        kept = await stored(agent)
        known = await (await agent.store()).conversation("c")
    assert [types(turn) for turn in sender.turns[1:]] == [
        ["user", "end"],
        ["user", "respond", "metric", "end"],
    ]
    assert [event["content"] for event in kept if event["type"] == "user"] == ["go", "One.", "Two."]
    sent = provider_of(agent).sent
    assert len(sent) == 2
    assert [message["content"] for message in sent[-1][-2:]] == ["One.", "Two."]
    assert known is not None
    assert known.turns == 3


@pytest.mark.parametrize("at", ["respond", "metric", "end"])
async def test_a_message_that_comes_as_the_turn_ends_is_answered_once(make_agent: MakeAgent, at: str) -> None:
    agent = make_agent("Done.", "As you wish.", mode="replay")
    async with agent:
        sender = Sender(agent)
        await sender.send("go", then=[STEERED], at=at)
        kept = await stored(agent)
    assert [types(turn) for turn in sender.turns] == [["user", "respond", "metric", "end"]] * 2
    # The turn before it was answered.
    assert [event.get("steered") for event in kept if event["type"] == "user"] == [None, None]


async def test_a_message_that_is_sent_at_once_follows_the_first_step(make_agent: MakeAgent) -> None:
    agent = make_agent(READ, "Both.", mode="replay")
    async with agent:
        sender = Sender(agent)
        await sender.send("go", then=[STEERED], at="user")
    assert types(sender.turns[0])[-3:] == ["result", "metric", "end"]
    assert len(provider_of(agent).sent) == 2


async def test_a_message_waits_while_the_user_is_asked(make_agent: MakeAgent, project: Path) -> None:
    asked = asyncio.Event()
    answer = asyncio.Event()

    async def ask(question: Question) -> Answer:
        asked.set()
        await answer.wait()
        return Answer(allow=True)

    agent = make_agent(EDIT, "As you wish.", mode="replay", permissions="ask", ask=ask)
    async with agent:
        sender = Sender(agent)
        running = asyncio.create_task(sender.send("go"))
        await asked.wait()
        sender.waiting.append(STEERED)
        assert types(await stored(agent)) == ["user", "call"]
        answer.set()
        await running
    assert types(sender.turns[0])[-3:] == ["result", "metric", "end"]
    assert (project / "greet.py").read_text() == 'print("goodbye")\n'
    assert provider_of(agent).sent[-1][-1]["content"] == STEERED


async def test_all_edits_of_a_turn_stay_allowed_in_the_one_that_steers_it(make_agent: MakeAgent) -> None:
    asked: list[str] = []

    async def ask(question: Question) -> Answer:
        asked.append(question.call_id)
        return Answer(allow=True, scope="turn")

    edits = [
        block(("edit", {"file": "greet.py", "old": old, "new": new}))
        for old, new in (("hello", "one"), ("one", "two"), ("two", "three"))
    ]
    agent = make_agent(*edits[:2], "Done.", edits[2], "Done.", permissions="ask", mode="replay", ask=ask)
    async with agent:
        sender = Sender(agent)
        await sender.send("go", then=[STEERED])
        assert len(sender.turns) == 2
        assert len(asked) == 1, "the user's work goes on"
        await sender.send("more")
        assert len(asked) == 2, "this is other work"


async def test_an_interrupted_turn_is_continued_by_no_message(make_agent: MakeAgent) -> None:
    agent = make_agent(READ, "Done.", mode="replay")
    async with agent:
        sender = Sender(agent)
        sender.waiting.append("go")
        stream = agent.stream(sender.waiting.popleft(), conversation_id="c", message_waits=lambda: True)
        async for event in stream:
            if event["type"] == "end":
                agent.interrupt("c")
        await sender.send("other work")
        kept = await stored(agent)
    assert [event.get("steered") for event in kept if event["type"] == "user"] == [None, None]


async def test_an_interrupt_leaves_the_message_with_the_caller(make_agent: MakeAgent) -> None:
    agent = make_agent(f"{READ}", "Thinking<<hang>>", mode="replay")
    async with agent:
        sender = Sender(agent)
        running = asyncio.create_task(sender.send("go"))
        await provider_of(agent).hanging.wait()
        agent.interrupt("c")
        sender.waiting.clear()
        await running
        kept = await stored(agent)
    assert types(sender.events)[-1] == "interrupt"
    assert STEERED not in str(kept)
    assert len(provider_of(agent).sent) == 2


async def test_a_turn_whose_message_does_not_come_is_continued(make_agent: MakeAgent) -> None:
    agent = make_agent(READ, "It prints hello.", "Later.", mode="replay")
    async with agent:
        stream = agent.stream("go", conversation_id="c", chunks=False, message_waits=lambda: True)
        assert types([event async for event in stream])[-3:] == ["result", "metric", "end"]
        queue = EventQueue()
        await agent.retry_turn(queue, conversation_id="c")
        events = [event async for event in queue]
        assert events[-1]["type"] == "end"
        await Sender(agent).send("and later")
        kept = await stored(agent)
    assert types(kept) == ["user", "call", "result", "respond", "user", "respond"]
    assert [event.get("steered") for event in kept if event["type"] == "user"] == [None, None]


async def test_a_program_that_ends_between_leaves_an_unanswered_turn_and_the_message_unsent(
    make_agent: MakeAgent,
) -> None:
    async with make_agent(READ, mode="replay") as agent:
        stream = agent.stream("go", conversation_id="c", chunks=False, message_waits=lambda: True)
        assert types([event async for event in stream])[-2:] == ["metric", "end"]
    again = make_agent("As you wish.", mode="replay")
    async with again:
        pages = pages_with_progress(await again.store(), "c")
        transcript = await read_transcript(pages)
        assert transcript.report_unfinished()
        await Sender(again).send(STEERED)
        kept = await stored(again)
    assert types(kept) == ["user", "call", "result", "user", "respond"]
    assert provider_of(again).sent[0][-1]["content"] == STEERED
    assert "hello" in provider_of(again).sent[0][-2]["content"]


async def test_a_message_ends_a_loop_of_failures(make_agent: MakeAgent) -> None:
    failing = READ.replace("greet.py", "none.py")
    agent = make_agent(failing, failing, "As you wish.", mode="replay")
    async with agent:
        sender = Sender(agent)
        await sender.send("go", then=[STEERED])
    assert types(sender.turns[0])[-3:] == ["result", "metric", "end"]
    assert "none.py" in str(provider_of(agent).sent[1][-2])


async def test_after_a_failed_request_the_message_is_sent_with_what_is_stored(make_agent: MakeAgent) -> None:
    agent = make_agent(READ, NetworkError("gone"), "As you wish.", mode="replay")
    async with agent:
        sender = Sender(agent)
        await sender.send("go", then=[STEERED])
        await sender.send("again")
    sent: list[Any] = provider_of(agent).sent
    assert sum(message["content"] == STEERED for message in sent[-1]) == 1
    assert "hello" in sent[-1][-3]["content"]


async def test_all_that_count_turns_agree(make_agent: MakeAgent, project: Path) -> None:
    write = READ.replace("read", "write").replace('"greet.py"', '"new.py", "content": "x"')
    agent = make_agent(EDIT, write, "Done.", mode="replay")
    async with agent:
        sender = Sender(agent)
        await sender.send("go", then=[STEERED])
        store = await agent.store()
        known = await store.conversation("c")
        past = await agent.timeline("c").read()
        review = await agent.review("c").overview()
        statistics = await agent.recall.statistics()
        transcript = await read_transcript(pages_with_progress(store, "c"))
        undo = await agent.undo("c")
        plan = await undo.of_turn()
        await undo.apply(plan)
        before = await undo.of_turn()
    assert known is not None
    assert (known.turns, past.turns, statistics.turns, transcript.turns) == (2, 2, 2, 2)
    assert len(review.groups) == 2
    # Undo reverts what followed the message first.
    assert (plan.turn, [each.change.path for each in plan.changes]) == (2, ["new.py"])
    assert (before.turn, [each.change.path for each in before.changes]) == (1, ["greet.py"])
    assert not (project / "new.py").exists()
    # What is reopened shows what was shown live.
    live = Transcript()
    live.feed(sender.events)
    live.close()
    for shown in (live, transcript):
        ends = [unit for unit in shown.units if isinstance(unit, TurnEnd)]
        assert [(end.interrupted, end.unanswered) for end in ends] == [(False, False)] * 2

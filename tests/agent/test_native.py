"""Turns in the native dialect: what runs, what is stored, what the next request returns; and reasoning that
is kept for the model that wrote it."""

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any

import pytest

from cogency_tui.agent.agent import Agent
from cogency_tui.config.schema import Effort, Mode
from cogency_tui.errors import NetworkError
from cogency_tui.protocol.events import Event
from cogency_tui.protocol.messages import Message, Part
from cogency_tui.providers.base import CallDelta, Chunk, ReasoningDelta, ReasoningItem, TextDelta, Usage
from cogency_tui.providers.models import ModelFacts
from cogency_tui.store.forks import Forks
from tests.agent.conftest import MakeAgent
from tests.agent.test_turns import READ, results, turn, types
from tests.peers.scripted import ScriptedProvider

SEALED = "gAAAA-sealed-reasoning"
THREE = (
    ReasoningDelta("I should look."),
    ReasoningItem({"type": "reasoning", "encrypted_content": SEALED}),
    TextDelta("Looking."),
    CallDelta(0, "call_1", "read", '{"file": '),
    CallDelta(0, arguments='"greet.py"}', complete=True),
    CallDelta(1, "call_2", "list", "{}", complete=True),
    CallDelta(2, "call_3", "find", '{"content": "hello"}', complete=True),
    Usage(100, 20),
)


def native(*replies: Any, **options: Any) -> ScriptedProvider:
    return ScriptedProvider(*replies, native=True, **options)


def parts(message: Message) -> list[Part]:
    return message.get("parts", [])


def kinds(message: Message) -> list[str]:
    return [part["type"] for part in parts(message)]


@pytest.mark.parametrize("mode", ["resume", "replay"])
async def test_three_parallel_calls_run_once_each_and_their_results_go_back_in_order(
    make_agent: MakeAgent, mode: Mode
) -> None:
    provider = native(THREE, "Done.")
    agent = make_agent(llm=provider, mode=mode, dialect="native")
    events = await turn(agent)
    assert types(events) == [
        *["user", "think", "respond", "call", "call", "call", "execute", "result", "result", "result"],
        *["metric", "respond", "metric", "end"],
    ]
    assert [each["tool"] for each in results(events)] == ["read", "list", "find"]
    [answer] = [each for each in provider.sent[-1] if each["role"] == "user"][-1:]
    assert [(part["type"], part.get("id"), part.get("error")) for part in parts(answer)] == [
        ("result", "call_1", False),
        ("result", "call_2", False),
        ("result", "call_3", False),
    ]
    first = provider.options[0]
    assert {tool["name"] for tool in first.tools} >= {"read", "edit", "shell"}
    assert "Call tools with the tool calls of the API" in (provider.seeds or provider.sent)[0][0]["content"]


async def test_the_next_request_has_the_answer_as_the_model_wrote_it(make_agent: MakeAgent) -> None:
    provider = native(THREE, "Done.")
    await turn(make_agent(llm=provider, mode="replay", dialect="native"))
    [_system, _user, answer, _results] = provider.sent[1]
    assert parts(answer) == [
        {"type": "reasoning", "item": {"type": "reasoning", "encrypted_content": SEALED}},
        {"type": "text", "text": "Looking."},
        {"type": "call", "id": "call_1", "name": "read", "arguments": '{"file": "greet.py"}'},
        {"type": "call", "id": "call_2", "name": "list", "arguments": "{}"},
        {"type": "call", "id": "call_3", "name": "find", "arguments": '{"content": "hello"}'},
    ]


async def test_arguments_are_previewed_while_they_are_written(make_agent: MakeAgent) -> None:
    written = json.dumps({"file": "new.py", "content": "x = 1\n" * 40})
    pieces = [CallDelta(0, arguments=written[at : at + 50]) for at in range(0, len(written), 50)]
    provider = native([CallDelta(0, "c", "write"), *pieces], "Done.")
    events = await turn(make_agent(llm=provider, dialect="native"), chunks=True)
    previews = [each for each in events if each["type"] == "call" and each.get("partial")]
    assert len(previews) > 2
    assert json.loads(previews[0]["content"])["name"] == "write"


async def test_a_malformed_call_is_corrected_and_the_other_runs(make_agent: MakeAgent, project: Path) -> None:
    bad = [
        CallDelta(0, "call_1", "read", '{"file": "greet.py",}', complete=True),
        CallDelta(1, "call_2", "write", '{"file": "new.py", "content": "1"}', complete=True),
    ]
    provider = native(bad, "Done.")
    events = await turn(make_agent(llm=provider, mode="replay", dialect="native"))
    assert (project / "new.py").read_text() == "1"
    assert [each["payload"]["state"] for each in results(events)] == ["failed", "done"]
    answer, reports = provider.sent[1][-2:]
    assert [part["type"] for part in parts(answer)] == ["call", "call"]
    assert {part.get("id") for part in parts(answer)} == {"call_1", "call_2"}
    assert [(part.get("id"), part.get("error")) for part in parts(reports)] == [
        ("call_1", True),
        ("call_2", False),
    ]
    assert "a comma before the closing bracket" in reports["content"]


async def test_a_call_that_was_cut_off_is_answered_and_never_runs(
    make_agent: MakeAgent, project: Path
) -> None:
    cut = [CallDelta(0, "call_1", "write", '{"file": "new.py", "content": "1')]
    provider = native(cut, "Sorry.")
    events = await turn(make_agent(llm=provider, mode="replay", dialect="native"))
    assert not (project / "new.py").exists()
    assert events[-1]["type"] == "end"
    assert "end too early" in provider.sent[1][-1]["content"]


async def test_a_connection_lost_amid_calls_runs_none_and_goes_on(
    make_agent: MakeAgent, project: Path
) -> None:
    class Breaking(ScriptedProvider):
        async def answer(self, messages: Sequence[Message]) -> AsyncGenerator[Chunk, None]:
            if len(self.sent) == 1:
                yield CallDelta(0, "call_1", "write", '{"file": "new.py", "content": "1"}', complete=True)
                raise NetworkError("gone")
            async for chunk in super().answer(messages):
                yield chunk

    provider = Breaking("Done.", native=True)
    events = await turn(make_agent(llm=provider, mode="replay", dialect="native"))
    assert not (project / "new.py").exists()
    [failed] = results(events)
    assert failed["payload"]["state"] == "failed"
    answer, reports = provider.sent[1][-2:]
    assert (kinds(answer), kinds(reports)) == (["call"], ["result"])


async def test_an_interrupted_native_call_has_its_result_in_the_next_request(make_agent: MakeAgent) -> None:
    sleep = [CallDelta(0, "call_1", "shell", '{"command": "sleep 60"}', complete=True)]
    provider = native(sleep, "Done.")
    agent = make_agent(llm=provider, mode="replay", dialect="native")
    async with agent:
        async for event in agent.stream("go", conversation_id="c"):
            if event["type"] == "result" and event.get("partial"):
                agent.interrupt("c")
        [_events] = [[event async for event in agent.stream("and?", conversation_id="c")]]
    sent = provider.sent[-1]
    assert [kinds(each) for each in sent] == [[], [], ["call"], ["result"], []]
    assert "interrupted" in sent[3]["content"]


async def test_a_call_written_as_text_is_reported_and_the_turn_goes_on(make_agent: MakeAgent) -> None:
    leaked = '<tool_call>{"name": "read", "arguments": {"file": "greet.py"}}</tool_call>'
    provider = native(leaked, THREE, "Done.")
    events = await turn(make_agent(llm=provider, mode="replay", dialect="native"))
    assert [each["tool"] for each in results(events)] == ["execute", "read", "list", "find"]
    assert "as a tool call of the API" in provider.sent[1][-1]["content"]
    assert kinds(provider.sent[1][-1]) == ["text"]


async def test_an_announcement_that_nothing_follows_and_an_empty_answer_do_not_end_the_turn(
    make_agent: MakeAgent,
) -> None:
    provider = native("I add the import now:", [Usage(1, 1)], THREE, "Done.")
    events = await turn(make_agent(llm=provider, mode="replay", dialect="native"))
    assert [each["tool"] for each in results(events)] == ["execute", "execute", "read", "list", "find"]
    assert "ends with a colon" in provider.sent[1][-1]["content"]
    assert "You wrote nothing" in provider.sent[2][-1]["content"]


@pytest.mark.parametrize("mode", ["resume", "replay"])
async def test_native_calls_that_were_not_offered_are_reported_and_shown_in_the_history(
    make_agent: MakeAgent, mode: Mode
) -> None:
    provider = ScriptedProvider([TextDelta("Let me look."), *THREE[3:]], READ, "Done.")
    events = await turn(make_agent(llm=provider, mode=mode, dialect="xml"))
    assert [each["tool"] for each in results(events)] == ["execute", "read"]
    assert (
        "You used native tool calls (read, list, find), which are off here" in provider.sent[1][-1]["content"]
    )
    assert "as an <execute> block" in provider.sent[1][-1]["content"]
    if mode == "replay":
        assert provider.sent[1][-2]["content"].startswith('Let me look.\n\nread({"file": "greet.py"})')
    steps = [each["step"] for each in events if each["type"] == "metric"]
    assert [each.get("leaked", 0) for each in steps] == [1, 0, 0]


async def test_a_turn_that_changes_its_dialect_in_the_middle_goes_on(make_agent: MakeAgent) -> None:
    provider = native(THREE, READ, "Done.")
    agent = make_agent(llm=provider, mode="replay", dialect="native")
    seen: list[Event] = []
    async for event in agent.stream("go", chunks=False):
        seen.append(event)
        if event["type"] == "respond":
            agent.dialect = "xml"
    assert [each["tool"] for each in results(seen)] == ["read", "list", "find", "read"]
    second = provider.sent[1]
    assert "Protocol: xml" in second[0]["content"]
    assert provider.options[1].tools == ()
    assert second[2]["content"].endswith("</execute>")
    assert second[3]["content"].startswith("<results>")


async def test_a_provider_without_native_calls_gets_text(make_agent: MakeAgent) -> None:
    provider = ScriptedProvider(READ, "Done.")
    events = await turn(make_agent(llm=provider, dialect="native"))
    assert [each["tool"] for each in results(events)] == ["read"]
    assert provider.options[0].tools == ()


# Reasoning that is kept


async def reopened(agent: Agent, provider: ScriptedProvider) -> list[Message]:
    """What the next request of the conversation `c` holds, asked by another program."""
    async with agent:
        [_ async for _ in agent.stream("more", conversation_id="c")]
    return provider.sent[-1] if not provider.seeds else provider.seeds[-1]


def sealed_in(messages: Sequence[Message]) -> list[Any]:
    return [part["item"] for each in messages for part in parts(each) if part["type"] == "reasoning"]


@pytest.mark.parametrize("mode", ["resume", "replay"])
async def test_reasoning_comes_back_after_a_restart_to_the_same_model_alone(
    make_agent: MakeAgent, mode: Mode
) -> None:
    answer: list[Chunk] = [ReasoningItem({"encrypted_content": SEALED}), TextDelta("Yes."), Usage(1, 1)]
    async with make_agent(llm=ScriptedProvider(answer), mode=mode) as agent:
        [_ async for _ in agent.stream("go", conversation_id="c")]
    same = ScriptedProvider("Again.")
    assert sealed_in(await reopened(make_agent(llm=same, mode=mode), same)) == [{"encrypted_content": SEALED}]
    other = ScriptedProvider("Other.")
    other.model = "scripted-2"
    assert sealed_in(await reopened(make_agent(llm=other, mode=mode), other)) == []


async def test_reasoning_that_nothing_followed_is_dropped(make_agent: MakeAgent) -> None:
    provider = ScriptedProvider([ReasoningItem({"encrypted_content": SEALED})], "Yes.")
    events = await turn(make_agent(llm=provider, mode="replay"))
    assert events[-1]["type"] == "end"
    assert sealed_in(provider.sent[-1]) == []


async def test_a_fork_has_the_reasoning_of_its_part(make_agent: MakeAgent) -> None:
    first: list[Chunk] = [ReasoningItem({"encrypted_content": "one"}), TextDelta("First.")]
    second: list[Chunk] = [ReasoningItem({"encrypted_content": "two"}), TextDelta("Second.")]
    provider = ScriptedProvider(first, second, "Fork.")
    async with make_agent(llm=provider, mode="replay") as agent:
        [_ async for _ in agent.stream("go", conversation_id="c")]
        store = await agent.store()
        at = (await store.numbered_events("c"))[-1][0]
        [_ async for _ in agent.stream("go on", conversation_id="c")]
        fork = await Forks(store.database).fork("c", at)
        [_ async for _ in agent.stream("else", conversation_id=fork.id)]
    assert sealed_in(provider.sent[-1]) == [{"encrypted_content": "one"}]


async def test_sealed_reasoning_is_in_no_event_export_or_search(
    make_agent: MakeAgent,
) -> None:
    provider = native(THREE, "Done.")
    async with make_agent(llm=provider, mode="replay", dialect="native") as agent:
        events = [event async for event in agent.stream("go", conversation_id="c", chunks=True)]
        store = await agent.store()
        stored = [event for _number, event in await store.numbered_events("c")]
        assert SEALED not in json.dumps([events, stored])
        exported = "".join(await agent.recall.export_lines("c"))
        found = await agent.recall.hits("c", "Looking"), await agent.recall.hits("c", SEALED)
    assert "Looking." in exported
    assert SEALED not in exported
    assert "call_1" not in exported
    assert [bool(hits) for hits in found] == [True, False]


async def test_a_request_for_a_title_asks_for_no_thought_where_the_model_has_levels(
    make_agent: MakeAgent,
) -> None:
    known: dict[Effort, str] = {"none": "none", "low": "low"}
    for efforts, effort in ((known, "none"), ({}, None)):
        provider = ScriptedProvider("Yes.")
        provider.facts = ModelFacts(context_size=8000, efforts=efforts)
        named = asyncio.Event()
        agent = make_agent(llm=provider)
        agent.titled = lambda _id, _title, named=named: named.set()
        provider.title = "A title"
        async with agent:
            [_ async for _ in agent.stream("go", typed="go")]
            await named.wait()
        assert provider.options[-1].effort == effort


async def test_the_effort_is_sent_and_follows_the_users_choice(make_agent: MakeAgent) -> None:
    provider = ScriptedProvider("One.", "Two.", "Three.")
    async with make_agent(llm=provider, mode="resume", effort="high") as agent:
        [_ async for _ in agent.stream("go", conversation_id="c")]
        agent.effort = "low"
        [_ async for _ in agent.stream("go", conversation_id="c")]
        agent.effort = "auto"
        [_ async for _ in agent.stream("go", conversation_id="c")]
    assert [each.effort for each in provider.options] == ["high", "low", None]
    assert {each.conversation for each in provider.options} == {"c"}

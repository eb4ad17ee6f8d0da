"""Sub-agents: a turn of their own for a call of another, never with more permission than that one has."""

import asyncio
import re
import time
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any

import pytest

from cogency_tui.agent.permissions.gate import Answer, Question
from cogency_tui.agent.subagent_progress import pages_with_progress
from cogency_tui.config.layers import load_settings
from cogency_tui.config.schema import AgentSettings, Permissions
from cogency_tui.errors import ConfigError, NetworkError
from cogency_tui.protocol import Dialect, render
from cogency_tui.protocol.events import Event
from cogency_tui.protocol.messages import Message
from cogency_tui.providers.base import Chunk, TextDelta
from tests.agent.delegation import (
    Bench,
    Meeting,
    block,
    delegated,
    named,
    payload_of,
    results,
    scripted,
    shown,
    turn,
)
from tests.peers.scripted import ScriptedProvider
from tests.peers.words import words

READ = block(("read", {"file": "greet.py"}))
EDIT = block(("edit", {"file": "greet.py", "old": "hello", "new": "goodbye"}))
REVIEW = block(named("agent", "reviewer", task="Look at greet.py", depth=2))
REVIEWER = {"reviewer": AgentSettings(description="reads a change", instructions="Be strict.")}


@pytest.fixture
def bench(project: Path, tmp_path: Path) -> Bench:
    return Bench(project, tmp_path / "data")


async def test_a_sub_agent_does_its_task_in_a_conversation_of_its_own(bench: Bench) -> None:
    agent = bench.agent(f"First.{REVIEW}", f"I look.{READ}", "It greets.", "Reviewed.", agents=REVIEWER)
    async with agent:
        events = await turn(agent)
        (conversation,) = await delegated(agent)
        stored = await (await agent.store()).events(conversation.id)
        (call,) = [e for e in await (await agent.store()).events("c") if e["type"] == "call"]
    (result,) = results(events)
    assert result["payload"] == {
        "outcome": "answered after 1 call",
        "content": "It greets.",
        "error": False,
        "state": "done",
        "sources": [],
    }
    assert shown(events).startswith("· read greet.py\n✓ read: ")
    assert (conversation.parent, conversation.call) == ("c", call["id"])
    assert [event["type"] for event in stored] == ["user", "respond", "call", "result", "respond"]
    first, second = scripted(agent).sent[1:3]
    assert [message["role"] for message in first] == ["system", "user"]
    assert first[0]["content"].endswith("include everything that it needs, and no questions.\nBe strict.\n")
    assert words(first[1]["content"]) == "Look at greet.py\ndepth: 2"
    assert "hello" in second[-1]["content"]
    assert "It greets." in scripted(agent).sent[3][-1]["content"]


ACTION = '<action type="agent" id="r">{"name": "reviewer", "parameters": {"task": "look"}}</action>'
DELIMITER = '§call: {"name": "agent", "args": {"name": "reviewer", "parameters": {"task": "look"}}}\n§execute'


@pytest.mark.parametrize(
    ("dialect", "call", "answer"),
    [
        ("xml", block(named("agent", "reviewer", task="look")), "Fine."),
        ("delimiter", DELIMITER, "§respond: Fine.\n§end"),
        ("action", ACTION, "<response>Fine.</response>"),
        ("action", ACTION.replace('"agent" id="r"', "'agent'"), "<response>Fine.</response>"),
    ],
)
async def test_the_call_is_the_same_in_every_dialect(
    bench: Bench, dialect: Dialect, call: str, answer: str
) -> None:
    agent = bench.agent(call, answer, answer, agents=REVIEWER, dialect=dialect)
    async with agent:
        (result,) = results(await turn(agent))
        stored = await (await agent.store()).events("c")
    assert result["tool"] == "agent"
    assert result["payload"]["content"] == "Fine."
    assert words(scripted(agent).sent[1][1]["content"]) == "look"
    assert '{"name": "agent", "args": {"name": "reviewer", "parameters": {"task": "look"}}}' in str(
        render(stored, "xml")[1]["content"]
    )


@pytest.mark.parametrize(
    ("called", "args"),
    [
        ("agent", {"name": "reviewer", "task": "look"}),
        ("agent", {"agent": "reviewer", "parameters": {"task": "look"}}),
        ("Task", {"subagent_type": "reviewer", "prompt": "look", "description": "Looks."}),
        ("dispatch_agent", {"agent": "reviewer", "prompt": "look"}),
        ("subagent", {"agent": "reviewer", "task": "look"}),
    ],
)
async def test_names_and_spellings_of_other_agents_are_understood(
    bench: Bench, called: str, args: dict[str, Any]
) -> None:
    agent = bench.agent(block((called, args)), "Fine.", "Ok.", agents=REVIEWER)
    (result,) = results(await turn(agent))
    assert (result["tool"], result["payload"]["content"]) == ("agent", "Fine.")
    assert words(scripted(agent).sent[1][1]["content"]) == "look"


async def test_a_sub_agent_without_a_task_does_what_its_instructions_say(bench: Bench) -> None:
    agent = bench.agent(block(("agent", {"name": "reviewer"})), "Fine.", "Ok.", agents=REVIEWER)
    assert (await payload_of(agent))["content"] == "Fine."
    assert words(scripted(agent).sent[1][1]["content"]) == "Do what your instructions say."


@pytest.mark.parametrize(
    ("args", "told"),
    [
        ({"name": "plain"}, 'agent plain: "task" is missing. Form: {"name": "plain", "task": …}'),
        (
            {"name": "plain", "task": "a", "parameters": {"task": "b"}},
            'agent plain: "task" is given twice, also among the parameters.',
        ),
        ({"name": "plain", "task": "a", "prompt": "b"}, '"task" and "prompt" both mean "task"'),
        ({"task": "look"}, '"name" is missing'),
    ],
)
async def test_a_task_that_is_missing_or_given_twice_is_a_failed_result(
    bench: Bench, args: dict[str, Any], told: str
) -> None:
    agent = bench.agent(block(("agent", args)), "Ok.", agents={"plain": AgentSettings()})
    async with agent:
        payload = await payload_of(agent)
        assert await delegated(agent) == []
    assert payload["error"]
    assert told in payload["outcome"]


@pytest.mark.parametrize(
    ("parents", "configured", "edits"),
    [
        *(("plan", "auto", False), ("ask", "auto", False), ("ask", "edits", False), ("edits", "auto", True)),
        *(("auto", "auto", True), ("auto", "edits", True), ("auto", "ask", False), ("auto", "plan", False)),
    ],
)
async def test_a_sub_agent_may_do_what_it_and_its_parent_may(
    bench: Bench, parents: Permissions, configured: Permissions, edits: bool
) -> None:
    agents = {"reviewer": AgentSettings(permissions=configured)}
    agent = bench.agent(REVIEW, READ, EDIT, "Tried.", "Ok.", agents=agents, permissions=parents)
    (result,) = results(await turn(agent))
    assert result["payload"]["content"] == "Tried."
    assert ("goodbye" in (bench.root / "greet.py").read_text()) is edits
    assert ("Not allowed" in scripted(agent).sent[3][-1]["content"]) is not edits


async def test_what_a_sub_agent_asks_is_asked_at_the_call_that_started_it(bench: Bench) -> None:
    asked: list[Question] = []

    async def ask(question: Question) -> Answer:
        asked.append(question)
        return Answer(allow=len(asked) > 1, reason="not yet")

    inner = block(named("agent", "editor", task="edit"))
    agents = {"reviewer": AgentSettings(), "editor": AgentSettings(permissions="auto")}
    replies = (REVIEW, inner, READ, EDIT, EDIT, "Edited.", "Had it edited.", "Done.")
    agent = bench.agent(*replies, agents=agents, permissions="ask", ask=ask)
    (result,) = results(await turn(agent))
    assert [question.call_id for question in asked] == [result["id"]] * 2
    assert asked[0].explanation == "Requested by the sub-agent editor."
    assert "not yet" in scripted(agent).sent[4][-1]["content"]
    assert "goodbye" in (bench.root / "greet.py").read_text()


async def test_lowering_the_permissions_counts_for_a_sub_agent_that_runs(bench: Bench) -> None:
    def lower() -> str:
        agent.permissions = "plan"
        return EDIT

    agent = bench.agent(REVIEW, READ, lower, "Tried.", "Ok.", agents=REVIEWER)
    await turn(agent)
    assert "hello" in (bench.root / "greet.py").read_text()


async def test_a_sub_agent_has_its_own_limit_of_cycles(bench: Bench) -> None:
    agents = {"reviewer": AgentSettings(max_iterations=2)}
    agent = bench.agent(REVIEW, f"A start.{READ}", f"More.{READ}", "Ok.", agents=agents)
    payload = await payload_of(agent)
    assert payload["error"]
    assert "reviewer did not finish: Turn stopped after 2 steps (the maximum)." in payload["outcome"]
    assert len(scripted(agent).sent) == 4


async def test_a_sub_agent_has_only_the_tools_that_it_was_given(bench: Bench) -> None:
    agents = {"reviewer": AgentSettings(tools=["read", "relic"])}
    write = block(("write", {"file": "new.txt", "content": "x"}))
    agent = bench.agent(REVIEW, write, "No.", "Ok.", agents=agents)
    await turn(agent)
    system, told = scripted(agent).sent[1][0]["content"], scripted(agent).sent[2][-1]["content"]
    assert "\nrelic(" in system
    assert "\nwrite: " not in system
    assert "There is no tool" in told
    assert not (bench.root / "new.txt").exists()


async def test_a_sub_agent_of_a_sub_agent_has_none_of_the_tools_that_that_one_lacks(bench: Bench) -> None:
    agents = {"reviewer": AgentSettings(tools=["read", "agent"]), "editor": AgentSettings()}
    replies = (REVIEW, block(named("agent", "editor", task="edit")), "Read.", "Had it read.", "Ok.")
    agent = bench.agent(*replies, agents=agents)
    await turn(agent)
    system = scripted(agent).sent[2][0]["content"]
    assert "\nread: " in system
    assert not any(
        re.search(rf"^{tool}[:(]", system, re.MULTILINE)
        for tool in ("write", "edit", "shell", "relic", "llm", "agent")
    )


@pytest.mark.parametrize(
    ("agents", "told"),
    [
        ({"tester": AgentSettings()}, 'there is no "reviewer". Names: tester.'),
        ({"Reviewer": AgentSettings()}, 'Did you mean "Reviewer"?'),
        ({"reviewer": AgentSettings(tools=["reed"])}, 'its tools include "reed", which does not exist.'),
        ({"reviewer": AgentSettings(provider="nowhere")}, "Unknown provider 'nowhere'"),
    ],
)
async def test_an_agent_that_cannot_be_is_a_failed_result(
    bench: Bench, agents: dict[str, AgentSettings], told: str
) -> None:
    agent = bench.agent(REVIEW, "Ok.", agents=agents)
    async with agent:
        payload = await payload_of(agent)
        assert await delegated(agent) == []
    assert payload["error"]
    assert told in payload["outcome"]


async def test_an_endpoint_that_fails_is_the_sub_agents_failed_result(bench: Bench) -> None:
    agent = bench.agent(REVIEW, NetworkError("connection refused", "Start it."), "Ok.", agents=REVIEWER)
    events = await turn(agent)
    assert results(events)[0]["payload"]["outcome"] == (
        "reviewer did not finish: connection refused Start it."
    )
    assert events[-1]["type"] == "end"


async def test_a_sub_agent_may_have_another_provider(bench: Bench) -> None:
    agents = {"reviewer": AgentSettings(provider="offline")}
    agent = bench.agent(REVIEW, "Ok.", agents=agents)
    async with agent:
        payload = await payload_of(agent)
        (conversation,) = await delegated(agent)
    assert not payload["error"]
    assert (conversation.provider, conversation.model) == ("offline", "offline-1")
    assert len(scripted(agent).sent) == 2


async def test_sub_agents_are_nested_two_deep_at_most(bench: Bench) -> None:
    agent = bench.agent(REVIEW, REVIEW, REVIEW, "Alone.", "Led.", "Done.", agents=REVIEWER)
    async with agent:
        events = await turn(agent)
        (first,) = await delegated(agent)
        (second,) = await delegated(agent, first.id)
        assert await delegated(agent, second.id) == []
    assert results(events)[0]["payload"]["content"] == "Led."
    systems = [sent[0]["content"] for sent in scripted(agent).sent]
    assert ["\nagent: " in system for system in systems[:3]] == [True, True, False]
    assert 'There is no tool \\"agent\\"' in scripted(agent).sent[3][-1]["content"]


async def test_interrupting_ends_the_sub_agent_and_answers_its_calls(bench: Bench) -> None:
    command = block(("shell", {"command": "echo $$ > pid; sleep 60"}))
    agent = bench.agent(REVIEW, command, agents=REVIEWER)
    async with agent:
        events: list[Event] = []
        async for event in agent.stream("go", conversation_id="c"):
            events.append(event)
            if event["type"] == "result" and "· shell" in str(event["payload"]["content"]):
                await asyncio.to_thread(_wait_for_line, bench.root / "pid")
                agent.interrupt("c")
                agent.interrupt("c")
        (conversation,) = await delegated(agent)
        stored = await (await agent.store()).events(conversation.id)
    assert events[-1]["type"] == "interrupt"
    assert [result["payload"]["outcome"] for result in results(events)] == ["interrupted"]
    assert [result["payload"]["outcome"] for result in results(stored)] == ["interrupted"]
    assert not Path(f"/proc/{(bench.root / 'pid').read_text().strip()}").exists()


def _wait_for_line(path: Path) -> None:
    while not path.exists() or not path.read_text().endswith("\n"):
        time.sleep(0.005)


async def test_interrupting_while_the_sub_agents_model_writes_keeps_its_words(bench: Bench) -> None:
    agent = bench.agent(REVIEW, "Half a sent<<hang>>", agents=REVIEWER)
    async with agent:
        reading = asyncio.create_task(turn(agent))
        await scripted(agent).hanging.wait()
        agent.interrupt()
        events = await reading
        (conversation,) = await delegated(agent)
        stored = await (await agent.store()).events(conversation.id)
    assert events[-1]["type"] == "interrupt"
    last = stored[-1]
    assert last["type"] == "respond"
    assert (last["content"], last.get("interrupted")) == ("Half a sent", True)


class HangingSubAgent(ScriptedProvider):
    """Hangs in the answer to a sub-agent, however late that asks."""

    async def answer(self, messages: Sequence[Message]) -> AsyncGenerator[Chunk, None]:
        if "You are the sub-agent" in messages[0]["content"]:
            yield TextDelta("Still")
            await asyncio.Event().wait()
        async for chunk in super().answer(messages):
            yield chunk


async def test_a_time_out_ends_the_sub_agent_and_the_turn_goes_on(bench: Bench) -> None:
    body = '{"name": "reviewer", "parameters": {"task": "look"}, "timeout": 0.05}'
    model = HangingSubAgent(f'<action type="agent" id="a">{body}</action>', "<response>Ok.</response>")
    agent = bench.agent(llm=model, agents=REVIEWER, dialect="action")
    events = await turn(agent)
    assert results(events)[0]["payload"]["outcome"] == "agent did not end in time (0.05 s)"
    assert events[-1]["type"] == "end"


@pytest.mark.parametrize("limits", [{"permissions": "plan"}, {"tools": ["read", "list"]}])
async def test_sub_agents_that_only_read_work_at_the_same_time(bench: Bench, limits: dict[str, Any]) -> None:
    both = block(named("agent", "reader", task="a"), named("agent", "reader", task="b"))
    model = Meeting(both, "One.", "Two.", "Ok.")
    agent = bench.agent(llm=model, agents={"reader": AgentSettings(**limits)})
    async with asyncio.timeout(30):
        contents = {result["payload"]["content"] for result in results(await turn(agent))}
    assert contents == {"One.", "Two."}


async def test_what_is_configured_is_offered_and_nothing_else(bench: Bench) -> None:
    agents = {**REVIEWER, "tester": AgentSettings(description="runs\n  the tests")}
    systems: list[str] = []
    for configured in ({}, agents, agents):
        agent = bench.agent("Hi.", agents=configured)
        await turn(agent)
        systems.append(scripted(agent).sent[0][0]["content"])
    without, described, again = systems
    assert "\nagent: " not in without
    assert "\nworkflow: " not in without
    assert "\nrelic(" in without
    assert "\nllm(" in without
    assert '{"name": …, "task": …}' in described
    assert "Names: reviewer (reads a change), tester (runs the tests)." in described
    assert described == again


@pytest.mark.parametrize(
    ("table", "told"),
    [
        (
            '[agents.a]\ndescriptio = "x"',
            'line 2: agent "a": unknown key "descriptio" (did you mean "description"?)',
        ),
        (
            '[agents.a]\npermissions = "all"',
            '"permissions": must be one of plan, ask, edits, auto, not "all"',
        ),
        ("[agents.a]\nmax_iterations = 0", 'agent "a": "max_iterations": expected int >= 1'),
        ('[agents.a]\ntools = "read"', 'agent "a": "tools": expected array'),
        ("agents = 3", "expected object"),
    ],
)
def test_a_table_that_cannot_be_is_told_with_its_place(tmp_path: Path, table: str, told: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(f'theme = "night"\n{table}\n')
    with pytest.raises(ConfigError) as caught:
        load_settings(path)
    assert str(path) in str(caught.value)
    assert told in str(caught.value).replace("`", "").replace("Expected", "expected")


async def test_reopening_shows_what_a_sub_agent_did_as_it_was_shown_live(bench: Bench) -> None:
    agents = {"scout": AgentSettings(description="looks around")}
    replies = (
        block(named("agent", "scout", task="look")),
        block(("list", {})),
        "There is nothing.",
        "All done.",
    )
    agent = bench.agent(*replies, agents=agents)
    async with agent:
        live = await turn(agent)
        pages = pages_with_progress(await agent.store(), "c")
        reopened = [event async for page in pages for event in page]
    assert shown(reopened) == shown(live)
    assert "list" in shown(reopened)
    assert [event for event in reopened if not event.get("partial")] == await _stored(bench)


async def _stored(bench: Bench) -> list[Event]:
    async with bench.agent() as agent:
        return await (await agent.store()).events("c")

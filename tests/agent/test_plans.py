"""The model's plan in a conversation: in every dialect and mode, after a summary, after a restart."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from cogency_tui.agent.agent import Agent
from cogency_tui.config.schema import AgentSettings
from cogency_tui.protocol import DIALECTS, Dialect
from cogency_tui.protocol.events import PlannedStep
from cogency_tui.protocol.plan import latest_plan
from cogency_tui.providers.base import CallDelta
from tests.agent.conftest import MakeAgent
from tests.agent.delegation import Bench, block, delegated
from tests.agent.test_context_window import SUMMARY, agent_of, texts
from tests.agent.test_dialects import answer_in, calls_in
from tests.agent.test_turns import results, turn
from tests.peers.scripted import ScriptedProvider
from tests.peers.words import words

STEPS: list[PlannedStep] = [
    {"text": "Read greet.py", "state": "done"},
    {"text": "Say goodbye", "state": "active"},
    {"text": "Run it", "state": "pending"},
]
TODOS = {
    "todos": [
        {"content": "Read greet.py", "status": "completed", "activeForm": "Reading"},
        {"content": "Say goodbye", "status": "in_progress", "activeForm": "Saying"},
        {"content": "Run it", "status": "pending", "activeForm": "Running"},
    ]
}


def replies_in(dialect: Dialect, name: str, args: Mapping[str, Any]) -> list[Any]:
    """A call, then the end of the turn."""
    if dialect == "native":
        return [[CallDelta(0, "call_1", name, json.dumps(args), complete=True)], "Done."]
    return [calls_in(dialect, (name, json.dumps(args))), answer_in(dialect, "Done.")]


async def plan_of(agent: Agent, conversation: str = "c") -> list[PlannedStep]:
    """The plan as the store has it."""
    return latest_plan(await (await agent.store()).events(conversation))


@pytest.mark.parametrize(("name", "args"), [("plan", {"steps": STEPS}), ("TodoWrite", TODOS)])
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_plan_needs_no_permission_and_is_stored_with_the_result(
    make_agent: MakeAgent, dialect: Dialect, name: str, args: dict[str, Any]
) -> None:
    provider = ScriptedProvider(*replies_in(dialect, name, args), native=dialect == "native")
    agent = make_agent(llm=provider, dialect=dialect, permissions="plan", mode="replay")
    async with agent:
        (result,) = results(await turn(agent, conversation_id="c"))
        assert (result["tool"], result["payload"]["state"]) == ("plan", "done")
        assert result["payload"].get("plan") == await plan_of(agent) == STEPS
    # The model has its own call, and needs no repetition.
    assert words(provider.sent[-1][-1]["content"]).count("Run it") == 0
    assert "1/3: Say goodbye" in str(provider.sent[-1][-1])


async def test_the_last_update_that_succeeded_is_the_plan_after_a_restart(make_agent: MakeAgent) -> None:
    later = [{**STEPS[0]}, {"text": "Say goodbye", "state": "done"}, STEPS[2]]
    agent = make_agent(
        block(("plan", {"steps": STEPS})),
        block(("plan", {"steps": later})),
        block(("plan", {"steps": [{"text": "x", "state": "nearly"}]})),
        "Done.",
    )
    async with agent:
        await turn(agent, conversation_id="c")
    async with make_agent("x") as reopened:
        assert await plan_of(reopened) == later


async def test_an_unfinished_plan_stays_verbatim_when_it_is_summarised(tmp_path: Path, project: Path) -> None:
    plan = block(("plan", {"steps": STEPS}))
    agent, provider = agent_of(tmp_path, project, plan, "So far.", SUMMARY, "On.", "On.")
    async with agent:
        await turn(agent, "do it", conversation_id="c")
        await agent.compact("c")
        await turn(agent, "go on", conversation_id="c")
        await turn(agent, "go on", conversation_id="c")
        parts = {part.name: part.tokens for part in await (await agent.history("c")).context()}
    first, again = texts(provider.sent[3])[0], texts(provider.sent[4])[0]
    assert first.count(f"[engine] Your plan at this point:\n\n{json.dumps(STEPS)}") == 1
    assert first.endswith(SUMMARY)
    assert again == first
    assert parts["summary"] * 4 > len(json.dumps(STEPS))


async def test_a_finished_plan_is_summarised_with_the_rest(tmp_path: Path, project: Path) -> None:
    done = [{**step, "state": "done"} for step in STEPS]
    agent, provider = agent_of(tmp_path, project, block(("plan", {"steps": done})), "So.", SUMMARY, "On.")
    async with agent:
        await turn(agent, "do it", conversation_id="c")
        await agent.compact("c")
        await turn(agent, "go on", conversation_id="c")
    assert "Your plan" not in str(provider.sent[3])


async def test_the_plan_of_a_subagent_stays_in_its_own_conversation(tmp_path: Path, project: Path) -> None:
    agent = Bench(project, tmp_path / "data").agent(
        block(("agent", {"name": "reviewer", "task": "look"})),
        block(("plan", {"steps": STEPS})),
        "Seen.",
        "Done.",
        agents={"reviewer": AgentSettings(description="looks")},
    )
    async with agent:
        await turn(agent, conversation_id="c")
        (child,) = await delegated(agent)
        assert await plan_of(agent, child.id) == STEPS
        assert await plan_of(agent) == []


async def test_the_text_of_a_plan_is_found_by_recall(make_agent: MakeAgent) -> None:
    async with make_agent(block(("plan", {"steps": STEPS})), "Done.") as agent:
        await turn(agent, conversation_id="c")
        found = await agent.recall.hits("c", "goodbye")
        assert [each.kind for each in found] == ["call", "output"]

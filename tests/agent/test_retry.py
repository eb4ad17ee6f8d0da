"""A turn that failed is continued from what is stored of it, without another message of the user's."""

import asyncio

import pytest

from cogency_tui.agent.agent import Agent
from cogency_tui.agent.event_queue import EventQueue
from cogency_tui.agent.turn import BREAKS
from cogency_tui.config.schema import Mode
from cogency_tui.errors import AuthenticationError
from cogency_tui.protocol.events import Event
from tests.agent.conftest import MakeAgent
from tests.agent.test_turns import READ, provider_of, turn, types

MODES: list[Mode] = ["resume", "replay"]


async def retry(agent: Agent) -> list[Event]:
    queue = EventQueue()
    running = asyncio.create_task(agent.retry_turn(queue, conversation_id="c"))
    events = [event async for event in queue]
    await running
    return events


async def stored(agent: Agent) -> list[str]:
    """The stored events of the user and the model, in brief."""
    events = await (await agent.store()).events("c")
    return [f"{event['type']} {event.get('content', '')}".strip() for event in events]


@pytest.mark.parametrize("mode", MODES)
async def test_a_message_that_was_not_answered_is_sent_again_and_stored_once(
    make_agent: MakeAgent, mode: Mode
) -> None:
    agent = make_agent(AuthenticationError("The key is wrong."), "Here I am.", "Yes.", mode=mode)
    assert types(await turn(agent, "hello?", conversation_id="c"))[-2:] == ["error", "end"]

    events = await retry(agent)
    assert "user" not in types(events)
    assert types(events)[-1] == "end"
    assert await stored(agent) == ["user hello?", "error", "respond Here I am."]
    sent = provider_of(agent).sent
    assert sum("hello?" in message["content"] for message in sent[-1]) == 1


@pytest.mark.parametrize("mode", MODES)
async def test_after_a_batch_the_retry_sends_its_results(make_agent: MakeAgent, mode: Mode) -> None:
    agent = make_agent(READ, AuthenticationError("The key has expired."), "It prints hello.", mode=mode)
    await turn(agent, "read it", conversation_id="c")

    await retry(agent)
    kinds = [each.split()[0] for each in await stored(agent)]
    assert kinds == ["user", "call", "result", "error", "respond"]
    assert "hello" in provider_of(agent).sent[-1][-1]["content"]


async def test_half_an_answer_is_continued_and_the_roles_alternate(make_agent: MakeAgent) -> None:
    halves = ["It prints<<hang>>The connection was lost."] * BREAKS
    agent = make_agent(*halves, "hello.", mode="replay")
    events = await turn(agent, "read it", conversation_id="c")
    assert types(events)[-2:] == ["error", "end"]

    await retry(agent)
    last = provider_of(agent).sent[-1]
    assert last[-1]["role"] == "user"
    assert "Continue from there." in last[-1]["content"]
    assert (await stored(agent))[-1] == "respond hello."

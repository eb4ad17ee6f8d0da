"""The error that ends a turn is stored as it was shown, wherever a conversation is read, and never sent."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from cogency_tui.acp.updates import Updates
from cogency_tui.agent.agent import Agent
from cogency_tui.agent.export import as_markdown, as_page
from cogency_tui.agent.turn import BREAKS
from cogency_tui.errors import AuthenticationError
from cogency_tui.protocol.events import ErrorEvent, Event
from cogency_tui.providers.http_provider import HttpProvider
from cogency_tui.store.forks import Forks
from tests.agent.conftest import MakeAgent
from tests.agent.test_retry import retry
from tests.agent.test_turns import READ, provider_of, turn
from tests.cases import cases
from tests.peers.anthropic import AnthropicPeer
from tests.peers.server import Fault
from tests.providers.asked import ANTHROPIC
from tests.secret_samples import issued


def failures_in(events: list[Event]) -> list[ErrorEvent]:
    return [event for event in events if event["type"] == "error" and not event["payload"].get("notice")]


async def stored(agent: Agent, id: str = "c") -> list[Event]:
    return await (await agent.store()).events(id)


async def failed(agent: Agent, kind: str) -> ErrorEvent:
    """The one failure of a turn, which is stored as it was delivered, with its kind."""
    id = kind.replace(" ", "-")
    [delivered] = failures_in(await turn(agent, "hello?", conversation_id=id))
    [kept] = failures_in(await stored(agent, id))
    assert kept == {**delivered, "payload": {**delivered["payload"], "failure": kind}}
    return delivered


def refusing(peer: AnthropicPeer) -> HttpProvider:
    return ANTHROPIC.provider(peer, key="sk-wrong-key")


FAULTS: dict[str, tuple[dict[str, Any], Callable[[AnthropicPeer], HttpProvider], str]] = {
    "authentication": ({"key": "sk-right"}, refusing, "rejected the API key"),
    "rate limit": ({"always": Fault(status=429)}, ANTHROPIC.provider, "Rate limited"),
    "network": ({"always": Fault(drop="within", after=4)}, ANTHROPIC.provider, "lost"),
}


@cases("kind", list(FAULTS))
async def test_what_an_endpoint_does_is_stored_at_the_end_of_the_turn(
    kind: str, make_agent: MakeAgent
) -> None:
    options, connect, words = FAULTS[kind]
    async with AnthropicPeer(["Hello there."], **options) as peer:
        agent = make_agent(llm=connect(peer), mode="replay")
        delivered = await failed(agent, kind)
        assert words in delivered["payload"]["error"]
        assert delivered["payload"].get("hint")
        await agent.close()


async def test_a_server_that_is_not_there_is_stored(make_agent: MakeAgent) -> None:
    async with AnthropicPeer() as peer:
        provider = ANTHROPIC.provider(peer)
    agent = make_agent(llm=provider, mode="replay")
    assert "Nothing is listening" in (await failed(agent, "network"))["payload"]["error"]
    await agent.close()


async def test_a_limit_of_the_turn_is_stored(make_agent: MakeAgent) -> None:
    agent = make_agent(READ, mode="replay", max_iterations=1)
    delivered = await failed(agent, "turn")
    assert "Turn stopped after 1 step" in delivered["payload"]["error"]


async def test_no_request_has_the_error_and_the_roles_alternate(make_agent: MakeAgent) -> None:
    error = AuthenticationError("The key is wrong.", "Set another.")
    agent = make_agent(READ, error, error, "It prints hello.", "Yes.", mode="replay")
    await turn(agent, "read it", conversation_id="c")
    await retry(agent)
    await retry(agent)
    await turn(agent, "sure?", conversation_id="c")
    types = [event["type"] for event in await stored(agent)]
    assert types == ["user", "call", "result", "error", "error", "respond", "user", "respond"]
    requests = provider_of(agent).sent
    assert not any("wrong" in message["content"] for sent in requests for message in sent)
    last = [message["role"] for message in requests[-1] if message["role"] != "system"]
    assert last == ["user", "assistant"] * (len(last) // 2) + ["user"]


async def test_only_the_end_of_the_turn_is_stored_and_no_retry(make_agent: MakeAgent) -> None:
    halves = ["It prints<<hang>>The connection was lost."] * BREAKS
    agent = make_agent(*halves, mode="replay")
    events = await turn(agent, "read it", conversation_id="c")
    assert len([event for event in events if event["type"] == "error"]) == BREAKS
    assert len(failures_in(await stored(agent))) == 1


async def test_what_looks_like_a_key_is_neither_shown_nor_stored(make_agent: MakeAgent) -> None:
    secret = issued()["Docker"]
    agent = make_agent(AuthenticationError(f"Wrong key {secret}.", f"Replace {secret}."), mode="replay")
    delivered = await failed(agent, "authentication")
    assert secret not in str(delivered)
    assert "Wrong key" in delivered["payload"]["error"]


async def test_forks_exports_and_replays_have_it(make_agent: MakeAgent, project: Path) -> None:
    agent = make_agent(AuthenticationError("The key is wrong.", "Set another."), mode="replay")
    await turn(agent, "hello?", conversation_id="c")
    store = await agent.store()
    fork = await Forks(store.database).fork("c")
    events = await stored(agent, fork.id)
    assert events == await stored(agent)
    [conversation] = await store.conversations(limit=1, project=None)
    assert "*✗ The turn failed: The key is wrong. Set another.*" in as_markdown(conversation, events)
    assert '<p class="failed">✗ The turn failed: The key is wrong. Set another.</p>' in as_page(
        conversation, events, "night"
    )
    updates: list[Any] = [*Updates(project).replay(events)]
    assert [update.session_update for update in updates] == ["user_message_chunk", "agent_thought_chunk"]
    assert "The key is wrong. Set another." in updates[-1].content.text


async def test_a_summary_counts_only_what_was_in_the_context(make_agent: MakeAgent) -> None:
    error = AuthenticationError("The key is wrong.")
    agent = make_agent(error, "Here I am.", "## So far\n\nA greeting.", "Yes.", mode="replay")
    await turn(agent, "hello?", conversation_id="c")
    await retry(agent)
    history = await agent.history("c")
    assert [part.event["type"] for part in (await history.plan()).parts] == ["user", "respond"]
    assert (await agent.compact("c"))["messages"] == 2
    [(_summary, covered)] = await history.covered()
    assert covered == 2
    await turn(agent, "sure?", conversation_id="c")
    assert not any("wrong" in message["content"] for message in provider_of(agent).sent[-1])

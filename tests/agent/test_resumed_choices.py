"""The model, effort and dialect that a user chose in a conversation come back with it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from cogency_tui.agent.agent import Agent
from cogency_tui.config.schema import ProviderSettings, Settings
from cogency_tui.store.forks import Forks
from cogency_tui.store.store import StoredConversation, insert, new_conversation_id
from tests.peers.chat import ChatPeer


def agent_at(address: str, project: Path, *, configured: Any = "auto", **given: Any) -> Agent:
    """An agent whose default is the offline model, and that knows the provider `mine`."""
    providers = {"mine": ProviderSettings(address, "house")} if address else {}
    settings = Settings(providers=providers, permissions="auto", titles=False, effort=configured)
    return Agent(project=project, data=project.parent / "data", settings=settings, **given)


async def turn(agent: Agent, id: str) -> None:
    async for _event in agent(f"explain {id}", conversation_id=id):
        pass


async def stored(agent: Agent, id: str) -> StoredConversation:
    record = await (await agent.store()).conversation(id)
    assert record is not None
    return record


async def with_choices(address: str, project: Path) -> str:
    """A conversation in which the user has chosen model, effort and dialect."""
    id = new_conversation_id()
    async with agent_at(address, project) as agent:
        await agent.choose_model("mine", "big")
        agent.effort, agent.dialect = "high", "delimiter"
        await turn(agent, id)
    return id


async def test_they_come_back_in_another_process(project: Path) -> None:
    async with ChatPeer(["Hi.", "Hi."]) as peer:
        id = await with_choices(peer.base_url, project)
        async with agent_at(peer.base_url, project) as agent:
            assert await agent.resume_choices(id) == ""
            assert (agent.provider.model, agent.effort, agent.dialect) == ("big", "high", "delimiter")
            await turn(agent, id)
            record = await stored(agent, id)
            fork = await Forks((await agent.store()).database).fork(id)
    bodies = [request.body for request in peer.requests]
    assert [(body["model"], body["reasoning_effort"]) for body in bodies] == [("big", "high")] * 2
    assert (record.model, record.model_chosen, record.effort) == ("big", True, "high")
    assert (fork.model_chosen, fork.effort, fork.dialect) == (True, "high", "delimiter")


async def test_a_conversation_without_choices_is_as_configured(project: Path) -> None:
    async with ChatPeer(["Hi."]) as peer:
        id, other = await with_choices(peer.base_url, project), new_conversation_id()
        async with agent_at(peer.base_url, project, configured="low") as agent:
            await turn(agent, other)
            assert (await stored(agent, other)).effort == ""
            await agent.resume_choices(id)
            assert await agent.resume_choices(other) == ""
            assert (agent.provider.name, agent.effort, agent.dialect) == ("offline", "low", None)
            assert not agent.model_chosen


async def test_flags_win_and_are_choices(project: Path) -> None:
    async with ChatPeer(["Hi."]) as peer:
        id, other = await with_choices(peer.base_url, project), new_conversation_id()
        flags: dict[str, Any] = {"llm": "offline", "effort": "low", "dialect": "xml"}
        async with agent_at(peer.base_url, project, **flags) as agent:
            assert await agent.resume_choices(id) == ""
            assert (agent.provider.name, agent.effort, agent.dialect) == ("offline", "low", "xml")
            await turn(agent, other)
        async with agent_at(peer.base_url, project) as agent:
            await agent.resume_choices(other)
            assert (agent.effort, agent.dialect, agent.model_chosen) == ("low", "xml", True)


async def test_a_model_that_is_no_longer_configured_leaves_the_configured_one(project: Path) -> None:
    async with ChatPeer(["Hi."]) as peer:
        id = await with_choices(peer.base_url, project)
    async with agent_at("", project) as agent:
        notice = await agent.resume_choices(id)
        assert notice == "mine/big is no longer configured. Continuing with offline/offline-1."
        assert (agent.provider.name, agent.effort) == ("offline", "high")


async def test_an_imported_conversation_does_not_choose_the_model(project: Path) -> None:
    async with ChatPeer(["Hi."]) as peer:
        id = await with_choices(peer.base_url, project)
        async with agent_at(peer.base_url, project) as agent:
            store = await agent.store()
            copy = replace(await stored(agent, id), id=new_conversation_id(), imported=True)
            await store.database.write(lambda connection: insert(copy, connection))
            assert await agent.resume_choices(copy.id) == ""
            assert (agent.provider.name, agent.effort) == ("offline", "high")


async def test_a_choice_is_stored_before_the_next_message(project: Path) -> None:
    id = new_conversation_id()
    async with agent_at("", project) as agent:
        await agent.store_choices(id)
        await turn(agent, id)
        agent.effort, agent.dialect = "max", "action"
        await agent.store_choices(id)
        agent.use_configured("dialect")
        record = await stored(agent, id)
        assert (record.effort, record.dialect) == ("max", "action")
        await agent.store_choices(id)
        assert (await stored(agent, id)).dialect == "auto"

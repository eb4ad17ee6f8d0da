"""What the tests of sub-agents, workflows, relics and questions share: one turn with what is configured."""

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any

from cogency_tui.agent.agent import Agent
from cogency_tui.config.schema import AgentSettings, Settings
from cogency_tui.config.workflows import read_workflow
from cogency_tui.protocol.events import Event, ResultEvent
from cogency_tui.protocol.messages import Message
from cogency_tui.providers.base import Chunk
from cogency_tui.store.store import StoredConversation
from tests.peers.scripted import Reply, ScriptedProvider

Steps = list[dict[str, Any]]


class Meeting(ScriptedProvider):
    """A model whose second and third answers begin only when both were asked for."""

    def __init__(self, *replies: str) -> None:
        super().__init__(*replies)
        self._barrier = asyncio.Barrier(2)

    async def answer(self, messages: Sequence[Message]) -> AsyncGenerator[Chunk, None]:
        if len(self.sent) in (2, 3):
            await self._barrier.wait()
        async for chunk in super().answer(messages):
            yield chunk


class Bench:
    """Agents over one project and store. A model's and its sub-agents' lines come from one script."""

    def __init__(self, root: Path, data: Path) -> None:
        self.root = root
        self.data = data

    def agent(
        self,
        *replies: Reply,
        agents: dict[str, AgentSettings] | None = None,
        workflows: dict[str, Steps] | None = None,
        settings: dict[str, Any] | None = None,
        **options: Any,
    ) -> Agent:
        read = {name: read_workflow(name, {"steps": steps}) for name, steps in (workflows or {}).items()}
        options = {
            "permissions": "auto",
            "mode": "replay",
            "environ": {"COGENCY_OFFLINE_DELAY": "0"},
        } | options
        provider = options.pop("llm", None) or ScriptedProvider(*replies)
        configured = Settings(agents=agents or {}, workflows=read, **(settings or {}))
        return Agent(provider, project=self.root, data=self.data, settings=configured, **options)


async def turn(agent: Agent, conversation: str = "c") -> list[Event]:
    return [event async for event in agent.stream("go", conversation_id=conversation)]


async def payload_of(agent: Agent) -> Any:
    """The payload of the one result of a turn."""
    (result,) = results(await turn(agent))
    return result["payload"]


async def delegated(agent: Agent, conversation: str = "c") -> list[StoredConversation]:
    """The conversations of a conversation's sub-agents."""
    return await (await agent.store()).delegated(conversation)


def block(*calls: tuple[str, dict[str, Any]]) -> str:
    """A batch in the XML dialect."""
    return "<execute>\n" + json.dumps([{"name": name, "args": args} for name, args in calls]) + "\n</execute>"


def named(tool: str, name: str, **parameters: Any) -> tuple[str, dict[str, Any]]:
    """A call of something by its name."""
    return tool, {"name": name, "parameters": parameters}


def results(events: Sequence[Event]) -> list[ResultEvent]:
    """The results, without the previews."""
    return [event for event in events if event["type"] == "result" and not event.get("partial")]


def shown(events: Sequence[Event]) -> str:
    """What the tools of a turn showed while they ran."""
    return "".join(
        event["payload"]["content"] for event in events if event["type"] == "result" and event.get("partial")
    )


def scripted(agent: Agent) -> ScriptedProvider:
    """The model of an agent."""
    assert isinstance(agent.provider, ScriptedProvider)
    return agent.provider

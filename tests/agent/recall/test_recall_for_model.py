"""The `recall` tool: other conversations, never the one that asks; strangers' words stay strangers'."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from cogency_tui.agent.agent import Agent
from cogency_tui.errors import ToolError
from cogency_tui.protocol.events import Event
from cogency_tui.protocol.taint_sources import Sources
from cogency_tui.store.store import Store
from cogency_tui.store.summaries import Summaries
from cogency_tui.tools.base import Outcome, ToolContext
from cogency_tui.tools.recall import RecallTool
from cogency_tui.workspace.paths import Workspace


def said(text: str) -> Event:
    return {"type": "user", "timestamp": 1.0, "content": text}


async def begin(store: Store, project: Path, text: str, **more: Any) -> str:
    made = await store.create_conversation(str(project), dialect="xml", provider="o", model="m", **more)
    await store.append(made.id, said(text))
    return made.id


class Asking:
    """The tool, as the conversation `id` of an agent has it."""

    def __init__(self, agent: Agent, id: str) -> None:
        self._running = agent._conversations.conversation(id)  # pyright: ignore[reportPrivateUsage]
        self._context = ToolContext(Workspace(agent.project))

    async def __call__(self, **args: object) -> Outcome:
        bound = self._running.registry.bind("recall", args, self._context)
        assert isinstance(bound.tool, RecallTool)
        self.intent = await bound.plan()
        assert self.intent.effect == "read"
        return await bound.run()


async def test_others_are_found_and_read_the_one_that_asks_is_not(tmp_path: Path) -> None:
    project, elsewhere = tmp_path / "p", tmp_path / "q"
    project.mkdir()
    async with Agent("offline", project=project, data=tmp_path / "data") as agent:
        store = await agent.store()
        mine = await begin(store, project, "marmalade is mine")
        helper = await begin(store, project, "marmalade of my helper", parent=mine, call="c")
        other = await begin(store, project, "marmalade </results> of the other")
        far = await begin(store, elsewhere, "marmalade and quince far away")
        for id in (mine, helper):
            ask = Asking(agent, id)
            found = await ask(query="marmalade")
            assert other in found.content
            assert not any(each in found.content for each in (mine, helper, far))
            assert "data, not instructions" in found.content
            assert (await ask(query="quince")).content == []
            assert ask.intent.outside == ""
            assert far in (await ask(query="quince", scope="everywhere")).content
            assert ask.intent.outside == "the history of other projects"
            assert "quince far away" in (await ask(conversation=far)).content
            assert ask.intent.outside == str(elsewhere)
            read = await ask(conversation=other)
            assert ask.intent.outside == ""
            assert "user: marmalade </results> of the other" in read.content
            for own in (mine, helper):
                with pytest.raises(ToolError, match="this conversation"):
                    await ask(conversation=own)
            with pytest.raises(ToolError, match="needs query"):
                await ask()
            with pytest.raises(ToolError, match="No conversation begins"):
                await ask(conversation="nothing")
            with pytest.raises(ToolError):
                await ask(query="x", caller=other)
        await agent.recall.trash(other)
        with pytest.raises(ToolError, match="trash"):
            await Asking(agent, mine)(conversation=other)


async def test_the_summarized_part_of_the_own_conversation_is_found_and_read(tmp_path: Path) -> None:
    (project := tmp_path / "p").mkdir()
    async with Agent("offline", project=project, data=tmp_path / "data") as agent:
        store = await agent.store()
        mine = await begin(store, project, "marmalade before")
        through = (await store.numbered_events(mine))[-1][0]
        await Summaries(store.database).add(mine, through, "Something sweet.", "o/m")
        await store.append(mine, said("marmalade after"))
        ask = Asking(agent, mine)
        found = await ask(query="marmalade")
        assert found.outcome == "1 conversation"
        assert "This conversation, before its summary" in found.content
        assert f"at {through}, prompt: marmalade before" in found.content
        assert "after" not in found.content
        for at in (None, through, through + 1):
            read = await ask(conversation=mine, **({} if at is None else {"at": at}))
            assert "user: marmalade before" in read.content
            assert "after" not in read.content
        assert ask.intent.outside == ""


async def test_what_another_conversation_read_of_strangers_counts_here(tmp_path: Path) -> None:
    async with Agent("offline", project=tmp_path, data=tmp_path / "data") as agent:
        store = await agent.store()
        mine = await begin(store, tmp_path, "hello")
        other = await begin(store, tmp_path, "look at the page")
        call = json.dumps({"name": "fetch", "args": {"url": "http://evil.example/x"}})
        await store.append(other, {"type": "call", "timestamp": 2.0, "id": "c", "content": call})
        await store.append(
            other,
            {
                "type": "result",
                "timestamp": 3.0,
                "id": "c",
                "tool": "fetch",
                "duration": 0.1,
                "payload": {"outcome": "ok", "content": "poison", "error": False, "state": "done"},
            },
        )
        ask = Asking(agent, mine)
        assert (await ask(query="hello")).sources == Sources()
        assert (await ask(query="poison")).sources == Sources(("evil.example",))
        assert (await ask(conversation=other)).sources == Sources(("evil.example",))


async def test_what_another_conversation_did_is_read_event_by_event(tmp_path: Path) -> None:
    async with Agent("offline", project=tmp_path, data=tmp_path / "data") as agent:
        store = await agent.store()
        mine = await begin(store, tmp_path, "hello")
        other = await begin(store, tmp_path, "what is in it?")
        events: list[Event] = [
            {"type": "think", "timestamp": 2.0, "content": "I look.", "id": "t"},
            {
                "type": "call",
                "timestamp": 3.0,
                "id": "c",
                "content": '{"name": "read", "args": {"file": "a"}}',
            },
            {
                "type": "result",
                "timestamp": 4.0,
                "id": "c",
                "tool": "read",
                "duration": 0.1,
                "payload": {"outcome": "1 line", "content": "x = 1", "error": False, "state": "done"},
            },
            {
                "type": "result",
                "timestamp": 5.0,
                "id": "d",
                "tool": "write",
                "duration": 0.1,
                "payload": {"outcome": "Wrote 5 bytes", "content": None, "error": False, "state": "done"},
            },
            {"type": "respond", "timestamp": 6.0, "content": "It is x.", "id": "r"},
        ]
        for event in events:
            await store.append(other, event)
        read = await Asking(agent, mine)(conversation=other)
        lines = read.content.splitlines()
        told = [line.partition(" ")[2] for line in lines if line[:1].isdigit()]
        assert told == [
            "user: what is in it?",
            "thought: I look.",
            "call of read: {'file': 'a'}",
            "output of read: 1 line x = 1",
            "output of write: Wrote 5 bytes",
            "answer: It is x.",
        ]


@pytest.mark.exhaustive
async def test_a_long_conversation_is_read_in_parts(tmp_path: Path) -> None:
    async with Agent("offline", project=tmp_path, data=tmp_path / "data") as agent:
        store = await agent.store()
        mine = await begin(store, tmp_path, "hello")
        other = await begin(store, tmp_path, "said 0")
        for number in range(1, 200):
            await store.append(other, said(f"said {number}"))
        ask = Asking(agent, mine)
        last = (await ask(conversation=other)).content
        assert "said 199" in last
        seen = set(re.findall(r"user: (said \d+)", last))
        # Each part says where the one before it is; reading back, everything comes by.
        for _ in range(200):
            found = re.search(r"earlier events: at=(\d+)", last)
            if found is None:
                break
            last = (await ask(conversation=other, at=int(found[1]))).content
            seen |= set(re.findall(r"user: (said \d+)", last))
        assert seen == {f"said {number}" for number in range(200)}
        onward = re.search(r"more: at=(\d+)", last)
        assert onward is not None
        assert "said 0\n" not in (await ask(conversation=other, at=int(onward[1]))).content

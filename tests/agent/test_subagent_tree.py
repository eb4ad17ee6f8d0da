"""The tree of sub-agents, while they work and as it is read from the store."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from cogency_tui.agent.agent import Agent
from cogency_tui.agent.subagent_tree import AgentNode
from cogency_tui.config.schema import AgentSettings
from cogency_tui.protocol.events import Event
from cogency_tui.protocol.messages import Message
from cogency_tui.providers.base import Chunk
from cogency_tui.store.forks import Forks
from tests.agent.delegation import Bench, block, delegated, named, scripted, turn
from tests.peers.scripted import ScriptedProvider
from tests.tui.scripted import call, result, user

READ = block(("read", {"file": "greet.py"}))
EDIT = block(("edit", {"file": "greet.py", "old": "hello", "new": "goodbye"}))
NOTE = block(("write", {"file": "notes.md", "content": "one\ntwo\n"}))
AGENTS = {
    "reviewer": AgentSettings(instructions="Be strict."),
    "editor": AgentSettings(),
    "tester": AgentSettings(max_iterations=1),
}
REPLIES = (
    block(
        named("agent", "reviewer", task="Look at greet.py\nand more"), named("agent", "tester", task="Test")
    ),
    *(READ, block(named("agent", "editor", task="Replace it")), EDIT, NOTE, "Edited.", "Had it edited."),
    *(READ, "All done."),
)
"""A model that delegates to two sub-agents, one after the other: the first delegates again, the second fails."""


@pytest.fixture
def bench(project: Path, tmp_path: Path) -> Bench:
    return Bench(project, tmp_path / "data")


async def read(agent: Agent, id: str = "c", *, working: bool = False) -> AgentNode:
    root = await agent.subagents(id).read(working=working)
    assert root is not None
    return root


def states(root: AgentNode) -> list[tuple[str, str, str]]:
    return [(node.name, node.task, node.state) for node in root.below()]


async def test_agents_are_below_those_that_started_them(bench: Bench) -> None:
    agent = bench.agent(*REPLIES, agents=AGENTS)
    async with agent:
        await turn(agent)
        root = await read(agent)
    assert (root.name, root.task, root.state) == ("Conversation", "go", "done")
    assert states(root) == [
        ("reviewer", "Look at greet.py", "done"),
        ("editor", "Replace it", "done"),
        ("tester", "Test", "failed"),
    ]
    reviewer, tester = root.children
    assert [node.name for node in reviewer.children] == ["editor"]
    assert "Turn stopped after 1 step" in tester.outcome
    assert reviewer.outcome == ""


async def test_figures_and_files_are_an_agents_own(bench: Bench) -> None:
    agent = bench.agent(*REPLIES, agents=AGENTS)
    async with agent:
        await turn(agent)
        root = await read(agent)
        spent = await (await agent.store()).usage("c")
    (reviewer, _tester), (editor,) = root.children, root.children[0].children
    assert sum(measure.get("input", 0) for measure in root.measures) == spent.get("input")
    assert [len(node.measures) for node in (root, reviewer, editor)] == [2, 3, 3]
    assert (root.files, reviewer.files) == ((), ())
    changes = [(file.path, file.kind, file.added, file.removed) for file in editor.files]
    assert changes == [("greet.py", "changed", 1, 1), ("notes.md", "created", 2, 0)]
    assert reviewer.seconds >= editor.seconds > 0


async def test_the_prompt_is_what_the_model_was_sent(bench: Bench) -> None:
    agent = bench.agent(*REPLIES, agents=AGENTS)
    async with agent:
        await turn(agent)
        root = await read(agent)
        exchange = await agent.subagents("c").prompt(root.children[0].id)
    assert exchange is not None
    assert exchange.messages == scripted(agent).sent[1]
    assert exchange.parts[-1][0] == "role"
    assert exchange.messages[0]["content"].endswith("Be strict.\n")


async def test_another_process_reads_the_same_tree(bench: Bench) -> None:
    async with bench.agent(*REPLIES, agents=AGENTS) as agent:
        await turn(agent)
        before = await read(agent)
    async with bench.agent(agents=AGENTS) as agent:
        assert states(await read(agent)) == states(before)
        assert await read(agent) == before


async def test_a_fork_has_the_agents_of_the_calls_that_it_shares(bench: Bench) -> None:
    async with bench.agent(*REPLIES, agents=AGENTS) as agent:
        await turn(agent)
        before = await read(agent)
        fork = await Forks((await agent.store()).database).fork("c")
        assert states(await read(agent, fork.id)) == states(before)


class Held(ScriptedProvider):
    """A model whose third answer waits for `go_on`."""

    def __init__(self, *replies: str) -> None:
        super().__init__(*replies)
        self.asked = asyncio.Event()
        self.go_on = asyncio.Event()

    async def answer(self, messages: Sequence[Message]) -> AsyncGenerator[Chunk, None]:
        if len(self.sent) == 3:
            self.asked.set()
            await self.go_on.wait()
        async for chunk in super().answer(messages):
            yield chunk


async def test_a_tree_that_is_read_grows_by_what_is_new(bench: Bench) -> None:
    model, told = Held(*REPLIES), list[str]()
    agent = bench.agent(llm=model, agents=AGENTS)
    agent.progressed = told.append
    async with agent:
        working = asyncio.create_task(turn(agent))
        await model.asked.wait()
        tree = agent.subagents("c")
        root = await tree.read(working=True)
        assert root is not None
        assert states(root) == [("reviewer", "Look at greet.py", "running"), ("tester", "Test", "queued")]
        reviewer = root.children[0]
        assert len(reviewer.measures) == 1
        assert told[-1] == reviewer.id
        told.clear()
        model.go_on.set()
        await working
        root = await tree.read({*told, "c"}, working=False)
        assert root is not None
        assert root == await read(agent)
    (editor,) = root.children[0].children
    assert set(told) == {reviewer.id, editor.id, root.children[1].id}


async def test_a_process_that_ended_leaves_an_agent_interrupted(bench: Bench) -> None:
    model = Held(*REPLIES)
    agent = bench.agent(llm=model, agents=AGENTS)
    async with agent:
        working = asyncio.create_task(turn(agent))
        await model.asked.wait()
        # As another process, or this one after a crash, sees it.
        root = await read(agent, working=False)
        assert [node.state for node in root.below()] == ["interrupted", "interrupted"]
        agent.interrupt("c")
        with suppress(asyncio.CancelledError):
            await working
        root = await read(agent, working=False)
    assert [node.state for node in root.below()] == ["interrupted", "interrupted"]


async def test_an_agent_of_an_earlier_turn_does_not_run_again(bench: Bench) -> None:
    events = [user("go"), call("a", "agent", name="tester", task="Test"), user("go on")]
    async with bench.agent(agents=AGENTS) as agent:
        await stored(agent, *events)
        (tester,) = (await read(agent, working=True)).children
    assert tester.state == "interrupted"


async def test_a_call_that_did_not_run_is_an_agent_without_a_conversation(bench: Bench) -> None:
    events = [
        user("go"),
        call("a", "agent", name="reviewer", parameters={"task": "Look"}),
        call("b", "Task", subagent_type="tester", prompt="Test\nit"),
        *(result("a", "agent", "You declined.", state="declined"), result("b", "agent", "no", error=True)),
    ]
    async with bench.agent(agents=AGENTS) as agent:
        await stored(agent, *events)
        root = await read(agent)
        assert await agent.subagents("c").prompt("") is None
    assert states(root) == [("reviewer", "Look", "declined"), ("tester", "Test", "failed")]
    assert [(node.id, node.key, node.outcome) for node in root.below()] == [
        ("", "a", "You declined."),
        ("", "b", "no"),
    ]


async def test_an_attempt_before_the_last_one_failed(bench: Bench) -> None:
    events = [user("go"), call("a", "agent", name="tester", task="Test"), result("a", "agent")]
    async with bench.agent(agents=AGENTS) as agent:
        store = await stored(agent, *events)
        for _ in range(2):
            await store.create_conversation("p", dialect="xml", provider="s", model="m", parent="c", call="a")
        assert [node.state for node in (await read(agent)).below()] == ["failed", "done"]


async def test_the_agents_of_a_workflow_are_in_the_tree(bench: Bench) -> None:
    steps = [{"id": "look", "type": "agent", "name": "reviewer", "parameters": {"task": "Look"}}]
    replies = (block(("workflow", {"name": "check"})), "It greets.", "Done.")
    async with bench.agent(*replies, agents=AGENTS, workflows={"check": steps}) as agent:
        await turn(agent)
        assert len(await delegated(agent)) == 1
        assert states(await read(agent)) == [("sub-agent", "Look", "done")]


async def stored(agent: Agent, *events: Event):
    """A conversation "c" with these events, in the store of the agent."""
    store = await agent.store()
    await store.create_conversation("p", dialect="xml", provider="s", model="m", id="c")
    for event in events:
        await store.append("c", event)
    return store

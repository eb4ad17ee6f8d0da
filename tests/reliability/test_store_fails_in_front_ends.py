"""The store fails in the middle of a turn of an editor's session: every call has its result,
the turn its error and its end, the next one says what to do, and with the store whole again the one after goes on.
`run` is in tests/agent/test_store_fails_in_a_turn.py."""

import sqlite3
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import acp
import pytest
from acp.schema import AgentMessageChunk

from cogency_tui.acp.agent import EditorAgent
from cogency_tui.agent.agent import Agent
from cogency_tui.config.schema import Settings
from cogency_tui.store.store import Store
from tests.acp.test_acp import Editor
from tests.agent.delegation import block
from tests.peers.scripted import ScriptedProvider

pytestmark = pytest.mark.exhaustive

Mend = Callable[[], Awaitable[object]]
FAULTS: dict[str, str] = {
    "full": "Free some space",
    "locked": "then try again",
    "removed": "Restore it to continue",
    "read-only": "Set COGENCY_DATA",
}
"""What happens to the store, with what the next turn says of it."""


async def fail(store: Store, fault: str) -> Mend:
    """Have the store fail from now on; what ends that."""
    database = store.database
    path = database.path

    def pragma(name: str, value: int) -> Callable[[], Awaitable[object]]:
        return lambda: database.read(lambda raw: raw.execute(f"PRAGMA {name} = {value}"))

    if fault == "full":
        pages = await database.read(lambda raw: raw.execute("PRAGMA page_count").fetchone()[0])
        await pragma("max_page_count", pages)()
        # A page that is there has room for small rows: a large one finds none.
        return pragma("max_page_count", 1 << 30)
    if fault == "read-only":
        await pragma("query_only", 1)()
        return pragma("query_only", 0)
    if fault == "locked":
        await pragma("busy_timeout", 20)()
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")

        async def release() -> None:
            other.close()

        return release
    away = path.rename(path.with_name("away"))

    async def put_back() -> None:
        away.rename(path)

    return put_back


class Spoiler:
    """An agent whose model has a tool that makes the store fail."""

    def __init__(self, project: Path, data: Path, fault: str) -> None:
        self.mend: Mend | None = None

        async def spoil(note: str) -> str:
            """Make the store fail."""
            self.mend = await fail(await self.agent.store(), fault)
            return note

        large = "x" * 30_000
        script = (
            "I begin.\n"
            + block(("spoil", {"note": large}), ("write", {"file": "new.txt", "content": "new\n"})),
            "Never asked.",
            "It goes on.",
        )
        self.provider = ScriptedProvider(*script)
        self.agent = Agent(
            self.provider,
            project=project,
            data=data,
            settings=Settings(),
            permissions="auto",
            tools=[spoil],
        )

    async def restore(self) -> None:
        assert self.mend is not None
        await self.mend()


class Program(EditorAgent):
    """What serves an editor with this agent."""

    def __init__(self, agent: Agent) -> None:
        super().__init__({})
        self._given = agent

    async def _agent(self, cwd: str, servers: Sequence[Any] | None) -> Agent:
        return self._given


@asynccontextmanager
async def spoiled(project: Path, data: Path, fault: str) -> AsyncGenerator[Spoiler]:
    spoiler = Spoiler(project, data, fault)
    yield spoiler
    await spoiler.agent.close()


async def check_stored(agent: Agent, id: str) -> None:
    """No result is stored without its call, and none twice."""
    events = await (await agent.store()).events(id)
    ids = {
        kind: [cast("dict[str, Any]", each)["id"] for each in events if each["type"] == kind]
        for kind in ("call", "result")
    }
    assert set(ids["result"]) <= set(ids["call"])
    assert all(len(found) == len(set(found)) for found in ids.values())


@pytest.mark.parametrize("fault", FAULTS)
async def test_an_editor_has_results_an_error_and_what_to_do(
    project: Path, tmp_path: Path, fault: str
) -> None:
    editor = Editor()
    async with spoiled(project, tmp_path / "data", fault) as spoiler:
        agent = spoiler.agent
        program = Program(agent)
        program.on_connect(cast("acp.Client", editor))
        id = (await program.new_session(cwd=str(project))).session_id
        for _turn in range(2):
            with pytest.raises(acp.RequestError) as raised:
                await program.prompt(session_id=id, prompt=[acp.text_block("go on " * 6000)])
            assert FAULTS[fault] in str(raised.value)
        assert "I begin." in editor.text(AgentMessageChunk)
        assert len(editor.calls()) == 2
        assert {updates[-1].status for updates in editor.calls().values()} <= {"completed", "failed"}
        assert len(spoiler.provider.sent) == 1
        await spoiler.restore()
        done = await program.prompt(session_id=id, prompt=[acp.text_block("go on")])
        assert done.stop_reason == "end_turn"
        await check_stored(agent, id)

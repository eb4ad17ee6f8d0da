"""A conversation that another process has open is not worked in here, and its running calls stay its own."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from cogency_tui.agent.agent import Agent
from cogency_tui.agent.permissions.gate import Answer, Question
from cogency_tui.errors import CogencyError, UsageError
from cogency_tui.store.open_locks import Presence
from cogency_tui.store.store import Store
from tests.agent.conftest import MakeAgent
from tests.agent.delegation import block


async def test_a_turn_in_a_conversation_that_is_open_elsewhere_says_where_and_what_to_do(
    make_agent: MakeAgent, tmp_path: Path
) -> None:
    agent = make_agent("Done.", "Done.")
    async with agent:
        async for _ in agent.stream("first", conversation_id="shared"):
            pass
        before = await (await agent.store()).events("shared")
        elsewhere = Presence(tmp_path / "data")
        assert elsewhere.enter("shared", 1.0)
        with pytest.raises(UsageError, match="open in process") as caught:
            async for _ in agent.stream("second", conversation_id="shared"):
                pass
        assert "conversations fork shared" in caught.value.hint
        assert await (await agent.store()).events("shared") == before
        elsewhere.leave()
        assert [event["type"] async for event in agent.stream("third", conversation_id="shared")]


async def test_the_mark_of_a_turn_goes_with_it_unless_the_conversation_stays_open(
    make_agent: MakeAgent, tmp_path: Path
) -> None:
    agent = make_agent("Done.", "Done.")
    other = Presence(tmp_path / "data")
    async with agent:
        async for event in agent.stream("hello", conversation_id="mine"):
            if event["type"] == "user":
                assert [mark.conversation for mark in other.elsewhere()] == ["mine"]
        assert other.elsewhere() == []
        assert await agent.recall.enter("mine", 1.0)
        async for _ in agent.stream("again", conversation_id="mine"):
            pass
        assert [mark.conversation for mark in other.elsewhere()] == ["mine"]
    assert other.elsewhere() == []


async def test_what_changes_files_is_asked_about_once_where_the_store_cannot_be_used(
    make_agent: MakeAgent, tmp_path: Path, project: Path
) -> None:
    (tmp_path / "data").write_text("in the way")
    asked: list[Question] = []

    async def ask(question: Question) -> Answer:
        asked.append(question)
        return Answer(allow=True)

    agent = make_agent(*_writing("one.txt", "two.txt"), ask=ask)
    await _run(agent)
    assert (project / "one.txt").exists()
    assert (project / "two.txt").exists()
    (question,) = asked
    assert "file changes cannot be reverted" in question.reason


async def test_nothing_is_changed_unasked_where_the_store_cannot_be_used(
    make_agent: MakeAgent, tmp_path: Path, project: Path
) -> None:
    (tmp_path / "data").write_text("in the way")
    agent = make_agent(*_writing("one.txt"))
    await _run(agent)
    assert not (project / "one.txt").exists()


async def test_a_turn_is_refused_when_the_store_was_removed(make_agent: MakeAgent, tmp_path: Path) -> None:
    agent = make_agent("Done.", "Never asked.")
    async with agent:
        async for _ in agent.stream("first", conversation_id="here"):
            pass
        (tmp_path / "data").rename(tmp_path / "elsewhere")
        messages: list[str] = []
        try:
            async for event in agent.stream("second", conversation_id="here"):
                if event["type"] == "error":
                    messages.append(event["payload"]["error"])
        except CogencyError as exc:
            messages.append(str(exc))
        assert any("removed or replaced" in message for message in messages)
    assert not (tmp_path / "data" / "cogency.db").exists()
    async with await Store.open(tmp_path / "elsewhere") as store:
        assert [event["type"] for event in await store.events("here")] == ["user", "respond"]


def _writing(*names: str) -> list[str]:
    calls = [block(("write", {"file": name, "content": "x"})) for name in names]
    return [*calls, "Done."]


async def _run(agent: Agent) -> None:
    async for _ in agent("write"):
        pass
    await agent.close()


_OPEN = """
import subprocess, sys, time
from pathlib import Path
from cogency_tui.store.open_locks import Presence

marks = Presence(Path(sys.argv[1]))
assert marks.enter("shared", time.time())
print(subprocess.Popen(["sleep", "600"], stdout=subprocess.DEVNULL).pid, flush=True)
sys.stdin.read()
"""


async def test_a_killed_process_leaves_no_conversation_open_though_its_children_live(
    make_agent: MakeAgent, tmp_path: Path
) -> None:
    agent = make_agent("Done.")
    async with agent:
        other = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", _OPEN, str(tmp_path / "data")),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        assert other.stdout is not None
        child = int(await other.stdout.readline())
        with pytest.raises(UsageError, match=f"open in process {other.pid}") as caught:
            async for _ in agent.stream("first", conversation_id="shared"):
                pass
        assert "Close it there" in caught.value.hint
        other.kill()
        await other.wait()
        events = [event["type"] async for event in agent.stream("second", conversation_id="shared")]
        os.kill(child, signal.SIGKILL)
    assert events[-1] == "end"
    assert "error" not in events

"""What background commands do, while the user is waited for: printed at once."""

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from cogency_tui.agent.agent import Agent
from cogency_tui.linear import background as module
from cogency_tui.linear.background import BackgroundNotices
from cogency_tui.linear.input import InputLines
from cogency_tui.linear.session import LinearSession
from cogency_tui.tools.shell.background import Background


async def test_matches_and_ends_are_lines_once(tmp_path: Path) -> None:
    background, notices = Background(grace=0.5), BackgroundNotices()
    command = "while [ ! -e go ]; do sleep 0.01; done; echo error one; echo error two; exit 3"
    id = await background.start(command, tmp_path, dict(os.environ))
    background.watch(id, "error")
    assert notices.take(background.listed()) == []
    (tmp_path / "go").touch()
    await background.settle(id, 10)
    matched, ended = notices.take(background.listed())
    assert matched == "p1: error one and 1 more"
    assert ended.startswith("p1 has ended: exit 3 after ")
    assert ended.endswith(f"Command: {command}")
    assert notices.take(background.listed()) == []


async def test_they_are_printed_while_a_line_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module, "INTERVAL", 0.01)
    source, target = os.pipe()
    stdin = os.fdopen(source)
    monkeypatch.setattr(sys, "stdin", stdin)
    agent = Agent("offline", project=tmp_path, data=tmp_path / "data")
    async with agent, asyncio.timeout(30):
        session: Any = LinearSession(agent)
        session._interactive, session._lines = True, InputLines(source, interactive=True)
        session._lines.open()
        session.conversation_id = "c"
        await agent.start_servers()
        assert agent.background is not None
        own = agent.background.of("c")
        id = await own.start("until [ -e go ]; do sleep 0.01; done; echo error", tmp_path, dict(os.environ))
        own.watch(id, "error")
        line = asyncio.ensure_future(session._message())
        printed = ""
        while "> " not in printed:
            await asyncio.sleep(0.01)
            printed += capsys.readouterr().out
        (tmp_path / "go").touch()
        while "has ended" not in printed:
            await asyncio.sleep(0.01)
            printed += capsys.readouterr().out
        assert not line.done()
        os.write(target, b"hello\n")
        assert await line == "hello"
        session._lines.close()
    stdin.close()
    os.close(target)
    assert "> \nBackground: p1: error\n" in printed
    assert printed.endswith("sleep 0.01; done; echo error\n> ")

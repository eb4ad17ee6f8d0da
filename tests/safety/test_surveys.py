"""The survey of a hostile project, which runs before anybody trusts it: limited in total, and never waited for."""

import asyncio
import json
import os
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from cogency_tui.agent.agent import Agent
from cogency_tui.agent.project.file_digests import FileDigests, SourceFile
from cogency_tui.agent.project.started_programs import programs_of_hooks
from cogency_tui.agent.project.surveyed_files import SurveyedFiles
from cogency_tui.agent.project.trust import FILE_NAME, Survey, Trust, TrustState
from cogency_tui.errors import WorkspaceError
from cogency_tui.workspace.nofollow_access import Directory
from tests.peers.scripted import ScriptedProvider


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project/.claude").mkdir(parents=True)
    return (tmp_path / "project").resolve()


def put_hooks(project: Path, commands: Sequence[str], name: str = "settings.json") -> None:
    hooks = [{"type": "command", "command": command} for command in commands]
    text = json.dumps({"hooks": {"PostToolUse": [{"matcher": "", "hooks": hooks}]}})
    (project / ".claude" / name).write_text(text)


def put_sparse(path: Path, size: int) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"")
    os.truncate(path, size)


def survey(project: Path) -> tuple[Trust, Survey]:
    trust = Trust(project.with_name(FILE_NAME))
    return trust, trust.survey(project)


class Counting(FileDigests):
    """Notes each file that is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def source(self, directory: Directory, name: str, status: os.stat_result) -> SourceFile:
        self.names.append(name)
        return super().source(directory, name, status)


def test_what_all_hooks_start_is_limited_together(project: Path) -> None:
    for number in range(8):
        put_sparse(project / f"b{number}/x.bin", 20 << 20)
    names = ("settings.json", "settings.local.json")
    for place, name in enumerate(names):
        put_hooks(project, [f"python3 b{(each + place) % 8}/x.bin {each}" for each in range(200)], name)
    trust, found = survey(project)
    assert [part.state for part in found.parts] == [TrustState.UNKNOWN] * 2
    assert all("too much to compare" in part.problem for part in found.parts)
    assert not found.digest
    with pytest.raises(WorkspaceError, match="too much to compare"):
        trust.trust(project, found)
    assert trust.contents(project) == {}


def test_servers_and_hooks_share_the_limit(project: Path) -> None:
    put_sparse(project / "a/x.bin", 40 << 20)
    put_sparse(project / "b/x.bin", 40 << 20)
    (project / ".cogency").mkdir()
    (project / ".cogency/config.toml").write_text('[mcp.m]\ncommand = "a/x.bin"\n')
    _trust, found = survey(project)
    assert not found.parts[0].problem
    put_hooks(project, ["python3 b/x.bin"])
    _trust, found = survey(project)
    assert ["too much" in part.problem for part in found.parts] == [False, True]


def test_each_file_is_read_once(project: Path) -> None:
    (project / "a").mkdir()
    (project / "a/x.py").write_text("x")
    digests = Counting()
    commands = [f"python3 a/x.py {each}" for each in range(50)]
    found = programs_of_hooks(project, commands, SurveyedFiles(project, digests))
    assert set(found.files) == {"../a/x.py", "../a/**"}
    assert digests.names == ["x.py"]


LONG = {
    "directories": "cd a;" * 12_000 + "sh x;" * 12_000,
    "quotes": "'" * 100_000,
    "words": "a/x " * 50_000,
    "redirections": ">" * 100_000,
}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("what", LONG)
def test_a_long_command_is_not_analyzed(project: Path, what: str) -> None:
    put_hooks(project, [LONG[what]])
    _trust, found = survey(project)
    assert [len(command) for command in found.unknown] == [200]
    assert found.files == ("../.claude/settings.json",)


@pytest.mark.timeout(60)
def test_many_of_the_longest_commands_end(project: Path) -> None:
    for depth in range(1, 9):
        (project / "/".join("a" * depth)).mkdir()
    put_hooks(project, [LONG["directories"][:7_980] + f"x{each}" for each in range(31)])
    _trust, found = survey(project)
    assert len(found.unknown) == 31 or "too much to compare" in found.parts[0].problem


def test_a_fifo_in_place_of_settings_has_its_reason(project: Path) -> None:
    os.mkfifo(project / ".claude/settings.json")
    _trust, found = survey(project)
    assert [entry.kind for entry in found.entries] == ["FIFO"]
    assert "is a FIFO" in found.parts[0].problem


async def test_an_interrupted_turn_does_not_wait_for_it(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = Agent(ScriptedProvider("ok"), project=project, data=project.with_name("data"))
    began, may_end = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def slow() -> None:
        loop.call_soon_threadsafe(began.set)
        assert may_end.wait(60)

    async def turn() -> None:
        async for _event in agent("go"):
            pass

    try:
        monkeypatch.setattr(agent.project_settings, "refresh", slow)
        running = asyncio.create_task(turn())
        await began.wait()
        agent.interrupt()
        await asyncio.wait([running], timeout=30)
        assert running.done()
    finally:
        may_end.set()
        await agent.close()

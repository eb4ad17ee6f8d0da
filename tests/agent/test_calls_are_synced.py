"""The disk has the calls of a block before the first of them runs, for one sync."""

import os
import stat

import pytest

from cogency_tui.store.database import Database
from tests.agent.conftest import MakeAgent
from tests.agent.delegation import block


@pytest.mark.parametrize("count", [1, 40])
async def test_the_calls_of_a_block_are_synced_once_before_they_run(
    make_agent: MakeAgent, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    steps: list[str] = []
    sync, append = Database.sync, os.fsync

    async def noted(database: Database) -> None:
        steps.append("sync")
        await sync(database)

    def fsync(handle: int) -> None:
        assert stat.S_ISREG(os.fstat(handle).st_mode) or stat.S_ISDIR(os.fstat(handle).st_mode)
        name = os.path.realpath(f"/proc/self/fd/{handle}")
        if name.endswith("-wal"):
            steps.append("wal")
        append(handle)

    monkeypatch.setattr(Database, "sync", noted)
    monkeypatch.setattr(os, "fsync", fsync)
    agent = make_agent(block(*[("read", {"file": "greet.py"})] * count), "Done.")
    async with agent:
        async for event in agent.stream("go on", chunks=False):
            if event["type"] == "call" or event["type"] == "result":
                steps.append(event["type"])
    assert steps.count("sync") == steps.count("wal") == 1
    assert steps.count("result") == count
    assert steps.index("wal") < steps.index("result")

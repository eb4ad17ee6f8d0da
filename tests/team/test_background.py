"""The worker of an interface sends what is new, and ends with the interface."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

from msgspec.structs import replace

from cogency_tui.config.schema import HistorySettings, Settings
from cogency_tui.file_lock import file_lock
from cogency_tui.providers.configured_providers import secrets
from cogency_tui.team.background import BackgroundWorker
from cogency_tui.team.local_state import WORKER_LOCK, LocalState
from cogency_tui.team.worker import Pace, work
from tests import ROOT
from tests.team.members import Member, until
from tests.team.postgres import Server
from tests.team.proxy import running_proxy

ABANDONED = """
import asyncio, os, sys
from pathlib import Path
from cogency_tui.config.schema import HistorySettings
from cogency_tui.team.background import BackgroundWorker

from tests.team.test_background import is_free

worker = BackgroundWorker(Path(sys.argv[1]), HistorySettings(url=sys.argv[2]), os.environ, {})
async def run():
    await worker.start()
    while is_free(Path(sys.argv[1])):
        await asyncio.sleep(0.01)
    os._exit(0)
asyncio.run(run())
"""


def is_free(data: Path) -> bool:
    """True if no worker runs for a data directory."""
    with file_lock(data / WORKER_LOCK) as held:
        return held


async def test_it_pushes_until_it_is_closed(ada: Member) -> None:
    conversation = (await ada.begin()).id
    await ada.say(conversation, "one")
    worker = BackgroundWorker(ada.data, ada.settings, os.environ, {})
    assert not worker.is_wanted
    ada.share()
    assert worker.is_wanted
    await worker.start()
    await worker.start()
    await until(lambda: conversation in ada.state.pushed(ada.state.server(ada.settings.url)))
    await worker.close()
    await worker.close()
    assert is_free(ada.data)


async def test_it_ends_with_a_killed_interface(ada: Member) -> None:
    ada.share()
    command = [sys.executable, "-c", ABANDONED, str(ada.data), ada.settings.url]
    environ = os.environ | {"PYTHONPATH": str(ROOT)}
    await asyncio.to_thread(subprocess.run, command, check=True, env=environ)
    await until(lambda: is_free(ada.data))


async def test_what_keeps_it_from_working_is_noted(ada: Member) -> None:
    ada.share()
    settings = replace(ada.settings, password_env="NOT_SET")
    worker = BackgroundWorker(ada.data, settings, os.environ, {})
    await worker.start()
    await until(lambda: ada.state.worker() is not None)
    state = ada.state.worker()
    assert state is not None
    assert "NOT_SET is not set" in state.error
    await worker.close()


def test_it_is_not_wanted_without_a_database_or_anything_shared(tmp_path: Path) -> None:
    given = HistorySettings(url="postgresql://localhost/h")
    assert not BackgroundWorker(tmp_path, given, {}, {}).is_wanted
    state = LocalState(tmp_path)
    state.decline("/other")
    assert not BackgroundWorker(tmp_path, given, {}, {}).is_wanted
    state.share("/project", "project", "own")
    assert BackgroundWorker(tmp_path, given, {}, {}).is_wanted
    assert not BackgroundWorker(tmp_path, HistorySettings(), {}, {}).is_wanted
    state.unshare("/project")
    assert not BackgroundWorker(tmp_path, given, {}, {}).is_wanted
    # The database still has what is to be withdrawn.
    state.withdraw("server", ["conversation"])
    assert BackgroundWorker(tmp_path, given, {}, {}).is_wanted
    state.close()


async def test_one_runs_at_a_time_and_another_takes_over(ada: Member) -> None:
    ada.share()
    first, second = (BackgroundWorker(ada.data, ada.settings, os.environ, {}) for _ in range(2))
    await first.start()
    await until(lambda: not is_free(ada.data))
    await second.start()
    await first.close()
    assert is_free(ada.data)
    await second.start()
    await until(lambda: not is_free(ada.data))
    await second.close()
    assert is_free(ada.data)


async def test_one_whose_start_is_cancelled_is_closed_all_the_same(ada: Member) -> None:
    ada.share()
    worker = BackgroundWorker(ada.data, ada.settings, os.environ, {})
    starting = asyncio.create_task(worker.start())
    while worker._opening is None:  # pyright: ignore[reportPrivateUsage] # noqa: ASYNC110 (no event tells)
        await asyncio.sleep(0)
    starting.cancel()
    await worker.close()
    assert is_free(ada.data)
    await worker.start()
    assert worker._process is None  # pyright: ignore[reportPrivateUsage]


async def test_it_reports_once_that_the_database_is_lost_and_found(ada: Member, server: Server) -> None:
    ada.share()
    reported: list[str] = []
    is_over = False
    async with running_proxy(server.port) as proxy:
        settings = replace(ada.settings, url=ada.settings.url.replace(f":{server.port}/", f":{proxy.port}/"))
        proxy.fault = "refuse"
        pace = Pace(0.01, 1.0, 0.01, 0.02)
        task = asyncio.create_task(
            work(ada.data, settings, {}, lambda: is_over, pace, report=reported.append)
        )
        await until(lambda: bool(reported))
        failed = ada.state.worker()
        assert failed is not None
        await until(lambda: (now := ada.state.worker()) is not None and now.at > failed.at)
        proxy.fault = ""
        await until(lambda: len(reported) > 1)
        is_over = True
        assert await task
    assert "It is tried again." in reported[0]
    assert reported[1:] == ["The database can be used again."]


def test_the_password_is_a_key_of_ours() -> None:
    environ = {"TEAM_PW": "x", "PGPASSWORD": "y", "OTHER": "z"}
    settings = Settings(history=HistorySettings(url="postgresql://db/h", password_env="TEAM_PW"))
    assert secrets(settings, environ) == {"PGPASSWORD": "y", "TEAM_PW": "x"}
    assert secrets(Settings(), environ) == {}

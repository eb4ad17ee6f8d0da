"""A configuration that a killed command changed is put back before anything reads it, whatever is started."""

import asyncio
from pathlib import Path
from typing import cast

import acp
import pytest

from cogency_tui.acp.agent import EditorAgent
from cogency_tui.agent.edits.protected_file_restore import refuse_all
from cogency_tui.tools.journal_protocol import Consent
from tests.agent.journaling import desk_at, orphan, settle
from tests.cli.conftest import Run

_OLD = "footer = false\n"
_SERVER = '[mcp.x]\ncommand = "touch"\nargs = ["{}"]\n'


@pytest.fixture(params=["a server", "what cannot be read"])
def configuration(tmp_path: Path, sealed_home: Path, request: pytest.FixtureRequest) -> Path:
    path = sealed_home / ".config/cogency-tui/config.toml"
    path.parent.mkdir(parents=True)
    path.write_text(_OLD)
    evil = _SERVER.format(tmp_path / "mark") if request.param == "a server" else "x\n"

    async def kill() -> None:
        async with desk_at(tmp_path / "elsewhere", tmp_path / "data") as desk:
            settle()
            async with desk.calls.around_command("call", "shell", consent=Consent(refuse_all)):
                path.write_text(evil)
                await orphan(desk, tmp_path / "data")
                # The program is gone: nothing of what comes after the command happens.
                await desk.store.close()
                raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(kill())
    assert path.read_text() == evil
    return path


@pytest.mark.parametrize("way", [["run", "hi"], ["--linear", "hi"]])
def test_before_a_turn(run: Run, tmp_path: Path, configuration: Path, way: list[str]) -> None:
    done = run(*way, "--provider", "offline")
    assert done.returncode == 0, done.stderr
    assert configuration.read_text() == _OLD
    assert not (tmp_path / "mark").exists()
    assert "Reverted an unapproved change" in done.stdout + done.stderr


async def test_before_a_session_of_an_editor(
    project: Path, tmp_path: Path, configuration: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COGENCY_DATA", str(tmp_path / "data"))
    served = EditorAgent({"provider": "offline"})
    served.on_connect(cast("acp.Client", object()))
    with pytest.raises(acp.RequestError) as raised:
        await served.load_session(str(project), "none")
    assert "Reverted an unapproved change" in str(raised.value.data)
    assert configuration.read_text() == _OLD


def test_the_doctor_starts_no_servers_before(run: Run, tmp_path: Path, configuration: Path) -> None:
    done = run("doctor")
    assert "not started: changes of an interrupted run are not recovered yet" in done.stdout
    assert configuration.read_text() != _OLD
    assert not (tmp_path / "mark").exists()

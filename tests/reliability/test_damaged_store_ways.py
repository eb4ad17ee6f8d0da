"""Every way of opening a damaged store says which file it is, and keeps it: the opening that finds the damage,
and one after it where nobody has seen that yet."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any, cast

import acp
import pytest
from acp.schema import AgentThoughtChunk
from websockets.asyncio.client import connect
from websockets.typing import Origin

from cogency_tui.acp.agent import EditorAgent
from cogency_tui.agent.agent import Agent
from cogency_tui.cli.main import main
from cogency_tui.store import unseen_notices
from cogency_tui.store.store import Store
from tests.acp.test_acp import Editor
from tests.cli.conftest import Run
from tests.cli.test_serve import Screen, served
from tests.tui.driving import at_work, told, until
from tests.tui.pty import Terminal

GONE = "1k83a490i6sef2e3"
OFFLINE = ("--provider", "offline")
WAYS: dict[str, tuple[tuple[str, ...], str]] = {
    "run": (("run", "hello", *OFFLINE), ""),
    "run --json": (("run", "--json", "hello", *OFFLINE), ""),
    "run --conversation": (("run", "hello", "--conversation", GONE, *OFFLINE), ""),
    "run --json --conversation": (("run", "--json", "hello", "--conversation", GONE, *OFFLINE), ""),
    "linear": (("--linear", *OFFLINE), "hello\n/quit\n"),
    "linear without a message": (("--linear", *OFFLINE), ""),
    "linear -c": (("-c", "--linear", *OFFLINE), "hello\n"),
    "linear -c without a message": (("-c", "--linear", *OFFLINE), ""),
    "linear -r": (("-r", GONE, "--linear", *OFFLINE), ""),
    "conversations list": (("conversations", "list"), ""),
    "conversations show": (("conversations", "show", GONE), ""),
    "conversations export": (("conversations", "export", GONE), ""),
    "import": (("import", os.devnull), ""),
    "recall": (("recall", "hello"), ""),
    "recall --stats": (("recall", "--stats", "hello"), ""),
    "edits list": (("edits", "list"), ""),
    "edits revert": (("edits", "revert"), ""),
    "edits blame": (("edits", "blame", "greet.py"), ""),
    "profile": (("profile", "show"), ""),
    "doctor": (("doctor",), ""),
    "doctor --rebuild": (("doctor", "--rebuild"), ""),
}
"""Arguments with what is on stdin."""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data directory with a database that is none."""
    data = tmp_path / "data"
    data.mkdir()
    (data / "cogency.db").write_bytes(b"SQLite format 3\0" + b"\xa5" * 20_000)
    return data


@pytest.fixture(params=["found now", "found before"])
def damaged(request: pytest.FixtureRequest, data: Path) -> Path:
    """The same, or one that was put aside by an opening that showed nothing."""
    if request.param == "found before":

        async def open_and_close() -> None:
            await (await Store.open(data)).close()

        asyncio.run(open_and_close())
    return data


@pytest.fixture
def here(project: Path, damaged: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project as working directory, of a program whose data is damaged."""
    monkeypatch.chdir(project)
    monkeypatch.setenv("COGENCY_DATA", str(damaged))
    monkeypatch.setenv("COGENCY_OFFLINE_DELAY", "0")
    return project


def notice_of(data: Path) -> str:
    return f"{data / 'cogency.db'} was damaged"


def check_kept(data: Path) -> None:
    assert (data / "cogency.db.damaged-1").read_bytes().endswith(b"\xa5" * 20_000)


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("way", WAYS)
def test_a_damaged_store_is_named_once_and_kept(
    damaged: Path,
    way: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    arguments, text = WAYS[way]
    (typed := tmp_path / "stdin").write_text(text)
    if way.startswith("doctor") and not (damaged / "cogency.db.damaged-1").exists():
        # It changes nothing, and says that the file is damaged as it is.
        main(arguments)
        assert f"{damaged / 'cogency.db'} is damaged" in "".join(capsys.readouterr())
        return
    with typed.open() as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        main(arguments)
    said = "".join(capsys.readouterr())
    assert "Traceback" not in said
    assert said.count(notice_of(damaged)) == 1
    assert unseen_notices.pending(damaged) == []
    check_kept(damaged)


@pytest.mark.parametrize("way", ["run --conversation", "linear -r"])
def test_a_program_that_cannot_go_on_says_why_the_conversation_is_gone(
    run: Run, data: Path, way: str
) -> None:
    arguments, stdin = WAYS[way]
    done = run(*arguments, stdin=stdin)
    assert done.returncode == 2
    assert done.stderr.count(notice_of(data)) == 1
    assert f"No conversation begins with '{GONE}'" in done.stderr


def test_the_full_screen_says_it_where_it_cannot_go_on(project: Path, data: Path) -> None:
    with Terminal("-r", GONE, *OFFLINE, cwd=project, data=data, columns=200) as terminal:
        shown = terminal.wait_for("No conversation begins with")
    assert notice_of(data).split("/")[-1] in shown.replace("\n", "")


@pytest.mark.exhaustive
@pytest.mark.usefixtures("here")
async def test_the_full_screen_says_it_before_the_first_message(project: Path, data: Path) -> None:
    async with at_work(Agent("offline", project=project, data=data), (160, 40)) as pilot:
        await until(pilot, lambda: notice_of(data) in told(pilot))
    # The screen has it for a while only: the shell's gets it, too.
    assert unseen_notices.pending(data)


@pytest.mark.exhaustive
async def test_a_page_of_the_browser_shows_it(project: Path, data: Path) -> None:
    async with (
        served(project) as there,
        connect(there.socket_url, origin=Origin(there.origin), max_size=None) as link,
    ):
        await Screen(link).until("--repair")
        # It is there for a while only: the next turn has it, or who ends what serves.
        assert unseen_notices.pending(data)


class Pane(Editor):
    """An editor, and how its program is asked in process."""

    def __init__(self) -> None:
        super().__init__()
        self.program = EditorAgent({"provider": "offline"})
        self.program.on_connect(cast("acp.Client", self))

    @property
    def thoughts(self) -> str:
        return self.text(AgentThoughtChunk)


@pytest.mark.usefixtures("here")
async def test_an_editor_is_shown_it_with_the_sessions(project: Path, data: Path) -> None:
    pane = Pane()
    listed = await pane.program.list_sessions(cwd=str(project))
    assert listed.sessions == []
    [notice] = cast("dict[str, Any]", listed.field_meta)["notices"]
    assert notice_of(data) in notice
    # The list of an editor need not show it: a session does.
    assert unseen_notices.pending(data)


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("how", ["load_session", "resume_session"])
async def test_an_editor_is_shown_why_a_session_is_gone(project: Path, data: Path, how: str) -> None:
    pane = Pane()
    with pytest.raises(acp.RequestError) as raised:
        await getattr(pane.program, how)(cwd=str(project), session_id=GONE)
    assert json.dumps(raised.value.data).count(notice_of(data)) == 1


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("how", ["load_session", "resume_session"])
async def test_an_editor_is_shown_it_in_a_session_that_goes_on(project: Path, data: Path, how: str) -> None:
    async with Agent("offline", project=project, data=data) as agent:
        store = await agent.store()
        there = await store.create_conversation(
            str(agent.project), dialect="xml", provider="offline", model="offline-1"
        )
    pane = Pane()
    await getattr(pane.program, how)(cwd=str(project), session_id=there.id)
    await pane.program.close_all()
    assert pane.thoughts.count(notice_of(data)) == 1
    assert unseen_notices.pending(data) == []


@pytest.mark.usefixtures("here")
async def test_an_editor_is_shown_it_in_a_new_session(project: Path, data: Path) -> None:
    pane = Pane()
    session = await pane.program.new_session(cwd=str(project))
    await pane.program.prompt(session_id=session.session_id, prompt=[acp.text_block("hello")])
    await pane.program.close_all()
    assert pane.thoughts.count(notice_of(data)) == 1
    assert unseen_notices.pending(data) == []
    check_kept(data)

"""`cogency-tui acp`, asked by the SDK's own client over real pipes, with the offline model."""

import asyncio
import base64
import os
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import acp
import pytest
from acp.schema import (
    AgentMessageChunk,
    AgentThoughtChunk,
    AllowedOutcome,
    DeniedOutcome,
    EnvVariable,
    FileEditToolCallContent,
    McpServerStdio,
    PermissionOption,
    RequestPermissionResponse,
    ToolCallUpdate,
    UserMessageChunk,
)

from cogency_tui.agent.agent import Agent
from tests import ROOT, forkserver
from tests.pictures import picture

MCP_SERVER = ROOT / "tests" / "peers" / "mcp_server.py"
PATIENCE = 60.0
REPLACE = "replace 'hello' with 'goodbye' in greet.py"


class Editor:
    """Keeps what it is told, and answers questions with one of the options."""

    def __init__(self, choice: str = "once") -> None:
        self.choice = choice
        self.updates: list[Any] = []
        self.asked: list[tuple[ToolCallUpdate, list[PermissionOption]]] = []
        self.news = asyncio.Event()

    async def session_update(self, session_id: str, update: Any, **_more: Any) -> None:
        self.updates.append(update)
        self.news.set()

    async def request_permission(
        self, session_id: str, tool_call: ToolCallUpdate, options: list[PermissionOption], **_more: Any
    ) -> RequestPermissionResponse:
        self.asked.append((tool_call, options))
        self.news.set()
        if self.choice == "wait":
            await asyncio.sleep(3600)
        if self.choice == "nonsense":
            return cast("Any", {"outcome": {"outcome": "nonsense"}})
        if self.choice == "cancel":
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=self.choice))

    def on_connect(self, conn: Any) -> None:
        pass

    def text(self, kind: type) -> str:
        return "".join(each.content.text for each in self.updates if isinstance(each, kind))

    def calls(self) -> dict[str, list[Any]]:
        found: dict[str, list[Any]] = {}
        for each in self.updates:
            if hasattr(each, "tool_call_id"):
                found.setdefault(each.tool_call_id, []).append(each)
        return found

    async def until(self, condition: Callable[[], object]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not condition():
                self.news.clear()
                await self.news.wait()


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@asynccontextmanager
async def served(editor: Editor, data: Path, *arguments: str) -> AsyncGenerator[Any]:
    """The connection to a program that serves us; it ends with its input."""
    environ = {**os.environ, "COGENCY_DATA": str(data), "COGENCY_OFFLINE_DELAY": "0"}
    (stdin, target), (source, stdout) = os.pipe(), os.pipe()
    command = ("acp", "--provider", "offline", *arguments)
    program = await asyncio.to_thread(
        forkserver.start, command, data.parent, environ, stdin=stdin, stdout=stdout, stderr=2
    )
    os.close(stdin)
    os.close(stdout)
    messages, answers = await _connect(target, source)
    connection = acp.connect_to_agent(cast("acp.Client", editor), messages, answers)
    try:
        async with asyncio.timeout(PATIENCE):
            await connection.initialize(protocol_version=acp.PROTOCOL_VERSION)
        yield connection
    finally:
        await connection.close()
        messages.close()
        assert await asyncio.to_thread(program.wait) == 0


async def _connect(target: int, source: int) -> tuple[asyncio.StreamWriter, asyncio.StreamReader]:
    """Streams over the ends of two pipes."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=1 << 24)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(source, "rb", 0))
    transport, protocol = await loop.connect_write_pipe(
        lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), os.fdopen(target, "wb", 0)
    )
    return asyncio.StreamWriter(transport, protocol, None, loop), reader


async def test_it_says_what_it_can(data: Path) -> None:
    async with served(Editor(), data) as connection:
        said = await connection.initialize(protocol_version=acp.PROTOCOL_VERSION)
        assert said.protocol_version == acp.PROTOCOL_VERSION
        older = await connection.initialize(protocol_version=0)
        assert older.protocol_version == acp.PROTOCOL_VERSION
        assert said.agent_info.name == "cogency-tui"
        assert said.agent_capabilities.load_session


async def test_images_of_a_prompt_are_attached_and_what_is_none_is_reported(
    project: Path, data: Path
) -> None:
    editor = Editor()
    blocks = [
        acp.image_block(base64.b64encode(content).decode(), "image/png") for content in (picture(), b"x")
    ]
    async with served(editor, data) as connection:
        session = await connection.new_session(cwd=str(project))
        done = await connection.prompt(session_id=session.session_id, prompt=blocks)
        assert done.stop_reason == "end_turn"
        told = editor.text(AgentThoughtChunk)
        assert "Not attached: attachment 2 is not an image that can be read." in told
        assert "takes no images: it receives only their names and sizes." in told
        editor.updates.clear()
        await connection.load_session(cwd=str(project), session_id=session.session_id)
    assert "[image attachment 1: 8×6 pixels, " in editor.text(UserMessageChunk)


async def test_a_turn_as_an_editor_sees_it(project: Path, data: Path) -> None:
    editor = Editor()
    async with served(editor, data) as connection:
        session = await connection.new_session(cwd=str(project))
        assert session.modes.current_mode_id == "ask"
        assert [mode.id for mode in session.modes.available_modes] == ["plan", "ask", "edits", "auto"]
        done = await connection.prompt(session_id=session.session_id, prompt=[acp.text_block(REPLACE)])
        assert done.stop_reason == "end_turn"
    assert (project / "greet.py").read_text() == 'print("goodbye")\n'
    assert editor.text(AgentMessageChunk)
    assert editor.text(AgentThoughtChunk)
    assert not editor.text(UserMessageChunk)
    edit = next(updates for updates in editor.calls().values() if updates[0].kind == "edit")
    assert edit[-1].status == "completed"
    diff = next(content for content in edit[-1].content if isinstance(content, FileEditToolCallContent))
    assert (diff.path, diff.old_text, diff.new_text) == (
        str(project / "greet.py"), 'print("hello")\n', 'print("goodbye")\n'
    )  # fmt: skip
    call, options = editor.asked[0]
    assert call.tool_call_id in editor.calls()
    assert [option.option_id for option in options] == ["once", "turn", "conversation", "always", "no"]
    assert any(
        "-print" in content.content.text for content in call.content or [] if content.type == "content"
    )


@pytest.mark.exhaustive
@pytest.mark.parametrize("choice", ["no", "cancel", "nonsense"])
async def test_what_is_refused_is_not_done(project: Path, data: Path, choice: str) -> None:
    editor = Editor(choice)
    async with served(editor, data) as connection:
        session = await connection.new_session(cwd=str(project))
        await connection.prompt(session_id=session.session_id, prompt=[acp.text_block(REPLACE)])
    assert (project / "greet.py").read_text() == 'print("hello")\n'
    failed = next(updates for updates in editor.calls().values() if updates[-1].status == "failed")
    told = failed[-1].content[0].content.text
    assert ("You declined." if choice == "no" else "no user is available to approve it") in told
    assert "Their reason" not in told
    assert failed[-1].title == ("Declined: edit greet.py" if choice == "no" else None)
    assert failed[-1].raw_output == ({"state": "declined"} if choice == "no" else None)


async def test_what_the_mode_does_not_allow_is_no_plain_failure(project: Path, data: Path) -> None:
    editor = Editor()
    async with served(editor, data) as connection:
        session = await connection.new_session(cwd=str(project))
        await connection.set_session_mode(session_id=session.session_id, mode_id="plan")
        await connection.prompt(session_id=session.session_id, prompt=[acp.text_block(REPLACE)])
    assert not editor.asked
    (declined,) = [updates[-1] for updates in editor.calls().values() if updates[-1].raw_output]
    assert (declined.status, declined.title) == ("failed", "Blocked by plan mode: edit greet.py")
    assert declined.content[0].content.text.strip("`\n") == "Blocked by plan mode."


async def test_a_mode_changes_what_is_asked(project: Path, data: Path) -> None:
    editor = Editor("no")
    async with served(editor, data) as connection:
        session = await connection.new_session(cwd=str(project))
        await connection.set_session_mode(session_id=session.session_id, mode_id="edits")
        await connection.prompt(session_id=session.session_id, prompt=[acp.text_block(REPLACE)])
        assert (project / "greet.py").read_text() == 'print("goodbye")\n'
        assert not editor.asked
        with pytest.raises(acp.RequestError):
            await connection.set_session_mode(session_id=session.session_id, mode_id="everything")


async def test_a_turn_is_cancelled_while_the_person_is_asked(project: Path, data: Path) -> None:
    editor = Editor("wait")
    async with served(editor, data) as connection:
        session = await connection.new_session(cwd=str(project))
        blocks = [acp.text_block(REPLACE)]
        turn = asyncio.create_task(connection.prompt(session_id=session.session_id, prompt=blocks))
        await editor.until(lambda: editor.asked)
        await connection.cancel(session_id=session.session_id)
        async with asyncio.timeout(PATIENCE):
            assert (await turn).stop_reason == "cancelled"
    assert (project / "greet.py").read_text() == 'print("hello")\n'


async def test_a_turn_is_cancelled_before_it_has_begun(project: Path, data: Path) -> None:
    editor = Editor("wait")
    async with served(editor, data) as connection:
        session = await connection.new_session(cwd=str(project))
        blocks = [acp.text_block(REPLACE)]
        turn = asyncio.create_task(connection.prompt(session_id=session.session_id, prompt=blocks))
        # Sent right after it, and read together with it.
        await asyncio.sleep(0)
        await connection.cancel(session_id=session.session_id)
        async with asyncio.timeout(PATIENCE):
            assert (await turn).stop_reason == "cancelled"


async def test_a_prompt_during_a_turn_reaches_it_at_the_next_step(project: Path, data: Path) -> None:
    editor = Editor()
    async with served(editor, data) as connection:
        session = (await connection.new_session(cwd=str(project))).session_id

        def prompt(text: str) -> asyncio.Task[Any]:
            blocks = [acp.text_block(text)]
            return asyncio.create_task(connection.prompt(session_id=session, prompt=blocks))

        first = prompt("run `while [ ! -e go ]; do sleep 0.05; done`")
        await editor.until(lambda: any(each[-1].status == "in_progress" for each in editor.calls().values()))
        second = prompt("list files")
        await asyncio.sleep(0)
        # What is sent after the prompt is answered after it is read.
        await connection.set_session_mode(session_id=session, mode_id="ask")
        (project / "go").touch()
        async with asyncio.timeout(PATIENCE):
            assert [(await each).stop_reason for each in (first, second)] == ["end_turn"] * 2
    async with Agent(llm="offline", project=project, data=data) as agent:
        events = await (await agent.store()).events(session)
    kinds = [event["type"] for event in events if event["type"] not in ("think", "respond")]
    assert kinds == ["user", "call", "result", "user", "call", "result"]
    assert [event.get("steered") for event in events if event["type"] == "user"] == [None, True]


async def test_a_cancellation_is_also_of_the_prompts_that_wait(project: Path, data: Path) -> None:
    editor = Editor("wait")
    async with served(editor, data) as connection:
        session = (await connection.new_session(cwd=str(project))).session_id
        blocks = [acp.text_block(REPLACE)]
        turns = [asyncio.create_task(connection.prompt(session_id=session, prompt=blocks))]
        await editor.until(lambda: editor.asked)
        turns.append(asyncio.create_task(connection.prompt(session_id=session, prompt=blocks)))
        await asyncio.sleep(0)
        await connection.set_session_mode(session_id=session, mode_id="ask")
        await connection.cancel(session_id=session)
        async with asyncio.timeout(PATIENCE):
            assert [(await turn).stop_reason for turn in turns] == ["cancelled"] * 2
    assert len(editor.asked) == 1


async def test_a_session_is_closed_and_gone_on_with(project: Path, data: Path) -> None:
    async with served(Editor(), data) as connection:
        session = (await connection.new_session(cwd=str(project))).session_id
        blocks = [acp.text_block("read greet.py")]
        await connection.prompt(session_id=session, prompt=blocks)
        await connection.close_session(session_id=session)
        with pytest.raises(acp.RequestError):
            await connection.prompt(session_id=session, prompt=blocks)
        resumed = await connection.resume_session(cwd=str(project), session_id=session)
        assert resumed.modes.current_mode_id == "ask"
        assert (await connection.prompt(session_id=session, prompt=blocks)).stop_reason == "end_turn"


async def test_a_session_is_loaded_with_all_that_was(project: Path, data: Path) -> None:
    first = Editor()
    async with served(first, data, "--permissions", "auto") as connection:
        session = (await connection.new_session(cwd=str(project))).session_id
        await connection.prompt(session_id=session, prompt=[acp.text_block("read greet.py")])
    again = Editor()
    async with served(again, data) as connection:
        listed = await connection.list_sessions(cwd=str(project))
        assert [each.session_id for each in listed.sessions] == [session]
        await connection.load_session(cwd=str(project), session_id=session)
        await again.until(lambda: again.text(AgentMessageChunk) == first.text(AgentMessageChunk))
        assert again.text(UserMessageChunk) == "read greet.py"
        assert {id: updates[-1].status for id, updates in again.calls().items()} == {
            id: updates[-1].status for id, updates in first.calls().items()
        }
        done = await connection.prompt(session_id=session, prompt=[acp.text_block("read greet.py")])
        assert done.stop_reason == "end_turn"
        elsewhere = project.parent
        with pytest.raises(acp.RequestError):
            await connection.load_session(cwd=str(elsewhere), session_id=session)
        # The one that is open is unchanged.
        done = await connection.prompt(session_id=session, prompt=[acp.text_block("read greet.py")])
        assert done.stop_reason == "end_turn"


async def test_what_cannot_be_is_told(project: Path, data: Path) -> None:
    async with served(Editor(), data) as connection:
        for wrong in ("relative", str(project / "nowhere")):
            with pytest.raises(acp.RequestError):
                await connection.new_session(cwd=wrong)
        with pytest.raises(acp.RequestError):
            await connection.prompt(session_id="none", prompt=[acp.text_block("x")])
        with pytest.raises(acp.RequestError):
            await connection.load_session(cwd=str(project), session_id="none")
        session = await connection.new_session(cwd=str(project))
        with pytest.raises(acp.RequestError):
            await connection.prompt(session_id=session.session_id, prompt=[acp.text_block("  ")])


async def test_a_provider_that_fails_is_told(project: Path, data: Path) -> None:
    config = data.parent / "config.toml"
    config.write_text('[providers.gone]\nbase_url = "http://127.0.0.1:9/v1"\nmodel = "m"\n')
    os.environ["COGENCY_CONFIG"], before = str(config), os.environ.get("COGENCY_CONFIG")
    try:
        async with served(Editor(), data, "--provider", "gone") as connection:
            session = await connection.new_session(cwd=str(project))
            with pytest.raises(acp.RequestError) as raised:
                await connection.prompt(session_id=session.session_id, prompt=[acp.text_block("x")])
            assert "127.0.0.1:9" in str(raised.value)
    finally:
        os.environ.pop("COGENCY_CONFIG")
        if before is not None:
            os.environ["COGENCY_CONFIG"] = before


@pytest.mark.exhaustive
async def test_servers_that_an_editor_gives_are_started(project: Path, data: Path) -> None:
    """Two of the same name as ours are."""
    marks = [project.parent / "one", project.parent / "two"]
    servers = [
        McpServerStdio(
            name=f"my demo{end}",
            command="sh",
            args=["-c", 'touch "$MARK"; exec "$@"', "sh", sys.executable, str(MCP_SERVER), "plain"],
            env=[EnvVariable(name="MARK", value=str(mark))],
        )
        for end, mark in zip("!?", marks, strict=True)
    ]
    editor = Editor()
    async with served(editor, data) as connection:
        session = await connection.new_session(cwd=str(project), mcp_servers=servers)
        done = await connection.prompt(
            session_id=session.session_id, prompt=[acp.text_block("read greet.py")]
        )
        assert done.stop_reason == "end_turn"
        async with asyncio.timeout(PATIENCE):
            while not all(mark.exists() for mark in marks):  # noqa: ASYNC110 (nobody tells)
                await asyncio.sleep(0.02)

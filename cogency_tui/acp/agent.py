"""The agent's side of the protocol: the methods that an editor can call.

Each session has an agent of its own, in its directory: an editor may have several sessions open.
"""

import re
from collections.abc import Awaitable, Callable, Container, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from datetime import UTC, datetime
from functools import wraps
from itertools import chain, count
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import acp
from acp.schema import (
    AgentCapabilities,
    CloseSessionResponse,
    Implementation,
    InitializeResponse,
    ListSessionsResponse,
    LoadSessionResponse,
    McpServerStdio,
    NewSessionResponse,
    PromptCapabilities,
    PromptResponse,
    ResumeSessionResponse,
    SessionCapabilities,
    SessionCloseCapabilities,
    SessionInfo,
    SessionListCapabilities,
    SessionResumeCapabilities,
    SetSessionModeResponse,
)

from cogency_tui import __version__
from cogency_tui.acp.prompt_blocks import images_of, text_of
from cogency_tui.acp.session import INTERNAL, AcpSession
from cogency_tui.agent.agent import Agent
from cogency_tui.agent.edits.startup_recovery import settle_left
from cogency_tui.config.mcp import McpSettings
from cogency_tui.config.schema import data_path
from cogency_tui.errors import CogencyError
from cogency_tui.store.store import new_conversation_id

_LISTED = 100
_LONGEST_NAME = 28
"""Characters of a server's name, with room for a number."""

Params = ParamSpec("Params")
Result = TypeVar("Result")


def _as_request_errors(method: Callable[Params, Awaitable[Result]]) -> Callable[Params, Awaitable[Result]]:
    """Turn our errors into those of the protocol."""

    @wraps(method)
    async def wrapped(*args: Params.args, **kwargs: Params.kwargs) -> Result:
        try:
            return await method(*args, **kwargs)
        except CogencyError as exc:
            raise acp.RequestError(INTERNAL, exc.advice) from exc

    return wrapped


class EditorAgent:
    """Answers one editor; agents follow the `flags` of the command line."""

    def __init__(self, flags: Mapping[str, Any]) -> None:
        self._flags = dict(flags)
        self._sessions: dict[str, AcpSession] = {}
        self._editor: acp.Client | None = None

    def on_connect(self, conn: acp.Client) -> None:
        self._editor = conn

    async def initialize(self, **_given: Any) -> InitializeResponse:
        return InitializeResponse(
            # The only supported version: an editor without it gives up.
            protocol_version=acp.PROTOCOL_VERSION,
            agent_info=Implementation(name="cogency-tui", title="cogency", version=__version__),
            agent_capabilities=AgentCapabilities(
                load_session=True,
                prompt_capabilities=PromptCapabilities(embedded_context=True, image=self._takes_images()),
                session_capabilities=SessionCapabilities(
                    list=SessionListCapabilities(),
                    resume=SessionResumeCapabilities(),
                    close=SessionCloseCapabilities(),
                ),
            ),
        )

    async def authenticate(self, method_id: str, **_more: Any) -> None:
        raise acp.RequestError.invalid_params({"methodId": f"Login is not needed: {method_id}"})

    @_as_request_errors
    async def new_session(
        self, cwd: str, mcp_servers: Sequence[Any] | None = None, **_more: Any
    ) -> NewSessionResponse:
        session = await self._open(new_conversation_id(), await self._agent(cwd, mcp_servers))
        return NewSessionResponse(session_id=session.id, modes=session.modes)

    @_as_request_errors
    async def load_session(
        self, cwd: str, session_id: str, mcp_servers: Sequence[Any] | None = None, **_more: Any
    ) -> LoadSessionResponse:
        session = await self._reopen(session_id, cwd, mcp_servers)
        await session.replay()
        await session.report()
        return LoadSessionResponse(modes=session.modes)

    @_as_request_errors
    async def resume_session(
        self, cwd: str, session_id: str, mcp_servers: Sequence[Any] | None = None, **_more: Any
    ) -> ResumeSessionResponse:
        session = await self._reopen(session_id, cwd, mcp_servers)
        await session.report()
        return ResumeSessionResponse(modes=session.modes)

    @_as_request_errors
    async def list_sessions(
        self, cwd: str | None = None, cursor: str | None = None, **_more: Any
    ) -> ListSessionsResponse:
        del cursor
        project = _directory(cwd) if cwd else Path.cwd()
        agent = Agent(project=project, **self._flags_for_agent())
        try:
            # Not opened, which would start the servers of the project.
            store = await agent.store()
            found = await store.conversations(str(agent.project) if cwd else None, limit=_LISTED)
            notices = store.new_notices()
        finally:
            await agent.close()
        return ListSessionsResponse(
            field_meta={"notices": notices} if notices else None,
            sessions=[
                SessionInfo(
                    session_id=each.id,
                    cwd=each.project,
                    title=each.title,
                    updated_at=datetime.fromtimestamp(each.updated, UTC).isoformat(),
                )
                for each in found
            ],
        )

    @_as_request_errors
    async def close_session(self, session_id: str, **_more: Any) -> CloseSessionResponse:
        session = self._sessions.pop(session_id, None)
        if session is not None:
            await session.close()
        return CloseSessionResponse()

    async def set_session_mode(self, session_id: str, mode_id: str, **_more: Any) -> SetSessionModeResponse:
        self._session(session_id).set_mode(mode_id)
        return SetSessionModeResponse()

    @_as_request_errors
    async def prompt(self, session_id: str, prompt: Sequence[Any], **_more: Any) -> PromptResponse:
        session = self._session(session_id)
        text = text_of(prompt, session.agent.project)
        images = images_of(prompt)
        if not (text or images):
            raise acp.RequestError.invalid_params({"prompt": "The prompt is empty."})
        return PromptResponse(stop_reason=await session.prompt(text, images))

    async def cancel(self, session_id: str, **_more: Any) -> None:
        with suppress(acp.RequestError):
            self._session(session_id).cancel()

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        del params
        raise acp.RequestError.method_not_found(method)

    async def ext_notification(self, method: str, params: dict[str, Any]) -> None:
        """Ignore extension notifications."""

    async def close_all(self) -> None:
        """Close all sessions."""
        while self._sessions:
            await self._sessions.popitem()[1].close()

    def _session(self, id: str) -> AcpSession:
        session = self._sessions.get(id)
        if session is None:
            raise acp.RequestError.invalid_params({"sessionId": "Unknown session; load it first."})
        return session

    async def _reopen(self, id: str, cwd: str, servers: Sequence[Any] | None) -> AcpSession:
        """A past session, in the directory that it was in."""

        async def check(agent: Agent) -> None:
            store = await agent.store()
            known = await store.conversation(id)
            if known is None or known.project != str(agent.project):
                where = f" in {cwd}" if known is None else f": it is for {known.project}"
                message = " ".join([f"Unknown session{where}.", *store.new_notices()])
                raise acp.RequestError.invalid_params({"sessionId": message})
            await agent.resume_choices(id)

        return await self._open(id, await self._agent(cwd, servers), check)

    async def _open(
        self, id: str, agent: Agent, check: Callable[[Agent], Awaitable[None]] | None = None
    ) -> AcpSession:
        """A session with `agent`, in place of an open one with this id; none if `check` raises."""
        assert self._editor is not None
        async with AsyncExitStack() as stack:
            stack.push_async_callback(agent.close)
            if check is not None:
                await check(agent)
            await agent.open()
            stack.pop_all()
        session = AcpSession(id, agent, self._editor)
        before, self._sessions[id] = self._sessions.get(id), session
        if before is not None:
            await before.close()
        return session

    async def _agent(self, cwd: str, servers: Sequence[Any] | None) -> Agent:
        await settle_left(data_path())
        return Agent(project=_directory(cwd), mcp=_servers(servers or ()), **self._flags_for_agent())

    def _takes_images(self) -> bool:
        """Return whether the configured model takes images."""
        try:
            return Agent(**self._flags_for_agent()).provider.facts.images
        except CogencyError:
            # The error is that of the first session.
            return False

    def _flags_for_agent(self) -> dict[str, Any]:
        flags = dict(self._flags)
        return {"llm": flags.pop("provider", None), **flags}


def _directory(cwd: str) -> Path:
    path = Path(cwd)
    if not path.is_absolute() or not path.is_dir():
        raise acp.RequestError.invalid_params({"cwd": f"{cwd} is not the full path of a directory."})
    return path


def _servers(given: Sequence[Any]) -> dict[str, McpSettings]:
    """The MCP servers that an editor passes: commands only, the one kind that we announce."""
    found: dict[str, McpSettings] = {}
    for server in given:
        if isinstance(server, McpServerStdio):
            variables = {each.name: each.value for each in server.env}
            found[_free_name(server.name, found)] = McpSettings(
                command=server.command, args=list(server.args), env=variables
            )
    return found


def _free_name(name: str, taken: Container[str]) -> str:
    """A valid server name that is not among those `taken`."""
    base = re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-_")[:_LONGEST_NAME] or "server"
    return next(each for each in chain([base], (f"{base}-{n}" for n in count(2))) if each not in taken)

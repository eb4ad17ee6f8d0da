"""What an editor can ask of us: the methods of the protocol.

Each session has an agent of its own, in the directory that it is for: an editor may have several open.
"""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import wraps
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
from cogency_tui.agent.agent import Agent
from cogency_tui.errors import CogencyError
from cogency_tui.headless.acp.blocks import text_of
from cogency_tui.headless.acp.session import Session
from cogency_tui.mcp_settings import McpSettings
from cogency_tui.store.conversations import new_conversation_id

_INTERNAL = -32603
_LISTED = 100

Params = ParamSpec("Params")
Result = TypeVar("Result")


def _told(method: Callable[Params, Awaitable[Result]]) -> Callable[Params, Awaitable[Result]]:
    """Our errors as the protocol has them."""

    @wraps(method)
    async def wrapped(*args: Params.args, **kwargs: Params.kwargs) -> Result:
        try:
            return await method(*args, **kwargs)
        except CogencyError as exc:
            raise acp.RequestError(_INTERNAL, exc.advice) from exc

    return wrapped


class EditorAgent:
    """Answers one editor; agents are as the `flags` of the command line say."""

    def __init__(self, flags: Mapping[str, Any]) -> None:
        self._flags = dict(flags)
        self._sessions: dict[str, Session] = {}
        self._editor: acp.Client | None = None

    def on_connect(self, conn: acp.Client) -> None:
        self._editor = conn

    async def initialize(self, protocol_version: int, **_more: Any) -> InitializeResponse:
        return InitializeResponse(
            protocol_version=min(protocol_version, acp.PROTOCOL_VERSION),
            agent_info=Implementation(name="cogency-tui", title="cogency", version=__version__),
            agent_capabilities=AgentCapabilities(
                load_session=True,
                prompt_capabilities=PromptCapabilities(embedded_context=True),
                session_capabilities=SessionCapabilities(
                    list=SessionListCapabilities(),
                    resume=SessionResumeCapabilities(),
                    close=SessionCloseCapabilities(),
                ),
            ),
        )

    async def authenticate(self, method_id: str, **_more: Any) -> None:
        raise acp.RequestError.invalid_params({"methodId": f"There is nothing to log in to: {method_id}"})

    @_told
    async def new_session(
        self, cwd: str, mcp_servers: Sequence[Any] | None = None, **_more: Any
    ) -> NewSessionResponse:
        session = await self._open(new_conversation_id(), cwd, mcp_servers)
        return NewSessionResponse(session_id=session.id, modes=session.modes)

    @_told
    async def load_session(
        self, cwd: str, session_id: str, mcp_servers: Sequence[Any] | None = None, **_more: Any
    ) -> LoadSessionResponse:
        session = await self._reopen(session_id, cwd, mcp_servers)
        await session.replay()
        return LoadSessionResponse(modes=session.modes)

    @_told
    async def resume_session(
        self, cwd: str, session_id: str, mcp_servers: Sequence[Any] | None = None, **_more: Any
    ) -> ResumeSessionResponse:
        return ResumeSessionResponse(modes=(await self._reopen(session_id, cwd, mcp_servers)).modes)

    @_told
    async def list_sessions(
        self, cwd: str | None = None, cursor: str | None = None, **_more: Any
    ) -> ListSessionsResponse:
        del cursor
        project = _directory(cwd) if cwd else Path.cwd()
        async with Agent(project=project, **self._flags_for_agent()) as agent:
            store = await agent.store()
            found = await store.conversations(str(agent.project) if cwd else None, limit=_LISTED)
        return ListSessionsResponse(
            sessions=[
                SessionInfo(
                    session_id=each.id,
                    cwd=each.project,
                    title=each.title,
                    updated_at=datetime.fromtimestamp(each.updated, UTC).isoformat(),
                )
                for each in found
            ]
        )

    async def close_session(self, session_id: str, **_more: Any) -> CloseSessionResponse:
        session = self._sessions.pop(session_id, None)
        if session is not None:
            await session.close()
        return CloseSessionResponse()

    async def set_session_mode(self, session_id: str, mode_id: str, **_more: Any) -> SetSessionModeResponse:
        self._session(session_id).set_mode(mode_id)
        return SetSessionModeResponse()

    @_told
    async def prompt(self, session_id: str, prompt: Sequence[Any], **_more: Any) -> PromptResponse:
        session = self._session(session_id)
        text = text_of(prompt, session.agent.project)
        if not text:
            raise acp.RequestError.invalid_params({"prompt": "There is nothing to ask."})
        return PromptResponse(stop_reason=await session.prompt(text))

    async def cancel(self, session_id: str, **_more: Any) -> None:
        with suppress(acp.RequestError):
            self._session(session_id).cancel()

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        del params
        raise acp.RequestError.method_not_found(method)

    async def ext_notification(self, method: str, params: dict[str, Any]) -> None:
        """Nothing is to be known that way."""

    async def close_all(self) -> None:
        """Stop everything."""
        while self._sessions:
            await self._sessions.popitem()[1].close()

    def _session(self, id: str) -> Session:
        session = self._sessions.get(id)
        if session is None:
            raise acp.RequestError.invalid_params({"sessionId": "There is no such session; load it first."})
        return session

    async def _reopen(self, id: str, cwd: str, servers: Sequence[Any] | None) -> Session:
        """A session that was, in the directory that it was in."""
        session = await self._open(id, cwd, servers)
        known = await (await session.agent.store()).conversation(id)
        if known is None or known.project != str(session.agent.project):
            await self.close_session(id)
            where = f" in {cwd}" if known is None else f": it is for {known.project}"
            raise acp.RequestError.invalid_params({"sessionId": f"There is no such session{where}."})
        return session

    async def _open(self, id: str, cwd: str, servers: Sequence[Any] | None) -> Session:
        assert self._editor is not None
        agent = Agent(project=_directory(cwd), mcp=_servers(servers or ()), **self._flags_for_agent())
        await self.close_session(id)
        await agent.open()
        session = self._sessions[id] = Session(id, agent, self._editor)
        return session

    def _flags_for_agent(self) -> dict[str, Any]:
        flags = dict(self._flags)
        return {"llm": flags.pop("provider", None), **flags}


def _directory(cwd: str) -> Path:
    path = Path(cwd)
    if not path.is_absolute() or not path.is_dir():
        raise acp.RequestError.invalid_params({"cwd": f"{cwd} is no full path of a directory."})
    return path


def _servers(given: Sequence[Any]) -> dict[str, McpSettings]:
    """The MCP servers that an editor has us use: commands, which is all that we say we can."""
    found: dict[str, McpSettings] = {}
    for server in given:
        if isinstance(server, McpServerStdio):
            name = re.sub(r"[^A-Za-z0-9_-]+", "-", server.name).strip("-")[:32] or "server"
            variables = {each.name: each.value for each in server.env}
            found[name] = McpSettings(command=server.command, args=list(server.args), env=variables)
    return found

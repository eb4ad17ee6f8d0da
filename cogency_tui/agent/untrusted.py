"""What a conversation has read that neither the person nor the project answers for, told from its events.

A gate remembers that while its agent is open; this is for conversations that go on later.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from cogency_tui.agent.own_command import ran_in
from cogency_tui.errors import ToolError
from cogency_tui.protocol.events import Event
from cogency_tui.protocol.transcript import as_tool_call, call_record
from cogency_tui.store.conversations import Store
from cogency_tui.tools.blocking import in_thread
from cogency_tui.tools.mcp.names import source_of
from cogency_tui.tools.reach import reach
from cogency_tui.tools.web_address import parse
from cogency_tui.tools.web_search import ENGINES
from cogency_tui.workspace.paths import Workspace

_WEB = "the web"
_RECALLED = "earlier conversations"


async def sources_of(store: Store, conversation_id: str, workspace: Workspace) -> list[str]:
    """Hosts and paths outside, in the order of reading; what its sub-agents have read too.

    Raises:
        StoreError: the events cannot be read.
    """
    found = await in_thread(sources_in, await store.events(conversation_id), workspace)
    for child in await store.delegated(conversation_id):
        found += await sources_of(store, child.id, workspace)
    return list(dict.fromkeys(found))


def sources_in(events: Sequence[Event], workspace: Workspace) -> list[str]:
    """The sources of what the results among these events brought, and the person's commands. Blocks."""
    calls = {event["id"]: call_record(event) for event in events if event["type"] == "call"}
    found: dict[str, None] = {}
    for event in events:
        if event["type"] == "result" and event["id"] in calls:
            args: Any = as_tool_call(calls[event["id"]]).get("args")
            given = cast("dict[str, Any]", args if isinstance(args, dict) else {})
            if source := _source(event["tool"], given, workspace):
                found[source] = None
        elif event["type"] == "user":
            own = ran_in(event["content"])
            if own and (source := _source("shell", {"command": own.command}, workspace)):
                found[source] = None
    return list(found)


def _source(tool: str, args: Mapping[str, Any], workspace: Workspace) -> str:
    texts = [value for value in args.values() if isinstance(value, str)]
    if server := source_of(tool):
        return server
    if tool == "search":
        return ENGINES
    if tool == "recall":
        # What those had read is not looked up again: they may be gone.
        return _RECALLED
    if tool == "fetch":
        return next((host for text in texts if (host := _host(text))), _WEB)
    if tool == "shell":
        place = workspace.root / str(args.get("cwd", "."))
        brought = (reach(text, _resolved(place), workspace).brings for text in texts)
        return next((source for source in brought if source), "")
    # Paths outside are given in full.
    outside = (_outside(text, workspace) for text in texts if text.startswith(("/", "~")))
    return next((path for path in outside if path), "")


def _resolved(place: Path) -> Path:
    try:
        return place.resolve()
    except (OSError, ValueError):
        return place


def _host(text: str) -> str:
    try:
        return parse(text).authority
    except ToolError:
        return ""


def _outside(text: str, workspace: Workspace) -> str:
    try:
        location = workspace.locate(text)
    except ToolError:
        return ""
    return "" if location.inside else location.relative

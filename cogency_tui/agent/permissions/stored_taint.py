"""The untrusted content that a conversation has read, derived from its stored events.

Each result carries its sources. For results that older versions stored, or that broke off, they are derived
from the call. A gate holds sources while its agent is open; this module serves conversations that are
resumed later.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, cast

from cogency_tui.errors import ToolError
from cogency_tui.protocol.events import CallEvent, Event, UserEvent
from cogency_tui.protocol.taint_sources import Sources, recorded
from cogency_tui.protocol.transcript import as_tool_call, call_record
from cogency_tui.store.store import Store, StoredConversation
from cogency_tui.tools.mcp.names import source_of
from cogency_tui.tools.web.search import ENGINES
from cogency_tui.tools.web.url import parse
from cogency_tui.tools.worker_threads import in_thread
from cogency_tui.workspace.paths import Workspace

EARLIER = Sources(("earlier conversations",))
"""The source of what was read in another conversation whose own sources are not known."""

_IMPORTED = Sources(("an imported conversation",))
_WEB = "the web"
_COMMAND = {"command", "cmd"}
"""Arguments of the shell, under any tool name."""


async def sources_of(store: Store, conversation_id: str, workspace: Workspace) -> Sources:
    """Return the sources of a conversation, of its sub-agents, and of the conversations that it was forked
    from or works for.

    Raises:
        StoreError: the events cannot be read.
    """
    return await _sources(store, conversation_id, workspace, upwards=True)


async def sources_below(store: Store, conversation_id: str, workspace: Workspace) -> Sources:
    """Return the sources of a conversation and of its sub-agents.

    Raises:
        StoreError: the events cannot be read.
    """
    return await _sources(store, conversation_id, workspace, upwards=False)


async def _sources(store: Store, conversation_id: str, workspace: Workspace, *, upwards: bool) -> Sources:
    found = Sources()
    pending, seen = [conversation_id], set[str]()
    while pending:
        id = pending.pop()
        if id in seen:
            continue
        seen.add(id)
        events = await store.events(id)
        found |= await in_thread(sources_in, events, workspace)
        calls = {event["id"] for event in events if event["type"] == "call"}
        for ancestor in await _lineage(store, id):
            if ancestor.imported:
                found |= _IMPORTED
            if upwards and ancestor.call is not None and ancestor.parent is not None:
                # The agent that started it has written its task.
                pending.append(ancestor.parent)
            children = await store.delegated(ancestor.id)
            pending += [child.id for child in children if child.call in calls]
    return found


async def _lineage(store: Store, id: str) -> list[StoredConversation]:
    """The conversation, and those that it was forked from, nearest first."""
    found: list[StoredConversation] = []
    next_id: str | None = id
    while next_id is not None and next_id not in {each.id for each in found}:
        conversation = await store.conversation(next_id)
        if conversation is None:
            break
        found.append(conversation)
        next_id = conversation.parent if conversation.call is None else None
    return found


def sources_in(events: Iterable[Event], workspace: Workspace) -> Sources:
    """The sources of the results among these events, of the calls that were cut off before they had one,
    and of the user's commands. Blocks.
    """
    calls: dict[str, CallEvent] = {}
    found = Sources()
    for event in events:
        if event["type"] == "call":
            calls[event["id"]] = event
        elif event["type"] == "result":
            call = calls.pop(event["id"], None)
            stored = recorded(event["payload"])
            if stored is None and call is not None:
                stored = _derived(event["tool"], call, workspace)
            found |= stored or Sources()
        elif event["type"] == "user":
            found |= recorded(event) or _of_user_command(event, workspace)
    for call in calls.values():
        tool = as_tool_call(call_record(call)).get("name")
        found |= _derived(tool if isinstance(tool, str) else "", call, workspace)
    return found


def _derived(tool: str, call: CallEvent, workspace: Workspace) -> Sources:
    """The possible sources of the results of such a call."""
    args: Any = as_tool_call(call_record(call)).get("args")
    given = cast("dict[str, Any]", args if isinstance(args, dict) else {})
    texts = [value for value in given.values() if isinstance(value, str)]
    if tool == "shell" or _COMMAND & given.keys():
        from cogency_tui.tools.shell.outside_effects import reach

        place = _resolved(workspace.root / str(given.get("cwd", ".")))
        found = Sources()
        for name, text in given.items():
            if isinstance(text, str) and name != "cwd":
                found |= reach(text, place, workspace).sources
        return found
    if tool == "recall":
        # The sources of those conversations are not read again: they may be gone.
        return EARLIER
    source = _source(tool, given, texts, workspace)
    return Sources((source,)) if source else Sources()


def _source(tool: str, args: Mapping[str, Any], texts: list[str], workspace: Workspace) -> str:
    if server := source_of(tool):
        return server
    if tool == "search":
        return ENGINES
    if tool == "workflow":
        return f"the workflow {args.get('name')}"
    if tool == "fetch":
        return next((host for text in texts if (host := _host(text))), _WEB)
    # Paths outside are absolute.
    outside = (_outside(text, workspace) for text in texts if text.startswith(("/", "~")))
    return next((path for path in outside if path), "")


def _of_user_command(event: UserEvent, workspace: Workspace) -> Sources:
    if "ran" not in event:
        return Sources()
    from cogency_tui.tools.shell.outside_effects import reach

    return reach(event["ran"]["command"], workspace.root, workspace).sources


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

"""The view that one conversation has of the others: the engine's side of the `recall` tool.

Invariant: of the conversation that asks, the results include only the part that a summary has replaced in its
context, and never that of the one it works for; text from another conversation comes with the sources of all
that conversation has read.
"""

import time
from collections.abc import Awaitable, Callable

from cogency_tui.agent.permissions.stored_taint import sources_of
from cogency_tui.agent.recall.recall import Recall
from cogency_tui.agent.recall.results import Hit, ListedConversation, Preview
from cogency_tui.errors import ToolError, UserFacingError
from cogency_tui.protocol.events import Event
from cogency_tui.protocol.taint_sources import Sources
from cogency_tui.protocol.transcript import as_tool_call, call_record, shown_text
from cogency_tui.store.edits import Edits
from cogency_tui.store.store import Store, StoredConversation
from cogency_tui.store.summaries import Summaries
from cogency_tui.tools.recall import Passages, Scope
from cogency_tui.workspace.paths import Workspace

_BEFORE, _BEHIND = 6, 14
_OWN = "This conversation, before its summary"
_OWN_HITS = 5
_LONGEST = 2000
"""Characters of one event that the model receives."""


class PastConversations:
    """What the conversation `asking` may see: the others, and the summarized part of its own."""

    def __init__(
        self,
        recall: Recall,
        store: Callable[[], Awaitable[Store]],
        asking: str,
        workspace: Workspace,
    ) -> None:
        self._recall = recall
        self._store = store
        self._asking = asking
        self._workspace = workspace

    async def search(self, query: str, scope: Scope, limit: int) -> Passages:
        """The best matches."""
        own = await self._own()
        page = await self._recall.page(query, where=scope, order="best", limit=limit, without=own)
        sources = Sources()
        for each in page.listed:
            sources |= await self._sources(each.conversation.id)
        found = [*map(_described, page.listed)]
        if summarized := await self._summarized_hits(query):
            found.insert(0, "\n".join([f"{_OWN}\n  conversation {self._asking}", *map(_hit, summarized)]))
        return Passages(len(found), "\n\n".join(found), sources)

    async def _summarized_hits(self, query: str) -> list[Hit]:
        """The first matches in the part of the asking conversation that a summary has replaced."""
        through = await self._summarized_through()
        if not through:
            return []
        hits = await self._recall.hits(self._asking, query)
        own = [hit for hit in hits if hit.within == self._asking and 0 < hit.event <= through]
        return own[:_OWN_HITS]

    async def _summarized_through(self) -> int:
        """The last event of the asking conversation that a summary has replaced; 0 if there is no summary."""
        summary = await Summaries((await self._store()).database).latest(self._asking)
        return summary.through if summary else 0

    async def elsewhere(self, conversation: str) -> str:
        """The project of a conversation, if it is neither this one nor a worktree of it; else empty.

        Raises:
            ToolError: there is no such conversation.
        """
        project = (await self._resolved(conversation)).project
        store = await self._store()
        own = await store.main_project(str(self._workspace.root))
        return "" if await store.main_project(project) == own else project

    async def read(self, conversation: str, at: int | None) -> Passages:
        """The events around the one numbered `at`, or the last ones.

        Raises:
            ToolError: there is no such conversation, or it is the one that asks.
        """
        store = await self._store()
        found = await self._resolved(conversation)
        through = await self._summarized_through() if found.id == self._asking else 0
        own = await self._own()
        if not through and (await Edits(store.database).origin(found.id)).conversation == own:
            raise ToolError(
                "That is this conversation, or one of its sub-agents.", "You already have its text."
            )
        if found.trashed is not None:
            raise ToolError("The user moved that conversation to the trash.")
        if through:
            at = min(at or through, through)
        preview = await self._recall.preview(found.id, at, before=_BEFORE, behind=_BEHIND)
        if through:
            preview = _until(preview, through)
        lines = [f"{found.title or 'Untitled'} ({found.id}, {_date(found.updated)})"]
        lines += [f"[earlier events: at={preview.events[0][0]}]"] if preview.before and preview.events else []
        lines += [f"{number} {_line(event)}" for number, event in preview.events]
        lines += [f"[more: at={preview.events[-1][0] + _BEFORE}]"] if preview.behind else []
        return Passages(len(preview.events), "\n".join(lines), await self._sources(found.id))

    async def _resolved(self, conversation: str) -> StoredConversation:
        try:
            return await (await self._store()).resolve(conversation)
        except UserFacingError as exc:
            raise ToolError(str(exc), "Use an id from a result of recall.") from exc

    async def _own(self) -> str:
        store = await self._store()
        return (await Edits(store.database).origin(self._asking)).conversation

    async def _sources(self, id: str) -> Sources:
        return await sources_of(await self._store(), id, self._workspace)


def _until(preview: Preview, through: int) -> Preview:
    """The part of a preview up to an event."""
    events = tuple((number, event) for number, event in preview.events if number <= through)
    return Preview(events, preview.before, preview.behind and len(events) == len(preview.events))


def _described(listed: ListedConversation) -> str:
    found = listed.conversation
    head = f"{found.title or 'Untitled'}\n  conversation {found.id}, {_date(found.updated)}, {found.project}"
    return "\n".join([head, *map(_hit, listed.hits)])


def _hit(hit: Hit) -> str:
    what = f"{hit.kind} of {hit.tool}" if hit.tool else hit.kind
    return f"  at {hit.event}, {what}: {hit.text}"


def _line(event: Event) -> str:
    label, parts = in_words(event)
    return f"{label}: {' '.join(map(_cut, parts))}" if parts else label


def in_words(event: Event) -> tuple[str, tuple[str, ...]]:
    """A stored event for a model: a label, and its texts."""
    if event["type"] == "user":
        return "user", (shown_text(event),)
    if event["type"] == "think" or event["type"] == "respond":
        return "thought" if event["type"] == "think" else "answer", (event["content"],)
    if event["type"] == "call":
        call = as_tool_call(call_record(event))
        return f"call of {call.get('name')}", (str(call.get("args")),)
    if event["type"] == "result":
        payload = event["payload"]
        content = () if payload["content"] is None else (str(payload["content"]),)
        return f"output of {event['tool']}", (payload["outcome"], *content)
    if event["type"] == "error":
        return "the turn failed", (event["payload"]["error"],)
    return event["type"], ()


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} […{len(text) - _LONGEST:,} characters more]"


def _date(moment: float) -> str:
    return time.strftime("%Y-%m-%d", time.localtime(moment))

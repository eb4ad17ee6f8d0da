"""The sub-agents of a conversation as a tree, each with its state, figures and changed files.

    tree = agent.subagents(conversation_id)
    root = await tree.read(working=True)                  # the conversation, its sub-agents below it
    root = await tree.read({root.children[0].id}, working=True)
    exchange = await tree.prompt(root.children[0].id)     # as it was sent

Invariant: the store is the only source, and no event is read twice. A notification names the conversations
that have new events (`Agent.progressed`); the tree reads what is new of these.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Literal, TypeAlias, cast

from cogency_tui.agent.call_by_name import AgentArgs
from cogency_tui.agent.edits.file_history import agents_histories
from cogency_tui.agent.edits.journal import Journal
from cogency_tui.agent.edits.undo_preview import difference
from cogency_tui.agent.output_variables import as_text
from cogency_tui.agent.subagents import SubAgents
from cogency_tui.agent.timeline.model import Asked, Exchange
from cogency_tui.agent.timeline.timeline import exchange_of
from cogency_tui.protocol.events import (
    CallEvent,
    CallState,
    Event,
    Measure,
    ResultEvent,
    begins_turn,
    outcome_shown,
)
from cogency_tui.protocol.transcript import as_tool_call, call_record
from cogency_tui.store import usage
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.edit_records import Edit, FileChange, Kind
from cogency_tui.store.events import title_of
from cogency_tui.store.requests import Requests
from cogency_tui.store.store import Store, StoredConversation
from cogency_tui.tools.argument_schema import own_names
from cogency_tui.tools.worker_threads import in_thread
from cogency_tui.workspace import diff

AgentState: TypeAlias = CallState | Literal["queued"]
"""The state of an agent; `queued` until its call begins, which may wait for the user's permission."""

_NAMES = frozenset({SubAgents.name, *SubAgents.aliases.tools})
_UNNAMED = "sub-agent"
"""The name of a sub-agent that a step of a workflow started: its call is not stored."""


@dataclass(frozen=True, slots=True)
class AgentFile:
    """A file that an agent changed, with the lines of all its changes together; `call` is the last of the
    calls that did so."""

    path: str
    kind: Kind
    added: int
    removed: int
    call: str


@dataclass(frozen=True, slots=True)
class AgentNode:
    """An agent: the root of the tree is the user's, the others are sub-agents.

    `id` is its conversation; empty if it never began, as when its call was declined. `call` started it in
    the conversation above. `model` is `provider/model`. `started` is in Unix seconds; `seconds` counts to
    its end, for the user's agent those of its requests. `outcome` is why it is not done, if it has ended.
    `measures` has the usage of each cycle, summary and question, without that of agents below; it is the
    same object until there is more.
    """

    id: str
    call: str
    name: str
    task: str
    state: AgentState
    model: str
    started: float
    seconds: float
    outcome: str
    measures: Sequence[Measure]
    files: Sequence[AgentFile]
    children: "Sequence[AgentNode]"

    @property
    def key(self) -> str:
        """An id that no other node has."""
        return self.id or self.call

    @property
    def running(self) -> bool:
        return self.state == "running"

    def elapsed(self, now: float) -> float:
        """Its time in seconds."""
        return max(0.0, now - self.started) if self.running and self.call else self.seconds

    def below(self) -> "Iterator[AgentNode]":
        """All agents below it, each before those below that."""
        for child in self.children:
            yield child
            yield from child.below()


@dataclass(frozen=True, slots=True)
class _Call:
    """A call for a sub-agent."""

    id: str
    name: str
    task: str
    moment: float


@dataclass(slots=True)
class _Stored:
    """What is read of a conversation: its calls for sub-agents, and those of its running turn (`recent`)."""

    conversation: StoredConversation
    through: int = 0
    calls: dict[str, _Call] = field(default_factory=dict[str, _Call])
    results: dict[str, ResultEvent] = field(default_factory=dict[str, ResultEvent])
    recent: set[str] = field(default_factory=set[str])
    last: Event | None = None
    measures: Sequence[Measure] = ()
    children: Sequence[StoredConversation] = ()

    def take(self, number: int, event: Event) -> None:
        """Add the next event."""
        self.through, self.last = number, event
        if event["type"] == "call":
            self.recent.add(event["id"])
            if (call := _call_of(event)) is not None:
                self.calls[call.id] = call
        elif event["type"] == "result":
            self.recent.discard(event["id"])
            self.results[event["id"]] = {**event, "payload": {**event["payload"], "content": None}}
        elif begins_turn(event):
            self.recent.clear()


def _call_of(event: CallEvent) -> _Call | None:
    """The call for a sub-agent that an event is, under any name that models know the tool by."""
    record = as_tool_call(call_record(event))
    if str(record.get("name")).casefold() not in _NAMES:
        return None
    args = own_names(_mapping(record.get("args")), AgentArgs, SubAgents.aliases.arguments)
    others = _mapping(args.get("parameters"))
    task = as_text(args.get("task") or others.get("task") or "")
    return _Call(event["id"], str(args.get("name") or _UNNAMED), title_of(task), event["timestamp"])


def _mapping(given: object) -> Mapping[str, Any]:
    """What a model gave for an object; empty if it is none."""
    return cast("dict[str, Any]", given) if isinstance(given, dict) else {}


class SubagentTree:
    """The tree below one conversation of the user's. All methods raise `StoreError`."""

    def __init__(self, journal: Journal, store: Callable[[], Awaitable[Store]], conversation: str) -> None:
        self._journal = journal
        self._store = store
        self._root = conversation
        self._stored: dict[str, _Stored] = {}
        self._files: Mapping[str, Sequence[AgentFile]] = {}
        self._counts: dict[FileChange, tuple[int, int]] = {}
        self._lock = asyncio.Lock()

    async def read(self, changed: Collection[str] | None = None, *, working: bool) -> AgentNode | None:
        """The tree as it is now, None if there is no such conversation. Read again are the conversations
        with these ids; by default all. `working`: a turn is running in the user's.
        """
        async with self._lock:
            store = await self._store()
            known = changed is not None and self._stored.keys() >= set(changed)
            grown = [await self._extend(store, id) for id in (changed if changed and known else self._all())]
            if any(grown):
                self._files = await self._changed_files()
            root = self._stored.get(self._root)
            return root and self._node(root, working=working)

    async def prompt(self, id: str) -> Exchange | None:
        """The first request of an agent, exactly as it was sent; None if none was."""
        store = await self._store()
        requests = await Requests(store.database).of_conversation(id)
        if not requests:
            return None
        first, events = requests[0], list[tuple[int, Event]]()
        async for page in store.event_pages(id):
            events += page
            if page and page[-1][0] >= first.through:
                break
        return await in_thread(exchange_of, Asked(first, 1, 1, recorded=True), first, events)

    def _all(self) -> list[str]:
        return list(self._stored) or [self._root]

    async def _extend(self, store: Store, id: str) -> bool:
        """Read what is new of a conversation, and all of sub-agents that are new in it; return whether it
        has results, and so perhaps changes, that are new."""
        stored = self._stored.get(id) or await self._begin(store, id)
        if stored is None:
            return False
        before = len(stored.results)
        async for page in store.event_pages(id, stored.through):
            for number, event in page:
                stored.take(number, event)
        rows = await store.database.read(lambda connection: usage.measures(connection, id))
        stored.measures = [measure for _moment, measure in rows]
        stored.children = await self._delegated(store, stored)
        new = [child.id for child in stored.children if child.id not in self._stored]
        grown = [await self._extend(store, child) for child in new]
        return any(grown) or len(stored.results) > before

    async def _begin(self, store: Store, id: str) -> _Stored | None:
        conversation = await store.conversation(id)
        if conversation is None:
            return None
        stored = self._stored[id] = _Stored(conversation)
        return stored

    async def _delegated(self, store: Store, stored: _Stored) -> list[StoredConversation]:
        """The conversations of its sub-agents; a fork has those of the calls that it shares."""
        found = await store.delegated(stored.conversation.id)
        origin = stored.conversation
        while origin.call is None and origin.parent is not None:
            found += [each for each in await store.delegated(origin.parent) if each.call in stored.calls]
            above = await store.conversation(origin.parent)
            if above is None:
                break
            origin = above
        return found

    async def _changed_files(self) -> Mapping[str, Sequence[AgentFile]]:
        """The files that each agent changed, by its conversation."""
        by_caller: dict[str, list[Edit]] = {}
        for edit in await self._journal.in_history(self._root):
            caller = edit.origin.caller if edit.origin.caller in self._stored else self._root
            by_caller.setdefault(caller, []).append(edit)
        if not by_caller:
            return {}
        blobs = await self._journal.blobs()
        return await in_thread(
            lambda: {caller: [*self._changes(own, blobs)] for caller, own in by_caller.items()}
        )

    def _changes(self, edits: Sequence[Edit], blobs: Blobs) -> Iterator[AgentFile]:
        for history in agents_histories(edits):
            change = history.change
            if change not in self._counts:
                self._counts[change] = diff.count(difference(change, blobs))
            yield AgentFile(change.path, change.kind, *self._counts[change], history.edits[-1].call)

    def _node(self, stored: _Stored, *, working: bool) -> AgentNode:
        """The user's agent."""
        seconds = sum(measure.get("duration", 0.0) for measure in stored.measures)
        call = _Call("", "Conversation", "", stored.conversation.created)
        state, outcome = _end_of(stored)
        if state == "failed" and not working:
            return self._agent(stored, call, state, seconds, outcome)
        return self._agent(stored, call, "running" if working else "done", seconds)

    def _agent(
        self, stored: _Stored, call: _Call, state: AgentState, seconds: float, outcome: str = ""
    ) -> AgentNode:
        conversation = stored.conversation
        return AgentNode(
            conversation.id,
            call.id,
            call.name,
            conversation.title or call.task,
            state,
            f"{conversation.provider}/{conversation.model}",
            conversation.created,
            seconds,
            outcome,
            stored.measures,
            self._files.get(conversation.id, ()),
            tuple(node for _at, node in sorted(self._children(stored, state), key=_moment)),
        )

    def _children(self, stored: _Stored, state: AgentState) -> Iterator[tuple[float, AgentNode]]:
        """The agents that a conversation started, or was to start, each with the time of its call: several
        where that was retried."""
        working = state == "running"
        attempts: dict[str, list[_Stored]] = {}
        for child in stored.children:
            attempts.setdefault(child.call or "", []).append(self._stored[child.id])
        for call in stored.calls.values():
            *failed, last = attempts.pop(call.id, None) or [None]
            for each in filter(None, failed):
                yield call.moment, self._agent(each, call, "failed", _until_last(each))
            yield call.moment, self._last_attempt(stored, call, last, working=working)
        for child in chain.from_iterable(attempts.values()):
            yield child.conversation.created, self._step(stored, child, working=working)

    def _last_attempt(
        self, stored: _Stored, call: _Call, child: _Stored | None, *, working: bool
    ) -> AgentNode:
        result = stored.results.get(call.id)
        state: AgentState = "interrupted"
        if result is not None:
            state = result["payload"]["state"]
        elif working and call.id in stored.recent:
            state = "running" if child is not None else "queued"
        outcome = outcome_shown(result["payload"]) if result and state != "done" else ""
        if child is None:
            facts = call.id, call.name, call.task, state, "", call.moment, 0.0, outcome
            return AgentNode("", *facts, (), (), ())
        seconds = result["duration"] if result else _until_last(child)
        return self._agent(child, call, state, seconds, outcome)

    def _step(self, stored: _Stored, child: _Stored, *, working: bool) -> AgentNode:
        """The agent of a workflow's step, whose state is that of its conversation."""
        state, outcome = _end_of(child)
        if working and stored.recent and state == "interrupted":
            state = "running"
        call = _Call(child.conversation.call or "", _UNNAMED, "", child.conversation.created)
        return self._agent(child, call, state, _until_last(child), outcome)


def _end_of(stored: _Stored) -> tuple[AgentState, str]:
    """The state in which a conversation is left, with the error that ended its last turn."""
    if stored.last is not None and stored.last["type"] == "error":
        return "failed", stored.last["payload"]["error"]
    answered = stored.last is not None and stored.last["type"] == "respond"
    return "done" if answered else "interrupted", ""


def _moment(placed: tuple[float, AgentNode]) -> float:
    return placed[0]


def _until_last(stored: _Stored) -> float:
    """Seconds from the beginning of a conversation to the end of what is stored of it."""
    moments = [stored.last["timestamp"] if stored.last else 0.0, stored.conversation.updated]
    return max(0.0, max(moments) - stored.conversation.created)

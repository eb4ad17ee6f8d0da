"""Recall: lists, searches, previews and manages past conversations, and compares two branches of one.

The recall screen, the command line and the agent's own tool reach past conversations only through `Recall`;
its answers are in `results`. No turn waits for it: searches have a thread and a connection of their own,
and a caller that cancels one stops it. Every list is paged by key: the caller passes a page's `next` as
`after`; None marks the last page.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from time import time
from typing import TYPE_CHECKING, Literal, TypeVar

from cogency_tui.agent.edits.file_history import histories
from cogency_tui.agent.recall.results import Hit, Indexed, Preview, ResultPage, hit_of, listed
from cogency_tui.child_processes import Job
from cogency_tui.errors import CogencyError, OpenElsewhereError
from cogency_tui.protocol.events import ENGINE_RESULTS, Event
from cogency_tui.protocol.transcript import shown_text
from cogency_tui.store import events, usage
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.edit_records import Kind
from cogency_tui.store.edits import Edits
from cogency_tui.store.events import missing
from cogency_tui.store.forks import Forks, ForkTree
from cogency_tui.store.open_locks import Mark, Presence, command_key
from cogency_tui.store.project_scope import scope_of
from cogency_tui.store.search.index_file import BLOBS
from cogency_tui.store.search.matching import Redact
from cogency_tui.store.search.query import parse
from cogency_tui.store.search.search_thread import SearchService
from cogency_tui.store.search.searcher import Cursor, Order, Scope, Searcher
from cogency_tui.store.store import Store, StoredConversation
from cogency_tui.store.trash import Trash
from cogency_tui.store.usage import Statistics, statistics
from cogency_tui.tools.worker_threads import completed

if TYPE_CHECKING:
    from cogency_tui.agent.usage_report import Dimension, Span, UsageReport


@dataclass(frozen=True, slots=True)
class Check:
    """A command of the user's that was run in the files of a side: whether it ended well, how it ended in one
    line, and its output."""

    command: str
    passed: bool
    outcome: str
    output: str


@dataclass(frozen=True, slots=True)
class Branch:
    """One side since the two parted. `answers` are the model's, in order; `files` the paths that it
    changed, with the kind of change; `tokens` sent and generated, `cost` in USD if it is known, `seconds` of
    its cycles.

    Of a turn that was run again, `diffs` are those of the `files`, and `check` is the user's command, if
    there was one. `model` names the model where it is not that of the conversation. One that is `interrupted`
    ends where the user stopped it.
    """

    conversation: StoredConversation
    prompts: tuple[str, ...]
    answers: tuple[str, ...]
    files: tuple[tuple[str, Kind], ...]
    tokens: int
    cost: float
    seconds: float = 0.0
    calls: int = 0
    failed: int = 0
    diffs: tuple[str, ...] = ()
    check: Check | None = None
    model: str = ""
    interrupted: bool = False


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two branches; `shared` is the number of events that both have in common."""

    shared: int
    left: Branch
    right: Branch


async def compare(store: Store, left: str, right: str) -> Comparison:
    """Compare two conversations.

    Raises:
        StoreError: there is no such conversation.
    """
    last_left, last_right = await Forks(store.database).shared(left, right)
    shared = sum(number <= last_left for number, _ in await store.numbered_events(left))
    sides = await _branch(store, left, last_left), await _branch(store, right, last_right)
    return Comparison(shared, *sides)


async def _branch(store: Store, id: str, after: int) -> Branch:
    conversation = await store.conversation(id)
    if conversation is None:
        raise missing(id)
    events = [event for _, event in await store.numbered_events(id, after)]
    if not events:
        return Branch(conversation, (), (), (), 0, 0.0)
    parted = events[0]["timestamp"]
    edits = [edit for edit in await Edits(store.database).of_conversation(id) if edit.timestamp >= parted]
    tokens, cost = await store.database.read(lambda connection: usage.since(connection, id, parted))
    calls, failed = count_calls(events)
    files: tuple[tuple[str, Kind], ...] = tuple(
        (each.change.path, each.change.kind) for each in histories(edits)
    )
    prompts = tuple(shown_text(event) for event in events if event["type"] == "user")
    answers = tuple(event["content"] for event in events if event["type"] == "respond")
    return Branch(conversation, prompts, answers, files, tokens, cost, calls=calls, failed=failed)


def count_calls(found: Sequence[Event]) -> tuple[int, int]:
    """Count the calls among events, and those that failed."""
    results = [each for each in found if each["type"] == "result" and each["tool"] not in ENGINE_RESULTS]
    return len(results), sum(each["payload"]["state"] == "failed" for each in results)


T = TypeVar("T")
Where = Literal["project", "everywhere", "trash"]

HITS = 500
"""Hits of one conversation that are counted."""

WORK = "work"
"""The use of a conversation whose agent works."""

WAIT = "wait"
"""The use of a conversation whose agent waits for an answer of the user's, as part of its work."""

_TRASH = "trash"
"""Uses of a conversation that is marked as open here."""

BACKLOG = 300
"""Events missing from the index from which on an update in a separate process pays off."""

_UPDATE = Job("cogency_tui.store.search.index_process", nice=10)


class Recall:
    """The user's conversations; `project` is the directory for `where="project"`. `redact` returns the
    text of a document that is searched and shown.

    Of a store that was opened to read, the marks of other processes are not read either, as that removes
    those of killed ones.

    All methods raise `StoreError` if the store fails, and for an unknown id.
    """

    def __init__(
        self, store: Callable[[], Awaitable[Store]], project: str, *, redact: Redact | None = None
    ) -> None:
        self.project = project
        self._store = store
        self._redact = redact
        self._service: SearchService | None = None
        self._presence: Presence | None = None
        self._indexing: asyncio.Lock = asyncio.Lock()

    async def close(self) -> None:
        """Stop the search thread, and remove this process's marks. It can be used again."""
        service, self._service = self._service, None
        if service is not None:
            await service.close()
        if self._presence is not None:
            await asyncio.to_thread(self._presence.leave)

    async def page(
        self,
        query: str = "",
        *,
        where: Where = "project",
        order: Order = "newest",
        limit: int = 50,
        after: Cursor | None = None,
        without: str | None = None,
    ) -> ResultPage:
        """At most `limit` conversations that match the user's query (see `store.search.query`), last
        updated first; in `best` order the best of the newest first. An empty query lists all.

        Cancel it when the user types on. `without` is a conversation to leave out.
        """
        asked = parse(query)
        scope = Scope(self.project if where == "project" else None, without, where == "trash")
        read_only = (await self._store()).database.read_only
        live = {} if read_only else {mark.conversation: mark for mark in await self.open_elsewhere()}

        def work(searcher: Searcher) -> ResultPage:
            answer = searcher.search(asked, scope, order=order, limit=limit, after=after)
            found = [
                listed(searcher, match, asked, live.get(match.conversation.id)) for match in answer.found
            ]
            return ResultPage(tuple(found), answer.next, asked.terms, asked.problems)

        return await self._search(work)

    async def hits(self, id: str, query: str, *, most: int = HITS) -> list[Hit]:
        """The matches in one conversation, oldest first, for navigation from hit to hit."""
        asked = parse(query)

        def work(searcher: Searcher) -> list[Hit]:
            return [hit_of(searcher, each, asked) for each in searcher.hits(asked, id, most)]

        return await self._search(work)

    async def preview(self, id: str, at: int | None = None, *, before: int = 20, behind: int = 40) -> Preview:
        """Events of the conversation `id` around the one numbered `at`, or its last ones."""

        def work(searcher: Searcher) -> Preview:
            return Preview(*events.around(searcher.view.connection, id, at, before, behind))

        return await self._search(work)

    # Management.

    async def rename(self, id: str, title: str) -> None:
        """Set the title; after an empty one, the next message sets it."""
        await (await self._store()).rename(id, title)

    async def trash(self, id: str) -> None:
        """Move a conversation to the trash; `restore` reverts that.

        Raises:
            OpenElsewhereError: another process has it open.
        """
        async with self._marked(id, time(), _TRASH, "Close it there first (`/new`, or quit the program)."):
            await Trash((await self._store()).database).move(id)

    async def restore(self, id: str) -> None:
        """Restore a conversation from the trash."""
        await Trash((await self._store()).database).restore(id)

    async def restore_if_trashed(self, id: str) -> bool:
        """Restore a conversation if it is in the trash, and return whether it was."""
        return await Trash((await self._store()).database).restore_if_trashed(id)

    async def fork(
        self, id: str, through: int | None = None, *, project: str | None = None
    ) -> StoredConversation:
        """A new conversation with the events up to the number `through`, or all; in another directory if
        `project` is given.

        Raises:
            UsageError: it has no event with that number.
        """
        return await Forks((await self._store()).database).fork(id, through, project=project)

    async def tree(self, id: str) -> ForkTree:
        """The tree of forks that contains a conversation, from its root."""
        return await Forks((await self._store()).database).tree(id)

    async def compare(self, left: str, right: str) -> Comparison:
        """The common part of two conversations, and what each has since: answers, files, cost."""
        return await compare(await self._store(), left, right)

    # Export and import.

    async def export_lines(self, id: str) -> list[str]:
        """A conversation as lines of JSON, which `import_lines` accepts; for reading, see `agent.export`."""
        from cogency_tui.store import export_import

        blobs = await self._blobs()

        def work(searcher: Searcher) -> list[str]:
            connection = searcher.view.connection
            connection.execute("BEGIN")
            try:
                lines = export_import.exported(connection, id, blobs)
                return [json.dumps(line, ensure_ascii=True, separators=(",", ":")) for line in lines]
            finally:
                connection.execute("ROLLBACK")

        return await self._search(work)

    async def import_lines(self, lines: Sequence[str]) -> StoredConversation:
        """Store the lines of `export_lines`, all or nothing.

        Raises:
            UsageError: it is no export; the message names the invalid line.
        """
        from cogency_tui.store import export_import

        store, blobs = await self._store(), await self._blobs()
        id = await store.database.write(partial(export_import.imported, lines=lines, blobs=blobs))
        found = await store.conversation(id)
        assert found is not None
        return found

    # Figures and marks.

    async def statistics(
        self, *, where: Where = "project", since: float | None = None, before: float | None = None
    ) -> Statistics:
        """The totals of a period, between two moments in Unix seconds."""

        def work(searcher: Searcher) -> Statistics:
            connection = searcher.view.connection
            own = scope_of(connection, searcher.directory, self.project) if where == "project" else None
            return statistics(connection, own, since, before)

        return await self._search(work)

    async def usage(self, by: "Sequence[Dimension]", span: "Span") -> "UsageReport":
        """The usage of a period by dimensions."""
        from cogency_tui.agent.usage_report import report_usage

        def work(searcher: Searcher) -> "UsageReport":
            return report_usage(searcher.view.connection, by, span, searcher.directory, self.project)

        return await self._search(work)

    async def open_elsewhere(self) -> list[Mark]:
        """The conversations that other processes currently have open."""
        return await asyncio.to_thread((await self._marks()).elsewhere)

    async def commands_elsewhere(self) -> list[Mark]:
        """The background commands that other processes currently run."""
        return await asyncio.to_thread((await self._marks()).commands_elsewhere)

    @asynccontextmanager
    async def running(self, id: str, name: str, command: str) -> AsyncGenerator[None]:
        """Mark a background command of a conversation, by its `name`, as running as long as the block runs;
        without a store there is no mark."""
        marks = None
        with suppress(CogencyError):
            marks = await self._marks()
        key = command_key(id, command)
        try:
            if marks is not None:
                await completed(asyncio.to_thread(marks.enter, key, time(), name))
            yield
        finally:
            if marks is not None:
                await completed(asyncio.to_thread(marks.leave, key, name))

    async def enter(self, id: str, now: float) -> bool:
        """Mark a conversation as open here until `leave` or `close`; False if another process has it open."""
        return await asyncio.to_thread((await self._marks()).enter, id, now)

    def working_in(self, id: str, now: float) -> AbstractAsyncContextManager[None]:
        """Mark a conversation as at work here, as long as the block runs.

        Raises:
            OpenElsewhereError: another process has it open.
        """
        hint = (
            "Close it there (`/new`, or quit the program), or continue in a fork:"
            f" cogency-tui conversations fork {id}"
        )
        return self._marked(id, now, WORK, hint)

    @asynccontextmanager
    async def _marked(self, id: str, now: float, use: str, hint: str) -> AsyncGenerator[None]:
        """Mark a conversation as in `use` here; with `hint` in the error if another process has it."""
        marks = await self._marks()
        if not await asyncio.to_thread(marks.enter, id, now, use):
            # If the disk refuses the mark, no other process need have the conversation open.
            held = [mark for mark in await asyncio.to_thread(marks.elsewhere) if mark.conversation == id]
            if held:
                raise OpenElsewhereError(f"This conversation is open in process {held[0].pid}.", hint)
        try:
            yield
        finally:
            await asyncio.to_thread(marks.leave, id, use)

    @asynccontextmanager
    async def waiting_in(self, id: str) -> AsyncGenerator[None]:
        """Mark a conversation that is at work here as waiting for an answer, as long as the block runs."""
        marks = None
        with suppress(CogencyError):
            marks = await self._marks()
        try:
            if marks is not None:
                await completed(asyncio.to_thread(marks.enter, id, time(), WAIT))
            yield
        finally:
            if marks is not None:
                await completed(asyncio.to_thread(marks.leave, id, WAIT))

    async def leave(self, id: str) -> None:
        """Remove the mark of `enter`."""
        await asyncio.to_thread((await self._marks()).leave, id)

    # The index.

    async def indexed(self) -> Indexed:
        """The extent of the index."""
        return Indexed(*await self._search(lambda searcher: searcher.extent()))

    async def update_index(self, *, least: int = BACKLOG) -> AsyncIterator[Indexed]:
        """Update the index in a separate process if at least `least` events are missing; yield its extent
        from time to time. A consumer that stops listening stops the update, without loss of what is done.
        """
        state = await self.indexed()
        if state.total - state.done < least or self._indexing.locked():
            return
        async with self._indexing:
            directory = (await self._store()).database.path.parent
            async with aclosing(_UPDATE.lines(str(directory))) as lines:
                async for line in lines:
                    done, total = line.split()
                    yield Indexed(int(done), int(total))

    async def _search(self, work: Callable[[Searcher], T]) -> T:
        return await (await self._searching()).run(work)

    async def _searching(self) -> SearchService:
        if self._service is None:
            store = await self._store()
            self._service = self._service or SearchService(
                store.database.path.parent,
                store.notices,
                read_only=store.database.read_only,
                redact=self._redact,
            )
        return self._service

    async def _marks(self) -> Presence:
        if self._presence is None:
            directory = (await self._store()).database.path.parent
            self._presence = self._presence or Presence(directory)
        return self._presence

    async def _blobs(self) -> Blobs:
        return Blobs((await self._store()).database.path.parent / BLOBS)

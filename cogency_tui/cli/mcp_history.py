"""The user's history as other agents read it, through `cogency-tui mcp`.

Invariant: nothing outside the scope (a project with its worktrees, or all) and nothing in the trash is shown,
not even to one who knows its id; secrets are redacted and control characters removed, as in exports; of the
model's requests (environment, profile, opaque reasoning) there is nothing. Every answer is bounded, and says
how to read on. The store is opened for each question, to read it alone, so that one that is created, repaired
or updated meanwhile is the one that is read.

Only the search index is written: by the process that `recall` on the command line starts, too, if many events
are missing in it. Without that, each search would read all of them: a minute in a large store, or after an
import.
"""

import asyncio
import base64
import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, cast

import msgspec
from msgspec import Meta, Struct

from cogency_tui.agent.edits.file_history import histories, is_agents
from cogency_tui.agent.edits.undo_preview import difference
from cogency_tui.agent.edits.undo_selection import undone_edits
from cogency_tui.agent.export import Done, Message, exchange
from cogency_tui.agent.recall.recall import Recall
from cogency_tui.agent.recall.recall_for_model import in_words
from cogency_tui.agent.recall.results import ListedConversation, Preview
from cogency_tui.cli.edits import Paths
from cogency_tui.cli.edits_output import state_of
from cogency_tui.errors import CogencyError, StoreError, UsageError
from cogency_tui.protocol.events import Event, Measure
from cogency_tui.redaction import MARKER, ConversationSecrets, Redactor, is_secret_file
from cogency_tui.redaction.named_values import is_named_secret
from cogency_tui.safe_text import clean
from cogency_tui.store import origins, usage
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.edit_records import Edit, FileChange, Mark
from cogency_tui.store.edits import Edits
from cogency_tui.store.fork_lineage import inherited_measures
from cogency_tui.store.project_scope import projects_of
from cogency_tui.store.search.documents import Document
from cogency_tui.store.search.index_file import BLOBS
from cogency_tui.store.search.searcher import Cursor
from cogency_tui.store.store import Store, StoredConversation
from cogency_tui.tools.recall import HISTORY_NOTE
from cogency_tui.tools.worker_threads import in_thread
from cogency_tui.workspace import diff

LARGEST = 40_000
"""Characters of the texts in an answer."""

_PROMPT = 500
_LONGEST_NAME = 1_000
_CALLS = 40
_FILES = 40
_PAGE = 100
_AT_ONCE = 4
"""Questions that are answered at the same time; one of them may be the index's."""

_INDEXING = 5.0
"""Seconds that a search waits for the index."""

Number = Annotated[int, Meta(ge=1, le=10**15)]
Id = Annotated[str, Meta(min_length=1, max_length=200, description="id from a result of recall")]
Offset = Annotated[int, Meta(ge=0, le=1 << 40)]


# Arguments.


class RecallArguments(Struct, frozen=True, forbid_unknown_fields=True):
    query: Annotated[
        str,
        Meta(
            max_length=500,
            description='words, "phrases", file:NAME tool:NAME error:TEXT model:NAME since:30d '
            "before:2026-05-01; empty lists all",
        ),
    ] = ""
    order: Annotated[
        Literal["best", "newest"], Meta(description="best matches first, or the last updated conversation")
    ] = "best"
    limit: Annotated[int, Meta(ge=1, le=50, description="conversations")] = 10
    after: (
        Annotated[str, Meta(max_length=1000, description="`more_after` of the result before, for more")]
        | None
    ) = None


class ConversationArguments(Struct, frozen=True, forbid_unknown_fields=True):
    conversation: Id
    around: Annotated[Number | None, Meta(description="event number: that event and those around it")] = None
    start: Annotated[Number | None, Meta(description="event number: from that event on")] = None
    limit: Annotated[int, Meta(ge=1, le=100, description="events")] = 20
    length: Annotated[int, Meta(ge=1, le=20_000, description="characters of each event")] = 2_000
    offset: Annotated[Offset, Meta(description="characters to skip, to read on in a long event")] = 0


class TimelineArguments(Struct, frozen=True, forbid_unknown_fields=True):
    conversation: Id
    start: Annotated[Number | None, Meta(description="first turn; default: the last turns")] = None
    limit: Annotated[int, Meta(ge=1, le=50, description="turns")] = 10


class EditsArguments(Struct, frozen=True, forbid_unknown_fields=True):
    path: (
        Annotated[
            str,
            Meta(min_length=1, max_length=4096, description="file, relative to its project or absolute"),
        ]
        | None
    ) = None
    conversation: Id | None = None
    turn: Annotated[Number | None, Meta(description="only this turn of the conversation")] = None
    edit: Annotated[Number | None, Meta(description="only the edit of this number")] = None
    diff: Annotated[bool, Meta(description="with a unified diff: of each edit, or of a turn as a whole")] = (
        False
    )
    limit: Annotated[int, Meta(ge=1, le=100, description="edits")] = 20
    before: Annotated[Number | None, Meta(description="edit number: only earlier edits")] = None
    offset: Annotated[Offset, Meta(description="characters of each diff to skip, to read on in it")] = 0


# Answers.


class FoundText(Struct, frozen=True, omit_defaults=True):
    event: int
    conversation: str
    kind: str
    time: str
    text: str
    tool: str = ""


class FoundConversation(Struct, frozen=True, omit_defaults=True):
    id: str
    title: str
    project: str
    updated: str
    turns: int
    model: str
    files: int
    hits: list[FoundText]
    more_hits: bool = False
    source: str = ""
    """The agent that it was imported from, or whose it is; empty for one of this program and machine."""


class RecallAnswer(Struct, frozen=True, omit_defaults=True):
    note: str
    conversations: list[FoundConversation]
    problems: list[str] = []
    more_after: str = ""
    """The `after` for more conversations, if there are any."""


class ReadEvent(Struct, frozen=True, omit_defaults=True):
    number: int
    time: str
    kind: str
    text: str
    characters_left: int = 0
    next_offset: int = 0


class ConversationAnswer(Struct, frozen=True, omit_defaults=True):
    note: str
    id: str
    title: str
    project: str
    model: str
    turns: int
    events: list[ReadEvent]
    earlier_around: int = 0
    """The `around` for earlier events, if there are any."""
    later_start: int = 0
    """The `start` for later events, if there are any."""
    source: str = ""


class MadeCall(Struct, frozen=True, omit_defaults=True):
    event: int
    tool: str
    about: str
    state: str


class ChangedFile(Struct, frozen=True, omit_defaults=True):
    path: str
    kind: str
    added: int
    removed: int
    edits: list[int]


class Turn(Struct, frozen=True, omit_defaults=True):
    turn: int
    event: int
    time: str
    asked: str
    calls: list[MadeCall]
    files: list[ChangedFile]
    tokens: int
    answer: str = ""
    failure: str = ""
    cost: float | None = None
    more_calls: int = 0
    more_files: int = 0


class TimelineAnswer(Struct, frozen=True, omit_defaults=True):
    note: str
    id: str
    title: str
    project: str
    model: str
    turns: int
    shown: list[Turn]
    earlier_start: int = 0
    """The `start` for earlier turns, if there are any."""
    later_start: int = 0
    """The `start` for later turns, if there are any."""
    source: str = ""


class MadeEdit(Struct, frozen=True, omit_defaults=True):
    edit: int
    conversation: str
    turn: int
    time: str
    tool: str
    kind: str
    path: str
    added: int
    removed: int
    project: str
    old_path: str = ""
    state: str = ""
    diff: str = ""
    characters_left: int = 0
    next_offset: int = 0


class EditsAnswer(Struct, frozen=True, omit_defaults=True):
    note: str
    edits: list[MadeEdit]
    diff: str = ""
    characters_left: int = 0
    next_offset: int = 0
    earlier_before: int = 0
    """The `before` for earlier edits, if there are any."""


class Answer(NamedTuple):
    """A result as text for the model, and as a value."""

    text: str
    value: Struct


class History:
    """The history in the store of `directory`: of `project` and its worktrees, or with None of all projects.

    All methods raise `UsageError` for arguments that cannot be used, and `StoreError`.
    """

    def __init__(self, directory: Path, project: str | None) -> None:
        self._directory = directory
        self._project = project
        self._redactor = Redactor({})
        self._room = asyncio.Semaphore(_AT_ONCE)
        self._indexing: asyncio.Task[None] | None = None

    async def close(self) -> None:
        """Stop what runs in the background."""
        if self._indexing is not None:
            self._indexing.cancel()
            await asyncio.wait([self._indexing])

    async def recall(self, given: RecallArguments) -> Answer:
        """Search conversations."""
        after = _cursor(given.after) if given.after else None
        await self._update_index()
        async with self._opened() as (store, recall):
            names = await store.database.read(origins.names)
            page = await recall.page(
                given.query,
                where="everywhere" if self._project is None else "project",
                order=given.order,
                limit=given.limit,
                after=after,
            )
        answer = RecallAnswer(
            HISTORY_NOTE,
            [self._found(each, names) for each in page.listed],
            [f"searched as text: {self._shown(each)}" for each in page.problems],
            _encoded(page.next) if page.next else "",
        )
        lines = [*map(_describe_found, answer.conversations)] or ["Nothing matches."]
        lines = [*(f"[{problem}]" for problem in answer.problems), *lines]
        lines += [f"[more conversations: after={answer.more_after}]"] if answer.more_after else []
        return Answer("\n\n".join([f"[{HISTORY_NOTE}]", *lines]), answer)

    async def conversation(self, given: ConversationArguments) -> Answer:
        """Read events of a conversation."""
        if given.around is not None and given.start is not None:
            raise UsageError("around and start cannot be combined.", "Give one of them.")
        before = 0 if given.start is not None else given.limit - 1
        before = given.limit // 3 if given.around is not None else before
        at = given.around if given.around is not None else given.start
        async with self._opened() as (store, recall):
            found = await self._readable(store, given.conversation)
            behind = given.limit - 1 - before
            preview = await recall.preview(found.id, at, before=before, behind=behind)
            names = await store.database.read(origins.names)
        return await in_thread(self._read, found, self._source(found, names), preview, given)

    async def timeline(self, given: TimelineArguments) -> Answer:
        """Sum up turns of a conversation."""
        async with self._opened() as (store, _recall):
            found = await self._readable(store, given.conversation)
            starts = [number for number, _text in await store.messages(found.id, (1 << 63) - 1)]
            first = given.start or max(1, len(starts) - given.limit + 1)
            if first > len(starts):
                many = "no turns" if not starts else f"turns 1 to {len(starts)}"
                raise UsageError(f"Conversation {clean(found.id)} has {many}.")
            names = await store.database.read(origins.names)
            edits = await Edits(store.database).in_history(found.id)
            turns: list[Turn] = []
            size = 0
            async for turn, events, until in _turns(store, found.id, starts, first):
                if len(turns) == given.limit or (turns and size > LARGEST):
                    break
                made = [edit for edit in edits if edit.origin.turn == turn and is_agents(edit)]
                tokens, cost = await _used(store, found.id, events[0][1]["timestamp"], until)
                turns.append(await in_thread(self._turn, turn, events, made, tokens, cost))
                size += _size(turns[-1])
        later = first + len(turns)
        answer = TimelineAnswer(
            HISTORY_NOTE,
            *(
                clean(found.id),
                self._name(found.title),
                self._name(found.project),
                _model(found),
                len(starts),
            ),
            turns,
            max(1, first - given.limit) if first > 1 else 0,
            later if later <= len(starts) else 0,
            self._source(found, names),
        )
        lines = [f"[{HISTORY_NOTE}]", _head(answer), *map(_describe_turn, turns)]
        lines += [f"[earlier turns: start={answer.earlier_start}]"] if answer.earlier_start else []
        lines += [f"[later turns: start={answer.later_start}]"] if answer.later_start else []
        return Answer("\n\n".join(lines), answer)

    async def edits(self, given: EditsArguments) -> Answer:
        """List edits of a file, a conversation or a turn, the latest first, or one."""
        if given.edit is None and given.path is None and given.conversation is None:
            raise UsageError("path, conversation or edit is missing.", "Give one of them.")
        if given.turn is not None and given.conversation is None:
            raise UsageError("turn needs conversation.")
        async with self._opened() as (store, _recall):
            chosen, more = await self._chosen(store, given)
            blobs = Blobs(self._directory / BLOBS)
            states = await self._states(store, chosen)
        return await in_thread(self._listed, chosen, more, states, blobs, given)

    # The store.

    @asynccontextmanager
    async def _opened(self) -> AsyncGenerator[tuple[Store, Recall]]:
        async with self._room, await Store.open_to_read(self._directory) as store:

            async def opened() -> Store:
                return store

            recall = Recall(opened, self._project or "", redact=self._document)
            try:
                yield store, recall
            finally:
                await recall.close()

    async def _update_index(self) -> None:
        """Start to update the search index if many events are missing, and wait for it for a while."""
        if self._indexing is None or self._indexing.done():
            if not os.access(self._directory, os.W_OK):
                return
            self._indexing = asyncio.create_task(self._index())
        await asyncio.wait([self._indexing], timeout=_INDEXING)

    async def _index(self) -> None:
        # Searches work without it.
        with suppress(CogencyError, OSError):
            async with self._opened() as (_store, recall):
                async for _progress in recall.update_index():
                    pass

    async def _readable(self, store: Store, id: str) -> StoredConversation:
        """The conversation of this id, if it may be read: it or, of a sub-agent's, the user's."""
        found = await store.conversation(id)
        if found is not None:
            root = (await Edits(store.database).origin(id)).conversation
            user = found if root == id else await store.conversation(root)
            if user is not None and user.project in await self._projects(store):
                if user.trashed is not None:
                    raise UsageError(f"The user moved conversation {self._shown(id)} to the trash.")
                return found
        where = "" if self._project is None else " of this project"
        raise UsageError(
            f"There is no conversation{where} with the id {self._shown(id)!r}.",
            "Use an id from a result of recall.",
        )

    async def _projects(self, store: Store) -> list[str]:
        return await store.database.read(
            lambda connection: projects_of(connection, self._directory, self._project)
        )

    async def _chosen(self, store: Store, given: EditsArguments) -> tuple[list[Edit], bool]:
        """The edits that were asked for, the latest first, and whether there are more."""
        edits = Edits(store.database)
        if given.edit is not None:
            try:
                found = await edits.get(given.edit)
                await self._readable(store, found.origin.conversation)
            except UsageError:
                where = "" if self._project is None else " of this project"
                raise UsageError(f"There is no edit{where} with the number {given.edit}.") from None
            return [found], False
        if given.conversation is None:
            assert given.path is not None
            return await self._at_path(store, given.path, given)
        conversation = await self._readable(store, given.conversation)
        listed = await edits.in_history(conversation.id)
        paths = _paths(conversation.project, given.path)
        chosen = [
            edit
            for edit in reversed(listed)
            if given.turn in (None, edit.origin.turn)
            and (given.before is None or edit.id < given.before)
            and paths.cover(edit.path, edit.old_path)
        ]
        return chosen[: given.limit], len(chosen) > given.limit

    async def _at_path(self, store: Store, path: str, given: EditsArguments) -> tuple[list[Edit], bool]:
        """The edits of a file in all projects of the scope."""
        edits = Edits(store.database)
        readable: dict[str, bool] = {}
        chosen: dict[int, Edit] = {}
        for project in await self._projects(store):
            for name in _paths(project, path).names:
                before, wanted = given.before, given.limit + 1
                while wanted > 0:
                    page = await edits.of_project(project, path=name, limit=_PAGE, before=before)
                    for edit in page:
                        owner = edit.origin.conversation
                        if owner not in readable:
                            readable[owner] = await self._is_readable(store, owner)
                        if readable[owner]:
                            chosen[edit.id] = edit
                            wanted -= 1
                    if len(page) < _PAGE:
                        break
                    before = page[-1].id
        latest = [chosen[id] for id in sorted(chosen, reverse=True)]
        return latest[: given.limit], len(latest) > given.limit

    async def _is_readable(self, store: Store, id: str) -> bool:
        try:
            await self._readable(store, id)
        except UsageError:
            return False
        return True

    async def _states(self, store: Store, chosen: Sequence[Edit]) -> dict[int, str]:
        """The state of each edit."""
        edits = Edits(store.database)
        decided: dict[str, tuple[list[Mark], set[int]]] = {}
        for owner in {edit.origin.conversation for edit in chosen}:
            decided[owner] = await edits.marks(owner), undone_edits(await edits.in_history(owner))
        return {edit.id: state_of(edit, *decided[edit.origin.conversation]) for edit in chosen}

    # Values.

    def _shown(self, text: str) -> str:
        """A text of the history as it may be shown."""
        return self._redactor.text(clean(text))

    def _name(self, text: str) -> str:
        """A title, path or name as it may be shown: of a length that suits one."""
        text = self._shown(text)
        return text if len(text) <= _LONGEST_NAME else f"{text[:_LONGEST_NAME]}…"

    def _document(self, document: Document) -> str:
        text = document.text
        for name, value in document.named:
            if is_named_secret(name, value):
                text = text.replace(value, MARKER)
        path = next(filter(is_secret_file, document.paths), "")
        return self._redactor.value(clean(text), file=path)

    def _source(self, stored: StoredConversation, names: Mapping[str, str]) -> str:
        return self._name(names.get(stored.source, stored.source))

    def _found(self, listed: ListedConversation, names: Mapping[str, str]) -> FoundConversation:
        stored = listed.conversation
        hits = [
            FoundText(
                *(hit.event, clean(hit.within), hit.kind, _time(hit.timestamp), self._name(hit.text)),
                self._name(hit.tool),
            )
            for hit in listed.hits
        ]
        return FoundConversation(
            *(clean(stored.id), self._name(stored.title), self._name(stored.project), _time(stored.updated)),
            *(stored.turns, _model(stored), listed.files, hits, listed.more, self._source(stored, names)),
        )

    def _read(
        self, found: StoredConversation, source: str, preview: Preview, given: ConversationArguments
    ) -> Answer:
        numbered = preview.events
        has_earlier, has_later = preview.before, preview.behind
        if given.start is not None:
            has_earlier = has_earlier or any(number < given.start for number, _event in numbered)
            numbered = tuple(each for each in numbered if each[0] >= given.start)
        secrets = ConversationSecrets(event for _, event in preview.events)
        events = [
            self._event(number, cast("Event", secrets.event(event)), given) for number, event in numbered
        ]
        at = len(events) - 1
        if given.start is not None:
            at = 0
        elif given.around is not None:
            at = max(0, sum(each.number <= given.around for each in events) - 1)
        first, end = _window(events, at)
        has_earlier, has_later = has_earlier or first > 0, has_later or end < len(events)
        events = events[first:end]
        answer = ConversationAnswer(
            HISTORY_NOTE,
            *(
                clean(found.id),
                self._name(found.title),
                self._name(found.project),
                _model(found),
                found.turns,
            ),
            events,
            events[0].number if has_earlier and events else 0,
            events[-1].number + 1 if has_later and events else 0,
            source,
        )
        lines = [f"[{HISTORY_NOTE}]", "", _head(answer)]
        lines += [f"[earlier events: around={answer.earlier_around}]"] if answer.earlier_around else []
        lines += [_describe_event(each) for each in events] or ["(no events)"]
        lines += [f"[later events: start={answer.later_start}]"] if answer.later_start else []
        return Answer("\n".join(lines), answer)

    def _event(self, number: int, event: Event, given: ConversationArguments) -> ReadEvent:
        label, parts = in_words(self._redactor.value(event))
        text = self._shown("\n".join(parts))
        part = _part(text, given.offset, given.length)
        return ReadEvent(number, _time(event["timestamp"]), self._name(label), *part)

    def _turn(
        self,
        turn: int,
        events: Sequence[tuple[int, Event]],
        edits: Sequence[Edit],
        tokens: int,
        cost: float,
    ) -> Turn:
        calls = [number for number, event in events if event["type"] == "call"]
        read = [*exchange([_without_output(event) for _number, event in events])]
        done = [each for each in read if isinstance(each, Done)]
        messages = [each for each in read if isinstance(each, Message)]
        asked = next((each.text for each in messages if each.kind == "prompt"), "")
        answer = next((each.text for each in reversed(messages) if each.kind == "answer"), "")
        failure = next((each.text for each in reversed(messages) if each.kind == "failure"), "")
        changed = histories(edits)
        return Turn(
            *(turn, events[0][0], _time(events[0][1]["timestamp"]), self._brief(asked)),
            [
                MadeCall(number, self._name(each.tool), self._name(each.about), each.state)
                for number, each in zip(calls[:_CALLS], done, strict=False)
            ],
            [self._file(each.change, each.edits) for each in changed[:_FILES]],
            *(tokens, self._brief(answer), self._brief(failure), round(cost, 6) or None),
            *(max(0, len(calls) - _CALLS), max(0, len(changed) - _FILES)),
        )

    def _brief(self, text: str) -> str:
        text = self._shown(text)
        return text if len(text) <= _PROMPT else f"{text[:_PROMPT]}…"

    def _file(self, change: FileChange, edits: Sequence[Edit]) -> ChangedFile:
        added, removed = diff.count(self._difference(change, Blobs(self._directory / BLOBS)))
        numbers = [edit.id for edit in edits]
        return ChangedFile(self._name(change.path), change.kind, added, removed, numbers)

    def _difference(self, change: FileChange, blobs: Blobs) -> str:
        """The difference of the redacted contents: what makes a secret of a line may not be in the diff."""

        def redacted(text: str) -> str:
            return self._redactor.text(text, file=change.path)

        try:
            return difference(change, blobs, redacted)
        except StoreError as exc:
            return f"({exc.sentence})\n"

    def _listed(
        self,
        chosen: Sequence[Edit],
        more: bool,
        states: dict[int, str],
        blobs: Blobs,
        given: EditsArguments,
    ) -> Answer:
        of_turn = given.diff and given.turn is not None
        listed: list[MadeEdit] = []
        room = LARGEST
        for edit in chosen:
            text = self._difference(edit, blobs)
            added, removed = diff.count(text)
            part = _Part()
            if (given.diff and not of_turn) or given.edit is not None:
                part = _part(self._shown(text), given.offset, max(0, room))
                room -= len(part.text)
            listed.append(
                MadeEdit(
                    *(edit.id, clean(edit.origin.conversation), edit.origin.turn, _time(edit.timestamp)),
                    *(self._name(edit.tool), edit.kind, self._name(edit.path), added, removed),
                    *(self._name(edit.origin.project), self._name(edit.old_path), states[edit.id]),
                    *part,
                )
            )
        whole = _Part()
        if of_turn:
            net = histories(sorted(chosen, key=lambda edit: edit.id))
            text = "".join(self._difference(each.change, blobs) for each in net)
            whole = _part(self._shown(text), given.offset, LARGEST)
        answer = EditsAnswer(HISTORY_NOTE, listed, *whole, chosen[-1].id if more else 0)
        lines = [f"[{HISTORY_NOTE}]", "\n".join(map(_describe_edit, listed)) or "No edits."]
        lines += [f"{whole.text.rstrip()}{_cut_mark(whole.left, whole.next)}"] if of_turn else []
        lines += [_describe_diff(each) for each in listed if each.diff or each.characters_left]
        lines += [f"[earlier edits: before={answer.earlier_before}]"] if answer.earlier_before else []
        return Answer("\n\n".join(lines), answer)


def _without_output(event: Event) -> Event:
    """An event without what a call gave, which a timeline does not show: redacting it takes time."""
    if event["type"] == "result":
        return {**event, "payload": {**event["payload"], "content": None}}
    return event


async def _turns(
    store: Store, id: str, starts: Sequence[int], first: int
) -> AsyncGenerator[tuple[int, list[tuple[int, Event]], float]]:
    """The turns of a conversation from the `first` on, given the events at which turns start: the number of
    each, its events, and when the next begins."""
    later = iter(starts[first:])
    next_start = next(later, None)
    turn = first
    gathered: list[tuple[int, Event]] = []
    async with aclosing(store.event_pages(id, starts[first - 1] - 1)) as pages:
        async for page in pages:
            for number, event in page:
                if number == next_start:
                    yield turn, gathered, event["timestamp"]
                    turn, gathered, next_start = turn + 1, [], next(later, None)
                gathered.append((number, event))
    yield turn, gathered, float("inf")


async def _used(store: Store, id: str, since: float, before: float) -> tuple[int, float]:
    """The tokens and the dollars of a period; of a fork with what it has from its origin."""
    used = await store.database.read(lambda connection: usage.between(connection, id, since, before))
    inherited = await store.database.read(lambda connection: inherited_measures(connection, id))
    own: list[Measure] = [measure for moment, measure in inherited if since <= moment < before]
    tokens = sum(each.get("input", 0) + each.get("output", 0) for each in own)
    return used.tokens + tokens, used.dollars + sum(each.get("cost", 0.0) for each in own)


def _paths(project: str, path: str | None) -> Paths:
    try:
        return Paths(Path(project), [path] if path else [])
    except ValueError:
        raise UsageError("path is no path: it has characters that no file name has.") from None


def _cursor(text: str) -> Cursor:
    try:
        return msgspec.json.decode(base64.urlsafe_b64decode(text), type=Cursor)
    except (ValueError, msgspec.MsgspecError):
        raise UsageError("after is not from a result of recall.", "Pass `more_after` unchanged.") from None


def _encoded(cursor: Cursor) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(cursor)).decode()


def _window(events: Sequence[ReadEvent], at: int) -> tuple[int, int]:
    """The events around one that fit into an answer: the first, and the one behind the last."""
    if not events:
        return 0, 0
    first, end, room = at, at, LARGEST
    while first > 0 or end < len(events):
        grown = False
        if end < len(events) and (end == at or len(events[end].text) <= room):
            room -= len(events[end].text)
            end, grown = end + 1, True
        if first > 0 and len(events[first - 1].text) <= room:
            room -= len(events[first - 1].text)
            first, grown = first - 1, True
        if not grown:
            break
    return first, end


class _Part(NamedTuple):
    """A part of a text, the number of characters behind it, and the offset to read on (0 at the end)."""

    text: str = ""
    left: int = 0
    next: int = 0


def _part(text: str, offset: int, length: int) -> _Part:
    part = text[offset : offset + length]
    left = max(0, len(text) - offset - len(part))
    return _Part(part, left, offset + len(part) if left else 0)


def _size(turn: Turn) -> int:
    return len(msgspec.json.encode(turn))


def _time(moment: float) -> str:
    """A time in Unix seconds, as ISO 8601 in the user's time zone; empty for one that no calendar has."""
    try:
        return datetime.fromtimestamp(moment).astimezone().isoformat(timespec="seconds")
    except (ValueError, OverflowError, OSError):
        return ""


def _model(stored: StoredConversation) -> str:
    return clean(f"{stored.provider}/{stored.model}")


def _titled(title: str) -> str:
    return title or "Untitled"


def _turns_of(count: int) -> str:
    return f"{count} turn{'' if count == 1 else 's'}"


def _head(answer: ConversationAnswer | TimelineAnswer) -> str:
    facts = [answer.id, answer.project, answer.model, _turns_of(answer.turns)]
    facts += [f"from {answer.source}"] if answer.source else []
    return f"{_titled(answer.title)} ({', '.join(facts)})"


def _cut_mark(left: int, offset: int) -> str:
    return f"\n[… {left:,} characters more: offset={offset}]" if left else ""


def _describe_found(found: FoundConversation) -> str:
    facts = [found.id, found.updated, _turns_of(found.turns), found.model, found.project]
    facts += [f"from {found.source}"] if found.source else []
    facts += [f"{found.files} file{'' if found.files == 1 else 's'} changed"] if found.files else []
    lines = [_titled(found.title), f"  conversation {', '.join(facts)}"]
    for hit in found.hits:
        what = f"{hit.kind} of {hit.tool}" if hit.tool else hit.kind
        within = "" if hit.conversation == found.id else f" in its sub-agent {hit.conversation}"
        lines.append(f"  at {hit.event}{within}, {what}: {hit.text}")
    return "\n".join([*lines, "  …"] if found.more_hits else lines)


def _describe_event(event: ReadEvent) -> str:
    left = _cut_mark(event.characters_left, event.next_offset)
    return f"{event.number} {event.time} {event.kind}: {event.text}{left}"


def _describe_turn(turn: Turn) -> str:
    lines = [f"turn {turn.turn}, event {turn.event}, {turn.time}: {turn.asked}"]
    lines += [f"  {each.event} {each.tool} {each.about} ({each.state})" for each in turn.calls]
    lines += [f"  … {turn.more_calls} more calls"] if turn.more_calls else []
    for file in turn.files:
        edits = ", ".join(map(str, file.edits))
        lines.append(f"  {file.kind} {file.path} +{file.added} −{file.removed} (edits {edits})")
    lines += [f"  … {turn.more_files} more files"] if turn.more_files else []
    cost = f", ${turn.cost:.4f}" if turn.cost else ""
    lines.append(f"  {turn.tokens:,} tokens{cost}")
    lines += [f"  failed: {turn.failure}"] if turn.failure else []
    lines += [f"  answer: {turn.answer}"] if turn.answer else []
    return "\n".join(lines)


def _describe_edit(edit: MadeEdit) -> str:
    name = f"{edit.old_path} → {edit.path}" if edit.old_path else edit.path
    state = f", {edit.state}" if edit.state else ""
    return (
        f"edit {edit.edit}, {edit.time}, conversation {edit.conversation} turn {edit.turn}, {edit.tool}: "
        f"{edit.kind} {name} +{edit.added} −{edit.removed}{state}"
    )


def _describe_diff(edit: MadeEdit) -> str:
    left = _cut_mark(edit.characters_left, edit.next_offset)
    return f"edit {edit.edit}:\n{edit.diff.rstrip()}{left}"

"""A conversation at any of its events: the messages, the model's requests, the files, the cost.

    timeline = agent.timeline(conversation_id)
    past = await timeline.read()                      # once; a point is an index into `past.points`
    exchange = await timeline.exchange(past, index)   # the exact messages
    files = await timeline.files(past, index)         # as they were, whether they still are so
    plan = await timeline.restore(past, index)        # previewed; then `apply`, which can be undone

Invariant: only `apply` changes anything. The event loop is never blocked.
"""

from collections.abc import Awaitable, Callable, Iterator, Sequence

from cogency_tui.agent.edits.file_history import histories, path_today, renames
from cogency_tui.agent.edits.journal import Journal
from cogency_tui.agent.edits.prior_contents import Contents
from cogency_tui.agent.edits.undo import Undo
from cogency_tui.agent.edits.undo_preview import Plan, difference
from cogency_tui.agent.edits.undo_selection import UndoRecord
from cogency_tui.agent.request_messages import messages_of, tools_of
from cogency_tui.agent.timeline.loader import CurrentFrame, read_past
from cogency_tui.agent.timeline.model import Asked, Exchange, Past, PastFile
from cogency_tui.errors import StoreError, UsageError, WorkspaceError
from cogency_tui.protocol.events import Event
from cogency_tui.protocol.messages import NO_ITEMS, AnswerItems, Message
from cogency_tui.providers.base import unanswered
from cogency_tui.store.answer_items import StoredAnswerItems
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.edit_records import Edit, FileChange
from cogency_tui.store.foreign_sessions import AGENTS
from cogency_tui.store.requests import Request
from cogency_tui.store.store import Store
from cogency_tui.store.summaries import Summaries
from cogency_tui.tools.worker_threads import in_thread
from cogency_tui.workspace.protected_names import shown


def files_at(past: Past, index: int) -> list[PastFile]:
    """The files of a conversation at a point, as far as the journal shows: those changed by then, and after
    them those that were changed only later, each by path. Pure.

    A file that was not touched by then is as it was before its first edit.
    """
    before, after = past.edits_until(index), past.edits_after(index)
    renamed = renames(sorted((*before, *after), key=_number))
    is_foreign = past.conversation.source in AGENTS
    changed = [
        PastFile(
            each.change.path,
            each.change.after,
            path_today(each.change.path, renamed, each.edits[-1].id),
            each.change,
            each.edits,
            is_foreign,
        )
        for each in histories(before)
        if not each.is_replaced
    ]
    known = {file.path for file in changed}
    untouched: dict[str, PastFile] = {}
    made = set[str]()
    for edit in after:
        path = edit.old_path or edit.path
        if path not in known and path not in made and edit.kind != "snapshot":
            today = path_today(edit.path, renamed, edit.id)
            untouched.setdefault(path, PastFile(path, edit.before, today, None, (), is_foreign))
        made.add(edit.path)
    return sorted(changed, key=_path) + sorted(untouched.values(), key=_path)


def _number(edit: Edit) -> int:
    return edit.id


def _path(file: PastFile) -> str:
    return file.path


REBUILT = (
    "The request was not recorded. These messages are rebuilt from the events, with the current system "
    "prompt, dialect and limits."
)
NOT_SENT = "Not sent yet. This is the next request."
FORGOTTEN = "The part “{}” of the system prompt is omitted: its text has been cleared since."
UNFINISHED = "The end of the request was not recorded; how much of it was sent is unknown."


class Timeline:
    """The timeline of one conversation; `frame` returns the frame around its events now.

    All methods raise `StoreError`.
    """

    def __init__(
        self,
        journal: Journal,
        store: Callable[[], Awaitable[Store]],
        conversation: str,
        frame: CurrentFrame,
    ) -> None:
        self._journal = journal
        self._store = store
        self._conversation = conversation
        self._frame = frame

    async def read(self) -> Past:
        """The history of the conversation as it is now.

        Raises:
            UsageError: there is no such conversation, or it has no messages.
        """
        return await read_past(await self._store(), self._journal, self._conversation, self._frame)

    async def exchange(self, past: Past, index: int) -> Exchange:
        """The messages that the model had in the cycle of the point."""
        asked = past.asked_at(index)
        request = asked.request if asked else await self._next(past)
        events = [(point.number, point.event) for point in past.points]
        stored, frame = StoredAnswerItems((await self._store()).database), request.frame
        items = await stored.of(self._conversation, frame.provider, frame.model)
        held = AnswerItems(item for _number, item in items)
        return await in_thread(exchange_of, asked, request, events, held)

    async def files(self, past: Past, index: int) -> list[tuple[PastFile, bool | None]]:
        """The files as they were, each with whether it is still so; None if that is unknown."""
        found = files_at(past, index)
        if not past.here:
            return [(file, None) for file in found]

        def compare(contents: Contents, _blobs: Blobs) -> list[tuple[PastFile, bool | None]]:
            compared: list[tuple[PastFile, bool | None]] = []
            for file in found:
                try:
                    now = contents.now(file.path_today)
                except (WorkspaceError, StoreError):
                    compared.append((file, None))
                    continue
                known = now.known and file.then.known
                compared.append((file, now.equals(file.compared_to(now)) if known else None))
            return compared

        return await self._journal.reading(compare)

    async def difference(self, file: PastFile) -> str:
        """The difference from the file as it was to the current file, as text; empty if there is none.

        Raises:
            WorkspaceError: the current file cannot be read.
        """

        def work(contents: Contents, blobs: Blobs) -> str:
            now = contents.now(file.path_today)
            old = file.path if file.path != file.path_today else ""
            gone = now.kind == "absent" or file.then.kind == "absent"
            change = FileChange(file.path_today, file.compared_to(now), now, "" if gone else old)
            return difference(change, blobs)

        return await self._journal.reading(work)

    async def content(self, file: PastFile) -> bytes:
        """The content of the file.

        Raises:
            UsageError: it did not exist, is no file, or was not stored.
        """
        then = file.then
        if then.kind == "absent":
            raise UsageError(f"{shown(file.path)} was not there.")
        if then.kind == "link" or not then.kept:
            what = "It was a symbolic link" if then.kind == "link" else "It was too large to save"
            raise UsageError(f"{what}: {shown(file.path)}.")
        blobs = await self._journal.blobs()
        return await in_thread(blobs.read, then.digest, then.size)

    async def restore(self, past: Past, index: int) -> Plan:
        """Plan to restore the files as they were at the point: the edits after it are reverted, changes by
        others since stay, or are lost by the plan that overwrites them.

        Raises:
            UsageError: the files are as they were, or the conversation is about another project.
        """
        undo = self._undo_of(past)
        files = [(file.path, file.path_today, file.then) for file in files_at(past, index)]
        return await undo.to_state({edit.id for edit in past.edits_after(index)}, files)

    async def restore_before(self, past: Past, index: int) -> Plan:
        """Plan to restore the files that were edited since the user sent the message at the point, as they
        were then.

        Unlike the point before it, that includes what the user reverted, or restored, in between. Errors as
        `restore`.
        """
        return await self._undo_of(past).before({edit.id for edit in past.edits_since(index)})

    async def redo(self) -> Plan:
        """Plan to revert the last restore, or any other undo.

        Raises:
            UsageError: there is none.
        """
        return await Undo(self._journal, self._conversation).redo()

    async def apply(self, plan: Plan) -> UndoRecord:
        """Apply a plan of `restore` or `redo` that the user has seen, all or nothing; return what it did.

        Raises:
            WorkspaceError: there is an obstacle, or a file cannot be written.
        """
        undo = Undo(self._journal, self._conversation)
        return await undo.record(await undo.apply(plan, for_good=True, agreed=True))

    def _undo_of(self, past: Past) -> Undo:
        if not past.here:
            raise UsageError(
                "This conversation belongs to another project.", "Open it there to restore its files."
            )
        return Undo(self._journal, self._conversation)

    async def _next(self, past: Past) -> Request:
        summary = await Summaries((await self._store()).database).latest(self._conversation)
        frame = await self._frame(past.conversation, summary)
        since = summary.through if summary else 0
        return Request(past.points[-1].event["timestamp"], since, past.points[-1].number, frame)


def exchange_of(
    asked: Asked | None,
    request: Request,
    events: Sequence[tuple[int, Event]],
    items: AnswerItems = NO_ITEMS,
) -> Exchange:
    """The exact messages of a request, given the numbered events of its conversation, and what its provider
    delivered beside them. Pure."""
    sent = [event for number, event in events if request.since < number <= request.through]
    messages = messages_of(request.frame, sent, request.note, items)
    return Exchange(
        asked,
        messages,
        _fresh(messages, request),
        request.frame.system,
        (*_environments(events, request),),
        (*_remarks(asked, request),),
        tools_of(request.frame),
    )


def _environments(events: Sequence[tuple[int, Event]], request: Request) -> Iterator[str]:
    for number, event in events:
        if number <= request.through and event["type"] == "user" and "environment" in event:
            yield event["environment"]


def _fresh(messages: Sequence[Message], request: Request) -> int:
    """The index of the first message that was really sent: the earlier ones were in the session."""
    if request.mode != "resume" or request.sent is None:
        return 0
    left, first = request.sent, len(messages)
    while first and left > 0:
        first -= 1
        left -= len(messages[first]["content"])
    # If the numbers do not match, the session was lost and a new one begun.
    return len(messages) - len(unanswered(messages[first:])) if left == 0 and first else 0


def _remarks(asked: Asked | None, request: Request) -> Iterator[str]:
    if asked is None:
        yield NOT_SENT
    elif not asked.recorded:
        yield REBUILT
    elif not request.mode:
        yield UNFINISHED
    for name, text in request.frame.system:
        if not text:
            yield FORGOTTEN.format(name)

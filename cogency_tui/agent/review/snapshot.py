"""A snapshot of the store for a review: files, their hunks, and the decisions."""

import asyncio
import threading
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import TypeVar

from cogency_tui.agent.edits.file_history import (
    FileHistory,
    Renames,
    agents_histories,
    histories,
    is_agents,
    renames,
)
from cogency_tui.agent.edits.journal import Journal
from cogency_tui.agent.edits.undo_selection import ReversalStep, steps, to_undo
from cogency_tui.agent.review.current_decisions import CurrentDecisions
from cogency_tui.agent.review.hunk_composition import Outlines, cache_key, outlines_of, packed, unpacked
from cogency_tui.agent.review.model import (
    ChangedFile,
    Decision,
    FileKey,
    HunkState,
    Remaining,
    Target,
    TurnLines,
    decision,
    line_counts,
)
from cogency_tui.errors import UsageError
from cogency_tui.protocol.events import Diagnostic
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.edit_records import Edit
from cogency_tui.store.reviews import Action, ActionKind, Part, Reviews, in_effect
from cogency_tui.store.store import Store
from cogency_tui.tools.worker_threads import in_thread
from cogency_tui.workspace.diff import Check
from cogency_tui.workspace.protected_names import shown

Result = TypeVar("Result")


@dataclass(frozen=True)
class ReviewSnapshot:
    """All edits in the history of a conversation, with the decisions on them, which its forks share.

    `actions` are those of its own review, `elsewhere` those of the reviews of its forks and its origin.
    """

    edits: Sequence[Edit]
    actions: Sequence[Action]
    elsewhere: Sequence[Action]
    decisions: CurrentDecisions

    @cached_property
    def effective(self) -> list[Action]:
        """The actions that are not undone, oldest first."""
        return in_effect(self.actions)

    @cached_property
    def kinds(self) -> dict[int, ActionKind]:
        """The kind of the action that made an edit, by the edit's number."""
        return {edit: each.kind for each in (*self.actions, *self.elsewhere) for edit in each.edits}

    def is_decided_elsewhere(self, action: Action) -> bool:
        """Return whether another review has decided about the same edits after an action."""
        own = {part.edit for part in action.parts}
        later = (each for each in in_effect(self.elsewhere) if each.id > action.id)
        decided = (each.parts for each in later if each.kind not in ("comment", "undo"))
        return any(part.edit in own for parts in decided for part in parts)

    @cached_property
    def renames(self) -> dict[int, Renames]:
        """The renames by each edit."""
        return renames(self.edits)

    @cached_property
    def reverted(self) -> set[int]:
        """The numbers of the edits that are reverted as a whole."""
        return {edit.id for edit in self.edits if self.decisions.marked(Part(edit.id)) == "reverted"}

    def steps(self, ids: Collection[int]) -> list[ReversalStep]:
        """The steps that revert these edits."""
        return steps(to_undo(self.edits, ids), self.edits)

    def histories_by_turn(self) -> list[tuple[int, FileHistory]]:
        """The agent's changes of each file in each turn: the latest turn first, then by path."""
        turns: defaultdict[int, list[Edit]] = defaultdict(list)
        for edit in self.edits:
            turns[edit.origin.turn].append(edit)
        found = [
            (turn, each) for turn, edits in turns.items() for each in agents_histories(edits, self.reverted)
        ]
        return sorted(found, key=lambda each: (-each[0], each[1].change.path))

    def histories(self, turn: int | None) -> list[FileHistory]:
        """The agent's changes of each file in a turn, or in the conversation."""
        own = (edit for edit in self.edits if turn is None or edit.origin.turn == turn)
        return agents_histories(own, self.reverted)

    def histories_as_decided(self, turn: int | None) -> list[FileHistory]:
        """The changes of each file by the agent and by the user's decisions about these, in a turn or in the
        conversation.
        """
        if turn is None:
            return histories(self.edits)
        own = {each.id for each in self.edits if is_agents(each) and each.origin.turn == turn}
        chosen = own.copy()
        for edit in self.edits:
            if not chosen.isdisjoint(target.edit for target in edit.undoes):
                chosen.add(edit.id)
        found = histories(edit for edit in self.edits if edit.id in chosen)
        # An undo of several turns reverts what is not of this turn, too.
        left = own - self.reverted
        return [each for each in found if not left.isdisjoint(edit.id for edit in each.edits)]

    def history(self, key: FileKey) -> FileHistory:
        """The agent's changes of one file; errors as `targeted`."""
        (found,) = self.targeted(Target(key.turn, key.path, replaced=key.replaced))
        return found

    def targeted(self, target: Target) -> list[FileHistory]:
        """The changes that a target is about.

        Raises:
            UsageError: there is no such change.
        """
        expected = target.path, target.replaced
        found = self.histories(target.turn)
        found = [each for each in found if not target.path or key_of(target.turn, each)[1:] == expected]
        if not found:
            where = f"In turn {target.turn} the agent" if target.turn is not None else "The agent"
            what = shown(target.path) if target.path else "no file"
            verb = "did not change" if target.path else "changed"
            raise UsageError(f"{where} {verb} {what}.", "The review lists its changes.")
        return found


class ReviewSource:
    """Reads pages, and computes the outlines of changes, which it caches."""

    def __init__(self, journal: Journal, store: Callable[[], Awaitable[Store]], conversation: str) -> None:
        self.journal = journal
        self.conversation = conversation
        self.confirm: Callable[[str], Awaitable[bool]] | None = None
        """Asks the user a question; if it is not set, no user can be asked."""
        self._store = store
        self._outlines: dict[str, Outlines] = {}

    async def reviews(self) -> Reviews:
        """The actions in the store."""
        return Reviews((await self._store()).database)

    async def diagnostics(self, edits: Sequence[Edit]) -> dict[str, list[Diagnostic]]:
        """The problems that language servers reported with the calls of these edits, by the ids of the
        calls."""
        store = await self._store()
        found: dict[str, list[Diagnostic]] = {}
        for conversation in {edit.origin.caller for edit in edits}:
            found |= await store.diagnostics(conversation)
        return found

    async def snapshot(self) -> ReviewSnapshot:
        """The current state."""
        edits, reviews = await self.journal.edits(), await self.reviews()
        found = await self.journal.in_history(self.conversation)
        everywhere = await reviews.of_family(self.conversation)
        actions = [action for action in everywhere if action.conversation == self.conversation]
        delivered, _ = await reviews.last_delivered(self.conversation)
        marks = await edits.marks(self.conversation)
        comments = [action for action in in_effect(actions) if action.kind == "comment"]
        decisions = CurrentDecisions(marks, in_effect(everywhere), comments, delivered)
        elsewhere = [action for action in everywhere if action.conversation != self.conversation]
        return ReviewSnapshot(found, actions, elsewhere, decisions)

    async def last_turn(self) -> tuple[int, list[FileHistory]]:
        """The number of the last turn, and the agent's changes of each file in it."""
        edits = await self.journal.edits()
        turn = (await edits.origin(self.conversation)).turn
        return turn, agents_histories(await edits.of_conversation(self.conversation, turn=turn))

    async def lines(self, histories: Sequence[FileHistory]) -> TurnLines:
        """The lines of a turn's changes. Their hunks are cached: the review then opens at once."""
        outlined = [outlines.hunks for outlines in await self.outlined(histories)]
        first = min((edit for each in histories for edit in each.edits), key=attrgetter("id"), default=None)
        return TurnLines(
            first.call if first else "",
            {each.change.path: line_counts(hunks) for each, hunks in zip(histories, outlined, strict=True)},
        )

    async def decisions_by_call(
        self, snapshot: ReviewSnapshot, histories: Sequence[FileHistory], files: Sequence[ChangedFile]
    ) -> dict[str, Decision]:
        """The decision about the changes of each call of the agent, given the `files` of these histories;
        those that cancel out have none."""
        calls = {edit.id: edit.call for edit in snapshot.edits if is_agents(edit)}
        states: dict[str, list[HunkState]] = {call: [] for call in calls.values()}
        outlined = await self.outlined(histories)
        for history, outlines, file in zip(histories, outlined, files, strict=True):
            gone = _gone_parts(file)
            for part in outlines.parts or [Part(edit.id) for edit in history.edits]:
                states[calls[part.edit]].append("gone" if part in gone else snapshot.decisions.part(part))
        return {call: decision(own) for call, own in states.items()}

    async def by_path(self, histories: Sequence[FileHistory]) -> list[tuple[FileHistory, Outlines]]:
        """The histories with their hunks, by path."""
        pairs = zip(histories, await self.outlined(histories), strict=True)
        return sorted(pairs, key=lambda each: each[0].change.path)

    async def outlined(self, histories: Sequence[FileHistory]) -> list[Outlines]:
        """The hunks of each history: from memory, from the store, or else computed and stored."""
        keys = [cache_key(each) for each in histories]
        reviews, blobs = await self.reviews(), await self.journal.blobs()
        missing = [key for key in keys if key not in self._outlines]
        if missing:
            self._outlines |= await reviews.outlines(missing, unpacked)
            left = {key: each for key, each in zip(keys, histories, strict=True) if key not in self._outlines}
            made = await stoppable(lambda check: _worked_out(left, blobs, check)) if left else {}
            self._outlines |= made
            if made:
                await reviews.store_outlines({key: packed(each) for key, each in made.items()})
        return [self._outlines[key] for key in keys]

    async def files(
        self, snapshot: ReviewSnapshot, histories: Sequence[tuple[int | None, FileHistory]]
    ) -> list[ChangedFile]:
        """The list's entries for these histories, each with the turn that it is shown for."""
        outlined = await self.outlined([history for _, history in histories])
        pairs = [*zip(histories, outlined, strict=True)]
        return await in_thread(lambda: [_file(snapshot.decisions, *one, outlines) for one, outlines in pairs])


class _Stopped(Exception):
    """The work in a thread is no longer needed."""


async def stoppable(work: Callable[[Check], Result]) -> Result:
    """Run `work` in a thread; a cancellation ends it at its next call of the check that it receives."""
    stopped = threading.Event()

    def check() -> None:
        if stopped.is_set():
            raise _Stopped

    running = asyncio.ensure_future(asyncio.to_thread(work, check))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        stopped.set()
        await asyncio.wait([running])
        # Retrieved, so that asyncio does not report it as never retrieved; the cancellation takes
        # precedence.
        running.exception()
        raise


def _worked_out(histories: dict[str, FileHistory], blobs: Blobs, check: Check) -> dict[str, Outlines]:
    found: dict[str, Outlines] = {}
    for key, history in histories.items():
        check()
        found[key] = outlines_of(history, blobs, check)
    return found


def key_of(turn: int | None, history: FileHistory) -> FileKey:
    """The key of the agent's changes of a file in a turn, or in the conversation."""
    return FileKey(turn, history.change.path, history.edits[-1].id if history.is_replaced else 0)


def _file(
    decisions: CurrentDecisions, turn: int | None, history: FileHistory, outlines: Outlines
) -> ChangedFile:
    change, hunks = history.change, outlines.hunks
    ids = [edit.id for edit in history.edits]
    return ChangedFile(
        key=key_of(turn, history),
        old_path=change.old_path,
        kind=change.kind,
        no_lines=outlines.no_lines,
        hunks=hunks,
        states=decisions.states(hunks, ids),
        texts={hunk.id: text for hunk in hunks if (text := decisions.text(hunk)) is not None},
        last_edits={
            hunk.id: edit
            for hunk in hunks
            for edit in history.edits
            if edit.id == decisions.last_of_several(hunk)
        },
        comments=decisions.comments(hunks, ids),
        edits=history.edits,
        size=(change.before.size, change.after.size),
        mode=(change.before.mode, change.after.mode),
        remaining=_remaining(decisions, history) if hunks else "",
    )


def _gone_parts(file: ChangedFile) -> set[Part]:
    """The parts of the hunks of a file that are gone."""
    if not file.hunks:
        return {Part(edit.id) for edit in file.edits} if file.state == "gone" else set()
    hunks = zip(file.hunks, file.states, strict=True)
    return {part for hunk, state in hunks if state == "gone" for part in hunk.parts}


def _remaining(decisions: CurrentDecisions, history: FileHistory) -> Remaining:
    """The change of name or mode that is in effect."""
    change = history.change
    left = [edit for edit in history.edits if decisions.marked(Part(edit.id)) != "reverted"]
    if change.old_path and any(edit.old_path for edit in left):
        return "renamed"
    is_file = change.before.kind == change.after.kind == "file"
    if is_file and change.before.mode != change.after.mode:
        return "mode changed" if any(edit.before.mode != edit.after.mode for edit in left) else ""
    return ""

"""The review of the agent's edits in a conversation, for screens and commands.

    review = agent.review(conversation_id)
    overview = await review.overview()                 # groups of changed files, with states and counts
    diff = await review.diff(overview.groups[0].files[0].key)
    await review.revert(Target(3, "src/app.py", (diff.hunks[0].id,)))
    await review.undo()

Invariant: all state is in the store, including the undo stack, which outlives the program; each call reads
the current state, so several processes, `/undo` and `cogency-tui edits` may work beside it. Actions run one
after the other, whole or not at all, also while the agent works. Every method raises `StoreError`; the
event loop is never blocked.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, groupby
from typing import Literal

from cogency_tui.agent.edits.file_history import REDO, UNDO, FileHistory, Renames, path_today
from cogency_tui.agent.edits.journal import Journal
from cogency_tui.agent.edits.prior_contents import Contents
from cogency_tui.agent.edits.reverse import Obstacle
from cogency_tui.agent.edits.undo_preview import plan_of
from cogency_tui.agent.edits.undo_selection import undo_records
from cogency_tui.agent.review import conflicts
from cogency_tui.agent.review.conflicts import Choice
from cogency_tui.agent.review.current_decisions import counted
from cogency_tui.agent.review.decision_target import selections_of
from cogency_tui.agent.review.decisions import Decisions, applied, reverse
from cogency_tui.agent.review.file_diff import FileDiff, load
from cogency_tui.agent.review.hunk_transitions import HunkPatcher
from cogency_tui.agent.review.lines_of_others import OthersLines, Owners, grouped, named, owners_at
from cogency_tui.agent.review.model import (
    ChangedFile,
    ChangedLines,
    Decision,
    FileKey,
    Group,
    HunkFate,
    Outcome,
    Overview,
    Target,
    TurnLines,
    decision,
)
from cogency_tui.agent.review.net_lines import NetLines
from cogency_tui.agent.review.patch_export import Patch, patch_of
from cogency_tui.agent.review.problems import with_problems
from cogency_tui.agent.review.snapshot import ReviewSnapshot, ReviewSource, stoppable
from cogency_tui.agent.review.superseded import Superseded
from cogency_tui.agent.review.survival import fates_of
from cogency_tui.errors import UsageError
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.edit_records import Edit
from cogency_tui.store.reviews import Action, ActionKind, NewAction
from cogency_tui.store.store import Store
from cogency_tui.tools.worker_threads import in_thread
from cogency_tui.workspace.diff import LineCounts


def next_undo(snapshot: ReviewSnapshot) -> Action | None:
    """The action that undo reverts: the last one in effect."""
    return next((each for each in reversed(snapshot.effective) if each.kind not in ("undo", "redo")), None)


def next_redo(snapshot: ReviewSnapshot) -> Action | None:
    """The undo that redo reverts: the last one in effect, unless there was an action since."""
    done = max((each.id for each in snapshot.actions if each.kind not in ("undo", "redo")), default=0)
    return next(
        (each for each in reversed(snapshot.effective) if each.kind == "undo" and each.id > done), None
    )


async def undo(source: ReviewSource) -> tuple[Action, list[Edit]]:
    """Undo the last action: its changes of files, its marks, its comment. Return the action, and the edits
    that this made.

    Raises:
        UsageError: there is none, or a fork's review has decided about the same edits since.
        WorkspaceError: the same lines were changed since; nothing was changed.
    """
    snapshot = await source.snapshot()
    action = next_undo(snapshot)
    if action is None:
        raise UsageError("Nothing to undo in the review.")
    return action, await _revert(source, snapshot, action, NewAction("undo", action.path, undoes=action.id))


async def redo(source: ReviewSource) -> tuple[Action, list[Edit]]:
    """Revert the last undo, as `undo`; return the action that is in effect again."""
    snapshot = await source.snapshot()
    last = next_redo(snapshot)
    if last is None:
        raise UsageError("Nothing to redo in the review.")
    made = await _revert(source, snapshot, last, NewAction("redo", last.path, undoes=last.id))
    return next(each for each in snapshot.actions if each.id == last.undoes), made


async def _revert(
    source: ReviewSource, snapshot: ReviewSnapshot, action: Action, reversal: NewAction
) -> list[Edit]:
    if snapshot.is_decided_elsewhere(action):
        raise UsageError(
            "This edit was decided in another fork.",
            "Undo that decision in that fork's review first.",
        )
    marks = reverse(action.marks)
    new = NewAction(reversal.kind, reversal.path, action.parts, marks, undoes=action.id)
    tool = UNDO if reversal.kind == "undo" else REDO
    plan = await source.journal.reading(partial(plan_of, tool, snapshot.steps(action.edits)))
    return await applied(source, new, plan)


Grouping = Literal["turn", "file"]


class Review:
    """The review of one conversation; `store` returns the user's store, opened on first use."""

    def __init__(self, journal: Journal, store: Callable[[], Awaitable[Store]], conversation: str) -> None:
        self._source = ReviewSource(journal, store, conversation)
        self._store = store
        self._superseded = Superseded(journal)
        self._decisions = Decisions(self._source, self._superseded)
        self._net = NetLines(journal)
        self._lock = asyncio.Lock()

    def ask_with(self, confirm: Callable[[str], Awaitable[bool]]) -> None:
        """Set the question to the user before edits of an imported conversation, or edits outside the
        project, are applied; without it these are refused.
        """
        self._source.confirm = confirm

    async def lines_of_last_turn(self) -> tuple[int, TurnLines]:
        """Count the agent's lines of the last turn, whose number is returned, too; the cost depends on its
        new edits. The list's hunks of it are then known."""
        turn, histories = await self._source.last_turn()
        self._net.add(histories)
        return turn, await self._source.lines(histories)

    async def net_lines(self) -> dict[str, LineCounts]:
        """Count the lines in which files that the agent changed differ, on the disk, from before: those
        known from `changed_lines`, and from `lines_of_last_turn` since. The cost depends on the files that
        have changed since the last time.
        """
        return await self._net.read()

    async def changed_lines(self) -> ChangedLines:
        """Count the agent's lines in the whole conversation."""
        snapshot = await self._source.snapshot()
        histories = snapshot.histories_by_turn()
        files = await self._files(snapshot, histories)
        turns: dict[int, TurnLines] = {}
        for turn, pairs in groupby(zip(histories, files, strict=True), key=lambda each: each[0][0]):
            own = [*pairs]
            lines = await self._source.lines([history for (_, history), _ in own])
            turns[turn] = lines._replace(decision=_decision([file for _, file in own]))
        applied_paths = _applied(files, snapshot.renames)
        self._net.begin(await in_thread(lambda: [*_with_paths_today(snapshot, applied_paths)]))
        undos = undo_records(snapshot.edits, snapshot.kinds.keys())
        decisions = await self._source.decisions_by_call(snapshot, [each for _, each in histories], files)
        copied = await self._source.journal.calls_in_copies(self._source.conversation)
        decisions |= dict.fromkeys(copied, "in the rerun")
        return ChangedLines(await self._net.read(), turns, undos, decisions)

    async def unsent_comments(self) -> int:
        """Count the comments that the model receives with the next message."""
        return (await self._source.snapshot()).decisions.unsent_comments

    async def overview(self, by: Grouping = "turn") -> Overview:
        """All changed files: by turn, the latest first, or by file, by path and then the latest turn first.

        Either way each `ChangedFile` is the change of one file in one turn. Changes that cancel out are
        left out.
        """
        snapshot = await self._source.snapshot()
        prompts = await (await self._source.reviews()).prompts(self._source.conversation)
        files = await self._files(snapshot, snapshot.histories_by_turn())
        groups = _by_turn(files, prompts) if by == "turn" else _by_file(files)
        can_undo, can_redo = next_undo(snapshot) is not None, next_redo(snapshot) is not None
        return Overview(tuple(groups), counted(files), can_undo, can_redo)

    async def file(self, key: FileKey) -> ChangedFile:
        """One changed file in its current state; with `key.turn` None over the whole conversation.

        Raises:
            UsageError: there is no such change.
        """
        snapshot = await self._source.snapshot()
        history = snapshot.history(key)
        return (await self._files(snapshot, [(key.turn, history)]))[0]

    async def _files(
        self, snapshot: ReviewSnapshot, histories: Sequence[tuple[int | None, FileHistory]]
    ) -> list[ChangedFile]:
        files = await self._source.files(snapshot, histories)
        return await self._superseded.mark(snapshot, files)

    async def diff(self, key: FileKey) -> FileDiff:
        """The lines and hunks of a changed file; cancelling this ends the work soon.

        If there are no lines to show (`file.no_lines`; `LARGEST` and `MOST_LINES` are the limits), there
        are none, and its file has all there is: kind, sizes, modes, names.

        Raises:
            UsageError: there is no such change.
        """
        snapshot = await self._source.snapshot()
        history = snapshot.history(key)
        (file,) = await self._files(snapshot, [(key.turn, history)])
        blobs = await self._source.journal.blobs()
        diff = await stoppable(lambda check: load(file, history, snapshot.decisions, blobs, check))
        return with_problems(diff, await self._source.diagnostics(file.edits))

    async def fates(self, key: FileKey) -> list[HunkFate]:
        """The survival of each hunk, and its place in the current file. Errors as `diff`."""
        snapshot = await self._source.snapshot()
        history = snapshot.history(key)
        (outlines,) = await self._source.outlined([history])
        path = path_today(key.path, snapshot.renames, history.edits[-1].id)

        def work(contents: Contents, blobs: Blobs) -> list[HunkFate]:
            edited = None
            if any(snapshot.decisions.text(hunk) is not None for hunk in outlines.hunks):
                edited = HunkPatcher(history, outlines, snapshot.decisions, path, blobs).as_edited()
            return fates_of(history.change, outlines.hunks, path, contents, blobs, edited)

        found = await self._source.journal.reading(work)
        owners = await self._owners(snapshot, path)
        return [named(fate, owners) for fate in found]

    async def others(self, key: FileKey) -> list[OthersLines]:
        """The lines that other conversations wrote in the file as it is now. Errors as `diff`."""
        snapshot = await self._source.snapshot()
        history = snapshot.history(key)
        path = path_today(key.path, snapshot.renames, history.edits[-1].id)
        return grouped(await self._owners(snapshot, path))

    async def _owners(self, snapshot: ReviewSnapshot, path: str) -> Owners:
        own = {self._source.conversation, *(edit.origin.conversation for edit in snapshot.edits)}
        return await owners_at(self._source.journal, await self._store(), path, own)

    async def keep(self, *targets: Target) -> Outcome:
        """Mark new or conflicting parts as kept. Named hunks that were reverted, or are gone from the file,
        are restored as the agent wrote them, and so is a file, or a turn, of which nothing is undecided. Of
        several targets it is one action.

        Raises:
            UsageError: there is no such change or hunk, or all of it already has this state.
            WorkspaceError: these lines were changed since, or the file cannot be written. Nothing was
              changed.
        """
        async with self._lock:
            return Outcome(tuple(await self._decisions.keep(*targets)))

    async def revert(self, *targets: Target, for_good: bool = False) -> Outcome:
        """Revert the agent's lines; those of others stay. Of several targets it is one action.

        Hunks whose lines were changed since are left as they are, marked as in conflict, and returned as
        `Outcome.conflicts`; so is, undecided, a file that content of theirs was moved to (`Outcome.held`).
        Of a turn, or of everything, changes that may be the user's are left out (`Outcome.left`). All others
        are reverted together. `for_good` consents to the loss of contents that are too large to be stored.
        Errors as `keep`, and if nothing is left of the target in the files.
        """
        async with self._lock:
            made, held, left = await self._decisions.revert(*targets, for_good=for_good)
            conflicts = [each for target in targets for each in await self.conflicts(target)]
        return Outcome(tuple(made), tuple(conflicts), tuple(held), tuple(left))

    async def revert_last_edit(self, target: Target) -> Outcome:
        """Revert what the latest edit did in a hunk that several edits made (`Hunk.last_edit`).

        Raises:
            UsageError: there is no such hunk, or a single edit made it.
            WorkspaceError: its lines were changed since. Nothing was changed.
        """
        async with self._lock:
            return Outcome(tuple(await self._decisions.revert_last_edit(target)))

    async def edited(self, *targets: Target) -> list[str]:
        """The paths of the targets' files in which it includes lines that the user edited.

        Raises:
            UsageError: there is no such change or hunk.
        """
        snapshot = await self._source.snapshot()
        selections = await selections_of(self._source, snapshot, *targets)
        part = snapshot.decisions.part
        return [each.path for each in selections if any(part(own) == "edited" for own in each.parts)]

    async def edit(self, target: Target, text: str, seen: str | None = None) -> Outcome:
        """Replace the lines of one hunk, in any state, with the user's; it counts as edited.

        The difference between `text` and what the user has `seen` of the hunk is merged into the file: what
        was not visible stays. Without `seen` it is the hunk as it was decided. `text` has newlines; the
        file's encoding, line endings and final newline stay. Errors as `keep`.
        """
        async with self._lock:
            return Outcome(tuple(await self._decisions.edit(target, text, seen)))

    async def comment(self, target: Target, text: str) -> None:
        """Add a comment for the agent about hunks, a file, or a turn (no path); the model receives it with
        the next message. Undo withdraws it.

        Raises:
            UsageError: it is empty, or there is no such change.
        """
        async with self._lock:
            await self._decisions.comment(target, text)

    async def conflicts(self, target: Target) -> list[Obstacle]:
        """The conflicts, one for each file, with both sides as they are now: `merged.conflicts` has the
        places if lines conflict; else `reason` describes the obstacle.
        """
        return await conflicts.conflicts(self._source, target)

    async def resolve(self, target: Target, conflict: Obstacle, choices: Sequence[Choice]) -> Outcome:
        """Resolve a conflict: for each place "ours" (the current lines), "theirs" (the lines before the
        agent) or a `Text`; one choice if it is not about lines.

        Raises:
            UsageError: the number of choices differs from that of places, or there is nothing to resolve.
            WorkspaceError: the file has changed since the conflict was read. Nothing was changed.
        """
        async with self._lock:
            return Outcome(tuple(await conflicts.resolve(self._source, target, conflict, choices)))

    async def undo(self) -> tuple[ActionKind, Outcome]:
        """Undo the last action of the review, of any kind; return its kind, and the edits made.

        Raises:
            UsageError: there is none.
            WorkspaceError: these lines were changed since. Nothing was changed.
        """
        async with self._lock:
            action, made = await undo(self._source)
        return action.kind, Outcome(tuple(made), about=tuple(action.parts))

    async def redo(self) -> tuple[ActionKind, Outcome]:
        """Redo what the last undo reverted, unless there was another action since; as `undo`."""
        async with self._lock:
            action, made = await redo(self._source)
        return action.kind, Outcome(tuple(made), about=tuple(action.parts))

    async def patch(self, turn: int | None = None) -> Patch:
        """The changes of a turn, or of the conversation, that are not reverted, as a patch for `git apply`.

        Raises:
            UsageError: there is no such change.
        """
        snapshot = await self._source.snapshot()
        blobs = await self._source.journal.blobs()
        decisions = snapshot.decisions
        pairs = await self._source.by_path(snapshot.targeted(Target(turn)))
        if all(decisions.is_uniform(*each) for each in pairs):
            return await stoppable(lambda _check: patch_of(pairs, blobs, decisions))
        # A decision about some edits of a change can only be told from the edits that it made.
        pairs = await self._source.by_path(snapshot.histories_as_decided(turn))
        return await stoppable(lambda _check: patch_of(pairs, blobs))


def _decision(files: Iterable[ChangedFile]) -> Decision:
    """The decision about all changes of these files."""
    # A change besides the lines that is not reverted has no state of its own.
    return decision(chain(*(file.states for file in files), ("kept" for file in files if file.remaining)))


def _applied(files: Sequence[ChangedFile], renames: dict[int, Renames]) -> set[str]:
    """The current paths of the files with changes that are not reverted."""
    return {
        path_today(file.path, renames, file.last.id)
        for file in files
        if file.applied is not None and not file.key.replaced
    }


def _with_paths_today(snapshot: ReviewSnapshot, paths: Collection[str]) -> Iterator[tuple[str, FileHistory]]:
    """The histories of the files at these current paths."""
    for history in snapshot.histories(None):
        path = path_today(history.change.path, snapshot.renames, history.edits[-1].id)
        if path in paths and not history.is_replaced:
            yield path, history


def _by_turn(files: Sequence[ChangedFile], prompts: Sequence[str]) -> list[Group]:
    found: dict[int, list[ChangedFile]] = {}
    for file in files:
        found.setdefault(file.key.turn or 0, []).append(file)
    return [
        Group(prompts[turn - 1] if 0 < turn <= len(prompts) else "", turn, tuple(own))
        for turn, own in found.items()
    ]


def _by_file(files: Sequence[ChangedFile]) -> list[Group]:
    found: dict[str, list[ChangedFile]] = {}
    for file in files:
        found.setdefault(file.path, []).append(file)
    return [Group(path, 0, tuple(found[path])) for path in sorted(found)]

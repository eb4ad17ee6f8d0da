"""The user's decisions about hunks: keep, revert, edit. Each changes the files and the marks together.

Invariant: files change only by three-way merge through `Undo.apply`, so changes by others stay; the change,
its marks and the action are recorded in one transaction. The caller runs one action at a time. All methods
raise `UsageError` for a missing target, `WorkspaceError` for an impossible action.
"""

import sqlite3
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from cogency_tui.agent.edits.file_history import REVIEW, UNDO, is_moved
from cogency_tui.agent.edits.prior_contents import Contents
from cogency_tui.agent.edits.undo import Undo
from cogency_tui.agent.edits.undo_preview import Plan, plan_of
from cogency_tui.agent.edits.undo_selection import ReversalStep, undone_edits
from cogency_tui.agent.review.decision_target import Selection, selections_of
from cogency_tui.agent.review.hunk_transitions import Replaced, undone, undone_with
from cogency_tui.agent.review.model import Outline, Target
from cogency_tui.agent.review.snapshot import ReviewSnapshot, ReviewSource
from cogency_tui.agent.review.superseded import Superseded, gone_parts
from cogency_tui.errors import UsageError, WorkspaceError, in_words
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.edit_records import Edit, FileChange, State, Undone
from cogency_tui.store.reviews import ActionKind, MarkChange, NewAction, Part
from cogency_tui.workspace.protected_names import shown

_UNCHANGED: dict[ActionKind, str] = {"keep": "Already kept.", "revert": "Already reverted."}
_UNDO_THE_REVERT = "Undo the revert to restore it."
_GONE: dict[ActionKind, str] = {
    "keep": "Nothing to keep: no longer in the file.",
    "revert": "Nothing to revert: no longer in the file.",
}


@dataclass(slots=True)
class _Trial:
    """The planned steps, and the states of parts after them; nothing is left in the files of the parts that
    are `gone`.
    """

    steps: list[ReversalStep] = field(default_factory=list[ReversalStep])
    marks: dict[Part, State] = field(default_factory=dict[Part, State])
    gone: Collection[Part] = ()


class Decisions:
    """Decides about the edits of a conversation."""

    def __init__(self, source: ReviewSource, superseded: Superseded) -> None:
        self._source = source
        self._superseded = superseded

    async def keep(self, *targets: Target) -> list[Edit]:
        """Mark new or conflicting parts as kept; what the user edited stays edited. What was reverted, or is
        gone, is restored as the agent wrote it: named hunks, or if nothing else of the targets is undecided,
        all of it.
        """
        snapshot = await self._source.snapshot()
        selections = await selections_of(self._source, snapshot, *targets)
        gone = await self._gone(snapshot, selections)
        open_parts = [part for each in selections for part in _unkept(each, gone)]
        lost = [each for each in selections if _restorable(each) or _lost(each, gone)]
        restored = [each for each in lost if each.is_named or not open_parts]
        if not (open_parts or restored):
            raise UsageError((_GONE if gone else _UNCHANGED)["keep"])

        def plan(_contents: Contents, blobs: Blobs) -> _Trial:
            trial = _Trial(marks=dict.fromkeys(open_parts, "kept"))
            for selection in restored:
                _restore(selection, gone, blobs, trial)
            return trial

        trial = await self._source.journal.reading(plan)
        action = NewAction("keep", _path_of(targets))
        return await self._carry_out(action, snapshot, selections, REVIEW, trial)

    async def _gone(self, snapshot: ReviewSnapshot, selections: Sequence[Selection]) -> set[Part]:
        """The undecided parts of which nothing is left in the files."""
        files = await self._source.files(snapshot, [(each.turn, each.history) for each in selections])
        marked = await self._superseded.mark(snapshot, files)
        return {part for file in marked for part in gone_parts(file)}

    async def revert(
        self, *targets: Target, for_good: bool = False
    ) -> tuple[list[Edit], list[str], list[str]]:
        """Revert the agent's lines; those that were changed since are marked as in conflict. Return the edits
        that this made, the paths that were left because content of one in conflict was moved there, and those
        whose changes may be the user's, as far as no path of these was named.
        """
        snapshot = await self._source.snapshot()
        selections: list[Selection] = []
        left: list[str] = []
        for target in targets:
            for each in await selections_of(self._source, snapshot, target):
                own = each if target.path else _without_users(each)
                selections += [own] if own else []
                left += [each.path] if own is not each else []
        left = [*dict.fromkeys(left)]
        nothing = UsageError(
            f"Nothing was reverted: you may have made the changes to {in_words([*map(shown, left)])}.",
            "Revert them one by one.",
        )
        if left and not selections:
            raise nothing
        gone = await self._gone(snapshot, selections)
        whole = [
            selection
            for selection in selections
            if _is_whole(selection) and not snapshot.reverted.issuperset(selection.edits)
        ]

        def attempt(chosen: Sequence[Selection], contents: Contents, blobs: Blobs) -> _Trial:
            trial = _Trial(gone=gone)
            ids = {id for selection in chosen if selection in whole for id in selection.edits}
            trial.steps += snapshot.steps(ids)
            for selection in chosen:
                if selection in whole:
                    # Without the hunks: a redo of whole edits leaves their marks as they are.
                    trial.marks |= dict.fromkeys(map(Part, selection.edits), "reverted")
                elif selection.outlines.hunks:
                    _revert_lines(selection, contents, blobs, trial)
            return trial

        def plan(contents: Contents, blobs: Blobs) -> tuple[_Trial, list[Selection]]:
            chosen = list(selections)
            while True:
                trial = attempt(chosen, contents, blobs)
                obstructed = _obstructed(chosen, trial, plan_of(UNDO, trial.steps, contents, blobs))
                free = [each for each in chosen if each in obstructed or not _has_moved(obstructed, each)]
                if free == chosen:
                    return trial, chosen
                chosen = free

        trial, chosen = await self._source.journal.reading(plan)
        action = NewAction("revert", _path_of(targets))
        try:
            made = await self._carry_out(action, snapshot, chosen, UNDO, trial, for_good=for_good)
        except UsageError as error:
            raise (nothing if left else error) from error
        return made, [each.path for each in selections if each not in chosen], left

    async def revert_last_edit(self, target: Target) -> list[Edit]:
        """Revert what the latest edit did in one hunk that several edits made, such as a formatter's."""
        snapshot = await self._source.snapshot()
        selections = await selections_of(self._source, snapshot, target)
        if len(selections) != 1 or len(selections[0].chosen) != 1:
            raise UsageError("Revert the last edit of one hunk at a time.", "Choose one that has lines.")
        selection, outline, decisions = selections[0], selections[0].chosen[0], snapshot.decisions
        last = decisions.last_of_several(outline)
        if not last:
            raise UsageError("A single edit made this hunk.", "Revert the hunk.")
        parts = [part for part in outline.parts if part.edit == last and decisions.part(part) != "reverted"]
        undoes = undone_with(parts, selection.outlines, decisions, selection.history)

        def plan(_contents: Contents, blobs: Blobs) -> _Trial:
            made = selection.patcher(blobs).steps_of_edit(outline, last, undoes)
            return _Trial(made, {Part(each.edit, each.hunk): "reverted" for each in undoes})

        trial = await self._source.journal.reading(plan)
        action = NewAction("revert", target.path)
        return await self._carry_out(action, snapshot, selections, UNDO, trial, all_or_none=True)

    async def edit(self, target: Target, text: str, seen: str | None = None) -> list[Edit]:
        """Replace the lines of one hunk, which the user has `seen`, with the user's; mark it as edited."""
        snapshot = await self._source.snapshot()
        selections = await selections_of(self._source, snapshot, target)
        if len(selections) != 1 or len(selections[0].chosen) != 1:
            raise UsageError("Edit one hunk at a time.", "Choose one that has lines.")
        selection, outline = selections[0], selections[0].chosen[0]
        if selection.history.change.after.kind != "file":
            raise UsageError(
                f"{shown(selection.path)} was deleted: there are no lines to edit.", "Revert it."
            )

        def plan(_contents: Contents, blobs: Blobs) -> _Trial:
            undoes = [Undone(*part) for part in outline.parts]
            made = selection.patcher(blobs).steps([Replaced(outline, text, seen=seen)], undoes)
            return _Trial(made, dict.fromkeys(outline.parts, "edited"))

        trial = await self._source.journal.reading(plan)
        return await self._carry_out(
            NewAction("edit", target.path, text=text), snapshot, selections, REVIEW, trial
        )

    async def comment(self, target: Target, text: str) -> None:
        """Add a comment for the agent about hunks, a file or a turn; it is sent with the next message."""
        if not text.strip():
            raise UsageError("A comment cannot be empty.", "Write a comment for the agent.")
        snapshot = await self._source.snapshot()
        selections = await selections_of(self._source, snapshot, target)
        about = [
            selection.parts if target.hunks else [*map(Part, selection.edits)] for selection in selections
        ]
        parts = tuple(part for each in about for part in each)
        action = NewAction("comment", target.path, parts, text=text.strip())
        await (await self._source.reviews()).add(self._source.conversation, action)

    async def _carry_out(
        self,
        action: NewAction,
        snapshot: ReviewSnapshot,
        selections: Sequence[Selection],
        tool: str,
        trial: _Trial,
        *,
        for_good: bool = False,
        all_or_none: bool = False,
    ) -> list[Edit]:
        plan = await self._source.journal.reading(partial(plan_of, tool, trial.steps))
        marks: dict[Part, State] = trial.marks
        if action.kind == "keep" and plan.obstacles:
            first = plan.obstacles[0]
            raise WorkspaceError(f"Not restored: {shown(first.path)}: {first.reason}.")
        if all_or_none and plan.obstacles:
            first = plan.obstacles[0]
            raise WorkspaceError(f"Not reverted: {shown(first.path)}: {first.reason}.", "Revert the hunk.")
        if action.kind == "revert":
            failed = {each.edit for obstacle in plan.obstacles for each in obstacle.undoes}
            failed_parts = {Part(*each) for obstacle in plan.obstacles for each in _pairs(obstacle.undoes)}
            whole = {part.edit for part in failed_parts if not part.hunk}
            marks = {
                part: "conflict" if part in failed_parts or part.edit in whole & failed else state
                for part, state in marks.items()
            }
            # A hunk that was decided by itself would hide that its file is in conflict.
            marks |= dict.fromkeys(_decided_in(whole, snapshot, selections), "conflict")
            plan = plan.without({obstacle.path for obstacle in plan.obstacles})
            if trial.gone and not plan.changes and "conflict" not in marks.values():
                raise UsageError(_GONE["revert"])
        siblings = [part for selection in selections for part in selection.outlines.parts]
        changes = snapshot.decisions.changes(marks, siblings)
        if all(each.before == each.after for each in changes) and not plan.changes:
            if "conflict" in marks.values():
                return []
            raise UsageError(_UNCHANGED.get(action.kind, "Nothing would change."))
        parts = tuple(part for selection in selections for part in selection.parts)
        return await applied(
            self._source, replace(action, parts=parts, marks=changes), plan, for_good=for_good
        )


async def applied(
    source: ReviewSource, action: NewAction, plan: Plan, *, for_good: bool = False
) -> list[Edit]:
    """Apply a plan, and record the action with the edits that it made; with nothing to change, the action
    alone.
    """
    reviews, conversation = await source.reviews(), source.conversation
    if not (plan.changes or plan.unchanged or plan.obstacles):
        await reviews.add(conversation, action)
        return []

    def also(connection: sqlite3.Connection, made: list[Edit]) -> None:
        done = replace(action, edits=tuple(edit.id for edit in made))
        reviews.write(connection, conversation, done)

    undo = Undo(source.journal, conversation)
    question = await undo.asks_about(plan)
    agreed = bool(question) and source.confirm is not None and await source.confirm(question)
    return await undo.apply(plan, for_good=for_good, agreed=agreed, also=also)


def reverse(marks: Iterable[MarkChange]) -> tuple[MarkChange, ...]:
    """The changes that restore marks."""
    return tuple(MarkChange(mark.part, mark.after, mark.before) for mark in marks)


def _without_users(selection: Selection) -> Selection | None:
    """The part of a selection that the user has certainly not made; None if there is none. What was reverted
    already is not looked at."""
    edits = selection.history.edits
    doubtful = {edit.id for edit in edits if edit.is_possibly_users} - selection.snapshot.reverted
    if not doubtful:
        return selection
    if not selection.is_lines:
        return None
    decisions = selection.snapshot.decisions
    certain = tuple(
        outline
        for outline in selection.chosen
        if doubtful.isdisjoint(part.edit for part in outline.parts) or decisions.hunk(outline) == "reverted"
    )
    if len(certain) == len(selection.chosen):
        return selection
    return replace(selection, chosen=certain, is_named=True) if certain else None


def _path_of(targets: Sequence[Target]) -> str:
    """The path that an action about these targets is about; empty if there are several."""
    return targets[0].path if len(targets) == 1 else ""


def _unkept(selection: Selection, gone: Collection[Part]) -> list[Part]:
    """The parts to mark as kept: of named hunks all, else those that are undecided, and in the file."""
    if selection.is_named:
        return _unedited(selection)
    decisions = selection.snapshot.decisions
    open_parts = (part for part in selection.parts if decisions.part(part) in ("new", "conflict"))
    return [part for part in open_parts if part not in gone]


def _unedited(selection: Selection) -> list[Part]:
    """The parts of the chosen hunks that the user has not edited."""
    decisions = selection.snapshot.decisions
    return [part for each in selection.chosen if decisions.hunk(each) != "edited" for part in each.parts]


def _restorable(selection: Selection) -> list[Part]:
    """The parts to mark when what was reverted of a selection is restored; none if nothing was."""
    decisions, outlines = selection.snapshot.decisions, selection.outlines.hunks
    if not outlines:
        return [part for part in selection.parts if decisions.part(part) == "reverted"]
    found = [each for each in selection.chosen if decisions.hunk(each) == "reverted"]
    # Of what is no change of lines alone, the hunks come back together.
    restored = found if selection.is_lines or not found else outlines
    return [part for outline in restored for part in outline.parts]


def _restoring(selection: Selection, parts: Sequence[Part], blobs: Blobs) -> list[ReversalStep]:
    """The steps that restore these parts: lines by their hunks, all else by undoing its revert."""
    back = [outline for outline in selection.chosen if not set(parts).isdisjoint(outline.parts)]
    if selection.is_lines and not any(outline.mixed for outline in back):
        undoes = [Undone(*part) for outline in back for part in outline.parts]
        return selection.patcher(blobs).steps([Replaced(outline) for outline in back], undoes)
    return selection.snapshot.steps(_reverts_of(selection))


def _restore(selection: Selection, gone: Collection[Part], blobs: Blobs, trial: _Trial) -> None:
    """Restore what was reverted of a selection, and what is gone."""
    parts, lost = _restorable(selection), _lost(selection, gone)
    trial.steps += _restoring(selection, parts, blobs) if parts else ()
    trial.steps += _reapplying(selection, lost, blobs) if lost else ()
    trial.marks |= dict.fromkeys((*parts, *(part for outline in lost for part in outline.parts)), "kept")


def _lost(selection: Selection, gone: Collection[Part]) -> list[Outline]:
    """The chosen hunks of which nothing is left in the file."""
    return [outline for outline in selection.chosen if not set(gone).isdisjoint(outline.parts)]


def _reapplying(selection: Selection, lost: Sequence[Outline], blobs: Blobs) -> list[ReversalStep]:
    """The steps that make these changes again, which others have discarded."""
    change = selection.history.change
    undoes = tuple(Undone(*part) for outline in lost for part in outline.parts)
    if change.before.kind == change.after.kind:
        return selection.patcher(blobs).steps([Replaced(outline, gone=True) for outline in lost], undoes)
    again = FileChange(selection.path, change.after, change.before)
    return [ReversalStep(again, undoes, selection.history.edits[-1].id)]


def _reverts_of(selection: Selection) -> set[int]:
    """The edits that revert a file as a whole.

    Raises:
        UsageError: there are none, or they revert other changes, too.
    """
    edits, own = selection.snapshot.edits, set(selection.edits)
    undone_ids = undone_edits(edits)
    reverts = [
        edit
        for edit in edits
        if edit.id not in undone_ids and any(each.edit in own and not each.hunk for each in edit.undoes)
    ]
    if not reverts or any(each.edit not in own for edit in reverts for each in edit.undoes):
        raise UsageError(f"{shown(selection.path)} was reverted together with others.", _UNDO_THE_REVERT)
    return {edit.id for edit in reverts}


def _decided_in(
    edits: Collection[int], snapshot: ReviewSnapshot, selections: Iterable[Selection]
) -> list[Part]:
    """The hunks of these edits that have marks of their own, and are not reverted."""
    parts = (part for selection in selections for part in selection.outlines.parts if part.edit in edits)
    return [part for part in parts if snapshot.decisions.marked(part) not in ("new", "reverted")]


def _is_whole(selection: Selection) -> bool:
    """Return whether a change is reverted with its name, mode and all, and not hunk by hunk."""
    return not selection.is_lines and selection.whole


def _revert_lines(selection: Selection, contents: Contents, blobs: Blobs, trial: _Trial) -> None:
    decisions, patcher = selection.snapshot.decisions, selection.patcher(blobs)
    reversals = [
        Replaced(each, reverted=True) for each in selection.chosen if decisions.hunk(each) != "reverted"
    ]
    try:
        good = patcher.mergeable(reversals, contents)
    except WorkspaceError:
        # The plan reports why the file cannot be read.
        good = reversals
    undoes = undone(good, selection.outlines, decisions, selection.history)
    trial.steps += patcher.steps(good, undoes)
    trial.marks |= {Part(each.edit, each.hunk): "reverted" for each in undoes}
    for each in reversals:
        if each not in good:
            trial.marks |= dict.fromkeys(each.outline.parts, "conflict")


def _obstructed(selections: Sequence[Selection], trial: _Trial, plan: Plan) -> list[Selection]:
    """The selections that cannot be reverted, or only in part."""
    failed = {each.edit for obstacle in plan.obstacles for each in obstacle.undoes}
    failed |= {part.edit for part, state in trial.marks.items() if state == "conflict"}
    return [each for each in selections if not failed.isdisjoint(each.edits)]


def _has_moved(obstructed: Iterable[Selection], selection: Selection) -> bool:
    """Return whether content of an obstructed file was moved to that of a selection."""
    return any(is_moved(each.history.change, selection.history.change) for each in obstructed)


def _pairs(undoes: Iterable[Undone]) -> Iterable[tuple[int, str]]:
    return [(each.edit, each.hunk) for each in undoes]

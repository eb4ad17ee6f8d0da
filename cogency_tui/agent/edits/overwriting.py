"""Restoring files to the letter where others have changed them since: what is lost, and the plan for it.

An undo keeps the changes of others. Where that leaves a file in another state than the one to restore, the
user is shown what differs, and may overwrite it: by a plan that is recorded, and so can be undone itself.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from cogency_tui.agent.edits.change_attribution import named_others
from cogency_tui.agent.edits.file_history import REVIEW, path_today, renames, topmost
from cogency_tui.agent.edits.prior_contents import Contents
from cogency_tui.agent.edits.reverse import Reversal
from cogency_tui.agent.edits.undo_preview import Deviation, Plan, difference, planned
from cogency_tui.agent.edits.undo_selection import undone_edits
from cogency_tui.errors import WorkspaceError
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.edit_records import ABSENT, Edit, FileChange, Undone, Version
from cogency_tui.workspace.diff import LineCounts, count

_CHANGED = "changed outside this conversation since"
_REMOVED = "deleted or renamed outside this conversation since"


@dataclass(frozen=True, slots=True)
class Goal:
    """The version `then` that a path is to have; the file is now at `today`.

    `left` is the version in which the conversation left it, `undoes` and `made` are as in `FileChange`.
    `reason` is why others' changes in it are known, if they are; `others` are those from before `left`.
    """

    path: str
    today: str
    then: Version
    left: Version
    undoes: tuple[Undone, ...] = ()
    made: str = ""
    reason: str = ""
    others: tuple[FileChange, ...] = ()


def goals_before(chosen: Sequence[Edit], edits: Sequence[Edit]) -> list[Goal]:
    """The files as they were before the `chosen` edits, out of all `edits`, oldest first; without those that
    edits which stay have changed later.
    """
    renamed = renames(edits)
    versions: dict[str, tuple[str, Version]] = {}
    made = set[str]()
    for edit in chosen:
        path = edit.old_path or edit.path
        if path not in made:
            versions.setdefault(path, (path_today(edit.path, renamed, edit.id), edit.before))
        made.add(edit.path)
    ids = {edit.id for edit in chosen}
    undone = ids | undone_edits(edits)
    staying = [edit for edit in edits if edit.id not in undone and not _is_passive(edit)]
    later = {path_today(edit.path, renamed, edit.id): edit.id for edit in staying}
    last = {path_today(edit.path, renamed, edit.id): edit.id for edit in chosen}
    wanted = [
        (path, today, then)
        for path, (today, then) in versions.items()
        if later.get(today, 0) < last.get(today, 0)
    ]
    return goals(wanted, chosen, edits)


def _is_passive(edit: Edit) -> bool:
    return bool(edit.undoes) or edit.kind == "snapshot"


def goals(
    wanted: Iterable[tuple[str, str, Version]], chosen: Sequence[Edit], edits: Sequence[Edit]
) -> list[Goal]:
    """The goals to give paths these versions, each with the path today, by reverting the `chosen` edits."""
    renamed = renames(edits)
    here: dict[str, list[Edit]] = {}
    for edit in edits:
        here.setdefault(path_today(edit.path, renamed, edit.id), []).append(edit)
    written = _written_in_review(edits)
    undone: dict[str, list[Edit]] = {}
    for edit in chosen:
        undone.setdefault(path_today(edit.path, renamed, edit.id), []).append(edit)
    found: list[Goal] = []
    for path, today, then in wanted:
        own = undone.pop(today, [])
        undoes = tuple(Undone(edit.id) for edit in own)
        made = topmost(path, *(edit.made for edit in own))
        made_here = here.get(today, [])
        left = made_here[-1].after if made_here else then
        others = _changes_of_others(made_here, own, written)
        found.append(Goal(path, today, then, left, undoes, made, _reason(own), others))
    return found


def _written_in_review(edits: Sequence[Edit]) -> set[int]:
    """The edits by which the user wrote lines in the review; not those whose hunks were reverted since."""
    undone = undone_edits(edits)
    decisions = [edit for edit in edits if edit.undoes and edit.id not in undone]
    reverts = {target: edit.id for edit in decisions if edit.tool != REVIEW for target in edit.undoes}
    return {
        edit.id
        for edit in decisions
        if edit.tool == REVIEW and any(_reverted_by(each, reverts) < edit.id for each in edit.undoes)
    }


def _reverted_by(part: Undone, reverts: Mapping[Undone, int]) -> int:
    """The last edit that reverts a hunk, alone or with its whole edit; 0 if none does."""
    return max(reverts.get(part, 0), reverts.get(Undone(part.edit), 0))


def _changes_of_others(
    edits: Sequence[Edit], chosen: Sequence[Edit], written: Collection[int]
) -> tuple[FileChange, ...]:
    """The changes of a file since the first `chosen` edit that are not the agent's: those between its
    `edits`, and those `written` in the review.
    """
    since = [edit for edit in edits if chosen and edit.id >= chosen[0].id]
    changes: list[FileChange] = []
    for earlier, edit in pairwise(since):
        if not earlier.after.holds(edit.before):
            changes.append(FileChange(edit.path, earlier.after, edit.before))
        if edit.id in written:
            # What is written again counts once.
            is_next = bool(changes) and earlier.id in written and changes[-1].after.holds(edit.before)
            before = changes.pop().before if is_next else edit.before
            changes.append(FileChange(edit.path, before, edit.after))
    return tuple(changes)


def _lost(goal: Goal, now: Version, blobs: Blobs) -> LineCounts:
    """Count the lines that others changed in a file. Blocks."""
    changes = (*goal.others, FileChange(goal.today, goal.left, now))
    counts = [count(difference(change, blobs)) for change in changes]
    return LineCounts(sum(each.added for each in counts), sum(each.removed for each in counts))


def _reason(edits: Collection[Edit]) -> str:
    """Why edits of the conversation may be of others; empty if they are its own."""
    if any(edit.is_merged for edit in edits):
        return "changed by commits of the remote"
    others = named_others(edits)
    return f"possibly changed by {others}" if others else ""


def obstructed(goals: Iterable[Goal], plan: Plan) -> list[Goal]:
    """The goals that a plan misses because of its obstacles."""
    paths = {each.path for each in plan.obstacles}
    return [goal for goal in goals if not paths.isdisjoint((goal.path, goal.today))]


def with_deviations(plan: Plan, goals: Sequence[Goal], contents: Contents, blobs: Blobs) -> Plan:
    """The plan with the files in which it misses the goals, and the plan that reaches them. Blocks.

    Raises:
        StoreError: a stored content cannot be read.
    """
    exact = _exact(plan.tool, goals, contents, blobs)
    deviations = tuple(_deviations(plan, exact, goals, contents, blobs))
    if not any(each.is_restorable for each in deviations):
        return replace(plan, deviations=deviations)
    exact = exact.without(exact.for_good).unobstructed
    others = plan.without({path for goal in goals for path in (goal.path, goal.today)})
    overwriting = replace(
        exact,
        changes=(*exact.changes, *others.changes),
        unchanged=(*exact.unchanged, *others.unchanged),
        left=plan.left,
        turn=plan.turn,
    )
    return replace(plan, deviations=deviations, overwriting=overwriting)


def _exact(tool: str, goals: Sequence[Goal], contents: Contents, blobs: Blobs) -> Plan:
    reversal = Reversal(contents, blobs)
    here = {goal.path for goal in goals}
    for goal in goals:
        reversal.restore(goal.path, goal.then, goal.made, goal.undoes)
        if goal.today not in here:
            reversal.restore(goal.today, ABSENT)
    return planned(tool, reversal, blobs)


def _deviations(
    plan: Plan, exact: Plan, goals: Sequence[Goal], contents: Contents, blobs: Blobs
) -> Iterator[Deviation]:
    obstacles = {each.path: each.reason for each in plan.obstacles}
    unreachable = {each.path: each.reason for each in exact.obstacles}
    lasting = {each.change.path for each in exact.changes}.difference(exact.for_good)
    results = _results(plan)
    for goal in goals:
        reason = obstacles.pop(goal.today, "") or obstacles.pop(goal.path, "")
        try:
            now = contents.now(goal.today)
            there = results.get(goal.path) or contents.now(goal.path)
        except WorkspaceError as error:
            yield Deviation(goal.path, reason or str(error), LineCounts(0, 0), is_restorable=False)
            continue
        # Of an unknown version it cannot be said that the file has another.
        if there.equals(goal.then) or not (goal.then.known or reason):
            continue
        lost = _lost(goal, now, blobs)
        is_missing = now.kind == "absent"
        reason = unreachable.get(goal.path) or reason or goal.reason or (_REMOVED if is_missing else _CHANGED)
        yield Deviation(goal.path, reason, lost, goal.path in lasting, is_missing=is_missing)
    for path, reason in obstacles.items():
        yield Deviation(path, reason, LineCounts(0, 0), is_restorable=False)


def _results(plan: Plan) -> Mapping[str, Version]:
    """The versions that a plan leaves at the paths that it changes."""
    changes = [each.change for each in plan.changes]
    moved = {change.old_path: ABSENT for change in changes if change.old_path}
    return moved | {change.path: change.after for change in changes}

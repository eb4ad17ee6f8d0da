"""Selects the edits that an undo reverts, and the steps in which it does so. Pure: no file is read here.

An edit is undone as long as an undo of it is not itself undone, and the review has not restored a hunk of it
since. Edits of one file that follow each other without a change by others between them are one step, so
changes that cancel out within it cause no conflict; one that was undone before the other was made does not
precede it, even if it left the same content. Changes from before a rename that stays are reverted under the
new name.
"""

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import PurePosixPath

from cogency_tui.agent.edits.file_history import (
    REDO,
    RESTORE,
    REVIEW,
    UNDO,
    by_file,
    change_of,
    joined,
    renames,
    unbroken,
)
from cogency_tui.store.edit_records import Edit, FileChange, Undone
from cogency_tui.workspace.protected_names import shown


@dataclass(frozen=True, slots=True)
class ReversalStep:
    """A change to revert as a whole, and the edits that it consists of.

    `last` is the number of the last of these, `renamed` that of the edit by which the file first left its old
    path, 0 if none did.
    `former` are the names under which the file was changed, if later edits that stay have renamed it.
    `blocked` is why it cannot be reverted.
    """

    change: FileChange
    undoes: tuple[Undone, ...]
    last: int
    former: tuple[str, ...] = ()
    blocked: str = ""
    renamed: int = 0


@dataclass(frozen=True, slots=True)
class UndoRecord:
    """An undo, redo or restore of the user's (`tool`), which changed so many `files` after the turn `after`.

    `turn` is the turn whose edits it reverted or restored; 0 if it is not one turn, or not all of it.
    """

    tool: str
    after: int
    turn: int
    files: int


def undo_records(edits: Sequence[Edit], without: Collection[int] = ()) -> list[UndoRecord]:
    """The user's undos, redos and restores among all edits of a conversation, oldest first; not those of the
    edits `without`.
    """
    calls: dict[str, list[Edit]] = {}
    for edit in edits:
        if edit.tool in (UNDO, REDO, RESTORE) and edit.id not in without:
            calls.setdefault(edit.call, []).append(edit)
    return [undo_record(own, edits) for own in calls.values()]


def undo_record(own: Sequence[Edit], edits: Sequence[Edit]) -> UndoRecord:
    """The record of the undo that made its `own` edits, out of all `edits`."""
    last = own[-1]
    undos: Sequence[Edit] = own
    if last.tool == REDO:
        redone = {target.edit for edit in own for target in edit.undoes}
        undos = [edit for edit in edits if edit.id in redone]
    changed = sum(edit.kind != "snapshot" for edit in own)
    undone = {target.edit for edit in undos for target in edit.undoes}
    # A restore to a point after an undo reverts that undo.
    restores = any(edit.id in undone and _is_passive(edit) for edit in edits)
    turn = 0 if restores else turn_reverted_by(undos, edits)
    is_whole = _is_undone(turn, [edit for edit in edits if edit.id <= undos[-1].id])
    return UndoRecord(last.tool, last.origin.turn, turn if is_whole else 0, changed)


def _is_undone(turn: int, edits: Sequence[Edit]) -> bool:
    """Return whether the agent's edits of a turn are undone, out of `edits`, but for those that stay unless
    the user names them."""
    own = [edit for edit in edits if edit.origin.turn == turn and not _is_passive(edit)]
    undone = undone_edits(edits)
    return all(edit.id in undone or edit.is_merged or edit.shared_with for edit in own)


def undone_edits(edits: Sequence[Edit]) -> set[int]:
    """The numbers of the edits that are currently undone; `edits` are those of a conversation, oldest
    first.
    """
    return set(_walk(edits, ())[1])


def to_undo(edits: Sequence[Edit], requested: Collection[int]) -> list[Edit]:
    """The edits of a conversation to undo so that none of the `requested` is in effect; oldest first.

    Edits that are already undone are left out, as is an undo of nothing but requested edits. An undo that
    reverted others as well is undone, together with the requested edits that it had reverted.
    """
    return _walk(edits, requested)[0]


def latest_turn(edits: Sequence[Edit]) -> int | None:
    """The last turn with an edit of the agent's that is not undone; only if there is none, one with edits
    that the user may have made.
    """
    undone = undone_edits(edits)
    own = [edit for edit in edits if edit.id not in undone and not (edit.is_merged or _is_passive(edit))]
    certain = [edit for edit in own if not edit.is_possibly_users]
    return max((edit.origin.turn for edit in certain or own), default=None)


def made_in(edits: Iterable[Edit], turn: int) -> set[int]:
    """The numbers of the edits that the agent made in a turn."""
    return {edit.id for edit in edits if edit.origin.turn == turn and not _is_passive(edit)}


def left_in(chosen: Sequence[Edit]) -> list[Edit]:
    """The edits, out of those to be reverted (oldest first), that stay unless the user names them: others
    may have made them, or they came with commits and no later edit has restored the previous version.
    """
    left: list[Edit] = []
    later = set[tuple[str, str, str, int]]()
    for edit in reversed(chosen):
        before, after = edit.before, edit.after
        is_back = before.known and (edit.path, before.kind, before.digest, before.mode) in later
        if edit.shared_with or (edit.is_merged and not is_back):
            left.append(edit)
        later.add((edit.path, after.kind, after.digest, after.mode))
    return left[::-1]


def latest_undo(edits: Sequence[Edit]) -> set[int]:
    """The numbers of the edits of the last undo that is not itself undone."""
    undone = undone_edits(edits)
    last = next((edit for edit in reversed(edits) if edit.tool == UNDO and edit.id not in undone), None)
    return {edit.id for edit in edits if last and (edit.call, edit.tool) == (last.call, UNDO)}


def turn_reverted_by(undos: Iterable[Edit], edits: Iterable[Edit]) -> int:
    """The turn whose edits were reverted by `undos`, out of `edits`; 0 if there are several, or if only hunks
    were reverted.
    """
    reverted = {target.edit: target.hunk for edit in undos for target in edit.undoes}
    turns = {edit.origin.turn for edit in edits if edit.id in reverted}
    return turns.pop() if len(turns) == 1 and not any(reverted.values()) else 0


def steps(chosen: Sequence[Edit], edits: Sequence[Edit] = ()) -> list[ReversalStep]:
    """The steps that revert the `chosen` edits, which are given oldest first: the steps are last one first.

    If `edits` are those of the conversation, the renames among them that stay are followed, and edits right
    before the chosen ones that stay undone are not restored by them.
    """
    ids = {edit.id for edit in chosen}
    _, undone = _walk(edits, ids)
    before = [edit for edit in edits if edit.id in undone and not _is_passive(edit)]
    own = sorted([*before, *chosen], key=lambda edit: edit.id)
    here, replaced = by_file(_single_steps(own, ids, edits), _change_of)
    unbroken_runs = [run for each in (*here.values(), *replaced) for run in unbroken(each, _change_of)]
    runs = [own for run in unbroken_runs for own in _in_effect_together(run, undone)]
    found = [reduce(_joined, own) for own in map(_to_last_chosen, runs) if own]
    return sorted(found, key=lambda step: step.last, reverse=True)


def _in_effect_together(run: Sequence[ReversalStep], undone: Mapping[int, int]) -> list[list[ReversalStep]]:
    """Divide the steps where one of them was undone before the next was made; `undone` as in `_walk`."""
    found: list[list[ReversalStep]] = [[]]
    first_undo = math.inf
    for step in run:
        if first_undo < step.last:
            found.append([])
            first_undo = math.inf
        found[-1].append(step)
        first_undo = min(first_undo, undone.get(step.last, math.inf))
    return found


def _to_last_chosen(run: Sequence[ReversalStep]) -> Sequence[ReversalStep]:
    """The steps up to the last that undoes anything."""
    return run[: max((place for place, step in enumerate(run, 1) if step.undoes), default=0)]


def _change_of(step: ReversalStep) -> FileChange:
    return step.change


def _single_steps(
    chosen: Sequence[Edit], undoes: Collection[int], edits: Sequence[Edit]
) -> list[ReversalStep]:
    """A step for each of the chosen edits, under the names that other edits' renames have given their
    files. Those of `undoes` count as undone by it.
    """
    own = {edit.id: _single_step(edit, edit.path) for edit in chosen}
    renamed, absent = renames(edits), _absent(edits)
    names: dict[str, str] = {}
    for edit in reversed(edits):
        if edit.id not in own:
            for old, new in reversed(renamed.get(edit.id, ())):
                names[old] = names.pop(new, new)
            continue
        now = names.get(edit.path, edit.path)
        # What was renamed, and is gone as well, was another file, created after this deletion.
        is_other = edit.after.kind == "absent" and now in absent
        step = own[edit.id] = _single_step(edit, edit.path if is_other else now)
        if edit.old_path:
            names.pop(edit.path, None)
            names[edit.old_path] = step.change.old_path or step.change.path
    return [step if id in undoes else replace(step, undoes=()) for id, step in own.items()]


def _absent(edits: Iterable[Edit]) -> set[str]:
    """The paths at which these edits have left no file."""
    there: dict[str, bool] = {}
    for edit in edits:
        there |= {edit.old_path: False, edit.path: edit.after.kind != "absent"}
    return {path for path, is_there in there.items() if path and not is_there}


def _single_step(edit: Edit, now: str) -> ReversalStep:
    """The step that reverts one edit of a file whose name is `now`."""
    change = change_of(edit)
    undoes = (Undone(edit.id),)
    if now == edit.path:
        return ReversalStep(change, undoes, edit.id, renamed=edit.id if edit.old_path else 0)
    then = _without_rename(edit, now) if edit.old_path else now
    if not then:
        return ReversalStep(change, undoes, edit.id, blocked=f"it was renamed since, to {shown(now)}")
    old_path = then if then != now else ""
    change = replace(change, path=now, old_path=old_path, made="")
    return ReversalStep(change, undoes, edit.id, (edit.path,), renamed=edit.id if old_path else 0)


def _without_rename(edit: Edit, now: str) -> str:
    """The name of a file, `now`, without the rename that an edit made; empty if both renames changed the
    same part of its path, or parts that cannot be separated.
    """
    if now == edit.old_path:
        return now
    base, then, now_parts = (PurePosixPath(path).parts for path in (edit.path, edit.old_path, now))
    one, other = sorted((_replaced(base, then), _replaced(base, now_parts)))
    touching = one[1] == other[0] and (one[0] == one[1] or other[0] == other[1])
    if one[1] > other[0] or touching:
        return ""
    between, rest = base[one[1] : other[0]], base[other[1] :]
    return str(PurePosixPath(*base[: one[0]], *one[2], *between, *other[2], *rest))


def _replaced(base: tuple[str, ...], parts: tuple[str, ...]) -> tuple[int, int, tuple[str, ...]]:
    """The range in which a path's parts differ from another's, and the other's parts."""
    shortest = min(len(base), len(parts))
    start = next((at for at in range(shortest) if base[at] != parts[at]), shortest)
    same = next((at for at in range(shortest - start) if base[-1 - at] != parts[-1 - at]), shortest - start)
    return start, len(base) - same, parts[start : len(parts) - same]


def _joined(first: ReversalStep, second: ReversalStep) -> ReversalStep:
    """Two successive steps of one file as one."""
    former = tuple(dict.fromkeys((*first.former, *second.former)))
    blocked = first.blocked or second.blocked
    change = joined(first.change, second.change)
    # A file that had come back to its old path has left it more than once: others may have been there since.
    renamed = first.renamed or second.renamed
    return ReversalStep(change, (*first.undoes, *second.undoes), second.last, former, blocked, renamed)


def _walk(edits: Sequence[Edit], requested: Collection[int]) -> tuple[list[Edit], dict[int, int]]:
    """The edits to undo, oldest first, and those that stay undone, each with the last edit that undid it."""
    undos: defaultdict[int, list[int]] = defaultdict(list)
    restored: defaultdict[int, list[int]] = defaultdict(list)
    for edit in edits:
        for target in edit.undoes:
            if not target.hunk:
                undos[target.edit].append(edit.id)
            elif edit.tool == REVIEW:
                restored[target.edit].append(edit.id)
    selected: list[Edit] = []
    chosen: set[int] = set()
    undone: dict[int, int] = {}
    # An undo comes after what it reverts, so its own state is known first.
    for edit in reversed(edits):
        last_undo, last_restored = (
            max((id for id in ids if id not in undone and id not in chosen), default=0)
            for ids in (undos[edit.id], restored[edit.id])
        )
        if last_undo > last_restored:
            undone[edit.id] = last_undo
        elif edit.id in requested and _is_to_be_undone(edit, requested):
            chosen.add(edit.id)
            selected.append(edit)
    return selected[::-1], undone


def _is_to_be_undone(edit: Edit, requested: Collection[int]) -> bool:
    if edit.undoes:
        return not all(target.edit in requested for target in edit.undoes)
    return edit.kind != "snapshot"


def _is_passive(edit: Edit) -> bool:
    """Return whether an edit is no change of the agent's: an undo, or a snapshot.

    An undo reverts no edit where it only overwrote a change by others.
    """
    return bool(edit.undoes) or edit.tool in (UNDO, REDO) or edit.kind == "snapshot"

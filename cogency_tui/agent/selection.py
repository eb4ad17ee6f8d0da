"""Which edits an undo takes back, and in which steps. Pure: nothing is looked at here.

An edit is taken back as long as an undo of it is not undone itself. Edits of one file that follow each
other without anybody else's change between them are one step, so what came and went within it leaves no
conflict.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from cogency_tui.store.versions import Edit, FileChange, Undone

UNDO = "undo"
REDO = "redo"
RESTORE = "restore"
GUARD = "guard"
"""Takes back what a command changed of guarded files without consent: the engine's, no user's."""


@dataclass(frozen=True, slots=True)
class Step:
    """A change to take back as a whole, and the edits that it consists of."""

    change: FileChange
    undoes: tuple[Undone, ...]
    last: int


def taken_back(edits: Sequence[Edit]) -> set[int]:
    """The numbers of the edits that are undone now; `edits` are those of a conversation, the oldest first."""
    return _walk(edits, ())[1]


def to_undo(edits: Sequence[Edit], wanted: Collection[int]) -> list[Edit]:
    """Of a conversation's edits, those to undo so that none of the `wanted` is in effect; the oldest first.

    What is undone already is left out, and so is an undo of nothing but wanted edits. One that took back
    others as well is undone, and those with it that it had taken back.
    """
    return _walk(edits, wanted)[0]


def latest_turn(edits: Sequence[Edit]) -> int | None:
    """The last turn with an edit of the agent's that is not undone."""
    undone = taken_back(edits)
    turns = [edit.origin.turn for edit in edits if edit.id not in undone and not _is_passive(edit)]
    return max(turns, default=None)


def made_in(edits: Iterable[Edit], turn: int) -> set[int]:
    """The numbers of the edits that the agent made in a turn."""
    return {edit.id for edit in edits if edit.origin.turn == turn and not _is_passive(edit)}


def latest_undo(edits: Sequence[Edit]) -> set[int]:
    """The numbers of the edits of the last undo that is not undone itself."""
    undone = taken_back(edits)
    last = next((edit for edit in reversed(edits) if edit.tool == UNDO and edit.id not in undone), None)
    return {edit.id for edit in edits if last and (edit.call, edit.tool) == (last.call, UNDO)}


def steps(edits: Iterable[Edit]) -> list[Step]:
    """How to take back edits, given the oldest first: the steps in their order, the last one first."""
    found: dict[int, Step] = {}
    at: dict[str, int] = {}
    for number, edit in enumerate(edits):
        key = at.pop(edit.old_path or edit.path, None)
        earlier = None if key is None else found[key]
        if key is None or earlier is None or not earlier.change.after.equals(edit.before):
            key, earlier = number, None
        found[key] = _extended(earlier, edit)
        at[edit.path] = key
    return sorted(found.values(), key=lambda step: step.last, reverse=True)


def _extended(step: Step | None, edit: Edit) -> Step:
    undone = Undone(edit.id)
    if step is None:
        change = FileChange(edit.path, edit.before, edit.after, edit.old_path, edit.made)
        return Step(change, (undone,), edit.id)
    first = step.change
    old_path = first.old_path or (first.path if edit.old_path else "")
    if old_path == edit.path or first.before.kind == "absent":
        old_path = ""
    change = FileChange(edit.path, first.before, edit.after, old_path, edit.made or first.made)
    return Step(change, (*step.undoes, undone), edit.id)


def _walk(edits: Sequence[Edit], wanted: Collection[int]) -> tuple[list[Edit], set[int]]:
    undos: defaultdict[int, list[int]] = defaultdict(list)
    for edit in edits:
        for target in edit.undoes:
            if not target.hunk:
                undos[target.edit].append(edit.id)
    selected: list[Edit] = []
    chosen: set[int] = set()
    undone: set[int] = set()
    # An undo comes after what it takes back, so what becomes of it is known by then.
    for edit in reversed(edits):
        if any(undo not in undone and undo not in chosen for undo in undos[edit.id]):
            undone.add(edit.id)
        elif edit.id in wanted and _is_to_be_undone(edit, wanted):
            chosen.add(edit.id)
            selected.append(edit)
    return selected[::-1], undone


def _is_to_be_undone(edit: Edit, wanted: Collection[int]) -> bool:
    if edit.undoes:
        return not all(target.edit in wanted for target in edit.undoes)
    return edit.kind != "snapshot"


def _is_passive(edit: Edit) -> bool:
    """Whether it is none of the agent's changes: an undo, or something kept beforehand."""
    return bool(edit.undoes) or edit.kind == "snapshot"

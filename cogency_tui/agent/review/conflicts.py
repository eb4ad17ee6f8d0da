"""Conflicts: the agent's lines that cannot be reverted because they were changed since; lists and resolves
them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from cogency_tui.agent.edits.file_history import REVIEW, UNDO
from cogency_tui.agent.edits.prior_contents import Contents
from cogency_tui.agent.edits.reverse import Obstacle
from cogency_tui.agent.edits.undo_preview import Plan, Planned, difference, plan_of
from cogency_tui.agent.edits.undo_selection import ReversalStep
from cogency_tui.agent.review.decision_target import Selection, selections_of
from cogency_tui.agent.review.decisions import applied
from cogency_tui.agent.review.hunk_transitions import Replaced, encoded, undone
from cogency_tui.agent.review.model import Target
from cogency_tui.agent.review.note_to_model import replaced_lines
from cogency_tui.agent.review.snapshot import ReviewSnapshot, ReviewSource
from cogency_tui.errors import UsageError, WorkspaceError
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.edit_records import Edit, FileChange, State
from cogency_tui.store.reviews import NewAction, Part
from cogency_tui.tools.worker_threads import in_thread
from cogency_tui.workspace.protected_names import shown
from cogency_tui.workspace.three_way_merge import is_text


@dataclass(frozen=True, slots=True)
class Text:
    """The user's replacement for a conflict."""

    text: str


Choice = Literal["ours", "theirs"] | Text
"""The resolution of a conflict: the current lines, the lines before the agent, or a text."""


async def conflicts(source: ReviewSource, target: Target) -> list[Obstacle]:
    """The parts of a target that are marked as in conflict and still are, with both sides as they are now."""
    snapshot = await source.snapshot()
    return list((await _plan(source, snapshot, target)).obstacles)


async def resolve(
    source: ReviewSource, target: Target, conflict: Obstacle, choices: Sequence[Choice]
) -> list[Edit]:
    """Resolve a conflict with a choice for each of its places, from top to bottom
    (`conflict.merged.conflicts`), or one choice if it is not about lines. Return the edits that this made.

    Raises:
        UsageError: the number of choices differs from that of places, or there is nothing to resolve.
        WorkspaceError: the file has changed since the conflict was read, or cannot be written.
    """
    snapshot = await source.snapshot()
    plan = await _plan(source, snapshot, target)
    found = next((each for each in plan.obstacles if each.path == conflict.path), None)
    if found is None:
        raise UsageError(f"{shown(conflict.path)} has no conflict left to resolve.")
    if (found.ours, found.now) != (conflict.ours, conflict.now):
        raise WorkspaceError(f"Not resolved: {shown(found.path)} was modified meanwhile.", "Review it again.")
    places = len(found.merged.conflicts) if found.merged else 1
    if len(choices) != places:
        raise UsageError(f"There are {places} conflicts to resolve, and {len(choices)} choices.")
    blobs = await source.journal.blobs()
    change = await in_thread(_settled, found, choices, blobs)
    state: State = "reverted" if all(choice == "theirs" for choice in choices) else "edited"
    tool = UNDO if state == "reverted" else REVIEW
    settled = Plan(tool, (), (change,))
    if not change.before.equals(change.after):
        settled = Plan(tool, (Planned(change, await in_thread(difference, change, blobs)),))
    marks: dict[Part, State] = {Part(each.edit, each.hunk): state for each in found.undoes}
    selections = await selections_of(source, snapshot, target)
    for part in [part for selection in selections for part in selection.parts]:
        if part.edit in {each.edit for each in found.undoes} and snapshot.decisions.part(part) == "conflict":
            marks[part] = state
    siblings = [part for selection in selections for part in selection.outlines.parts]
    changes = snapshot.decisions.changes(marks, siblings)
    left = await in_thread(_left, found, choices)
    return await applied(source, NewAction("resolve", found.path, tuple(marks), changes, left), settled)


async def _plan(source: ReviewSource, snapshot: ReviewSnapshot, target: Target) -> Plan:
    """The plan of reverting the parts in conflict, with its obstacles."""
    selections = await selections_of(source, snapshot, target)

    def examine(contents: Contents, blobs: Blobs) -> Plan:
        found: list[ReversalStep] = []
        whole: set[int] = set()
        for selection in selections:
            chosen = [each for each in selection.chosen if snapshot.decisions.hunk(each) == "conflict"]
            if not selection.is_lines and _is_in_conflict(selection):
                whole |= set(selection.edits)
            elif chosen:
                reversals = [Replaced(each, reverted=True) for each in chosen]
                undoes = undone(reversals, selection.outlines, snapshot.decisions, selection.history)
                found += selection.patcher(blobs).steps(reversals, undoes)
        found += snapshot.steps(whole)
        return plan_of(UNDO, found, contents, blobs)

    return await source.journal.reading(examine)


def _is_in_conflict(selection: Selection) -> bool:
    """Return whether the whole change was to be reverted, and could not be."""
    return any(selection.snapshot.decisions.marked(Part(edit)) == "conflict" for edit in selection.edits)


def _left(obstacle: Obstacle, choices: Sequence[Choice]) -> str:
    """The places that stay as they are: the agent's lines, and those that are there now."""
    places = zip(choices, obstacle.merged.conflicts, strict=True) if obstacle.merged else ()
    return "".join(
        replaced_lines(place.our_lines[0], place.base, place.ours)
        for choice, place in places
        if choice == "ours" and is_text(place.base, place.ours)
    )


def _settled(obstacle: Obstacle, choices: Sequence[Choice], blobs: Blobs) -> FileChange:
    """The change that resolves a conflict. Blocks.

    Raises:
        WorkspaceError: the chosen content was not stored.
    """
    ours, theirs = obstacle.ours, obstacle.theirs
    if obstacle.merged is None:
        (choice,) = choices
        then = ours if choice == "ours" else theirs
        if isinstance(choice, Text):
            then = blobs.version(choice.text.encode(), obstacle.mode)
        if then.kind != "absent" and not then.kept and not then.holds(ours):
            raise WorkspaceError(
                f"The earlier content of {shown(obstacle.path)} was not saved.", "Choose something else."
            )
        return FileChange(obstacle.path, obstacle.now, then, undoes=obstacle.undoes)
    present = blobs.read(ours.digest, ours.size)
    pieces: list[bytes] = []
    for choice, place in zip(choices, obstacle.merged.conflicts, strict=True):
        if isinstance(choice, Text):
            pieces.append(encoded(choice.text, present, obstacle.path))
        else:
            pieces.append(place.ours if choice == "ours" else place.theirs)
    data = obstacle.merged.resolved(pieces)
    then = blobs.version(data, obstacle.mode)
    return FileChange(obstacle.path, obstacle.now, then, undoes=obstacle.undoes)

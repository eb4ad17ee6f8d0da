"""Edits and plans as `cogency-tui edits` prints them: lines for the user, values for JSON.

Names and lines of files are revealed: a user who reads a diff before it is applied sees what it hides.
"""

import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from cogency_tui.agent.edits.change_attribution import named_conversations
from cogency_tui.agent.edits.file_history import REDO, RESTORE, UNDO
from cogency_tui.agent.edits.reverse import Obstacle
from cogency_tui.agent.edits.undo_preview import Plan, Planned, difference, left_out
from cogency_tui.agent.review.model import Fate
from cogency_tui.agent.review.survival import EditFate
from cogency_tui.errors import StoreError, WorkspaceError
from cogency_tui.safe_text import reveal
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.edit_records import USER, Edit, FileChange, Mark, Undone, Version
from cogency_tui.workspace import diff
from cogency_tui.workspace.protected_names import shown
from cogency_tui.workspace.text_files import decode
from cogency_tui.workspace.three_way_merge import Conflict

_STATES = {"undone": "reverted", "partly undone": "partly reverted"}
"""Words for the states of an edit, where these differ."""

_FATES: dict[Fate, str] = {"still there": "applied", "changed since": "edited since"}
"""Words for the survival of an edit, where these differ."""

_GOALS = {UNDO: "after revert:", REDO: "after reapply:", RESTORE: "after restore:"}
"""Labels of the content that a plan would write, by the tool of the plan."""

_MOST_LINES = 40
"""Lines of one side of a conflict that the user is shown."""

Counts = tuple[int, int]
"""Lines added and removed; both 0 if lines are not comparable, as in a binary file."""


def name_of(path: str) -> str:
    """A path on one line, with nothing in it hidden."""
    return reveal(shown(path))


def state_of(edit: Edit, marks: Iterable[Mark], undone: Collection[int]) -> str:
    """The state of an edit, "undone" if it is reverted; empty if there is nothing to decide."""
    states = {mark.hunk: mark.state for mark in marks if mark.edit == edit.id}
    if edit.id in undone or states.get("") == "reverted":
        return "undone"
    if "" in states:
        return states[""]
    if "reverted" in states.values():
        return "partly undone"
    return "" if edit.undoes or edit.kind == "snapshot" else "new"


def edit_line(edit: Edit, state: str, counts: Counts) -> str:
    """An edit on one line, its path last."""
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(edit.timestamp))
    undoes = f"  (reverts {_numbers(edit.undoes)})" if edit.undoes else ""
    interrupted = "  (interrupted)" if edit.interrupted else ""
    merged = "  (came with commits)" if edit.is_merged else ""
    shared = ""
    if others := {*edit.shared_with} - {USER}:
        shared = f"  (shared by {named_conversations({edit.origin.conversation, *others})})"
    shared += "  (possibly yours)" if edit.is_possibly_users else ""
    shown_state = _STATES.get(state, state)
    return (
        f"{edit.id:>5}  turn {edit.origin.turn:<3}  {when}  {edit.tool:<7}  {edit.kind:<8}  "
        f"{extent(edit, counts):>9}  {shown_state:<8}  {_names(edit)}{undoes}{interrupted}{merged}{shared}"
    )


def edit_value(edit: Edit, state: str, counts: Counts, marks: Iterable[Mark]) -> dict[str, Any]:
    """All fields of an edit."""
    own = [mark for mark in marks if mark.edit == edit.id]
    return {
        "id": edit.id,
        "conversation": edit.origin.conversation,
        "caller": edit.origin.caller,
        "turn": edit.origin.turn,
        "project": edit.origin.project,
        "call": edit.call,
        "tool": edit.tool,
        **_change_value(edit, counts),
        "made": edit.made,
        "undoes": _undoes_value(edit.undoes),
        "state": state,
        "note": next((mark.note for mark in own if not mark.hunk), ""),
        "hunks": {mark.hunk: mark.state for mark in own if mark.hunk},
        "timestamp": edit.timestamp,
        "interrupted": edit.interrupted,
        "shared_with": edit.shared_with,
        "merged": edit.is_merged,
    }


def extent(change: FileChange, counts: Counts) -> str:
    """The extent of a change: in lines, or in bytes if lines are not comparable."""
    if any(counts) or change.before.holds(change.after):
        return f"+{counts[0]:,} −{counts[1]:,}"
    return f"{change.before.size:,} → {change.after.size:,} bytes"


def diff_text(text: str) -> str:
    """A difference for the user to read, with a note if no line differs."""
    return reveal(text).rstrip("\n") or "(Only line endings or the encoding differ.)"


def fate_line(fate: EditFate, renamed: str = "") -> str:
    """The survival of an edit, as a sentence; `renamed` is the file's current path, if it has changed."""
    at = f", in {name_of(renamed)}" if renamed else ""
    state = _FATES.get(fate.state, fate.state)
    if fate.reason:
        return f"Now: {state}{at} ({name_of(fate.reason).removesuffix('.')})."
    if fate.state == "changed since" and fate.hunks:
        return f"Now: {state}{at}; {fate.there} of {fate.hunks} hunks are still applied."
    return f"Now: {state}{at}."


def fate_value(fate: EditFate, path: str) -> dict[str, Any]:
    """The survival of an edit, in the file that is now at `path`."""
    return {
        "state": fate.state,
        "path": path,
        "there": fate.there,
        "hunks": fate.hunks,
        "reason": fate.reason,
    }


def plan_text(plan: Plan, blobs: Blobs) -> Iterator[str]:
    """A plan, one paragraph for each file: what would change, what would not, and the obstacles. Blocks."""
    for each in plan.changes:
        change = each.change
        lost = "  (its current content is lost permanently)" if _source(change) in plan.for_good else ""
        head = f"{change.kind}  {_names(change)}  {extent(change, diff.count(each.diff))}{lost}"
        yield f"{head}\n{diff_text(each.diff)}\n"
    for change in plan.unchanged:
        gone = f"{_edits(change.undoes)} already gone"
        yield f"unchanged  {name_of(change.path)}  ({gone})\n"
    for obstacle in plan.obstacles:
        head = f"✗ {name_of(obstacle.path)}: {reveal(obstacle.reason)}"
        yield "\n".join((head, *_sides(obstacle, _GOALS[plan.tool], blobs), ""))
    if plan.left:
        yield f"{reveal(left_out(plan.left))}\n"


def plan_values(plan: Plan, blobs: Blobs) -> Iterator[dict[str, Any]]:
    """A plan, one object for each file; `type` is "change", "unchanged", "obstacle" or "left". Blocks."""
    for each in plan.changes:
        yield {"type": "change", **_planned_value(each, plan)}
    for change in plan.unchanged:
        yield {"type": "unchanged", "path": change.path, "undoes": _undoes_value(change.undoes)}
    for obstacle in plan.obstacles:
        encoding = _encoding(obstacle, blobs)
        conflicts = obstacle.merged.conflicts if obstacle.merged else ()
        yield {
            "type": "obstacle",
            "path": obstacle.path,
            "reason": obstacle.reason,
            "undoes": _undoes_value(obstacle.undoes),
            "base": _version_value(obstacle.base),
            # A file that could not be read counts as absent too; the reason distinguishes these.
            "now": None if obstacle.ours.kind == "absent" else _version_value(obstacle.ours),
            "back": _version_value(obstacle.theirs),
            "conflicts": [_conflict_value(conflict, encoding) for conflict in conflicts] if encoding else [],
        }
    for edit in plan.left:
        yield {
            **{"type": "left", "path": edit.path, "edit": edit.id},
            **{"shared_with": edit.shared_with, "merged": edit.is_merged},
        }


def _planned_value(planned: Planned, plan: Plan) -> dict[str, Any]:
    change = planned.change
    return {
        **_change_value(change, diff.count(planned.diff)),
        "undoes": _undoes_value(change.undoes),
        "for_good": _source(change) in plan.for_good,
        "diff": planned.diff,
    }


def _change_value(change: FileChange, counts: Counts) -> dict[str, Any]:
    return {
        "kind": change.kind,
        "path": change.path,
        "old_path": change.old_path,
        "added": counts[0],
        "removed": counts[1],
        "before": _version_value(change.before),
        "after": _version_value(change.after),
    }


def _version_value(version: Version) -> dict[str, Any]:
    return {
        "kind": version.kind,
        "digest": version.digest,
        "size": version.size,
        "mode": f"{version.mode:o}",
        "kept": version.kept,
    }


def _undoes_value(undoes: Iterable[Undone]) -> list[Mapping[str, Any]]:
    return [{"edit": undone.edit, "hunk": undone.hunk} for undone in undoes]


def _conflict_value(conflict: Conflict, encoding: str) -> dict[str, Any]:
    """Lines are counted from 1; the last precedes the first if there are none."""
    first, end = conflict.our_lines
    return {
        "lines": [first + 1, end],
        "base": _decoded(conflict.base, encoding),
        "now": _decoded(conflict.ours, encoding),
        "back": _decoded(conflict.theirs, encoding),
    }


def _sides(obstacle: Obstacle, goal: str, blobs: Blobs) -> Iterator[str]:
    """Both versions of an obstacle, the second below `goal`: the lines, or their kind and the changes in
    between.
    """
    encoding = _encoding(obstacle, blobs)
    if obstacle.merged is not None and encoding:
        for conflict in obstacle.merged.conflicts:
            yield f"  now, {_place(conflict)}:"
            yield from _quoted(_decoded(conflict.ours, encoding))
            yield f"  {goal}"
            yield from _quoted(_decoded(conflict.theirs, encoding))
        return
    if obstacle.ours.kind != "absent":
        yield f"  now: {_described(obstacle.ours)}"
    yield f"  {goal} {_described(obstacle.theirs)}"
    if obstacle.ours.kind != "absent" and obstacle.base.known:
        yield "  changed since:"
        yield from _quoted(difference(FileChange(obstacle.path, obstacle.base, obstacle.ours), blobs))


def _encoding(obstacle: Obstacle, blobs: Blobs) -> str:
    """The encoding of the conflicting lines; empty if no lines conflict."""
    now = obstacle.ours
    if obstacle.merged is None:
        return ""
    try:
        return decode(blobs.read(now.digest, now.size), obstacle.path).encoding
    except (StoreError, WorkspaceError):
        return ""


def _decoded(data: bytes, encoding: str) -> str:
    return data.decode(encoding, "replace").removeprefix("\ufeff").replace("\r\n", "\n")


def _quoted(text: str) -> Iterator[str]:
    lines = reveal(text).removesuffix("\n").split("\n") if text else []
    yield from (f"  | {line}" for line in lines[:_MOST_LINES])
    if len(lines) > _MOST_LINES:
        yield f"  | … and {len(lines) - _MOST_LINES:,} more lines"
    if not lines:
        yield "  | (nothing)"


def _place(conflict: Conflict) -> str:
    first, end = conflict.our_lines
    if first == end:
        return f"after line {first:,}"
    return f"line {end:,}" if end - first == 1 else f"lines {first + 1:,} to {end:,}"


def _described(version: Version) -> str:
    if version.kind == "absent":
        return "nothing"
    if version.kind == "link":
        return f"a symbolic link ({version.digest[:12]})"
    return f"a file of {version.size:,} bytes, mode {version.mode:o} ({version.digest[:12] or 'unknown'})"


def _names(change: FileChange) -> str:
    old = f"{name_of(change.old_path)} → " if change.old_path else ""
    return f"{old}{name_of(change.path)}"


def _source(change: FileChange) -> str:
    return change.old_path or change.path


def _edits(undoes: Sequence[Undone]) -> str:
    return f"edit{'' if len(undoes) == 1 else 's'} {_numbers(undoes)}"


def _numbers(undoes: Iterable[Undone]) -> str:
    return ", ".join(dict.fromkeys(str(undone.edit) for undone in undoes))

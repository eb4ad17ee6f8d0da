"""The outcome of an undo, redo or restore in words: the same in the conversation and in notifications."""

from typing import TYPE_CHECKING

from cogency_tui.tui.kit.number_format import plural

if TYPE_CHECKING:
    from cogency_tui.agent.edits.undo_selection import UndoRecord


def describe_undo(undo: "UndoRecord") -> str:
    """`Reverted turn 3: 2 files`; without a turn, `Restored 2 files`."""
    files = plural(undo.files, "file") if undo.files else "no files changed"
    is_redo = undo.tool == "redo"
    if undo.turn:
        return f"{'Reapplied' if is_redo else 'Reverted'} turn {undo.turn}: {files}"
    return f"Reversed a restore: {files}" if is_redo else f"Restored {plural(undo.files, 'file')}"


def symbol_of(undo: "UndoRecord") -> str:
    """The arrow before the line in the conversation."""
    return "↷" if undo.tool == "redo" else "↶"

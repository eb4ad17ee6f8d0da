"""Steps for undo: a text area's history in larger units.

The text area ends a batch of edits at pauses and newlines; a step is all that happened between two marks, as
a whole insert mode.
"""

from textual.document._edit import Edit
from textual.widgets import TextArea


class UndoSteps:
    """Undoes and redoes edits of `area` from mark to mark."""

    def __init__(self, area: TextArea) -> None:
        self._area = area
        self._ends: list[list[Edit]] = []
        """The last batch of each step."""

    def mark(self) -> None:
        """End a step, if there were edits since the last mark."""
        history = self._area.history
        history.checkpoint()
        batches = [*history.undo_stack, *history.redo_stack]
        self._ends = [*filter(self._ends_step, batches), *history.undo_stack[-1:]]

    def undo(self, times: int) -> None:
        for _ in range(min(times, len(self._area.history.undo_stack))):
            self._undo()

    def redo(self, times: int) -> None:
        for _ in range(min(times, len(self._area.history.redo_stack))):
            self._redo()

    def _undo(self) -> None:
        self._area.undo()
        while (batches := self._area.history.undo_stack) and not self._ends_step(batches[-1]):
            self._area.undo()

    def _redo(self) -> None:
        self._area.redo()
        history = self._area.history
        while history.redo_stack and not self._ends_step(history.undo_stack[-1]):
            self._area.redo()

    def _ends_step(self, batch: list[Edit]) -> bool:
        # Two batches can be equal.
        return any(batch is end for end in self._ends)

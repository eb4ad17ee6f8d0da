"""Rewinding to one of the user's messages: the conversation, the files, or both.

Files are restored as from the timeline: once the user has seen what changes, by an edit, which can itself be
undone.
"""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from rich.segment import Segment
from textual.binding import Binding, BindingType

from cogency_tui.errors import CogencyError, UsageError
from cogency_tui.safe_text import one_line, reveal
from cogency_tui.tui.conversation.turns import Turn
from cogency_tui.tui.conversation.turns_dialog import TurnsDialog
from cogency_tui.tui.kit.dialogs import Choice
from cogency_tui.tui.kit.lines import Line, wrap
from cogency_tui.tui.kit.list_dialog import Note
from cogency_tui.tui.kit.number_format import plural
from cogency_tui.tui.kit.select_list import LETTERS, list_keys
from cogency_tui.tui.theme_styles import ThemeStyles

if TYPE_CHECKING:
    from cogency_tui.agent.edits.undo_preview import Plan, Planned
    from cogency_tui.agent.edits.undo_selection import UndoRecord
    from cogency_tui.agent.timeline.model import Past
    from cogency_tui.agent.timeline.timeline import Timeline


_NOTE_LINES = 3
_MOST_NAMED = 12
"""The most files that the note names; more have no room in any window."""


class FilesBefore:
    """The files before each message of a conversation, read from its `timeline`."""

    def __init__(self, timeline: "Timeline") -> None:
        self._timeline = timeline
        self._past: Past | None = None

    async def plan(self, nth: int) -> "Plan | None":
        """Plan to restore the files as they were when the user sent the `nth` message or command, from 1;
        None if there is nothing to restore.

        Raises:
            CogencyError: the store or a file cannot be read.
        """
        self._past = self._past or await self._timeline.read()
        points = enumerate(self._past.points)
        messages = [index for index, point in points if point.event["type"] == "user"]
        try:
            return await self._timeline.restore_before(self._past, messages[nth - 1])
        except UsageError:
            return None

    async def restore(self, plan: "Plan") -> "UndoRecord":
        """Apply a plan; return what it did.

        Raises:
            CogencyError: a file cannot be written, or has changed meanwhile.
        """
        return await self._timeline.apply(plan)


class Rewind(NamedTuple):
    """The user's choice: back to before the message that is `unit`, with the `conversation`, and with the
    files of `plan`, if there is one, as the user has confirmed it."""

    unit: int
    conversation: bool
    plan: "Plan | None"


class RewindScreen(TurnsDialog["Rewind | None"]):
    """Lists `turns`, with the newest selected first. `plan` plans to restore the files before a turn's
    message, and `preview` returns what of a plan the user confirms."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "Fork here", id="rewind.conversation"),
        Binding("f2", "restore(False)", "Preview restored files", id="rewind.files"),
        Binding("f3", "restore(True)", "Fork and preview restored files", id="rewind.both"),
        Binding("escape", "back", "Close", id="rewind.back", tooltip="Clear the filter, or close"),
        *list_keys("rewind", without=LETTERS),
    ]

    def __init__(
        self,
        turns: Sequence[Turn],
        plan: Callable[[int], Awaitable["Plan | None"]],
        preview: Callable[["Plan"], Awaitable["Plan | None"]],
    ) -> None:
        note = Note(self._draw_note, id="rewind-note")
        super().__init__("rewind", "Rewind to a message", turns, turns[-1].unit, note)
        self._plan = plan
        self._preview = preview
        self._plans: dict[int, Plan | str | None] = {}
        """By unit: the plan, or the error in place of it."""

    def choices(self) -> list[Choice]:
        fork: list[Choice] = [("enter", "fork here", "open")] if self.rows.row is not None else []
        files: list[Choice] = [("f2", "restore files", "restore(False)"), ("f3", "both", "restore(True)")]
        return [*fork, *(files if self._restorable() else []), self.closing]

    def note_lines(self, height: int) -> int:
        del height
        return _NOTE_LINES

    def show_selected(self) -> None:
        super().show_selected()
        if (turn := self.rows.row) is not None and turn.unit not in self._plans:
            self.run_worker(partial(self._read, turn.unit), group="rewind", exclusive=True)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "restore":
            return self._restorable() is not None
        return super().check_action(action, parameters)

    def action_open(self) -> None:
        """Fork before the selected message."""
        self.catch_up()
        if (turn := self.rows.row) is not None:
            self.dismiss(Rewind(turn.unit, True, None))

    def action_restore(self, conversation: bool) -> None:
        """Show what happens to the files, and go back once the user has confirmed it."""
        self.catch_up()
        turn, plan = self.rows.row, self._restorable()
        if turn is not None and plan is not None:
            self.run_worker(self._restore(turn.unit, conversation, plan), group="rewind-preview")

    async def _restore(self, unit: int, conversation: bool, plan: "Plan") -> None:
        if (confirmed := await self._preview(plan)) is not None:
            self.dismiss(Rewind(unit, conversation, confirmed))

    async def _read(self, unit: int) -> None:
        try:
            self._plans[unit] = await self._plan(unit)
        except CogencyError as exc:
            self._plans[unit] = str(exc)
        self.show_selected()

    def _restorable(self) -> "Plan | None":
        """The plan for the selected message, if any of it can be applied without a permanent loss."""
        plan = self._plans.get(self.rows.row.unit) if self.rows.row else None
        return None if plan is None or isinstance(plan, str) or _blocked(plan) else plan

    def _draw_note(self, width: int, styles: ThemeStyles) -> list[Line]:
        """Draw what the keys do, with as many of the files that change as there is room for."""
        if (turn := self.rows.row) is None:
            return []
        files, names, role = self._describe(turn.unit)

        def draw(named: str) -> list[Line]:
            text = f"Enter forks before this message; {files}{named}"
            return wrap([Segment(text, styles(role))], width)

        most = range(min(len(names), _MOST_NAMED), 0, -1)
        drawn = (draw(f": {_listed(names, count)}") for count in most)
        return next((lines for lines in drawn if len(lines) <= _NOTE_LINES), draw(""))

    def _describe(self, unit: int) -> tuple[str, list[str], str]:
        """What happens to the files, the names of those that change, and the role of the text."""
        if unit not in self._plans:
            return "comparing files…", [], "text"
        plan = self._plans[unit]
        if plan is None:
            return "no files to restore", [], "text"
        if reason := _blocked(plan):
            return f"files cannot be restored: {reason}", [], "bad"
        assert not isinstance(plan, str)
        changing = {each.change.path for each in plan.changes}
        others = [
            f"{one_line(each.path)} (changed since)" for each in plan.deviations if each.path not in changing
        ]
        names = [*map(_name, plan.changes), *others]
        return f"F2 previews {plural(len(names), 'file')}", names, "edit" if others else "text"


def _blocked(plan: "Plan | str") -> str:
    """Why none of the files of a plan, or of the error in place of it, can be restored; empty if some can."""
    if isinstance(plan, str):
        return reveal(plan)
    if plan.for_good:
        return f"{one_line(plan.for_good[0])} is too large to save, and would be lost"
    if plan.changes or plan.overwriting:
        return ""
    first = plan.deviations[0]
    return f"{one_line(first.path)}: {reveal(first.reason)}"


def _name(planned: "Planned") -> str:
    """The path of a file, with a remark if restoring deletes it."""
    change = planned.change
    return one_line(change.path) + (" (deleted)" if change.kind == "deleted" else "")


def _listed(names: Sequence[str], most: int) -> str:
    """At most `most` of `names`, and the number of the others."""
    left = len(names) - most
    return ", ".join(names[:most]) + (f" and {left:,} more" if left > 0 else "")

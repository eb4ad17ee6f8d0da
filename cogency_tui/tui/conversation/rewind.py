"""Rewinding to one of the user's messages: the conversation, the files, or both.

Files are restored as from the timeline: once the user has seen what changes, by an edit, which can itself be
undone.
"""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from operator import attrgetter
from time import time
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from rich.segment import Segment
from textual.binding import Binding, BindingType

from cogency_tui.errors import CogencyError, UsageError
from cogency_tui.safe_text import one_line, reveal
from cogency_tui.tui.conversation.turns import Turn, columns_of, draw_turn
from cogency_tui.tui.kit.dialogs import Choice
from cogency_tui.tui.kit.lines import Line, wrap
from cogency_tui.tui.kit.list_dialog import ListDialog, Note
from cogency_tui.tui.kit.number_format import plural
from cogency_tui.tui.kit.select_list import SelectList, list_keys
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


class RewindScreen(ListDialog["Rewind | None", Turn]):
    """Lists `turns`, with the newest selected. `plan` plans to restore the files before a turn's message, and
    `preview` returns what of a plan the user confirms."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "fork", "Fork here", id="rewind.conversation"),
        Binding("f", "restore(False)", "Preview restored files", id="rewind.files"),
        Binding("b", "restore(True)", "Fork and preview restored files", id="rewind.both"),
        Binding("escape,q", "close", "Close", id="rewind.close"),
        *list_keys("rewind"),
    ]

    def __init__(
        self,
        turns: Sequence[Turn],
        plan: Callable[[int], Awaitable["Plan | None"]],
        preview: Callable[["Plan"], Awaitable["Plan | None"]],
    ) -> None:
        rows: SelectList[Turn] = SelectList(self._draw_row, attrgetter("unit"), id="rewind-list")
        super().__init__("rewind", "Rewind to a message", rows, Note(self._draw_note, id="rewind-note"))
        self._turns = turns
        self._plan = plan
        self._preview = preview
        self._plans: dict[int, Plan | str | None] = {}
        """By unit: the plan, or the error in place of it."""
        self._now = time()
        self._columns = columns_of(turns, self._now)

    async def on_mount(self) -> None:
        self.rows.show(self._turns, self._turns[-1].unit)
        await self.moved()

    def choices(self) -> list[Choice]:
        files: list[Choice] = [("f", "restore files", "restore(False)"), ("b", "both", "restore(True)")]
        return [
            ("enter", "fork here", "fork"),
            *(files if self._restorable() else []),
            ("escape", "close", "close"),
        ]

    def note_lines(self, height: int) -> int:
        del height
        return _NOTE_LINES

    async def moved(self) -> None:
        await super().moved()
        if (turn := self.rows.row) is not None and turn.unit not in self._plans:
            self.run_worker(partial(self._read, turn.unit), group="rewind", exclusive=True)

    async def clicked(self) -> None:
        await self.moved()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "restore":
            return self._restorable() is not None
        return super().check_action(action, parameters)

    def action_fork(self) -> None:
        if (turn := self.rows.row) is not None:
            self.dismiss(Rewind(turn.unit, True, None))

    def action_restore(self, conversation: bool) -> None:
        """Show what happens to the files, and go back once the user has confirmed it."""
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

    def _draw_row(self, turn: Turn, width: int, styles: ThemeStyles, on: str) -> Line:
        return draw_turn(turn, width, styles, on, now=self._now, columns=self._columns)

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
        return f"f previews {plural(len(names), 'file')}", names, "edit" if others else "text"


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

"""Going back to before one of the user's messages: with the conversation, the files, or both.

Files are restored as from the timeline: by an edit, which can itself be undone.
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
from cogency_tui.tui.kit.lines import Line, fit, wrap
from cogency_tui.tui.kit.list_dialog import ListDialog, Note
from cogency_tui.tui.kit.number_format import plural
from cogency_tui.tui.kit.select_list import SelectList, list_keys
from cogency_tui.tui.theme_styles import ThemeStyles

if TYPE_CHECKING:
    from cogency_tui.agent.edits.undo_preview import Plan
    from cogency_tui.agent.timeline.model import Past
    from cogency_tui.agent.timeline.timeline import Timeline


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
            plan = await self._timeline.restore_before(self._past, messages[nth - 1])
        except UsageError:
            return None
        return plan if plan.changes or plan.obstacles else None

    async def restore(self, plan: "Plan") -> None:
        """Apply a plan.

        Raises:
            CogencyError: a file cannot be written, or has changed meanwhile.
        """
        await self._timeline.apply(plan)


class Rewind(NamedTuple):
    """The user's choice: back to before the message that is `unit`, with the `conversation`, and with the
    files of `plan`, if there is one."""

    unit: int
    conversation: bool
    plan: "Plan | None"


class RewindScreen(ListDialog["Rewind | None", Turn]):
    """Lists `turns`, the newest first; `plan` plans to restore the files before a turn's message."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "go(True, False)", "Conversation", id="rewind.conversation"),
        Binding("f", "go(False, True)", "Files", id="rewind.files"),
        Binding("b", "go(True, True)", "Both", id="rewind.both"),
        Binding("escape,q", "close", "Close", id="rewind.close"),
        *list_keys("rewind"),
    ]

    def __init__(self, turns: Sequence[Turn], plan: Callable[[int], Awaitable["Plan | None"]]) -> None:
        rows: SelectList[Turn] = SelectList(self._draw_row, attrgetter("unit"), id="rewind-list")
        super().__init__(
            "rewind", "Go back to before a message", rows, Note(self._draw_note, id="rewind-note")
        )
        self._turns = turns[::-1]
        self._plan = plan
        self._plans: dict[int, Plan | str | None] = {}
        """By unit: the plan, or the error in place of it."""
        self._now = time()
        self._columns = columns_of(turns, self._now)

    async def on_mount(self) -> None:
        self.rows.show(self._turns)
        await self.moved()

    def choices(self) -> list[Choice]:
        files: list[Choice] = [("f", "files", "go(False, True)"), ("b", "both", "go(True, True)")]
        return [
            ("enter", "conversation", "go(True, False)"),
            *(files if self._restorable() else []),
            ("escape", "close", "close"),
        ]

    def note_lines(self, height: int) -> int:
        del height
        return 3

    async def moved(self) -> None:
        await super().moved()
        if (turn := self.rows.row) is not None and turn.unit not in self._plans:
            self.run_worker(partial(self._read, turn.unit), group="rewind", exclusive=True)

    async def clicked(self) -> None:
        await self.moved()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "go" and parameters[1:] == (True,):
            return self._restorable() is not None
        return super().check_action(action, parameters)

    def action_go(self, conversation: bool, files: bool) -> None:
        if (turn := self.rows.row) is not None:
            self.dismiss(Rewind(turn.unit, conversation, self._restorable() if files else None))

    async def _read(self, unit: int) -> None:
        try:
            self._plans[unit] = await self._plan(unit)
        except CogencyError as exc:
            self._plans[unit] = str(exc)
        self.show_selected()

    def _restorable(self) -> "Plan | None":
        """The plan for the selected message, if it can be applied without losing anything."""
        plan = self._plans.get(self.rows.row.unit) if self.rows.row else None
        return None if plan is None or isinstance(plan, str) or plan.obstacles or plan.for_good else plan

    def _draw_row(self, turn: Turn, width: int, styles: ThemeStyles, on: str) -> Line:
        return draw_turn(turn, width, styles, on, now=self._now, columns=self._columns)

    def _draw_note(self, width: int, styles: ThemeStyles) -> list[Line]:
        """Draw what will happen, and the files that it concerns."""
        if (turn := self.rows.row) is None:
            return []
        files, paths, role = self._describe(turn.unit)
        lines = wrap([Segment(f"Forks before this message · {files}", styles(role))], width)
        return [*lines, *([Line([Segment(fit(paths, width), styles("dim"))])] if paths else [])]

    def _describe(self, unit: int) -> tuple[str, str, str]:
        """What happens to the files, their paths, and the role of the text."""
        if unit not in self._plans:
            return "comparing files…", "", "text"
        plan = self._plans[unit]
        if plan is None:
            return "no files change back", "", "text"
        if isinstance(plan, str):
            return f"files stay: {reveal(plan)}", "", "bad"
        if plan.obstacles:
            first = plan.obstacles[0]
            return f"files stay: {one_line(first.path)}: {reveal(first.reason)}", "", "bad"
        if plan.for_good:
            return f"files stay: {one_line(plan.for_good[0])} is too large to be restored later", "", "bad"
        count = len(plan.changes)
        changes = f"{plural(count, 'file')} {'changes' if count == 1 else 'change'} back"
        return changes, ", ".join(one_line(each.change.path) for each in plan.changes), "text"

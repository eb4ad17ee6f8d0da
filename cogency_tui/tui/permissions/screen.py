"""The dialog of permissions: the mode in force, and all grants and rules, to withdraw and restore."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import time
from typing import Any, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical

from cogency_tui.errors import CogencyError
from cogency_tui.tui.kit.dialogs import STYLES, Choice, Choices, Dialog, DialogBody
from cogency_tui.tui.kit.lines import Line
from cogency_tui.tui.kit.number_format import plural
from cogency_tui.tui.kit.pane_title import PaneTitle
from cogency_tui.tui.kit.select_list import HeadedList, Heading
from cogency_tui.tui.permissions.model import GrantRow, Ledger, ModeRow, Row, RuleRow
from cogency_tui.tui.permissions.rows import draw_permission, draw_permission_note
from cogency_tui.tui.theme import Inks
from cogency_tui.workspace.file_names import short_path

OWN_STYLES = Path(__file__).parent.parent / "styles" / "permissions.tcss"

_AROUND = 8
"""Lines of the dialog's title and foot, and between its parts."""

_SHORT = 24
"""Lines of a screen below which no space is left free."""

_TALL = 40
_NOTES = (3, 4, 8)
"""Lines of the note about the selected row on a short, a normal and a tall screen."""


class PermissionList(HeadedList[Row]):
    """Modes, grants and rules, one line each; the selection skips headings."""

    def __init__(self, clock: Callable[[], float], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._clock = clock

    def draw_row(self, row: Row, on: str) -> Line:
        return draw_permission(row, self.text_width, self.inks, on, self._clock())


class Note(DialogBody):
    """The note about the selected row, shown from its beginning."""

    def redraw(self) -> None:
        super().redraw()
        self.jump(0)
        # An unchanged number of lines triggers no resize event.
        self.call_after_refresh(self.on_resize)


class PermissionsScreen(Dialog[None]):
    """Shows the `ledger`; a selected mode goes to `choose`."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "close", "Close", id="permissions.close"),
        Binding("enter,space", "choose", "Choose the mode", id="permissions.choose"),
        Binding("d,delete", "withdraw", "Withdraw", id="permissions.withdraw", tooltip="Ask about it again"),
        Binding("u", "undo", "Undo", id="permissions.undo", tooltip="Give back what was withdrawn last"),
        Binding("up,k", "move(-1)", "Up", show=False, id="permissions.up"),
        Binding("down,j", "move(1)", "Down", show=False, id="permissions.down"),
        Binding("pageup", "move(-10)", "Page up", show=False, id="permissions.page_up"),
        Binding("pagedown", "move(10)", "Page down", show=False, id="permissions.page_down"),
    ]
    AUTO_FOCUS = ""
    CSS_PATH: ClassVar = [STYLES, OWN_STYLES]

    def __init__(
        self, ledger: Ledger, choose: Callable[[str], None], *, clock: Callable[[], float] = time
    ) -> None:
        super().__init__()
        self._ledger = ledger
        self._choose = choose
        self._clock = clock

    def compose(self) -> ComposeResult:
        with Vertical(id="permissions"):
            yield PaneTitle("Permissions", id="permissions-title")
            yield PermissionList(self._clock, id="permissions-list")
            yield Note(self._draw_note, id="permissions-note")
            with Vertical(classes="dialog-foot"):
                yield Choices([])

    async def on_mount(self) -> None:
        await self._show()
        place = next((at for at, row in enumerate(self._rows) if isinstance(row, ModeRow) and row.current), 0)
        for found in self.query(PermissionList):
            found.show(self._rows, place)
            self._tell()

    def on_resize(self, event: events.Resize) -> None:
        """Leave space for the parts below the list, however long it is."""
        height = event.size.height
        self.set_class(height < _SHORT, "-short")
        note = _NOTES[(height >= _SHORT) + (height >= _TALL)]
        self.query_one(DialogBody).styles.max_height = note
        room = height - 3 if height < _SHORT else height * 86 // 100 - _AROUND
        self._list.styles.max_height = max(3, room - note)

    def on_choices_chosen(self, event: Choices.Chosen) -> None:
        event.stop()
        self.call_next(self.run_action, event.action)

    def on_select_list_chosen(self) -> None:
        self._tell()

    async def action_move(self, step: int) -> None:
        self._list.move(step)
        self._tell()

    async def action_choose(self) -> None:
        if isinstance(row := self._list.row, ModeRow):
            self._choose(row.mode)
            await self._show()

    async def action_withdraw(self) -> None:
        row = self._list.row
        if isinstance(row, GrantRow | RuleRow):
            await self._do(partial(self._ledger.withdraw, row))

    async def action_undo(self) -> None:
        await self._do(self._ledger.undo)

    def action_close(self) -> None:
        self.dismiss(None)

    @property
    def _list(self) -> PermissionList:
        return self.query_one(PermissionList)

    async def _do(self, work: Callable[[], Any]) -> None:
        try:
            await work()
        except CogencyError as exc:
            self.notify(exc.advice, severity="error", markup=False)
        await self._show()

    async def _show(self) -> None:
        """Refresh the rows, with the cursor in place."""
        self._rows = await self._ledger.rows()
        if not self.query(PermissionList):
            # The screen was closed in the meantime.
            return
        place = min(self._list.selected, len(self._rows) - 1)
        self._list.show(self._rows, place)
        if isinstance(self._rows[place], Heading):
            self._list.move(-1)
        self._tell()

    def _tell(self) -> None:
        """Show the selected row's note, and the actions available on it."""
        row = self._list.row
        count = sum(isinstance(each, GrantRow | RuleRow) for each in self._rows)
        self.query_one(PaneTitle).state(f"{plural(count, 'thing')} allowed" if count else "nothing allowed")
        choices: list[Choice] = []
        if isinstance(row, ModeRow):
            choices.append(("enter", "choose", "choose"))
        elif isinstance(row, GrantRow | RuleRow):
            choices.append(("d", "withdraw", "withdraw"))
        if self._ledger.can_undo:
            choices.append(("u", "undo", "undo"))
        self.query_one(Choices).offer([*choices, ("escape", "close", "close")])
        self.query_one(DialogBody).redraw()

    def _draw_note(self, width: int, inks: Inks) -> list[Line]:
        rules = self._ledger.rules
        row = self._list.row
        return draw_permission_note(row, short_path(rules.path), rules.problem, width, inks, self._clock())

"""The dialog of permissions: the mode in force, and all grants and rules, to withdraw and restore."""

from collections.abc import Awaitable, Callable, Hashable
from functools import partial
from time import time
from typing import ClassVar

from textual.binding import Binding, BindingType

from cogency_tui.tui.kit.dialogs import SHORT, Choice
from cogency_tui.tui.kit.lines import Line
from cogency_tui.tui.kit.list_dialog import ListDialog, Note
from cogency_tui.tui.kit.select_list import SelectList, list_keys
from cogency_tui.tui.permissions.model import GrantRow, Ledger, ModeRow, Row, RuleRow
from cogency_tui.tui.permissions.rows import draw_permission, draw_permission_note
from cogency_tui.tui.theme_styles import ThemeStyles
from cogency_tui.workspace.protected_names import short_path

_TALL = 40
_NOTES = (3, 4, 8)
"""Lines of the note about the selected row on a short, a normal and a tall screen."""


class PermissionsScreen(ListDialog[None, Row]):
    """Shows the `ledger`; a selected mode goes to `choose`."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "close", "Close", id="permissions.close"),
        Binding("enter,space", "choose", "Choose this mode", id="permissions.choose"),
        Binding(
            "d,delete",
            "withdraw",
            "Revoke",
            id="permissions.withdraw",
            tooltip="Revoke this permission",
        ),
        Binding("u", "undo", "Undo", id="permissions.undo", tooltip="Restore the last revoked permission"),
        *list_keys("permissions"),
    ]

    def __init__(
        self,
        ledger: Ledger,
        choose: Callable[[str], Awaitable[object]],
        *,
        clock: Callable[[], float] = time,
    ) -> None:
        rows: SelectList[Row] = SelectList(self._draw_row, _key_of, id="permissions-list")
        super().__init__("permissions", "Permissions", rows, Note(self._draw_note, id="permissions-note"))
        self._ledger = ledger
        self._choose = choose
        self._clock = clock

    async def on_mount(self) -> None:
        rows = await self._ledger.rows()
        if self.is_attached:
            current = (row.mode for row in rows if isinstance(row, ModeRow) and row.current)
            self.rows.show(rows, next(current, None))
            self.show_selected()

    def note_lines(self, height: int) -> int:
        return _NOTES[(height >= SHORT) + (height >= _TALL)]

    async def action_choose(self) -> None:
        if isinstance(row := self.rows.row, ModeRow):
            await self._choose(row.mode)
            await self.load()

    async def action_withdraw(self) -> None:
        row = self.rows.row
        if isinstance(row, GrantRow | RuleRow):
            await self.do(partial(self._ledger.withdraw, row))

    async def action_undo(self) -> None:
        await self.do(self._ledger.undo)

    async def load(self) -> None:
        rows = await self._ledger.rows()
        if self.is_attached:
            was_mode = isinstance(self.rows.row, ModeRow)
            self.rows.rows = rows
            # A withdrawn row leaves the selection in its group.
            self.rows.restore(self.rows.key, self.rows.selected, -1)
            if not was_mode and isinstance(self.rows.row, ModeRow):
                # Enter must not choose the mode that happens to be above the last grant.
                modes = (row for row in rows if isinstance(row, ModeRow))
                self.rows.restore(next((row.mode for row in modes if row.current), None), 0)
            self.show_selected()

    def show_selected(self) -> None:
        count = sum(isinstance(each, GrantRow | RuleRow) for each in self.rows.rows)
        self.heading.state(f"{count} granted" if count else "none granted")
        super().show_selected()

    def choices(self) -> list[Choice]:
        row = self.rows.row
        choices: list[Choice] = []
        if isinstance(row, ModeRow):
            choices.append(("enter", "choose", "choose"))
        elif isinstance(row, GrantRow | RuleRow):
            choices.append(("d", "revoke", "withdraw"))
        if self._ledger.can_undo:
            choices.append(("u", "undo", "undo"))
        return [*choices, ("escape", "close", "close")]

    def _draw_row(self, row: Row, width: int, styles: ThemeStyles, on: str) -> Line:
        return draw_permission(row, width, styles, on, self._clock())

    def _draw_note(self, width: int, styles: ThemeStyles) -> list[Line]:
        rules = self._ledger.rules
        row = self.rows.row
        return draw_permission_note(row, short_path(rules.path), rules.problem, width, styles, self._clock())


def _key_of(row: Row) -> Hashable:
    match row:
        case ModeRow(mode=mode):
            return mode
        case RuleRow(rule=rule):
            return rule.id
        case _:
            return row

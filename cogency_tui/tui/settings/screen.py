"""The command `/settings`: every option with its meaning and the origin of its value, changed in place.

A change is written into the user's file at once, and takes effect as soon as it can.
"""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Input

from cogency_tui.agent.preferences import Preference
from cogency_tui.config.options import Option
from cogency_tui.errors import CogencyError
from cogency_tui.tui.kit.dialogs import STYLES, Choice, Choices, Dialog, DialogBody
from cogency_tui.tui.kit.filter_line import FilterField
from cogency_tui.tui.kit.lines import Line
from cogency_tui.tui.kit.pane_title import PaneTitle
from cogency_tui.tui.kit.select_list import HeadedList, Heading
from cogency_tui.tui.settings.model import SettingsDesk
from cogency_tui.tui.settings.rows import (
    LinkRow,
    Row,
    SettingRow,
    draw_setting,
    draw_setting_note,
    setting_rows,
)
from cogency_tui.tui.theme import Inks

OWN_STYLES = Path(__file__).parent.parent / "styles" / "permissions.tcss"

_SHORT = 24
"""Lines of a screen below which no space is left free."""

_AROUND = 7
_NOTE = 5
"""Lines of the note about the selected row."""


class SettingList(HeadedList[Row]):
    """Options, one line each, below the names of their groups."""

    def draw_row(self, row: Row, on: str) -> Line:
        return draw_setting(row, self.text_width, self.inks, on)


class SettingsScreen(Dialog["str | None"]):
    """Shows the options of `desk`; returns the handler of another screen's command, to open that."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "close", "Close", id="settings.close"),
        Binding("enter,space", "open", "Change", id="settings.change", tooltip="The next choice, or a field"),
        Binding("right,l", "choose(1)", "Next choice", show=False, id="settings.next"),
        Binding("left,h", "choose(-1)", "Choice before", show=False, id="settings.before"),
        Binding(
            "d,delete", "default", "Default", id="settings.default", tooltip="Take it out of your file again"
        ),
        Binding("slash", "filter", "Filter", id="settings.filter"),
        Binding("up,k", "move(-1)", "Up", show=False, id="settings.up"),
        Binding("down,j", "move(1)", "Down", show=False, id="settings.down"),
        Binding("pageup", "move(-10)", "Page up", show=False, id="settings.page_up"),
        Binding("pagedown", "move(10)", "Page down", show=False, id="settings.page_down"),
    ]
    AUTO_FOCUS = ""
    CSS_PATH: ClassVar = [STYLES, OWN_STYLES]

    def __init__(self, desk: SettingsDesk, path: str) -> None:
        super().__init__()
        self._desk = desk
        self._path = path
        self._words = ""
        self._problem = ""
        self._said = ""
        self._editing = False

    def compose(self) -> ComposeResult:
        with Vertical(id="settings"):
            yield PaneTitle("Settings", id="settings-title")
            yield FilterField(id="settings-filter")
            yield SettingList(id="settings-list")
            yield FilterField(id="settings-field")
            yield DialogBody(self._draw_note, id="settings-note")
            with Vertical(classes="dialog-foot"):
                yield Choices([])

    def on_mount(self) -> None:
        self._field.display = self._filter.display = False
        self._field.placeholder = ""
        self._show(1)

    def on_resize(self, event: events.Resize) -> None:
        """Leave space for the parts below the list, however long it is."""
        height = event.size.height
        short = height < _SHORT
        self.set_class(short, "-short")
        note = _NOTE - short
        body = self.query_one("#settings-note", DialogBody)
        body.styles.max_height = body.styles.min_height = note
        room = height - 3 if short else height * 86 // 100 - _AROUND
        self._list.styles.max_height = max(3, room - note)

    def on_choices_chosen(self, event: Choices.Chosen) -> None:
        event.stop()
        self.call_next(self.run_action, event.action)

    def on_select_list_chosen(self) -> None:
        self._leave_field()
        self._tell()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._catch_up()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return not (self._editing and action in ("move", "choose", "default", "filter"))

    def action_move(self, step: int) -> None:
        self._list.move(step)
        self._said = self._problem = ""
        self._tell()

    async def action_open(self) -> None:
        """Save the field, open it, or select the next choice."""
        self._catch_up()
        if self.focused is self._filter:
            self.set_focus(None)
            self._tell()
            return
        row = self._list.row
        if isinstance(row, LinkRow) or (isinstance(row, SettingRow) and row.opens):
            self.dismiss(row.opens)
        elif isinstance(row, SettingRow):
            if self._editing:
                if not self._problem:
                    await self._change(row.preference.option, self._field.value)
            elif self._desk.choices(row.preference.option):
                await self.action_choose(1)
            elif row.preference.option.kind != "table":
                self._edit(row.preference)

    async def action_choose(self, step: int) -> None:
        row = self._list.row
        if not isinstance(row, SettingRow) or row.opens:
            return
        option = row.preference.option
        if choices := self._desk.choices(option):
            shown = row.preference.shown
            place = choices.index(shown) if shown in choices else -1
            await self._change(option, choices[(place + step) % len(choices)])

    async def action_default(self) -> None:
        row = self._list.row
        if isinstance(row, SettingRow) and row.preference.option.kind != "table":
            await self._change(row.preference.option, None)

    def action_filter(self) -> None:
        self._filter.display = True
        self.set_focus(self._filter)
        self._tell()

    def action_close(self) -> None:
        """Close the field, then the filter, then the screen."""
        if self._editing:
            self._leave_field()
            self._tell()
        elif self._filter.display:
            self._filter.value = ""
            self._filter.display = False
            self.set_focus(None)
            self._catch_up()
        else:
            self.dismiss(None)

    @property
    def _list(self) -> SettingList:
        return self.query_one(SettingList)

    @property
    def _field(self) -> FilterField:
        return self.query_one("#settings-field", FilterField)

    @property
    def _filter(self) -> FilterField:
        return self.query_one("#settings-filter", FilterField)

    def _catch_up(self) -> None:
        """Apply the text typed so far."""
        if self._filter.value != self._words:
            self._words = self._filter.value
            self._show(1)
        row = self._list.row
        if self._editing and isinstance(row, SettingRow):
            problem = self._desk.problem(row.preference.option, self._field.value)
            if problem != self._problem:
                self._problem = problem
                self.query_one("#settings-note", DialogBody).redraw()

    def _edit(self, preference: Preference) -> None:
        self._editing = True
        self._field.value = str(preference.value)
        self._field.display = True
        self.set_focus(self._field)
        self._tell()

    def _leave_field(self) -> None:
        self._editing = False
        self._said = self._problem = ""
        self._field.display = False
        self.set_focus(None)

    async def _change(self, option: Option, text: str | None) -> None:
        await self._do(lambda: self._desk.change(option, text))

    async def _do(self, work: Callable[[], Awaitable[str]]) -> None:
        try:
            said = await work()
            problem = ""
        except CogencyError as exc:
            said, problem = "", exc.advice
        if self.is_mounted:
            self._leave_field()
            self._said, self._problem = said, problem
            self._show(self._list.selected)

    def _show(self, selected: int) -> None:
        preferences = self._desk.preferences()
        rows = setting_rows(preferences, self._words)
        place = min(selected, len(rows) - 1)
        self._list.show(rows, max(0, place))
        if isinstance(self._list.row, Heading):
            self._list.move(1)
        own = sum(each.origin.source == "person" for each in preferences)
        told = f"{own} of your own" if own else "nothing of your own yet"
        self.query_one(PaneTitle).state(f"{told} · {self._path}")
        self._tell()

    def _tell(self) -> None:
        """Show the selected row's note, and the actions available on it."""
        row = self._list.row
        choices: list[Choice] = []
        if self._editing:
            choices = [("enter", "write it", "open"), ("escape", "leave it", "close")]
        elif self.focused is self._filter:
            choices = [("enter", "to the list", "open"), ("escape", "show all", "close")]
        else:
            if isinstance(row, LinkRow) or (isinstance(row, SettingRow) and row.opens):
                choices.append(("enter", "open", "open"))
            elif isinstance(row, SettingRow) and row.preference.option.kind != "table":
                few = bool(self._desk.choices(row.preference.option))
                choices += [("←→", "choose", "choose(1)")] if few else [("enter", "change", "open")]
                if row.preference.origin.source == "person":
                    choices.append(("d", "default", "default"))
            choices += [("/", "filter", "filter"), ("escape", "close", "close")]
        self.query_one(Choices).offer(choices)
        self.query_one("#settings-note", DialogBody).redraw()

    def _draw_note(self, width: int, inks: Inks) -> list[Line]:
        row = self._list.row
        choices = self._desk.choices(row.preference.option) if isinstance(row, SettingRow) else ()
        return draw_setting_note(row, choices, self._said, self._problem, width, inks)

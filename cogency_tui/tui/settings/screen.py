"""The command `/settings`: every option with its meaning and the origin of its value, changed in place.

A change is written into the user's file at once, and takes effect as soon as it can.
"""

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widget import Widget
from textual.widgets import Input

from cogency_tui.agent.editable_options import Preference
from cogency_tui.config.options import Option
from cogency_tui.errors import CogencyError
from cogency_tui.tui.kit.dialogs import SHORT, Choice
from cogency_tui.tui.kit.filter_line import FilterField
from cogency_tui.tui.kit.lines import Line
from cogency_tui.tui.kit.list_dialog import ListDialog, Note
from cogency_tui.tui.kit.select_list import Heading, SelectList, list_keys
from cogency_tui.tui.settings.model import SettingsDesk
from cogency_tui.tui.settings.rows import (
    LinkRow,
    Row,
    SettingRow,
    draw_setting,
    draw_setting_note,
    setting_rows,
)
from cogency_tui.tui.theme_styles import ThemeStyles


class SettingsScreen(ListDialog["str | None", Row]):
    """Shows the options of `desk`; returns the handler of another screen's command, to open that."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "close", "Close", id="settings.close"),
        Binding(
            "enter,space", "open", "Change", id="settings.change", tooltip="Next choice, or edit the value"
        ),
        Binding("right,l", "choose(1)", "Next choice", show=False, id="settings.next"),
        Binding("left,h", "choose(-1)", "Previous choice", show=False, id="settings.before"),
        Binding(
            "d,delete",
            "default",
            "Default",
            id="settings.default",
            tooltip="Reset to the default: remove it from your file",
        ),
        Binding("slash", "filter", "Filter", id="settings.filter"),
        *list_keys("settings"),
    ]

    def __init__(self, desk: SettingsDesk, path: str) -> None:
        rows: SelectList[Row] = SelectList(draw_setting, _key_of, id="settings-list")
        super().__init__("settings", "Settings", rows, Note(self._draw_note, id="settings-note"))
        self._desk = desk
        self._path = path
        self._words = ""
        self._problem = ""
        self._saved = ""
        self._filter = FilterField(id="settings-filter")
        self._field = FilterField(id="settings-field")
        self._field.placeholder = ""
        self._filter.display = self._field.display = False

    def parts(self) -> list[Widget]:
        assert self.note is not None
        return [self._filter, self.rows, self._field, self.note]

    def on_mount(self) -> None:
        self._show()

    def note_lines(self, height: int) -> int:
        return 4 if height < SHORT else 5

    async def clicked(self) -> None:
        self._leave_field()
        await super().clicked()

    async def moved(self) -> None:
        self._saved = self._problem = ""
        await super().moved()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.catch_up()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return not (self._editing and action in ("move", "page", "end", "choose", "default", "filter"))

    async def action_open(self) -> None:
        """Save the field, open it, or select the next choice."""
        self.catch_up()
        if self.focused is self._filter:
            self.set_focus(None)
            self.show_selected()
            return
        row = self.rows.row
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
        row = self.rows.row
        if not isinstance(row, SettingRow) or row.opens:
            return
        option = row.preference.option
        if choices := self._desk.choices(option):
            shown = row.preference.shown
            place = choices.index(shown) if shown in choices else -1
            await self._change(option, choices[(place + step) % len(choices)])

    async def action_default(self) -> None:
        row = self.rows.row
        if isinstance(row, SettingRow) and row.preference.option.kind != "table":
            await self._change(row.preference.option, None)

    def action_filter(self) -> None:
        self._filter.display = True
        self.set_focus(self._filter)
        self.show_selected()

    def action_close(self) -> None:
        """Close the field, then the filter, then the screen."""
        if self._editing:
            self._leave_field()
            self.show_selected()
        elif self._filter.display:
            self._filter.value = ""
            self._filter.display = False
            self.set_focus(None)
            self.catch_up()
        else:
            self.dismiss(None)

    @property
    def _editing(self) -> bool:
        return self._field.display

    def catch_up(self) -> None:
        if self._filter.value != self._words:
            self._words = self._filter.value
            self._show()
        row = self.rows.row
        if self._editing and isinstance(row, SettingRow):
            problem = self._desk.problem(row.preference.option, self._field.value)
            if problem != self._problem:
                self._problem = problem
                self.show_selected()

    def _edit(self, preference: Preference) -> None:
        self._field.value = str(preference.value)
        self._field.display = True
        self.set_focus(self._field)
        self.show_selected()

    def _leave_field(self) -> None:
        self._saved = self._problem = ""
        self._field.display = False
        self.set_focus(None)

    async def _change(self, option: Option, text: str | None) -> None:
        saved = problem = ""
        try:
            saved = await self._desk.change(option, text)
        except CogencyError as exc:
            problem = exc.advice
        if self.is_attached:
            self._leave_field()
            self._saved, self._problem = saved, problem
            self._show(again=True)

    def _show(self, *, again: bool = False) -> None:
        """Show the options, from the first or, with `again`, at the same one."""
        preferences = self._desk.preferences()
        rows = setting_rows(preferences, self._words)
        (self.rows.update_rows if again else self.rows.show)(rows)
        own = sum(each.origin.source == "person" for each in preferences)
        text = f"{own} changed" if own else "nothing changed"
        self.heading.state(f"{text} · {self._path}")
        self.show_selected()

    def choices(self) -> list[Choice]:
        row = self.rows.row
        choices: list[Choice] = []
        if self._editing:
            choices = [("enter", "save", "open"), ("escape", "cancel", "close")]
        elif self.focused is self._filter:
            choices = [("enter", "go to list", "open"), ("escape", "clear filter", "close")]
        else:
            if isinstance(row, LinkRow) or (isinstance(row, SettingRow) and row.opens):
                choices.append(("enter", "open", "open"))
            elif isinstance(row, SettingRow) and row.preference.option.kind != "table":
                few = bool(self._desk.choices(row.preference.option))
                choices += [("←→", "choose", "choose(1)")] if few else [("enter", "change", "open")]
                if row.preference.origin.source == "person":
                    choices.append(("d", "reset to default", "default"))
            choices += [("/", "filter", "filter"), ("escape", "close", "close")]
        return choices

    def _draw_note(self, width: int, styles: ThemeStyles) -> list[Line]:
        row = self.rows.row
        choices = self._desk.choices(row.preference.option) if isinstance(row, SettingRow) else ()
        return draw_setting_note(row, choices, self._saved, self._problem, width, styles)


def _key_of(row: Row) -> str:
    match row:
        case Heading(text=text):
            return text
        case LinkRow(name=name):
            return name
        case SettingRow(preference=preference):
            return preference.option.key

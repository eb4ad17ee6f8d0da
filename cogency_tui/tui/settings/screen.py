"""The command `/settings`: every option with its meaning and the origin of its value, changed in place.

A change is written into the user's file at once, and takes effect as soon as it can.
"""

from collections.abc import Awaitable, Callable, Hashable, Sequence
from functools import partial
from typing import Any, ClassVar

from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.widget import Widget
from textual.widgets import Input

from cogency_tui.agent.editable_options import Preference
from cogency_tui.config.options import Option, options
from cogency_tui.errors import CogencyError
from cogency_tui.tui.kit.bar import Bar
from cogency_tui.tui.kit.cell_text import cells, fit
from cogency_tui.tui.kit.choice_dialog import ChoiceDialog, ChoiceRow
from cogency_tui.tui.kit.dialogs import SHORT, Choice, Confirmation
from cogency_tui.tui.kit.filter_line import FilterField
from cogency_tui.tui.kit.lines import Line
from cogency_tui.tui.kit.list_dialog import ListDialog, Note
from cogency_tui.tui.kit.select_list import Heading, SelectList, list_keys
from cogency_tui.tui.kit.typed_app import app_of
from cogency_tui.tui.settings.model import SettingsDesk
from cogency_tui.tui.settings.rows import (
    GroupRow,
    LinkRow,
    Row,
    SettingRow,
    describe_widening,
    draw_setting,
    draw_setting_note,
    setting_rows,
)
from cogency_tui.tui.theme_styles import ThemeStyles


class EditedName(Bar):
    """The name of the option that is edited, before its field."""

    SURFACE = "raised"

    def __init__(self) -> None:
        super().__init__()
        self._name = ""

    def show(self, name: str) -> None:
        """Show this name."""
        self._name = f"  {name}"
        self.styles.width = cells(self._name)
        self.refresh()

    def segments(self, width: int) -> list[Segment]:
        return [Segment(fit(self._name, width), self.theme_styles("dim", self.SURFACE))]


class SettingsScreen(ListDialog[None, Row]):
    """Shows the options of `desk`; `open_screen` opens the screen of another command over it, by handler."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "close", "Close", id="settings.close"),
        Binding(
            "enter,space",
            "open",
            "Change",
            id="settings.change",
            tooltip="Choose or edit the value, or expand the group",
        ),
        Binding(
            "delete",
            "default",
            "Reset",
            id="settings.default",
            tooltip="Reset to the default: remove it from your file",
        ),
        Binding("u", "undo", "Undo", id="settings.undo", tooltip="Undo the last change made here"),
        Binding("slash", "filter", "Filter", id="settings.filter"),
        *list_keys("settings"),
    ]

    def __init__(
        self,
        desk: SettingsDesk,
        path: str,
        open_screen: Callable[[str], Awaitable[object]],
        *,
        option: str = "",
    ) -> None:
        """`option` is the key of the one to select, or else words to filter by."""
        rows: SelectList[Row] = SelectList(draw_setting, _key_of, id="settings-list")
        rows.notice = "No matching settings."
        super().__init__("settings", "Settings", rows, Note(self._draw_note, id="settings-note"))
        self._desk = desk
        self._path = path
        self._open_screen = open_screen
        self._option = option
        self._words = ""
        self._unfolded: frozenset[str] = frozenset()
        self._problem = ""
        self._saved = ""
        self._filter = FilterField(id="settings-filter")
        # Its first letter may come with the focus.
        self._filter.select_on_focus = False
        self._field = FilterField(id="settings-field")
        self._field.placeholder = ""
        self._edited_name = EditedName()
        self._editor = Horizontal(self._edited_name, self._field, id="settings-editor")
        self._filter.display = self._editor.display = False

    def parts(self) -> list[Widget]:
        assert self.note is not None
        return [self._filter, self.rows, self._editor, self.note]

    def on_mount(self) -> None:
        known = options().get(self._option)
        if known is None and self._option:
            self._filter.value = self._option
            self._filter.display = True
        elif known is not None:
            self._unfolded = frozenset({known.group})
        self._show()
        if known is not None:
            self._select(known.key)

    def _select(self, key: str) -> None:
        if (place := self.rows.place_of(key)) is not None:
            self.rows.select(place)
            self.show_selected()

    def on_screen_resume(self, _event: events.ScreenResume) -> None:
        # The screen that was over this one is about to apply its answer.
        self.call_later(self._refresh)

    def _refresh(self) -> None:
        """Show the options as another screen may have changed them."""
        if self.is_attached and self.rows.rows:
            self._show(again=True)

    def note_lines(self, height: int) -> int:
        return 4 if height < SHORT else 5

    async def on_select_list_chosen(self, event: SelectList.Chosen) -> None:
        event.stop()
        self._leave_field()
        await self.moved()
        if event.again or isinstance(self.rows.row, GroupRow):
            await self.action_open()

    async def moved(self) -> None:
        self._saved = self._problem = ""
        await super().moved()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.catch_up()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return not (self._editing and action in ("move", "page", "end", "default", "undo", "filter"))

    async def action_open(self) -> None:
        """Leave the filter, save the field, or change what the selected row is about."""
        self.catch_up()
        if self.focused is self._filter:
            self.set_focus(None)
            self.show_selected()
            return
        match self.rows.row:
            case LinkRow(opens=opens):
                await self._open_screen(opens)
            case GroupRow(name=name):
                self._unfolded ^= {name}
                self._show(again=True)
            case SettingRow() as row:
                await self._open_option(row)
            case _:
                pass

    async def _open_option(self, row: SettingRow) -> None:
        preference, option = row.preference, row.preference.option
        if row.opens:
            await self._open_screen(row.opens)
        elif self._editing:
            if not self._problem:
                await self._change(option, self._field.value)
        elif option.kind == "switch":
            await self._change(option, "off" if preference.value else "on")
        elif choices := self._desk.choices(preference):
            self._offer(preference, choices)
        elif option.kind != "table":
            self._edit(preference)

    def _offer(self, preference: Preference, choices: Sequence[ChoiceRow]) -> None:
        """Let the user choose one of the values of an option."""

        async def chosen(value: str | None) -> None:
            if value is not None and (value != preference.shown or preference.session):
                await self._change_safely(preference, value)

        app_of(self).push_screen(ChoiceDialog(preference.option.label, choices), chosen)

    async def _change_safely(self, preference: Preference, text: str | None) -> None:
        """Change an option, after a confirmation if that takes a protection away; None means its default."""
        option = preference.option
        value = option.default if text is None else text
        await self._do_safely(preference, value, partial(self._change, option, text))

    async def _do_safely(
        self, preference: Preference, value: Any, change: Callable[[], Awaitable[None]]
    ) -> None:
        """Run `change`, which gives an option this value, after a confirmation if that takes a protection
        away."""

        async def answered(yes: bool | None) -> None:
            if yes:
                await change()

        if (before := preference.widened_by(value)) is not None:
            text = describe_widening(preference.option, before, value)
            question = Confirmation(text, yes="save", no="cancel")
            app_of(self).push_screen(question, answered)
        else:
            await change()

    async def action_default(self) -> None:
        row = self.rows.row
        if isinstance(row, SettingRow) and row.preference.option.kind != "table":
            await self._change_safely(row.preference, None)

    async def action_undo(self) -> None:
        try:
            undoing = self._desk.undoing()
        except CogencyError as exc:
            self._report("", exc.advice)
            return
        if undoing is not None:
            await self._do_safely(*undoing, self._undo)

    async def _undo(self) -> None:
        try:
            option = await self._desk.undo()
        except CogencyError as exc:
            self._report("", exc.advice)
        else:
            self._report(f"Undone: {option.label}.", "", option.key)

    def action_filter(self) -> None:
        self._filter.display = True
        self.set_focus(self._filter)
        self.show_selected()

    def on_key(self, event: events.Key) -> None:
        """Open the filter in the order of the keys: what is typed right after its key goes there, and what
        begins with a letter that is no key here."""
        active = self.active_bindings.get(event.key)
        is_text = event.is_printable and event.character is not None
        if is_text and (self.focused is self._filter or (active is None and not self._editing)):
            event.stop()
            self.action_filter()
            self._filter.insert_text_at_cursor(event.character or "")
        elif active is not None and active.node is self and active.binding.action == "filter":
            event.stop()
            event.prevent_default()
            self.action_filter()

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
        return self._editor.display

    def catch_up(self) -> None:
        if self._filter.value != self._words:
            self._words = self._filter.value
            self._unfold_selected()
            # The row that the filter has found is still wanted without it.
            self._show(again=not self._words)
        row = self.rows.row
        if self._editing and isinstance(row, SettingRow):
            problem = self._desk.problem(row.preference.option, self._field.value)
            if problem != self._problem:
                self._problem = problem
                self.show_selected()

    @property
    def unsaved(self) -> str:
        row = self.rows.row
        if not (self._editing and isinstance(row, SettingRow)):
            return ""
        option, value = row.preference.option, row.preference.value
        return f"the value of “{option.label}”" if self._field.value != str(value) else ""

    def _edit(self, preference: Preference) -> None:
        self._edited_name.show(preference.option.label)
        self._field.value = str(preference.value)
        self._editor.display = True
        self.set_focus(self._field)
        self.show_selected()

    def _leave_field(self) -> None:
        self._saved = self._problem = ""
        self._editor.display = False
        self.set_focus(None)

    async def _change(self, option: Option, text: str | None) -> None:
        try:
            self._report(await self._desk.change(option, text), "")
        except CogencyError as exc:
            self._report("", exc.advice)

    def _report(self, saved: str, problem: str, key: str = "") -> None:
        """Show the options after a change, and its result, at the option of `key` or where the user is."""
        if self.is_attached:
            self._leave_field()
            self._show(again=True)
            if key:
                self._select(key)
            self._saved, self._problem = saved, problem
            self.show_selected()

    def _unfold_selected(self) -> None:
        """Unfold the group of the selected option, which the filter has shown unfolded."""
        if isinstance(row := self.rows.row, SettingRow):
            self._unfolded |= {row.preference.option.group}

    def _show(self, *, again: bool = False) -> None:
        """Show the options, from the first or, with `again`, at the same one."""
        before = self.rows.key
        preferences = self._desk.preferences()
        rows = setting_rows(preferences, self._words, self._unfolded)
        (self.rows.update_rows if again else self.rows.show)(rows)
        if self.rows.key != before:
            self._saved = self._problem = ""
        own = sum(each.origin.source == "user" for each in preferences)
        text = f"{own} changed" if own else "all defaults"
        self.heading.state(f"{text} · {self._path}")
        self.show_selected()

    def choices(self) -> list[Choice]:
        if self._editing:
            return [("enter", "save", "open"), ("escape", "cancel", "close")]
        if self.focused is self._filter:
            return [("enter", "go to list", "open"), ("escape", "clear filter", "close")]
        choices: list[Choice] = []
        row = self.rows.row
        if row is not None and (verb := _verb_of(row)):
            choices.append(("enter", verb, "open"))
        if isinstance(row, SettingRow) and _can_reset(row):
            choices.append(("delete", "reset", "default"))
        if self._desk.can_undo:
            choices.append(("u", "undo", "undo"))
        return [*choices, ("/", "filter", "filter"), ("escape", "close", "close")]

    def _draw_note(self, width: int, styles: ThemeStyles) -> list[Line]:
        return draw_setting_note(self.rows.row, self._saved, self._problem, width, styles)


def _can_reset(row: SettingRow) -> bool:
    """True if the user's file sets the option, or only the session, which another screen did not do."""
    source = row.preference.origin.source
    chosen = row.preference.session is not None and not row.opens
    return source == "user" or (source == "default" and chosen)


def _verb_of(row: Row) -> str:
    """What Enter does on `row`."""
    match row:
        case GroupRow(open=is_open):
            return "collapse" if is_open else "expand"
        case LinkRow():
            return "open"
        case SettingRow(preference=preference, opens=opens):
            option = preference.option
            if opens:
                return "open"
            if option.kind == "switch":
                return "turn off" if preference.value else "turn on"
            return "" if option.kind == "table" else "change"
        case _:
            return ""


def _key_of(row: Row) -> Hashable:
    match row:
        case Heading(text=text):
            return text
        case LinkRow(name=name):
            return name
        case GroupRow(name=name):
            return name, "group"
        case SettingRow(preference=preference):
            return preference.option.key

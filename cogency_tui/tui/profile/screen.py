"""The facts known of the user: a line for each, and the selected one in full with its source.

The user can edit, remove and restore facts, or clear all for good.
"""

from collections.abc import Callable
from functools import partial
from operator import attrgetter
from time import time
from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.widget import Widget
from textual.widgets import Input

from cogency_tui.agent.profile.profile import outcome_of, source_of
from cogency_tui.errors import CogencyError
from cogency_tui.safe_text import one_line
from cogency_tui.store.profile import KINDS, Fact
from cogency_tui.tui.kit.cell_text import cells, fit
from cogency_tui.tui.kit.dialogs import Choice, Confirmation
from cogency_tui.tui.kit.keys import act_in_order
from cogency_tui.tui.kit.lines import Line, wrap
from cogency_tui.tui.kit.list_dialog import ListDialog, Note
from cogency_tui.tui.kit.number_format import plural, when
from cogency_tui.tui.kit.select_list import SelectList, list_keys
from cogency_tui.tui.kit.typed_app import app_of
from cogency_tui.tui.profile.model import ProfileData, Shown
from cogency_tui.tui.theme_styles import ThemeStyles

_KIND = 11
_DAY = 12

_NOTHING = "Nothing remembered about you yet."
_ON = "Updated in the background after every {} you send. Sent with each new conversation."
_OFF = (
    "Profile off: nothing is learned or sent. When on, it is updated after every {} you send, "
    "stored on this machine and sent to the model in use."
)


def draw_fact(fact: Fact, width: int, styles: ThemeStyles, on: str, now: float) -> Line:
    """Draw one line of the list."""
    right = f"{when(fact.created, now):>{_DAY}}" if width >= 48 else ""
    room = max(1, width - _KIND - cells(right))
    text = fit(one_line(fact.text), room - bool(right))
    return Line(
        [
            Segment(f"{fact.kind:<{_KIND}}", styles("dim", on)),
            Segment(text + " " * (room - cells(text)), styles("text", on)),
            Segment(right, styles("dim", on)),
        ]
    )


def draw_profile_note(
    shown: Shown, fact: Fact | None, width: int, styles: ThemeStyles, now: float
) -> list[Line]:
    """Draw the selected fact in full, its source, and the state of the learning."""
    lines: list[Line] = []
    if fact is not None:
        lines += wrap([Segment(one_line(fact.text), styles("text"))], width)
        source = source_of(fact)
        lines += wrap([Segment(one_line(source[0].upper() + source[1:]) + ".", styles("dim"))], width)
    elif shown.on:
        lines += wrap([Segment(_NOTHING, styles("text"))], width)
    if outcome := outcome_of(shown.state):
        last = f"Last update, {when(shown.state.attempted, now)}: {one_line(outcome)}."
        lines += wrap([Segment(last, styles("bad" if shown.state.failed else "dim"))], width)
    text = (_ON if shown.on else _OFF).format(plural(shown.every, "message"))
    return [*lines, *wrap([Segment(text, styles("dim"))], width)]


def describe_profile(shown: Shown) -> str:
    """Describe the profile in a few words: `on, 3 facts`."""
    return f"{'on' if shown.on else 'off'}, {plural(len(shown.facts), 'fact')}"


_STEP = 0.5
"""Seconds between two refreshes while learning is in progress."""


class FactField(Input):
    """The text of a fact for editing, preceded by its kind."""

    async def _on_key(self, event: events.Key) -> None:
        await act_in_order(self, event)


class ProfileScreen(ListDialog[None, Fact]):
    """Shows the `data`."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "close", "Close", id="profile.close"),
        Binding("e,enter", "edit", "Edit", id="profile.edit", tooltip="Edit this fact"),
        Binding("a", "add", "Add", id="profile.add", tooltip="Add a fact"),
        Binding("d,delete", "forget", "Remove", id="profile.forget", tooltip="Forget this fact"),
        Binding("u", "undo", "Undo", id="profile.undo", tooltip="Undo the last change"),
        Binding("t", "switch", "Turn on or off", id="profile.switch", tooltip="Turn learning on or off"),
        Binding("x", "clear", "Clear", id="profile.clear", tooltip="Forget everything permanently"),
        *list_keys("profile"),
    ]

    def __init__(self, data: ProfileData, shown: Shown, *, clock: Callable[[], float] = time) -> None:
        rows = SelectList(self._draw_row, attrgetter("id"), id="profile-list")
        super().__init__("profile", "Profile", rows, Note(self._draw_note, id="profile-note"))
        self._data = data
        self._shown = shown
        self._clock = clock
        self._edited: Fact | None = None
        self._written = ""
        """The text with which the field was opened."""
        placeholder = f"KIND: TEXT, for example {KINDS[1]}: Short answers"
        self._field = FactField(placeholder=placeholder, select_on_focus=False, id="profile-field")
        self._field.cursor_blink = self._field.display = False

    def parts(self) -> list[Widget]:
        return [*super().parts(), self._field]

    def on_mount(self) -> None:
        self._show()
        self._follow()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in ("edit", "forget"):
            return bool(self._shown.facts)
        return True

    def action_edit(self) -> None:
        if (fact := self.rows.row) is not None:
            self._write(fact, f"{fact.kind}: {fact.text}")

    def action_add(self) -> None:
        self._write(None, "")

    async def action_open(self) -> None:
        """Save the edited text."""
        line, before = self._field.value, self._edited
        if await self.do(partial(self._data.write, line, before)):
            self._end_writing()

    async def action_forget(self) -> None:
        if (fact := self.rows.row) is not None:
            await self.do(partial(self._data.forget, fact))

    async def action_undo(self) -> None:
        await self.do(self._data.undo)

    async def action_switch(self) -> None:
        await self.do(self._data.toggle)
        self._follow()

    def action_clear(self) -> None:
        async def answered(yes: bool | None) -> None:
            if yes:
                await self.do(self._data.clear)

        app_of(self).push_screen(Confirmation(CLEARING), answered)

    def action_close(self) -> None:
        if self._field.display:
            self._end_writing()
        else:
            self.dismiss(None)

    @property
    def unsaved(self) -> str:
        return "your fact" if self._field.display and self._field.value != self._written else ""

    def _write(self, fact: Fact | None, text: str) -> None:
        """Open the field, to replace `fact` if given."""
        self._edited, self._written = fact, text
        self._field.value = text
        self._field.display = True
        self._field.cursor_position = len(text)
        self.set_focus(self._field)
        self.show_selected()

    def _end_writing(self) -> None:
        self._field.display = False
        self.set_focus(None)
        self.show_selected()

    async def load(self) -> None:
        try:
            self._shown = await self._data.shown()
        except CogencyError as exc:
            self.notify(exc.advice, severity="error", markup=False)
        if self.is_attached:
            self._show()

    def _follow(self) -> None:
        """Refresh until the learning has finished."""
        if self._shown.learning:
            self.set_timer(_STEP, self._load_again)

    async def _load_again(self) -> None:
        await self.load()
        self._follow()

    def _show(self) -> None:
        self.rows.update_rows(self._shown.facts)
        self.heading.state(describe_profile(self._shown))
        self.show_selected()

    def choices(self) -> list[Choice]:
        if self._field.display:
            return [("enter", "save", "open"), ("escape", "cancel", "close")]
        toggle: Choice = ("t", "turn off" if self._shown.on else "turn on", "switch")
        if not self._shown.facts:
            undo: list[Choice] = [("u", "undo", "undo")] if self._data.can_undo else []
            return [toggle, ("a", "add", "add"), *undo, ("escape", "close", "close")]
        return [
            *(("e", "edit", "edit"), ("d", "remove", "forget"), ("a", "add", "add"), toggle),
            ("x", "clear", "clear"),
            *([("u", "undo", "undo")] if self._data.can_undo else []),
            ("escape", "close", "close"),
        ]

    def _draw_row(self, fact: Fact, width: int, styles: ThemeStyles, on: str) -> Line:
        return draw_fact(fact, width, styles, on, self._clock())

    def _draw_note(self, width: int, styles: ThemeStyles) -> list[Line]:
        return draw_profile_note(self._shown, self.rows.row, width, styles, self._clock())


CLEARING = "Forget everything about you? This cannot be undone."
"""The question before clearing."""

"""The facts known of the user: a line for each, and the selected one in full with its source.

The user can edit, remove and restore facts, or clear all for good.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from time import time
from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Input

from cogency_tui.agent.profile.profile import outcome_of, source_of
from cogency_tui.errors import CogencyError
from cogency_tui.store.profile import KINDS, Fact
from cogency_tui.text import one_line
from cogency_tui.tui.kit.dialogs import STYLES, Choice, Choices, Confirmation, Dialog, DialogBody
from cogency_tui.tui.kit.keys import act_in_order
from cogency_tui.tui.kit.lines import Line, cells, fit, wrap
from cogency_tui.tui.kit.number_format import plural, when
from cogency_tui.tui.kit.pane_title import PaneTitle
from cogency_tui.tui.kit.select_list import SelectList
from cogency_tui.tui.kit.typed_app import app_of
from cogency_tui.tui.profile.model import ProfileBook, Shown
from cogency_tui.tui.theme import Inks

_KIND = 11
_DAY = 12

_NOTHING = "Nothing is known of you."
_ON = "Learned every {}, in the background, from your own words. Each new conversation is told."
_OFF = (
    "It is off: nothing is learned or told. When it is on, what you write yourself is learned from every "
    "{}; it is kept on this machine, and told to the model in use."
)


def draw_fact(fact: Fact, width: int, inks: Inks, on: str, now: float) -> Line:
    """Draw one line of the list."""
    right = f"{when(fact.created, now):>{_DAY}}" if width >= 48 else ""
    room = max(1, width - _KIND - cells(right))
    text = fit(one_line(fact.text), room - bool(right))
    return Line(
        [
            Segment(f"{fact.kind:<{_KIND}}", inks("dim", on)),
            Segment(text + " " * (room - cells(text)), inks("text", on)),
            Segment(right, inks("dim", on)),
        ]
    )


def draw_profile_note(shown: Shown, fact: Fact | None, width: int, inks: Inks, now: float) -> list[Line]:
    """Draw the selected fact in full, its source, and the state of the learning."""
    lines: list[Line] = []
    if fact is not None:
        lines += wrap([Segment(one_line(fact.text), inks("text"))], width)
        source = source_of(fact)
        lines += wrap([Segment(one_line(source[0].upper() + source[1:]) + ".", inks("dim"))], width)
    elif shown.on:
        lines += wrap([Segment(_NOTHING, inks("text"))], width)
    if outcome := outcome_of(shown.state):
        last = f"Last at {when(shown.state.attempted, now)}: {one_line(outcome)}."
        lines += wrap([Segment(last, inks("bad" if shown.state.failed else "dim"))], width)
    told = (_ON if shown.on else _OFF).format(plural(shown.every, "message"))
    return [*lines, *wrap([Segment(told, inks("dim"))], width)]


def describe_profile(shown: Shown) -> str:
    """Describe the profile in a few words: `on, 3 facts`."""
    return f"{'on' if shown.on else 'off'}, {plural(len(shown.facts), 'fact')}"


_OWN_STYLES = Path(__file__).parent.parent / "styles" / "profile.tcss"

_AROUND = 9
"""Lines of the dialog's title, field and foot, and between its parts."""

_SHORT = 24
"""Lines of a screen below which no space is left free."""

_STEP = 0.5
"""Seconds between two refreshes while learning is in progress."""


class FactList(SelectList[Fact]):
    """Facts, one line each."""

    def __init__(self, clock: Callable[[], float], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._clock = clock

    def draw_row(self, row: Fact, on: str) -> Line:
        return draw_fact(row, self.text_width, self.inks, on, self._clock())


class FactField(Input):
    """The text of a fact for editing, preceded by its kind."""

    async def _on_key(self, event: events.Key) -> None:
        await act_in_order(self, event)


class ProfileScreen(Dialog[None]):
    """Shows the `book`."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "close", "Close", id="profile.close"),
        Binding("e,enter", "edit", "Edit", id="profile.edit", tooltip="Say it in your own words"),
        Binding("a", "add", "Add", id="profile.add", tooltip="Add a fact of your own"),
        Binding("d,delete", "forget", "Remove", id="profile.forget", tooltip="Forget this fact"),
        Binding("u", "undo", "Undo", id="profile.undo", tooltip="Take the last change back"),
        Binding("t", "switch", "On or off", id="profile.switch", tooltip="Learn from what you write, or not"),
        Binding("x", "clear", "Clear", id="profile.clear", tooltip="Forget everything, for good"),
        Binding("up,k", "move(-1)", "Up", show=False, id="profile.up"),
        Binding("down,j", "move(1)", "Down", show=False, id="profile.down"),
        Binding("pageup", "move(-10)", "Page up", show=False, id="profile.page_up"),
        Binding("pagedown", "move(10)", "Page down", show=False, id="profile.page_down"),
    ]
    AUTO_FOCUS = ""
    CSS_PATH: ClassVar = [STYLES, _OWN_STYLES]

    def __init__(self, book: ProfileBook, shown: Shown, *, clock: Callable[[], float] = time) -> None:
        super().__init__()
        self._book = book
        self._shown = shown
        self._clock = clock
        self._edited: Fact | None = None

    def compose(self) -> ComposeResult:
        with Vertical(id="profile"):
            yield PaneTitle("Profile", id="profile-title")
            yield FactList(self._clock, id="profile-list")
            yield DialogBody(self._draw_note, id="profile-note")
            placeholder = f"KIND: TEXT, as in {KINDS[1]}: Short answers"
            yield FactField(placeholder=placeholder, select_on_focus=False, id="profile-field")
            with Vertical(classes="dialog-foot"):
                yield Choices([])

    def on_mount(self) -> None:
        field = self.query_one(FactField)
        field.display = False
        field.cursor_blink = False
        self._tell()
        self._follow()

    def on_resize(self, event: events.Resize) -> None:
        """Leave space for the parts below the list, however long it is."""
        height = event.size.height
        self.set_class(height < _SHORT, "-short")
        note = 3 if height < _SHORT else 5
        self.query_one(DialogBody).styles.max_height = note
        room = height - 4 if height < _SHORT else height * 86 // 100 - _AROUND
        self._list.styles.max_height = max(3, room - note)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in ("edit", "forget"):
            return bool(self._shown.facts)
        return True

    def on_choices_chosen(self, event: Choices.Chosen) -> None:
        event.stop()
        self.call_next(self.run_action, event.action)

    def on_select_list_chosen(self) -> None:
        self._tell()

    def action_move(self, step: int) -> None:
        self._list.move(step)
        self._tell()

    def action_edit(self) -> None:
        if (fact := self._list.row) is not None:
            self._write(fact, f"{fact.kind}: {fact.text}")

    def action_add(self) -> None:
        self._write(None, "")

    async def action_open(self) -> None:
        """Save the edited text."""
        line, before = self.query_one(FactField).value, self._edited
        if await self._do(partial(self._book.write, line, before)):
            self._end_writing()

    async def action_forget(self) -> None:
        if (fact := self._list.row) is not None:
            await self._do(partial(self._book.forget, fact))

    async def action_undo(self) -> None:
        await self._do(self._book.undo)

    async def action_switch(self) -> None:
        await self._do(self._book.toggle)
        self._follow()

    def action_clear(self) -> None:
        async def answered(yes: bool | None) -> None:
            if yes:
                await self._do(self._book.clear)

        app_of(self).push_screen(Confirmation(CLEARING), answered)

    def action_close(self) -> None:
        if self.query_one(FactField).display:
            self._end_writing()
        else:
            self.dismiss(None)

    @property
    def _list(self) -> FactList:
        return self.query_one(FactList)

    def _write(self, fact: Fact | None, text: str) -> None:
        """Open the field, to replace `fact` if given."""
        self._edited = fact
        field = self.query_one(FactField)
        field.value = text
        field.display = True
        field.cursor_position = len(text)
        self.set_focus(field)
        self._tell()

    def _end_writing(self) -> None:
        self.query_one(FactField).display = False
        self.set_focus(None)
        self._tell()

    async def _do(self, work: Callable[[], Awaitable[None]]) -> bool:
        """Make a change and refresh; return whether it succeeded."""
        try:
            await work()
        except CogencyError as exc:
            self.notify(exc.advice, severity="error", markup=False)
            return False
        finally:
            await self._look()
        return True

    async def _look(self) -> None:
        try:
            self._shown = await self._book.shown()
        except CogencyError as exc:
            self.notify(exc.advice, severity="error", markup=False)
        if self.query(FactList):
            self._tell()

    def _follow(self) -> None:
        """Refresh until the learning has finished."""
        if self._shown.learning:
            self.set_timer(_STEP, self._look_on)

    async def _look_on(self) -> None:
        await self._look()
        self._follow()

    def _tell(self) -> None:
        """Show the facts with the cursor in place, and the available actions."""
        facts, before = self._shown.facts, self._list.row
        place = next((at for at, fact in enumerate(facts) if before and fact.id == before.id), None)
        self._list.show(facts, min(self._list.selected, max(0, len(facts) - 1)) if place is None else place)
        self._list.display = bool(facts)
        self.query_one(PaneTitle).state(describe_profile(self._shown))
        self.query_one(Choices).offer(self._choices())
        self.query_one(DialogBody).redraw()
        self.refresh_bindings()

    def _choices(self) -> list[Choice]:
        if self.query_one(FactField).display:
            return [("enter", "keep", "open"), ("escape", "leave it", "close")]
        toggle: Choice = ("t", "turn off" if self._shown.on else "turn on", "switch")
        if not self._shown.facts:
            undo: list[Choice] = [("u", "undo", "undo")] if self._book.can_undo else []
            return [toggle, ("a", "add", "add"), *undo, ("escape", "close", "close")]
        return [
            *(("e", "edit", "edit"), ("d", "remove", "forget"), ("a", "add", "add"), toggle),
            ("x", "clear", "clear"),
            *([("u", "undo", "undo")] if self._book.can_undo else []),
            ("escape", "close", "close"),
        ]

    def _draw_note(self, width: int, inks: Inks) -> list[Line]:
        row = self._list.row if self._shown.facts else None
        return draw_profile_note(self._shown, row, width, inks, self._clock())


CLEARING = "Forget everything that is known of you? It is gone for good."
"""The question before clearing."""

"""What is known of the person, and where it is from: edited, removed, given back, forgotten for good."""

from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from time import time
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Input

from cogency_tui.errors import CogencyError
from cogency_tui.store.profile import KINDS, Fact
from cogency_tui.tui.drawing.lines import Line
from cogency_tui.tui.drawing.profile import describe_profile, draw_fact, draw_profile_note
from cogency_tui.tui.host import app_of
from cogency_tui.tui.profile_book import ProfileBook, Shown
from cogency_tui.tui.screens.answering import Dialog
from cogency_tui.tui.screens.dialogs import STYLES, Choice, Choices, Confirmation, DialogBody
from cogency_tui.tui.theming import Inks
from cogency_tui.tui.widgets.in_order import act_in_order
from cogency_tui.tui.widgets.pane_title import PaneTitle
from cogency_tui.tui.widgets.select_list import SelectList

_OWN_STYLES = Path(__file__).parent.parent / "styles" / "profile.tcss"

_AROUND = 9
"""Lines of the dialog's title, field and foot, and between its parts."""

_SHORT = 24
"""Lines of a screen on which nothing is left free."""

_STEP = 0.5
"""Seconds between two looks while something is being learned."""


class FactList(SelectList[Fact]):
    """Facts, one line each."""

    def __init__(self, clock: Callable[[], float], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._clock = clock

    def draw_row(self, row: Fact, on: str) -> Line:
        return draw_fact(row, self.text_width, self.inks, on, self._clock())


class FactField(Input):
    """The words of a fact while the person writes them, their kind before them."""

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
        """Leave room for what is below the list, however long it is."""
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
        """Keep what was written."""
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
        """Let the person write, in the place of `fact` if there is one."""
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
        """Change something and show what is there then; whether it could be done."""
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
        """Look again until what is being learned is there."""
        if self._shown.learning:
            self.set_timer(_STEP, self._look_on)

    async def _look_on(self) -> None:
        await self._look()
        self._follow()

    def _tell(self) -> None:
        """Show what there is, the cursor where it was, and what can be done with it."""
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
"""What is asked before that is done."""

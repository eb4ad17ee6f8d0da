"""Filters of lists: a field whose list follows each key, and the filter line of a pane.

The filter of a pane is a field while the user edits it, then a removable chip. It takes no space while
nothing is filtered.
"""

from collections.abc import Sequence
from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import Input

from cogency_tui.safe_text import one_line
from cogency_tui.tui.kit.bar import Bar, Surface
from cogency_tui.tui.kit.cell_text import cells, fit
from cogency_tui.tui.kit.keys import act_in_order


class FilterField(Input):
    """An input for the beginning of a name; Enter opens the row that the screen has selected by it."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(placeholder="Type to filter", id=id)
        self.cursor_blink = False

    async def _on_key(self, event: events.Key) -> None:
        await act_in_order(self, event)


class FilterText(Input):
    """The filter text while it is edited. Handles its own keys in the order in which they arrive."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "accept", "Apply", id="filter.accept", tooltip="Apply the filter"),
        Binding("escape", "remove", "Clear", id="filter.remove", tooltip="Clear the filter"),
        Binding("up", "move(-1)", "Previous", show=False, id="filter.previous"),
        Binding("down", "move(1)", "Next", show=False, id="filter.next"),
    ]

    def __init__(self, placeholder: str) -> None:
        super().__init__(placeholder=placeholder, classes="filter-text", select_on_focus=False)
        self.cursor_blink = False

    async def _on_key(self, event: events.Key) -> None:
        active = None if event.is_printable else self.screen.active_bindings.get(event.key)
        if active is not None and active.node is self and active.enabled:
            event.stop()
            event.prevent_default()
            await self.run_action(active.binding.action)

    def action_accept(self) -> None:
        self._line.post_message(FilterLine.Accepted())

    def action_remove(self) -> None:
        self._line.clear()

    def action_move(self, step: int) -> None:
        self._line.post_message(FilterLine.Moved(step))

    @property
    def _line(self) -> "FilterLine":
        line = self.parent
        assert isinstance(line, FilterLine)
        return line


class Chips(Bar):
    """The active filters; a click removes one."""

    SURFACE = "surface"

    class Removed(Message):
        """The chip with this text was clicked."""

        def __init__(self, chip: str) -> None:
            self.chip = chip
            super().__init__()

    def __init__(self) -> None:
        super().__init__(classes="filter-chips")
        self._chips: Sequence[str] = ()
        self._spans: list[tuple[int, int, str]] = []

    def show(self, chips: Sequence[str]) -> None:
        """Show these chips."""
        self._chips = chips
        self.refresh()

    def segments(self, width: int) -> list[Segment]:
        shown = [Segment("  ", self.theme_styles())]
        place = 2
        self._spans = []
        for chip in self._chips:
            text = f" {fit(one_line(chip), max(4, width - place - 6))} ✕ "
            shown += [Segment(text, self.theme_styles("accent", "raised")), Segment(" ", self.theme_styles())]
            self._spans.append((place, place + cells(text), chip))
            place += cells(text) + 1
        return shown

    def on_click(self, event: events.Click) -> None:
        event.stop()
        for start, end, chip in self._spans:
            if start <= event.x < end:
                self.post_message(self.Removed(chip))


class FilterLine(Surface):
    """A field and chips. `marks` are chips beside that of the text."""

    class Changed(Message):
        """The filter text changed."""

        def __init__(self, text: str) -> None:
            self.text = text
            super().__init__()

    class Accepted(Message):
        """Enter was pressed in the field."""

    class Moved(Message):
        """The user moves the selection while typing."""

        def __init__(self, step: int) -> None:
            self.step = step
            super().__init__()

    class Left(Message):
        """The filter was removed: the pane's list has the focus again."""

    class MarkRemoved(Message):
        """The chip `mark`, which is not the text's, was removed."""

        def __init__(self, mark: str) -> None:
            self.mark = mark
            super().__init__()

    def __init__(self, placeholder: str, *, id: str | None = None) -> None:
        super().__init__(id=id, classes="filter-line")
        self._placeholder = placeholder
        self._marks: Sequence[str] = ()
        self._text = ""
        self.display = False

    def compose(self) -> ComposeResult:
        yield FilterText(self._placeholder)
        yield Chips()

    @property
    def text(self) -> str:
        """The filter text."""
        return self._text

    def open(self) -> None:
        """Show and focus the field."""
        self._show(writing=True)
        self.screen.set_focus(self.query_one(FilterText))

    def close(self) -> None:
        """Close the field, and show its text as a chip."""
        self._show(writing=False)

    def mark(self, marks: Sequence[str]) -> None:
        """Show these chips beside that of the text."""
        self._marks = marks
        self._show(writing=self.query_one(FilterText).has_focus)

    def clear(self) -> None:
        """Clear the filter text."""
        self._take("")
        self.query_one(FilterText).value = ""
        self._show(writing=False)
        self.post_message(self.Left())

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._take(event.value)

    def on_chips_removed(self, event: Chips.Removed) -> None:
        event.stop()
        if event.chip in self._marks:
            self.post_message(self.MarkRemoved(event.chip))
        else:
            self.clear()

    def on_descendant_blur(self) -> None:
        self.close()

    def _take(self, text: str) -> None:
        if text != self._text:
            self._text = text
            self.post_message(self.Changed(text))

    def _show(self, *, writing: bool) -> None:
        text = self._text.strip()
        chips = [text, *self._marks] if text and not writing else list(self._marks)
        self.query_one(FilterText).display = writing
        field = self.query_one(Chips)
        field.display = bool(chips)
        field.show(chips)
        self.display = writing or bool(chips)

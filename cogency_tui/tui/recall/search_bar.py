"""The search field, chips for the scope and the understood filters, and the filters in the text."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message

from cogency_tui.safe_text import one_line
from cogency_tui.store.search.query import Query, parse
from cogency_tui.tui.kit.bar import Bar, Surface
from cogency_tui.tui.kit.cell_text import cells, fit
from cogency_tui.tui.kit.filter_line import FilterField

_PLACEHOLDER = 'Words, "a phrase", file: tool: error: model: project: branch: since:30d before: cost:>1'


@dataclass(frozen=True, slots=True)
class Chip:
    """A chip's text, the effect of removing it by a click, and the screen's action for that; without an
    action it cannot be removed. `trouble` marks a filter that was not understood."""

    text: str
    meaning: str = ""
    action: str = ""
    trouble: bool = False


class SearchField(FilterField):
    """The search text. Deleting in an empty field removes the first chip."""

    BINDING_GROUP_TITLE = "Search field"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "enter", "screen.open", "Open", id="recall.field.open", tooltip="Open the first conversation"
        ),
        Binding("down", "screen.enter_list", "List", id="recall.field.list", tooltip="Go to the list"),
        Binding("pagedown", "screen.enter_list(1)", "Page down", show=False, id="recall.field.page_down"),
    ]

    class Emptied(Message):
        """The user pressed delete in an empty field."""

    def __init__(self, text: str, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.placeholder = _PLACEHOLDER
        self.value = text

    async def _on_key(self, event: events.Key) -> None:
        active = None if event.is_printable else self.screen.active_bindings.get(event.key)
        if active is not None and active.node is self and active.binding.action.startswith("screen."):
            # Handled at once, so that keys take effect in the order in which they arrive.
            event.stop()
            event.prevent_default()
            await self.run_action(active.binding.action)

    def action_delete_left(self) -> None:
        if self.value:
            super().action_delete_left()
        else:
            self.post_message(self.Emptied())


class ChipLine(Bar):
    """The chips; a click removes one."""

    SURFACE = "raised"

    class Pressed(Message):
        """A chip with this action was clicked."""

        def __init__(self, action: str) -> None:
            self.action = action
            super().__init__()

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._chips: Sequence[Chip] = ()
        self._places: list[tuple[int, int, Chip]] = []

    def show(self, chips: Sequence[Chip]) -> None:
        """Show these chips."""
        if chips != self._chips:
            self._chips = chips
            self.refresh()

    def segments(self, width: int) -> list[Segment]:
        shown: list[Segment] = []
        place = 0
        self._places = []
        for chip in self._chips:
            cross = " ✕ " if chip.action else " "
            room = width - place - 1 - len(cross)
            if room < min(6, cells(chip.text)):
                break
            text = f" {fit(one_line(chip.text), room)}{cross}"
            role = "bad" if chip.trouble else "accent" if chip.action else "dim"
            shown += [
                Segment(text, self.theme_styles(role, "cursor")),
                Segment(" ", self.theme_styles("text", "raised")),
            ]
            self._places.append((place, place + cells(text), chip))
            place += cells(text) + 1
        return shown

    def on_mouse_move(self, event: events.MouseMove) -> None:
        chip = self._chip_at(event.x)
        # Textual would parse markup in a plain string.
        tooltip = Content(chip.meaning) if chip and chip.meaning else None
        if tooltip != self.tooltip:
            self.tooltip = tooltip

    def on_click(self, event: events.Click) -> None:
        event.stop()
        chip = self._chip_at(event.x)
        if chip and chip.action:
            self.post_message(self.Pressed(chip.action))

    def _chip_at(self, x: int) -> Chip | None:
        return next((chip for start, end, chip in self._places if start <= x < end), None)


class SearchBar(Surface):
    """Composes the field and the chips."""

    def __init__(self, text: str, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._text = text

    def compose(self) -> ComposeResult:
        yield SearchField(self._text, id="recall-field")
        yield ChipLine(id="recall-chips")


_PIECE = re.compile(r'(?P<filter>[a-z]+:(?:"[^"]*(?:"|$)|[^\s"]*))|"[^"]*(?:"|$)|[^\s"]+')


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter in the text, from `start` to `stop`."""

    text: str
    start: int
    stop: int


def filters_in(text: str) -> list[Filter]:
    """The filters that are understood, without those still incomplete and ordinary words."""
    found: list[Filter] = []
    for match in _PIECE.finditer(text):
        if (piece := match["filter"]) and (asked := parse(piece)) != Query() and not asked.terms:
            found.append(Filter(piece, *match.span()))
    return found


def without(text: str, taken: Filter) -> str:
    """`text` without this filter and the space before it."""
    return f"{text[: taken.start].rstrip()} {text[taken.stop :].lstrip()}".strip()

"""Two dialogs of a summary: what one has replaced, beside its text, and what one would replace."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from time import time
from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.widget import Widget

from cogency_tui.agent.compaction import FATES, Compaction, CompactionPlan, Fate, Part
from cogency_tui.safe_text import clean
from cogency_tui.store.summaries import Summary
from cogency_tui.tui.cost.compaction_rows import (
    PartRow,
    Row,
    compaction_rows,
    draw_note,
    draw_row,
    key_of,
)
from cogency_tui.tui.cost.context_screen import describe_author
from cogency_tui.tui.kit.dialogs import Choice, DialogBody
from cogency_tui.tui.kit.lines import BLANK, Line, wrap
from cogency_tui.tui.kit.list_dialog import ListDialog, Note
from cogency_tui.tui.kit.number_format import plural, tokens
from cogency_tui.tui.kit.select_list import SelectList, list_keys
from cogency_tui.tui.theme_styles import ThemeStyles

_WIDE = 100
"""Cells of a screen from which on both sides are shown at once."""

_PARTS = frozenset({"open", "pin", "filter"})
"""The actions on the list of parts, which rest while the keys scroll the summary."""


class CompactionScreen(ListDialog[Part | Summary | None, Row]):
    """Shows `compactions`, the newest first, from that of the summary with the id `opened`.

    Returns the part to go to, or the summary in force to edit. `pin` pins or unpins a part, and returns the
    compactions as they are then. Files in `root` are named relative to it.
    """

    BINDING_GROUP_TITLE = "Summaries"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "close", "Close", id="compaction.close"),
        Binding("enter", "open", "Show", id="compaction.open", tooltip="Show in conversation"),
        Binding(
            "f",
            "filter",
            "Filter",
            id="compaction.filter",
            tooltip="Filter: verbatim, summarized or dropped",
        ),
        Binding("p", "pin", "Pin", id="compaction.pin", tooltip="Pin or unpin the part"),
        Binding("e", "edit", "Edit", id="compaction.edit", tooltip="Edit the current summary"),
        Binding("tab", "turn", "Summary", id="compaction.turn", tooltip="Switch between parts and summary"),
        *list_keys("compaction"),
    ]
    BOX = "-tall -wide"

    def __init__(
        self,
        compactions: Sequence[Compaction],
        pin: Callable[[Part], Awaitable[Sequence[Compaction]]],
        opened: int | None = None,
        *,
        root: str,
        clock: Callable[[], float] = time,
    ) -> None:
        rows: SelectList[Row] = SelectList(partial(draw_row, root=root), key_of, id="compaction-list")
        super().__init__("compaction", "Summaries", rows, Note(self._draw_note, id="compaction-note"))
        self._compactions = compactions
        self._pin = pin
        self._opened = opened
        self._clock = clock
        self._fate: Fate | None = None
        self._index = 0
        """The compaction whose summary is shown."""
        self._text = DialogBody(self._draw_summary, id="compaction-summary")

    def parts(self) -> list[Widget]:
        assert self.note is not None
        return [Horizontal(self.rows, self._text, id="compaction-sides"), self.note]

    def note_lines(self, height: int) -> int:
        del height
        return 2

    def on_mount(self) -> None:
        ids = [each.summary.id for each in self._compactions]
        self._index = ids.index(self._opened) if self._opened in ids else 0
        parts = self._compactions[self._index].parts
        self._show(parts[0].number if parts else None)

    def on_resize(self, event: events.Resize) -> None:
        super().on_resize(event)
        self.set_class(event.size.width < _WIDE, "-narrow")
        self.show_selected()

    async def moved(self) -> None:
        row = self.rows.row
        if isinstance(row, PartRow) and row.index != self._index:
            self._index = row.index
            self._text.jump(0)
            self._text.on_resize()
        await super().moved()

    def choices(self) -> list[Choice]:
        is_current = self._index == 0 and (self._is_reading or not self.has_class("-narrow"))
        edit: list[Choice] = [("e", "edit summary", "edit")] if is_current else []
        if self._is_reading:
            return [("tab", "parts", "turn"), *edit, ("escape", "close", "close")]
        row = self.rows.row
        show: list[Choice] = []
        if isinstance(row, PartRow):
            show = [("enter", "show", "open"), ("p", "unpin" if row.part.pinned else "pin", "pin")]
        other: list[Choice] = [("f", "filter", "filter"), ("tab", "summary", "turn")]
        return [*show, *other, *edit, ("escape", "close", "close")]

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "edit":
            return self._index == 0
        return not (action in _PARTS and self._is_reading)

    def action_open(self) -> None:
        if isinstance(row := self.rows.row, PartRow):
            self.dismiss(row.part)

    def action_edit(self) -> None:
        self.dismiss(self._compactions[0].summary)

    def action_filter(self) -> None:
        """Show the parts of the next fate that some have, after the last one all."""
        there = {part.fate for each in self._compactions for part in each.parts}
        steps: list[Fate | None] = [None, *(fate for fate in FATES if fate in there)]
        self._fate = steps[(steps.index(self._fate) + 1) % len(steps)]
        self._show(self.rows.key)

    async def action_pin(self) -> None:
        if isinstance(row := self.rows.row, PartRow):
            await self.do(partial(self._toggle_pin, row.part))

    async def load(self) -> None:
        self._show(self.rows.key)

    def action_turn(self) -> None:
        """Have the keys scroll the summary, or move in the list again."""
        self.toggle_class("-reading")
        self._text.on_resize()
        self.show_selected()

    async def action_move(self, step: int) -> None:
        if self._is_reading:
            self._text.scroll_lines(step)
        else:
            await super().action_move(step)

    async def action_page(self, direction: int) -> None:
        if self._is_reading:
            self._text.scroll_page(direction)
        else:
            await super().action_page(direction)

    async def action_end(self, way: int) -> None:
        if self._is_reading:
            self._text.jump(0 if way < 0 else self._text.max_scroll_y)
        else:
            await super().action_end(way)

    async def _toggle_pin(self, part: Part) -> None:
        self._compactions = await self._pin(part)

    @property
    def _is_reading(self) -> bool:
        return self.has_class("-reading")

    def _show(self, key: object) -> None:
        rows = compaction_rows(self._compactions, self._fate, self._clock())
        self.rows.notice = "The context is empty."
        self.rows.rows = rows
        self.rows.restore(key, self.rows.selected)
        if isinstance(row := self.rows.row, PartRow):
            self._index = row.index
        shown = sum(isinstance(each, PartRow) for each in rows)
        whole = sum(len(each.parts) for each in self._compactions)
        self.heading.state(f"{shown} of {whole} {self._fate}" if self._fate else "")
        self.show_selected()
        self._text.on_resize()

    def _draw_summary(self, width: int, styles: ThemeStyles) -> list[Line]:
        summary = self._compactions[self._index].summary
        role = "accent" if self._is_reading else "text"
        label = "Earlier summary" if self._index else "Current summary"
        lines = [Line([Segment(label, styles(role, attributes="bold"))])]
        lines += wrap([Segment(describe_author(summary, self._clock()), styles("dim"))], width)
        return [*lines, BLANK, *wrap([Segment(clean(summary.text).expandtabs(4), styles("text"))], width)]

    def _draw_note(self, width: int, styles: ThemeStyles) -> list[Line]:
        row = self.rows.row
        return draw_note(row.part, width, styles) if isinstance(row, PartRow) and not self._is_reading else []


class CompactDialog(ListDialog[bool, Row]):
    """Shows the `plan` of a summary; returns whether to make it. `pin` pins or unpins a part, and returns the
    plan as it is then. Files in `root` are named relative to it."""

    BINDING_GROUP_TITLE = "Summarize"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "confirm", "Summarize", id="compact.confirm"),
        Binding("p", "pin", "Pin", id="compact.pin", tooltip="Pin or unpin the part"),
        Binding("escape,q", "close", "Cancel", id="compact.close"),
        *list_keys("compact"),
    ]

    def __init__(
        self, plan: CompactionPlan, pin: Callable[[Part], Awaitable[CompactionPlan]], *, root: str
    ) -> None:
        rows: SelectList[Row] = SelectList(partial(draw_row, root=root), key_of, id="compact-list")
        super().__init__("compact", "Summarize", rows, Note(self._draw_note, id="compact-note"))
        self._plan = plan
        self._pin = pin

    async def on_mount(self) -> None:
        await self.load()

    def note_lines(self, height: int) -> int:
        del height
        return 2

    def choices(self) -> list[Choice]:
        row = self.rows.row
        label = "unpin" if isinstance(row, PartRow) and row.part.pinned else "pin"
        return [("enter", "summarize", "confirm"), ("p", label, "pin"), ("escape", "cancel", "close")]

    def action_confirm(self) -> None:
        self.dismiss(True)

    async def action_pin(self) -> None:
        if isinstance(row := self.rows.row, PartRow):
            await self.do(partial(self._toggle_pin, row.part))

    async def load(self) -> None:
        self.rows.update_rows([PartRow(0, part) for part in self._plan.parts])
        self.heading.note(f"~{tokens(self._plan.before)} → ~{tokens(self._plan.after)} tokens")
        self.show_selected()

    async def _toggle_pin(self, part: Part) -> None:
        self._plan = await self._pin(part)

    def _draw_note(self, width: int, styles: ThemeStyles) -> list[Line]:
        parts = self._plan.parts
        verbatim = sum(part.fate == "verbatim" for part in parts)
        stays = f", of which {verbatim} stay{'s' * (verbatim == 1)} verbatim" if verbatim else ""
        text = f"Summarizes {plural(len(parts), 'message')}{stays}."
        rest = "All remain in this conversation, and the agent can recall them."
        return wrap([Segment(f"{text} {rest}", styles("dim"))], width)

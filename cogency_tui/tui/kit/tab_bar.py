"""The title line of a pane with several contents: their names with the keys that show them, and facts."""

from collections.abc import Sequence

from rich.segment import Segment

from cogency_tui.tui.kit.bar import ButtonBar, Part
from cogency_tui.tui.kit.cell_text import cells, fit

_FACT = 8
"""Minimum cells of a fact; with fewer it is omitted."""


class TabBar(ButtonBar):
    """Names `contents`, which the keys 1, 2, … show; the screen's action `detail` does so on a click."""

    SURFACE = "surface"

    def __init__(self, contents: Sequence[str], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._contents = contents
        self._shown = contents[0]
        self._fact = ""
        self._focused = False

    def show(self, content: str, fact: str) -> None:
        """Show which content is shown, and facts about it, joined by ` · `."""
        if (content, fact) != (self._shown, self._fact):
            self._shown, self._fact = content, fact
            self.refresh()

    def light(self, focused: bool) -> None:
        """Show whether the pane has the focus."""
        self._focused = focused
        self.refresh()

    def segments(self, width: int) -> list[Segment]:
        styles = self.theme_styles
        parts: list[Part] = []
        for number, each in enumerate(self._contents, 1):
            here = each == self._shown
            role = ("accent" if self._focused else "text") if here else "dim"
            segments = [
                Segment(f"{number} ", styles("dim")),
                Segment(each.title(), styles(role, "surface", "bold" if here else "")),
            ]
            parts.append(Part(segments, f"Show the {each}", f"detail({each!r})", "  "))
        room = width - sum(part.width for part in parts) - 4
        if self._fact and room >= _FACT:
            parts.append(Part([Segment(_fit_facts(self._fact, room), styles("dim"))], self._fact))
        return self.lay(parts, width)


def _fit_facts(text: str, width: int) -> str:
    """The first of the facts that `text` consists of, as many as fit."""
    while cells(text) > width and " · " in text:
        text = text.rpartition(" · ")[0]
    return fit(text, width)

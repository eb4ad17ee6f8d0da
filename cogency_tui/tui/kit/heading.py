"""The heading of a full screen: `cogency › Review   title   …   facts`, alike on all of them."""

from collections.abc import Sequence

from rich.segment import Segment

from cogency_tui.safe_text import one_line
from cogency_tui.tui.kit.bar import ButtonBar, Part
from cogency_tui.tui.kit.cell_text import cells, fit

_GAP = 3
"""Cells between the parts."""

_TITLE = (8, 24)
"""The least cells of a title, and those that it has before facts."""

_REMARK = 20
"""The least cells of a remark that is cut."""


class ScreenHeading(ButtonBar):
    """`name` is that of the screen, empty for the main one; the title is that of the conversation.

    Where the line is short, facts at the right end give way first, then the remark beside the title, the last
    fact, and the title, which gives way before the `essential` facts. Subclasses may provide other facts and
    remarks.
    """

    def __init__(self, name: str = "", title: str = "", *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._name = name
        self._title = one_line(title)
        self._facts: Sequence[str] = ()

    def state(self, *facts: str) -> None:
        """Show these facts, the most dispensable first."""
        if facts != self._facts:
            self._facts = facts
            self.refresh()

    def entitle(self, title: str) -> None:
        """Show another title."""
        if (title := one_line(title)) != self._title:
            self._title = title
            self.refresh()

    def facts(self, room: int) -> Sequence[Part]:
        """The facts that fit into `room` cells; the first give way."""
        dim = self.theme_styles("dim", "background")
        shown = [Part([Segment(fact, dim)], fact) for fact in self._facts if fact]
        while shown and sum(part.width for part in shown) > room:
            del shown[0]
        return shown

    @property
    def essential(self) -> int:
        """The number of the last facts to which the title gives way."""
        return 0

    def remarks(self) -> Sequence[str]:
        """The forms of a remark beside the title, the longest first; a long title gives way to the last."""
        return ()

    @property
    def remark_role(self) -> str:
        """The color of the remark."""
        return "branch"

    @property
    def insists(self) -> bool:
        """True if no fact takes the place of the remark."""
        return False

    def segments(self, width: int) -> list[Segment]:
        left = self._crumbs()
        # A cell stays free at the right, as at the left.
        room = width - 1 - sum(part.width for part in left)
        facts = self._facts_beside_title(room)
        left += self._titled(room - sum(part.width for part in facts))
        return self.lay([*left, *self._at_end(facts, width - sum(part.width for part in left))], width)

    def _facts_beside_title(self, room: int) -> Sequence[Part]:
        """The facts in `room` cells beside the title and the remark; where there is room for none, one in the
        place of the remark. In the place of both, those that are essential."""
        left = room - (min(cells(self._title), _TITLE[1]) + _GAP if self._title else 0)
        beside = left - self._least_remark
        facts = self.facts(beside)
        if len(facts) < self.essential:
            return self.facts(room)
        return facts if facts or (self.insists and beside >= 0) else self.facts(left)[:1]

    @property
    def _least_remark(self) -> int:
        remarks = self.remarks() if self._title else ()
        return cells(remarks[-1]) + _GAP if remarks else 0

    def _crumbs(self) -> list[Part]:
        styles = self.theme_styles
        brand = Segment("cogency", styles("accent", "background", "bold"))
        crumbs = [Part([brand], "All commands (Ctrl+P)", "app.command_palette", " ")]
        if self._name:
            name = Segment(self._name, styles("text", "background", "bold"))
            crumbs.append(Part([name], f"{self._name}. Esc returns to the conversation", lead=" › "))
        return crumbs

    def _titled(self, room: int) -> list[Part]:
        """The title and the remark beside it, as far as they fit."""
        space, least = room - _GAP, min(cells(self._title), _TITLE[0])
        if not self._title or space < least:
            return []
        styles, lead = self.theme_styles, "   " if self._name else " › "
        role = "dim" if self._name else "text"
        remarks = self.remarks()
        if space - self._least_remark >= min(cells(self._title), _TITLE[1]):
            space -= self._least_remark
        title = Segment(fit(self._title, space), styles(role, "background", "" if self._name else "bold"))
        parts = [Part([title], self._title, lead=lead)]
        if remark := _fitting(remarks, room - parts[0].width - _GAP):
            parts.append(Part([Segment(remark, styles(self.remark_role, "background"))], remarks[0]))
        return parts

    def _at_end(self, facts: Sequence[Part], room: int) -> list[Part]:
        """The facts, the first of them led by the blank that puts the last at the right end."""
        if not facts:
            return []
        space = " " * max(0, room - sum(part.width for part in facts) - 1)
        return [facts[0].led_by(space + facts[0].lead), *facts[1:]]


def _fitting(remarks: Sequence[str], room: int) -> str:
    """The first of the remarks that fits, cut to no less than a few words; empty if none does."""
    cut = ((remark, fit(remark, room)) for remark in remarks)
    return next((shown for whole, shown in cut if cells(shown) >= min(_REMARK, cells(whole))), "")

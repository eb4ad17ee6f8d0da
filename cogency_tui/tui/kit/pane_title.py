"""The title line of a pane: its name, bright while the pane has the focus, and one dim fact."""

from rich.segment import Segment

from cogency_tui.tui.kit.bar import Bar, end_to_end
from cogency_tui.tui.kit.cell_text import fit
from cogency_tui.tui.kit.lines import width_of


class PaneTitle(Bar):
    """`label` names the pane; `fact` is beside it, `aside` at the right end."""

    SURFACE = "surface"

    def __init__(self, label: str, *, id: str | None = None) -> None:
        super().__init__(id=id, classes="pane-title")
        self._label = label
        self._fact = ""
        self._aside = ""
        self._focused = False

    def rename(self, label: str) -> None:
        """Show another name."""
        if label != self._label:
            self._label = label
            self.refresh()

    def state(self, fact: str) -> None:
        """Show another fact."""
        if fact != self._fact:
            self._fact = fact
            self.refresh()

    def note(self, aside: str) -> None:
        """Show another text at the right end."""
        if aside != self._aside:
            self._aside = aside
            self.refresh()

    def light(self, focused: bool) -> None:
        """Show whether the pane has the focus."""
        self._focused = focused
        self.refresh()

    @property
    def label_role(self) -> str:
        """The color of the label of a pane without the focus."""
        return "dim"

    def segments(self, width: int) -> list[Segment]:
        role = "accent" if self._focused else self.label_role
        label = Segment(self._label, self.theme_styles(role, "surface", "bold"))
        margin = Segment("  ", self.theme_styles())
        fact = fit(self._fact, width - width_of([margin, label]) - 4)
        left = [margin, label, Segment(f"  {fact}" if fact else "", self.theme_styles("dim"))]
        right = [Segment(f"{self._aside}  ", self.theme_styles("dim"))] if self._aside else []
        return end_to_end(left, right, width, self.theme_styles, "surface")

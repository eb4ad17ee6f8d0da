"""The lines at the top of the review: what there is to decide in all, and the file whose diff is shown."""

from collections.abc import Mapping

from rich.segment import Segment

from cogency_tui.agent.review.model import ChangedFile, Overview
from cogency_tui.store.versions import State
from cogency_tui.text import one_line
from cogency_tui.tui.drawing.lines import cells, fit, fit_path, width_of
from cogency_tui.tui.review.open_file import OpenFile
from cogency_tui.tui.review.states import GLYPHS, ROLES, STATES, counted, state_mark
from cogency_tui.tui.review.texts import describe_file
from cogency_tui.tui.widgets.bar import Bar, end_to_end

_ROOM = 34
"""Cells that the path of a file and what happened to it have before anything else is said."""


class ReviewHeader(Bar):
    """Counts by state, each with its glyph and word; `working` says that the agent works on."""

    def __init__(self, title: str, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._title = one_line(title)
        self._counts: Mapping[State, int] = {}
        self._working = False

    def count(self, overview: Overview) -> None:
        """Show other counts."""
        self._counts = overview.counts
        self.refresh()

    def work(self, working: bool) -> None:
        """Show whether the agent works."""
        if working != self._working:
            self._working = working
            self.refresh()

    def segments(self, width: int) -> list[Segment]:
        inks, on = self.inks, "background"
        name = Segment(" Review", inks("accent", on, "bold"))
        right = self._counted(words=True)
        if width_of(right) + width_of([name]) + 4 > width:
            right = self._counted(words=False)
        room = width - width_of([name]) - width_of(right) - 5
        about = "the agent works on" if self._working else self._title
        left = [name, Segment(f"   {fit(about, room)}" if room >= 8 else "", inks("text", on, "bold"))]
        return end_to_end(left, right, width, inks, on)

    def _counted(self, *, words: bool) -> list[Segment]:
        inks, on = self.inks, "background"
        found = [
            Segment(
                f"{GLYPHS[state]} {count} {state}  " if words else f"{GLYPHS[state]} {count}  ",
                inks(ROLES[state], on),
            )
            for state in STATES
            if (count := self._counts.get(state, 0))
        ]
        if not found:
            return []
        total = sum(self._counts.values())
        return [Segment(f"{total} hunk{'' if total == 1 else 's'}   ", inks("dim", on)), *found]


class FileTitle(Bar):
    """The path of a changed file, what happened to it, and how it stands."""

    SURFACE = "surface"

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, classes="pane-title")
        self._file: ChangedFile | None = None
        self._open: OpenFile | None = None
        self._focused = False
        self._aside = ""

    def show(self, file: ChangedFile | None, opened: OpenFile | None, aside: str) -> None:
        """Show another file, and what there is to say beside it."""
        self._file, self._open, self._aside = file, opened, aside
        self.refresh()

    def light(self, focused: bool) -> None:
        """Show whether the diff has the focus."""
        self._focused = focused
        self.refresh()

    def segments(self, width: int) -> list[Segment]:
        inks, file = self.inks, self._file
        margin = Segment("  ", inks())
        if file is None:
            return [margin, Segment("Diff", inks("accent" if self._focused else "dim", attributes="bold"))]
        facts = "  ".join(filter(None, (describe_file(file), counted(file.added, file.removed))))
        right = [*state_mark(file.state, inks, "surface"), margin]
        fate = self._fate()
        for text, role in ((self._aside, "accent"), (fate, "dim")):
            more = Segment(f"{text}  " if text else "", inks(role))
            if width_of([more, *right]) + _ROOM <= width:
                right = [more, *right]
        room = width - width_of(right) - 3
        path = fit_path(one_line(file.path), max(8, room - 2))
        name = Segment(path, inks("accent" if self._focused else "text", attributes="bold"))
        left = [margin, name]
        if width_of(left) + cells(facts) + 2 <= room:
            left.append(Segment(f"  {facts}", inks("dim")))
        return end_to_end(left, right, width, inks, "surface")

    def _fate(self) -> str:
        """What became of all of it, where that can be said in a word."""
        if self._open is None:
            return ""
        there = [hunk.id for hunk in self._open.hunks if hunk.state != "reverted"]
        fates = {fate.fate for id, fate in self._open.fates.items() if id in there}
        if not fates:
            return ""
        return fates.pop() if len(fates) == 1 else "partly changed since"

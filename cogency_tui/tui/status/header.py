"""The heading of the main screen: the conversation and its origin; the project, its branch, and which of the
open conversations this is."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
from rich.segment import Segment

from cogency_tui.safe_text import one_line
from cogency_tui.tui.kit.bar import Part
from cogency_tui.tui.kit.heading import ScreenHeading
from cogency_tui.tui.kit.lines import cells, fit, fit_path
from cogency_tui.tui.kit.number_format import plural
from cogency_tui.workspace.git.branch import branch_of, head_of
from cogency_tui.workspace.protected_names import short_path


class HeaderContents(msgspec.Struct, frozen=True):
    """The contents of the header. The project has `count` conversations, 0 if unknown; of the `opened` ones
    of this program, this is the one with this `number`, as the switcher lists them. `origin` is the title of
    the conversation that this one was forked from; None if it is no fork. One that `is_elsewhere` is open in
    another program, too, and nothing can be sent here."""

    path: str = ""
    branch: str = ""
    dirty: bool = False
    title: str = ""
    count: int = 0
    number: int = 1
    opened: int = 1
    origin: str | None = None
    is_elsewhere: bool = False


_ELSEWHERE = "open in another program"


def read_branch(project: Path) -> str:
    """The branch, or the start of the commit, that is checked out in `project`; empty outside git."""
    return branch_of(project) or head_of(project)[:8]


def place_of(project: Path) -> HeaderContents:
    """The facts that the header can show without waiting."""
    return HeaderContents(path=short_path(project), branch=read_branch(project))


class Header(ScreenHeading):
    """Draws a `HeaderContents`."""

    def __init__(self, place: HeaderContents, *, id: str | None = None) -> None:
        super().__init__(title=place.title, id=id)
        self.place = place

    def move(self, place: HeaderContents) -> None:
        """Show another place."""
        if place != self.place:
            self.place = place
            self.entitle(place.title)
            self.refresh()

    @property
    def remark_role(self) -> str:
        return "edit" if self.place.is_elsewhere else super().remark_role

    def remarks(self) -> Sequence[str]:
        if self.place.is_elsewhere:
            return f"{_ELSEWHERE} · /fork continues in a copy", _ELSEWHERE
        origin, fork = self.place.origin, "⑂ fork"
        if origin is None:
            return ()
        # A new fork has the title of its origin.
        return (
            (fork,) if origin == self.place.title else (f"{fork} of {one_line(origin) or 'Untitled'}", fork)
        )

    def facts(self, room: int) -> list[Part]:
        place = self.place
        facts = [self._numbered()] if place.opened > 1 else [self._counted()] if place.count else []
        if place.branch:
            facts.append(self._branch())
        if place.is_elsewhere:
            room -= cells(_ELSEWHERE) + 4
        path = self._path(max(8, room // 3))
        # In the order of reading: where, which branch, which conversation.
        shown = [path, *reversed(facts)]
        while shown and sum(part.width for part in shown) > room:
            shown.pop()
        return shown

    def _path(self, width: int) -> Part:
        path = one_line(self.place.path)
        return Part(
            [Segment(fit_path(path, width), self.theme_styles("dim", "background"))], f"Project: {path}"
        )

    def _branch(self) -> Part:
        place, styles = self.place, self.theme_styles
        branch = one_line(place.branch)
        segments = [Segment(fit(branch, 24), styles("branch", "background"))]
        segments += [Segment("*", styles("edit", "background"))] if place.dirty else []
        return Part(segments, f"Branch {branch}{', with uncommitted changes' if place.dirty else ''}")

    def _counted(self) -> Part:
        return Part(
            [Segment(plural(self.place.count, "conversation"), self.theme_styles("dim", "background"))],
            "Conversations of this project. Click or press Ctrl+R to open another",
            "command('recall')",
        )

    def _numbered(self) -> Part:
        place = self.place
        return Part(
            [Segment(f"{place.number} of {place.opened} open", self.theme_styles("text", "background"))],
            "Open conversations. Click or press F9 to go to another",
            "app.switch_conversation",
        )

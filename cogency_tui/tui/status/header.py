"""The heading of the main screen: the conversation and its origin; the project, its branch, and which of the
open conversations this is."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from rich.segment import Segment

from cogency_tui.safe_text import one_line
from cogency_tui.tui.kit.bar import Part
from cogency_tui.tui.kit.cell_text import cells, fit, fit_path
from cogency_tui.tui.kit.heading import ScreenHeading
from cogency_tui.tui.kit.lines import width_of
from cogency_tui.tui.kit.number_format import plural
from cogency_tui.workspace.git.branch import branch_of, head_of
from cogency_tui.workspace.protected_names import short_path


class HeaderContents(msgspec.Struct, frozen=True):
    """The contents of the header. The project has `count` conversations, None if unknown; of the `opened`
    ones of this program, this is the one with this `number`, as the switcher lists them. `origin` is the
    title of the conversation that this one was forked from; None if it is no fork. One that `is_elsewhere` is
    open in another program, too, and nothing can be sent here. `worktree` is the name of the git worktree
    that it works in, or worked in if `is_worktree_removed`. One with `rerun` runs the turn of this number
    again, in a scratch copy. `shared` is the audience of a project that is shared, or
    what keeps this conversation from it: a key of `_NOT_SHARED`."""

    path: str = ""
    branch: str = ""
    dirty: bool = False
    title: str = ""
    count: int | None = None
    number: int = 1
    opened: int = 1
    origin: str | None = None
    is_elsewhere: bool = False
    worktree: str = ""
    is_worktree_removed: bool = False
    rerun: int = 0
    shared: str = ""


_NOT_SHARED: Mapping[str, tuple[str, str, str]] = {
    "withdrawn": ("withdrawn", "dim", "This conversation is withdrawn, and sent to no database."),
    "fork": ("not shared", "dim", "This fork has another's text, or a withdrawn one's, and is not sent."),
    "refused": ("not accepted", "edit", "The team's database accepts nothing of this project."),
}
"""What is shown of a conversation that is not sent though its project is shared, its role, and the reason."""

_SHARED = "This project's conversations are shared."
_ELSEWHERE = "open in another program"

_SHORTEST_PATH, _LONGEST_PATH = 20, 40
"""The most cells of the project's directory alone, and those of its path."""


def read_branch(project: Path) -> str:
    """The branch, or the start of the commit, that is checked out in `project`; empty outside git."""
    return branch_of(project) or head_of(project)[:8]


def place_of(project: Path, main: Path) -> HeaderContents:
    """The facts that the header can show without waiting; `project` may be a worktree of `main`."""
    worktree = project.name if project != main else ""
    return HeaderContents(path=short_path(main), branch=read_branch(project), worktree=worktree)


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
        if self.place.rerun:
            rerun = f"rerun of turn {self.place.rerun}"
            return f"{rerun} · scratch copy", rerun, "rerun"
        origin, fork = self.place.origin, "⑂ fork"
        if origin is None:
            return ()
        # A new fork has the title of its origin.
        return (
            (fork,) if origin == self.place.title else (f"{fork} of {one_line(origin) or 'Untitled'}", fork)
        )

    @property
    def insists(self) -> bool:
        return self.place.is_elsewhere

    def facts(self, room: int) -> list[Part]:
        """Where, which branch, shared with whom, which conversation. The last gives way first, then the
        directories of the path, the branch, and the path."""
        branch = [self._branch()] if self.place.branch or self.place.is_worktree_removed else []
        shared = [self._shared()] if self.place.shared else []
        path = self._path(max(_SHORTEST_PATH, min(_LONGEST_PATH, room // 2)))
        shown = [path, *branch, *shared, *self._count()]
        if sum(part.width for part in shown) <= room:
            return shown
        for others in ([*branch, *shared], shared):
            left = room - sum(part.width for part in others) - cells(path.lead)
            if left >= self._least_path:
                return [self._path(min(left, width_of(path.segments))), *others]
        return shared if sum(part.width for part in shared) <= room else []

    @property
    def essential(self) -> int:
        return 1 if self.place.shared and not self.insists else 0

    @property
    def _least_path(self) -> int:
        """The cells of the project's directory without those that it is in."""
        directories, _slash, name = one_line(self.place.path).rpartition("/")
        return min(_SHORTEST_PATH, cells(name) + (2 if directories else 0))

    def _path(self, width: int) -> Part:
        path = one_line(self.place.path)
        return Part(
            [Segment(fit_path(path, width), self.theme_styles("dim", "background"))], f"Project: {path}"
        )

    def _count(self) -> list[Part]:
        if self.place.opened > 1:
            return [self._numbered()]
        return [self._counted(self.place.count)] if self.place.count else []

    def _branch(self) -> Part:
        place, styles = self.place, self.theme_styles
        branch, worktree = one_line(place.branch), one_line(place.worktree)
        shown = f"⎇ {worktree}" if worktree else branch
        segments = [Segment(fit(shown, 24), styles("branch", "background"))]
        if place.is_worktree_removed:
            segments.append(Segment(" removed", styles("bad", "background")))
            return Part(segments, f"Worktree {worktree} was removed")
        segments += [Segment("*", styles("edit", "background"))] if place.dirty else []
        where = f"Worktree {worktree}, branch {branch}" if worktree else f"Branch {branch}"
        return Part(segments, f"{where}{', with uncommitted changes' if place.dirty else ''}")

    def _shared(self) -> Part:
        shared = self.place.shared
        text, role, reason = _NOT_SHARED.get(shared, (f"shared: {shared}", "branch", _SHARED))
        segments = [Segment(text, self.theme_styles(role, "background"))]
        return Part(segments, f"{reason} Click for with whom, or to end it", "command('share')")

    def _counted(self, count: int) -> Part:
        return Part(
            [Segment(plural(count, "conversation"), self.theme_styles("dim", "background"))],
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

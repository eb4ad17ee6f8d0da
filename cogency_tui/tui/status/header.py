"""The line at the top: the project, its branch, the conversation and its number among all."""

from pathlib import Path

import msgspec
from msgspec.structs import replace
from rich.segment import Segment

from cogency_tui.safe_text import one_line
from cogency_tui.tui.kit.bar import ButtonBar, Part
from cogency_tui.tui.kit.lines import fit, fit_path
from cogency_tui.tui.kit.number_format import plural
from cogency_tui.workspace.git.branch import branch_of, head_of
from cogency_tui.workspace.protected_names import short_path


class HeaderContents(msgspec.Struct, frozen=True):
    """The contents of the header. `ordinal` of `count` conversations; 0 if unknown."""

    path: str = ""
    branch: str = ""
    dirty: bool = False
    title: str = ""
    ordinal: int = 0
    count: int = 0


def read_branch(project: Path) -> str:
    """The branch, or the start of the commit, that is checked out in `project`; empty outside git."""
    return branch_of(project) or head_of(project)[:8]


def place_of(project: Path) -> HeaderContents:
    """The facts that the header can show without waiting."""
    return HeaderContents(path=short_path(project), branch=read_branch(project))


class Header(ButtonBar):
    """Draws a `HeaderContents`."""

    def __init__(self, place: HeaderContents, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.place = place

    def move(self, place: HeaderContents) -> None:
        """Show another place."""
        if place != self.place:
            self.place = place
            self.refresh()

    def segments(self, width: int) -> list[Segment]:
        place, styles = self.place, self.theme_styles
        parts = [
            Part(
                [Segment("cogency", styles("accent", "background", "bold"))],
                "All commands (Ctrl+P)",
                "app.command_palette",
                " ",
            ),
            self._path(width),
        ]
        if place.branch and width >= 50:
            parts.append(self._branch())
        counted = self._counted() if place.count else None
        taken = sum(part.width for part in parts)
        if counted is not None and taken + counted.width + 2 > width:
            counted = None
        room = width - taken - (counted.width + 2 if counted else 0) - 5
        if place.title and room >= 8:
            title = Segment(fit(one_line(place.title), room), styles("text", "background", "bold"))
            parts.append(Part([title], one_line(place.title)))
        if counted is None:
            return self.lay(parts, width)
        space = width - sum(part.width for part in parts) - counted.width
        return self.lay([*parts, replace(counted, lead=" " * space + counted.lead)], width)

    def _path(self, width: int) -> Part:
        path = one_line(self.place.path)
        shown = fit_path(path, max(8, width // 3))
        return Part([Segment(shown, self.theme_styles("text", "background"))], f"Project: {path}")

    def _branch(self) -> Part:
        place, styles = self.place, self.theme_styles
        branch = one_line(place.branch)
        segments = [Segment(fit(branch, 24), styles("branch", "background"))]
        segments += [Segment("*", styles("edit", "background"))] if place.dirty else []
        return Part(segments, f"Branch {branch}{', with uncommitted changes' if place.dirty else ''}")

    def _counted(self) -> Part:
        place = self.place
        text = f"conversation {place.ordinal} of {place.count}"
        if not place.ordinal:
            text = plural(place.count, "conversation")
        return Part(
            [Segment(f"{text}  ", self.theme_styles("dim", "background"))],
            "Conversations of this project. Click or press Ctrl+R to open another",
            "command('recall')",
            "",
        )

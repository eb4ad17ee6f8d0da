"""A unified diff as lines: additions and removals are distinguished by sign, color and surface."""

from collections.abc import Iterator

from rich.segment import Segment

from cogency_tui.safe_text import reveal
from cogency_tui.tui.kit.command_output import OutputLines, TextLine
from cogency_tui.tui.kit.lazy_text_layout import LazyLayout
from cogency_tui.tui.kit.lines import Line, chop, width_of
from cogency_tui.tui.kit.sgr import Rendition
from cogency_tui.tui.theme_styles import ThemeStyles


def draw_diff(diff: str, width: int, styles: ThemeStyles) -> list[Line]:
    """Draw the lines of `diff` in `width` cells. Control characters are shown, not executed."""
    lines: list[Line] = []
    for text, role, surface in _classify(diff):
        style = styles(role, surface)
        for line in chop([Segment(reveal(text.expandtabs(4)), style)], width):
            fill = Segment(" " * (width - width_of(line.segments)), style)
            lines.append(Line([*line.segments, fill], line.joint))
    return lines


class DiffLayout(LazyLayout):
    """The lines of a diff of any length, each drawn when it is rendered."""

    def __init__(self, diff: str, width: int, styles: ThemeStyles) -> None:
        text = OutputLines()
        text.extend(
            ((reveal(line.expandtabs(4)), Rendition(role, "" if on == "surface" else on)),)
            for line, role, on in _classify(diff)
        )
        super().__init__(text, width, styles)

    def lay(self, index: int, line: TextLine) -> list[Line]:
        style = self._style(line.runs[-1][1]) if line.runs else self.theme_styles()
        return [
            Line([*each.segments, Segment(" " * (self.width - width_of(each.segments)), style)], each.joint)
            for each in super().lay(index, line)
        ]


def _classify(diff: str) -> Iterator[tuple[str, str, str]]:
    """Yield each line of a diff with its text role and its surface."""
    in_hunk = False
    for text in diff.removesuffix("\n").split("\n"):
        if text.startswith("@@"):
            in_hunk = True
            yield text, "accent", "surface"
        elif in_hunk and text.startswith("+"):
            yield text, "good", "added"
        elif in_hunk and text.startswith("-"):
            yield text, "bad", "removed"
        elif text.startswith(("--- ", "+++ ", "diff ")):
            in_hunk = False
            yield text, "dim", "surface"
        else:
            yield text, ("text" if in_hunk else "dim"), "surface"

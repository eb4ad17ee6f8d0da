"""A unified diff as lines: what was added and removed told apart by sign, colour and surface."""

from rich.segment import Segment

from cogency_tui.text import reveal
from cogency_tui.tui.drawing.lines import Line, chop, width_of
from cogency_tui.tui.theming import Inks


def draw_diff(diff: str, width: int, inks: Inks) -> list[Line]:
    """The lines of `diff` in `width` cells. Control characters are shown, not obeyed."""
    lines: list[Line] = []
    in_hunk = False
    for text in diff.removesuffix("\n").split("\n"):
        if text.startswith("@@"):
            in_hunk = True
            role, surface = "accent", "surface"
        elif in_hunk and text.startswith("+"):
            role, surface = "good", "added"
        elif in_hunk and text.startswith("-"):
            role, surface = "bad", "removed"
        elif text.startswith(("--- ", "+++ ", "diff ")):
            in_hunk = False
            role, surface = "dim", "surface"
        else:
            role, surface = ("text" if in_hunk else "dim"), "surface"
        style = inks(role, surface)
        for line in chop([Segment(reveal(text.expandtabs(4)), style)], width):
            fill = Segment(" " * (width - width_of(line.segments)), style)
            lines.append(Line([*line.segments, fill], line.joint))
    return lines


def looks_like_diff(text: str) -> bool:
    """Whether `text` is a unified diff."""
    return text.startswith(("--- ", "diff ")) or text.startswith("@@ ") or "\n@@ " in text

"""Two branches of a conversation side by side: the result of each since they parted, and its usage."""

from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import ClassVar

from rich.segment import Segment
from textual.app import ComposeResult
from textual.containers import Vertical

from cogency_tui.agent.recall.recall import Branch, Comparison
from cogency_tui.safe_text import clean, one_line
from cogency_tui.tui.kit.dialogs import STYLES, Choices, DialogBody, ReadingScreen
from cogency_tui.tui.kit.lines import BLANK, Line, fit_path, width_of, wrap
from cogency_tui.tui.kit.number_format import dollars, plural, tokens
from cogency_tui.tui.kit.pane_title import PaneTitle
from cogency_tui.tui.recall.dialogs import RECALL_STYLES
from cogency_tui.tui.recall.row_lines import UNTITLED
from cogency_tui.tui.theme import Inks

_BESIDE = 72
"""Cells from which both are side by side."""

_GAP = 3
_LONGEST = 4000
_GLYPHS = {"created": "+", "deleted": "−", "renamed": "→"}


class ComparisonScreen(ReadingScreen[None]):
    """Shows `comparison`."""

    CSS_PATH: ClassVar = [STYLES, RECALL_STYLES]

    def __init__(self, comparison: Comparison) -> None:
        super().__init__()
        self._comparison = comparison

    def compose(self) -> ComposeResult:
        with Vertical(id="comparison", classes="recall-dialog -tall"):
            yield PaneTitle("Branches", id="comparison-title")
            yield DialogBody(self._draw, id="comparison-body")
            with Vertical(classes="dialog-foot"):
                yield Choices([("↑ ↓", "scroll", "scroll(1)"), ("escape", "close", "close")])

    def on_mount(self) -> None:
        self.query_one(PaneTitle).state(plural(self._comparison.shared, "shared event"))

    def _draw(self, width: int, inks: Inks) -> list[Line]:
        return draw_comparison(self._comparison, width, inks)


def draw_comparison(comparison: Comparison, width: int, inks: Inks) -> list[Line]:
    """Draw both branches: side by side where they fit, else one below the other."""
    left, right = comparison.left, comparison.right
    if width < _BESIDE:
        sides = [_side(each, other, width, inks) for each, other in ((left, right), (right, left))]
        return [*_flat(sides[0]), BLANK, *_flat(sides[1])]
    column = (width - _GAP) // 2
    lines: list[Line] = []
    for one, other in zip(_side(left, right, column, inks), _side(right, left, column, inks), strict=True):
        lines += [BLANK] if lines else []
        lines += [_beside(a, b, column, inks) for a, b in zip_longest(one, other, fillvalue=BLANK)]
    return lines


def _flat(parts: Sequence[list[Line]]) -> list[Line]:
    lines: list[Line] = []
    for part in parts:
        lines += [BLANK] if lines and part else []
        lines += part
    return lines


def _beside(left: Line, right: Line, column: int, inks: Inks) -> Line:
    space = Segment(" " * (column - width_of(left.segments)), inks())
    rule = Segment(" │ ", inks("rule"))
    return Line([*left.segments, space, rule, *right.segments])


def _side(branch: Branch, other: Branch, width: int, inks: Inks) -> list[list[Line]]:
    """Draw title, usage, prompts, answers and changed files, as a list of lines each."""
    title = one_line(branch.conversation.title[:300]) or UNTITLED
    dearer = " ▲ more" if branch.tokens > other.tokens else " ▼ less" if branch.tokens < other.tokens else ""
    cost = f" · {dollars(branch.cost)}" if branch.cost else ""
    took = [
        Segment(f"{tokens(branch.tokens)} tokens{cost}", inks("text")),
        Segment(dearer, inks("edit" if branch.tokens > other.tokens else "good")),
    ]
    files = [
        Line(
            [
                Segment(f"{_GLYPHS.get(kind, '~')} ", inks("edit")),
                Segment(fit_path(one_line(path), width - 2), inks("text")),
            ]
        )
        for path, kind in branch.files
    ]
    return [
        wrap([Segment(title, inks("text", attributes="bold"))], width) + wrap(took, width),
        _texts("Asked", branch.prompts, width, inks),
        _texts("Answered", branch.answers, width, inks),
        [_heading("Files", inks), *(files or [_none(inks)])],
    ]


def _texts(heading: str, texts: Iterable[str], width: int, inks: Inks) -> list[Line]:
    lines = [_heading(heading, inks)]
    for text in texts:
        shown = clean(text[:_LONGEST]).strip() + (" …" if len(text) > _LONGEST else "")
        lines += wrap([Segment(shown, inks("text"))], width)
    return lines if len(lines) > 1 else [*lines, _none(inks)]


def _heading(text: str, inks: Inks) -> Line:
    return Line([Segment(text, inks("dim", attributes="bold"))])


def _none(inks: Inks) -> Line:
    return Line([Segment("nothing since", inks("dim"))])

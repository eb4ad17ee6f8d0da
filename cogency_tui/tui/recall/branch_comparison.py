"""Two branches of a conversation side by side: the result of each since they parted, and its usage."""

from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import ClassVar

from rich.segment import Segment
from textual.app import ComposeResult

from cogency_tui.agent.recall.recall import Branch, Comparison
from cogency_tui.safe_text import clean, one_line
from cogency_tui.tui.kit.dialogs import STYLES, Choices, DialogBody, DialogBox, DialogTitle, ReadingScreen
from cogency_tui.tui.kit.lines import BLANK, Line, fit_path, width_of, wrap
from cogency_tui.tui.kit.number_format import dollars, plural, tokens
from cogency_tui.tui.recall.rename_export_dialogs import RECALL_STYLES
from cogency_tui.tui.recall.row_lines import UNTITLED
from cogency_tui.tui.theme_styles import ThemeStyles

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
        yield DialogBox(
            DialogTitle("Compare forks", id="comparison-title"),
            DialogBody(self._draw, id="comparison-body"),
            keys=Choices([("↑ ↓", "scroll", "scroll(1)"), ("escape", "close", "close")]),
            id="comparison",
            classes="-tall",
        )

    def on_mount(self) -> None:
        self.query_one(DialogTitle).state(plural(self._comparison.shared, "shared event"))

    def _draw(self, width: int, styles: ThemeStyles) -> list[Line]:
        return draw_comparison(self._comparison, width, styles)


def draw_comparison(comparison: Comparison, width: int, styles: ThemeStyles) -> list[Line]:
    """Draw both branches: side by side where they fit, else one below the other."""
    left, right = comparison.left, comparison.right
    if width < _BESIDE:
        sides = [_side(each, other, width, styles) for each, other in ((left, right), (right, left))]
        return [*_flat(sides[0]), BLANK, *_flat(sides[1])]
    column = (width - _GAP) // 2
    lines: list[Line] = []
    for one, other in zip(
        _side(left, right, column, styles), _side(right, left, column, styles), strict=True
    ):
        lines += [BLANK] if lines else []
        lines += [_beside(a, b, column, styles) for a, b in zip_longest(one, other, fillvalue=BLANK)]
    return lines


def _flat(parts: Sequence[list[Line]]) -> list[Line]:
    lines: list[Line] = []
    for part in parts:
        lines += [BLANK] if lines and part else []
        lines += part
    return lines


def _beside(left: Line, right: Line, column: int, styles: ThemeStyles) -> Line:
    space = Segment(" " * (column - width_of(left.segments)), styles())
    rule = Segment(" │ ", styles("rule"))
    return Line([*left.segments, space, rule, *right.segments])


def _side(branch: Branch, other: Branch, width: int, styles: ThemeStyles) -> list[list[Line]]:
    """Draw title, usage, prompts, answers and changed files, as a list of lines each."""
    title = one_line(branch.conversation.title[:300]) or UNTITLED
    dearer = " ▲ more" if branch.tokens > other.tokens else " ▼ less" if branch.tokens < other.tokens else ""
    cost = f" · {dollars(branch.cost)}" if branch.cost else ""
    took = [
        Segment(f"{tokens(branch.tokens)} tokens{cost}", styles("text")),
        Segment(dearer, styles("edit" if branch.tokens > other.tokens else "good")),
    ]
    files = [
        Line(
            [
                Segment(f"{_GLYPHS.get(kind, '~')} ", styles("edit")),
                Segment(fit_path(one_line(path), width - 2), styles("text")),
            ]
        )
        for path, kind in branch.files
    ]
    return [
        wrap([Segment(title, styles("text", attributes="bold"))], width) + wrap(took, width),
        _texts("Prompts", branch.prompts, width, styles),
        _texts("Answers", branch.answers, width, styles),
        [_heading("Files", styles), *(files or [_none(styles)])],
    ]


def _texts(heading: str, texts: Iterable[str], width: int, styles: ThemeStyles) -> list[Line]:
    lines = [_heading(heading, styles)]
    for text in texts:
        shown = clean(text[:_LONGEST]).strip() + (" …" if len(text) > _LONGEST else "")
        lines += wrap([Segment(shown, styles("text"))], width)
    return lines if len(lines) > 1 else [*lines, _none(styles)]


def _heading(text: str, styles: ThemeStyles) -> Line:
    return Line([Segment(text, styles("dim", attributes="bold"))])


def _none(styles: ThemeStyles) -> Line:
    return Line([Segment("none", styles("dim"))])

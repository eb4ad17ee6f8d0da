"""Two branches of a conversation side by side: the result of each since they parted, and its usage."""

from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import ClassVar

from rich.segment import Segment
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from cogency_tui.agent.recall.recall import Branch, Check, Comparison
from cogency_tui.safe_text import clean, one_line
from cogency_tui.tui.kit.cell_text import fit_path
from cogency_tui.tui.kit.dialogs import (
    STYLES,
    Choice,
    Choices,
    DialogBody,
    DialogBox,
    DialogTitle,
    ReadingScreen,
)
from cogency_tui.tui.kit.lines import BLANK, Line, width_of, wrap
from cogency_tui.tui.kit.number_format import dollars, duration, plural, tokens
from cogency_tui.tui.kit.typed_app import app_of
from cogency_tui.tui.recall.rename_export_dialogs import RECALL_STYLES
from cogency_tui.tui.recall.row_lines import UNTITLED
from cogency_tui.tui.theme_styles import ThemeStyles

_BESIDE = 72
"""Cells from which both are side by side."""

_GAP = 3
_LONGEST = 4000
_MOST = 200
"""Lines of a diff that are shown."""

_LAST = 20
"""Lines of the output of a check that are shown."""

_ROLES = {"+": "good", "-": "bad"}
_GLYPHS = {"created": "+", "deleted": "−", "renamed": "→"}


class ComparisonScreen(ReadingScreen[bool]):
    """Shows `comparison` under a `title`. With `names` the sides are those of a turn that was run again,
    which the user may discard: then it returns True."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("d", "discard", "Discard", id="comparison.discard", tooltip="Close the run and its copy")
    ]
    CSS_PATH: ClassVar = [STYLES, RECALL_STYLES]

    def __init__(
        self, comparison: Comparison, title: str = "Compare forks", names: tuple[str, str] | None = None
    ) -> None:
        super().__init__()
        self._comparison = comparison
        self._title = title
        self._names = names

    def compose(self) -> ComposeResult:
        discard: list[Choice] = [] if self._names is None else [("d", "discard the run", "discard")]
        yield DialogBox(
            DialogTitle(self._title, id="comparison-title"),
            DialogBody(self._draw, id="comparison-body"),
            keys=Choices([("↑ ↓", "scroll", "scroll(1)"), *discard, ("escape", "close", "close")]),
            id="comparison",
            classes="-tall" if self._names is None else "-tall -wide",
        )

    def on_mount(self) -> None:
        if shared := self._comparison.shared:
            self.query_one(DialogTitle).state(plural(shared, "shared event"))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        del parameters
        return action != "discard" or self._names is not None

    def action_discard(self) -> None:
        """Discard the run, if the user says so."""
        from cogency_tui.tui.kit.dialogs import Confirmation

        question = "Discard the run? Its copy is removed, and its conversation goes to the trash."

        def answered(yes: bool | None) -> None:
            if yes:
                self.dismiss(True)

        app_of(self).push_screen(Confirmation(question), answered)

    def _draw(self, width: int, styles: ThemeStyles) -> list[Line]:
        return draw_comparison(self._comparison, width, styles, self._names)


def draw_comparison(
    comparison: Comparison, width: int, styles: ThemeStyles, names: tuple[str, str] | None = None
) -> list[Line]:
    """Draw both branches: side by side where they fit, else one below the other. `names` are those of the
    sides of a turn that was run again."""
    one, other = names or ("", "")
    left, right = comparison.left, comparison.right
    if width < _BESIDE:
        sides = [_side(left, right, width, styles, one), _side(right, left, width, styles, other)]
        return [*_flat(sides[0]), BLANK, *_flat(sides[1])]
    column = (width - _GAP) // 2
    lines: list[Line] = []
    for ours, theirs in zip(
        _side(left, right, column, styles, one), _side(right, left, column, styles, other), strict=True
    ):
        lines += [BLANK] if lines else []
        lines += [_beside(a, b, column, styles) for a, b in zip_longest(ours, theirs, fillvalue=BLANK)]
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


def _side(branch: Branch, other: Branch, width: int, styles: ThemeStyles, name: str) -> list[list[Line]]:
    """Draw title, usage, prompts, answers and changed files, as a list of lines each; with a `name` the model
    as well, the changes themselves and the check."""
    title = one_line(branch.conversation.title[:300]) or UNTITLED
    head = [Segment(name or title, styles("text", attributes="bold"))]
    head += [Segment(f"  {one_line(branch.model)}", styles("dim"))] if name else []
    cost = f" · {dollars(branch.cost)}" if branch.cost else ""
    used = tokens(branch.tokens)
    took = _difference(
        f"{used} tokens{cost}", branch.tokens, other.tokens, styles, same=used == tokens(other.tokens)
    )
    top = wrap(head, width) + wrap(took, width)
    if not name:
        return [
            top,
            _texts("Prompts", branch.prompts, width, styles),
            _texts("Answers", branch.answers, width, styles),
            [_heading("Files", styles), *(_files(branch, width, styles) or [_none(styles)])],
        ]
    time = duration(branch.seconds)
    is_same = time == duration(other.seconds)
    top += wrap(_difference(time, branch.seconds, other.seconds, styles, same=is_same), width)
    top += wrap([Segment(_describe_calls(branch), styles("text"))], width)
    return [
        top + _check(branch.check, width, styles),
        _texts("Answers", branch.answers, width, styles),
        [_heading("Changes", styles), *(_changes(branch, width, styles) or [_none(styles)])],
        _output(branch.check, width, styles),
    ]


def _difference(text: str, amount: float, other: float, styles: ThemeStyles, *, same: bool) -> list[Segment]:
    """An amount, with a mark if it is more or less than that of the other side. Those that read the `same`
    have none."""
    mark = "" if same else " ▲ more" if amount > other else " ▼ less" if amount < other else ""
    return [
        Segment(text, styles("text")),
        Segment(mark, styles("edit" if amount > other else "good")),
    ]


def _describe_calls(branch: Branch) -> str:
    return f"{plural(branch.calls, 'call')}, {branch.failed} failed"


def _files(branch: Branch, width: int, styles: ThemeStyles) -> list[Line]:
    return [_file(path, kind, width, styles) for path, kind in branch.files]


def _file(path: str, kind: str, width: int, styles: ThemeStyles) -> Line:
    return Line(
        [
            Segment(f"{_GLYPHS.get(kind, '~')} ", styles("edit")),
            Segment(fit_path(one_line(path), width - 2), styles("text")),
        ]
    )


def _changes(branch: Branch, width: int, styles: ThemeStyles) -> list[Line]:
    """The changed files, each with its diff."""
    lines: list[Line] = []
    for (path, kind), diff in zip(branch.files, branch.diffs, strict=True):
        lines.append(_file(path, kind, width, styles))
        shown = [line for line in diff.splitlines() if not line.startswith(("--- ", "+++ "))]
        for line in shown[:_MOST]:
            role = _ROLES.get(line[:1], "dim")
            text = clean(line).expandtabs(4)
            lines += wrap([Segment(text, styles(role))], width)
        if left := len(shown) - _MOST:
            lines += [Line([Segment(f"… {plural(left, 'line')} more", styles("dim"))])] if left > 0 else []
    return lines


def _check(check: Check | None, width: int, styles: ThemeStyles) -> list[Line]:
    if check is None:
        return []
    mark, role = ("✓", "good") if check.passed else ("✗", "bad")
    text = Segment(f"{one_line(check.command)}: {one_line(check.outcome)}", styles("text"))
    return wrap([Segment(f"{mark} ", styles(role)), text], width)


def _output(check: Check | None, width: int, styles: ThemeStyles) -> list[Line]:
    """The end of the output of a check."""
    if check is None or not check.output:
        return []
    lines = [_heading("Check", styles)]
    for line in check.output.splitlines()[-_LAST:]:
        lines += wrap([Segment(clean(line).expandtabs(4), styles("dim"))], width)
    return lines


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

"""A plan as a checklist: its progress, then a line or more for each step. States differ by glyph, not only by
color. A long plan is folded around the current step."""

from collections.abc import Sequence

from rich.segment import Segment

from cogency_tui.protocol.events import PlannedStep
from cogency_tui.protocol.plan import PLAN_GLYPHS, current_step, describe_progress, is_finished
from cogency_tui.safe_text import one_line, reveal
from cogency_tui.tui.kit.cell_text import cells, fit
from cogency_tui.tui.kit.lines import Line, wrap
from cogency_tui.tui.kit.number_format import plural
from cogency_tui.tui.theme_styles import ThemeStyles
from cogency_tui.tui.transcript.pen import Pen

_MOST_STEPS, _DONE_SHOWN = 10, 2
"""Steps of a plan that are shown unfolded, and those before the current one of a longer plan."""

_MOST_ROWS = 2
"""Lines of a step that is not unfolded."""

_ROLES = {"done": "dim", "active": "text", "pending": "text", "cancelled": "dim"}
_GLYPH_ROLES = {"done": "good", "active": "running", "pending": "dim", "cancelled": "dim"}
_ATTRIBUTES = {"active": "bold", "cancelled": "strike"}


def draw_plan(plan: Sequence[PlannedStep], pen: Pen, *, folded: bool, expanded: bool) -> list[Line]:
    """Draw a plan; a `folded` one is its progress and current step, an `expanded` one is shown whole."""
    styles = pen.styles
    glyph, role = ("✓", "good") if is_finished(plan) else ("≡", "running")
    head = [Segment(f"{glyph} ", styles(role)), Segment("plan ", styles("dim"))]
    progress = describe_progress(plan) if plan else "no steps"
    if folded or not plan:
        beside = " · ".join(filter(None, (progress, one_line(current_step(plan)))))
        return [Line([*head, Segment(fit(beside, max(1, pen.width - 7)), styles("dim"))])]
    lines = [Line([*head, Segment(progress, styles("text"))])]
    return [
        *lines,
        *(line.indented(Segment("  ", styles())) for line in draw_steps(plan, pen, expanded=expanded)),
    ]


def is_shortened(plan: Sequence[PlannedStep], pen: Pen) -> bool:
    """Return whether an expanded plan shows more."""
    drawn, whole = (draw_steps(plan, pen, expanded=expanded) for expanded in (False, True))
    return len(plan) > _MOST_STEPS or len(whole) > len(drawn)


def draw_steps(plan: Sequence[PlannedStep], pen: Pen, *, expanded: bool) -> list[Line]:
    """Draw the steps of a plan, and the number of those that are folded away."""
    width, styles = max(8, pen.width - 2), pen.styles
    first, last = (0, len(plan)) if expanded else _shown(plan)
    lines: list[Line] = []
    if first:
        lines.append(_note(f"… {first} done" if _all_done(plan[:first]) else f"… {first} more", styles))
    for step in plan[first:last]:
        lines += _draw_step(step, width, styles, len(step["text"]) if expanded else _MOST_ROWS)
    if left := len(plan) - last:
        lines.append(_note(f"… {plural(left, 'more step')}", styles))
    return lines


def _draw_step(step: PlannedStep, width: int, styles: ThemeStyles, most: int) -> list[Line]:
    state = step["state"]
    attributes = "bold" if state == "active" else ""
    style = styles(_ROLES[state], attributes=_ATTRIBUTES.get(state, ""))
    text = reveal(" ".join(step["text"].split()))
    lines = wrap([Segment(text, style)], width - 2)
    if len(lines) > most:
        cut = " ".join(line.text for line in lines[most - 1 :])
        lines = [*lines[: most - 1], Line([Segment(fit(cut, width - 2), style)], lines[most - 1].joint)]
    glyph = Segment(f"{PLAN_GLYPHS[state]} ", styles(_GLYPH_ROLES[state], attributes=attributes))
    return [line.indented(Segment("  ", style) if at else glyph) for at, line in enumerate(lines)]


def _note(text: str, styles: ThemeStyles) -> Line:
    return Line([Segment(text, styles("dim"))], lead=cells(text))


def _shown(plan: Sequence[PlannedStep]) -> tuple[int, int]:
    """The first and the last of the steps that are shown of a plan: some before the current one, and as many
    after it as there is room for."""
    if len(plan) <= _MOST_STEPS:
        return 0, len(plan)
    current = next((at for at, step in enumerate(plan) if step["state"] == "active"), None)
    if current is None:
        current = next((at for at, step in enumerate(plan) if step["state"] == "pending"), len(plan))
    first = max(0, min(current - _DONE_SHOWN, len(plan) - _MOST_STEPS))
    return first, first + _MOST_STEPS


def _all_done(plan: Sequence[PlannedStep]) -> bool:
    return all(step["state"] in ("done", "cancelled") for step in plan)

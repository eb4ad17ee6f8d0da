"""Cards of the units other than answers and calls: messages, thoughts, errors, notices, interruptions."""

from rich.segment import Segment

from cogency_tui.safe_text import one_line
from cogency_tui.tui.kit.lines import Line, cells, fit, wrap
from cogency_tui.tui.kit.number_format import duration, whole_seconds
from cogency_tui.tui.theme_styles import ThemeStyles
from cogency_tui.tui.transcript.units import Notice, Problem, Prose, UserMessage

_NOTICE_LINES = 2

SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


def draw_user_message(message: UserMessage, width: int, styles: ThemeStyles) -> list[Line]:
    """Draw the user's message with its bar."""
    bar = Segment("▌ ", styles("accent"))
    text = Segment(message.text.expandtabs(4), styles("text", attributes="bold"))
    return [line.indented(bar) for line in wrap([text], width - 2)]


def draw_thought(
    thought: Prose, width: int, styles: ThemeStyles, *, expanded: bool, now: float, frame: int
) -> list[Line]:
    """Draw one dim line; with `expanded` the thoughts below it."""
    dim = styles("dim", attributes="italic")
    if thought.open:
        elapsed = whole_seconds(max(0.0, now - thought.started))
        head = [
            Segment(SPINNER[frame % len(SPINNER)], styles("accent")),
            Segment(f" Thinking…  {elapsed}", dim),
        ]
    else:
        took = f" for {duration(thought.ended - thought.started)}" if thought.ended > thought.started else ""
        cut = ", interrupted" if thought.interrupted else ""
        head = [Segment("▾ " if expanded else "▸ ", styles("dim")), Segment(f"Thought{took}{cut}", dim)]
    lines = [Line(head)]
    if expanded:
        body = Segment(thought.text.expandtabs(4), styles("dim"))
        indent = Segment("  ", styles())
        lines += [line.indented(indent) for line in wrap([body], width - 2)]
    return lines


def draw_problem(problem: Problem, width: int, styles: ThemeStyles) -> list[Line]:
    """Draw an error, and the next step below it."""
    where = [Segment(f"{one_line(problem.tool)}: ", styles("bad", attributes="bold"))] if problem.tool else []
    text = wrap([*where, Segment(problem.error, styles("text"))], width - 2)
    lines = [text[0].indented(Segment("✗ ", styles("bad", attributes="bold")))]
    lines += [line.indented(Segment("  ", styles())) for line in text[1:]]
    if problem.hint:
        hint = wrap([Segment(problem.hint, styles("dim"))], width - 4)
        lines.append(hint[0].indented(Segment("  → ", styles("accent"))))
        lines += [line.indented(Segment("    ", styles())) for line in hint[1:]]
    return lines


def draw_notice(notice: Notice, width: int, styles: ThemeStyles, *, expanded: bool) -> list[Line]:
    """Draw a notice: one dim line, or two; with `expanded` all of a longer one."""
    mark, dim = Segment("◇ ", styles("dim")), styles("dim")
    lines = _wrap_notice(notice, width, styles)
    if len(lines) > _NOTICE_LINES and not expanded:
        lines = [Line([Segment(_shorten(one_line(notice.text), width - 2), dim)])]
    first, *more = lines
    return [first.indented(mark), *(line.indented(Segment("  ", styles())) for line in more)]


def is_shortened(notice: Notice, width: int, styles: ThemeStyles) -> bool:
    """Return whether a folded notice hides part of its text."""
    return len(_wrap_notice(notice, width, styles)) > _NOTICE_LINES


def _wrap_notice(notice: Notice, width: int, styles: ThemeStyles) -> list[Line]:
    return wrap([Segment(notice.text, styles("dim"))], width - 2)


def _shorten(text: str, width: int) -> str:
    """Fit a notice into `width` cells: a long cause gives way to the decision after it."""
    cause, stop, decision = text.rpartition(". ")
    if cells(text) <= width:
        return text
    if stop and cells(cause) + 3 <= width:
        return f"{cause}. …"
    room = width - cells(decision) - 1
    return f"{fit(cause, room)} {decision}" if room > width // 3 else fit(text, width)


def draw_stopped(styles: ThemeStyles) -> list[Line]:
    """Draw the mark of an interruption."""
    return [Line([Segment("■ ", styles("edit")), Segment("Interrupted", styles("dim", attributes="italic"))])]

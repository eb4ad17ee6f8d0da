"""Cards of the units other than answers and calls: messages, thoughts, errors, notices, interruptions."""

from rich.segment import Segment

from cogency_tui.safe_text import one_line
from cogency_tui.tui.kit.lines import Line, cells, fit, wrap
from cogency_tui.tui.kit.number_format import duration, whole_seconds
from cogency_tui.tui.theme import Inks
from cogency_tui.tui.transcript.units import Notice, Problem, Prose, UserMessage

_NOTICE_LINES = 2

SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


def draw_user_message(message: UserMessage, width: int, inks: Inks) -> list[Line]:
    """Draw the user's message with its bar."""
    bar = Segment("▌ ", inks("accent"))
    text = Segment(message.text.expandtabs(4), inks("text", attributes="bold"))
    return [line.indented(bar) for line in wrap([text], width - 2)]


def draw_thought(
    thought: Prose, width: int, inks: Inks, *, expanded: bool, now: float, frame: int
) -> list[Line]:
    """Draw one dim line; with `expanded` the thoughts below it."""
    dim = inks("dim", attributes="italic")
    if thought.open:
        elapsed = whole_seconds(max(0.0, now - thought.started))
        head = [
            Segment(SPINNER[frame % len(SPINNER)], inks("accent")),
            Segment(f" Thinking…  {elapsed}", dim),
        ]
    else:
        took = f" for {duration(thought.ended - thought.started)}" if thought.ended > thought.started else ""
        cut = ", interrupted" if thought.interrupted else ""
        head = [Segment("▾ " if expanded else "▸ ", inks("dim")), Segment(f"Thought{took}{cut}", dim)]
    lines = [Line(head)]
    if expanded:
        body = Segment(thought.text.expandtabs(4), inks("dim"))
        indent = Segment("  ", inks())
        lines += [line.indented(indent) for line in wrap([body], width - 2)]
    return lines


def draw_problem(problem: Problem, width: int, inks: Inks) -> list[Line]:
    """Draw an error, and the next step below it."""
    where = [Segment(f"{one_line(problem.tool)}: ", inks("bad", attributes="bold"))] if problem.tool else []
    text = wrap([*where, Segment(problem.error, inks("text"))], width - 2)
    lines = [text[0].indented(Segment("✗ ", inks("bad", attributes="bold")))]
    lines += [line.indented(Segment("  ", inks())) for line in text[1:]]
    if problem.hint:
        hint = wrap([Segment(problem.hint, inks("dim"))], width - 4)
        lines.append(hint[0].indented(Segment("  → ", inks("accent"))))
        lines += [line.indented(Segment("    ", inks())) for line in hint[1:]]
    return lines


def draw_notice(notice: Notice, width: int, inks: Inks, *, expanded: bool) -> list[Line]:
    """Draw a notice: one dim line, or two; with `expanded` all of a longer one."""
    mark, dim = Segment("◇ ", inks("dim")), inks("dim")
    lines = _wrap_notice(notice, width, inks)
    if len(lines) > _NOTICE_LINES and not expanded:
        lines = [Line([Segment(_shorten(one_line(notice.text), width - 2), dim)])]
    first, *more = lines
    return [first.indented(mark), *(line.indented(Segment("  ", inks())) for line in more)]


def is_shortened(notice: Notice, width: int, inks: Inks) -> bool:
    """Return whether a folded notice hides part of its text."""
    return len(_wrap_notice(notice, width, inks)) > _NOTICE_LINES


def _wrap_notice(notice: Notice, width: int, inks: Inks) -> list[Line]:
    return wrap([Segment(notice.text, inks("dim"))], width - 2)


def _shorten(text: str, width: int) -> str:
    """Fit a notice into `width` cells: a long cause gives way to the decision after it."""
    cause, stop, decision = text.rpartition(". ")
    if cells(text) <= width:
        return text
    if stop and cells(cause) + 3 <= width:
        return f"{cause}. …"
    room = width - cells(decision) - 1
    return f"{fit(cause, room)} {decision}" if room > width // 3 else fit(text, width)


def draw_stopped(inks: Inks) -> list[Line]:
    """Draw the mark of an interruption."""
    return [Line([Segment("■ ", inks("edit")), Segment("Interrupted", inks("dim", attributes="italic"))])]

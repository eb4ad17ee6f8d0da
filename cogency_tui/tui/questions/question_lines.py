"""A question as lines: the effect in full, including hidden characters, and the reason for the question."""

import msgspec
from rich.segment import Segment
from textual.geometry import Size

from cogency_tui.agent.permissions.gate import Question
from cogency_tui.safe_text import fold_blanks, one_line, reveal
from cogency_tui.tui.kit.dialogs import Drawing
from cogency_tui.tui.kit.diff import draw_diff
from cogency_tui.tui.kit.lines import BLANK, Line, width_of, wrap
from cogency_tui.tui.theme_styles import ThemeStyles

BESIDE = 30
"""Cells for an answer beside its reach."""

_TALL, _HEAD, _TAIL = 16, 3, 3
"""Lines of a text that are shown unchanged; of a longer one, the first and the last shown."""

_EDITING = frozenset(("edit", "replace", "write"))
"""Our tools whose detail is a diff; the details of other tools are text, whatever their form."""

_HEADS: dict[str, tuple[str, ...]] = {
    "write": ("Allow this file change?",),
    "command": ("Run this command?",),
    "network": ("Allow ", " to access the network?"),
    "tool": ("Allow ", " to run?"),
    "money": ("", " reaches a limit"),
    "changed": ("", " changed files"),
}
"""The texts before and after the tool's name; a single one leaves the name to the subject below it."""


class Reply(msgspec.Struct, frozen=True):
    """A possible answer: its key, its label, and its `action`.

    `reach` describes its reach if it exceeds this one call.
    """

    key: str
    label: str
    action: str
    reach: str = ""


SMALLEST = Size(20, 6)
"""The smallest window in which a question is readable, with scrolling."""

TOO_SMALL = "Enlarge the window"


def draw_question(question: Question, width: int, styles: ThemeStyles) -> Drawing:
    """Draw the question, then its exact subject."""
    before, *rest = _HEADS.get(question.effect, ("Allow ", " to read files?"))
    head = [Segment("? ", styles("edit", attributes="bold")), Segment(before, styles("text"))]
    for after in rest:
        tool = Segment(one_line(question.tool), styles("text", attributes="bold"))
        head += [tool, Segment(after, styles("text"))]
    lines = wrap(head, width)
    if others := question.others():
        more = Segment(f"1 of {others + 1}", styles("dim"))
        space = width - width_of(head) - len(more.text)
        if space > 0 and len(lines) == 1:
            lines = [Line([*head, Segment(" " * space, styles()), more])]
    lines += wrap([Segment(f"Reason: {reveal(question.reason)}.", styles("dim"))], width)
    for answer in answers_to(question):
        if len(answer.reach) > width - BESIDE:
            # Beside its key it would be cut.
            what = "adds the rule" if answer.key == "A" else "allows"
            lines += wrap([Segment(f"{answer.key} {what}: {answer.reach}", styles("dim"))], width)
    detail = question.detail.rstrip("\n")
    if question.effect != "command" or not detail:
        summary = wrap([Segment(reveal(question.summary), styles("text", attributes="bold"))], width)
        lines += [BLANK, *summary]
        subject = range(len(lines) - len(summary), len(lines))
    else:
        subject = range(len(lines) + 1, len(lines) + 1)
    if not detail:
        return Drawing(lines, subject)
    if question.tool in _EDITING and question.effect != "changed":
        return Drawing([*lines, BLANK, *draw_diff(detail, width, styles)], subject)
    whole = _draw_detail(question, detail, width, styles)
    essence = _summarize(whole, width, styles)
    shown = [*lines, BLANK, *essence]
    subject = range(subject.start, len(shown))
    return Drawing(shown if essence is whole else [*shown, BLANK, *whole], subject)


def _draw_detail(question: Question, detail: str, width: int, styles: ThemeStyles) -> list[Line]:
    """Draw the full text, or the changes made."""
    if question.effect == "changed":
        return draw_diff(detail, width, styles)
    mark = "$ " if question.effect == "command" else ""
    parts = fold_blanks(mark + reveal(detail))
    return wrap([Segment(text, styles("dim" if note else "edit")) for text, note in parts], width)


def draw_too_small(width: int, styles: ThemeStyles) -> Drawing:
    """Draw the advice for a window too small for the question; there only a no is accepted."""
    lines = wrap([Segment(f"{TOO_SMALL}.", styles("text"))], width)
    return Drawing(lines, range(len(lines), len(lines) + 1))


def _summarize(whole: list[Line], width: int, styles: ThemeStyles) -> list[Line]:
    """Cut a text too long for the window to its beginning and its end."""
    between = len(whole) - _HEAD - _TAIL
    if len(whole) <= _TALL:
        return whole
    cut = wrap([Segment(f"… {between} more lines, shown in full below …", styles("dim"))], width)
    return [*whole[:_HEAD], *cut, *whole[-_TAIL:]]


def _rule_of(question: Question) -> str:
    """The rule that "always" makes, as it is stored."""
    return f'{question.effect} "{reveal(question.pattern)}"'


def answers_to(question: Question) -> list[Reply]:
    """The answers to a question: no yes wider than it offers; "always" with the rule that is stored."""
    if question.effect == "changed":
        return [Reply("y", "Keep", "answer(True, 'once')"), *refusals_of(question)]
    answers = [Reply("y", "Yes", "answer(True, 'once')")]
    if question.grant:
        answers.append(
            Reply("a", "For this conversation", "answer(True, 'conversation')", reveal(question.grant))
        )
    if question.pattern:
        answers.append(Reply("A", "Always in this project", "answer(True, 'always')", _rule_of(question)))
    return [*answers, *refusals_of(question)]


def refusals_of(question: Question) -> list[Reply]:
    """The refusals."""
    if question.effect == "changed":
        return [Reply("n", "Revert", "answer(False, 'once')")]
    return [Reply("n", "No", "answer(False, 'once')"), Reply("r", "No, and tell the agent why", "reason")]


def answers_unread(question: Question) -> list[Reply]:
    """The answers in a window that has not yet shown the whole subject of a yes."""
    return [Reply("down", "Scroll down", "scroll(1)"), *refusals_of(question)]


REASONING = (
    Reply("enter", "Decline with this reason", "refuse"),
    Reply("escape", "Back", "answer(False, 'once')"),
)
"""The answers while the user writes a reason for a no."""

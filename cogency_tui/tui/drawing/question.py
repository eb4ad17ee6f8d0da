"""A question as lines: what would happen, whole and with all that hides in it, and why it is asked."""

from typing import NamedTuple

import msgspec
from rich.segment import Segment
from textual.geometry import Size

from cogency_tui.agent.permissions import Question
from cogency_tui.text import fold_blanks, one_line, reveal
from cogency_tui.tui.drawing.diff import draw_diff
from cogency_tui.tui.drawing.lines import BLANK, Line, width_of, wrap
from cogency_tui.tui.theming import Inks

BESIDE = 30
"""Cells that an answer has before what it covers is said."""

_TALL, _HEAD, _TAIL = 16, 3, 3
"""Lines of a text that are shown as they are; of a longer one, those that come first."""

_EDITING = frozenset(("edit", "replace", "write"))
"""Tools of ours whose detail is a diff; what other tools say is text, whatever it looks like."""

_DEEDS = {
    "write": "wants to change files",
    "command": "wants to run a command",
    "network": "wants to reach the network",
    "tool": "wants to do its work",
    "money": "wants to pass a limit",
    "changed": "has changed files",
}


class Reply(msgspec.Struct, frozen=True):
    """A possible answer: the key for it, what it says, and the `action` behind it.

    `reach` says what it covers, where that is more than this once.
    """

    key: str
    label: str
    action: str
    reach: str = ""


class Drawing(NamedTuple):
    """A question as lines. `subject`: those of them that say what a yes would allow."""

    lines: list[Line]
    subject: range


SMALLEST = Size(20, 6)
"""The window in which a question can be read, if only by scrolling."""

TOO_SMALL = "Enlarge the window"


def draw_question(question: Question, width: int, inks: Inks) -> Drawing:
    """Draw what is asked, then what exactly it is about."""
    head = [
        Segment("? ", inks("edit", attributes="bold")),
        Segment(one_line(question.tool), inks("text", attributes="bold")),
        Segment(f" {_DEEDS.get(question.effect, 'wants to read')}", inks("text")),
    ]
    lines = wrap(head, width)
    if others := question.others():
        more = Segment(f"1 of {others + 1}", inks("dim"))
        space = width - width_of(head) - len(more.text)
        if space > 0 and len(lines) == 1:
            lines = [Line([*head, Segment(" " * space, inks()), more])]
    lines += wrap([Segment(f"Asked because {reveal(question.reason)}.", inks("dim"))], width)
    for answer in answers_to(question):
        if len(answer.reach) > width - BESIDE:
            # It would be cut beside its key.
            what = "the rule" if answer.key == "A" else answer.label
            lines += wrap([Segment(f"{answer.key}, {what}: {answer.reach}", inks("dim"))], width)
    detail = question.detail.rstrip("\n")
    if question.effect != "command" or not detail:
        summary = wrap([Segment(reveal(question.summary), inks("text", attributes="bold"))], width)
        lines += [BLANK, *summary]
        subject = range(len(lines) - len(summary), len(lines))
    else:
        subject = range(len(lines) + 1, len(lines) + 1)
    if not detail:
        return Drawing(lines, subject)
    if question.tool in _EDITING and question.effect != "changed":
        return Drawing([*lines, BLANK, *draw_diff(detail, width, inks)], subject)
    whole = _draw_detail(question, detail, width, inks)
    essence = _summarise(whole, width, inks)
    shown = [*lines, BLANK, *essence]
    subject = range(subject.start, len(shown))
    return Drawing(shown if essence is whole else [*shown, BLANK, *whole], subject)


def _draw_detail(question: Question, detail: str, width: int, inks: Inks) -> list[Line]:
    """Draw all of a text, or of what was changed."""
    if question.effect == "changed":
        return draw_diff(detail, width, inks)
    mark = "$ " if question.effect == "command" else ""
    parts = fold_blanks(mark + reveal(detail))
    return wrap([Segment(text, inks("dim" if note else "edit")) for text, note in parts], width)


def draw_too_small(width: int, inks: Inks) -> Drawing:
    """Draw what to do about a window that shows nothing of the question: no answer but no counts there."""
    lines = wrap([Segment(f"{TOO_SMALL}.", inks("text"))], width)
    return Drawing(lines, range(len(lines), len(lines) + 1))


def _summarise(whole: list[Line], width: int, inks: Inks) -> list[Line]:
    """Cut a text that is too long to be seen at once to its beginning and its end."""
    between = len(whole) - _HEAD - _TAIL
    if len(whole) <= _TALL:
        return whole
    cut = wrap([Segment(f"… {between} more lines; all of them below …", inks("dim"))], width)
    return [*whole[:_HEAD], *cut, *whole[-_TAIL:]]


def _rule_of(question: Question) -> str:
    """The rule that "always" makes, as it is stored."""
    return f'{question.effect} "{reveal(question.pattern)}"'


def answers_to(question: Question) -> list[Reply]:
    """The answers that a question has, no wider yes than it offers; "always" with the rule that is stored."""
    if question.effect == "changed":
        return [Reply("y", "keep", "answer(True, 'once')"), *refusals_of(question)]
    answers = [Reply("y", "once", "answer(True, 'once')")]
    if question.grant:
        answers.append(
            Reply("a", "for this conversation", "answer(True, 'conversation')", reveal(question.grant))
        )
    if question.pattern:
        answers.append(Reply("A", "always in this project", "answer(True, 'always')", _rule_of(question)))
    return [*answers, *refusals_of(question)]


def refusals_of(question: Question) -> list[Reply]:
    """The ways to say no."""
    if question.effect == "changed":
        return [Reply("n", "put back", "answer(False, 'once')")]
    return [Reply("n", "no", "answer(False, 'once')"), Reply("r", "no, with a reason", "reason")]


def answers_unread(question: Question) -> list[Reply]:
    """What one can do in a window that has not shown yet what a yes would allow."""
    return [Reply("down", "read on", "scroll(1)"), *refusals_of(question)]


REASONING = (
    Reply("enter", "no, for this reason", "refuse"),
    Reply("escape", "back", "answer(False, 'once')"),
)
"""What one can do while one writes why not."""

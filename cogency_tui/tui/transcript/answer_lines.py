"""The model's questions as lines: with their choices, and with the user's answers."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.segment import Segment
from rich.style import Style

from cogency_tui.errors import ToolError
from cogency_tui.protocol.events import AnsweredQuestion, answers_shown
from cogency_tui.safe_text import reveal
from cogency_tui.tools.ask import Ask
from cogency_tui.tools.user_questions import UserQuestion
from cogency_tui.tui.kit.cell_text import cells
from cogency_tui.tui.kit.lines import BLANK, Line, wrap
from cogency_tui.tui.theme_styles import ThemeStyles

_OWN = "Other…"
_PLAIN = Style()


def questions_of(args: Mapping[str, Any]) -> Sequence[UserQuestion]:
    """The questions in the arguments of a call that asks the user; none if these are wrong."""
    try:
        return Ask().convert(dict(args)).questions
    except ToolError:
        return ()


def draw_questions(questions: Sequence[UserQuestion], width: int, styles: ThemeStyles) -> list[Line]:
    """Draw each question, and below it its choices as they are offered."""
    lines: list[Line] = []
    for question in questions:
        lines += [BLANK] if lines else []
        lines += wrap([Segment(reveal(question.question), styles("text"))], width)
        for row in range(len(question.choices) + 1):
            lines += draw_choice(question, row, width, styles)
    return lines


def draw_choice(
    question: UserQuestion,
    row: int,
    width: int,
    styles: ThemeStyles,
    *,
    is_chosen: bool = False,
    is_at: bool = False,
    words: str = "",
    link: Style = _PLAIN,
) -> list[Line]:
    """Draw a choice of a question with its number, or what is below them: `words` of the user's own. `is_at`
    if it is under the cursor; `link` is a part of its style."""
    is_own = row == len(question.choices)
    role, attributes = ("accent" if is_at else "text"), ("bold" if is_at or is_chosen else "")
    head = [
        Segment("▸ " if is_at else "  ", styles("accent", attributes="bold") + link),
        Segment(f"{row + 1} ", styles("text", attributes="bold") + link),
    ]
    if question.several:
        head.append(Segment("[x] " if is_chosen else "[ ] ", styles("good" if is_chosen else "dim") + link))
    label = (words or _OWN) if is_own else question.choices[row].label
    text = [Segment(reveal(" ".join(label.split())), styles(role, attributes=attributes) + link)]
    if is_chosen and not question.several:
        text.append(Segment(" ✓", styles("good") + link))
    description = "" if is_own else " ".join(question.choices[row].description.split())
    if description:
        text.append(Segment(f"  {reveal(description)}", styles("dim") + link))
    size = sum(cells(each.text) for each in head)
    first, *more = wrap(text, max(8, width - size))
    indent = Segment(" " * size, styles() + link)
    joined = Line([*head, *first.segments], lead=sum(len(each.text) for each in head))
    return [joined, *(line.indented(indent) for line in more)]


def draw_answered(answers: Sequence[AnsweredQuestion], width: int, styles: ThemeStyles) -> list[Line]:
    """Draw each question, and the answers to it below."""
    return [line for each in answers for line in _draw_one(each, width, styles)]


def _draw_one(answered: AnsweredQuestion, width: int, styles: ThemeStyles) -> list[Line]:
    question = reveal(" ".join(answered["question"].split()))
    lines = wrap([Segment(question, styles("dim"))], width)
    for answer in answers_shown(answered):
        text = Segment(reveal(" ".join(answer.split())), styles("text"))
        first, *more = wrap([text], max(8, width - 2))
        lines.append(first.indented(Segment("→ ", styles("good"))))
        lines += [line.indented(Segment("  ", styles())) for line in more]
    return lines

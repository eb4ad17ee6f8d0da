"""The model's questions with the user's answers, as lines."""

from collections.abc import Sequence

from rich.segment import Segment

from cogency_tui.protocol.events import AnsweredQuestion
from cogency_tui.safe_text import reveal
from cogency_tui.tui.kit.lines import Line, wrap
from cogency_tui.tui.theme_styles import ThemeStyles


def draw_answered(answers: Sequence[AnsweredQuestion], width: int, styles: ThemeStyles) -> list[Line]:
    """Draw each question, and the answers to it below."""
    return [line for each in answers for line in _draw_one(each, width, styles)]


def _draw_one(answered: AnsweredQuestion, width: int, styles: ThemeStyles) -> list[Line]:
    question = reveal(" ".join(answered["question"].split()))
    lines = wrap([Segment(question, styles("dim"))], width)
    for answer in answered["answers"] or ["(no answer)"]:
        text = Segment(reveal(" ".join(answer.split())), styles("text"))
        first, *more = wrap([text], max(8, width - 2))
        lines.append(first.indented(Segment("→ ", styles("good"))))
        lines += [line.indented(Segment("  ", styles())) for line in more]
    return lines

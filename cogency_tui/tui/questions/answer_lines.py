"""The answers to a question, one a line: a key, its label, and its reach."""

from collections.abc import Sequence

from rich.segment import Segment
from textual import events
from textual.message import Message

from cogency_tui.safe_text import one_line
from cogency_tui.tui.kit.keys import key_name
from cogency_tui.tui.kit.line_view import LineView
from cogency_tui.tui.kit.lines import Line, fit
from cogency_tui.tui.questions.question_lines import BESIDE, Reply

_KEY = 6


class Answers(LineView):
    """Offers the answers by key and by click. While `deaf` they are dim, and keys are ignored."""

    ALLOW_SELECT = False

    class Chosen(Message):
        """The answer with this action was clicked."""

        def __init__(self, action: str) -> None:
            self.action = action
            super().__init__()

    def __init__(self, answers: Sequence[Reply], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.can_focus = False
        self.deaf = False
        self._answers = answers
        self.styles.height = len(answers)

    @property
    def count(self) -> int:
        """The number of answers."""
        return len(self._answers)

    def offer(self, answers: Sequence[Reply]) -> None:
        """Offer other answers."""
        self._answers = answers
        self.styles.height = len(answers)
        self.resize_column(len(answers))
        self.refresh()

    def accept_keys(self, *, deaf: bool) -> None:
        """Show whether keys are accepted."""
        if deaf != self.deaf:
            self.deaf = deaf
            self.refresh()

    def surface_at(self, y: int) -> str:
        return "raised"

    def line_at(self, y: int) -> Line | None:
        if y >= len(self._answers):
            return None
        answer, styles = self._answers[y], self.theme_styles
        key = styles("dim", "raised") if self.deaf else styles("accent", "raised", "bold")
        label = styles("dim" if self.deaf else "text", "raised")
        room = self.text_width - BESIDE
        reach = one_line(answer.reach)
        return Line(
            [
                Segment(key_name(answer.key).ljust(_KEY), key),
                Segment(answer.label.ljust(BESIDE - _KEY) if reach else answer.label, label),
                Segment(fit(reach, room), styles("dim", "raised")),
            ]
        )

    def on_click(self, event: events.Click) -> None:
        row = self.scroll_offset.y + event.y
        if row < len(self._answers):
            self.post_message(self.Chosen(self._answers[row].action))

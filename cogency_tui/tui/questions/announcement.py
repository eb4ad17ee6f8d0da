"""A question in one line, on a screen with keys of its own: what is asked, and the key that leads to it."""

from rich.segment import Segment
from textual.message import Message

from cogency_tui.agent.permissions.gate import Question
from cogency_tui.tui.kit.bar import Bar
from cogency_tui.tui.kit.keys import key_name
from cogency_tui.tui.kit.lines import fit, width_of
from cogency_tui.tui.questions.question_lines import RETURN, one_line_of


class Announcement(Bar):
    """Names the question and its key, which is never cut."""

    SURFACE = "surface"

    class Pressed(Message):
        """The line was clicked."""

    def __init__(self, question: Question, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._question = question

    def segments(self, width: int) -> list[Segment]:
        styles = self.theme_styles
        key = [
            Segment(f"   {key_name(RETURN.key)}", styles("text", attributes="bold")),
            Segment(f" {RETURN.label}", styles("edit")),
        ]
        text = fit(f"  ? {one_line_of(self._question)}", width - width_of(key))
        return [Segment(text, styles("edit", attributes="bold")), *key]

    def on_click(self) -> None:
        self.post_message(self.Pressed())

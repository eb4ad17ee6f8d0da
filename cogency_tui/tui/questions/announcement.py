"""A question in one line, on a screen with keys of its own: what is asked, and how to get to it."""

from collections.abc import Callable

from rich.segment import Segment
from textual.message import Message

from cogency_tui.tui.kit.bar import Bar
from cogency_tui.tui.kit.cell_text import fit
from cogency_tui.tui.kit.keys import key_name
from cogency_tui.tui.kit.lines import width_of
from cogency_tui.tui.questions.question_lines import RETURN, AnyQuestion

_FIRST = "Close this to answer"


class Announcement(Bar):
    """Names the question, and the key that leads to it or, in a dialog, what to do first: never cut."""

    SURFACE = "surface"

    class Pressed(Message):
        """The line was clicked."""

    def __init__(
        self,
        question: AnyQuestion,
        text: Callable[[], str],
        *,
        in_dialog: bool = False,
        id: str | None = None,
    ) -> None:
        """`text` returns what is asked at the moment."""
        super().__init__(id=id)
        self.question = question
        self._text = text
        self._in_dialog = in_dialog

    def segments(self, width: int) -> list[Segment]:
        styles = self.theme_styles
        key, label = ("", _FIRST) if self._in_dialog else (key_name(RETURN.key), RETURN.label)
        way = [
            Segment(f"   {key}", styles("text", attributes="bold")),
            Segment(f" {label}" if key else label, styles("edit")),
        ]
        text = fit(f"  ? {self._text()}", width - width_of(way))
        return [Segment(text, styles("edit", attributes="bold")), *way]

    def on_click(self) -> None:
        self.post_message(self.Pressed())

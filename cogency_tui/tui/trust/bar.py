"""A line above the prompt that asks whether to trust the project, and handles no typed key."""

from rich.segment import Segment

from cogency_tui.tui.kit.bar import ButtonBar, Part
from cogency_tui.tui.kit.keys import draw_key


class TrustBar(ButtonBar):
    """Takes no space until it asks."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._question = self._short = ""
        self.display = False

    @property
    def asking(self) -> bool:
        """True if the question is shown."""
        return bool(self.display)

    def ask(self, question: str, short: str) -> None:
        """Show the question, in a narrow window the `short` one."""
        self._question, self._short = question, short
        self.display = True
        self.refresh()

    def withdraw(self) -> None:
        """Withdraw the question."""
        self.display = False

    def segments(self, width: int) -> list[Segment]:
        styles = self.theme_styles
        text, dim = styles("edit", self.SURFACE), styles("dim", self.SURFACE)
        review = Part(draw_key("/trust", "to review", styles, self.SURFACE), "Review and decide", _action())
        message = Part([Segment(f"? {self._question}", text)], "Inactive until you trust it", _action(), " ")
        if message.width + review.width > width:
            short = Part([Segment(f"? {self._short}", text)], self._question, _action(), " ")
            return self.lay([short, review], width)
        later = Part([Segment("not now", dim)], "Ask again at the next start", _action("later"))
        never = Part([Segment("never ask", dim)], "Leave inactive and do not ask again", _action("never"))
        return self.lay([message, review, later, never], width)


def _action(answer: str = "") -> str:
    return f"command('trust', {answer!r})"

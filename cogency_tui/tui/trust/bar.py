"""A line above the prompt that asks whether to trust the project, and handles no typed key."""

from rich.segment import Segment

from cogency_tui.tui.kit.bar import ButtonBar, Part


class TrustBar(ButtonBar):
    """Takes no space until it asks."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._told = ""
        self.display = False

    @property
    def asking(self) -> bool:
        """Whether the question is shown."""
        return bool(self.display)

    def ask(self, told: str) -> None:
        """Show the question."""
        self._told = told
        self.display = True
        self.refresh()

    def withdraw(self) -> None:
        """Withdraw the question."""
        self.display = False

    def segments(self, width: int) -> list[Segment]:
        text, accent = self.inks("edit", self.SURFACE), self.inks("accent", self.SURFACE)
        dim = self.inks("dim", self.SURFACE)
        look = Part([Segment("/trust", accent), Segment(" shows it", dim)], "See it, and decide", _action())
        told = Part([Segment(f"? {self._told}", text)], "Nothing of it is used", _action(), " ")
        if told.width + look.width > width:
            short = Part([Segment("? .cogency/ is not used", text)], self._told, _action(), " ")
            return self.lay([short, look], width)
        later = Part([Segment("not now", dim)], "Ask when the program starts again", _action("later"))
        never = Part([Segment("never ask", dim)], "Use nothing of it here, and do not ask", _action("never"))
        return self.lay([told, look, later, never], width)


def _action(answer: str = "") -> str:
    return f"command('trust', {answer!r})"

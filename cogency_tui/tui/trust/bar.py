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
        """True if the question is shown."""
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
        look = Part([Segment("/trust", accent), Segment(" to review", dim)], "Review and decide", _action())
        told = Part([Segment(f"? {self._told}", text)], "Not used until you trust it", _action(), " ")
        if told.width + look.width > width:
            short = Part([Segment("? .cogency/ is not used", text)], self._told, _action(), " ")
            return self.lay([short, look], width)
        later = Part([Segment("not now", dim)], "Ask again at the next start", _action("later"))
        never = Part([Segment("never ask", dim)], "Do not use it and do not ask again", _action("never"))
        return self.lay([told, look, later, never], width)


def _action(answer: str = "") -> str:
    return f"command('trust', {answer!r})"

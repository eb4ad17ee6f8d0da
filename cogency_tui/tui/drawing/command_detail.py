"""The detail of a command in the background: what it is, how long it has run, and what it has written."""

from rich.segment import Segment

from cogency_tui.text import reveal
from cogency_tui.tui.call_rows import BackgroundCommand
from cogency_tui.tui.calls import GLYPHS, ROLES
from cogency_tui.tui.drawing.figures import duration, plural
from cogency_tui.tui.drawing.lines import BLANK, Line, wrap
from cogency_tui.tui.drawing.sheet import Fixed, Sheet, Stack
from cogency_tui.tui.drawing.sizes import size
from cogency_tui.tui.output import Output
from cogency_tui.tui.theming import Inks


class CommandSheet:
    """The lines of one command, `width` cells wide."""

    def __init__(self, width: int, inks: Inks) -> None:
        self.width = width
        self.inks = inks
        self.command = BackgroundCommand("", "", 0.0, 0.0, "running")
        self._output = Output()
        self._fed = ""
        self._sheet = Sheet(self._output, width, inks)
        self._stack = Stack([Fixed([]), self._sheet])

    def __len__(self) -> int:
        return len(self._stack)

    def line(self, y: int) -> Line:
        return self._stack.line(y)

    def take(self, command: BackgroundCommand, output: str, now: float) -> None:
        """This is how it stands at `now`, and all that it has written, as far as it was kept."""
        self.command = command
        if not output.startswith(self._fed):
            # The middle of a long output is not kept: what follows is no longer what comes next.
            self._output, self._fed = Output(), ""
            self._sheet = Sheet(self._output, self.width, self.inks)
        self._output.feed(output[len(self._fed) :])
        self._fed = output
        self._sheet.grow()
        self._stack = Stack([Fixed(self._head(now)), self._sheet])

    def _head(self, now: float) -> list[Line]:
        command, inks, width = self.command, self.inks, self.width
        state = command.state
        head = [
            Segment("in the background  ", inks("text", attributes="bold")),
            Segment(f"{GLYPHS[state]} {state} {duration(command.elapsed(now))}", inks(ROLES[state])),
        ]
        facts = [command.id, *([command.told] if command.told else [])]
        facts.append(f"{size(self._output.size)}, {plural(self._output.total, 'line')}")
        return [
            *wrap(head, width),
            *wrap([Segment(reveal(" · ".join(facts)), inks("dim"))], width),
            *wrap([Segment(f"$ {reveal(command.command)}", inks("edit"))], width),
            BLANK,
        ]

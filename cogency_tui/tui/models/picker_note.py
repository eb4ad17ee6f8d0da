"""The note below the lists of the picker: the pending request, its result, or the selected provider."""

from collections.abc import Callable
from time import monotonic

from rich.segment import Segment
from textual.timer import Timer

from cogency_tui.safe_text import one_line
from cogency_tui.tui.kit.lines import Line, wrap
from cogency_tui.tui.kit.list_dialog import Note
from cogency_tui.tui.kit.number_format import whole_seconds
from cogency_tui.tui.models.model import KnownProvider
from cogency_tui.tui.models.rows import draw_provider_note
from cogency_tui.tui.theme_styles import ThemeStyles
from cogency_tui.tui.transcript.messages_and_notices import draw_problem
from cogency_tui.tui.transcript.pen import SPINNER
from cogency_tui.tui.transcript.units import Problem

_TICK = 0.2
_PATIENCE = 0.5


class PickerNote(Note):
    """A provider, a pending request, its result or its problem."""

    def __init__(self, clock: Callable[[], float] = monotonic, *, id: str | None = None) -> None:
        super().__init__(self._draw_note, id=id)
        self._clock = clock
        self.provider: KnownProvider | None = None
        """What is described while there is nothing else to show."""
        self._problem: Problem | None = None
        self._result = ""
        self._asking = ""
        self._since = 0.0
        self._frame = 0
        self._ticker: Timer | None = None

    def on_mount(self) -> None:
        self._ticker = self.set_interval(_TICK, self._tick, pause=True)

    def about(self, provider: KnownProvider | None) -> None:
        """Describe this provider while there is nothing else to show."""
        self.provider = provider
        self._renew()

    def wait(self, asking: str) -> None:
        """Show a pending request; its waiting time appears after a while."""
        self._problem, self._result = None, ""
        self._asking, self._since = asking, self._clock()
        if self._ticker:
            self._ticker.resume()
        self._renew()

    def report(self, problem: Problem | None = None, result: str = "") -> None:
        """End the request, and show its result, if any."""
        self._asking, self._problem, self._result = "", problem, result
        if self._ticker:
            self._ticker.pause()
        self._renew()

    def _tick(self) -> None:
        self._frame += 1
        self._renew()

    def _renew(self) -> None:
        self.redraw()

    def _waited(self) -> float:
        """Seconds since the pending request began; 0 without one."""
        return self._clock() - self._since if self._asking else 0.0

    def _draw_note(self, width: int, styles: ThemeStyles) -> list[Line]:
        if self._problem:
            return draw_problem(self._problem, width, styles)
        if self._asking and self._waited() > _PATIENCE:
            spinner = Segment(f"{SPINNER[self._frame % len(SPINNER)]} ", styles("running"))
            text = f"{one_line(self._asking)}  {whole_seconds(self._waited())}"
            return [Line([spinner, Segment(text, styles("dim"))])]
        if self._result:
            return wrap(
                [Segment("✓ ", styles("good")), Segment(one_line(self._result), styles("text"))], width
            )
        return draw_provider_note(self.provider, width, styles) if self.provider else []

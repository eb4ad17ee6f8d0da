"""A dialog that shows a text from outside, with what is invisible in it, as far as it is drawn quickly."""

from rich.segment import Segment
from textual.app import ComposeResult

from cogency_tui.safe_text import one_line, reveal
from cogency_tui.tui.kit.dialogs import STYLES, Choices, DialogBody, DialogBox, DialogTitle, ReadingScreen
from cogency_tui.tui.kit.lines import BLANK, Line, wrap
from cogency_tui.tui.kit.number_format import plural
from cogency_tui.tui.theme_styles import ThemeStyles

_LONGEST = 256 << 10
"""Characters that are shown."""


class TextDialog(ReadingScreen[None]):
    """Shows the `text` of the file at `place`; `name` begins the ids of its widgets."""

    CSS_PATH = STYLES

    def __init__(self, name: str, title: str, place: str, text: str) -> None:
        super().__init__()
        self._scope = name
        self._heading = title
        self._place = place
        self._text = text

    def compose(self) -> ComposeResult:
        yield DialogBox(
            DialogTitle(one_line(self._heading), id=f"{self._scope}-title"),
            DialogBody(self._draw, id=f"{self._scope}-body"),
            keys=Choices([("escape", "close", "close")]),
            id=self._scope,
            classes="-wide",
        )

    def on_mount(self) -> None:
        count = len(self._text.splitlines())
        self.query_one(DialogTitle).state(f"{one_line(self._place)}, {plural(count, 'line')}")

    def _draw(self, width: int, styles: ThemeStyles) -> list[Line]:
        lines: list[Line] = []
        for line in reveal(self._text[:_LONGEST].expandtabs(4)).split("\n"):
            lines += wrap([Segment(line, styles("text"))], width) if line.strip() else [BLANK]
        if (left := len(self._text) - _LONGEST) > 0:
            lines += wrap([Segment(f"… and {plural(left, 'character')} more", styles("edit"))], width)
        return lines

"""A dialog of a block's addresses, shown in full before one of them is opened."""

from typing import ClassVar

from rich.segment import Segment
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from cogency_tui.safe_text import one_line
from cogency_tui.tui.kit.dialogs import Choice, Choices, DialogBody, DialogBox, DialogTitle, ReadingScreen
from cogency_tui.tui.kit.lines import Line, wrap
from cogency_tui.tui.kit.typed_app import app_of
from cogency_tui.tui.theme_styles import ThemeStyles

_MOST = 9


class LinksScreen(ReadingScreen[str]):
    """Returns the address to open. The first nine have a key."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open(1)", "Open the first link", id="links.open"),
        Binding("y", "copy", "Copy", id="links.copy", tooltip="Copy all links, one per line"),
        *(
            Binding(str(number), f"open({number})", f"Open {number}", show=False, id=f"links.open_{number}")
            for number in range(1, _MOST + 1)
        ),
    ]

    def __init__(self, addresses: list[str]) -> None:
        super().__init__()
        self._addresses = addresses

    def compose(self) -> ComposeResult:
        one = len(self._addresses) == 1
        choices: list[Choice] = [
            ("enter", "open" if one else "open the first", "open(1)"),
            ("y", "copy", "copy"),
            ("escape", "close", "close"),
        ]
        yield DialogBox(
            DialogTitle("Open link", id="links-title"),
            DialogBody(self._draw, id="links-body"),
            keys=Choices(choices),
            id="links",
        )

    def action_open(self, number: int) -> None:
        if number <= len(self._addresses):
            self.dismiss(self._addresses[number - 1])

    def action_copy(self) -> None:
        app_of(self).copy_to_clipboard("\n".join(self._addresses))
        self.dismiss(None)

    def _draw(self, width: int, styles: ThemeStyles) -> list[Line]:
        lines: list[Line] = []
        for number, address in enumerate(self._addresses, 1):
            key = str(number) if number <= _MOST else " "
            first, *more = wrap([Segment(one_line(address), styles("dim"))], width - 3)
            lines.append(first.indented(Segment(f"{key}  ", styles("text"))))
            lines += [line.indented(Segment("   ", styles())) for line in more]
        return lines

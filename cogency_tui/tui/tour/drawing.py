"""What an empty conversation shows in the tour: where one is, and how one goes on."""

from rich.segment import Segment

from cogency_tui.tui.drawing.lines import BLANK, Line, wrap
from cogency_tui.tui.theming import Inks

_SAID = (
    "You are in a scratch project with a small mistake in it. The model is built in: no key, no network, and "
    "no thoughts of its own, but all it does is done with the real tools.",
    "The line above the prompt says what comes next. You may as well write what you like.",
    "Nothing of it is kept, unless you say so when you leave.",
)
_KEY_COLUMN = 11
_KEYS = (
    ("F7", "writes what is suggested into the prompt"),
    ("Enter", "sends it"),
    ("Shift+F7", "goes on to the next step without it"),
    ("Ctrl+Q", "leaves"),
)


def draw_tour(width: int, inks: Inks) -> list[Line]:
    """The start text of the tour in `width` cells."""
    lines = [*wrap([Segment("A tour.", inks("text", attributes="bold"))], width), BLANK]
    for said in _SAID:
        lines += [*wrap([Segment(said, inks("text"))], width), BLANK]
    for key, meaning in _KEYS:
        lines.append(Line([Segment(key.ljust(_KEY_COLUMN), inks("accent")), Segment(meaning, inks("dim"))]))
    return lines

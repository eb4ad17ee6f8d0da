"""The tour: its steps and project, its main screen with a line above the prompt, and its welcome text.

A step is complete when its suggestion was sent.
"""

from collections.abc import Sequence
from typing import ClassVar

import msgspec
from rich.segment import Segment
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Size

from cogency_tui.tui.commands import is_command
from cogency_tui.tui.kit.bar import Bar, ButtonBar
from cogency_tui.tui.kit.cell_text import cells
from cogency_tui.tui.kit.dialogs import Confirmation
from cogency_tui.tui.kit.keys import draw_key
from cogency_tui.tui.kit.lines import BLANK, Line, width_of, wrap
from cogency_tui.tui.kit.typed_app import app_of
from cogency_tui.tui.main.screen import MainScreen
from cogency_tui.tui.prompt.prompt import Prompt
from cogency_tui.tui.prompt.prompt_and_queue import PromptBox
from cogency_tui.tui.theme_styles import ThemeStyles, theme_styles_of


class TourStep(msgspec.Struct, frozen=True):
    """A text to send, and a description of what it shows."""

    prompt: str
    shows: str


PROJECT = "shop"

FILES = {
    "README.md": "# Shop\n\nPrices with a discount. `python3 -m unittest` runs the tests.\n",
    "prices.py": (
        '"""Prices of the shop."""\n\n\ndef reduced(price: float, discount: float) -> float:\n'
        '    """The price less the discount, a share of it."""\n'
        "    return price + price * discount\n"
    ),
    "test_prices.py": (
        "import unittest\n\nfrom prices import reduced\n\n\n"
        "class Reduced(unittest.TestCase):\n"
        "    def test_a_tenth_is_taken_off(self):\n"
        "        self.assertEqual(reduced(100, 0.1), 90)\n\n\n"
        'if __name__ == "__main__":\n    unittest.main()\n'
    ),
}
"""The files of the project, one of which has a mistake."""

STEPS = (
    TourStep("explain prices.py", "Reads need no approval; each call appears here"),
    TourStep("run `python3 -m unittest`", "A command is shown in full and asks first: y runs it"),
    TourStep(
        "replace 'price + price * discount' with 'price * (1 - discount)' in prices.py",
        "An edit shows its diff and asks first: y applies it",
    ),
    TourStep("run `python3 -m unittest`", "Run the test again: y, or a for this conversation"),
    TourStep("/review", "Review each hunk: n revert, Space keep, Esc close"),
    TourStep("/undo", "Revert the changes of the last turn: y"),
    TourStep("/recall unittest", "Search everything · Esc Esc to close"),
)
"""The suggested prompts."""

LAST = "Tour complete · F2 connect a model · F1 all keys · Ctrl+Q quit"


_BAR_SHARE = 5
"""The line of the tour takes at most one of so many rows of the screen."""


class TourBar(Bar):
    """Shows the present step, in as many rows as it needs, or the end of the tour."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.step = 0
        self.is_sent = False
        self.show(0)

    def show(self, step: int, *, is_sent: bool = False) -> None:
        """Show the step with this number; `is_sent` if its prompt waits for its answer."""
        self.step, self.is_sent = step, is_sent
        tooltip = (
            LAST if step >= len(STEPS) else "" if is_sent else f"Insert the prompt: {STEPS[step].prompt}"
        )
        # Textual would parse markup in a plain string.
        self.tooltip = Content(tooltip)
        self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        del container
        return max(1, min(len(self._rows(width)), viewport.height // _BAR_SHARE))

    def row(self, y: int, width: int) -> Sequence[Segment]:
        rows = self._rows(width)
        return rows[y] if y < len(rows) else ()

    def on_click(self) -> None:
        self.post_message(ButtonBar.Pressed("tour_write"))

    def _rows(self, width: int) -> list[list[Segment]]:
        """The rows of the step: its number, what it shows, and the key at the end of the last row."""
        styles, lead = self.theme_styles, Segment(" ")
        if self.step >= len(STEPS):
            lines = wrap([Segment(LAST, styles("text", self.SURFACE))], width - 2)
            return [[lead, *line.segments] for line in lines]
        number = f" Tour {self.step + 1}/{len(STEPS)} "
        shows = Segment(STEPS[self.step].shows, styles("text", self.SURFACE))
        rows = [line.segments for line in wrap([shows], width - cells(number) - 1)]
        heads = [Segment(number, styles("dim", self.SURFACE)), Segment(" " * cells(number))]
        rows = [[heads[y > 0], *row] for y, row in enumerate(rows)]
        return [*rows[:-1], *self._with_key(rows[-1], heads[1], width)]

    def _with_key(self, row: list[Segment], indent: Segment, width: int) -> list[list[Segment]]:
        """The last row with the key while it does something: with its effect, or by itself, or in a row
        below."""
        if self.is_sent:
            return [row]
        key = draw_key("F7", "insert prompt", self.theme_styles, self.SURFACE)
        room = width - width_of(row) - 4
        if width_of(key) <= room:
            return [[*row, Segment("   "), *key]]
        if width_of(key[:1]) <= room:
            return [[*row, Segment("   "), key[0]]]
        return [row, [indent, *key]]


_PARAGRAPHS = (
    "You are in a scratch project with a small bug. The tour uses the built-in demo model: no API key, no "
    "network, fixed rules, real tools.",
    "The line above the prompt shows the next step. Or type anything you like.",
    "When you quit, you can keep the project; otherwise it is deleted.",
)
_KEY_COLUMN = 11
_KEYS = (
    ("F7", "insert the suggested prompt"),
    ("Enter", "send it"),
    ("Shift+F7", "skip to the next step"),
    ("Ctrl+Q", "quit"),
)


def draw_tour(width: int, height: int, styles: ThemeStyles) -> list[Line]:
    """Draw the tour's welcome text in `width` cells; in `height` rows at least its keys."""
    title = wrap([Segment("A short tour", styles("text", attributes="bold"))], width)
    keys = [Line(draw_key(key.ljust(_KEY_COLUMN - 1), meaning, styles)) for key, meaning in _KEYS]
    paragraphs = [wrap([Segment(each, styles("text"))], width) for each in _PARAGRAPHS]
    spaced = [line for paragraph in (title, *paragraphs) for line in (*paragraph, BLANK)]
    if len(spaced) + len(keys) <= height:
        return [*spaced, *keys]
    return [*title, *keys, *(line for paragraph in paragraphs for line in paragraph)]


class TourScreen(MainScreen):
    """The main screen during the tour. `keeps_project` is set if the project is to stay afterwards."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "f7",
            "tour_write",
            "Tour",
            priority=True,
            id="tour.write",
            tooltip="Insert the suggested prompt",
        ),
        Binding(
            "shift+f7",
            "tour_skip",
            "Skip step",
            show=False,
            priority=True,
            id="tour.skip",
            tooltip="Skip to the next step of the tour",
        ),
    ]
    MAKES_OFFERS = False
    keeps_project = False

    def compose(self) -> ComposeResult:
        for widget in super().compose():
            if isinstance(widget, PromptBox):
                yield TourBar(id="tour-bar")
            yield widget

    async def on_prompt_sent(self, event: Prompt.Sent) -> None:
        """Advance if the suggestion was sent: after a prompt's answer. The main screen sends the prompt."""
        bar = self.query_one(TourBar)
        if bar.step < len(STEPS) and event.text.split() == STEPS[bar.step].prompt.split():
            is_sent = not is_command(event.text)
            bar.show(bar.step + (not is_sent), is_sent=is_sent)

    def on_bridge_turn_changed(self) -> None:
        """Advance after the answer to a suggestion. The main screen handles the rest."""
        if self.query_one(TourBar).is_sent and not self.bridge.working:
            self.action_tour_skip()

    def action_tour_write(self) -> None:
        bar = self.query_one(TourBar)
        if bar.step < len(STEPS) and not bar.is_sent:
            prompt = self.query_one(Prompt)
            prompt.replace_text(STEPS[bar.step].prompt)
            prompt.focus()

    def action_tour_skip(self) -> None:
        bar = self.query_one(TourBar)
        bar.show(min(bar.step + 1, len(STEPS)))

    def welcome(self, width: int) -> list[Line]:
        height = self.query_one("#conversation").size.height
        return draw_tour(width, height, theme_styles_of(app_of(self).theme))

    def leave(self) -> None:
        question = "Keep the scratch project? Otherwise it is deleted. Esc returns to the tour."

        def decide(yes: bool | None) -> None:
            if yes is not None:
                self.keeps_project = yes
                app_of(self).exit()

        app_of(self).push_screen(_Leaving(question), decide)


class _Leaving(Confirmation):
    """Offers to stay as well: Escape must not remove a project."""

    BINDING_GROUP_TITLE = "Quit the tour"

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(None)", "Stay", id="tour.stay")]

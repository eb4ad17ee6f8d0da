"""The completion list above the prompt, which retains the keys and the focus.

The widget is permanent: rows are drawn in place, over the conversation, so that typing triggers a new layout
only when the number of rows changes.
"""

from collections.abc import Sequence
from operator import attrgetter
from typing import Literal, TypeAlias

from rich.segment import Segment
from textual.message import Message
from textual.widget import Widget

from cogency_tui.safe_text import one_line
from cogency_tui.tui.commands import COMMANDS, SlashCommand
from cogency_tui.tui.kit.cell_text import cells, fit
from cogency_tui.tui.kit.fuzzy import marked, marked_path
from cogency_tui.tui.kit.lines import Line
from cogency_tui.tui.kit.select_list import SelectList
from cogency_tui.tui.prompt.completion_offers import (
    Offer,
    Word,
    leaves_project,
    offer_arguments,
    offer_commands,
    offer_files,
    word_before,
)
from cogency_tui.tui.prompt.path_search import Paths
from cogency_tui.tui.theme_styles import ThemeStyles

MOST_ROWS = 8

Effect: TypeAlias = Literal["accept", "run", "send"]
"""The effect of Enter: insert the offer, run the command (with it), or send the text as it is."""

_NAME = 16
_READING = Offer("Loading files…", "")
_NOTHING = Offer("No matching files", "")


class Completion(SelectList[Offer]):
    """Offers for the word before the cursor. `update` sets the word; `take` returns the selected offer."""

    class Requested(Message):
        """Requests the project's files; `use` receives them."""

    class CommandsRequested(Message):
        """Requests the present commands when the user begins one; `know` receives them."""

    SURFACE = "raised"

    def __init__(self, commands: Sequence[SlashCommand] = COMMANDS, *, id: str | None = None) -> None:
        super().__init__(self._draw_offer, attrgetter("text"), id=id)
        self.display = False
        self._commands = commands
        self._paths: Paths | None = None
        self._asked = False
        self._room = (0, 0, 0)
        self._word: Word | None = None
        self._dismissed: Word | None = None
        self._effect: Effect | None = None

    @property
    def word(self) -> Word | None:
        """The completed word, while offers are shown."""
        return self._word if self.display else None

    def update(self, line: str, *, first: bool) -> None:
        """Set the text before the cursor, `line`; `first` marks the first line of the text."""
        word = word_before(line, first=first)
        if word is None or (
            self._dismissed and (word.kind, word.column) == (self._dismissed.kind, self._dismissed.column)
        ):
            self._hide(word)
            return
        self._dismissed = None
        if word.kind == "command" and (self._word is None or self._word.kind != "command"):
            self.post_message(self.CommandsRequested())
        self._word = word
        if word.kind == "file" and not self._asked:
            # Read again for each new file mention: the files may have changed.
            self._asked = True
            self.post_message(self.Requested())
        self._offer(word)

    def know(self, commands: Sequence[SlashCommand]) -> None:
        """Set the commands."""
        if self._commands != commands:
            self._commands = commands
            if self._word is not None and self._word.kind != "file":
                self._offer(self._word)

    def use(self, paths: Paths) -> None:
        """Set the project's files."""
        self._paths = paths
        if self._word is not None and self._word.kind == "file":
            self._offer(self._word)

    def close(self) -> None:
        """Stop offering for this word."""
        self._dismissed = self._word
        self._hide(self._word)

    def reset(self) -> None:
        """Start over for another text."""
        self._dismissed = None
        self._hide(None)

    def refit(self) -> None:
        """Adjust to a new size of the box."""
        if self.display:
            self._fit(self._room[1])

    def take(self) -> Offer | None:
        """The selected row, if it can be inserted."""
        row = self.row if self.display else None
        return row if row is not None and row.insert else None

    @property
    def effect(self) -> Effect | None:
        """The effect of Enter on the selected offer; None without one."""
        word, offer = self.word, self.take()
        if word is None or offer is None:
            return None
        # A directory is complete if nothing in it was chosen.
        is_directory = word.kind == "file" and word.query.endswith("/") and not self.selected
        if is_directory or word.text == offer.insert.strip():
            return "send" if word.kind == "file" else "run"
        # Of the first command after a mere slash nothing was chosen either.
        is_unchosen = word.kind == "command" and not (word.query or self.selected)
        return "run" if offer.whole and not is_unchosen else "accept"

    def select(self, place: int) -> None:
        super().select(place)
        self._update_keys()

    def directory_for(self, slash: str) -> Offer | None:
        """The selected directory, if `/` after the word can only mean a path inside it."""
        word, offer = self._word, self.take()
        if word is None or word.kind != "file" or slash != "/" or self._paths is None or offer is None:
            return None
        if leaves_project(f"{word.query}/"):
            return None
        return offer if offer.goes_on and not self._paths.begins(f"{word.query}/") else None

    @property
    def is_lit(self) -> bool:
        return self.row is not None and bool(self.row.insert)

    def _draw_offer(self, row: Offer, width: int, styles: ThemeStyles, on: str) -> Line:
        if not row.insert:
            return Line([Segment(one_line(row.text), styles("dim", on))])
        if row.note:
            name = fit(one_line(row.text), width)
            segments = marked(name, row.marks, 0, styles("text", on, "bold"), styles("accent", on, "bold"))
            room = width - max(_NAME, cells(name)) - 1
            gap = " " * (max(_NAME, cells(name)) - cells(name) + 1)
            note = fit(one_line(row.note), room) if room > _NAME else ""
            return Line([*segments, Segment(gap + note, styles("dim", on))])
        return Line(marked_path(row.text, row.marks, width, styles, on))

    def _offer(self, word: Word) -> None:
        rows = self._rows_for(word)
        if not rows:
            self._hide(word)
            return
        self._fit(min(MOST_ROWS, len(rows)))
        self._set_shown(True)
        self.show(rows)
        self._update_keys()

    def _fit(self, height: int) -> None:
        """Place the list above its box, with equal width."""
        box = self.parent
        assert isinstance(box, Widget)
        room = (box.outer_size.width, height, box.gutter.top)
        if room != self._room:
            self._room = room
            self.styles.width, self.styles.height = room[0], height
            self.styles.offset = (-box.gutter.left, -height - box.gutter.top)

    def _rows_for(self, word: Word) -> list[Offer]:
        if word.kind == "command":
            return offer_commands(self._commands, word.query)
        if word.kind == "argument":
            return offer_arguments(self._commands, word.command, word.query)
        if leaves_project(word.query):
            return []
        if self._paths is None:
            return [_READING]
        return offer_files(self._paths, word.query) or self._report_nothing(self._paths, word)

    def _report_nothing(self, paths: Paths, word: Word) -> list[Offer]:
        """Report that no file matches, unless there is one that is not listed."""
        return [] if paths.exists(word.query) else [_NOTHING]

    def _hide(self, word: Word | None) -> None:
        self._word = word
        if word is None or word.kind != "file":
            self._asked = False
            self._dismissed = None if word is None else self._dismissed
        self._set_shown(False)

    def _set_shown(self, shown: bool) -> None:
        if self.display != shown:
            self.display = shown
            self.refresh_bindings()

    def _update_keys(self) -> None:
        """Show the keys of the offers, whose effects may have changed."""
        if self.effect != self._effect:
            self._effect = self.effect
            self.refresh_bindings()

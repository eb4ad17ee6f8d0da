"""The text of a prompt as offsets see it: a chip in it is a single character.

The characters that stand for chips occur in no text.
"""

from textual.document._document import Location, Selection

from cogency_tui.tui.kit.cell_text import cells
from cogency_tui.tui.paste_chips import chips_in
from cogency_tui.tui.prompt.paste_area import ChipArea
from cogency_tui.tui.prompt.vim.lines import TAB, last_place, line_start, row_of
from cogency_tui.tui.prompt.vim.replacement import Replacement

_FIRST_CHIP = 0xD800
"""Surrogates: no text has them by themselves."""


class Buffer:
    """The text and the cursor of `area`."""

    def __init__(self, area: ChipArea) -> None:
        self._area = area
        self._chips: list[str] = []
        """The contents of the chips, by the number of their characters."""

    @property
    def text(self) -> str:
        return self._folded("\n".join(self._area.document.lines))

    @property
    def at(self) -> int:
        """The place of the cursor."""
        return self.place_of(self._area.cursor_location)

    def place_of(self, location: Location) -> int:
        row, column = location
        lines = self._area.document.lines
        return len(self._folded("\n".join([*lines[:row], lines[row][:column]])))

    def move(self, at: int) -> None:
        """Move the cursor, which ends a selection."""
        self._area.move_cursor(self._location(self.text, at))

    def apply(self, replacement: Replacement) -> None:
        """Replace a range, and move the cursor."""
        start, end, inserted, at = replacement
        text = self.text
        if text[start:end] != inserted:
            places = self._location(text, start), self._location(text, end)
            self._area.replace(self.unfolded(inserted), *places, maintain_selection_offset=False)
        self.move(at)

    def clamp(self, selection: Selection) -> Selection:
        """A cursor after the last character of a line moves onto it."""
        row, column = selection.end
        lines = self._area.document.lines
        if not selection.is_empty or row >= len(lines) or column < len(lines[row]):
            return selection
        line = self._folded(lines[row])
        return Selection.cursor((row, len(self.unfolded(line[: last_place(line, 0)]))))

    def unfolded(self, text: str) -> str:
        """`text` as the area shows it, with the names of its chips."""
        if not self._chips:
            return text
        pastes = {_FIRST_CHIP + number: paste for number, paste in enumerate(self._chips)}
        return "".join(self._area.fold(pastes[ord(each)]) if ord(each) in pastes else each for each in text)

    def cells(self, text: str) -> int:
        """The width of `text`."""
        return cells(self.unfolded(text).expandtabs(TAB))

    def rows(self) -> list[int]:
        """The places where the rows of the screen begin, into which long lines are wrapped."""
        starts: list[int] = []
        start = 0
        for number, line in enumerate(self._area.document.lines):
            columns = 0, *self._area.wrapped_document.get_offsets(number)
            starts += (start + self._place_in(line, column) for column in columns)
            start += len(self._folded(line)) + 1
        return starts

    def _place_in(self, line: str, column: int) -> int:
        """The place of a column in its line; in a chip that of the chip."""
        chips = chips_in(line, self._area.written.pastes)
        outside = next((start for start, end in chips if start < column < end), column)
        return len(self._folded(line[:outside]))

    def _location(self, text: str, place: int) -> Location:
        return row_of(text, place), len(self.unfolded(text[line_start(text, place) : place]))

    def _folded(self, text: str) -> str:
        """`text` with a character for each chip."""
        pastes = self._area.written.pastes
        parts: list[str] = []
        end = 0
        for start, after in chips_in(text, pastes):
            parts += [text[end:start], self._character(pastes[text[start:after]])]
            end = after
        return "".join(parts) + text[end:]

    def _character(self, paste: str) -> str:
        if paste not in self._chips:
            self._chips.append(paste)
        return chr(_FIRST_CHIP + self._chips.index(paste))

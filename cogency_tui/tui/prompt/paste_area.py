"""A text area for long text: a big paste is a chip in it, and so is an image: one character to the cursor.

Nothing is lost: `written` has the text and the contents of its chips.
"""

from dataclasses import replace

from rich.text import Text
from textual import events
from textual.document._document import Location, Selection
from textual.document._edit import Edit
from textual.message import Message
from textual.widgets.text_area import EditResult

from cogency_tui.protocol.image import Image
from cogency_tui.safe_text import clean
from cogency_tui.store.prompt_text import Written
from cogency_tui.tui.kit.edit_area import EditArea
from cogency_tui.tui.kit.typed_app import app_of
from cogency_tui.tui.paste_chips import (
    chip_for,
    chips_in,
    image_chip,
    is_big,
    reading_chip,
    with_own_chip,
)
from cogency_tui.tui.theme_styles import theme_styles_of

_UNDO_BATCHES = 1_000
"""Batches of edits that can be undone: with pauses and corrections a draft has more than Textual's 50."""


class ChipArea(EditArea):
    """Folds big pastes; `hides` means that a paste had characters that a terminal would act on."""

    class ImageOpened(Message):
        """The user asks to view the `image` of a chip."""

        def __init__(self, image: Image) -> None:
            self.image = image
            super().__init__()

    def __init__(self, *, id: str | None = None, placeholder: str = "") -> None:
        # The constructor sets the cursor, which may not be inside a chip.
        self._pastes: dict[str, str] = {}
        self._images: dict[str, Image] = {}
        self.hides = False
        super().__init__(
            id=id,
            placeholder=placeholder,
            soft_wrap=True,
            show_line_numbers=False,
            highlight_cursor_line=False,
            compact=True,
            tab_behavior="focus",
            max_checkpoints=_UNDO_BATCHES,
        )
        self.cursor_blink = False

    @property
    def written(self) -> Written:
        """The text and its chips."""
        text = self.text
        return Written(
            text,
            {chip: paste for chip, paste in self._pastes.items() if chip in text},
            images={chip: image for chip, image in self._images.items() if chip in text},
        )

    @property
    def _chips(self) -> set[str]:
        return {*self._pastes, *self._images}

    def put(self, written: Written) -> None:
        """Replace the contents by `written`, with the cursor at the end."""
        self._pastes, self._images = dict(written.pastes), dict(written.images)
        self.load_text(written.text)
        self.move_cursor(self.document.end)

    def fold(self, paste: str) -> str:
        """The chip for `paste` in this text."""
        chip = chip_for(paste, self._pastes)
        self._pastes[chip] = paste
        return chip

    def folded(self, text: str) -> str:
        """`text`, or the chip for a big one."""
        return self.fold(text) if is_big(text) else text

    def reading_chip(self, name: str, pasted: str) -> str:
        """The chip for an image that is being read; it is short for the text that was `pasted`."""
        chip = reading_chip(name, pasted, self._pastes)
        self._pastes[chip] = pasted
        return chip

    def content_of(self, chip: str) -> str:
        """The text that a chip is short for; empty for an image."""
        return self._pastes.get(chip, "")

    def find_chip(self, chip: str) -> tuple[Location, Location] | None:
        """Where the first such chip in the text begins and ends."""
        for row in range(self.document.line_count):
            for start, end in chips_in(self.document.get_line(row), {chip}):
                return (row, start), (row, end)
        return None

    def chip_of(self, image: Image) -> str:
        """The chip for `image` in this text."""
        image = with_own_chip(image, self._images)
        chip = image_chip(image)
        self._images[chip] = image
        return chip

    def get_cursor_line_start_location(self, smart_home: bool = False) -> Location:
        """The beginning of the line, as in a shell; Textual's is that of the row into which it is wrapped."""
        del smart_home
        return self.cursor_location[0], 0

    def get_cursor_line_end_location(self) -> Location:
        row = self.cursor_location[0]
        return row, len(self.document.get_line(row))

    def action_open_chip(self) -> None:
        row, column = self.cursor_location
        line = self.document.get_line(row)
        for start, end in chips_in(line, self._chips):
            if start <= column <= end and (image := self._images.get(line[start:end])) is not None:
                self.post_message(self.ImageOpened(image))
                return
            if start <= column <= end:
                content = self._pastes[line[start:end]]
                # A single step for undo, which folds the chip again.
                self.history.checkpoint()
                self.replace(content, (row, start), (row, end), maintain_selection_offset=False)
                return

    def edit(self, edit: Edit) -> EditResult:
        """Apply an edit; a chip is changed only as a whole."""
        start, end = sorted((edit.from_location, edit.to_location))
        if start != end:
            edit = replace(edit, from_location=self._outside(start, -1), to_location=self._outside(end, 1))
        return super().edit(edit)

    def undo(self) -> None:
        if self.history.undo_stack:
            # Textual reads the cursor before it restores it; by then its line may not exist.
            self.move_cursor((0, 0))
        super().undo()

    def validate_selection(self, selection: Selection) -> Selection:
        """Move the cursor out of a chip, to its beginning or end."""
        if not self._chips:
            return selection
        before = self.selection.end
        return Selection(self._beside(selection.start, before), self._beside(selection.end, before))

    def get_line(self, line_index: int) -> Text:
        line = super().get_line(line_index)
        styles = theme_styles_of(app_of(self).theme)
        for start, end in chips_in(line.plain, self._chips):
            line.stylize(styles("accent", "raised", "bold"), start, end)
        return line

    async def on_click(self, event: events.Click) -> None:
        if event.chain == 2:
            self.action_open_chip()

    def _outside(self, location: Location, side: int) -> Location:
        """`location`, or the edge on this side of the chip that contains it."""
        row, column = location
        if row >= self.document.line_count:
            # Textual deletes the last line up to the start of the line after it.
            return location
        for start, end in chips_in(self.document.get_line(row), self._chips):
            if start < column < end:
                return row, start if side < 0 else end
        return location

    def _beside(self, location: Location, before: Location) -> Location:
        row, column = location
        if row >= self.document.line_count:
            return location
        for start, end in chips_in(self.document.get_line(row), self._chips):
            if start < column < end:
                if before == (row, start):
                    return row, end
                if before == (row, end):
                    return row, start
                return row, start if column - start < end - column else end
        return location

    def pasted(self, event: events.Paste) -> str:
        """The text to insert for a paste: a chip for a big one."""
        text = clean(event.text)
        self.hides = self.hides or text != event.text.replace("\r\n", "\n").replace("\r", "\n")
        return self.folded(text)

    async def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self.replace(self.pasted(event), *self.selection, maintain_selection_offset=False)

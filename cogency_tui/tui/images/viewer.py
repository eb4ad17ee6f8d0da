"""A dialog that shows images, one at a time."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from cogency_tui.errors import CogencyError
from cogency_tui.protocol.image import Image
from cogency_tui.safe_text import one_line
from cogency_tui.tui.images.half_cells import decode, draw_half_cells
from cogency_tui.tui.images.placeholders import SharpPicture, draw_placeholders, encode
from cogency_tui.tui.kit.dialogs import (
    LOW,
    SHORT,
    Choice,
    Choices,
    DialogBody,
    DialogBox,
    DialogTitle,
    ReadingScreen,
)
from cogency_tui.tui.kit.lines import Line, wrap
from cogency_tui.tui.kit.number_format import size
from cogency_tui.tui.kit.typed_app import app_of
from cogency_tui.tui.terminal.graphics import graphics_of
from cogency_tui.tui.theme_styles import ThemeStyles

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

_FRAME, _LOW_FRAME, _SHORT_FRAME = 9, 7, 3
"""Rows of the dialog above and below the image; on a low screen, and on a short one, which it fills."""


class ImageViewer(ReadingScreen[None]):
    """Shows `images`, whose contents `read` returns; `open_outside` opens one in the desktop's program, if
    there is one."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("o", "open_outside", "Open", id="images.open", tooltip="Open in image viewer"),
        Binding("right,n", "step(1)", "Next", id="images.next", tooltip="Next image"),
        Binding("left,p", "step(-1)", "Previous", id="images.previous", tooltip="Previous image"),
    ]

    def __init__(
        self,
        images: Sequence[Image],
        read: Callable[[Image], Awaitable[bytes]],
        open_outside: Callable[[Image], Awaitable[None]] | None,
    ) -> None:
        super().__init__()
        self._images = images
        self._read = read
        self._open_outside = open_outside
        self._at = 0
        self._pictures: dict[int, Picture | SharpPicture | CogencyError] = {}
        """The pictures that are decoded, or the reason why not, by their places."""

    def compose(self) -> ComposeResult:
        choices: list[Choice] = [("escape", "close", "close")]
        if self._open_outside is not None:
            choices.insert(0, ("o", "open in image viewer", "open_outside"))
        if len(self._images) > 1:
            choices[:0] = [("right", "next", "step(1)"), ("left", "previous", "step(-1)")]
        yield DialogBox(
            DialogTitle("Image", id="image-title"),
            DialogBody(self._draw, id="image-body"),
            keys=Choices(choices),
            id="image",
            classes="-wide",
        )

    def on_mount(self) -> None:
        self._show()

    def on_unmount(self) -> None:
        self._withdraw()

    def action_step(self, step: int) -> None:
        at = max(0, min(self._at + step, len(self._images) - 1))
        if at != self._at:
            self._withdraw()
            self._at = at
            self._show()

    def _withdraw(self) -> None:
        """Have the terminal forget the present picture."""
        picture = self._pictures.get(self._at)
        if isinstance(picture, SharpPicture):
            picture.graphics.remove(picture.number)

    def action_open_outside(self) -> None:
        if self._open_outside is not None:
            self.run_worker(self._open_outside(self._images[self._at]), group="open")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "open_outside":
            return self._open_outside is not None
        if action == "step":
            return len(self._images) > 1
        return super().check_action(action, parameters)

    def _show(self) -> None:
        image, title = self._images[self._at], self.query_one(DialogTitle)
        title.rename(one_line(image["name"]))
        title.state(f"{image['width']}×{image['height']} · {size(image['size'])}")
        title.note(f"{self._at + 1} of {len(self._images)}" if len(self._images) > 1 else "")
        self.query_one(DialogBody).redraw()
        if self._at not in self._pictures:
            self.run_worker(self._load(self._at), group="image", exclusive=True)

    async def _load(self, at: int) -> None:
        image = self._images[at]
        try:
            content, name = await self._read(image), one_line(image["name"])
            if graphics := await graphics_of(app_of(self), os.environ):
                self._pictures[at] = await asyncio.to_thread(encode, content, name, graphics)
            else:
                self._pictures[at] = await asyncio.to_thread(decode, content, name)
        except CogencyError as exc:
            self._pictures[at] = exc
        self.query_one(DialogBody).redraw()

    def _draw(self, width: int, styles: ThemeStyles) -> list[Line]:
        picture = self._pictures.get(self._at)
        if picture is None:
            return [Line([Segment("Reading the image …", styles("dim"))])]
        if isinstance(picture, CogencyError):
            return wrap([Segment(picture.advice, styles("bad"))], width)
        if isinstance(picture, SharpPicture):
            return draw_placeholders(picture, width, self._rows, styles())
        return draw_half_cells(picture, width, self._rows, styles())

    @property
    def _rows(self) -> int:
        """The rows that an image may have."""
        height = self.size.height
        if height < SHORT:
            return max(1, height - _SHORT_FRAME)
        return height * 9 // 10 - (_LOW_FRAME if height < LOW else _FRAME)

"""The read-only preview of a file over the conversation, with syntax colors; Esc closes it."""

import asyncio
from typing import ClassVar

from rich.segment import Segment
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.message import Message

from cogency_tui.safe_text import one_line
from cogency_tui.tui.kit.bar import Surface
from cogency_tui.tui.kit.code import SourceColors, SourceLayout
from cogency_tui.tui.kit.file_text import Preview
from cogency_tui.tui.kit.lazy_text_layout import Fixed, LazyLayout
from cogency_tui.tui.kit.line_view import LineView
from cogency_tui.tui.kit.lines import BLANK, Line, wrap
from cogency_tui.tui.kit.number_format import plural, size
from cogency_tui.tui.kit.pane_title import PaneTitle


class PreviewLines(LineView):
    """The lines of one preview."""

    BINDING_GROUP_TITLE = "File preview"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "ask('close')", "Close", id="preview.close", tooltip="Back to the conversation"),
        Binding("o", "ask('edit')", "Edit", id="preview.edit", tooltip="Open the file in $VISUAL or $EDITOR"),
        Binding("at", "ask('mention')", "Mention", id="preview.mention"),
        Binding("up,k", "move(-1)", "Up", show=False, id="preview.up"),
        Binding("down,j", "move(1)", "Down", show=False, id="preview.down"),
        Binding("pageup", "page(-1)", "Page up", show=False, id="preview.page_up"),
        Binding("pagedown,space", "page(1)", "Page down", show=False, id="preview.page_down"),
        Binding("home,g", "move(-100000000)", "Beginning", show=False, id="preview.home"),
        Binding("end,G", "move(100000000)", "End", show=False, id="preview.end"),
    ]

    class Asked(Message):
        """Requests `close`, `edit` or `mention` for the shown file."""

        def __init__(self, what: str, path: str) -> None:
            self.what = what
            self.path = path
            super().__init__()

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._preview: Preview | None = None
        self._layout: LazyLayout | Fixed = Fixed([])
        self._drawn_for: tuple[object, ...] = ()
        self._colors: SourceColors | None = None
        self._is_reading = False

    def show(self, preview: Preview) -> None:
        """Show a file; for the same file the scroll position stays."""
        same = self._preview is not None and self._preview.path == preview.path
        self._preview, self._colors = preview, None
        self._drawn_for = ()
        self._draw()
        if not same:
            self.jump(0)

    def line_at(self, y: int) -> Line | None:
        self._draw()
        line = self._layout.line(y) if y < len(self._layout) else None
        if self._colors is not None and self._colors.is_behind and not self._is_reading:
            self._is_reading = True
            self.run_worker(self._read_on(self._colors), group="preview-colors", exclusive=True)
        return line

    async def _read_on(self, colors: SourceColors) -> None:
        """Read the colors of the lines in view, which are far below the last ones."""
        try:
            await asyncio.to_thread(colors.read_on)
        finally:
            self._is_reading = False
        if isinstance(self._layout, SourceLayout):
            self._layout.recolor()
        self.refresh()

    def on_resize(self) -> None:
        self._draw()

    def action_ask(self, what: str) -> None:
        if self._preview is not None:
            self.post_message(self.Asked(what, self._preview.path))

    def action_move(self, lines: int) -> None:
        self.jump(self.scroll_offset.y + lines)

    def action_page(self, direction: int) -> None:
        self.jump(self.scroll_offset.y + direction * max(1, self.page - 1))

    def _draw(self) -> None:
        """Lay out for the present width and theme, unless already done."""
        preview, width, styles = self._preview, self.text_width, self.theme_styles
        if preview is None or self._drawn_for == (width, styles):
            return
        self._drawn_for = (width, styles)
        if preview.problem:
            self._layout = Fixed(wrap([Segment(preview.problem, styles("dim"))], width))
        elif preview.lines.total:
            self._layout = SourceLayout(preview.lines, preview.language, width, styles, colors=self._colors)
            self._colors = self._layout.colors
        else:
            self._layout = Fixed([Line([Segment("The file is empty.", styles("dim"))]), BLANK])
        self.resize_column(len(self._layout))
        self.refresh()


class FilePreview(Surface):
    """A title and the file."""

    def compose(self) -> ComposeResult:
        yield PaneTitle("Preview", id="preview-title")
        yield PreviewLines(id="preview-lines")

    def show(self, preview: Preview) -> None:
        """Show a file."""
        facts = [one_line(preview.path)]
        if not preview.problem:
            facts += [plural(preview.lines.total, "line"), size(preview.size)]
            facts += [preview.encoding] if preview.encoding else []
        self.query_one(PaneTitle).state(" · ".join(facts))
        self.query_one(PreviewLines).show(preview)

    def on_descendant_focus(self) -> None:
        self.query_one(PaneTitle).light(True)

    def on_descendant_blur(self) -> None:
        self.query_one(PaneTitle).light(False)

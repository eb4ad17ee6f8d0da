"""A text area whose cursor stays in view."""

from textual.document._edit import Edit
from textual.widgets import TextArea
from textual.widgets.text_area import EditResult


class EditArea(TextArea):
    """Scrolls to the cursor after each edit and each change of its size.

    Textual scrolls before it counts the lines again: the cursor on a line that is new at the end would be
    below the view.
    """

    def on_resize(self) -> None:
        self.call_after_refresh(self.scroll_cursor_visible)

    def edit(self, edit: Edit) -> EditResult:
        result = super().edit(edit)
        self.scroll_cursor_visible()
        return result

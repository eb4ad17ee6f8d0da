"""The find field, in place of the pane's title, with the number of matches at its end."""

from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Input

from cogency_tui.tui.kit.bar import Bar, end_to_end
from cogency_tui.tui.kit.cell_text import fit
from cogency_tui.tui.kit.footer import Hints


def _step(key: str, step: int, id: str, *, show: bool = True) -> Binding:
    """A key to another match; of two keys for the same the footer shows one."""
    name = "Next" if step > 0 else "Previous"
    return Binding(key, f"step({step})", name, show=show, id=id, tooltip=f"{name} match")


class FindField(Input):
    """The text to find. Reports every change at once, in the order in which keys were typed."""

    BINDING_GROUP_TITLE = "Find"

    BINDINGS: ClassVar[list[BindingType]] = [
        _step("enter", 1, "find.next"),
        _step("down", 1, "find.next_down", show=False),
        _step("up", -1, "find.previous"),
        _step("shift+enter", -1, "find.previous_enter", show=False),
        _step("shift+tab", -1, "find.previous_tab", show=False),
        Binding(
            "escape",
            "close",
            "Close",
            id="find.cancel",
            tooltip="Close; returns to the start if no match was visited",
        ),
    ]

    class Stepped(Message):
        """The user asks for the next find, or with -1 the previous one."""

        def __init__(self, step: int) -> None:
            self.step = step
            super().__init__()

    class Closed(Message):
        """The user ends the search."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(placeholder="Find in the conversation", id=id)
        self.cursor_blink = False

    def key_hints(self) -> Hints:
        return Hints(("step(1)", "step(-1)", "close"))

    def action_step(self, step: int) -> None:
        self.post_message(self.Stepped(step))

    def action_close(self) -> None:
        self.post_message(self.Closed())


class FindCount(Bar):
    """Shows `3 of 17`, or that there are no matches."""

    SURFACE = "surface"

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._text = ""
        self._found = True

    def show_count(self, nth: int, total: int, query: str) -> None:
        """Show that the view is at the `nth` of `total` matches of `query`."""
        self._found = total > 0 or not query
        count = f"{nth:,} of {total:,}" if nth else f"{total:,} found"
        self._text = "" if not query else count if total else "no matches"
        self.refresh()

    def segments(self, width: int) -> list[Segment]:
        ink = self.theme_styles("dim" if self._found else "bad")
        text = Segment(fit(self._text, width - 2) + "  ", ink)
        return end_to_end([], [text], width, self.theme_styles, "surface")


class FindBar(Horizontal):
    """Composes the field and its count. Visible while a search is active."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, classes="pane-title")

    def compose(self) -> ComposeResult:
        yield FindSign(id="find-sign")
        yield FindField(id="find-field")
        yield FindCount(id="find-count")

    @property
    def query_text(self) -> str:
        """The text to find."""
        return self.query_one(FindField).value

    def begin(self) -> None:
        """Focus the field; the previous text is selected, to be replaced."""
        field = self.query_one(FindField)
        field.focus()
        field.select_all()

    def show_count(self, nth: int, total: int) -> None:
        """Show that the view is at the `nth` of `total` matches."""
        self.query_one(FindCount).show_count(nth, total, self.query_text)


class FindSign(Bar):
    """The slash before the field."""

    SURFACE = "surface"

    def segments(self, width: int) -> list[Segment]:
        return [Segment(fit("  / ", width), self.theme_styles("accent", attributes="bold"))]

    def on_click(self, event: events.Click) -> None:
        event.stop()
        self.screen.query_one(FindField).focus()

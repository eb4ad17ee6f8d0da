"""The keys of the timeline, each with an id for remapping, and the base classes of its panes.

The panes themselves bind the keys for travelling and reading: otherwise a pane would scroll on these keys.
"""

from typing import ClassVar

from textual.binding import Binding, BindingType

from cogency_tui.tui.kit.line_view import LineView


def _key(
    key: str, action: str, description: str, id: str, tooltip: str = "", *, show: bool = True
) -> Binding:
    return Binding(key, action, description, show=show, id=f"timeline.{id}", tooltip=tooltip)


TIMELINE_KEYS: list[BindingType] = [
    _key(
        "shift+left,left_square_bracket",
        "turn(-1)",
        "Turn before",
        "turn_before",
        "The turn before",
        show=False,
    ),
    _key("shift+right,right_square_bracket", "turn(1)", "Turn", "turn_after", "The next turn"),
    _key("1", "detail('messages')", "Messages", "messages", "What the model was sent", show=False),
    _key(
        "2", "detail('files')", "Files", "files", "The files as they were, and what differs today", show=False
    ),
    _key("3", "detail('costs')", "Costs", "costs", "What was taken by then", show=False),
    _key("tab", "switch", "Other pane", "switch", "Between the conversation and what is beside it"),
    _key("shift+tab", "switch", "Other pane", "switch_back", show=False),
    _key("f", "fork", "Fork", "fork", "Go on from here in a fork of the conversation"),
    _key("r", "restore", "Restore", "restore", "Have the files as they were here; it is shown first"),
    _key("u", "unrestore", "Undo restore", "unrestore", "Take the last restore back", show=False),
    _key("o,enter", "open", "Open", "open", "Show this place in the conversation"),
    _key("f1,question_mark", "help", "Help", "help", "The keys that work here"),
    _key("escape", "step_back", "Close", "step_back", "Back to the conversation"),
    _key("ctrl+t,q", "close", "Close", "close", show=False),
]

TRAVELLING_KEYS: list[BindingType] = [
    _key("left,h", "screen.event(-1)", "Earlier", "earlier", "The event before"),
    _key("right,l", "screen.event(1)", "Later", "later", "The next event"),
    _key("home", "screen.end(-1)", "First", "first", "The first event", show=False),
    _key("end", "screen.end(1)", "Last", "last", "The last event", show=False),
]

READING_KEYS: list[BindingType] = [
    _key("up,k", "line(-1)", "Up", "up", show=False),
    _key("down,j", "line(1)", "Down", "down", show=False),
    _key("pageup", "page(-1)", "Page up", "page_up", show=False),
    _key("pagedown", "page(1)", "Page down", "page_down", show=False),
    _key("g", "line(-1000000000)", "Beginning", "beginning", show=False),
    _key("G", "line(1000000000)", "End", "end", show=False),
]


class Travelled(LineView):
    """A pane with the keys for travelling in time."""

    BINDING_GROUP_TITLE = "In time"

    BINDINGS: ClassVar[list[BindingType]] = TRAVELLING_KEYS


class Read(Travelled):
    """A pane with the keys for scrolling."""

    BINDING_GROUP_TITLE = "In a pane of the timeline"

    BINDINGS: ClassVar[list[BindingType]] = READING_KEYS

    def action_line(self, step: int) -> None:
        self.scroll_lines(step)

    def action_page(self, direction: int) -> None:
        self.action_line(direction * max(1, self.page - 2))

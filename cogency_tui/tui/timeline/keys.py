"""The keys of the timeline, each with an id for remapping, and the base classes of its panes.

The panes themselves bind the keys for traveling and reading: otherwise a pane would scroll on these keys.
"""

from typing import ClassVar

from textual.binding import Binding, BindingType

from cogency_tui.tui.kit.line_view import LineView


def _key(
    key: str, action: str, description: str, id: str, tooltip: str = "", *, show: bool = True
) -> Binding:
    return Binding(key, action, description, show=show, id=f"timeline.{id}", tooltip=tooltip)


TIMELINE_KEYS: list[BindingType] = [
    _key("f", "fork", "Fork", "fork", "Fork the conversation here"),
    _key("r", "restore", "Restore", "restore", "Restore files to this point, with a preview"),
    _key("enter,o", "open", "Open", "open", "Show this point in the conversation"),
    _key("a", "again", "Rerun", "again", "Run this turn again with another model, and compare"),
    _key(
        "shift+left,left_square_bracket",
        "turn(-1)",
        "Previous turn",
        "turn_before",
        "Previous turn",
        show=False,
    ),
    _key("shift+right,right_square_bracket", "turn(1)", "Next turn", "turn_after", "Next turn"),
    _key("1", "detail('event')", "Event", "event", "The event at this point", show=False),
    _key("2", "detail('messages')", "Messages", "messages", "Messages sent to the model", show=False),
    _key("3", "detail('files')", "Files", "files", "Files at this point, and changes since", show=False),
    _key("4", "detail('costs')", "Costs", "costs", "Tokens and cost up to this point", show=False),
    _key("tab", "switch", "Pane", "switch", "Switch between the conversation and the details"),
    _key("shift+tab", "switch", "Pane", "switch_back", show=False),
    _key("u", "unrestore", "Undo restore", "unrestore", "Undo the last restore", show=False),
    _key("f1,question_mark", "help", "Help", "help", "Keys of this screen"),
    _key("escape", "step_back", "Close", "step_back", "Back to the conversation"),
    _key("ctrl+t,q", "close", "Close", "close", show=False),
]

_DETAILS = ("detail('event')", "detail('messages')", "detail('files')", "detail('costs')")

TIMELINE_HINTS = ("fork", "restore", "open", "again", "switch", *_DETAILS, "turn(1)", "step_back", "help")
"""The actions whose keys the footer shows, the most useful first."""

TRAVELING_KEYS: list[BindingType] = [
    _key("left,h", "screen.event(-1)", "Prev", "earlier", "Previous event"),
    _key("right,l", "screen.event(1)", "Next", "later", "Next event"),
    _key("home", "screen.end(-1)", "First", "first", "First event", show=False),
    _key("end", "screen.end(1)", "Last", "last", "Last event", show=False),
]

READING_KEYS: list[BindingType] = [
    _key("up,k", "line(-1)", "Up", "up", show=False),
    _key("down,j", "line(1)", "Down", "down", show=False),
    _key("pageup", "page(-1)", "Page up", "page_up", show=False),
    _key("pagedown", "page(1)", "Page down", "page_down", show=False),
    _key("g", "line(-1000000000)", "Beginning", "beginning", show=False),
    _key("G", "line(1000000000)", "End", "end", show=False),
]


class Traveled(LineView):
    """A pane with the keys for traveling in time."""

    BINDING_GROUP_TITLE = "Timeline"

    BINDINGS: ClassVar[list[BindingType]] = TRAVELING_KEYS


class Read(Traveled):
    """A pane with the keys for scrolling."""

    BINDING_GROUP_TITLE = "Timeline pane"

    BINDINGS: ClassVar[list[BindingType]] = READING_KEYS

    def action_line(self, step: int) -> None:
        self.scroll_lines(step)

    def action_page(self, direction: int) -> None:
        self.action_line(direction * max(1, self.page - 2))

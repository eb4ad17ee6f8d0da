"""The keys of the agents screen and its panes, each with an id for remapping."""

from textual.binding import Binding, BindingType


def _key(
    key: str, action: str, description: str, id: str, tooltip: str = "", *, show: bool = False
) -> Binding:
    return Binding(key, action, description, show=show, id=f"agents.{id}", tooltip=tooltip)


AGENTS_KEYS: list[BindingType] = [
    _key("1", "detail('prompt')", "Prompt", "prompt", "The first request, exactly as it was sent"),
    _key("2", "detail('messages')", "Messages", "messages", "What the agent wrote and did"),
    _key("3", "detail('cost')", "Cost", "cost", "Tokens and cost of each request"),
    _key("4", "detail('files')", "Files", "files", "The files that the agent changed"),
    _key("tab", "switch", "Other pane", "switch", "Switch between the tree and the details", show=True),
    _key("escape", "step_back", "Close", "step_back", "Clear selection, or close", show=True),
    _key("shift+tab", "switch", "Other pane", "switch_back"),
    _key("o", "locate", "Show in conversation", "locate", "Show the call in the conversation", show=True),
    _key("f5", "review", "Review", "review", "Review the changes of the agent", show=True),
    _key("f1,question_mark", "help", "Help", "help", "Keys of this screen", show=True),
    _key("q", "close", "Close", "close"),
]

TREE_KEYS: list[BindingType] = [
    _key("enter", "screen.enter", "View", "open", "View the details of the agent", show=True),
    _key("right,l", "screen.enter", "View", "open_right"),
]


def _back_key(scope: str) -> Binding:
    """The key of a pane that covers the tree."""
    return _key("escape", "screen.tree", "Back", f"{scope}.back", "Back to the tree", show=True)


def _reading_keys(scope: str) -> list[BindingType]:
    """The keys for scrolling, with ids that begin with `scope`."""
    return [
        _key("up,k", "line(-1)", "Up", f"{scope}.up"),
        _key("down,j", "line(1)", "Down", f"{scope}.down"),
        _key("pageup", "page(-1)", "Page up", f"{scope}.page_up"),
        _key("pagedown", "page(1)", "Page down", f"{scope}.page_down"),
        _key("home,g", "line(-1000000000)", "Beginning", f"{scope}.beginning"),
        _key("end,G", "line(1000000000)", "End", f"{scope}.end"),
    ]


COST_KEYS: list[BindingType] = [*_reading_keys("cost"), _back_key("cost")]

PROMPT_KEYS: list[BindingType] = [
    *_reading_keys("prompt"),
    _key("enter,space", "fold", "Expand", "fold", "Expand or collapse the message", show=True),
    _key("p", "message(-1)", "Previous", "previous_message", "Previous message"),
    _key("n", "message(1)", "Next", "next_message", "Next message"),
    _back_key("prompt"),
]

MESSAGES_KEYS: list[BindingType] = [
    _key("up,k", "line(-1)", "Up", "messages.up"),
    _key("down,j", "line(1)", "Down", "messages.down"),
    _key("pageup", "page_up", "Page up", "messages.page_up"),
    _key("pagedown", "page_down", "Page down", "messages.page_down"),
    _key("home,g", "first", "Beginning", "messages.beginning"),
    _key("end,G", "last", "Jump to end and follow output", "messages.end"),
    _key("enter,space", "expand", "Expand", "expand", "Expand or collapse the block", show=True),
    _key("left_square_bracket", "block(-1)", "Previous block", "previous_block"),
    _key("right_square_bracket", "block(1)", "Next block", "next_block"),
    _key("A", "agent", "Sub-agent", "agent", "Show the call's sub-agent", show=True),
    _key("r", "review", "Review", "review_call", "Review the call's changes"),
    _key("y", "copy", "Copy", "copy", "Copy the selection or the block", show=True),
    _back_key("messages"),
]

FILES_KEYS: list[BindingType] = [
    _key("enter", "review", "Review", "review_file", "Review the changes of the file", show=True),
    _back_key("files"),
]

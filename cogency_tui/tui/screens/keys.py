"""The keys of the main screen, each with the name that it can be given another key under."""

from textual.binding import Binding, BindingType


def _key(key: str, action: str, description: str, tooltip: str = "", *, show: bool = True) -> Binding:
    return Binding(
        key, action, description, show=show, priority=True, id=action.split("(")[0], tooltip=tooltip
    )


MAIN_KEYS: list[BindingType] = [
    _key("f1", "help", "Help", "Keys and commands"),
    _key("f3", "toggle_pane('files')", "Files", "Show or hide the files"),
    Binding(
        "f4",
        "toggle_pane('calls')",
        "Tool calls",
        priority=True,
        id="toggle_calls",
        tooltip="Show or hide the tool calls",
    ),
    _key("f6", "next_pane(1)", "Next pane", "Go to the next pane"),
    Binding(
        "shift+f6",
        "next_pane(-1)",
        "Previous pane",
        show=False,
        priority=True,
        id="previous_pane",
        tooltip="Go to the previous pane",
    ),
    _key("ctrl+o", "cycle_mode", "Mode", "How turns are run: auto, resume, replay"),
    _key("ctrl+n", "new_conversation", "New", "Begin a new conversation"),
    _key("ctrl+r", "recall", "Conversations", "Go on with a past conversation"),
    Binding(
        "shift+tab",
        "cycle_permissions",
        "Permissions",
        id="cycle_permissions",
        tooltip="What the agent may do without asking: plan, ask, edits, auto",
    ),
    Binding(
        "escape",
        "step_back",
        "Interrupt",
        id="step_back",
        tooltip="Interrupt the agent; else clear what is selected or written",
    ),
    Binding("question_mark", "help", "Help", show=False, id="help_here"),
]

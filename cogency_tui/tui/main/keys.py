"""The keys of the main screen, each with an id for remapping."""

from collections.abc import Mapping

from textual.binding import Binding, BindingType

from cogency_tui.tui.kit.keys import key_name


def _key(key: str, handler: str, description: str, tooltip: str) -> Binding:
    """A key for a command; its id for remapping is the name of the command's handler."""
    return Binding(key, f"command({handler!r})", description, priority=True, id=handler, tooltip=tooltip)


MAIN_KEYS: list[BindingType] = [
    _key("f1", "help", "Help", "Keys and commands"),
    _key("f2", "choose_model", "Model", "Model and provider"),
    Binding(
        "f3",
        "toggle_pane('files')",
        "Files",
        priority=True,
        id="toggle_pane",
        tooltip="Show or hide the files",
    ),
    Binding(
        "f4",
        "toggle_pane('calls')",
        "Tool calls",
        priority=True,
        id="toggle_calls",
        tooltip="Show or hide the tool calls",
    ),
    _key("f5", "review", "Review", "Review every edit, hunk by hunk"),
    Binding("f6", "next_pane(1)", "Next pane", priority=True, id="next_pane", tooltip="Go to the next pane"),
    Binding(
        "shift+f6",
        "next_pane(-1)",
        "Previous pane",
        show=False,
        priority=True,
        id="previous_pane",
        tooltip="Go to the previous pane",
    ),
    Binding(
        "f8",
        "maximise_pane",
        "Maximize",
        show=False,
        priority=True,
        id="maximise_pane",
        tooltip="Maximize the focused pane, or restore all panes",
    ),
    Binding(
        "alt+left",
        "resize_pane(-4)",
        "Move edge left",
        show=False,
        priority=True,
        id="resize_left",
        tooltip="Move the pane edge left",
    ),
    Binding(
        "alt+right",
        "resize_pane(4)",
        "Move edge right",
        show=False,
        priority=True,
        id="resize_right",
        tooltip="Move the pane edge right",
    ),
    _key("ctrl+o", "cycle_mode", "Session mode", "Switch the session mode: auto, resume, replay"),
    _key("ctrl+n", "new_conversation", "New", "Start a new conversation; a running one goes on"),
    Binding(
        "ctrl+f",
        "command('find')",
        "Find",
        show=False,
        priority=True,
        id="find",
        tooltip="Find in the conversation",
    ),
    _key("ctrl+r", "recall", "Recall", "Search past conversations and resume one"),
    _key("ctrl+t", "timeline", "Timeline", "Browse the conversation event by event: messages, files, costs"),
    Binding(
        "shift+tab",
        "command('cycle_permissions')",
        "Permissions",
        id="cycle_permissions",
        tooltip="Switch the permission mode: plan, ask, edits, auto",
    ),
    Binding(
        "escape",
        "step_back",
        "Interrupt",
        id="step_back",
        tooltip="Interrupt the agent, or clear the selection or the prompt; press twice to rewind",
    ),
    Binding("c", "show_call", "Tool call", show=False, id="show_call", tooltip="Show the call's details"),
    Binding("question_mark", "command('help')", "Help", show=False, id="help_here"),
]


def main_key(id: str, changed: Mapping[str, str]) -> str:
    """The name of the first key for an action of the main screen, given the user's `changed` keys; empty if
    there is none."""
    default = next(each.key for each in MAIN_KEYS if isinstance(each, Binding) and each.id == id)
    return key_name(changed.get(id, default).partition(",")[0].strip())

"""The groups of commands and keys: the command palette and the help show the same ones, in the same order."""

from typing import Any

from textual.app import App
from textual.binding import ActiveBinding
from textual.dom import DOMNode
from textual.screen import Screen

from cogency_tui.tui.commands import COMMANDS
from cogency_tui.tui.kit.typed_app import app_of

GROUPS = ("Conversation", "Review", "Model", "View", "Project", "Help", "Custom", "Skills")
"""The groups of what works everywhere."""

_GROUP_OF = {each.handler: each.group for each in COMMANDS} | {
    "find": "Conversation",
    "step_back": "Conversation",
    "copy_or_interrupt": "Conversation",
    "show_call": "Conversation",
    "cycle_mode": "Model",
    "cycle_permissions": "Model",
    "command_palette": "Help",
    "suspend": "View",
}
"""The group of a command's handler, or of the id of another binding that works everywhere."""


def group_of_id(id: str) -> str:
    """The group of the binding with this id, which works everywhere."""
    return _GROUP_OF.get(id, "View")


def group_of(each: ActiveBinding, screen: Screen[Any]) -> str:
    """The group of a binding on `screen`; a pane, and a screen other than the main one, has its own group."""
    node = each.node
    if isinstance(node, App) or node is app_of(screen).screen_stack[0]:
        return group_of_id(each.binding.id or "")
    return node.BINDING_GROUP_TITLE or ("Here" if node is not screen else _title(node))


def in_order(groups: list[str]) -> list[str]:
    """`groups` without repetition: those of the pane and the screen first, then the others in their order."""
    local = [group for group in dict.fromkeys(groups) if group not in GROUPS]
    return [*local, *(group for group in GROUPS if group in groups)]


def _title(node: DOMNode) -> str:
    return type(node).__name__.removesuffix("Screen")

"""The keys of the recall screen. In the field letters are text. In the list and the preview one alone is a
key; several in a burst are text for the field."""

from textual.binding import Binding, BindingType


def _key(
    key: str, action: str, description: str, id: str, tooltip: str = "", *, show: bool = True
) -> Binding:
    return Binding(key, action, description, show=show, id=f"recall.{id}", tooltip=tooltip)


RECALL_KEYS: list[BindingType] = [
    _key("enter", "open", "Open", "open", "Open at this match"),
    _key("slash", "search", "Search", "search", "Go to the search field"),
    _key("f1", "help", "Help", "help", "Keys of this screen"),
    _key("f", "fork", "Fork", "fork", "Fork at this match, or at the end"),
    _key("t", "timeline", "Timeline", "timeline", "Browse the conversation event by event", show=False),
    _key("n", "hit(1)", "Next match", "next_hit", "Next match in this conversation"),
    _key("N", "hit(-1)", "Previous match", "previous_hit", "Previous match in this conversation", show=False),
    _key("r", "do('rename')", "Rename", "rename", "Rename the conversation"),
    _key("d", "do('trash')", "Trash", "trash", "Move to the trash (can be restored)"),
    _key(
        "u",
        "do('undo')",
        "Undo",
        "undo",
        "Undo the last move to the trash, or show the trash; there, restore this one",
    ),
    _key("x", "do('export')", "Export", "export", "Export to Markdown, HTML or JSON Lines"),
    _key("b", "do('compare')", "Compare", "compare", "Compare a fork with its original: results and cost"),
    _key(
        "s",
        "do('statistics')",
        "Statistics",
        "statistics",
        "Usage and cost of a period",
    ),
    _key("f2", "scope", "Scope", "scope", "Where to search: this project, all projects, the team, the trash"),
    _key("f3", "order", "Sort", "order", "Sort by newest or by best match"),
    _key("f4", "preview", "Preview", "preview", "Show or hide the preview"),
    _key("escape", "back", "Close", "back", "Return to the list, clear the search, or close"),
    _key("ctrl+r", "close", "Close", "close", show=False),
    _key("question_mark", "help", "Help", "help_here", "Keys of this screen", show=False),
]

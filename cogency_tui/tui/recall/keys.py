"""The keys of the recall screen. Letters are keys in the list and the preview, and text in the field."""

from textual.binding import Binding, BindingType


def _key(
    key: str, action: str, description: str, id: str, tooltip: str = "", *, show: bool = True
) -> Binding:
    return Binding(key, action, description, show=show, id=f"recall.{id}", tooltip=tooltip)


RECALL_KEYS: list[BindingType] = [
    _key("enter", "open", "Open", "open", "Go on with the conversation, at the hit"),
    _key("slash", "search", "Search", "search", "Back to the search field"),
    _key("f1", "help", "Help", "help", "Keys that work here"),
    _key("f", "fork", "Fork", "fork", "Go on from the hit in a fork; without one, from the end"),
    _key("t", "timeline", "Timeline", "timeline", "The conversation at any of its events", show=False),
    _key("n", "hit(1)", "Next hit", "next_hit", "The next hit of this conversation"),
    _key("N", "hit(-1)", "Previous hit", "previous_hit", "The hit before", show=False),
    _key("r", "do('rename')", "Rename", "rename", "Give it another title"),
    _key("d", "do('trash')", "Trash", "trash", "Move it to the trash, which nothing is deleted from"),
    _key(
        "u",
        "do('undo')",
        "Undo",
        "undo",
        "Take back what went to the trash last; there: this one",
    ),
    _key("x", "do('export')", "Export", "export", "Write it into a file: Markdown, HTML or JSON lines"),
    _key("b", "do('compare')", "Branches", "compare", "What a fork and what it comes from came to and cost"),
    _key(
        "s",
        "do('statistics')",
        "Statistics",
        "statistics",
        "What a period came to and cost",
    ),
    _key("f2", "scope", "Scope", "scope", "Where is looked: this project, everywhere, the trash"),
    _key("f3", "order", "Order", "order", "The newest or the best first"),
    _key("f4", "preview", "Preview", "preview", "Show or hide the preview"),
    _key("escape", "back", "Close", "back", "From a preview to the list; clear the search field; else close"),
    _key("ctrl+r", "close", "Close", "close", show=False),
    _key("question_mark", "help", "Help", "help_here", "Keys that work here", show=False),
]

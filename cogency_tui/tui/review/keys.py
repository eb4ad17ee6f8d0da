"""The keys of the review, each with an id for remapping."""

from textual.binding import Binding, BindingType


def _key(
    key: str, action: str, description: str, id: str, tooltip: str = "", *, show: bool = False
) -> Binding:
    return Binding(key, action, description, show=show, id=f"review.{id}", tooltip=tooltip)


REVIEW_KEYS: list[BindingType] = [
    _key("j", "hunk(1)", "Next hunk", "next_hunk"),
    _key("k", "hunk(-1)", "Previous hunk", "previous_hunk"),
    _key("J", "file(1)", "Next file", "next_file"),
    _key("K", "file(-1)", "Previous file", "previous_file"),
    _key("y,space", "do('keep')", "Keep", "keep", "Keep the hunk; in the list, the file", show=True),
    _key("n", "do('revert')", "Revert", "revert", "Take the hunk back; in the list, the file", show=True),
    _key("N", "do('revert_file')", "Revert file", "revert_file", "Take back what the turn did to the file"),
    _key("T", "do('revert_turn')", "Revert turn", "revert_turn", "Take back all that the turn did"),
    _key("e", "do('edit')", "Edit", "edit", "Edit the lines of the hunk, and keep them so", show=True),
    _key("c", "do('comment')", "Comment", "comment", "Say something to the agent about it", show=True),
    _key("u", "do('undo')", "Undo", "undo", "Take back the last decision, whichever it was", show=True),
    _key("f1,question_mark", "help", "Help", "help", "The keys that work here", show=True),
    _key("escape", "step_back", "Close", "step_back", "Pick nothing; else close", show=True),
    _key("U", "do('redo')", "Redo", "redo", "Do again what was taken back"),
    _key(
        "x", "pick", "Pick", "pick", "Pick the hunk, or leave it: keep, revert and comment are for all picked"
    ),
    _key("v", "range", "Pick a range", "range", "Pick all hunks from this one to where you go"),
    _key("1", "do('settle_ours')", "Settle: as it is", "settle_ours", "In a conflict: what is there now"),
    _key(
        "2", "do('settle_theirs')", "Settle: as before", "settle_theirs", "In a conflict: as before the agent"
    ),
    _key("enter", "enter", "Turn", "enter", "Open a fold; else go to the call that made the hunk", show=True),
    _key("o", "do('open')", "Open", "open", "Open the file of today in $EDITOR, at the line", show=True),
    _key("Y", "do('copy')", "Copy patch", "copy", "Copy the hunk as a patch"),
    _key("s", "sides", "Sides", "sides", "Side by side, unified, or by the width", show=True),
    _key("f", "folds", "Folds", "folds", "Show all unchanged lines, or fold them"),
    _key("b", "group", "Group", "group", "The list by turn, or by file"),
    _key("tab", "switch", "Files", "switch", "Between the list and the diff", show=True),
    _key("shift+tab,left,h", "to_list", "Files", "to_list", "To the list"),
    _key("f5,q", "close", "Close", "close", "Back to the conversation"),
]


def filter_key(id: str) -> Binding:
    """The filter key of the list and of the diff: in the field it is an ordinary character."""
    return Binding(
        "slash",
        "screen.filter",
        "Filter",
        # The text typed right after it is already meant for the field.
        priority=True,
        id=id,
        tooltip="Filter the list: path, state, kind, prompt",
    )

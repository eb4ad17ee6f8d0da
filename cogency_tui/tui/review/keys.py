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
    _key("y,space", "do('keep')", "Keep", "keep", "Keep the hunk, or the file in the list", show=True),
    _key("n", "do('revert')", "Revert", "revert", "Revert the hunk, or the file in the list", show=True),
    _key("N", "do('revert_file')", "Revert file", "revert_file", "Revert the turn's changes to the file"),
    _key("T", "do('revert_turn')", "Revert turn", "revert_turn", "Revert this turn"),
    _key("escape", "step_back", "Close", "step_back", "Clear selection, or close", show=True),
    _key("e", "do('edit')", "Edit", "edit", "Edit hunk", show=True),
    _key("c", "do('comment')", "Comment", "comment", "Comment on the hunk for the agent", show=True),
    _key("u", "do('undo')", "Undo", "undo", "Undo the last decision", show=True),
    _key("f1,question_mark", "help", "Help", "help", "Keys of this screen", show=True),
    _key("U", "do('redo')", "Redo", "redo", "Redo what was undone"),
    _key(
        "L",
        "do('revert_last_edit')",
        "Revert last edit",
        "revert_last_edit",
        "Revert only the last edit of the hunk, such as a formatter's",
        show=True,
    ),
    _key("x", "pick", "Select", "pick", "Select hunk, or file in the list (y, n, c apply to the selection)"),
    _key("v", "range", "Select range", "range", "Extend the selection as you move"),
    _key("1", "do('settle_ours')", "Use current", "settle_ours", "In a conflict: use the current version"),
    _key(
        "2",
        "do('settle_theirs')",
        "Use earlier",
        "settle_theirs",
        "In a conflict: use the version before the agent's edit",
    ),
    _key(
        "enter",
        "enter",
        "Go to turn",
        "enter",
        "Expand unchanged lines, or go to the tool call",
        show=True,
    ),
    _key("o", "do('open')", "Open", "open", "Open the current file in $EDITOR at this line", show=True),
    _key("Y", "do('copy')", "Copy patch", "copy", "Copy the hunk, or the selection in this file, as a patch"),
    _key("s", "sides", "Split view", "sides", "Toggle split and unified view", show=True),
    _key("f", "folds", "Folds", "folds", "Show or hide unchanged lines"),
    _key("b", "group", "Group", "group", "Group the list by turn or by file"),
    _key("tab", "switch", "Files", "switch", "Switch between the list and the diff", show=True),
    _key("shift+tab,left,h", "to_list", "Files", "to_list", "Go to the list"),
    _key("f5,q", "close", "Close", "close", "Back to the conversation"),
]

_DECISIONS = ("do('keep')", "do('revert')", "do('undo')")
_LAST_EDIT = "do('revert_last_edit')"
_REST = ("do('open')", "pick", "screen.filter", "enter", "sides", "step_back", "help")

REVIEW_HINTS = (*_DECISIONS, _LAST_EDIT, "do('edit')", "do('comment')", "switch", *_REST)
"""The actions whose keys the footer shows, the most useful first."""

NARROW_HINTS = (
    *_DECISIONS[:2],
    "file(1)",
    _DECISIONS[2],
    _LAST_EDIT,
    "do('edit')",
    "do('comment')",
    "switch",
    *_REST,
)
"""Those where the diff covers the list of files."""


def filter_key(id: str) -> Binding:
    """The filter key of the list and of the diff: in the field it is an ordinary character."""
    return Binding(
        "slash",
        "screen.filter",
        "Filter",
        # The text typed right after it is already meant for the field.
        priority=True,
        show=False,
        id=id,
        tooltip="Filter the list: path, state, kind, prompt",
    )

"""The keys of the prompt, each with the name that it can be given another key under."""

from textual.binding import Binding, BindingType


def _quiet(key: str, action: str, description: str, name: str) -> Binding:
    """A key that the footer does not show."""
    return Binding(key, action, description, show=False, id=f"prompt.{name}")


PROMPT_KEYS: list[BindingType] = [
    Binding(
        "enter",
        "send",
        "Send",
        id="prompt.send",
        tooltip="Send the message, or queue it while one is worked on",
    ),
    _quiet("shift+enter,ctrl+j,alt+enter", "break_line", "New line", "newline"),
    _quiet("up", "earlier", "Earlier message", "earlier"),
    _quiet("down", "later", "Later message", "later"),
    _quiet("tab", "take", "Take what is offered", "take"),
    _quiet("escape", "close_offers", "Offer nothing more; leave a queued message as it is", "close_offers"),
    Binding(
        "ctrl+g",
        "edit_outside",
        "Editor",
        show=False,
        id="prompt.editor",
        tooltip="Go on in $VISUAL or $EDITOR",
    ),
    _quiet("alt+o", "open_chip", "Open the paste at the cursor", "open_chip"),
    _quiet("alt+up", "move_queued(-1)", "Move the queued message up", "queue_up"),
    _quiet("alt+down", "move_queued(1)", "Move the queued message down", "queue_down"),
    _quiet("alt+x", "remove_queued", "Remove the queued message", "queue_remove"),
    _quiet("home,ctrl+a", "cursor_line_start", "Beginning of the line", "home"),
    _quiet("end,ctrl+e", "cursor_line_end", "End of the line", "end"),
    _quiet("alt+b,ctrl+left", "cursor_word_left", "Word left", "word_left"),
    _quiet("alt+f,ctrl+right", "cursor_word_right", "Word right", "word_right"),
    _quiet("ctrl+w,alt+backspace", "delete_word_left", "Delete the word on the left", "delete_word_left"),
    _quiet("alt+d", "delete_word_right", "Delete the word on the right", "delete_word"),
    _quiet("ctrl+u", "delete_to_start_of_line", "Delete to the beginning of the line", "delete_before"),
    _quiet("ctrl+k", "delete_to_end_of_line_or_delete_line", "Delete to the end of the line", "delete_after"),
    _quiet("ctrl+underscore", "undo", "Undo", "undo"),
]

"""The prompt: several lines of text; Enter sends, the history is beyond the first and last line.

It supports the usual line-editing keys, and never loses a text: the draft returns after a visit to the
history or the queue.
"""

import asyncio
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeAlias

from msgspec.structs import replace
from rich.text import Text
from textual import events
from textual.actions import parse
from textual.binding import Binding, BindingType
from textual.document._document import Selection
from textual.document._edit import Edit
from textual.message import Message
from textual.widgets.text_area import EditResult

from cogency_tui.protocol.image import Image
from cogency_tui.safe_text import clean, reveal
from cogency_tui.store.prompt_text import Written
from cogency_tui.tui.kit.cell_text import fit_words
from cogency_tui.tui.kit.footer import Hints
from cogency_tui.tui.kit.typed_app import app_of
from cogency_tui.tui.message_queue import MessageQueue, describe_time, given_back, is_own_command
from cogency_tui.tui.paste_chips import chips_in, following, is_big
from cogency_tui.tui.prompt.paste_area import ChipArea
from cogency_tui.tui.theme_styles import theme_styles_of

if TYPE_CHECKING:
    from cogency_tui.tui.prompt.completion import Completion
    from cogency_tui.tui.prompt.completion_offers import Offer, Word
    from cogency_tui.tui.prompt.vim.editor import VimMode
    from cogency_tui.tui.prompt.vim_keys import VimKeys, VimStatus


PLACEHOLDER = "Ask, @file, /command, !shell"

_NO_IMAGES = "Images go with messages, not with commands"

_ATTACHES = re.compile(r"/image(?: .*)?")

_INSERTS = frozenset("iIoO")
"""The letters with which Vim begins to insert. The others, a and A, are answers at a question."""


def _quiet(key: str, action: str, description: str, name: str, tooltip: str = "") -> Binding:
    """A key that the footer shows only while `key_hints` names it."""
    return Binding(key, action, description, show=False, id=f"prompt.{name}", tooltip=tooltip)


PROMPT_KEYS: list[BindingType] = [
    Binding(
        "enter",
        "send",
        "Send",
        id="prompt.send",
        tooltip="Send, or queue while the agent is busy",
    ),
    _quiet("shift+enter,ctrl+j,alt+enter", "break_line", "New line", "newline"),
    _quiet("up", "earlier", "Earlier message", "earlier"),
    _quiet("down", "later", "Later message", "later"),
    _quiet("pageup", "browse('page_up')", "Scroll the conversation up by a page", "page_up"),
    _quiet("pagedown", "browse('page_down')", "Scroll the conversation down by a page", "page_down"),
    _quiet("shift+up", "select_or_scroll(-1)", "Scroll up, or select a line of the prompt", "line_up"),
    _quiet("shift+down", "select_or_scroll(1)", "Scroll down, or select a line of the prompt", "line_down"),
    _quiet("ctrl+home", "browse('first')", "Beginning of the conversation", "conversation_start"),
    _quiet("ctrl+end", "browse('last')", "Jump to end of conversation and follow output", "conversation_end"),
    _quiet("ctrl+up", "browse('message(-1)')", "Scroll to your previous message", "previous_message"),
    _quiet("ctrl+down", "browse('message(1)')", "Scroll to your next message", "next_message"),
    _quiet("tab", "take", "Accept", "take", "Accept suggestion"),
    _quiet(
        "escape",
        "close_offers",
        "Close",
        "close_offers",
        "Close suggestions, or cancel editing a queued message",
    ),
    Binding(
        "ctrl+g",
        "edit_outside",
        "Editor",
        show=False,
        id="prompt.editor",
        tooltip="Edit in $VISUAL or $EDITOR",
    ),
    _quiet("ctrl+v", "paste_image", "Paste an image", "paste_image", "Attach the image in the clipboard"),
    _quiet("alt+o", "open_chip", "Open the paste or image at the cursor", "open_chip"),
    _quiet("alt+up", "move_queued(-1)", "Move the queued message up", "queue_up"),
    _quiet("alt+down", "move_queued(1)", "Move the queued message down", "queue_down"),
    _quiet(
        "alt+t",
        "toggle_queued",
        "Send the queued message after this turn, or at the next step",
        "queue_time",
    ),
    _quiet("alt+x", "remove_queued", "Remove the queued message", "queue_remove"),
    _quiet("home,ctrl+a", "cursor_line_start", "Beginning of the line", "home"),
    _quiet("end,ctrl+e", "cursor_line_end", "End of the line", "end"),
    _quiet("alt+b,ctrl+left", "cursor_word_left", "Word left", "word_left"),
    _quiet("alt+f,ctrl+right", "cursor_word_right", "Word right", "word_right"),
    _quiet("ctrl+w,alt+backspace", "delete_word_left", "Delete the word to the left", "delete_word_left"),
    _quiet("alt+d", "delete_word_right", "Delete the word to the right", "delete_word"),
    _quiet("ctrl+u", "delete_to_start_of_line", "Delete to the beginning of the line", "delete_before"),
    _quiet("ctrl+k", "delete_to_end_of_line_or_delete_line", "Delete to the end of the line", "delete_after"),
    _quiet("ctrl+underscore", "undo", "Undo", "undo"),
]


PROMPT_PREFIXES = (
    ("!command", "Run a shell command; the agent sees its output"),
    ("@file", "Mention a file or directory, or attach an image"),
    ("/command", "Run a command"),
)
"""What text in the prompt can begin with, and its meaning, for the help."""


Attach: TypeAlias = Callable[[Path | None, str], None]
"""Reads the image in a file, or in the clipboard, to insert it in place of this chip."""


class Picker(Protocol):
    """A list beside the prompt."""

    def move(self, step: int) -> bool:
        """Move the selection; return whether there was anything to move to."""
        ...

    def take(self) -> bool:
        """Run the selected choice; return whether there was one."""
        ...

    def leave(self) -> None:
        """Select nothing."""
        ...


class Prompt(ChipArea):
    """A text to send. Its owner shows its completion and `queue` above it."""

    BINDING_GROUP_TITLE = "Prompt"

    BINDINGS: ClassVar[list[BindingType]] = PROMPT_KEYS

    class Sent(Message):
        """The user sent `written`. `hides` means that it came with invisible characters."""

        def __init__(self, written: Written, *, hides: bool = False) -> None:
            self.written = written
            self.hides = hides
            super().__init__()

        @property
        def text(self) -> str:
            """The whole text."""
            return self.written.full

    class SentEmpty(Message):
        """The user pressed Enter, and there is no text."""

    class Refused(Message):
        """The text cannot be sent, or an image attached to it, for this `reason`."""

        def __init__(self, reason: str) -> None:
            self.reason = reason
            super().__init__()

    class Noted(Message):
        """The history now ends with `written`."""

        def __init__(self, written: Written) -> None:
            self.written = written
            super().__init__()

    class Browsed(Message):
        """The user asks for this action of the conversation, which has no focus."""

        def __init__(self, action: str) -> None:
            self.action = action
            super().__init__()

    class EditorRequested(Message):
        """The user asks for an external editor."""

    class VimModeChanged(Message):
        """The mode of Vim's keys or their incomplete command changed, or (None) the keys are off."""

        def __init__(self, status: "VimStatus | None") -> None:
            self.status: VimStatus | None = status
            super().__init__()

    _vim: "VimKeys | None" = None
    """Vim's keys, while they are on. The constructor of Textual already asks for them."""

    def __init__(self, queue: MessageQueue, *, id: str | None = None) -> None:
        super().__init__(id=id, placeholder=PLACEHOLDER)
        self._completion: Completion | None = None
        self._is_typed_into = False
        self._picker: Picker | None = None
        self._read_images: Attach | None = None
        self._awaited: list[str] = []
        """The chips in place of images that are being read."""
        self._sends_when_read = False
        """True if the user has sent the text while an image for it was being read."""
        self._queue = queue
        self._history: list[Written] = []
        self._place = 0
        self._draft = Written("")
        self._edited: dict[int, Written] = {}
        """Messages of the history as they were edited since the last one was sent, by their places."""

    @property
    def unsent(self) -> Written:
        """The text to save: the present one, or the draft left for the history or the queue."""
        if self._queue.held is not None:
            return self._draft
        walking = self._place < len(self._history)
        return self._draft if walking and self._draft.text.strip() else self.written

    @property
    def entries(self) -> Sequence[Written]:
        """The history, the oldest first."""
        return self._history

    def remember(self, history: Sequence[Written]) -> None:
        """Insert `history`, the oldest first, before the entries since, with which it may overlap."""
        known = len(self._history)
        self._history = following(history, self._history)
        added = len(self._history) - known
        self._place += added
        self._edited = {place + added: written for place, written in self._edited.items()}

    def recall(self, messages: Sequence[Written]) -> None:
        """Append the messages of a resumed conversation to the history."""
        entries = {message.text: message for message in messages if message.text.strip()}
        known = {entry.full: entry for entry in self._history if entry.full in entries}
        others = [entry for entry in self._history if entry.full not in entries]
        self._history = [*others, *({**entries, **known}).values()]
        self._place = len(self._history)
        self._edited = {}

    def note(self, written: Written) -> None:
        """Append `written` to the history, and have it stored."""
        if self.append(written):
            self.post_message(self.Noted(written))

    def append(self, written: Written) -> bool:
        """Append `written` to the history; return False if it is empty, or the last entry already."""
        is_new = bool(written.text.strip()) and (not self._history or self._history[-1] != written)
        if is_new:
            self._history.append(written)
        self._place = len(self._history)
        return is_new

    @property
    def vim_mode(self) -> "VimMode | None":
        """Vim's mode; None while its keys are off."""
        return None if self._vim is None else self._vim.mode

    @property
    def takes_escape(self) -> bool:
        """True if Esc leaves Vim's insert mode, or cancels editing a queued message."""
        return self.has_focus and (self.vim_mode == "insert" or self._queue.held is not None)

    def use_vim(self, *, on: bool) -> None:
        """Turn Vim's keys on or off."""
        if on == (self._vim is not None):
            return
        from cogency_tui.tui.prompt.vim_keys import VimKeys

        self._vim = VimKeys(self) if on else None
        self.show_mode()

    def show_mode(self) -> None:
        """Show Vim's mode by the cursor, and with an incomplete command to the owner."""
        self.set_class(self.vim_mode == "normal", "-normal-mode")
        self.refresh_bindings()
        # In the prompt's own task: a message that the app's begins would not reach the app.
        self.call_later(self._report_mode)

    def _report_mode(self) -> None:
        self.post_message(self.VimModeChanged(None if self._vim is None else self._vim.status))

    def claims(self, key: str) -> bool:
        """Return whether a key of the screen is the prompt's now."""
        return self._vim is not None and self._vim.claims(key)

    def walk(self, step: int) -> None:
        """Go on in the text, or to a later or earlier message; where there is none, the cursor stays."""
        if self._goes_within(step):
            (self.action_cursor_down if step > 0 else self.action_cursor_up)()
            return
        at, text = self.cursor_location, self.text
        (self.action_later if step > 0 else self.action_earlier)()
        if self.text == text:
            self.move_cursor(at)

    def put(self, written: Written) -> None:
        super().put(written)
        # Another text: the one that was to be sent with an image is not there any more.
        self._sends_when_read = False
        self._leave_picker()
        self.end_offers()
        if self._vim is not None:
            self._vim.start_over()

    def replace_text(self, text: str) -> None:
        """Replace the contents by `text`, with the cursor at the end."""
        self.put(Written(text))

    def mention(self, path: str) -> None:
        """Insert a mention of the file or directory `path` at the cursor, and focus the prompt."""
        from cogency_tui.tui.prompt.completion_offers import mention

        self._append()
        self.insert(mention(path))
        self.focus()

    def clear_draft(self) -> Written:
        """Empty the prompt, and append its contents to the history."""
        written = self.written
        self.note(written)
        self.start_over()
        return written

    def start_over(self) -> None:
        """Empty the prompt for another text."""
        self._draft = Written("")
        self.put(Written(""))
        # As in a shell, each text begins in insert mode.
        self._append()

    def end_edit(self) -> None:
        """Put a queued message that is being edited back in its place, and return to the draft."""
        if self._queue.held is not None:
            self._note_edited(self._queue.held)
            self._release(self.written)

    def _note_edited(self, place: int) -> None:
        """Append the message at `place` of the queue to the history, if it was changed."""
        if self.written != self._queue.messages[place]:
            self.note(self.written)

    def restore_unsent(self, unsent: list[Written]) -> list[Written]:
        """Put unsent messages before the draft; shell commands among them go to the end of the history."""
        if not unsent:
            return []
        text, commands = given_back(unsent, self.written)
        for command in commands:
            self.note(command)
        self.put(text)
        return commands

    def take(self, event: events.Key | events.Paste, *, as_text: bool = True) -> bool:
        """Handle input typed elsewhere, after all input before it; return whether it is the prompt's.

        With Vim's keys a letter is inserted where `as_text`, else it is what the mode makes of it.
        """
        if isinstance(event, events.Paste):
            return self.post_message(events.Paste(event.text))
        is_vim = event.key == "escape" and self.vim_mode == "insert"
        is_own = is_vim or event.is_printable or bool(self.binds(event.key))
        if self._vim is not None and event.is_printable and as_text:
            self.call_later(self._vim.append)
        return is_own and self.post_message(events.Key(event.key, event.character))

    def begin(self, event: events.Key | events.Paste) -> bool:
        """Handle input typed at a question, as `take` does: it begins a text, unless there is one, or it is
        the letter with which Vim begins one."""
        inserts = isinstance(event, events.Key) and self.vim_mode == "normal" and event.character in _INSERTS
        return self.take(event, as_text=not (self.text or inserts))

    def show_typing(self, *, on: bool) -> None:
        """Show the cursor although a question has the focus: what is typed comes here."""
        if on != self._is_typed_into:
            self._is_typed_into = on
            # Textual expects the cursor to change only with the focus, which restyles.
            self.notify_style_update()
            self.refresh()

    @property
    def _draw_cursor(self) -> bool:
        return self._is_typed_into or super()._draw_cursor

    def action_send(self) -> None:
        if self._completes():
            return
        if self._awaits_image:
            self._sends_when_read = True
            return
        written = self.written
        written = replace(written, text=written.text.strip())
        if written.images and not self._takes_images:
            self.post_message(self.Refused(f"{_NO_IMAGES}: remove {next(iter(written.images))}."))
            return
        if command := self._image_command(written):
            self._run_behind_images(written, command)
            return
        if self._queue.held is not None:
            self.end_edit()
            return
        if not written.text:
            if self._picker is None or not self._picker.take():
                self.post_message(self.SentEmpty())
            return
        hides, self.hides = self.hides or reveal(written.full) != written.full, False
        self.note(written)
        self._edited = {}
        self.start_over()
        self.post_message(self.Sent(written, hides=hides))

    def _image_command(self, written: Written) -> str:
        """The command at the end of a text that has nothing before it but images, which attaches one more;
        empty if there is none."""
        at = 0
        for start, end in chips_in(written.text, written.images):
            if written.text[at:start].strip():
                break
            at = end
        command = written.text[at:].strip()
        return command if at and _ATTACHES.fullmatch(command) else ""

    def _run_behind_images(self, written: Written, command: str) -> None:
        """Run a command, and leave the images before it in the prompt."""
        before = written.text.removesuffix(command)
        self.note(Written(command))
        self.put(replace(written, text=before))
        self.post_message(self.Sent(Written(command)))

    def action_break_line(self) -> None:
        self._append()
        self.insert("\n")

    def attach_with(self, attach: "Attach") -> None:
        """Have images read by `attach`, which answers by `put_image` or `give_back`."""
        self._read_images = attach

    def attach(self, path: Path | None = None, *, text: str = "") -> None:
        """Insert a chip at the cursor, and in its place the image of a file, or the one in the clipboard, as
        soon as it is read; `text` was pasted, and returns if there is none."""
        if self._read_images is not None:
            chip = self.reading_chip(path.name if path else "clipboard", text)
            self._awaited.append(chip)
            self._insert_after_space(f"{chip} ")
            self._read_images(path, chip)

    def put_image(self, chip: str, image: Image) -> None:
        """Replace the `chip` of an image that was being read by that of `image`, unless it was removed; send
        the text if the user has done so meanwhile."""
        self._awaited.remove(chip)
        sends, self._sends_when_read = self._sends_when_read, False
        if place := self.find_chip(chip):
            self.replace(self.chip_of(image), *place)
        if sends:
            self.action_send()

    def give_back(self, chip: str, text: str = "") -> None:
        """Replace the `chip` of an image that cannot be read by the text that was pasted, or by `text`."""
        self._awaited.remove(chip)
        self._sends_when_read = False
        if place := self.find_chip(chip):
            (row, start), (_, end) = place
            pasted = self.content_of(chip)
            following = self.document.get_line(row)[end : end + 1] == " "
            self.replace(pasted or self.folded(text), (row, start), (row, end + (following and not pasted)))

    @property
    def _awaits_image(self) -> bool:
        """True while an image is being read for the text."""
        return any(self.find_chip(chip) for chip in self._awaited)

    def _insert_after_space(self, text: str) -> None:
        """Insert text at the cursor, separated from what is before it."""
        self._append()
        row, column = self.cursor_location
        before = self.document.get_line(row)[:column]
        self.insert(f" {text}" if before and not before[-1].isspace() else text)

    @property
    def _takes_images(self) -> bool:
        """True if images can go with the text."""
        from cogency_tui.tui.commands import takes_images

        return takes_images(self.text.strip())

    def action_paste_image(self) -> None:
        if self._takes_images:
            self.attach()
        elif app_of(self).clipboard:
            self.action_paste()
        else:
            self.post_message(self.Refused(f"{_NO_IMAGES}."))

    def pick_from(self, picker: "Picker") -> None:
        """Move and take the selection of `picker` by the keys of an empty prompt."""
        self._picker = picker

    def _leave_picker(self) -> None:
        """Select nothing beside the prompt: Enter sends its text again, whatever is typed right after it."""
        if self._picker is not None:
            self._picker.leave()

    def _picks(self, step: int) -> bool:
        """Move the selection of the picker if the prompt is empty; return whether it has one."""
        at_draft = self._place == len(self._history) and self._queue.held is None
        return not self.text and at_draft and self._picker is not None and self._picker.move(step)

    def action_earlier(self) -> None:
        if self._picks(-1):
            return
        if self._completion is not None and self._word is not None:
            self._completion.move(-1)
        elif self._goes_within(-1):
            self.action_cursor_up()
        elif self._queue.held is not None:
            self._walk_queue(self._queue.held - 1)
        elif self._place == len(self._history) and len(self._queue):
            self._draft = self.written
            self.put(self._queue.hold(len(self._queue) - 1))
        elif self._place:
            self._visit(self._place - 1)
        else:
            self.action_cursor_up()

    def action_later(self) -> None:
        if self._picks(1):
            return
        if self._completion is not None and self._word is not None:
            self._completion.move(1)
        elif self._goes_within(1):
            self.action_cursor_down()
        elif self._queue.held is not None:
            self._walk_queue(self._queue.held + 1)
        elif self._place < len(self._history):
            self._visit(self._place + 1)
        else:
            self.action_cursor_down()

    def _visit(self, place: int) -> None:
        """Go to another message of the history, or to the draft; each stays as it was edited."""
        if self._place == len(self._history):
            self._draft = self.written
        else:
            self._edited[self._place] = self.written
        self._place = place
        at_draft = place == len(self._history)
        self.put(self._draft if at_draft else self._edited.get(place, self._history[place]))

    def action_browse(self, action: str) -> None:
        self.post_message(self.Browsed(action))

    def action_select_or_scroll(self, step: int) -> None:
        """Extend the selection by a line; where there is no line to select, scroll the conversation."""
        if not self.selection.is_empty or self._has_line(step):
            (self.action_cursor_up if step < 0 else self.action_cursor_down)(select=True)
        else:
            self.action_browse(f"line({step})")

    def edit_queued(self, place: int) -> None:
        """Bring the message at `place` of the queue back for editing."""
        if self._queue.held is not None:
            self._walk_queue(place)
        elif place < len(self._queue):
            self._draft = self.written
            self._place = len(self._history)
            self.put(self._queue.hold(place))

    def action_move_queued(self, step: int) -> None:
        if self._queue.held is not None:
            self._queue.move(self._queue.held, step)

    def action_toggle_queued(self) -> None:
        queue, place = self._queue, self._queue.held
        if place is None:
            return
        if self._can_toggle_time:
            queue.toggle_time(place)
        elif (first := queue.first_after_turn(place)) == place:
            self.notify("A ! command goes after the turn.", markup=False)
        elif first is not None:
            text = f"This message waits behind {first + 1}, which goes after the turn."
            self.notify(f"{text} Alt+↑ moves it up.", markup=False)

    @property
    def _can_toggle_time(self) -> bool:
        """True if a message is edited that can go at the next step, or after the turn."""
        return self._queue.held is not None and self._queue.can_toggle_time(self._queue.held)

    def action_remove_queued(self) -> None:
        if self._queue.held is not None:
            self.note(self.written)
            self._release(Written(""))

    def action_take(self) -> None:
        offer, word = self._offered, self._word
        if offer is None or word is None:
            return
        row, column = self.cursor_location
        following = self.document.get_line(row)[column : column + 1]
        doubled = following == " " and offer.insert.endswith(" ")
        insert = offer.insert[:-1] if doubled else offer.insert
        self.replace(insert, (row, word.column), (row, column), maintain_selection_offset=False)
        if doubled:
            self.move_cursor_relative(columns=1)

    def action_close_offers(self) -> None:
        if self._completion is not None and self._word is not None:
            self._completion.close()
        elif self._queue.held is not None:
            self._release(self._queue.messages[self._queue.held])

    def action_edit_outside(self) -> None:
        self.post_message(self.EditorRequested())

    def key_hints(self) -> Hints:
        """The keys of open offers, or of a queued message that is edited; else Enter once there is something
        to send."""
        effect = None if self._completion is None else self._completion.effect
        if effect is not None:
            # Tab accepts, too.
            actions = ("send", "close_offers") if effect == "accept" else ("send", "take", "close_offers")
            return Hints(actions, alone=True)
        if self._queue.held is not None:
            time = ("toggle_queued",) if self._can_toggle_time else ()
            return Hints(("send", "close_offers", *time, "remove_queued"))
        return Hints(("send",) if self.text.strip() else ())

    def key_label(self, action: str) -> str:
        effect = None if self._completion is None else self._completion.effect
        if effect is not None or self._queue.held is None:
            return effect or "" if action == "send" else ""
        saving = "save" if self.text.strip() else "remove"
        return {
            "send": saving,
            "close_offers": "cancel",
            "remove_queued": "remove",
            "toggle_queued": describe_time(at_step=self._queue.is_put_off(self._queue.held)),
        }.get(action, "")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "take":
            return self._offered is not None
        if action == "close_offers":
            return self._word is not None or self._queue.held is not None
        if action in ("move_queued", "remove_queued"):
            return self._queue.held is not None
        if action == "toggle_queued":
            return self._queue.held is not None and self._queue.in_turn
        return super().check_action(action, parameters)

    def edit(self, edit: Edit) -> EditResult:
        if self._sends_when_read:
            # What is typed after Enter is not part of the message.
            self._sends_when_read = False
            self.post_message(self.Refused("Not sent: an image was still being read. Press Enter again."))
        result = super().edit(edit)
        self._leave_picker()
        self._offer()
        return result

    def get_line(self, line_index: int) -> Text:
        line = super().get_line(line_index)
        if not line_index and is_own_command(line.plain):
            line.stylize(theme_styles_of(app_of(self).theme)("edit", "raised", "bold"), 0, 1)
        return line

    def validate_selection(self, selection: Selection) -> Selection:
        selection = super().validate_selection(selection)
        return selection if self._vim is None else self._vim.clamp(selection)

    def on_text_area_selection_changed(self) -> None:
        if self._word is not None:
            self._offer()

    def on_resize(self) -> None:
        self.placeholder = fit_words(PLACEHOLDER, self.content_size.width)

    def on_focus(self) -> None:
        if self._vim is not None:
            self.show_mode()

    def on_blur(self) -> None:
        self.end_offers()
        if self._vim is not None:
            self.show_mode()

    def complete_with(self, completion: "Completion") -> None:
        """Offer completions from now on, also for the present text."""
        self._completion = completion
        self._offer()

    @property
    def _word(self) -> "Word | None":
        """The completed word, while offers are shown."""
        return None if self._completion is None else self._completion.word

    @property
    def _offered(self) -> "Offer | None":
        """The selected offer."""
        return None if self._completion is None else self._completion.take()

    def _has_line(self, step: int) -> bool:
        """Return whether there is a line, as it is wrapped, above or below the cursor."""
        wrapped = self.wrapped_document
        return 0 <= wrapped.location_to_offset(self.cursor_location).y + step < wrapped.height

    def _goes_within(self, step: int) -> bool:
        """Return whether the cursor goes up or down in the text; in a message of the history by lines, not
        by the rows into which they are wrapped."""
        if self._place < len(self._history) and self.written == self._history[self._place]:
            return not (self.cursor_at_last_line if step > 0 else self.cursor_at_first_line)
        return self._has_line(step)

    def _offer(self) -> None:
        if self._completion is not None and self.vim_mode in (None, "insert"):
            row, column = self.cursor_location
            self._completion.update(self.document.get_line(row)[:column], first=not row)

    def end_offers(self) -> None:
        """Stop offering completions for the present word."""
        if self._completion is not None:
            self._completion.reset()

    def _completes(self) -> bool:
        """Insert the selected offer, if the word is incomplete; return whether more is to be written."""
        effect = None if self._completion is None else self._completion.effect
        if effect in ("accept", "run"):
            self.action_take()
        return effect == "accept"

    def _walk_queue(self, place: int) -> None:
        """Put the edited message back, and edit the one at `place`, or the draft."""
        if place < 0:
            return
        if self._queue.held is not None:
            self._note_edited(self._queue.held)
        if message := self._queue.hold_instead(place, self.written):
            self.put(message)
        else:
            self._return_to_draft()

    def _release(self, written: Written) -> None:
        self._return_to_draft()
        self._queue.release(written)

    def _return_to_draft(self) -> None:
        draft, self._draft = self._draft, Written("")
        self.put(draft)

    def _append(self) -> None:
        """Make what is inserted next follow the character that Vim's cursor is on."""
        if self._vim is not None:
            self._vim.append()

    async def _image_paths(self, paste: str) -> list[Path]:
        """The paths of images that a paste consists of."""
        if self._read_images is None or is_big(paste) or not self._takes_images:
            return []
        from cogency_tui.tui.prompt.image_paths import image_paths

        return await asyncio.to_thread(image_paths, paste)

    async def _on_paste(self, event: events.Paste) -> None:
        """Paste images in place of their paths, and text after Vim's cursor; otherwise Textual calls the
        handler of the base class after this one."""
        if paths := await self._image_paths(event.text):
            event.stop()
            event.prevent_default()
            for path in paths:
                self.attach(path, text=str(path) if len(paths) > 1 else clean(event.text).strip())
        elif self._vim is not None and self._vim.mode == "normal":
            event.stop()
            event.prevent_default()
            self._vim.paste(self.pasted(event))

    async def _on_key(self, event: events.Key) -> None:
        """Handle the prompt's own keys here, in the order in which they were typed.

        If Enter bubbled up, the app would handle it while the text before it is still queued, or after later
        text.
        """
        if self._vim is not None and await self._vim.take(event):
            event.stop()
            event.prevent_default()
            return
        if event.is_printable:
            if (
                event.character == "/"
                and self._completion is not None
                and self._completion.directory_for("/")
            ):
                event.stop()
                event.prevent_default()
                self.action_take()
            return
        if action := self.binds(event.key):
            event.stop()
            event.prevent_default()
            await self.run_action(action)

    def binds(self, key: str) -> str:
        """The prompt's own action bound to `key`, also while a question has the focus; empty without one."""
        if not self.has_focus:
            return self._binds_unfocused(key)
        active = self.screen.active_bindings.get(key)
        return active.binding.action if active is not None and active.node is self and active.enabled else ""

    def _binds_unfocused(self, key: str) -> str:
        bindings = self._bindings.copy()
        # Textual gives the bindings in force only of the widget with the focus.
        bindings.apply_keymap(app_of(self)._keymap)  # pyright: ignore[reportPrivateUsage]
        actions = (each.action for each in bindings.key_to_bindings.get(key, ()))
        return next((each for each in actions if self._is_enabled(each)), "")

    def _is_enabled(self, action: str) -> bool:
        name, parameters = parse(action)[1:]
        return bool(self.check_action(name, parameters))

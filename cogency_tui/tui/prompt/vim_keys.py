"""Vim's keys in the prompt: passes the keys of normal mode to the editor; in insert mode the prompt edits."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from textual import events
from textual.document._document import Selection

from cogency_tui.tui.kit.typed_app import app_of
from cogency_tui.tui.prompt.vim.buffer import Buffer
from cogency_tui.tui.prompt.vim.commands import BLOCK, REDO, missing
from cogency_tui.tui.prompt.vim.editor import Editor, VimMode
from cogency_tui.tui.prompt.vim.text_objects import Span
from cogency_tui.tui.prompt.vim.undo_steps import UndoSteps
from cogency_tui.tui.terminal.input import AltKey

if TYPE_CHECKING:
    from cogency_tui.tui.prompt.prompt import Prompt

VIM_KEYS = (
    ("Esc", "Normal mode; there: cancel, else interrupt"),
    ("Esc Esc", "Empty prompt: rewind to a message"),
    ("i a I A o O", "Insert before, after, first, last, below, above"),
    ("h j k l", "Left, down, up, right; j k: history at the ends"),
    ("w b e ge W B E gE", "Next word, previous word, ends of words"),
    ("0 ^ $ gg G { } %", "Line, text, paragraph, matching bracket"),
    ("gj gk g0 g$", "Down, up, first, last in a row of a long line"),
    ("+ - _ g_ |", "Line below, above, its first, last word, column"),
    ("f F t T ; ,", "Find a character, repeat, reverse"),
    ("d c y > <", "Delete, change, yank, indent, dedent (dd: line)"),
    ('iw ap i( a" …', "Objects: words, paragraphs, brackets, quotes"),
    ("x X D C Y s S", "Short for d c y"),
    ("J ~ r", "Join lines, swap case, replace a character"),
    ("p P", "Put after, put before"),
    ("u Ctrl+R .", "Undo, redo, repeat"),
    ("/ @ !", "In the empty prompt: command, mention, shell"),
    (": ?", "Command palette, help"),
    ("v R m q /", "Missing: visual, replace, marks, macros, search"),
)
"""The keys and their meanings, for the help."""

_KEYS: Mapping[str, str] = {
    "left": "h",
    "right": "l",
    "home": "0",
    "end": "$",
    "delete": "x",
    "backspace": "\b",
    "ctrl+r": REDO,
    "ctrl+v": BLOCK,
}
_IN_COMMAND: Mapping[str, str] = {"up": "k", "down": "j", "enter": "\n"}
"""Keys of an incomplete command that otherwise are the prompt's."""

_ON_SELECTION: Mapping[str, str] = {"d": "d", "x": "d", "c": "c", "s": "c", "y": "y"}
"""The operators of keys that work on a selection, as the mouse makes one."""

_ACTIONS: Mapping[str, str] = {":": "app.command_palette", "?": "screen.command('help')"}


class VimStatus(NamedTuple):
    """The mode, the keys of an incomplete command, and whether keys go to the prompt (`focused`)."""

    mode: VimMode
    pending: str
    focused: bool


class VimKeys:
    """Vim's keys for `prompt`, which begins in insert mode."""

    def __init__(self, prompt: "Prompt") -> None:
        self._prompt = prompt
        self._buffer = Buffer(prompt)
        self._steps = UndoSteps(prompt)
        self._editor = Editor(self._buffer, self._steps)

    @property
    def mode(self) -> VimMode:
        return self._editor.mode

    @property
    def status(self) -> VimStatus:
        return VimStatus(self.mode, self._editor.pending, self._prompt.has_focus)

    def claims(self, key: str) -> bool:
        """Return whether a key that means something else everywhere is Vim's now."""
        return key == "ctrl+r" and self.mode == "normal"

    def start_over(self) -> None:
        """Begin with the text that the prompt has now."""
        pending = self._editor.pending
        self._editor.start_over()
        if pending:
            self._prompt.show_mode()

    def append(self) -> None:
        """Enter insert mode after the cursor."""
        if self.mode == "normal":
            self._steps.mark()
            self._editor.append()
            self._prompt.show_mode()

    def paste(self, text: str) -> None:
        """Insert a paste after the cursor of normal mode, as a step for undo."""
        self._steps.mark()
        self._editor.paste(text)
        self._prompt.show_mode()

    async def take(self, event: events.Key) -> bool:
        """Handle a key; return whether it is Vim's."""
        before = self.status
        taken = await (self._take_inserting(event) if self.mode == "insert" else self._take(event))
        if self.status != before:
            self._prompt.show_mode()
        return taken

    async def _take_inserting(self, event: events.Key) -> bool:
        """Handle a key in insert mode: Esc, which may have come in one piece with the key after it."""
        if typed := _typed_after_escape(event):
            self._leave_insert()
            return await self._take(typed)
        if event.key != "escape":
            return False
        self._leave_insert()
        return True

    def _leave_insert(self) -> None:
        self._editor.leave_insert()
        self._prompt.end_offers()

    async def _take(self, event: events.Key) -> bool:
        """Handle a key in normal mode."""
        self._steps.mark()
        typed = _typed_after_escape(event)
        if typed and (self._editor.pending or not self._prompt.binds(event.key)):
            self._editor.pending, event = "", typed
        key = self._key_of(event)
        if not key:
            # An incomplete command ends here; Esc has then done its work.
            pending, self._editor.pending = self._editor.pending, ""
            return event.key == "escape" and bool(pending)
        if not self._editor.pending and key in "/@!" and not self._prompt.text:
            self.append()
            self._prompt.insert(key)
            return True
        if self._editor.pending or not await self._takes_whole(key):
            self._type(key)
        return True

    def _type(self, key: str) -> None:
        """Pass a key to the editor, and report what it begins in vain."""
        if not self._editor.pending and (feature := missing(key)):
            app_of(self._prompt).notify(f"No {feature} in the prompt", markup=False)
        self._editor.type(key)

    async def _takes_whole(self, key: str) -> bool:
        """Handle a key that is more than a command to the editor; return whether it is one."""
        if action := _ACTIONS.get(key):
            await self._prompt.run_action(action)
        elif step := self._step_of(key):
            self._prompt.walk(step)
        elif key in _ON_SELECTION and not self._prompt.selection.is_empty:
            self._editor.operate(_ON_SELECTION[key], self._selected())
        else:
            return False
        return True

    def _step_of(self, key: str) -> int:
        """1 or -1 if `j` or `k` leads from this text to the next message, else 0."""
        row, last = self._prompt.cursor_location[0], self._prompt.document.line_count - 1
        return (key == "j" and row == last) - (key == "k" and row == 0)

    def _selected(self) -> Span:
        ends = self._prompt.selection.start, self._prompt.selection.end
        first, last = sorted(self._buffer.place_of(end) for end in ends)
        return Span(first, last)

    def _key_of(self, event: events.Key) -> str:
        """The character that stands for a key in the editor; empty if there is none."""
        if event.is_printable:
            return event.character or ""
        in_command = _IN_COMMAND.get(event.key, "") if self._editor.pending else ""
        return _KEYS.get(event.key, in_command)

    def clamp(self, selection: Selection) -> Selection:
        """The selection, with a cursor of normal mode on a character."""
        return self._buffer.clamp(selection) if self.mode == "normal" else selection


def _typed_after_escape(event: events.Key) -> events.Key | None:
    """The key that was typed after Esc, if both came in one piece."""
    if isinstance(event, AltKey) and event.typed.isprintable():
        return events.Key(event.typed, event.typed)
    return None

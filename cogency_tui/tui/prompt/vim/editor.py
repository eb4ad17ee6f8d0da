"""The editor: keys of normal mode in, edits of a buffer out.

In insert mode the text area edits; all that happens between two keys of normal mode is one step for undo,
and can be repeated.
"""

from dataclasses import replace
from typing import Literal, TypeAlias

from cogency_tui.tui.prompt.vim import changes, operators
from cogency_tui.tui.prompt.vim.buffer import Buffer
from cogency_tui.tui.prompt.vim.commands import REDO, Command, parse
from cogency_tui.tui.prompt.vim.lines import line_end, line_start
from cogency_tui.tui.prompt.vim.motions import Aim, Find, Origin, move_of
from cogency_tui.tui.prompt.vim.operators import Target, target_of
from cogency_tui.tui.prompt.vim.register import Register, cut, put
from cogency_tui.tui.prompt.vim.repeat import Insertion, LastChange, Typed, shared, typed_since
from cogency_tui.tui.prompt.vim.replacement import Replacement, repeated
from cogency_tui.tui.prompt.vim.text_objects import Span
from cogency_tui.tui.prompt.vim.undo_steps import UndoSteps

VimMode: TypeAlias = Literal["insert", "normal"]


class Editor:
    """Edits `buffer`; it begins in insert mode."""

    def __init__(self, buffer: Buffer, steps: UndoSteps) -> None:
        self.mode: VimMode = "insert"
        self.pending = ""
        """The keys of an incomplete command."""
        self._buffer = buffer
        self._steps = steps
        self._aim: Aim | None = None
        self._find: Find | None = None
        self._register = Register()
        self._last: LastChange | None = None
        self._recording = False
        self._begin_insertion()

    def start_over(self) -> None:
        """Begin with another text, in the present mode."""
        self.pending = ""
        self._begin_insertion()

    def append(self) -> None:
        """Enter insert mode after the cursor, by no command."""
        text, at = self._buffer.text, self._buffer.at
        self._enter_insert()
        self._buffer.move(changes.insertion_place("a", text, at))
        self._begin_insertion()

    def leave_insert(self) -> None:
        """Enter normal mode, and repeat what was typed as often as the count says."""
        insertion = self._insertion
        typed = typed_since(insertion, self._buffer.text)
        self._repeat_typed(insertion, typed.text)
        if insertion.command is not None:
            self._last = LastChange(insertion.command, typed)
        text, at = self._buffer.text, self._buffer.at
        self.mode = "normal"
        self._buffer.move(max(line_start(text, at), at - 1))

    def type(self, key: str) -> None:
        """Handle a key in normal mode."""
        if key == "q" and not self.pending and self._recording:
            self._recording = False
            return
        keys, self.pending = self.pending + key, ""
        command = parse(keys)
        if command == "begun":
            self.pending = keys
        elif command == "unknown":
            # The next `q` ends a macro: it has no name after it.
            self._recording = self._recording or keys[:-1] == "q"
        else:
            self._run(command)

    def operate(self, operator: str, span: Span) -> None:
        """Run an operator on a span; repeated, it takes as many characters."""
        command = Command(span.end - span.start, operator=operator, motion="l")
        self._operate(command, Target(span, span.start))

    def paste(self, text: str) -> None:
        """Insert `text` after the cursor, which is then on its last character; ends an incomplete command."""
        self.pending = ""
        before = self._buffer.text
        place = changes.insertion_place("a", before, self._buffer.at)
        self._buffer.apply(Replacement(place, place, text, place))
        # Only now a chip in it is a single character.
        self._buffer.move(place + max(0, len(self._buffer.text) - len(before) - 1))

    def _run(self, command: Command) -> None:
        if command.motion[:1] in ("f", "F", "t", "T"):
            self._find = Find(command.motion[0], command.argument)
        if command.motion and not command.operator:
            self._move(command)
            return
        self._aim = None
        if not command.operator:
            self._run_command(command)
        elif target := target_of(command, self._origin(command)):
            self._operate(command, target)

    def _origin(self, command: Command) -> Origin:
        buffer = self._buffer
        text, at = buffer.text, buffer.at
        column = buffer.cells(text[line_start(text, at) : at])
        want = self._aim.column if self._aim and self._aim.at == at else column
        return Origin(text, at, buffer.cells, buffer.rows, want, command.count, command.operator, self._find)

    def _move(self, command: Command) -> None:
        move = move_of(command.motion, self._origin(command))
        if move is None:
            return
        self._buffer.move(move.to)
        self._aim = None if move.want is None else Aim(self._buffer.at, move.want)

    def _operate(self, command: Command, target: Target) -> None:
        text, span = self._buffer.text, target.span
        if command.operator != "y":
            self._last = LastChange(command)
        match command.operator:
            case "y":
                self._yank(text, target)
            case "d":
                self._cut(text, span, operators.delete(text, span))
            case "c":
                self._enter_insert()
                self._cut(text, span, operators.change(span))
                self._begin_insertion(command)
            case way:
                self._buffer.apply(operators.indent(text, span, 1 if way == ">" else -1))

    def _yank(self, text: str, target: Target) -> None:
        self._register = cut(text, target.span)
        self._buffer.move(target.at)

    def _cut(self, text: str, span: Span, replacement: Replacement | None) -> None:
        if replacement is None:
            return
        if span.lines or span.start < span.end:
            self._register = cut(text, span)
        # Undo returns to the place of the change.
        self._buffer.move(span.start)
        self._buffer.apply(replacement)

    def _run_command(self, command: Command) -> None:
        key = command.command
        if key == "u":
            self._steps.undo(command.times)
        elif key == REDO:
            self._redo(command.times)
        elif key == ".":
            self._repeat(command.count)
        elif key in "iaIAoO":
            self._insert_by(command)
        elif replacement := self._change(command):
            self._buffer.apply(replacement)
            self._last = LastChange(command)

    def _redo(self, times: int) -> None:
        before = self._buffer.text
        self._steps.redo(times)
        after = self._buffer.text
        if after != before:
            self._buffer.move(shared(before, after))

    def _change(self, command: Command) -> Replacement | None:
        """The change of a command that stays in normal mode."""
        text, at, key = self._buffer.text, self._buffer.at, command.command
        if key in ("p", "P"):
            return put(self._register, text, at, command.times, after=key == "p")
        if key[0] == "r":
            return changes.replace(text, at, command.times, command.argument)
        return changes.CHANGES[key](text, at, command.times)

    def _insert_by(self, command: Command) -> None:
        text, at, key = self._buffer.text, self._buffer.at, command.command
        self._enter_insert()
        if key in "oO":
            self._buffer.apply(changes.open_line(text, at, below=key == "o"))
        else:
            self._buffer.move(changes.insertion_place(key, text, at))
        self._begin_insertion(command)

    def _enter_insert(self) -> None:
        # Before the cursor moves: in normal mode it cannot be after the last character.
        self.mode, self.pending = "insert", ""

    def _begin_insertion(self, command: Command | None = None) -> None:
        self._insertion = Insertion(self._buffer.text, self._buffer.at, command)

    def _repeat_typed(self, insertion: Insertion, typed: str) -> None:
        if not insertion.repeats:
            return
        text, at = self._buffer.text, self._buffer.at
        place = line_end(text, at) if insertion.lead else at
        inserted = repeated(insertion.lead + typed, insertion.repeats)
        self._buffer.apply(Replacement(place, place, inserted, place + len(inserted)))

    def _repeat(self, count: int) -> None:
        """Run the last change again, with this count or its own."""
        last = self._last
        if last is None:
            return
        command = replace(last.command, count=count or last.command.count)
        self._run(command)
        if self.mode == "insert":
            self._type_again(last.typed)
            self.leave_insert()
        self._last = last._replace(command=command)

    def _type_again(self, typed: Typed) -> None:
        at = self._buffer.at
        start = max(0, at - typed.erased)
        self._buffer.apply(Replacement(start, at, typed.text, start + len(typed.text)))

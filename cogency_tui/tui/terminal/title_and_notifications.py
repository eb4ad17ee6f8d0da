"""Signals to an absent user: the window's title, and a notification when an answer is due or work is done.

The former title returns when the program ends or is suspended.
"""

from collections.abc import Callable
from typing import Literal

from cogency_tui.safe_text import disarm, one_line
from cogency_tui.tui.kit.cell_text import fit
from cogency_tui.tui.terminal.capabilities import Notice, Terminal

State = Literal["idle", "working", "waiting"]

_BY_URGENCY: tuple[State, ...] = ("idle", "working", "waiting")

_LONGEST = 60
_SAVE, _RESTORE = "\x1b[22;2t", "\x1b[23;2t"
_SIGNS: dict[State, str] = {"idle": "", "working": "… ", "waiting": "? "}
_WORDS: dict[State, str] = {"idle": "", "working": ", working", "waiting": ", waiting for you"}


def _quoted(name: str) -> str:
    return f"“{fit(disarm(one_line(name)), _LONGEST // 2).rstrip()}” " if name else ""


class Presence:
    """Shows the state of the conversations in `project` by `write`, which returns whether the terminal gets a
    sequence."""

    def __init__(
        self, project: str, terminal: Terminal, notice: Notice, write: Callable[[str], bool]
    ) -> None:
        self._project = fit(disarm(one_line(project)), _LONGEST)
        self._terminal = terminal
        self._notice = terminal.notice(notice)
        self._write = write
        self._shown: str | None = None
        self._states: dict[int, State] = {}

    def begin(self) -> None:
        """Save the present title, unless ours is shown already, and show ours."""
        if self._terminal.has_title and self._shown is None and self._write(_SAVE):
            self._show()

    def show(self) -> None:
        """Show the title again: the terminal may have missed it."""
        if self._shown is not None:
            self._shown = ""
            self._show()

    def end(self) -> str:
        """Return the sequence that restores the former title; empty if ours was not shown."""
        shown, self._shown = self._shown, None
        return _RESTORE if shown is not None else ""

    @property
    def state(self) -> State:
        """The most urgent state of all conversations."""
        return _BY_URGENCY[max(map(_BY_URGENCY.index, self._states.values()), default=0)]

    def change(self, state: State, *, watched: bool, conversation: int = 0, name: str = "") -> None:
        """Show the state of a conversation; unless `watched`, notify the user that an answer is due or the
        work is done, in the conversation of this name if one is given.
        """
        before = self._states.get(conversation, "idle")
        self._states[conversation] = state
        if self._shown is not None:
            self._show()
        if watched or state == before:
            return
        if state == "waiting":
            self._call(f"{self._project}: {_quoted(name)}waiting for your answer")
        elif state == "idle" and before == "working":
            self._call(f"{self._project}: {_quoted(name)}done")

    def forget(self, conversation: int) -> None:
        """Note that a conversation is closed."""
        self._states.pop(conversation, None)
        if self._shown is not None:
            self._show()

    def _show(self) -> None:
        title = f"{_SIGNS[self.state]}{self._project}{_WORDS[self.state]} · cogency"
        if title != self._shown:
            self._shown = title
            self._write(f"\x1b]2;{title}\x07")

    def _call(self, text: str) -> None:
        if self._notice == "bell":
            self._write("\x07")
        elif self._notice == "osc9":
            self._write(self._terminal.passed_on(f"\x1b]9;{text}\x07"))

"""The terminal's kind and capabilities, as far as the environment shows.

Nothing here queries the terminal itself: an answer would arrive between the user's keys.
"""

from collections.abc import Mapping
from typing import Literal

import msgspec

Notice = Literal["auto", "off", "bell", "osc9"]

_TITLELESS = ("linux", "dumb", "")
_NOTICING_PROGRAMS = ("iTerm.app", "WezTerm", "ghostty")
_NOTICING_TERMS = ("xterm-kitty", "xterm-ghostty", "foot")
_CLIPLESS_PROGRAMS = ("Apple_Terminal",)
_PICTURE_TERMS = ("xterm-kitty", "xterm-ghostty")


class Terminal(msgspec.Struct, frozen=True):
    """The terminal that `environ` describes."""

    term: str = ""
    program: str = ""
    tmux: bool = False
    screen: bool = False
    remote: bool = False
    """Over SSH: programs that we start reach another machine's clipboard."""
    kitty: bool = False
    """Started in a window of kitty, perhaps through another terminal."""

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> "Terminal":
        return cls(
            term=environ.get("TERM", ""),
            program=environ.get("TERM_PROGRAM", ""),
            tmux=bool(environ.get("TMUX")),
            screen=bool(environ.get("STY")),
            remote=any(environ.get(name) for name in ("SSH_CONNECTION", "SSH_TTY", "SSH_CLIENT")),
            kitty=bool(environ.get("KITTY_WINDOW_ID")),
        )

    @property
    def has_title(self) -> bool:
        return self.term not in _TITLELESS

    @property
    def has_osc52(self) -> bool:
        """True if the terminal may support writing to the clipboard; whether it does cannot be detected."""
        return self.term not in _TITLELESS and self.program not in _CLIPLESS_PROGRAMS

    @property
    def has_placeholders(self) -> bool:
        """True if the terminal draws pictures at kitty's Unicode placeholders; a multiplexer does not."""
        if self.tmux or self.screen:
            return False
        is_known = self.term in _PICTURE_TERMS or self.program == "ghostty"
        return is_known or (self.kitty and not self.program)

    def notice(self, requested: Notice) -> Notice:
        """The kind of notification: `requested`, or for `auto` what suits this terminal."""
        if requested != "auto":
            return requested
        notices = self.program in _NOTICING_PROGRAMS or self.term.split("-direct")[0] in _NOTICING_TERMS
        # Multiplexers pass a bell on by themselves, and mark the window that it came from.
        return "osc9" if notices and not self.tmux and not self.screen else "bell"

    def passed_on(self, sequence: str) -> str:
        """Wrap `sequence` for the terminal around a multiplexer, if there is one."""
        if self.tmux:
            return f"\x1bPtmux;{sequence.replace(chr(27), chr(27) * 2)}\x1b\\"
        if self.screen:
            return f"\x1bP{sequence}\x1b\\"
        return sequence

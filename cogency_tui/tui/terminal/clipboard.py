"""The clipboard: copies by a program that reports success, else through the terminal, which does not.

A program of the desktop is used only where it reaches the user's own desktop: not over SSH. In tmux the text
goes to tmux's buffer, which passes it on. The terminal's own way (OSC 52) comes last.
"""

import asyncio
import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from cogency_tui.child_processes import start_in_background
from cogency_tui.search_paths import find_program
from cogency_tui.tui.terminal.capabilities import Terminal

_PATIENCE = 2.0
"""Seconds that a program may take."""

_MOST = 74_994
"""Characters of base64 that every terminal with OSC 52 accepts."""


@dataclass(frozen=True, slots=True)
class Way:
    """A program that reads text on stdin; `name` names its destination."""

    name: str
    command: tuple[str, ...]


_TMUX = Way("tmux", ("tmux", "load-buffer", "-w", "-"))
_OLD_TMUX = Way("tmux buffer", ("tmux", "load-buffer", "-"))
_MAC = Way("pbcopy", ("pbcopy",))
_WAYLAND = Way("wl-copy", ("wl-copy",))
_X11 = (
    Way("xclip", ("xclip", "-selection", "clipboard", "-in")),
    Way("xsel", ("xsel", "--clipboard", "--input")),
)


def ways(environ: Mapping[str, str], has: Callable[[str], bool]) -> list[Way]:
    """The programs to try, the best first; `has` reports whether a program exists."""
    terminal = Terminal.of(environ)
    found: list[Way] = []
    if not terminal.remote:
        found += [_MAC] if has("pbcopy") else []
        found += [_WAYLAND] if environ.get("WAYLAND_DISPLAY") and has("wl-copy") else []
        found += [way for way in _X11 if environ.get("DISPLAY") and has(way.command[0])]
    if terminal.tmux and has("tmux"):
        found += [_TMUX, _OLD_TMUX]
    return found


async def copy(text: str, environ: Mapping[str, str], write: Callable[[str], object]) -> tuple[bool, str]:
    """Copy `text` to where the user can paste it from. Return whether this is known to have worked, and a
    description of the destination. `write` sends a control sequence.
    """

    def has(name: str) -> bool:
        return find_program(name, environ) is not None

    data = text.encode("utf-8", "replace")
    for way in await asyncio.to_thread(ways, environ, has):
        if await _give(way, data, environ):
            return True, f"Copied {_amount(text)} ({way.name})"
    terminal = Terminal.of(environ)
    if not terminal.has_osc52:
        advice = "No clipboard available. Select with the mouse (hold Shift) instead."
        return False, advice
    encoded = base64.b64encode(data).decode("ascii")
    write(terminal.passed_on(f"\x1b]52;c;{encoded}\x07"))
    if len(encoded) > _MOST:
        return (
            False,
            f"Sent {_amount(text)} to the terminal's clipboard; many terminals do not accept that much.",
        )
    return True, f"Copied {_amount(text)} (terminal clipboard, if it allows OSC 52)"


async def _give(way: Way, data: bytes, environ: Mapping[str, str]) -> bool:
    """Pass the data to the program; return whether it succeeded."""
    try:
        process = await start_in_background(way.command, environ, takes_input=True)
    except OSError:
        return False
    try:
        async with asyncio.timeout(_PATIENCE):
            await process.communicate(data)
    except TimeoutError:
        process.kill()
        await process.wait()
        return False
    return process.returncode == 0


def _amount(text: str) -> str:
    lines = text.count("\n") + 1
    if lines > 1:
        return f"{lines} lines"
    return "1 character" if len(text) == 1 else f"{len(text)} characters"

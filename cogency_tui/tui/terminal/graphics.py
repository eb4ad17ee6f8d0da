"""Pictures in terminals with kitty's graphics protocol, drawn wherever its Unicode placeholders are.

The terminal holds a picture by its number, and draws a part of it in each cell whose text names that part:
lines, frames and scrolling treat a picture as text. Sixel is left out: its pixels cover cells without
belonging to them, so that frames, which write what changed, could neither keep nor remove them.
"""

from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from secrets import randbelow
from typing import Any, NamedTuple

from textual.app import App

from cogency_tui.child_processes import output_of
from cogency_tui.tui.terminal.capabilities import Terminal
from cogency_tui.tui.terminal.driver import TerminalDriver

_CHUNK = 4096
"""Characters of base64 in one sequence, at most."""

_FIRST_COLOR, _COLORS = 16, 240
"""The colors of the palette that are the same in every terminal."""

_PATIENCE, _ANSWER = 2.0, 1 << 10
"""Seconds and bytes that tmux may take to answer."""


class _Placed(NamedTuple):
    png: bytes
    columns: int
    rows: int


class Graphics:
    """The pictures that the terminal is to hold, sent by `write`, which returns whether it gets them."""

    def __init__(self, terminal: Terminal, write: Callable[[str], bool]) -> None:
        self._terminal = terminal
        self._write = write
        self._wanted: dict[int, _Placed] = {}
        self._held: dict[int, _Placed | None] = {}
        """What the terminal was sent; None for a picture that it may have lost."""
        # Other programs number pictures of the same terminal.
        self._numbers = count(randbelow(255 * _COLORS))

    def next_number(self) -> int:
        """Return a number for a picture. Cells state its lowest byte as a color of the palette, which also
        passes where only 256 colors do (SSH without `COLORTERM`, tmux), and its highest byte as a mark; those
        between are 0."""
        high, low = divmod(next(self._numbers) % (255 * _COLORS), _COLORS)
        return (high + 1) << 24 | (low + _FIRST_COLOR)

    def show(self, number: int, png: bytes, columns: int, rows: int) -> None:
        """Have the terminal hold a picture, fitted into so many cells."""
        self._wanted[number] = _Placed(png, columns, rows)
        self.update()

    def remove(self, number: int) -> None:
        """Have the terminal forget a picture."""
        self._wanted.pop(number, None)
        self.update()

    def update(self) -> None:
        """Send the terminal what it lacks; to be repeated after it missed this."""
        if (due := "".join(map(self._terminal.passed_on, self._due()))) and self._write(due):
            self._held = dict(self._wanted)

    def send_again(self) -> None:
        """Send all pictures again: the terminal may have lost them."""
        self._held = dict.fromkeys(self._held)
        self.update()

    def end(self) -> str:
        """Return the sequences that remove all pictures, until they are sent again."""
        removed = "".join(self._terminal.passed_on(_removal(number)) for number in self._held)
        self._held.clear()
        return removed

    def _due(self) -> Iterator[str]:
        yield from (_removal(number) for number in self._held if number not in self._wanted)
        for number, placed in self._wanted.items():
            held = self._held.get(number)
            if held is None or held.png is not placed.png:
                yield from _transmission(number, placed)
            elif held != placed:
                yield _command(f"a=p,{_place(number, placed)}")


async def graphics_of(app: App[Any], environ: Mapping[str, str]) -> Graphics | None:
    """Return the pictures of the terminal; None if it draws none, or has too few colors to number them."""
    driver = app._driver  # pyright: ignore[reportPrivateUsage] (Textual has no other way to it)
    if app.console.color_system in (None, "standard") or environ.get("NO_COLOR"):
        return None
    if not isinstance(driver, TerminalDriver) or not await draws_pictures(environ):
        return None
    driver.graphics = driver.graphics or Graphics(Terminal.of(environ), driver.write_between_frames)
    return driver.graphics


async def draws_pictures(environ: Mapping[str, str]) -> bool:
    """Return whether the terminal draws pictures; in tmux, whether the one around it does and tmux lets them
    pass, which it is asked for: its own variables are those of the terminal that it was started in."""
    terminal = Terminal.of(environ)
    if not terminal.tmux:
        return terminal.has_placeholders
    command = ["tmux", "display-message", "-p", "#{allow-passthrough} #{client_termname}"]
    try:
        status, output, _error = await output_of(command, environ, seconds=_PATIENCE, limit=_ANSWER)
    except OSError:
        return False
    passed, _, outer = output.decode("ascii", "replace").strip().rpartition(" ")
    # Before tmux 3.3 there is no option, and everything passes.
    return not status and passed not in ("off", "0") and Terminal(term=outer).has_placeholders


def _transmission(number: int, placed: _Placed) -> Iterator[str]:
    data = b64encode(placed.png).decode("ascii")
    keys = f"a=T,f=100,{_place(number, placed)},"
    for start in range(0, len(data), _CHUNK):
        more = int(start + _CHUNK < len(data))
        yield _command(f"{keys}m={more}", data[start : start + _CHUNK])
        keys = ""


def _place(number: int, placed: _Placed) -> str:
    """The keys of a placement that shows only where placeholders are; the same one when its size changes."""
    return f"U=1,i={number},p=1,c={placed.columns},r={placed.rows}"


def _removal(number: int) -> str:
    return _command(f"a=d,d=I,i={number}")


def _command(keys: str, data: str = "") -> str:
    """A command to which the terminal does not reply: its reply would arrive between the user's keys."""
    return f"\x1b_Gq=2,{keys};{data}\x1b\\"

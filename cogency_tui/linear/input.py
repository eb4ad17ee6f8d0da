"""Input lines from a handle, typed or piped, each consumed once.

Typed lines that arrive while something runs wait as the next message, which steers a turn; only a line typed
after a question answers it. A command (`/name`, `!command line`) waits until the turn has ended. Piped lines
are consumed in order by the next reader.
"""

import asyncio
import os
from codecs import getincrementaldecoder
from collections import deque
from collections.abc import Callable

from cogency_tui.protocol.transcript import command_in

_CHUNK = 65536


class InputLines:
    """The lines of `handle`; `interactive`: a user types them. `waits` is called with each typed line that is
    not consumed at once."""

    def __init__(
        self, handle: int, *, interactive: bool, waits: Callable[[str], None] = lambda _line: None
    ) -> None:
        self._handle = handle
        self._interactive = interactive
        self._waits = waits
        self._decode = getincrementaldecoder("utf-8")("replace").decode
        self._pending = ""
        self._waiting: deque[str] = deque()
        self._ended = False
        self._taker: asyncio.Future[str | None] | None = None
        self._added = False

    def open(self) -> None:
        """Start to read."""
        try:
            asyncio.get_running_loop().add_reader(self._handle, self._read)
            self._added = True
        except PermissionError:
            # An ordinary file is always ready, and cannot be waited for.
            while not self._ended:
                self._read()

    def close(self) -> None:
        """Stop reading."""
        if self._added:
            asyncio.get_running_loop().remove_reader(self._handle)
            self._added = False

    @property
    def ended(self) -> bool:
        """True if no more lines come."""
        return self._ended

    @property
    def queued(self) -> int:
        """Lines that have not been consumed yet."""
        return len(self._waiting)

    @property
    def message_waits(self) -> bool:
        """True if the user has typed a message that has not been consumed, and no command before it."""
        first = next((line.strip() for line in self._waiting if line.strip()), "/")
        return self._interactive and not _is_command(first)

    @property
    def command_waits(self) -> bool:
        """True if a command has not been consumed: what is behind it is no message of this turn."""
        return any(_is_command(line.strip()) for line in self._waiting)

    def drop(self) -> list[str]:
        """Remove and return the lines that have not been consumed, without the empty ones."""
        lines = [line.strip() for line in self._waiting if line.strip()]
        self._waiting.clear()
        return lines

    async def message(self) -> str | None:
        """The next line that has not been consumed; None when no more will come."""
        return self._waiting.popleft() if self._waiting else await self._next()

    async def answer(self) -> str | None:
        """The line that answers the question just asked; None when none will come."""
        if not self._interactive and self._waiting:
            return self._waiting.popleft()
        return await self._next()

    async def _next(self) -> str | None:
        if self._ended:
            return None
        self._taker = asyncio.get_running_loop().create_future()
        try:
            return await self._taker
        finally:
            self._taker = None

    def _read(self) -> None:
        try:
            data = os.read(self._handle, _CHUNK)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        *lines, self._pending = (self._pending + self._decode(data, final=not data)).split("\n")
        for line in lines:
            self._give(line)
        if not data:
            if self._pending:
                self._give(self._pending)
            self._ended = True
            self.close()
            if self._taker is not None and not self._taker.done():
                self._taker.set_result(None)

    def _give(self, line: str) -> None:
        if self._taker is not None and not self._taker.done():
            self._taker.set_result(line)
        else:
            self._waiting.append(line)
            if self._interactive:
                self._waits(line)


def _is_command(line: str) -> bool:
    return line.startswith("/") or bool(command_in(line))

"""Output to a terminal that may stop reading: a frozen SSH connection, a stopped multiplexer.

A thread writes, so the event loop never waits for the terminal. Unread output is bounded: a frame is dropped
while too much is pending, and a complete screen is drawn once the terminal reads again.
"""

import os
import select
import termios
import threading
from collections.abc import Callable
from contextlib import suppress

PENDING = 65_536
"""Pending bytes above which frames are dropped."""

_CHUNK = 16_384
_POLL = 0.1
"""Seconds between two attempts at a terminal that accepts nothing."""

_GRACE = 0.3
"""Seconds that a terminal has to read pending output, before the rest is discarded."""

_CANCEL = b"\x18\x1b[?2026l"
"""Ends a truncated control sequence, and the frame that it was in."""


class TerminalOutput:
    """Writes to the terminal at `handle`; its thread calls `read_again` once all is read after a drop."""

    def __init__(self, handle: int, read_again: Callable[[], None]) -> None:
        self._handle = _open_again(handle)
        self._read_again = read_again
        self._pending = bytearray()
        self._changed = threading.Condition()
        self._dropped = False
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="terminal-output", daemon=True)
        self._thread.start()

    def takes_frame(self) -> bool:
        """Return whether a frame may be written now. If not, a complete screen is due later."""
        with self._changed:
            self._dropped = self._dropped or len(self._pending) > PENDING
            return not self._dropped

    @property
    def is_read(self) -> bool:
        """True if the terminal has read all output, and missed no frame."""
        with self._changed:
            return not (self._pending or self._dropped)

    def write(self, text: str) -> None:
        """Send `text` without waiting."""
        with self._changed:
            if not self._closed:
                self._pending += text.encode("utf-8", "replace")
                self._changed.notify_all()

    def settle(self) -> None:
        """Wait briefly until all output is read; discard the rest, and end a sequence that this cuts off."""
        with self._changed:
            if self._drained(_GRACE):
                return
            with suppress(termios.error):
                termios.tcflush(self._handle, termios.TCOFLUSH)
            self._pending[:] = _CANCEL

    def close(self) -> None:
        """Wait briefly until all output is read, and end."""
        with self._changed:
            self._drained(_GRACE)
            self._closed = True
            self._pending.clear()
            self._changed.notify_all()
        self._thread.join(_GRACE)
        if not self._thread.is_alive():
            os.close(self._handle)

    def _drained(self, timeout: float) -> bool:
        return self._changed.wait_for(lambda: not self._pending, timeout)

    def _work(self) -> None:
        while self._wait_for_output():
            try:
                self._send()
            except BlockingIOError:
                self._wait_for_reader()
            except OSError:
                # The terminal is gone, which `when_hung_up` reports.
                with self._changed:
                    self._closed = True
                    self._pending.clear()
                    self._changed.notify_all()

    def _wait_for_output(self) -> bool:
        with self._changed:
            self._changed.wait_for(lambda: self._pending or self._closed)
            return not self._closed

    def _send(self) -> None:
        with self._changed:
            chunk = bytes(self._pending[:_CHUNK])
        written = os.write(self._handle, chunk)
        with self._changed:
            # `settle` may have discarded the chunk in the meantime.
            if self._pending.startswith(chunk):
                del self._pending[:written]
            read_again = self._dropped and not self._pending
            self._dropped = self._dropped and not read_again
            self._changed.notify_all()
        if read_again:
            self._read_again()

    def _wait_for_reader(self) -> None:
        poll = select.poll()
        poll.register(self._handle, select.POLLOUT)
        poll.poll(_POLL * 1000)


def _open_again(handle: int) -> int:
    """Open the terminal at `handle` again, so that only the new file description is non-blocking."""
    try:
        return os.open(os.ttyname(handle), os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return os.dup(handle)

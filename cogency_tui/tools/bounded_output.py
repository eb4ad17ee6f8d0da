"""The output of a command in bounded memory: its beginning, its end, and the number of bytes between."""

import asyncio
import codecs
from collections import deque
from collections.abc import Callable

HEAD = TAIL = 500_000
"""Bytes of output that are stored from the beginning and from the end."""

_LIVE = 1 << 14
"""Most bytes that are reported at once while a command runs; output that comes faster is not shown."""

_LIVE_INTERVAL = 0.05

_LONGEST_LINE = 4096
"""Longest line, in bytes, that is left out whole where its beginning or its end is missing."""


class HeadAndTail:
    """The first `head` and the last `tail` bytes of its input."""

    def __init__(self, head: int = HEAD, tail: int = TAIL) -> None:
        self._most_head = head
        self._most_tail = tail
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self._cut = 0

    def feed(self, data: bytes) -> None:
        room = self._most_head - len(self._head)
        if room > 0:
            self._head += data[:room]
        if len(data) > room:
            rest = data[max(0, room) :]
            self._tail.append(rest)
            self._tail_size += len(rest)
            while self._tail_size - len(self._tail[0]) >= self._most_tail:
                first = self._tail.popleft()
                self._tail_size -= len(first)
                self._cut += len(first)

    def parts(self) -> tuple[bytes, int, bytes]:
        """Return the beginning, the number of missing bytes, and the end, both cut at lines unless a line
        is long."""
        head, tail = bytes(self._head), b"".join(self._tail)
        missing = self._cut + max(0, len(tail) - self._most_tail)
        tail = tail[-self._most_tail :]
        if not missing:
            return head, 0, tail
        first, last = up_to_line(head), from_line(tail)
        return first, missing + len(head) - len(first) + len(tail) - len(last), last

    def text(self) -> str:
        """Return the stored text, with a mark where output is missing."""
        head, missing, tail = self.parts()
        if not missing:
            return (head + tail).decode("utf-8", "replace")
        return f"{head.decode('utf-8', 'replace')}{cut_mark(missing)}{tail.decode('utf-8', 'replace')}"


class Output:
    """Command output as it arrives, stored, and reported as text at a bounded rate."""

    def __init__(self, report: Callable[[str], None]) -> None:
        self._report = report
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = HeadAndTail()
        self._pending = bytearray()
        self._skipped = 0
        self._reported = float("-inf")
        self._timer: asyncio.TimerHandle | None = None

    def feed(self, data: bytes) -> None:
        """Store output, and report it if the rate allows."""
        self._held.feed(data)
        self._pending += data
        if len(self._pending) > _LIVE:
            shown = from_line(bytes(self._pending[-_LIVE:]))
            self._skipped += len(self._pending) - len(shown)
            self._pending[:] = shown
        if self._timer is None:
            loop = asyncio.get_running_loop()
            wait = self._reported + _LIVE_INTERVAL - loop.time()
            if wait <= 0:
                self._publish()
            else:
                self._timer = loop.call_later(wait, self._publish)

    def close(self) -> str:
        """Report pending output, and return the stored text."""
        self.cancel()
        self._publish(final=True)
        return self._held.text()

    def cancel(self) -> None:
        """Discard pending reports."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _publish(self, *, final: bool = False) -> None:
        self._timer = None
        self._reported = asyncio.get_running_loop().time()
        note = ""
        if self._skipped:
            note = f"\n[… {self._skipped:,} bytes are not shown live …]\n"
            self._skipped = 0
            self._decoder.reset()
        text = note + self._decoder.decode(bytes(self._pending), final)
        self._pending.clear()
        if text:
            self._report(text)


def from_line(data: bytes) -> bytes:
    """Drop `data` before its first whole line: the rest of a secret would not be recognised as one."""
    end = data.find(b"\n", 0, _LONGEST_LINE)
    return data[end + 1 :]


def up_to_line(data: bytes) -> bytes:
    """Drop `data` after its last whole line."""
    end = data.rfind(b"\n", max(0, len(data) - _LONGEST_LINE))
    return data if end < 0 else data[: end + 1]


def cut_mark(missing: int) -> str:
    """Mark in place of bytes of output that were not stored."""
    return f"\n[… {missing:,} bytes of output were cut here …]\n"

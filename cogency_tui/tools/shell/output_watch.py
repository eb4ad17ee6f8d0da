"""A watch over the output of a background command: the lines that match a regular expression.

Invariant: whatever the command writes and whatever the expression is, a watch takes bounded memory, and of
each second only a part: output that comes faster is not searched, and an expression that takes long for one
line ends the watch. The package `regex` is used because its
search can be given a time limit; that of the standard library cannot be stopped.
"""

import codecs
import time
from collections.abc import Callable
from typing import Any

from cogency_tui.errors import ToolError
from cogency_tui.redaction import RedactedStream

LONGEST_PATTERN = 500
"""Characters of an expression."""

MOST_LINES = 10
"""Different lines that are reported at once; the others are counted."""

_LONGEST_LINE = 2000
"""Characters of a line that are searched."""

_SHOWN = 300
"""Characters of a line that are reported."""

BURST, RATE = 512_000, 256_000
"""Bytes that are searched at once, and in each second after that."""

_PATIENCE = 0.05
"""Seconds that the search of one line may take."""


class Watch:
    """Collects the lines that match `pattern`, redacted by `stream`.

    Raises:
        ToolError: it is no regular expression, or too long.
    """

    def __init__(
        self, pattern: str, stream: RedactedStream, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.pattern = pattern
        self.matches = 0
        """Lines that have matched so far."""
        self.has_failed = False
        """True if the expression took too long: no line is searched any more."""
        self._expression = _compiled(pattern)
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""
        self._clock = clock
        self._room, self._since = float(BURST), clock()
        self._skipped = 0
        self.skipped = 0
        """Bytes that came too fast to be searched, so far."""
        self._in_gap = False
        self._found: dict[str, int] = {}
        self._omitted = 0

    def feed(self, data: bytes, *, final: bool = False) -> None:
        """Search the lines that `data` completes; if it is `final`, the last one, too."""
        if self.has_failed or (not (data := self._admitted(data)) and not final):
            return
        *lines, rest = (self._rest + self._stream.feed(self._decoder.decode(data, final), final=final)).split(
            "\n"
        )
        self._rest = rest[:_LONGEST_LINE]
        for line in [*lines, rest] if final else lines:
            self._search(line.rstrip("\r")[:_LONGEST_LINE])

    def _admitted(self, data: bytes) -> bytes:
        """Return what of `data` there is time to search: after a gap, from the next line on."""
        now = self._clock()
        self._room = min(BURST, self._room + (now - self._since) * RATE)
        self._since = now
        if len(data) > self._room:
            self._skipped += len(data)
            self.skipped += len(data)
            self._rest, self._in_gap = "", True
            return b""
        self._room -= len(data)
        if self._in_gap and (newline := data.find(b"\n")) >= 0:
            data, self._in_gap = data[newline + 1 :], False
        return b"" if self._in_gap else data

    def take(self) -> tuple[list[str], str]:
        """Return the lines found since the last call, each with its number if it came several times, and what
        is left out, in words."""
        lines = [f"{line} ({count:,} times)" if count > 1 else line for line, count in self._found.items()]
        omitted = f"and {self._omitted:,} more" if self._omitted else ""
        skipped = f"{self._skipped:,} bytes came too fast to be searched" if self._skipped else ""
        self._found, self._omitted, self._skipped = {}, 0, 0
        return lines, "; ".join(filter(None, (omitted, skipped)))

    @property
    def first(self) -> str:
        """The first of the lines that were not taken; empty if there is none."""
        return next(iter(self._found), "")

    @property
    def has_news(self) -> bool:
        return bool(self._found)

    @property
    def is_worth_reporting(self) -> bool:
        """True if it has news, or has failed."""
        return self.has_news or self.has_failed

    def _search(self, line: str) -> None:
        if self.has_failed:
            return
        try:
            if self._expression.search(line, timeout=_PATIENCE) is None:
                return
        except TimeoutError:
            self.has_failed = True
            return
        self.matches += 1
        shown = line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"
        if shown in self._found or len(self._found) < MOST_LINES:
            self._found[shown] = self._found.get(shown, 0) + 1
        else:
            self._omitted += 1


def _compiled(pattern: str) -> Any:
    import regex

    if len(pattern) > LONGEST_PATTERN:
        raise ToolError(f"The pattern has more than {LONGEST_PATTERN} characters.", "Shorten it.")
    try:
        return regex.compile(pattern)
    except (regex.error, RecursionError, OverflowError) as error:
        raise ToolError(f"The pattern is no regular expression: {error}.") from None

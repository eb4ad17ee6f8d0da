"""Incremental search in a stream of text: markers, Markdown code, the end of a JSON object.

Each scanner is fed pieces of any size and gives the same answer for every way of cutting them. A
character is looked at a bounded number of times, and no more is held back than could be a marker.
"""

import re
from collections.abc import Callable, Collection

_INLINE_STOP = re.compile(r"[<`\r\n]")
_SPAN_STOP = re.compile(r"[`\r\n]")
_LINE_END = re.compile(r"[\r\n]")
_NOT_SPACE = re.compile(r"\S")

JOINER = "\u2060"
"""A word joiner: put into what would be a marker, it keeps it text, and takes no place."""


class MarkdownCode:
    """Knows where answer text is Markdown code: fenced blocks and inline spans (protocols.md, rule 10).

    A fence opens at a line's start after at most three spaces (CommonMark 4.5); an inline span runs
    from a run of backticks to the next run of the same length, or to the line's end.
    """

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Begin a new unit of text: its first character that is no white space starts a line."""
        self._step: Callable[[MarkdownCode, str, int], int] = MarkdownCode._unit_start
        self._indent = 0
        self._fence = ""
        self._opened = 0
        self._run = 0

    @staticmethod
    def open_fence(text: str) -> str:
        """The fence that would close the block left open at the end of `text`, or ""."""
        code = MarkdownCode()
        text += "\n"
        index = 0
        while index < len(text):
            index = code.skip(text, index)
            index += index < len(text)
        inside = (MarkdownCode._fence_start, MarkdownCode._fence_body)
        return code._fence * code._opened if code._step in inside else ""

    def skip(self, text: str, index: int) -> int:
        """Go from `index` to the first `<` outside code, or to the end of `text`."""
        end = len(text)
        while index < end:
            if self._step is MarkdownCode._inline:
                stop = _INLINE_STOP.search(text, index)
                if stop is None:
                    return end
                index = stop.start()
                if text[index] == "<":
                    return index
            index = self._step(self, text, index)
        return index

    # Each step consumes from `index` and returns the next one; one that only changes the state
    # returns the index that it was given.

    def _unit_start(self, text: str, index: int) -> int:
        found = _NOT_SPACE.search(text, index)
        if found is None:
            return len(text)
        self._step = MarkdownCode._line_start
        return found.start()

    def _line_start(self, text: str, index: int) -> int:
        char = text[index]
        if char in "\r\n":
            self._indent = 0
            return index + 1
        if char == " " and self._indent < 3:
            self._indent += 1
            return index + 1
        if char in "`~":
            self._fence = char
            self._run = 0
            self._step = MarkdownCode._opening_run
        else:
            self._step = MarkdownCode._inline
        return index

    def _opening_run(self, text: str, index: int) -> int:
        if text[index] == self._fence:
            self._run += 1
            return index + 1
        self._opened = self._run
        if self._run >= 3:
            self._step = MarkdownCode._backtick_info if self._fence == "`" else MarkdownCode._tilde_info
        else:
            self._step = MarkdownCode._span if self._fence == "`" else MarkdownCode._inline
        return index

    def _backtick_info(self, text: str, index: int) -> int:
        # An info string with a backtick in it makes no fence: the run was that of an inline span.
        stop = _SPAN_STOP.search(text, index)
        if stop is None:
            return len(text)
        if stop.group() == "`":
            return self._begin_closing_run(stop.start())
        return self._begin_fence_line(stop.end())

    def _tilde_info(self, text: str, index: int) -> int:
        stop = _LINE_END.search(text, index)
        return len(text) if stop is None else self._begin_fence_line(stop.end())

    def _inline(self, text: str, index: int) -> int:
        if text[index] == "`":
            self._fence = "`"
            self._run = 0
            self._step = MarkdownCode._inline_run
            return index
        return self._begin_line(index + 1)

    def _inline_run(self, text: str, index: int) -> int:
        if text[index] == "`":
            self._run += 1
            return index + 1
        self._opened = self._run
        self._step = MarkdownCode._span
        return index

    def _span(self, text: str, index: int) -> int:
        stop = _SPAN_STOP.search(text, index)
        if stop is None:
            return len(text)
        if stop.group() == "`":
            return self._begin_closing_run(stop.start())
        return self._begin_line(stop.end())

    def _begin_closing_run(self, index: int) -> int:
        self._run = 0
        self._step = MarkdownCode._closing_run
        return index

    def _closing_run(self, text: str, index: int) -> int:
        if text[index] == "`":
            self._run += 1
            return index + 1
        self._step = MarkdownCode._inline if self._run == self._opened else MarkdownCode._span
        return index

    def _begin_line(self, index: int) -> int:
        self._indent = 0
        self._step = MarkdownCode._line_start
        return index

    def _begin_fence_line(self, index: int) -> int:
        self._indent = 0
        self._step = MarkdownCode._fence_start
        return index

    def _fence_start(self, text: str, index: int) -> int:
        char = text[index]
        if char in "\r\n":
            self._indent = 0
            return index + 1
        if char == " " and self._indent < 3:
            self._indent += 1
            return index + 1
        self._run = 0
        self._step = MarkdownCode._fence_run if char == self._fence else MarkdownCode._fence_body
        return index

    def _fence_run(self, text: str, index: int) -> int:
        if text[index] == self._fence:
            self._run += 1
            return index + 1
        self._step = MarkdownCode._fence_tail if self._run >= self._opened else MarkdownCode._fence_body
        return index

    def _fence_tail(self, text: str, index: int) -> int:
        char = text[index]
        if char in "\r\n":
            return self._begin_line(index + 1)
        if char in " \t":
            return index + 1
        self._step = MarkdownCode._fence_body
        return index

    def _fence_body(self, text: str, index: int) -> int:
        stop = _LINE_END.search(text, index)
        return len(text) if stop is None else self._begin_fence_line(stop.end())


class MarkerScanner:
    """Finds the first of some markers in answer text, outside Markdown code.

    Markers begin with `<` and have no further `<` in them, so a candidate that fails can only be
    followed, never overlapped, by another.
    """

    def __init__(self, markers: Collection[str]) -> None:
        self._markers = frozenset(markers)
        self._prefixes = frozenset(marker[:size] for marker in markers for size in range(1, len(marker)))
        self._code = MarkdownCode()
        self._held = ""

    def restart(self) -> None:
        """Begin a new unit of text."""
        self._code.restart()

    def scan(self, text: str, index: int) -> tuple[str, int, str]:
        """Look at `text` from `index`: the plain text passed over, where to go on, the marker met or ""."""
        plain = ""
        if not self._held:
            start = index
            index = self._code.skip(text, index)
            plain = text[start:index]
        held = self._held
        while index < len(text):
            grown = held + text[index]
            if grown in self._prefixes:
                held = grown
                index += 1
                continue
            self._held = ""
            if grown in self._markers:
                return plain, index + 1, grown
            return plain + held, index, ""
        self._held = held
        return plain, index, ""

    def flush(self) -> str:
        """The text held back when the stream closes: it turned out to be no marker."""
        held, self._held = self._held, ""
        return held


class LiteralScanner:
    """Finds the first occurrence of a closing marker, whatever stands around it."""

    def __init__(self, literal: str) -> None:
        self._literal = literal
        self._matched = 0

    def scan(self, text: str, index: int) -> tuple[str, int, bool]:
        """As `MarkerScanner.scan`, for the one literal."""
        literal = self._literal
        plain = ""
        matched = self._matched
        if not matched:
            start = index
            found = text.find(literal[0], index)
            index = len(text) if found < 0 else found
            plain = text[start:index]
        while index < len(text):
            if text[index] != literal[matched]:
                # The first character stands nowhere else in a marker: nothing overlaps.
                self._matched = 0
                return plain + literal[:matched], index, False
            matched += 1
            index += 1
            if matched == len(literal):
                self._matched = 0
                return plain, index, True
        self._matched = matched
        return plain, index, False

    def flush(self) -> str:
        """The text held back when the stream closes."""
        held, self._matched = self._literal[: self._matched], 0
        return held


class LineMarkerScanner:
    """Finds markers at a line's start, leading spaces allowed, for the delimiter dialect.

    `markers` count as soon as they are complete, `words` where white space or the stream's end follows.
    """

    def __init__(self, markers: Collection[str], words: Collection[str]) -> None:
        self._markers = frozenset(markers)
        self._words = frozenset(words)
        known = [*markers, *words]
        self._prefixes = frozenset(marker[:size] for marker in known for size in range(1, len(marker)))
        self._starts = frozenset(marker[0] for marker in known)
        self._at_start = True
        self._held = ""

    def restart(self, *, at_start: bool) -> None:
        """Go on at a line's start, or within a line."""
        self._at_start = at_start

    def scan(self, text: str, index: int) -> tuple[str, int, str]:
        """As `MarkerScanner.scan`."""
        start = index
        if self._held:
            return self._candidate("", text, index)
        while index < len(text):
            if not self._at_start:
                line_end = text.find("\n", index)
                if line_end < 0:
                    break
                index = line_end + 1
                self._at_start = True
            elif text[index] in " \n":
                index += 1
            elif text[index] in self._starts:
                return self._candidate(text[start:index], text, index)
            else:
                self._at_start = False
        return text[start:], len(text), ""

    def _candidate(self, plain: str, text: str, index: int) -> tuple[str, int, str]:
        held = self._held
        while index < len(text):
            char = text[index]
            if held in self._words and char.isspace():
                self._held = ""
                return plain, index, held
            grown = held + char
            if grown in self._markers:
                self._held = ""
                return plain, index + 1, grown
            if grown not in self._prefixes and grown not in self._words:
                self._held = ""
                self._at_start = False
                return plain + held, index, ""
            held = grown
            index += 1
        self._held = held
        return plain, index, ""

    def close(self) -> tuple[str, str]:
        """The stream has ended: the text held back, or the word that now counts as a marker."""
        held, self._held = self._held, ""
        return ("", held) if held in self._words else (held, "")


def shield(content: str, markers: Collection[str]) -> str:
    """Answer text of any origin as text of a dialect with these markers.

    What would be a marker gets a `JOINER` after its "<", and a fenced block left open is closed.
    """
    scanner = MarkerScanner(markers)
    pieces: list[str] = []
    index = 0
    while index < len(content):
        plain, index, marker = scanner.scan(content, index)
        pieces.append(plain)
        if marker:
            pieces.append(f"<{JOINER}{marker[1:]}")
    text = "".join(pieces) + scanner.flush()
    fence = MarkdownCode.open_fence(text)
    return f"{text}\n{fence}" if fence else text

"""Incremental search for markers in a stream of text.

Each scanner is fed pieces of any size and gives the same answer for every way of cutting them. A character
is examined a bounded number of times, and no more is held back than could be a marker.
"""

from collections.abc import Collection

from cogency_tui.protocol.markdown_code import FENCES, MarkdownCode

JOINER = "\u2060"
"""Word joiner: within a would-be marker it makes it text, and takes no space."""


class MarkerScanner:
    """Finds the first of some markers in answer text, outside Markdown code.

    Markers begin with `<` and contain no further `<`, so a candidate that fails can only be followed, never
    overlapped, by another.
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
        """Scan `text` from `index`; return the plain text before a marker, the index to continue at, and
        the marker or ""."""
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
        """Return the text held back when the stream closes: it turned out to be no marker."""
        held, self._held = self._held, ""
        return held


class LiteralScanner:
    """Finds the first occurrence of a closing marker, whatever is around it."""

    def __init__(self, literal: str) -> None:
        self._literal = literal
        self._matched = 0

    @property
    def held(self) -> int:
        """Characters held back, which may begin the marker."""
        return self._matched

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
                # The first character occurs nowhere else in a marker: nothing overlaps.
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
        """Return the text held back when the stream closes."""
        held, self._matched = self._literal[: self._matched], 0
        return held


class LineMarkerScanner:
    """Finds markers at a line's start, leading spaces allowed, for the delimiter dialect.

    `markers` count as soon as they are complete, `words` where they are alone on their line.
    """

    def __init__(self, markers: Collection[str], words: Collection[str]) -> None:
        self._markers = frozenset(markers)
        self._words = frozenset(words)
        known = [*markers, *words]
        self._prefixes = frozenset(marker[:size] for marker in known for size in range(1, len(marker)))
        self._starts = frozenset(marker[0] for marker in known)
        self._at_start = True
        self._held = ""
        self._word = ""
        self._space: list[str] = []

    def restart(self, *, at_start: bool) -> None:
        """Continue at a line's start, or within a line."""
        self._at_start = at_start

    def scan(self, text: str, index: int) -> tuple[str, int, str]:
        """As `MarkerScanner.scan`."""
        start = index
        if self._held or self._word:
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
            if self._word:
                if char == "\n":
                    return plain, index, self._take_word()
                if not char.isspace():
                    self._at_start = False
                    return plain + self._take_space(), index, ""
                self._space.append(char)
                index += 1
                continue
            if held in self._words and char.isspace():
                self._word, self._held, held = held, "", ""
                continue
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

    def _take_word(self) -> str:
        """Return the word that is a marker, and drop the white space after it."""
        word, self._word = self._word, ""
        self._space.clear()
        return word

    def _take_space(self) -> str:
        """Return the word that is text, with the white space after it."""
        text = "".join((self._word, *self._space))
        self._word = ""
        self._space.clear()
        return text

    def close(self) -> tuple[str, str]:
        """End the stream: return the text held back, and the word that now counts as a marker."""
        held, self._held = self._held, ""
        word = self._take_word() or held
        return ("", word) if word in self._words else (held, "")


def shield(content: str, markers: Collection[str], *, last: bool = False) -> str:
    """Convert answer text of any origin to text of a dialect with these markers.

    A would-be marker gets a `JOINER` after its "<". A fenced block left open is closed, unless the text is
    the `last` of its message: it would enclose what follows.
    """
    # A line break follows in the message: with it, the end of the text could be a marker as well.
    line = f"{content}\n"
    # Nearly every text has neither marker nor fence: this check is a hundred times cheaper than a scan, and
    # each request contains the whole conversation.
    if any(marker in line for marker in markers):
        content = _joined(line, markers)[:-1]
    fence = "" if last or not any(mark in content for mark in FENCES) else MarkdownCode.open_fence(content)
    return f"{content}\n{fence}" if fence else content


def _joined(content: str, markers: Collection[str]) -> str:
    """Put a `JOINER` in would-be markers of `content`."""
    scanner = MarkerScanner(markers)
    pieces: list[str] = []
    index = 0
    while index < len(content):
        plain, index, marker = scanner.scan(content, index)
        pieces.append(plain)
        if marker:
            pieces.append(f"<{JOINER}{marker[1:]}")
    return "".join(pieces)

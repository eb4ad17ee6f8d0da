"""Markdown code in answer text, in which markers are content."""

import re
from collections.abc import Callable

_INLINE_STOP = re.compile(r"[<`\r\n]")
_SPAN_STOP = re.compile(r"[`\r\n]")
_LINE_END = re.compile(r"[\r\n]")
_NOT_SPACE = re.compile(r"\S")

FENCES = ("```", "~~~")
"""One of them is in every line that opens a fenced block."""


class MarkdownCode:
    """Tracks Markdown code in answer text: fenced blocks and inline spans.

    A fence opens at a line's start after at most three spaces (CommonMark 4.5); an inline span extends from
    a run of backticks to the next run of the same length, or to the line's end.
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
        """Return the fence that would close the block left open at the end of `text`, or ""."""
        code = MarkdownCode()
        code.advance(f"{text}\n")
        return code.fence

    @property
    def fence(self) -> str:
        """Fence that would close the block open at the start of a line, or ""."""
        inside = (MarkdownCode._fence_start, MarkdownCode._fence_body)
        return self._fence * self._opened if self._step in inside else ""

    def advance(self, text: str) -> None:
        """Advance to the end of `text`, whatever is in it."""
        index = 0
        while index < len(text):
            index = self.skip(text, index)
            index += index < len(text)

    def skip(self, text: str, index: int) -> int:
        """Advance from `index` to the first `<` outside code, or to the end of `text`."""
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
        # An info string with a backtick makes no fence: the run was that of an inline span.
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

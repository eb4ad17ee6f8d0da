"""Markdown while it is being written: settled lines are drawn once and never touched again.

Work is proportional to what is new: of the source only the part after the last settled block is kept
and parsed again, and a fence is coloured line by line as its lines are completed.
"""

import re

from cogency_tui.tui.drawing.code import CodePainter
from cogency_tui.tui.drawing.lines import BLANK, Line
from cogency_tui.tui.drawing.markdown import MarkdownDrawer, parse, top_level_blocks
from cogency_tui.tui.theming import Inks

_OPENING = re.compile(r" {0,3}(?P<fence>`{3,}(?=[^`\n]*(?:\n|\Z))|~{3,})(?P<info>[^\n]*)")

_ANY_OPENING = re.compile(r"^ {0,3}(?:`{3,}|~{3,})", re.MULTILINE)
_BLOCK_LIMIT = 16_384


class _Fence:
    """A fence that has been opened and not closed."""

    def __init__(self, opening: re.Match[str], start: int, width: int, inks: Inks) -> None:
        fence = opening["fence"]
        language = opening["info"].split(maxsplit=1)
        self.start = start
        self.source: list[str] = []
        self.painter = CodePainter(language[0] if language else "", width, inks)
        self.indent = len(opening[0]) - len(opening[0].lstrip(" "))
        self._closing = re.compile(rf" {{0,3}}{re.escape(fence[0])}{{{len(fence)},}}[ \t]*\Z")

    def closes(self, line: str) -> bool:
        return self._closing.match(line) is not None

    def body(self, line: str) -> str:
        spaces = len(line) - len(line.lstrip(" "))
        return line[min(self.indent, spaces) :]


class MarkdownStream:
    """The lines of a text that grows at its end."""

    def __init__(self, width: int, inks: Inks) -> None:
        self._width = width
        self._inks = inks
        self._drawer = MarkdownDrawer(width, inks)
        self._settled: list[Line] = []
        self._tail: list[Line] = []
        self._rest = ""
        self._fence: _Fence | None = None

    def __len__(self) -> int:
        return len(self._settled) + len(self._tail)

    def line(self, index: int) -> Line:
        settled = len(self._settled)
        return self._settled[index] if index < settled else self._tail[index - settled]

    def feed(self, text: str) -> None:
        """Draw what `text` adds."""
        self._rest += text
        self._tail = []
        more = True
        while more and self._rest:
            more = self._draw_code(self._fence) if self._fence else self._draw_blocks()

    def close(self) -> None:
        """Nothing more comes: what is open is settled as it stands."""
        if self._fence:
            self._finish(self._fence, self._rest)
        else:
            self._settle(self._gap(self._drawer.draw(parse(self._rest))))
        self._tail, self._rest = [], ""

    def _draw_blocks(self) -> bool:
        """Settle all blocks but the last and draw that as the tail; or stop in front of a fence's code.

        Returns:
            Whether there is more to draw.
        """
        self._rest = self._rest.lstrip("\n")
        if opening := _OPENING.match(self._rest):
            return self._open(opening)
        if len(self._rest) > _BLOCK_LIMIT:
            return self._settle_part(_BLOCK_LIMIT)
        blocks = top_level_blocks(parse(self._rest))
        lines = self._rest.split("\n")
        # What begins in a line that is still being written, right below another block, may turn out to be
        # something else and to belong to that block.
        certain = [block for block in blocks if block[0] < len(lines) - 1 or not lines[block[0] - 1].strip()]
        for start, tokens in certain[:-1] if len(certain) > 1 else ():
            if tokens[0].type == "fence":
                return self._keep(lines, start, more=True)
            self._settle(self._gap(self._drawer.draw(tokens)))
        if certain and certain[-1][1][0].type == "fence":
            return self._keep(lines, certain[-1][0], more=True)
        self._keep(lines, certain[-1][0] if certain else 0, more=False)
        last = [token for _start, tokens in blocks[max(0, len(certain) - 1) :] for token in tokens]
        self._tail = self._gap(self._drawer.draw(last))
        return False

    def _keep(self, lines: list[str], start: int, *, more: bool) -> bool:
        """What is from line `start` on is not settled yet. Returns `more`."""
        self._rest = "\n".join(lines[start:])
        return more

    def _open(self, opening: re.Match[str]) -> bool:
        """Go on inside the fence if the line that opens it is complete."""
        _line, newline, code = self._rest.partition("\n")
        if newline:
            self._settle([BLANK] if self._settled else [])
            self._fence = _Fence(opening, len(self._settled), self._width, self._inks)
            self._rest = code
        return bool(newline)

    def _settle_part(self, limit: int) -> bool:
        """Settle about the first `limit` characters: a block that grows is not parsed again and again."""
        part = self._rest[:limit]
        cut = max(part.rfind("\n\n"), 0) or max(part.rfind("\n"), 0) or max(part.rfind(" "), 0) or limit
        fence = next((m.start() for m in _ANY_OPENING.finditer(part) if 0 < m.start() < cut), 0)
        cut = fence or cut
        self._settle(self._gap(self._drawer.draw(parse(self._rest[:cut]))))
        self._rest = self._rest[cut:]
        return True

    def _draw_code(self, fence: _Fence) -> bool:
        """Settle each line of the fence that is complete; the line being written is the tail.

        Returns:
            Whether the fence was closed.
        """
        *complete, partial = self._rest.split("\n")
        for index, line in enumerate(complete):
            if fence.closes(line):
                self._rest = "\n".join([*complete[index + 1 :], partial])
                self._finish(fence)
                return True
            fence.source.append(fence.body(line))
            self._settle(fence.painter.line(fence.source[-1]))
        self._rest = partial
        if partial and not fence.closes(partial):
            self._tail = fence.painter.line(fence.body(partial))
        return False

    def _finish(self, fence: _Fence, last: str = "") -> None:
        if last and not fence.closes(last):
            fence.source.append(fence.body(last))
        source = "\n".join(fence.source)
        if len(source) <= _BLOCK_LIMIT:
            self._settled[fence.start :] = fence.painter.block(source)
        elif last:
            self._settle(fence.painter.line(fence.source[-1]))
        self._fence = None

    def _gap(self, drawn: list[Line]) -> list[Line]:
        return [BLANK, *drawn] if self._settled and drawn else drawn

    def _settle(self, drawn: list[Line]) -> None:
        self._settled += drawn

"""Values that are assigned over several lines, or in several pieces, behind a name and its sign.

Formats and languages write one value in many ways: on the next line, as a block of YAML, as a list, in
brackets, between three quotes, as consecutive literals. To read them all, one walk passes over layout, and
collects the pieces between. It ends at any other token, above all at the next name.
"""

import re
from typing import NamedTuple

from cogency_tui.redaction.secret_spans import WIDEST, Span

_LONGEST_BARE = 1024
_MARGIN = (
    r"(?:(?=[^\s:]{0,200}[./])[^\s:]{1,200}?(?:-\d{1,9}-|:\d{1,9}:)|[ \t]{0,16}\d{1,9}(?:\t|[:|-] ?))?\+?"
)
"""Margins that programs, and our own results, put before a line of a file."""

_PIECE = r"[^\s\"'`\\]+"
_BREAK = rf"[ \t]*+\\?\r?\n{_MARGIN}[ \t]*+"
_SCHEME = r"(?i:(?:basic|bearer|token|apikey|api-key)[ \t]{1,4})?"
_TOKEN = re.compile(
    r"(?P<blank>(?:[ \t]|\\[nrt])++)"
    rf"|(?P<line>\r?\n{_MARGIN})"
    r"|(?P<item>-(?=[ \t]))"
    r"|(?P<comment>(?:(?<=[\s+])(?:#|//)|<!--)[^\n]*+)"
    r"|(?P<head>[|>][1-9]?[+-]?[1-9]?(?=\s|\Z)|!{1,2}[\w:/.-]*+(?=\s)|&[\w-]++(?=\s)|<!\[CDATA\["
    r"|<<[~-]?[\"']?(?P<marker>[A-Za-z_]\w{0,80})[\"']?(?=\s))"
    r"|(?P<open>[(\[{])"
    r"|(?P<close>[)\]}])"
    r"|(?P<comma>,)"
    r"|(?P<join>\+(?!=)|\.{1,2}(?=\s)|&(?=\s)|\\(?=\r?\n))"
    r"|(?P<literal>(?:[bBrRuUfFL]{1,2}|r#{1,3}|@|)(?P<quote>\"\"\"|'''|\\{0,2}[\"'`])"
    rf"(?P<content>(?:{_BREAK})*+[ \t]*+(?:{_SCHEME}{_PIECE}(?:{_BREAK}{_PIECE})*+)?"
    rf"(?:{_BREAK})*+[ \t]*+)(?:(?P=quote)|\Z)(?![ \t]{{0,8}}(?::|=(?!=))))"
    rf"|(?P<bare>[^\s\"'`\\<>,;&(){{}}\[\]|]{{1,{_LONGEST_BARE}}}+"
    r"(?=[ \t]*+(?:[\r\n<,;)\]}]|\\\r?\n|\Z)|[ \t]++(?:#|//)))"
)
_PIECES = re.compile(_PIECE)
_CONTENT = re.compile(rf"(?:{_BREAK})*+[ \t]*+{_SCHEME}")
_BREAKS = re.compile(_BREAK)
_INDENT = re.compile(rf"{_MARGIN}(?P<indent>[ \t]*)")
_SETTING = re.compile(r"[\w.-]+(?::\Z|=(?!=*\Z))")

_UNFINISHED = re.compile(r"\S{0,16}\Z")
"""The beginning of a token that may continue."""


class Value(NamedTuple):
    """A value, whose pieces are separate; one without quotes is `bare`."""

    pieces: tuple[Span, ...]
    text: str
    bare: bool


class Assigned(NamedTuple):
    """The values that are assigned to one name. They end at `end`; the text from `undecided` on may have
    another meaning as soon as more text follows, unless it is None."""

    values: tuple[Value, ...]
    end: int
    undecided: int | None


def assigned_values(text: str, start: int) -> Assigned:
    """Return the values behind a name whose sign ends at `start`."""
    walk = _Walk(text, start)
    walk.go()
    return walk.result()


class _Walk:
    """The walk over the values that are assigned to one name."""

    def __init__(self, text: str, start: int) -> None:
        self._text = text
        self._start = self._end = start
        self._values: list[Value] = []
        self._pieces: list[Span] = []
        self._run = start
        self._bare = False
        self._brackets = 0
        self._may_be_bare = False
        self._marker = ""
        self._indent = -1
        # The next argument has the indentation of this one.
        self._joined = text[start - 1 : start] == ","

    def go(self) -> None:
        found = _TOKEN.match(self._text, self._end)
        while found and self._accepts(found):
            self._end = found.end()
            found = _TOKEN.match(self._text, self._end)

    def result(self) -> Assigned:
        """Return the values found."""
        run = self._run if self._pieces else self._end
        open_ended = _UNFINISHED.match(self._text, self._end) is not None
        self._settle()
        return Assigned(tuple(self._values), self._end, run if open_ended else None)

    def _accepts(self, found: re.Match[str]) -> bool:
        """Return whether to continue behind a token."""
        kind = found.lastgroup
        match kind:
            case "blank" | "comment":
                return True
            case "line":
                self._indent = _indent(self._text, found.start() + 1 + found[0].startswith("\r"))
                self._may_be_bare = self._may_be_bare or not (self._pieces or self._brackets)
                return True
            case "item":
                return self._begins_item()
            case _ if not self._is_within():
                return False
            case "head":
                self._may_be_bare, self._marker = True, found["marker"] or self._marker
                return not self._pieces
            case "open":
                self._brackets += 1
                self._may_be_bare = found[0] == "["
                return not self._pieces
            case "close" | "comma":
                self._settle()
                self._brackets -= kind == "close"
                return self._brackets > 0
            case "join":
                self._joined = True
                self._may_be_bare = found[0] == "\\"
                return True
            case "literal":
                return self._adds_literal(found)
            case _:
                return self._adds_bare(found)

    def _is_within(self) -> bool:
        """Return whether the present line belongs to the value: it is indented, or continues it."""
        if self._indent < 0:
            return True
        first = self._text.rfind("\n", max(0, self._start - WIDEST), self._start) + 1
        deeper = self._indent > _indent(self._text, first)
        self._indent = -1
        return deeper or self._joined or self._brackets > 0 or bool(self._marker)

    def _begins_item(self) -> bool:
        """Return whether a dash begins an item of a list, as it does at the beginning of a line."""
        if self._indent < 0 or self._brackets:
            return False
        first = self._text.rfind("\n", max(0, self._start - WIDEST), self._start) + 1
        below = self._indent >= _indent(self._text, first)
        self._settle()
        self._indent = -1
        self._may_be_bare = True
        return below

    def _adds_literal(self, found: re.Match[str]) -> bool:
        if self._bare and self._pieces:
            return False
        start, end = found.span("content")
        begin = _CONTENT.match(self._text, start, end)
        start = begin.end() if begin else start
        pieces: list[Span] = []
        for gap in _BREAKS.finditer(self._text, start, end):
            pieces.append((start, gap.start()))
            start = gap.end()
        pieces.append((start, start + len(self._text[start:end].rstrip())))
        self._add(pieces, found.start(), bare=False)
        return True

    def _adds_bare(self, found: re.Match[str]) -> bool:
        setting = _SETTING.match(found[0]) is not None or found[0] == self._marker
        continued = self._text.startswith("\\", found.end())
        if not (self._may_be_bare or continued) or setting or (self._pieces and not self._bare):
            return False
        self._add([found.span()], found.start(), bare=True)
        return True

    def _add(self, pieces: list[Span], start: int, *, bare: bool) -> None:
        if not self._pieces:
            self._run = start
        self._pieces += [piece for piece in pieces if piece[0] < piece[1]]
        self._bare = bare
        self._joined = False

    def _settle(self) -> None:
        """Combine the pieces so far to one value."""
        if self._pieces:
            text = "".join(self._text[slice(*piece)] for piece in self._pieces)
            self._values.append(Value(tuple(self._pieces), text, self._bare))
        self._pieces = []


def _indent(text: str, start: int) -> int:
    found = _INDENT.match(text, start)
    return len(found["indent"].expandtabs()) if found else 0

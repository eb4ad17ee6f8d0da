"""Markdown as lines: markdown-it finds the blocks, this module draws them. No widget, no markup.

Nothing that was written is left out: HTML and link definitions are shown as text, a link shows where it
goes. Addresses are never handed to the terminal as links of its own.
"""

import re
from collections.abc import Sequence
from functools import cache
from itertools import groupby

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from rich.segment import Segment

from cogency_tui.tui.drawing.code import draw_code
from cogency_tui.tui.drawing.lines import BLANK, Line, wrap
from cogency_tui.tui.drawing.tables import draw_table
from cogency_tui.tui.theming import Inks

_BULLETS = "•◦▪"
_MARKS = {"strong": "bold", "em": "italic", "s": "strike", "link": "underline"}
_HEADINGS = (("accent", "bold underline"), ("accent", "bold"), ("text", "bold"), ("text", "bold italic"))
_TASK = re.compile(r"\[([ xX])\](?:\s+|\Z)")
_NARROWEST = 16
"""Cells below which what is nested is not indented any more."""

_MOST_BRACKETS = 200
"""Opening brackets in a paragraph, a cell or the like, above which it is drawn without links and images: for
each of them the parser searches the text behind it, to the depth of its nesting."""


@cache
def _parser(*, links: bool = True) -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": 100})
    parser.core.ruler.at("inline", _parse_inline)
    parser.enable(["table", "strikethrough"]).disable("reference")
    return parser if links else parser.disable(["link", "image"])


def _parse_inline(state: StateCore) -> None:
    for token in state.tokens:
        if token.type == "inline":
            parser = _parser(links=token.content.count("[") <= _MOST_BRACKETS)
            token.children = []
            parser.inline.parse(token.content, parser, state.env, token.children)


def parse(source: str) -> list[Token]:
    """The block tokens of `source`."""
    return _parser().parse(source)


def _blocks(tokens: Sequence[Token]) -> list[Sequence[Token]]:
    """The tokens of each of the blocks side by side that `tokens` consist of."""
    if not tokens:
        return []
    level = tokens[0].level
    starts = [i for i, token in enumerate(tokens) if token.level == level and token.nesting >= 0]
    return [tokens[start:stop] for start, stop in zip(starts, [*starts[1:], len(tokens)], strict=True)]


class MarkdownDrawer:
    """Draws block tokens in `width` cells."""

    def __init__(self, width: int, inks: Inks, role: str = "text", depth: int = 0) -> None:
        self._depth = depth
        self._width = max(4, width)
        self._inks = inks
        self._role = role

    def draw(self, tokens: Sequence[Token], *, tight: bool = False) -> list[Line]:
        """The lines of `tokens`, one blank line between blocks unless `tight`."""
        lines: list[Line] = []
        for block in _blocks(tokens):
            drawn = self._block(block)
            if lines and drawn and not tight:
                lines.append(BLANK)
            lines += drawn
        return lines

    def _block(self, tokens: Sequence[Token]) -> list[Line]:
        first, inside = tokens[0], tokens[1:-1]
        match first.type:
            case "heading_open":
                role, attributes = _HEADINGS[min(int(first.tag[1:]), len(_HEADINGS)) - 1]
                role = self._role if role == "text" else role
                return wrap(self.inline(inside[0], attributes, role), self._width)
            case "paragraph_open":
                return wrap(self.inline(inside[0]), self._width)
            case "fence" | "code_block":
                language = first.info.split(maxsplit=1)[0] if first.info.strip() else ""
                return draw_code(language, first.content.removesuffix("\n"), self._width, self._inks)
            case "blockquote_open":
                return self._quote(inside)
            case "bullet_list_open" | "ordered_list_open":
                return self._list(first, inside)
            case "hr":
                return [Line([Segment("─" * self._width, self._inks("rule"))])]
            case "table_open":
                return draw_table(inside, self._width, self._inks, self.inline)
            case _:
                return wrap([Segment(first.content, self._inks(self._role))], self._width)

    def _quote(self, tokens: Sequence[Token]) -> list[Line]:
        bar = Segment("▎ ", self._inks("rule"))
        indent = self._indent(2)
        lines = MarkdownDrawer(self._width - indent, self._inks, "dim", self._depth + 1).draw(tokens)
        return [line.indented(bar) for line in lines or [BLANK]] if indent else lines

    def _list(self, opening: Token, tokens: Sequence[Token]) -> list[Line]:
        ordered = opening.type == "ordered_list_open"
        start = opening.attrGet("start")
        number = 1 if start is None else int(start)
        items = _blocks(tokens)
        size = len(f"{number + len(items) - 1}. ") if ordered else 2
        indent = self._indent(size)
        inner = MarkdownDrawer(self._width - size, self._inks, self._role, self._depth + 1)
        after = inner if indent else MarkdownDrawer(self._width, self._inks, self._role, self._depth + 1)
        tight = all(
            token.hidden
            for item in items
            for token in item
            if token.type == "paragraph_open" and token.level == opening.level + 2
        )
        lines: list[Line] = []
        for index, item in enumerate(items):
            mark = f"{number + index}.".rjust(size - 1) + " " if ordered else self._bullet()
            first, *others = _blocks(item[1:-1]) or [()]
            mark = _take_task(first) or mark
            if lines and not tight:
                lines.append(BLANK)
            drawn = inner.draw(first) or [BLANK]
            lines.append(_marked(drawn[0], Segment(mark.ljust(size), self._inks("dim"))))
            lines += _indented(drawn[1:], Segment(" " * size, self._inks()))
            for block in others:
                more = after.draw(block)
                lines += [] if tight else [BLANK]
                lines += _indented(more, Segment(" " * indent, self._inks())) if indent else more
        return lines

    def _bullet(self) -> str:
        return f"{_BULLETS[min(self._depth, len(_BULLETS) - 1)]} "

    def _indent(self, size: int) -> int:
        """By how many cells what is nested is indented: not at all where that would leave too few."""
        return size if self._width - size >= _NARROWEST else 0

    def inline(self, token: Token, attributes: str = "", role: str = "") -> list[Segment]:
        """The spans of one inline token."""
        role = role or self._role
        marks: list[str] = attributes.split()
        hrefs: list[tuple[str, int]] = []
        spans: list[Segment] = []

        def put(text: str, ink: str = role) -> None:
            ink = "accent" if hrefs and ink == role else ink
            spans.append(Segment(text, self._inks(ink, "surface", " ".join(sorted(set(marks))))))

        for child in token.children or ():
            name = child.type.removesuffix("_open").removesuffix("_close")
            if child.type == "text":
                put(child.content)
            elif child.type == "code_inline":
                put(child.content, "edit")
            elif child.type == "softbreak":
                put(" ")
            elif child.type == "hardbreak":
                put("\n")
            elif child.type == "image":
                put(f"[image: {child.content}]", "dim")
                put(f" ({child.attrGet('src')})", "dim")
            elif name in _MARKS and child.nesting > 0:
                marks.append(_MARKS[name])
                if name == "link":
                    hrefs.append((str(child.attrGet("href") or ""), len(spans)))
            elif name in _MARKS:
                marks.remove(_MARKS[name])
                if name == "link":
                    href, start = hrefs.pop()
                    said = "".join(span.text for span in spans[start:])
                    if href not in (said, f"mailto:{said}", ""):
                        put(f" ({href})", "dim")
            else:
                put(child.content)
        return [
            Segment("".join(span.text for span in group), style)
            for style, group in groupby(spans, lambda span: span.style)
        ]


def _take_task(block: Sequence[Token]) -> str:
    """The box of a task that `block` begins with, which is taken away from it; else nothing."""
    inline = next((token for token in block if token.type == "inline"), None)
    if inline is None or not inline.children or block[0].type != "paragraph_open":
        return ""
    text = inline.children[0]
    found = _TASK.match(text.content) if text.type == "text" else None
    if not found:
        return ""
    text.content = text.content[found.end() :]
    return "☐ " if found[1] == " " else "☑ "


def _marked(line: Line, mark: Segment) -> Line:
    """`line` after the mark of its item, which is copied with it unless there is decoration between them."""
    return line.indented(mark) if line.lead else Line([mark, *line.segments])


def _indented(lines: Sequence[Line], indent: Segment) -> list[Line]:
    return [line.indented(indent) for line in lines]

"""Markdown as lines: markdown-it finds the blocks, this module draws them. No widget, no markup.

Nothing that was written is left out: HTML and link definitions are shown as text, a link shows where it
goes. Addresses are never handed to the terminal as links of its own.
"""

from collections.abc import Sequence
from functools import cache
from itertools import groupby

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich.segment import Segment

from cogency_tui.tui.drawing.code import CodePainter
from cogency_tui.tui.drawing.lines import BLANK, Line, wrap
from cogency_tui.tui.drawing.tables import draw_table
from cogency_tui.tui.theming import Inks

_BULLETS = "•◦▪"
_MARKS = {"strong": "bold", "em": "italic", "s": "strike", "link": "underline"}


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": 100})
    return parser.enable(["table", "strikethrough"]).disable("reference")


def parse(source: str) -> list[Token]:
    """The block tokens of `source`."""
    return _parser().parse(source)


def top_level_blocks(tokens: Sequence[Token]) -> list[tuple[int, list[Token]]]:
    """Each top-level block's first line in the source, and its tokens."""
    blocks: list[tuple[int, list[Token]]] = []
    for token in tokens:
        if token.level == 0 and token.nesting >= 0:
            blocks.append((token.map[0] if token.map else 0, [token]))
        else:
            blocks[-1][1].append(token)
    return blocks


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
        for _start, block in top_level_blocks(_leveled(tokens)):
            drawn = self._block(block)
            if lines and drawn and not tight:
                lines.append(BLANK)
            lines += drawn
        return lines

    def _block(self, tokens: list[Token]) -> list[Line]:
        first, inside = tokens[0], tokens[1:-1]
        match first.type:
            case "heading_open":
                return self._heading(int(first.tag[1:]), inside[0])
            case "paragraph_open":
                return wrap(self.inline(inside[0]), self._width)
            case "fence" | "code_block":
                language = first.info.split(maxsplit=1)[0] if first.info.strip() else ""
                return CodePainter(language, self._width, self._inks).block(first.content.removesuffix("\n"))
            case "blockquote_open":
                bar = Segment("▎ ", self._inks("rule"))
                return [line.indented(bar) for line in self._inner(2, "dim").draw(inside)]
            case "bullet_list_open" | "ordered_list_open":
                return self._list(first, inside)
            case "hr":
                return [Line([Segment("─" * self._width, self._inks("rule"))])]
            case "table_open":
                return draw_table(inside, self._width, self._inks, self.inline)
            case _:
                return wrap([Segment(first.content, self._inks(self._role))], self._width)

    def _heading(self, level: int, inline: Token) -> list[Line]:
        role = "accent" if level <= 2 else self._role
        return wrap(self.inline(inline, "bold", role), self._width)

    def _list(self, opening: Token, tokens: list[Token]) -> list[Line]:
        ordered = opening.type == "ordered_list_open"
        number = int(opening.attrGet("start") or 1)
        items = [block for _start, block in top_level_blocks(_leveled(tokens))]
        bullet = _BULLETS[min(self._depth, len(_BULLETS) - 1)]
        size = len(f"{number + len(items) - 1}. ") if ordered else 2
        tight = all(token.hidden for item in items for token in item if token.type == "paragraph_open")
        lines: list[Line] = []
        for index, item in enumerate(items):
            mark = f"{number + index}.".rjust(size - 1) + " " if ordered else f"{bullet} "
            drawn = self._inner(size).draw(item[1:-1], tight=tight) or [BLANK]
            if lines and not tight:
                lines.append(BLANK)
            head = Segment(mark, self._inks("dim"))
            lines.append(Line([head, *drawn[0].segments]))
            lines += [line.indented(Segment(" " * size, self._inks())) for line in drawn[1:]]
        return lines

    def _inner(self, indent: int, role: str = "") -> "MarkdownDrawer":
        return MarkdownDrawer(self._width - indent, self._inks, role or self._role, self._depth + 1)

    def inline(self, token: Token, attributes: str = "", role: str = "") -> list[Segment]:
        """The spans of one inline token."""
        role = role or self._role
        marks: list[str] = [attributes] if attributes else []
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
                    if href not in ("".join(span.text for span in spans[start:]), ""):
                        put(f" ({href})", "dim")
            else:
                put(child.content)
        return [
            Segment("".join(span.text for span in group), style)
            for style, group in groupby(spans, lambda span: span.style)
        ]


def _leveled(tokens: Sequence[Token]) -> list[Token]:
    """`tokens` of a container, their levels counted from the container's inside."""
    if not tokens or tokens[0].level == 0:
        return list(tokens)
    base = tokens[0].level
    return [token.copy(level=token.level - base) for token in tokens]

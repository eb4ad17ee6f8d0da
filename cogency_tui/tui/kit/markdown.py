"""Markdown as lines: markdown-it finds the blocks, this module draws them. No widget, no markup.

Nothing written is left out: HTML and link definitions are shown as text. A link shows the host that it leads
to; addresses of the web and of mail are also links of the terminal, which opens them. Table columns are as
wide as needed or as the pane allows, with wrapped cells; where the pane is too narrow for the columns, each
row is drawn as a list of its cells.
"""

import re
from collections.abc import Callable, Sequence
from functools import cache
from itertools import groupby, zip_longest

from rich.segment import Segment
from rich.style import Style

from cogency_tui.lean_imports import without
from cogency_tui.tui.kit.diff_code import draw_code
from cogency_tui.tui.kit.lines import BLANK, Line, width_of, wrap
from cogency_tui.tui.theme_styles import ThemeStyles

with without("linkify_it"):
    # 1 MB. CommonMark knows no links but marked ones.
    from markdown_it import MarkdownIt
    from markdown_it.rules_core import StateCore
    from markdown_it.token import Token

_GAP = 2
_NARROWEST_COLUMN = 6

Inline = Callable[[Token, str], list[Segment]]
Cell = list[Segment]


def draw_table(tokens: Sequence[Token], width: int, styles: ThemeStyles, inline: Inline) -> list[Line]:
    """Draw a table whose inner tokens are `tokens`, no line wider than `width` cells."""
    rows: list[list[Cell]] = []
    aligns: list[str] = []
    for index, token in enumerate(tokens):
        if token.type == "tr_open":
            rows.append([])
        elif token.type in ("th_open", "td_open"):
            rows[-1].append(inline(tokens[index + 1], "bold" if token.type == "th_open" else ""))
            if token.type == "th_open":
                aligns.append(str(token.attrGet("style") or "").removeprefix("text-align:"))
    if not rows or not rows[0]:
        return []
    sizes = _column_sizes(rows, width)
    if sizes is None:
        return _draw_records(rows, width, styles)
    ground = styles()
    lines = _row(rows[0], sizes, aligns, ground)
    lines.append(Line([Segment("─" * (sum(sizes) + _GAP * (len(sizes) - 1)), styles("rule"))]))
    tall = False
    for row in rows[1:]:
        drawn = _row(row, sizes, aligns, ground)
        if tall or (len(drawn) > 1 and row is not rows[1]):
            lines.append(BLANK)
        tall = len(drawn) > 1
        lines += drawn
    return lines


def _column_sizes(rows: list[list[Cell]], width: int) -> list[int] | None:
    """The column widths: as needed; the widest shrink until all fit. None if they cannot."""
    sizes = [
        max(1, *map(width_of, column)) for column in zip_longest(*rows, fillvalue=list[Segment]())
    ]  # fmt: skip
    room = width - _GAP * (len(sizes) - 1)
    if sum(min(size, _NARROWEST_COLUMN) for size in sizes) > room:
        return None
    excess = sum(sizes) - room
    while excess > 0:
        widest = max(sizes)
        second = max((size for size in sizes if size < widest), default=0)
        columns = [index for index, size in enumerate(sizes) if size == widest]
        step = max(1, min(widest - max(second, _NARROWEST_COLUMN), excess // len(columns)))
        for index in columns[: max(1, excess)]:
            sizes[index] -= step
            excess -= step
    return sizes


def _row(row: list[Cell], sizes: list[int], aligns: list[str], ground: Style) -> list[Line]:
    wrapped = [wrap(cell, size) for cell, size in zip(row, sizes, strict=False)]
    lines: list[Line] = []
    for parts in zip_longest(*wrapped, fillvalue=BLANK):
        segments: list[Segment] = []
        for index, (part, size) in enumerate(zip(parts, sizes, strict=False)):
            space = size - width_of(part.segments)
            before = {"right": space, "center": space // 2}.get(
                aligns[index] if index < len(aligns) else "", 0
            )
            segments.append(Segment(" " * (before + (_GAP if index else 0))))
            segments += part.segments
            segments.append(Segment(" " * max(0, space - before)))
        lines.append(
            Line([Segment(segment.text, segment.style or ground) for segment in segments if segment.text])
        )
    return lines


def _draw_records(rows: list[list[Cell]], width: int, styles: ThemeStyles) -> list[Line]:
    """Draw each row as lines of `column: cell`, with a rule between rows; without rows only the columns."""
    head, *body = rows
    colon = Segment(": ", styles("dim"))
    if not body:
        return [line for cell in head for line in wrap(cell, width)]
    lines: list[Line] = []
    for row in body:
        if lines:
            lines.append(Line([Segment("─" * min(width, 8), styles("rule"))]))
        for name, cell in zip_longest(head, row, fillvalue=list[Segment]()):
            if cell:
                lines += wrap([*name, colon, *cell] if name else cell, width)
    return lines


_BULLETS = "•◦▪"
_MARKS = {"strong": "bold", "em": "italic", "s": "strike", "link": "underline"}
_HEADINGS = (("text", "bold"), ("text", "bold"), ("dim", "bold"), ("dim", "bold italic"))
"""The levels; the first has a rule below."""

_ADDRESS = re.compile(r"(?:https?://|mailto:)[!-~]{1,2000}")
"""What the terminal may open. Anything but printable ASCII would reach it raw."""
_TASK = re.compile(r"\[([ xX])\](?:\s+|\Z)")
_NARROWEST = 16
"""Cells below which nested blocks are not indented further."""

_MOST_BRACKETS = 200
"""Opening brackets in a paragraph, a cell or the like above which it is drawn without links and images:
for each of them the parser searches the text behind it, to the depth of its nesting."""


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
    """Parse `source` into block tokens."""
    return _parser().parse(source)


def _blocks(tokens: Sequence[Token]) -> list[Sequence[Token]]:
    """Split `tokens` into those of each block."""
    if not tokens:
        return []
    level = tokens[0].level
    starts = [i for i, token in enumerate(tokens) if token.level == level and token.nesting >= 0]
    return [tokens[start:stop] for start, stop in zip(starts, [*starts[1:], len(tokens)], strict=True)]


class MarkdownDrawer:
    """Draws block tokens in `width` cells."""

    def __init__(self, width: int, styles: ThemeStyles, role: str = "text", depth: int = 0) -> None:
        self._depth = depth
        self._width = max(4, width)
        self._theme_styles = styles
        self._role = role

    def draw(self, tokens: Sequence[Token], *, tight: bool = False) -> list[Line]:
        """Draw `tokens`, with one blank line between blocks unless `tight`."""
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
                return self._heading(int(first.tag[1:]), inside[0])
            case "paragraph_open":
                return wrap(self.inline(inside[0]), self._width)
            case "fence" | "code_block":
                language = first.info.split(maxsplit=1)[0] if first.info.strip() else ""
                return draw_code(language, first.content.removesuffix("\n"), self._width, self._theme_styles)
            case "blockquote_open":
                return self._quote(inside)
            case "bullet_list_open" | "ordered_list_open":
                return self._list(first, inside)
            case "hr":
                return [self._rule()]
            case "table_open":
                return draw_table(inside, self._width, self._theme_styles, self.inline)
            case _:
                return wrap([Segment(first.content, self._theme_styles(self._role))], self._width)

    def _heading(self, level: int, title: Token) -> list[Line]:
        role, attributes = _HEADINGS[min(level, len(_HEADINGS)) - 1]
        lines = wrap(self.inline(title, attributes, self._role if role == "text" else role), self._width)
        rule = self._rule()
        return [*lines, Line(rule.segments, "", self._width)] if level == 1 else lines

    def _rule(self) -> Line:
        return Line([Segment("─" * self._width, self._theme_styles("rule"))])

    def _quote(self, tokens: Sequence[Token]) -> list[Line]:
        bar = Segment("▎ ", self._theme_styles("rule"))
        indent = self._indent(2)
        lines = MarkdownDrawer(self._width - indent, self._theme_styles, "dim", self._depth + 1).draw(tokens)
        return [line.indented(bar) for line in lines or [BLANK]] if indent else lines

    def _list(self, opening: Token, tokens: Sequence[Token]) -> list[Line]:
        ordered = opening.type == "ordered_list_open"
        start = opening.attrGet("start")
        number = 1 if start is None else int(start)
        items = _blocks(tokens)
        size = len(f"{number + len(items) - 1}. ") if ordered else 2
        indent = self._indent(size)
        inner = MarkdownDrawer(self._width - size, self._theme_styles, self._role, self._depth + 1)
        after = (
            inner if indent else MarkdownDrawer(self._width, self._theme_styles, self._role, self._depth + 1)
        )
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
            lines.append(_marked(drawn[0], Segment(mark.ljust(size), self._theme_styles("dim"))))
            lines += _indented(drawn[1:], Segment(" " * size, self._theme_styles()))
            for block in others:
                more = after.draw(block)
                lines += [] if tight else [BLANK]
                lines += _indented(more, Segment(" " * indent, self._theme_styles())) if indent else more
        return lines

    def _bullet(self) -> str:
        return f"{_BULLETS[min(self._depth, len(_BULLETS) - 1)]} "

    def _indent(self, size: int) -> int:
        """The cells by which nested blocks are indented: none where too few would be left."""
        return size if self._width - size >= _NARROWEST else 0

    def inline(self, token: Token, attributes: str = "", role: str = "") -> list[Segment]:
        """The spans of one inline token."""
        role = role or self._role
        marks: list[str] = attributes.split()
        hrefs: list[tuple[str, int]] = []
        spans: list[Segment] = []

        def put(text: str, ink: str = role, on: str = "surface") -> None:
            style = self._theme_styles(ink, on, " ".join(sorted(set(marks))))
            link = next((href for href, _start in hrefs if _ADDRESS.fullmatch(href)), None)
            spans.append(Segment(text, style + Style(link=link) if link else style))

        for child in token.children or ():
            name = child.type.removesuffix("_open").removesuffix("_close")
            if child.type == "text":
                put(child.content)
            elif child.type == "code_inline":
                # Where surfaces look the same, code has a color of code.
                put(child.content, "keyword" if self._theme_styles.palette.flat else "text", "raised")
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
                    label = "".join(span.text for span in spans[start:])
                    if destination := _destination(href, label):
                        put(f" ({destination})", "dim")
            else:
                put(child.content)
        return [
            Segment("".join(span.text for span in group), style)
            for style, group in groupby(spans, lambda span: span.style)
        ]


def _destination(href: str, label: str) -> str:
    """What a link's `label` does not say of where it leads: a host, or an address that no terminal opens."""
    if href in (label, f"mailto:{label}", ""):
        return ""
    if not _ADDRESS.fullmatch(href):
        return href
    host = _host(href)
    return "" if host == _host(label) else host


def _host(address: str) -> str:
    """The host of an address of the web, or the mailbox of one of mail; the scheme may be missing."""
    if address.startswith("mailto:"):
        return address.removeprefix("mailto:")
    authority = re.split("[/?#]", re.sub("^https?://", "", address), maxsplit=1)[0]
    # What is before an @ may pretend to be the host.
    return authority.rpartition("@")[2]


def _take_task(block: Sequence[Token]) -> str:
    """Remove the checkbox of a task from the beginning of `block`, and return it; empty if there is none."""
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
    """`line` after its item's mark, which is copied with it unless decoration separates them."""
    return line.indented(mark) if line.lead else Line([mark, *line.segments])


def _indented(lines: Sequence[Line], indent: Segment) -> list[Line]:
    return [line.indented(indent) for line in lines]

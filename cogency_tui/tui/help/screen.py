"""Help for the present focus, and the list of all keys: generated from the bindings, with a filter."""

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any, ClassVar

import msgspec
from rich.segment import Segment
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.dom import DOMNode
from textual.screen import Screen
from textual.widgets import Input

from cogency_tui.tui.action_groups import group_of, in_order
from cogency_tui.tui.commands import SlashCommand
from cogency_tui.tui.kit.cell_text import cells, fit
from cogency_tui.tui.kit.dialogs import STYLES, Choice, Choices, Dialog, DialogBody, DialogBox, DialogTitle
from cogency_tui.tui.kit.filter_line import FilterField
from cogency_tui.tui.kit.keys import spelled_key
from cogency_tui.tui.kit.lines import BLANK, Line, width_of, wrap
from cogency_tui.tui.kit.typed_app import app_of
from cogency_tui.tui.theme_styles import ThemeStyles

_KEY_COLUMN, _NARROW_KEY_COLUMN = 22, 20
_TWO_COLUMNS, _GAP = 100, 4
"""Cells of text from which on there are two columns, and those between them."""

_ID_COLUMN = 26
_ROOMY = 64


class HelpRow(msgspec.Struct, frozen=True):
    """Keys or a command, and the meaning; `id` is the name for remapping a key, where it is shown."""

    keys: str
    meaning: str
    id: str = ""


HelpGroup = tuple[str, Sequence[HelpRow]]
"""Rows under the title of the place where they work."""


def collect_keys(screen: Screen[Any], commands: Sequence[SlashCommand] = ()) -> list[HelpGroup]:
    """The keys that work on `screen` at its focus, or would at another moment, and `commands`, in the groups
    of the command palette; the screen's own come first."""
    groups: dict[str, dict[tuple[str, str], list[str]]] = {}
    active = [each for each in screen.active_bindings.values() if each.binding.id]
    for each in sorted(active, key=lambda each: (_rank(each.node, screen), _place(each.node, each.binding))):
        meaning = each.tooltip or each.binding.description
        rows = groups.setdefault(group_of(each, screen), {})
        rows.setdefault((each.binding.action, meaning), []).append(spelled_key(each.binding.key))
    for command in commands:
        groups.setdefault(command.group, {})
    return [
        (
            group,
            [
                *(_row(keys, meaning) for (_act, meaning), keys in groups[group].items()),
                *_rows_of(group, commands),
            ],
        )
        for group in in_order([*groups])
    ]


def add_rows(groups: Sequence[HelpGroup], further: Sequence[HelpGroup]) -> list[HelpGroup]:
    """`groups`, with the rows of `further` first in those of the same title, or else in one at the end."""
    others = dict(further)
    return [*((title, [*others.pop(title, ()), *rows]) for title, rows in groups), *others.items()]


def _row(keys: Sequence[str], meaning: str) -> HelpRow:
    return HelpRow(" ".join(dict.fromkeys(keys)), meaning)


def _rows_of(group: str, commands: Sequence[SlashCommand]) -> list[HelpRow]:
    """The commands of a group."""
    return [
        HelpRow(f"/{command.name} {command.takes}".rstrip(), _describe(command.summary, command.choices))
        for command in commands
        if command.group == group
    ]


def _rank(node: DOMNode, screen: Screen[Any]) -> int:
    return 0 if node is screen else 2 if node is app_of(screen) else 1


def _place(node: DOMNode, binding: Binding) -> int:
    """The position of `binding` in its widget's declaration."""
    ids = [each.id for each in node.BINDINGS if isinstance(each, Binding)]
    return ids.index(binding.id) if binding.id in ids else len(ids)


def _keys(closing: str) -> list[Choice]:
    """The keys at the foot; `closing` is what Esc does."""
    return [("↑ ↓", "scroll", "scroll(1)"), ("escape", closing, "back")]


class HelpScreen(Dialog[None]):
    """Shows `groups` of keys, and above them the `problems` of remapped keys."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", "Close", id="help.back", tooltip="Clear the filter, or close"),
        Binding("f1", "close", "Close", id="help.close"),
        Binding("enter", "open", "Close", show=False, id="help.open"),
        Binding("up", "scroll(-1)", "Up", show=False, id="help.up"),
        Binding("down", "scroll(1)", "Down", show=False, id="help.down"),
        Binding("pageup", "page(-1)", "Page up", show=False, id="help.page_up"),
        Binding("pagedown", "page(1)", "Page down", show=False, id="help.page_down"),
        Binding("ctrl+home", "scroll(-1_000_000)", "First", show=False, id="help.first"),
        Binding("ctrl+end", "scroll(1_000_000)", "Last", show=False, id="help.last"),
    ]
    CSS_PATH = STYLES

    def __init__(self, title: str, groups: Sequence[HelpGroup], problems: Sequence[str] = ()) -> None:
        super().__init__()
        self._title = title
        self._groups = groups
        self._problems = problems

    def compose(self) -> ComposeResult:
        yield DialogBox(
            DialogTitle(self._title, id="help-title"),
            FilterField(id="help-filter"),
            DialogBody(self._draw, id="help-body"),
            keys=Choices(_keys("close")),
            id="help",
            classes="-tall",
        )

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.query_one(Choices).offer(_keys("clear filter" if event.value else "close"))
        body = self.query_one(DialogBody)
        # The size is unchanged, so no resize event triggers this.
        body.on_resize()
        body.jump(0)

    def action_back(self) -> None:
        field = self.query_one(FilterField)
        if field.value:
            field.value = ""
        else:
            self.dismiss(None)

    def action_open(self) -> None:
        self.dismiss(None)

    def action_scroll(self, lines: int) -> None:
        body = self.query_one(DialogBody)
        body.jump(body.scroll_offset.y + lines)

    def action_page(self, direction: int) -> None:
        """Scroll by the visible lines, of which one stays."""
        self.action_scroll(direction * max(1, self.query_one(DialogBody).page - 1))

    def _draw(self, width: int, styles: ThemeStyles) -> list[Line]:
        words = self.query_one(FilterField).value.casefold().split() if self.is_mounted else []
        groups = [(title, found) for title, rows in self._groups if (found := _found(rows, title, words))]
        if not groups:
            return [Line([Segment("No matches.", styles("dim"))])]
        problems = () if words else self._problems
        hint = "To remap keys, edit [keys] in config.toml; /keys lists the IDs."
        return [
            *(line for problem in problems for line in _draw_problem(problem, width, styles)),
            *([BLANK] if problems else []),
            *_draw_groups(groups, width, styles),
            BLANK,
            *wrap([Segment(hint, styles("dim"))], width),
        ]


def _draw_problem(problem: str, width: int, styles: ThemeStyles) -> list[Line]:
    mark = Segment("✗ ", styles("bad", attributes="bold"))
    first, *more = wrap([Segment(problem, styles("text"))], width - 2)
    return [first.indented(mark), *(line.indented(Segment("  ", styles())) for line in more)]


def _draw_groups(groups: Sequence[HelpGroup], width: int, styles: ThemeStyles) -> list[Line]:
    """Draw the groups below one another or, where there is room, in two columns of about the same height."""
    has_ids = any(row.id for _title, rows in groups for row in rows)
    if width < _TWO_COLUMNS or has_ids or len(groups) == 1:
        return _stacked([_draw_group(group, width, styles) for group in groups])
    column = (width - _GAP) // 2
    blocks = [_draw_group(group, column, styles) for group in groups]
    left = _stacked(blocks[: (half := _half(blocks))])
    right = _stacked(blocks[half:])
    return [
        _beside(one, other, column + _GAP, styles) for one, other in zip_longest(left, right, fillvalue=BLANK)
    ]


def _half(blocks: Sequence[Sequence[Line]]) -> int:
    """The number of blocks in the left column that makes the higher column lowest."""
    sizes = [len(block) + 1 for block in blocks]
    return min(range(1, len(sizes)), key=lambda half: max(sum(sizes[:half]), sum(sizes[half:])))


def _stacked(blocks: Sequence[Sequence[Line]]) -> list[Line]:
    return [line for block in blocks for line in (BLANK, *block)][1:]


def _beside(left: Line, right: Line, width: int, styles: ThemeStyles) -> Line:
    space = Segment(" " * (width - width_of(left.segments)), styles())
    return Line([*left.segments, space, *right.segments])


def _draw_group(group: HelpGroup, width: int, styles: ThemeStyles) -> list[Line]:
    title, rows = group
    head = Line([Segment(title, styles("text", attributes="bold"))])
    return [head, *(line for row in rows for line in _draw_row(row, width, styles))]


def _found(rows: Sequence[HelpRow], title: str, words: list[str]) -> list[HelpRow]:
    return [row for row in rows if _matches(row, title, words)]


def _matches(row: HelpRow, title: str, words: list[str]) -> bool:
    text = f"{title} {row.keys} {row.meaning} {row.id}".casefold()
    return all(word in text for word in words)


def _draw_row(row: HelpRow, width: int, styles: ThemeStyles) -> list[Line]:
    """Draw one row; where space is short, the meaning is below the keys."""
    key_column = _KEY_COLUMN if width >= _ROOMY else _NARROW_KEY_COLUMN
    columns = [(_fitting(row.keys, key_column - 1), key_column, styles("text"))]
    if row.id:
        columns.append((row.id, _ID_COLUMN, styles("dim")))
    head = [
        Segment(fit(text, room - 1) + " " * max(1, room - cells(text)), style)
        for text, room, style in columns
    ]
    indent = sum(room for _text, room, _style in columns)
    if width - indent < 20:
        below = wrap([Segment(row.meaning, styles("dim"))], width - 2)
        return [Line(head), *(line.indented(Segment("  ", styles())) for line in below)]
    first, *more = wrap([Segment(row.meaning, styles("dim"))], width - indent)
    return [
        Line([*head, *first.segments]),
        *(line.indented(Segment(" " * indent, styles())) for line in more),
    ]


def _fitting(keys: str, width: int) -> str:
    """As many of `keys` as fit, at least the first; of a command at least its name."""
    words = keys.split()
    while len(words) > 1 and cells(" ".join(words)) > width:
        words.pop()
    return " ".join(words)


def _describe(summary: str, choices: Any) -> str:
    return f"{summary}: {', '.join(choices())}" if choices else summary

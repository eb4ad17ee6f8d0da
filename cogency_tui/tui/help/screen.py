"""Help for the present focus, and the list of all keys: generated from the bindings, with a filter."""

from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec
from rich.segment import Segment
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.dom import DOMNode
from textual.screen import Screen
from textual.widgets import Input

from cogency_tui.tui.commands import SlashCommand
from cogency_tui.tui.kit.dialogs import STYLES, Choice, Choices, Dialog, DialogBody, DialogBox, DialogTitle
from cogency_tui.tui.kit.filter_line import FilterField
from cogency_tui.tui.kit.keys import spelled_key
from cogency_tui.tui.kit.lines import BLANK, Line, cells, fit, wrap
from cogency_tui.tui.kit.typed_app import app_of
from cogency_tui.tui.theme_styles import ThemeStyles

_KEY_COLUMN = 22
_ID_COLUMN = 26
_EVERYWHERE = "Everywhere"
_KEYS: list[Choice] = [("↑ ↓", "scroll", "scroll(1)"), ("escape", "close", "back")]


class HelpRow(msgspec.Struct, frozen=True):
    """Keys or a command, and the meaning; `id` is the name for remapping a key, where it is shown."""

    keys: str
    meaning: str
    id: str = ""


HelpGroup = tuple[str, Sequence[HelpRow]]
"""Rows under the title of the place where they work."""


def collect_keys(screen: Screen[Any]) -> list[HelpGroup]:
    """The keys that work on `screen` at its focus, grouped by their handler."""
    groups: dict[str, dict[tuple[str, str], list[str]]] = {_EVERYWHERE: {}}
    active = [each for each in screen.active_bindings.values() if each.enabled and each.binding.id]
    for each in sorted(
        active, key=lambda each: (each.node is app_of(screen), _place(each.node, each.binding))
    ):
        here = each.node not in (screen, app_of(screen))
        where = (each.node.BINDING_GROUP_TITLE or "Here") if here else _EVERYWHERE
        meaning = each.tooltip or each.binding.description
        keys = groups.setdefault(where, {}).setdefault((each.binding.action, meaning), [])
        keys.append(spelled_key(each.binding.key))
    # Local keys come first: they are the most useful.
    order = sorted(groups.items(), key=lambda group: group[0] == _EVERYWHERE)
    return [(where, [_row(keys, meaning) for (_act, meaning), keys in rows.items()]) for where, rows in order]


def _row(keys: Sequence[str], meaning: str) -> HelpRow:
    return HelpRow(" ".join(dict.fromkeys(keys)), meaning)


def command_rows(commands: Sequence[SlashCommand]) -> HelpGroup:
    """The commands as help rows."""
    rows = [
        HelpRow(f"/{command.name} {command.takes}".rstrip(), _describe(command.summary, command.choices))
        for command in commands
    ]
    return "Commands", rows


def _place(node: DOMNode, binding: Binding) -> int:
    """The position of `binding` in its widget's declaration."""
    ids = [each.id for each in node.BINDINGS if isinstance(each, Binding)]
    return ids.index(binding.id) if binding.id in ids else len(ids)


class HelpScreen(Dialog[None]):
    """Shows `groups` of keys, and above them the `problems` of remapped keys."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", "Close", id="help.back", tooltip="Clear the filter, or close"),
        Binding("f1", "close", "Close", id="help.close"),
        Binding("enter", "open", "Close", show=False, id="help.open"),
        Binding("up", "scroll(-1)", "Up", show=False, id="help.up"),
        Binding("down", "scroll(1)", "Down", show=False, id="help.down"),
        Binding("pageup", "scroll(-10)", "Page up", show=False, id="help.page_up"),
        Binding("pagedown", "scroll(10)", "Page down", show=False, id="help.page_down"),
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
            keys=Choices(_KEYS),
            id="help",
            classes="-tall",
        )

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
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

    def _draw(self, width: int, styles: ThemeStyles) -> list[Line]:
        words = self.query_one(FilterField).value.casefold().split() if self.is_mounted else []
        lines: list[Line] = []
        problems = () if words else self._problems
        for problem in problems:
            mark = Segment("✗ ", styles("bad", attributes="bold"))
            first, *more = wrap([Segment(problem, styles("text"))], width - 2)
            lines += [first.indented(mark), *(line.indented(Segment("  ", styles())) for line in more)]
        for title, rows in self._groups:
            found = [row for row in rows if _matches(row, title, words)]
            if found:
                lines += [BLANK] if lines else []
                lines.append(Line([Segment(title, styles("accent", attributes="bold"))]))
                lines += [line for row in found for line in _draw_row(row, width, styles)]
        if not lines:
            return [Line([Segment("No matches.", styles("dim"))])]
        hint = "To remap keys, edit [keys] in config.toml; /keys lists the IDs."
        return [*lines, BLANK, *wrap([Segment(hint, styles("dim"))], width)]


def _matches(row: HelpRow, title: str, words: list[str]) -> bool:
    text = f"{title} {row.keys} {row.meaning} {row.id}".casefold()
    return all(word in text for word in words)


def _draw_row(row: HelpRow, width: int, styles: ThemeStyles) -> list[Line]:
    """Draw one row; where space is short, the meaning is below the keys."""
    columns = [(row.keys, _KEY_COLUMN, styles("text", attributes="bold"))]
    if row.id:
        columns.append((row.id, _ID_COLUMN, styles("accent")))
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


def _describe(summary: str, choices: Any) -> str:
    return f"{summary}: {', '.join(choices())}" if choices else summary

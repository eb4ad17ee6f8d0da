"""Help for where one is: the keys that work there, and the commands. Made from the bindings themselves."""

from typing import Any, ClassVar

from rich.segment import Segment
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.dom import DOMNode
from textual.screen import ModalScreen, Screen

from cogency_tui.tui.commands import COMMANDS
from cogency_tui.tui.drawing.lines import BLANK, Line, wrap
from cogency_tui.tui.host import app_of
from cogency_tui.tui.screens.dialogs import STYLES, DialogBody
from cogency_tui.tui.theming import Inks

_KEY_COLUMN = 30
_EVERYWHERE = "Everywhere"
_NAMES = {
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "question_mark": "?",
    "at": "@",
    "escape": "Esc",
    "pageup": "PgUp",
    "pagedown": "PgDn",
}


def key_name(key: str) -> str:
    """A key as people write it: `Ctrl+O`, `Shift+Tab`, `F1`."""
    parts = [_NAMES.get(part, part) for part in key.split("+")]
    return "+".join(
        part if len(part) == 1 and len(parts) == 1 else part[:1].upper() + part[1:] for part in parts
    )


def collect_keys(screen: Screen[Any]) -> list[tuple[str, list[tuple[str, str]]]]:
    """The keys that work on `screen` where its focus is, by who reacts to them: keys and what they do."""
    groups: dict[str, dict[tuple[str, str], list[str]]] = {_EVERYWHERE: {}}
    active = [each for each in screen.active_bindings.values() if each.enabled and each.binding.id]
    for each in sorted(
        active, key=lambda each: (each.node is app_of(screen), _place(each.node, each.binding))
    ):
        here = each.node not in (screen, app_of(screen))
        where = (each.node.BINDING_GROUP_TITLE or "Here") if here else _EVERYWHERE
        meaning = each.tooltip or each.binding.description
        keys = groups.setdefault(where, {}).setdefault((each.binding.action, meaning), [])
        keys.append(key_name(each.binding.key))
    return [
        (where, [(" ".join(dict.fromkeys(keys)), meaning) for (_action, meaning), keys in rows.items()])
        for where, rows in groups.items()
    ]


def _place(node: DOMNode, binding: Binding) -> int:
    """Where `binding` stands among those that its widget was written with."""
    ids = [each.id for each in node.BINDINGS if isinstance(each, Binding)]
    return ids.index(binding.id) if binding.id in ids else len(ids)


class HelpScreen(ModalScreen[None]):
    """Shows keys and commands."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,f1,enter", "close", "Close", id="help.close"),
        Binding("up,k", "scroll(-1)", "Up", show=False, id="help.up"),
        Binding("down,j", "scroll(1)", "Down", show=False, id="help.down"),
        Binding("pageup", "scroll(-10)", "Page up", show=False, id="help.page_up"),
        Binding("pagedown,space", "scroll(10)", "Page down", show=False, id="help.page_down"),
    ]
    AUTO_FOCUS = ""
    CSS_PATH = STYLES

    def __init__(self, keys: list[tuple[str, list[tuple[str, str]]]]) -> None:
        super().__init__()
        self._keys = keys

    def compose(self) -> ComposeResult:
        with Vertical(id="help"):
            yield DialogBody(self._draw, id="help-body")

    def action_close(self) -> None:
        self.dismiss()

    def action_scroll(self, lines: int) -> None:
        body = self.query_one(DialogBody)
        body.jump(body.scroll_offset.y + lines)

    def _draw(self, width: int, inks: Inks) -> list[Line]:
        commands = [(f"/{command.name}", _describe(command.summary, command.choices)) for command in COMMANDS]
        lines: list[Line] = []
        for title, rows in [*self._keys, ("Commands", commands)]:
            lines += [BLANK] if lines else []
            lines.append(Line([Segment(title, inks("accent", attributes="bold"))]))
            for keys, meaning in rows:
                head = Segment(keys.ljust(_KEY_COLUMN - 1) + " ", inks("text", attributes="bold"))
                first, *more = wrap([Segment(meaning, inks("dim"))], width - _KEY_COLUMN)
                lines.append(Line([head, *first.segments]))
                lines += [line.indented(Segment(" " * _KEY_COLUMN, inks())) for line in more]
        return [
            *lines,
            BLANK,
            Line([Segment("Keys can be changed under [keys] in the configuration.", inks("dim"))]),
        ]


def _describe(summary: str, choices: Any) -> str:
    return f"{summary}: {', '.join(choices())}" if choices else summary

"""Names of keys and how they are shown, and keys of a screen that the focused text field handles.

A key that bubbles up is handled while the text typed before it is still queued: `act_in_order` avoids this.
"""

from rich.segment import Segment
from textual import events
from textual.widget import Widget

from cogency_tui.tui.theme_styles import ThemeStyles

_NAMES = {
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "question_mark": "?",
    "at": "@",
    "slash": "/",
    "comma": ",",
    "full_stop": ".",
    "minus": "-",
    "plus": "+",
    "equals_sign": "=",
    "underscore": "_",
    "backslash": "\\",
    "less_than_sign": "<",
    "greater_than_sign": ">",
    "left_curly_bracket": "{",
    "right_curly_bracket": "}",
    "escape": "Esc",
    "delete": "Del",
    "pageup": "PgUp",
    "pagedown": "PgDn",
}

_ARROWS = {"Left": "←", "Right": "→", "Up": "↑", "Down": "↓"}


def key_name(key: str) -> str:
    """The short name of a key, for hints: `^O`, `Shift+Tab`, `F1`, `←`."""
    *modifiers, last = _parts(key)
    held = "".join("^" if each == "Ctrl" else f"{each}+" for each in modifiers)
    return held + _ARROWS.get(last, last)


def spelled_key(key: str) -> str:
    """The name of a key in help and sentences: `Ctrl+O`."""
    return "+".join(_parts(key))


def _parts(key: str) -> list[str]:
    """The modifiers of a key, and the key itself."""
    parts = [_NAMES.get(part, part) for part in key.split("+")]
    return (
        parts if len(parts) == 1 and len(parts[0]) == 1 else [part[:1].upper() + part[1:] for part in parts]
    )


def draw_key(name: str, label: str, styles: ThemeStyles, on: str = "surface") -> list[Segment]:
    """Draw a key and its effect: in the same colors everywhere."""
    return [Segment(name, styles("text", on)), Segment(f" {label}", styles("dim", on))]


async def act_in_order(field: Widget, event: events.Key) -> None:
    """Run the screen's action for a key that `field` receives; where the field would submit, run `open`."""
    if event.is_printable:
        return
    active = field.screen.active_bindings.get(event.key)
    if active is None or not active.enabled:
        return
    submits = active.node is field and active.binding.action == "submit"
    if submits or active.node is field.screen:
        event.stop()
        event.prevent_default()
        await field.screen.run_action("open" if submits else active.binding.action)

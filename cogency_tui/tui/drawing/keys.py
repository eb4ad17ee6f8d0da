"""Keys as people write them."""

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
    "pageup": "PgUp",
    "pagedown": "PgDn",
}


def key_name(key: str) -> str:
    """A key as people write it: `Ctrl+O`, `Shift+Tab`, `F1`."""
    parts = [_NAMES.get(part, part) for part in key.split("+")]
    return "+".join(
        part if len(part) == 1 and len(parts) == 1 else part[:1].upper() + part[1:] for part in parts
    )

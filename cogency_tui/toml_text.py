"""Reads TOML that others may have written: a file of bounded size, keys of bounded depth.

tomllib takes memory with the square of the parts of a key, so they are counted before it is given the text.
"""

import re
import tomllib
from pathlib import Path
from typing import Any

LONGEST = 1 << 20
"""Characters of a text, and bytes of a file."""

MOST_PARTS = 32
"""Parts of a key that dots stand between."""

_TOKEN = re.compile(
    r'"""(?:\\[\s\S]|[^\\])*?(?:"""|\Z)'
    r"|'''[\s\S]*?(?:'''|\Z)"
    r'|"(?:\\.|[^"\\\n])*+"?'
    r"|'[^'\n]*+'?"
    r"|[\w-]++"
    r"|(?P<dot>\.)"
    r"|#.*"
    r"|(?P<other>[^\s])"
)


def read(path: Path) -> str:
    """The text of a file.

    Raises:
        OSError: it cannot be read, or is too large.
        UnicodeDecodeError: it is no UTF-8.
    """
    with path.open("rb") as file:
        data = file.read(LONGEST + 1)
    if len(data) > LONGEST:
        raise OSError(f"it has more than {LONGEST:,} bytes")
    return data.decode("utf-8-sig")


def loads(text: str) -> dict[str, Any]:
    """The table that a text is.

    Raises:
        ValueError: it is no TOML, or more than anybody writes.
        RecursionError: it is nested too deeply.
    """
    if len(text) > LONGEST:
        raise ValueError(f"it has more than {LONGEST:,} characters")
    parts, end = 1, 0
    for token in _TOKEN.finditer(text) if text.count(".") >= MOST_PARTS else ():
        if token["dot"]:
            parts += 1
            if parts > MOST_PARTS:
                line = text.count("\n", 0, token.start()) + 1
                raise ValueError(f"a key has more than {MOST_PARTS} parts (at line {line})")
        elif token["other"] or "\n" in text[end : token.start()]:
            parts = 1
        end = token.end()
    return tomllib.loads(text)

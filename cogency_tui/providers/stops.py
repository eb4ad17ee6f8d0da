"""Native stop markers: endpoints strip them, and the parser needs them back (providers.md)."""

import re
from collections.abc import Sequence

_DELIMITER = re.compile(r"^[ \t]*§(\w+)", re.MULTILINE)


def stripped_marker(text: str, stop: Sequence[str]) -> str:
    """The stop marker that the endpoint took off the end of `text`, or nothing.

    The wire says `stop` for a marker as for a natural end. A block that is open at the end tells them
    apart: `<name>` followed by a payload without its `</name>`, or a `§call:` without a delimiter after it.
    """
    for marker in stop:
        if marker.startswith("</"):
            _, opened, inside = text.rpartition("<" + marker[2:])
            # An opening marker that is merely talked about is followed by prose or a backtick.
            if opened and marker not in inside and re.match(r"\s*(\[|$)", inside):
                return marker
        elif marker.startswith("§"):
            delimiters = _DELIMITER.findall(text)
            # A delimiter counts at a line's start only, and so does the one that is missing.
            if delimiters and delimiters[-1] == "call" and not text.rpartition("\n")[2].strip():
                return marker
    return ""


def is_cut_inside_json(text: str, marker: str) -> bool:
    """Whether the payload before a stripped `marker` breaks off in a string: the marker was content.

    A model that writes a file about this very protocol runs into its own stop marker.
    """
    opening = "<" + marker[2:] if marker.startswith("</") else "§call:"
    # The last opening marker may itself be content of the block that the first one opened.
    return any(
        _ends_in_string(payload) for payload in {text.partition(opening)[2], text.rpartition(opening)[2]}
    )


def _ends_in_string(payload: str) -> bool:
    """Whether JSON text breaks off inside a string, the only place where a marker can be content."""
    inside = False
    skip = False
    for char in payload:
        if skip:
            skip = False
        elif char == "\\":
            skip = inside
        elif char == '"':
            inside = not inside
    return inside

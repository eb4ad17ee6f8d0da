"""Long texts that are seldom looked at, packed: a long conversation is mostly those."""

import zlib
from typing import Any, NewType, cast

Packed = NewType("Packed", bytes)

_LEAST = 512
"""Characters below which packing does not pay."""


def packed(text: str) -> str | Packed:
    """`text`, packed where it is long."""
    if len(text) < _LEAST:
        return text
    return Packed(zlib.compress(text.encode("utf-8", "surrogatepass"), 1))


def unpacked(text: str | Packed) -> str:
    """The text again."""
    return text if isinstance(text, str) else zlib.decompress(text).decode("utf-8", "surrogatepass")


def packed_texts(value: Any) -> Any:
    """A JSON value, with its text or the texts of its members packed where they are long."""
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        return {key: packed(each) if isinstance(each, str) else each for key, each in members.items()}
    return packed(value) if isinstance(value, str) else value


def unpacked_texts(value: Any) -> Any:
    """The value again."""
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        return {
            key: unpacked(Packed(each)) if isinstance(each, bytes) else each for key, each in members.items()
        }
    return unpacked(Packed(value)) if isinstance(value, bytes) else value

"""Compression of long texts that are rarely read, which make up most of a long conversation."""

import zlib
from typing import Any, NewType, cast

Packed = NewType("Packed", bytes)

_LEAST = 512
"""Characters below which compression does not pay."""


def packed(text: str) -> str | Packed:
    """Compress `text` if it is long."""
    if len(text) < _LEAST:
        return text
    return Packed(zlib.compress(text.encode("utf-8", "surrogatepass"), 1))


def unpacked(text: str | Packed) -> str:
    """Decompress the text."""
    return text if isinstance(text, str) else zlib.decompress(text).decode("utf-8", "surrogatepass")


def packed_texts(value: Any) -> Any:
    """Compress a JSON value's text, or those of its members, if they are long."""
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        return {key: packed(each) if isinstance(each, str) else each for key, each in members.items()}
    return packed(value) if isinstance(value, str) else value


def unpacked_texts(value: Any) -> Any:
    """Decompress the value."""
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        return {
            key: unpacked(Packed(each)) if isinstance(each, bytes) else each for key, each in members.items()
        }
    return unpacked(Packed(value)) if isinstance(value, bytes) else value

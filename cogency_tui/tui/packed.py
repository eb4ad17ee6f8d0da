"""Long texts that are seldom looked at, packed: a long conversation is mostly those."""

import zlib
from typing import NewType

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

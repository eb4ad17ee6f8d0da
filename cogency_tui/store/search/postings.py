"""Sets of slices as the index stores them: the numbers within one block, each a bit of a Python integer.

A block has `WIDTH` slices. Few numbers are stored as two bytes each, many as one bit each; the length alone
distinguishes the two. Both carry a checksum. Intersections and unions are integer operations.
"""

from array import array
from collections.abc import Iterator, Sequence
from itertools import compress
from typing import TypeVar

from cogency_tui.store.search.index import seal, unseal

T = TypeVar("T")

WIDTH = 4096
SHIFT = 12
FULL = (1 << WIDTH) - 1

_BYTES = WIDTH // 8
_FEW = _BYTES // 2 - 1
_SPARSE = 100
_FLAGS = bytes(48) + b"\x00\x01" + bytes(206)


def encode(numbers: Sequence[int]) -> bytes:
    """Encode distinct numbers below `WIDTH` as a column's value."""
    if len(numbers) <= _FEW:
        return seal(array("H", numbers).tobytes())
    return seal(_united(numbers).to_bytes(_BYTES, "little"))


def decode(value: bytes) -> int:
    """Decode a column's value to bits.

    Raises:
        ValueError: it is damaged.
    """
    value = unseal(value)
    if len(value) == _BYTES:
        return int.from_bytes(value, "little")
    numbers = array("H")
    numbers.frombytes(value)
    return _united(numbers) if len(numbers) > 8 else sum(1 << number for number in set(numbers))


def numbers_of(bits: int) -> list[int]:
    """Return the numbers whose bits are set, in order."""
    return list(picked(range(WIDTH), bits))


def picked(items: Sequence[T], bits: int) -> Iterator[T]:
    """Yield those of `items`, numbered from 0, whose bits are set."""
    if bits.bit_count() < _SPARSE:
        return iter([items[number] for number in _ones(bits)])
    flags = format(bits, f"0{WIDTH}b").encode().translate(_FLAGS)
    return compress(items, reversed(flags))


def _ones(bits: int) -> Iterator[int]:
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


def _united(numbers: Sequence[int]) -> int:
    digits = bytearray(b"0") * WIDTH
    for number in numbers:
        digits[~number] = 49
    return int(digits, 2)

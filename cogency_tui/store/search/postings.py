"""Postings: the sets of slices in which a gram occurs, by block; their encoding and their look-up.

A set is the numbers within one block, each a bit of a Python integer.

A block has `WIDTH` slices. Few numbers are stored as two bytes each, many as one bit each; the length alone
distinguishes the two. Both carry a checksum. Intersections and unions are integer operations.

SQLite's own trigram index (FTS5) builds in a quarter of the CPU time. But in a million events its look-up
alone takes 30 to 90 ms for a rare word or a phrase, where a whole search has a target of 10 ms.
"""

import sqlite3
from array import array
from collections.abc import Iterator, Sequence
from itertools import compress
from typing import TypeVar

from cogency_tui.store.search.folding import LENGTH, grams_of_term, key, probes_of
from cogency_tui.store.search.index_file import FACT, group_of, seal, unseal
from cogency_tui.store.search.matching import Condition

T = TypeVar("T")

WIDTH = 4096
SHIFT = 12
FULL = (1 << WIDTH) - 1

_BYTES = WIDTH // 8
_FEW = _BYTES // 2 - 1
_SPARSE = 100
_FLAGS = bytes(48) + b"\x00\x01" + bytes(206)

_COMMON = 300
"""Grams in a block with the same first character from which on that character counts as everywhere."""

_MOST_GRAMS = 40
"""Most grams of one condition that are looked up: far fewer identify a pasted page."""


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


def grams_of(condition: Condition) -> list[bytes]:
    """Return the postings that contain every slice which meets a condition."""
    grams = [key(gram) for gram in grams_of_term(condition.text)]
    if len(grams) > _MOST_GRAMS:
        grams = grams[:: len(grams) // _MOST_GRAMS + 1]
    grams += [group_of(probe) for probe in probes_of(condition.text)]
    return [*grams, FACT + b"e"] if condition.fact == "e" else grams


def bits_of(connection: sqlite3.Connection, block: int, condition: Condition, grams: list[bytes]) -> int:
    """Return the slices of a block that have all these grams of the condition, and its fact."""
    bits = FULL
    if grams:
        marks = ", ".join("?" * len(grams))
        sql = f"SELECT bits FROM recall.postings WHERE block = ? AND gram IN ({marks})"
        values = connection.execute(sql, (block, *grams)).fetchall()
        if len(values) < len(grams):
            return 0
        for (value,) in values:
            bits &= decode(value)
    if 0 < len(condition.text) < LENGTH:
        bits &= _beginning(connection, block, condition.text)
    if condition.fact.startswith("t"):
        bits &= _called(connection, block, condition.fact[1:])
    return bits


def _beginning(connection: sqlite3.Connection, block: int, text: str) -> int:
    """Return the slices with a gram that begins with `text`: all that contain it."""
    bits, limit = 0, _COMMON if len(text) == 1 else -1
    values = list(_range(connection, block, key(text), key(text) + b"\xff", limit))
    if len(values) == limit:
        return FULL
    for _, value in values:
        bits |= decode(value)
    return bits


def _called(connection: sqlite3.Connection, block: int, tool: str) -> int:
    bits, part = 0, tool.encode("utf-8", "surrogatepass")
    for fact, value in _range(connection, block, FACT + b"t", FACT + b"u", -1):
        if part in fact[2:]:
            bits |= decode(value)
    return bits


def _range(
    connection: sqlite3.Connection, block: int, first: bytes, end: bytes, limit: int
) -> Iterator[tuple[bytes, bytes]]:
    sql = "SELECT gram, bits FROM recall.postings WHERE block = ? AND gram >= ? AND gram < ? LIMIT ?"
    yield from connection.execute(sql, (block, first, end, limit))

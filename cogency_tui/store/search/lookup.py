"""Look-ups in the postings: the slices of a block, a bit each, that may meet a condition."""

import sqlite3
from collections.abc import Iterator

from cogency_tui.store.search.folding import LENGTH, grams_of_term, key, probes_of
from cogency_tui.store.search.index import FACT, group_of
from cogency_tui.store.search.matching import Condition
from cogency_tui.store.search.postings import FULL, decode

_COMMON = 300
"""Grams in a block with the same first character from which on that character counts as everywhere."""

_MOST_GRAMS = 40
"""Most grams of one condition that are looked up: far fewer identify a pasted page."""


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

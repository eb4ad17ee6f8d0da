"""What the postings say of a condition: the slices of a block, a bit each, that may meet it."""

import sqlite3
from collections.abc import Iterator

from cogency_tui.store.search.folding import LENGTH, grams_of_term, key, probes_of
from cogency_tui.store.search.index import FACT, group_of
from cogency_tui.store.search.matching import Condition
from cogency_tui.store.search.postings import FULL, decode

_COMMON = 300
"""Grams in a block that begin with one character, from which on it is taken to be everywhere."""

_MOST_GRAMS = 40
"""Grams of one condition that are looked up: a pasted page is told from others by far fewer."""


def grams_of(condition: Condition) -> list[bytes]:
    """The postings in which a slice has to be, to meet a condition."""
    grams = [key(gram) for gram in grams_of_term(condition.text)]
    if len(grams) > _MOST_GRAMS:
        grams = grams[:: len(grams) // _MOST_GRAMS + 1]
    grams += [group_of(probe) for probe in probes_of(condition.text)]
    return [*grams, FACT + b"e"] if condition.fact == "e" else grams


def bits_of(connection: sqlite3.Connection, block: int, condition: Condition, grams: list[bytes]) -> int:
    """The slices of a block that have all these grams of the condition's, and its fact."""
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
    """The slices with a gram that begins with `text`, which is every place where it stands."""
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

"""What conversations took: a row a cycle, the totals derived from the rows.

Figures that a provider did not report stay unknown; they are never summed as zero into a total
that would then look known.
"""

import json
import sqlite3
import time
from operator import add
from typing import NamedTuple, cast

from cogency_tui.protocol.events import Measure
from cogency_tui.store.events import encode, missing
from cogency_tui.store.text import from_column, to_column

SUMMED = ("input", "output", "duration", "cached", "billed_input", "replay_input", "cost")

_INSERT = (
    f"INSERT INTO usage (conversation_id, timestamp, body, {', '.join(SUMMED)})"
    f" VALUES (?, ?, ?{', ?' * len(SUMMED)})"
)
_INSTEAD = {"billed_input": "coalesce(billed_input, input)", "replay_input": "coalesce(replay_input, input)"}
"""What a row counts as that lacks a figure: where only what was sent is known, it is that."""

_SUMS = (f"count({figure}), coalesce(sum({_INSTEAD.get(figure, figure)}), 0)" for figure in SUMMED)
_TOTAL = f"SELECT max(id), {', '.join(_SUMS)} FROM usage WHERE conversation_id = ? AND id > ?"
_THERE = "SELECT 1 FROM usage WHERE conversation_id = ? AND id = ?"


def record(connection: sqlite3.Connection, conversation_id: str, step: Measure) -> None:
    """Add the measure of one cycle.

    Raises:
        StoreError: there is no such conversation.
    """
    key = to_column(conversation_id)
    tokens = step.get("input", 0) + step.get("output", 0)
    updated = connection.execute(
        "UPDATE conversations SET tokens = tokens + ?, cost = cost + ? WHERE id = ?",
        (tokens, step.get("cost", 0.0), key),
    )
    if updated.rowcount != 1:
        raise missing(conversation_id)
    figures = (step.get(figure) for figure in SUMMED)
    connection.execute(_INSERT, (key, time.time(), encode(step), *figures))


class Total(NamedTuple):
    """The sums over a conversation's cycles up to the row `through`; in how many each figure is `known`."""

    through: int = 0
    known: tuple[int, ...] = (0,) * len(SUMMED)
    sums: tuple[float, ...] = (0,) * len(SUMMED)

    @property
    def measure(self) -> Measure:
        """`input`, `output` and `duration` always, the others where known."""
        known = {
            figure: value for figure, count, value in zip(SUMMED, self.known, self.sums, strict=True) if count
        }
        return cast("Measure", {"input": 0, "output": 0, "duration": 0.0} | known)


NOTHING = Total()


def total(connection: sqlite3.Connection, conversation_id: str, before: Total = NOTHING) -> Total:
    """The sums over all cycles; `before` is what they were, so that only what is new is read."""
    key = to_column(conversation_id)
    if not connection.execute(_THERE, (key, before.through)).fetchone():
        before = NOTHING
    ((through, *row),) = connection.execute(_TOTAL, (key, before.through))
    if through is None:
        return before
    known = tuple(map(add, before.known, row[::2]))
    return Total(through, known, tuple(map(add, before.sums, row[1::2])))


def measures(connection: sqlite3.Connection, conversation_id: str) -> list[tuple[float, Measure]]:
    """The figures of each cycle, summary and question, the oldest first, each with the Unix time when it was
    recorded."""
    sql = "SELECT timestamp, body FROM usage WHERE conversation_id = ? ORDER BY id"
    rows = connection.execute(sql, (to_column(conversation_id),))
    return [(moment, cast("Measure", json.loads(from_column(body)))) for moment, body in rows]


def is_estimated(connection: sqlite3.Connection, conversation_id: str) -> bool:
    """Whether the figures of any cycle are an estimate."""
    sql = "SELECT 1 FROM usage WHERE conversation_id = ? AND instr(body, '\"estimated\":true') LIMIT 1"
    return connection.execute(sql, (to_column(conversation_id),)).fetchone() is not None


class Spent(NamedTuple):
    """USD, and the tokens of those requests whose price is not known."""

    dollars: float
    tokens: int


_SPENT = (
    "SELECT total(cost), coalesce(sum(iif(cost IS NULL, coalesce(input, 0) + coalesce(output, 0), 0)), 0)"
    " FROM usage WHERE timestamp >= ?"
)
_FAMILY = (
    " AND conversation_id IN (WITH RECURSIVE family (id) AS (SELECT ? UNION SELECT conversations.id"
    " FROM conversations JOIN family ON parent = family.id WHERE call IS NOT NULL) SELECT id FROM family)"
)


def spent(connection: sqlite3.Connection, moment: float, conversation_id: str | None = None) -> Spent:
    """What went out from a moment in Unix seconds on, in one conversation with its sub-agents or in all."""
    if conversation_id is None:
        return Spent(*connection.execute(_SPENT, (moment,)).fetchone())
    values = (moment, to_column(conversation_id))
    return Spent(*connection.execute(_SPENT + _FAMILY, values).fetchone())


def since(connection: sqlite3.Connection, conversation_id: str, moment: float) -> tuple[int, float]:
    """Tokens and USD, as far as known, of the cycles from a moment in Unix seconds."""
    sql = (
        "SELECT coalesce(sum(coalesce(input, 0) + coalesce(output, 0)), 0), total(cost) FROM usage"
        " WHERE conversation_id = ? AND timestamp >= ?"
    )
    return connection.execute(sql, (to_column(conversation_id), moment)).fetchone()

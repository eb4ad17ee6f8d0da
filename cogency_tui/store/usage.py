"""What conversations took: a row a cycle, the totals derived from the rows.

Figures that a provider did not report stay unknown; they are never summed as zero into a total
that would then look known.
"""

import sqlite3
import time
from typing import cast

from cogency_tui.protocol.events import Measure
from cogency_tui.store.events import encode, missing
from cogency_tui.store.text import to_column

SUMMED = ("input", "output", "duration", "cached", "billed_input", "replay_input", "cost")

_INSERT = (
    f"INSERT INTO usage (conversation_id, timestamp, body, {', '.join(SUMMED)})"
    f" VALUES (?, ?, ?{', ?' * len(SUMMED)})"
)
_TOTAL = f"SELECT {', '.join(f'sum({figure})' for figure in SUMMED)} FROM usage WHERE conversation_id = ?"


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


def total(connection: sqlite3.Connection, conversation_id: str) -> Measure:
    """The sums over all cycles; `input`, `output` and `duration` always, the others where known."""
    (row,) = connection.execute(_TOTAL, (to_column(conversation_id),))
    known = {figure: value for figure, value in zip(SUMMED, row, strict=True) if value is not None}
    return cast("Measure", {"input": 0, "output": 0, "duration": 0.0} | known)

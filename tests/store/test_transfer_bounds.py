"""An import costs work in proportion to its lines, whatever they are."""

import json
import random
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cogency_tui.store.blobs import Blobs
from cogency_tui.store.export_import import imported
from cogency_tui.store.store import Store
from tests.agent.test_imports_of_conversations import Record, conversation, lines, user
from tests.counting import calls_counted


def summary(through: int) -> Record:
    return {"summary": {"through": through, "text": "s", "model": "m", "created": 1.0, "edited": 0}}


async def taken(data: Path, *records: Record) -> tuple[int, list[Any]]:
    """How many functions an import calls, and the last event that each of its summaries stands for."""
    store = await Store.open(data)
    await store.close()
    text = lines(conversation("/p"), *records)
    with closing(sqlite3.connect(store.database.path)) as connection:
        with calls_counted() as calls:
            imported(connection, text, Blobs(data / "blobs"))
        sql = "SELECT e.body FROM summaries s LEFT JOIN events e ON e.seq = s.through ORDER BY s.id"
        rows = connection.execute(sql).fetchall()
    return calls.count, [body and json.loads(body)["content"] for (body,) in rows]


@pytest.mark.exhaustive
async def test_summaries_of_many_events_are_imported_in_linear_time(tmp_path: Path) -> None:
    counts: list[int] = []
    for size in (150, 600):
        records = [
            *(user(1 + number) for number in range(size)),
            *(summary(number) for number in range(size)),
        ]
        counts.append((await taken(tmp_path / str(size), *records))[0])
    assert counts[1] <= 5 * counts[0]


async def test_a_summary_stands_for_the_events_up_to_its_number_in_any_order(tmp_path: Path) -> None:
    numbers = random.Random(7).sample(range(1, 1000), 100)
    through = range(0, 1000, 37)
    records = [*(user(number, str(number)) for number in numbers), *map(summary, through)]
    wanted = [next((str(n) for n in reversed(numbers) if n <= limit), None) for limit in through]

    assert (await taken(tmp_path, *records))[1] == wanted

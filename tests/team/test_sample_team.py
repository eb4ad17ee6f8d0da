"""The benchmark's large history has the rows that a push makes."""

import asyncio
import random
from typing import Any

from cogency_tui.team.connection import connect
from cogency_tui.team.push import COLUMNS, row_values
from cogency_tui.team.rows import Rows
from tests.benchmarks.sample_team import Sessions, fill_month, months, origin_of, put, rows_for
from tests.team.members import Member
from tests.team.postgres import Server

TABLES = ("events", "edits", "usage")


def values(rows: Rows) -> dict[str, list[tuple[Any, ...]]]:
    return {"events": [*rows.events], "edits": [*rows.edits], "usage": [*rows.usage]}


async def test_rows_that_are_loaded_are_those_of_a_push(ada: Member, server: Server, database: str) -> None:
    sessions = Sessions(random.Random(7), 1)
    made = [sessions.make(number, 1767225600.0 + 40_000 * number, 0) for number in range(5)]
    assert sum(len(session.written) for session in made)
    for session in made:
        await ada.store.database.write(
            lambda connection, session=session: put(session, connection, ada.blobs)
        )
    for session in made:
        ada.share("team", session.share.project, session.share.name)
    assert (await ada.push()).events == sum(len(session.events) for session in made)
    root = await connect(server.url("root", database))
    for session in made:
        rows = rows_for(session)
        id = session.conversation.id
        for table, expected in values(rows).items():
            sql = f"SELECT * FROM cogency.{table} WHERE conversation = $1 ORDER BY number"
            assert [tuple(row)[2 : 2 + len(expected[0])] for row in await root.fetch(sql, id)] == expected
        sql = "SELECT c.digest, c.data FROM cogency.contents c JOIN cogency.content_uses u USING (digest)"
        found = await root.fetch(f"{sql} WHERE u.conversation = $1", id)
        assert sorted((row["digest"], row["data"]) for row in found) == sorted(rows.contents)
        there = await root.fetchrow("SELECT * FROM cogency.conversations WHERE id = $1", id)
        given = dict(zip(COLUMNS, row_values(origin_of(0), session.shared, rows, 1), strict=True))
        # Digests of what changes are the store's.
        for name in given.keys() - {"origin", "share", "position"}:
            assert there[name] == given[name], name
    await root.close()


async def test_a_month_is_loaded_and_found(server: Server, database: str) -> None:
    month = months(2)[1]
    root = await connect(server.url("root", database))
    await root.execute("INSERT INTO cogency.origins VALUES ($1, 'ada', 'ada@x')", origin_of(0).id)
    count = await asyncio.to_thread(fill_month, server.url("root", database), month, 400, 1)
    assert await root.fetchval("SELECT count(*) FROM cogency.events") == count > 0
    rows = await root.fetch("SELECT DISTINCT tableoid::regclass::text, readers FROM cogency.events")
    readers = await root.fetch("SELECT DISTINCT readers FROM cogency.conversations")
    assert {tuple(row) for row in rows} == {(f"cogency.events_{month.name}", row[0]) for row in readers}
    await root.close()

"""Who sees what, by plain SQL as each user: the database decides, whatever a client sends."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

import asyncpg
import pytest

from cogency_tui.team import schema
from cogency_tui.team.connection import Connection, connect
from cogency_tui.team.schema import VERSION, setup_script
from tests.team.postgres import ADMINISTRATOR, Server, set_up, wait_for_a_lock

ORIGIN = {"ada": "a" * 20, "grace": "b" * 20}
TABLES = ("events", "edits", "usage")
CONTENTS = "SELECT data FROM cogency.read_contents($1, $2, $3)"


@asynccontextmanager
async def as_user(server: Server, database: str, user: str) -> AsyncGenerator[Connection]:
    connection = await connect(server.url(user, database))
    try:
        yield connection
    finally:
        await connection.close()


async def register(connection: Connection, origin: str, name: str) -> None:
    first = await connection.fetchval("SELECT to_regproc('cogency.register') IS NULL")
    sql = "INSERT INTO cogency.origins VALUES ($1, DEFAULT, $2) ON CONFLICT DO NOTHING"
    await connection.execute(sql if first else "SELECT cogency.register($1, $2)", origin, name)


async def add(connection: Connection, user: str, id: str, share: str, project: str = "shop") -> None:
    """Add a conversation with a row of each kind."""
    origin = ORIGIN[user]
    await register(connection, origin, f"{user}@x")
    await connection.execute(
        "INSERT INTO cogency.conversations (origin, id, project, share, title, turns, cost, updated, trashed,"
        " folded_title, folded_model, folded_directory, folded_branch, record, changing, position, revision)"
        " VALUES ($1, $2, $3, $4, 'Title', 1, 0, 1767225600, false, '', '', '', '', '{}', '', '{}', 1)",
        *(origin, id, project, share),
    )
    await connection.execute(
        "INSERT INTO cogency.events VALUES ($1, $2, 1, 1767225600, 'user', '', false, '', 'find the needle', '{}')",
        *(origin, id),
    )
    await connection.execute(
        "INSERT INTO cogency.edits VALUES ($1, $2, 1, 1767225600, $2, 'edit', 'a.py', 'a.py', 'a.py', '{}')",
        origin,
        id,
    )
    await connection.execute(
        "INSERT INTO cogency.usage VALUES ($1, $2, 1, 1767225600, 'openai', 'gpt', 10, 5, 0, 0.5, '{}')",
        origin,
        id,
    )
    await connection.execute(
        "INSERT INTO cogency.contents (digest, data) VALUES ($1, 'x') ON CONFLICT DO NOTHING", "0" * 64
    )
    await connection.execute("INSERT INTO cogency.content_uses VALUES ($1, $2, $3)", origin, id, "0" * 64)


async def seen(connection: Connection, table: str = "conversations") -> set[str]:
    column = "id" if table == "conversations" else "conversation"
    return {row[0] for row in await connection.fetch(f"SELECT {column} FROM cogency.{table}")}


async def found(connection: Connection, term: str = "needle") -> set[str]:
    asked = f'{{"documents": [["term", "{term}"]]}}'
    return {row["id"] for row in await connection.fetch("SELECT id FROM cogency.search($1, 10)", asked)}


async def test_a_user_sees_own_conversations_those_of_their_projects_and_the_teams(
    server: Server, database: str
) -> None:
    async with as_user(server, database, "root") as root:
        await root.execute(
            "INSERT INTO cogency.members VALUES ('shop', 'ada'), ('shop', 'grace'), ('bank', 'ada')"
        )
    async with as_user(server, database, "ada") as ada, as_user(server, database, "grace") as grace:
        for id, share, project in (("o", "own", "x"), ("p", "project", "shop"), ("q", "project", "bank")):
            await add(ada, "ada", id, share, project)
        await add(ada, "ada", "t", "team", "any")
        for table in ("conversations", *TABLES):
            assert await seen(ada, table) == {"o", "p", "q", "t"}, table
            assert await seen(grace, table) == {"p", "t"}, table
        assert await found(ada) == {"o", "p", "q", "t"}
        assert await found(grace) == {"p", "t"}
        assert await grace.fetchval(CONTENTS, ORIGIN["ada"], "t", ["0" * 64]) == b"x"
        assert await grace.fetchval(CONTENTS, ORIGIN["ada"], "o", ["0" * 64]) is None
        # Who leaves the project no longer sees it.
        async with as_user(server, database, "root") as root:
            await root.execute("DELETE FROM cogency.members WHERE member = 'grace'")
        assert await seen(grace, "events") == {"t"} == await found(grace)


async def test_an_outsider_sees_nothing_and_can_do_nothing(server: Server, database: str) -> None:
    async with as_user(server, database, "ada") as ada:
        await add(ada, "ada", "t", "team")
    async with as_user(server, database, "mallory") as mallory:
        for sql in (
            *(
                f"SELECT * FROM cogency.{table}"
                for table in ("conversations", "contents", "content_uses", "origins", *TABLES)
            ),
            "SELECT * FROM cogency.events_2026_01",
            "SELECT * FROM cogency.search('{}', 10)",
            "SELECT cogency.expire()",
            "SELECT * FROM cogency.team_usage(0, 1e12)",
            f"SELECT cogency.withdraw('{ORIGIN['ada']}', 't')",
        ):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await mallory.fetch(sql)


async def test_nobody_changes_what_was_pushed_nor_writes_for_another(server: Server, database: str) -> None:
    async with as_user(server, database, "ada") as ada, as_user(server, database, "grace") as grace:
        await add(ada, "ada", "t", "team")
        origin = ORIGIN["ada"]
        denied = (
            "UPDATE cogency.events SET body = ''",
            "DELETE FROM cogency.events",
            "DELETE FROM cogency.conversations",
            "TRUNCATE cogency.events",
            "UPDATE cogency.conversations SET owner = 'grace'",
            "SELECT * FROM cogency.events_2026_01",
            "INSERT INTO cogency.members VALUES ('bank', 'grace')",
            "SELECT cogency.remove('x', '{}')",
            f"SELECT cogency.withdraw('{origin}', 't')",
            f"INSERT INTO cogency.events VALUES ('{origin}', 't', 2, 0, 'user', '', false, '', '', '')",
            f"INSERT INTO cogency.usage VALUES ('{origin}', 't', 2, 0, '', '', 0, 0, 0, 0, '')",
            f"INSERT INTO cogency.content_uses VALUES ('{origin}', 't', '{'1' * 64}')",
            f"INSERT INTO cogency.contents VALUES ('ada', '{'1' * 64}', '')",
            "INSERT INTO cogency.origins (id, name) VALUES ('cccccccccccccccccccc', '')",
            "UPDATE cogency.origins SET name = 'x'",
            "SELECT cogency.take_turn()",
            "SELECT cogency.prepare(ARRAY[1767225600])",
            "SELECT cogency.expire()",
        )
        for sql in denied:
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await grace.execute(sql)
        # Rows of others are not there for a change.
        assert await grace.execute("UPDATE cogency.conversations SET title = 'x'") == "UPDATE 0"
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await add(grace, "grace", "g", "project", "bank")
        # Whoever knows a digest does not get the content by it.
        await add(grace, "grace", "h", "own")
        await grace.execute(
            "INSERT INTO cogency.content_uses VALUES ($1, 'h', $2)", ORIGIN["grace"], "2" * 64
        )
        await ada.execute("INSERT INTO cogency.contents (digest, data) VALUES ($1, 'secret')", "2" * 64)
        assert not await grace.fetch(CONTENTS, ORIGIN["grace"], "h", ["2" * 64])


async def test_who_leaves_a_project_writes_no_more_into_it_but_can_withdraw(
    server: Server, database: str
) -> None:
    async with as_user(server, database, "root") as root, as_user(server, database, "ada") as ada:
        await root.execute("INSERT INTO cogency.members VALUES ('shop', 'ada'), ('shop', 'grace')")
        for id in ("p", "q"):
            await add(ada, "ada", id, "project")
        await root.execute("DELETE FROM cogency.members WHERE member = 'ada'")
        for sql in (
            f"INSERT INTO cogency.events VALUES ('{ORIGIN['ada']}', 'p', 2, 0, 'user', '', false, '', '', '')",
            f"INSERT INTO cogency.edits VALUES ('{ORIGIN['ada']}', 'p', 2, 0, 'p', '', '', '', '', '')",
            f"INSERT INTO cogency.usage VALUES ('{ORIGIN['ada']}', 'p', 2, 0, '', '', 0, 0, 0, 0, '')",
            f"INSERT INTO cogency.content_uses VALUES ('{ORIGIN['ada']}', 'p', '{'1' * 64}')",
            "UPDATE cogency.conversations SET title = 'x'",
            "UPDATE cogency.conversations SET share = 'team'",
        ):
            with pytest.raises(asyncpg.InsufficientPrivilegeError, match="row-level security"):
                await ada.execute(sql)
        await ada.execute("SELECT cogency.withdraw($1, 'p')", ORIGIN["ada"])
        await ada.execute("UPDATE cogency.conversations SET share = 'own'")
        async with as_user(server, database, "grace") as grace:
            assert await seen(grace) == set()


async def test_nobody_poses_as_a_project_that_has_members(server: Server, database: str) -> None:
    async with as_user(server, database, "root") as root, as_user(server, database, "ada") as ada:
        await add(ada, "ada", "t", "team")
        await root.execute("INSERT INTO cogency.members VALUES ('shop', 'grace')")
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await add(ada, "ada", "u", "team")
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await ada.execute("UPDATE cogency.conversations SET title = 'x'")
        await add(ada, "ada", "v", "team", "shop of ada")
        await add(ada, "ada", "w", "own")
        await root.execute("INSERT INTO cogency.members VALUES ('shop', 'ada')")
        await ada.execute("UPDATE cogency.conversations SET title = 'x'")


async def test_nobody_holds_up_the_pushes_and_withdrawals_of_another(server: Server, database: str) -> None:
    conflict = "ON CONFLICT (id) DO UPDATE SET name = '' WHERE false"
    attempts = (
        "SELECT pg_advisory_xact_lock(hashtextextended('cogency.push ada', 0))",
        "SELECT pg_advisory_xact_lock(hashtext('cogency.setup'))",
        "SELECT FROM cogency.origins FOR UPDATE",
        "SELECT FROM cogency.conversations FOR UPDATE",
        "SELECT FROM cogency.pushers FOR UPDATE",
        "INSERT INTO cogency.pushers VALUES ('ada')",
        f"INSERT INTO cogency.origins (id, name) VALUES ('{ORIGIN['ada']}', '') {conflict}",
        f"SELECT cogency.register('{ORIGIN['ada']}', '')",
        f"SELECT cogency.register('{ORIGIN['grace']}', '')",
        "LOCK TABLE cogency.pushers IN ACCESS SHARE MODE",
        "LOCK TABLE cogency.conversations IN SHARE MODE",
    )
    async with as_user(server, database, "ada") as ada, as_user(server, database, "grace") as grace:
        await add(ada, "ada", "t", "team")
        await ada.execute("SET statement_timeout = '10s'")
        async with grace.transaction():
            for sql in attempts:
                with suppress(asyncpg.InsufficientPrivilegeError, asyncpg.UniqueViolationError):
                    async with grace.transaction():
                        await grace.execute(sql)
            await add(ada, "ada", "u", "team")
            await ada.execute("UPDATE cogency.conversations SET title = 'x'")
            await ada.execute("SELECT cogency.withdraw($1, 't')", ORIGIN["ada"])
            async with as_user(server, database, "root") as root:
                await root.execute(setup_script())
        assert await seen(ada) == {"u"}


async def test_pushes_and_withdrawals_of_a_user_follow_each_other(server: Server, database: str) -> None:
    async with as_user(server, database, "ada") as ada, as_user(server, database, "ada") as other:
        await add(ada, "ada", "t", "team")
        async with ada.transaction():
            await register(ada, "c" * 20, "ada@y")
            await other.execute("SET lock_timeout = '10ms'")
            for sql in (
                f"SELECT cogency.register('{ORIGIN['ada']}', 'ada@x')",
                f"SELECT cogency.withdraw('{ORIGIN['ada']}', 't')",
            ):
                with pytest.raises(asyncpg.LockNotAvailableError):
                    await other.execute(sql)
        assert await other.fetchval("SELECT cogency.withdraw($1, 't')", ORIGIN["ada"])


async def test_an_origin_belongs_to_the_user_who_registers_it_first(server: Server, database: str) -> None:
    async with as_user(server, database, "ada") as ada, as_user(server, database, "grace") as grace:
        await register(ada, ORIGIN["ada"], "ada@x")
        with pytest.raises(asyncpg.UniqueViolationError, match="another user has registered"):
            await register(grace, ORIGIN["ada"], "grace@x")
        await register(ada, ORIGIN["ada"], "ada@y")
        async with as_user(server, database, "root") as root:
            assert await root.fetchval("SELECT name FROM cogency.origins") == "ada@y"


async def test_a_withdrawn_conversation_is_gone_and_cannot_come_back_by_itself(
    server: Server, database: str
) -> None:
    async with as_user(server, database, "ada") as ada, as_user(server, database, "root") as root:
        await add(ada, "ada", "t", "team")
        await add(ada, "ada", "u", "team")
        origin = ORIGIN["ada"]
        assert await ada.fetchval("SELECT cogency.withdraw($1, 't')", origin)
        for table in ("conversations", *TABLES):
            assert await seen(root, table) == {"u"}, table
        # The other conversation still needs the content.
        assert await root.fetchval("SELECT count(*) FROM cogency.contents") == 1
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await add(ada, "ada", "t", "team")
        await ada.execute("SELECT cogency.restore($1, 't')", origin)
        await add(ada, "ada", "t", "team")
        await ada.execute("SELECT cogency.withdraw($1, id) FROM cogency.conversations", origin)
        assert await root.fetchval("SELECT count(*) FROM cogency.contents") == 0


async def test_months_are_partitions_and_old_ones_expire(server: Server, database: str) -> None:
    async with as_user(server, database, "ada") as ada, as_user(server, database, "root") as root:
        await add(ada, "ada", "t", "team")
        origin = ORIGIN["ada"]
        times = [0.0, 1580000000.0, 1767225599.0, 1767225600.0, 4e9]
        await root.execute("SELECT cogency.prepare($1)", times)
        for number, at in enumerate(times, 10):
            sql = "INSERT INTO cogency.events VALUES ($1, 't', $2, $3, 'user', '', false, '', '', '')"
            await ada.execute(sql, origin, number, at)
        where = (
            "SELECT tableoid::regclass::text, number FROM cogency.events WHERE number >= 10 ORDER BY number"
        )
        assert [row[0].removeprefix("cogency.") for row in await root.fetch(where)] == [
            *("events_default", "events_2020_01", "events_2025_12", "events_2026_01", "events_default"),
        ]
        await root.execute("UPDATE cogency.settings SET value = '1000' WHERE name = 'retention_days'")
        await root.execute("SELECT cogency.expire()")
        assert [row[1] for row in await root.fetch(where)] == [12, 13, 14]
        await root.execute("UPDATE cogency.conversations SET updated = 1")
        await root.execute("SELECT cogency.expire()")
        assert await seen(root) == set()


LATE = 1764547200.0
"""A time in December 2025, which has no partition."""


BACK_TO_THE_DEFAULT = (
    "CREATE TEMP TABLE late AS SELECT * FROM cogency.events_2025_12; DROP TABLE cogency.events_2025_12;"
    "INSERT INTO cogency.events SELECT * FROM late; DROP TABLE late"
)


async def add_late(connection: Connection, number: int = 9) -> None:
    sql = "INSERT INTO cogency.events VALUES ($1, 't', $2, $3, 'user', '', false, '', 'late needle', '{}')"
    await connection.execute(sql, ORIGIN["ada"], number, LATE)


async def place(root: Connection, number: int = 9) -> str:
    sql = "SELECT tableoid::regclass::text FROM cogency.events WHERE number = $1"
    return (await root.fetchval(sql, number)).removeprefix("cogency.")


async def test_events_without_a_partition_move_to_their_month_by_the_daily_run(
    server: Server, database: str
) -> None:
    async with as_user(server, database, "ada") as ada, as_user(server, database, "root") as root:
        await add(ada, "ada", "t", "team")
        await add_late(ada)
        assert await place(root) == "events_default"
        assert await found(ada, "late") == {"t"}
        await root.execute("SELECT cogency.expire()")
        assert await place(root) == "events_2025_12"
        assert await found(ada, "late") == {"t"}


async def test_this_month_and_the_next_have_partitions(server: Server, database: str) -> None:
    async with as_user(server, database, "root") as root:
        months = "SELECT to_char(now() AT TIME ZONE 'UTC' + make_interval(months => m), 'YYYY_MM')"
        names = {f"events_{row[0]}" for row in await root.fetch(f"{months} FROM unnest(ARRAY[0, 1]) m")}
        there = "SELECT relname FROM pg_class WHERE relname = ANY ($1)"
        assert {row[0] for row in await root.fetch(there, list(names))} == names
        for name in names:
            await root.execute(f"DROP TABLE cogency.{name}")
        await root.execute("SELECT cogency.expire()")
        assert {row[0] for row in await root.fetch(there, list(names))} == names


async def test_a_transaction_that_stays_open_holds_up_neither_the_daily_run_nor_others(
    server: Server, database: str
) -> None:
    reading = "SELECT count(*) FROM cogency.events"
    changing = "UPDATE cogency.conversations SET title = 'x'"
    withdrawing = f"SELECT cogency.withdraw('{ORIGIN['grace']}', id) FROM cogency.conversations"
    async with (
        as_user(server, database, "ada") as ada,
        as_user(server, database, "grace") as grace,
        as_user(server, database, "root") as root,
    ):
        await add(ada, "ada", "t", "team")
        await add_late(ada)
        for connection in (ada, root):
            await connection.execute("SET statement_timeout = '20s'")
        await root.execute("UPDATE cogency.settings SET value = '400' WHERE name = 'retention_days'")
        await root.execute("SELECT cogency.prepare(ARRAY[1577836800])")
        for number, held in enumerate((reading, changing, withdrawing), 10):
            await add(grace, "grace", f"g{number}", "own")
            await root.execute("UPDATE cogency.conversations SET updated = 1 WHERE owner = 'grace'")
            await grace.execute("BEGIN")
            await grace.execute(held)
            await root.execute("SELECT cogency.expire()")
            assert await seen(root) == {"t"} if held == reading else {"t", f"g{number}"}
            assert await place(root) == ("events_2025_12" if held == changing else "events_default")
            await add_late(ada, number)
            assert await found(ada, "late") == {"t"}
            await grace.execute("ROLLBACK")
            await root.execute("SELECT cogency.expire()")
            assert await seen(root) == {"t"}
            assert await place(root) == "events_2025_12"
            await root.execute(BACK_TO_THE_DEFAULT)
        assert not await root.fetchval("SELECT to_regclass('cogency.events_2020_01')")


async def test_a_transaction_that_stays_open_keeps_no_events_beyond_the_retention(
    server: Server, database: str
) -> None:
    async with (
        as_user(server, database, "ada") as ada,
        as_user(server, database, "grace") as grace,
        as_user(server, database, "root") as root,
    ):
        await root.execute("SELECT cogency.prepare(ARRAY[1577836800])")
        await add(ada, "ada", "t", "team")
        sql = "INSERT INTO cogency.events VALUES ($1, 't', 8, 1577836800, 'user', '', false, '', 'old', '{}')"
        await ada.execute(sql, ORIGIN["ada"])
        await root.execute("UPDATE cogency.settings SET value = '1000' WHERE name = 'retention_days'")
        async with grace.transaction():
            await grace.execute("SELECT FROM cogency.events")
            await root.execute("SELECT cogency.expire()")
            assert await root.fetchval("SELECT to_regclass('cogency.events_2020_01')")
            assert await ada.fetchval("SELECT min(number) FROM cogency.events") == 1
        await root.execute("SELECT cogency.expire()")
        assert not await root.fetchval("SELECT to_regclass('cogency.events_2020_01')")


async def test_a_withdrawal_waits_for_rows_that_move(server: Server, database: str) -> None:
    async with as_user(server, database, "ada") as ada, as_user(server, database, "root") as root:
        await add(ada, "ada", "t", "team")
        await add_late(ada)
        async with as_user(server, database, "root") as moving, moving.transaction():
            await moving.execute("SELECT cogency.prepare(ARRAY[$1::float8])", LATE)
            withdrawal = asyncio.create_task(ada.execute("SELECT cogency.withdraw($1, 't')", ORIGIN["ada"]))
            await wait_for_a_lock(root, "ada")
        await withdrawal
        assert not await root.fetch("SELECT FROM cogency.events")


async def test_the_setup_runs_again_and_records_its_version(server: Server, database: str) -> None:
    async with as_user(server, database, "root") as root:
        await root.execute(setup_script())
        assert await root.fetchval("SELECT max(version) FROM cogency.versions") == VERSION


async def test_a_newer_setup_applies_its_steps_once_and_whole(
    server: Server, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = {
        "later": "ALTER TABLE cogency.settings ADD COLUMN later text;",
        "wrong": "SELECT 1 / 0;",
    }
    first = schema.read_step

    def read_step(name: str) -> str:
        return later.get(name) or first(name)

    monkeypatch.setattr(schema, "read_step", read_step)
    async with as_user(server, database, "ada") as ada, as_user(server, database, "root") as root:
        await add(ada, "ada", "t", "team")
        monkeypatch.setattr(schema, "STEPS", (*schema.STEPS, schema.Step("later", 1)))
        for _ in range(2):
            await root.execute(setup_script())
        assert await root.fetchval("SELECT max(version) FROM cogency.versions") == VERSION + 1
        monkeypatch.setattr(schema, "STEPS", (*schema.STEPS, schema.Step("wrong", VERSION + 2)))
        with pytest.raises(asyncpg.DivisionByZeroError):
            await root.execute(setup_script())
        await root.execute("ROLLBACK")
        assert await root.fetchval("SELECT max(version) FROM cogency.versions") == VERSION + 1
        assert await root.fetch("SELECT later FROM cogency.settings")
        assert await seen(ada) == {"t"}


async def test_times_and_costs_are_finite_also_those_of_before(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema, "STEPS", schema.STEPS[:1])
    await set_up(server, "infinite")
    monkeypatch.undo()
    odd = ("'NaN'", "'infinity'", "'-infinity'")
    async with as_user(server, "infinite", "ada") as ada:
        for number, value in enumerate(odd):
            await add(ada, "ada", f"c{number}", "team")
            await ada.execute(
                f"UPDATE cogency.conversations SET updated = {value}, cost = {value} WHERE id = 'c{number}'"
            )
            for table in ("events", "edits", "usage"):
                columns = await ada.fetch(
                    "SELECT column_name FROM information_schema.columns"
                    " WHERE table_schema = 'cogency' AND table_name = $1 ORDER BY ordinal_position",
                    table,
                )
                values = {"number": "2", "at": value, "cost": value}
                names = [str(row["column_name"]) for row in columns]
                chosen = ", ".join(values.get(name, name) for name in names)
                await ada.execute(
                    f"INSERT INTO cogency.{table} SELECT {chosen} FROM cogency.{table}"
                    f" WHERE conversation = 'c{number}' AND number = 1"
                )
    async with as_user(server, "infinite", ADMINISTRATOR) as root:
        await root.execute(setup_script())
        assert await root.fetchval("SELECT count(*) FROM cogency.conversations WHERE updated = 0") == 3
        for table in ("events", "edits", "usage"):
            assert await root.fetchval(f"SELECT count(*) FROM cogency.{table}") == 3
    async with as_user(server, "infinite", "ada") as ada:
        for value in odd:
            for column in ("updated", "cost"):
                with pytest.raises(asyncpg.CheckViolationError):
                    await ada.execute(f"UPDATE cogency.conversations SET {column} = {value}")


async def test_what_was_there_before_a_step_is_there_after_it(
    server: Server, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"{database}_before"
    with monkeypatch.context() as patched:
        patched.setattr(schema, "STEPS", schema.STEPS[:1])
        await set_up(server, name)
    async with as_user(server, name, "ada") as ada, as_user(server, name, ADMINISTRATOR) as administrator:
        await add(ada, "ada", "t", "team")
        await administrator.execute(setup_script())
        await add(ada, "ada", "u", "team")
        assert await found(ada) == {"t", "u"}
        assert await found(ada, "a.py") == {"t", "u"}
        rows = await administrator.fetch("SELECT began, ended, readers FROM cogency.conversations")
        assert {tuple(row) for row in rows} == {(1767225600.0, 1767225600.0, "team")}
        for table in ("events", "edits"):
            rows = await administrator.fetch(
                f"SELECT conversation, tableoid::regclass::text, readers FROM cogency.{table}"
            )
            places = {(id, f"cogency.{table}_2026_01", "team") for id in ("t", "u")}
            assert {tuple(row) for row in rows} == places


LARGE = "repeat('x', 33554433)"
"""A text that no client sends."""

TOO_LARGE = (
    f"INSERT INTO cogency.events VALUES ($1, 't', 2, 1767225600, 'user', '', false, '', '', {LARGE})",
    f"INSERT INTO cogency.events VALUES ($1, 't', 2, 0, 'user', {LARGE}, false, '', '', '')",
    f"INSERT INTO cogency.edits VALUES ($1, 't', 2, 0, 't', '', '', '', {LARGE}, '')",
    f"INSERT INTO cogency.usage VALUES ($1, 't', 2, 0, '', '', 0, 0, 0, 0, {LARGE})",
    "INSERT INTO cogency.usage VALUES ($1, 't', 2, 0, '', E'gpt\\nada', 0, 0, 0, 0, '')",
    "INSERT INTO cogency.usage VALUES ($1, 't', 2, 0, E'\\u0085', '', 0, 0, 0, 0, '')",
    "INSERT INTO cogency.usage VALUES ($1, 't', 2, 0, '', repeat('x', 257), 0, 0, 0, 0, '')",
    "UPDATE cogency.conversations SET title = repeat('x', 4097) WHERE origin = $1",
    "UPDATE cogency.conversations SET folded_title = repeat('x', 65537) WHERE origin = $1",
    "UPDATE cogency.conversations SET record = repeat('x', 1048577) WHERE origin = $1",
    "UPDATE cogency.conversations SET position = repeat('x', 4097) WHERE origin = $1",
)


async def test_rows_have_bounds_also_those_of_before(
    server: Server, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"{database}_before"
    monkeypatch.setattr(schema, "STEPS", schema.STEPS[:2])
    await set_up(server, name)
    monkeypatch.undo()
    async with as_user(server, name, "ada") as ada, as_user(server, name, "root") as root:
        await add(ada, "ada", "t", "team")
        for number, sql in enumerate(TOO_LARGE, 2):
            await ada.execute(sql.replace("'t', 2", f"'t', {number}"), ORIGIN["ada"])
        await root.execute(setup_script())
        for table, count in (("events", 1), ("edits", 1), ("usage", 4)):
            assert await root.fetchval(f"SELECT count(*) FROM cogency.{table}") == count
        models = {row[0] for row in await root.fetch("SELECT model FROM cogency.usage")}
        assert models == {"gpt", "gpt ada", "", "x" * 256}
        row = await root.fetchrow("SELECT length(title), length(folded_title) FROM cogency.conversations")
        assert tuple(row) == (4096, 16384)
        for sql in TOO_LARGE:
            with pytest.raises(asyncpg.CheckViolationError):
                await ada.execute(sql, ORIGIN["ada"])
        await ada.execute(TOO_LARGE[0].replace("33554433", "33554432"), ORIGIN["ada"])


@pytest.mark.parametrize(
    ("before", "after"), [("abc", "0"), ("99999999", "0"), (" 730 ", "730"), ("-5", "0"), ("007", "7")]
)
async def test_the_retention_is_a_number_also_that_of_before(
    server: Server, database: str, monkeypatch: pytest.MonkeyPatch, before: str, after: str
) -> None:
    name = f"{database}_before"
    monkeypatch.setattr(schema, "STEPS", schema.STEPS[:2])
    await set_up(server, name)
    monkeypatch.undo()
    async with as_user(server, name, "root") as root, as_user(server, name, "ada") as ada:
        changing = "UPDATE cogency.settings SET value = $1 WHERE name = 'retention_days'"
        await root.execute(changing, before)
        await root.execute(setup_script())
        assert await root.fetchval("SELECT value FROM cogency.settings") == after
        for odd in ("abc", "-1", "1e3", "", "00", "100000", "1\n"):
            with pytest.raises(asyncpg.CheckViolationError):
                await root.execute(changing, odd)
        for days in ("0", "1", "99999"):
            await root.execute(changing, days)
            await ada.fetchval("SELECT cogency.oldest()")


async def test_an_administrator_administers_and_reads_nothing(server: Server, database: str) -> None:
    async with as_user(server, database, "ada") as ada, as_user(server, database, "root") as root:
        await add(ada, "ada", "t", "team")
        await root.execute("GRANT cogency_admin TO mallory")
        try:
            async with as_user(server, database, "mallory") as admin:
                await admin.execute("INSERT INTO cogency.members VALUES ('bank', 'ada')")
                await admin.execute("UPDATE cogency.settings SET value = '30' WHERE name = 'retention_days'")
                for table in ("conversations", "contents", *TABLES):
                    with pytest.raises(asyncpg.InsufficientPrivilegeError):
                        await admin.fetch(f"SELECT * FROM cogency.{table}")
                with pytest.raises(asyncpg.InsufficientPrivilegeError):
                    await admin.fetch("SELECT * FROM cogency.search('{}', 10)")
                await admin.execute("SELECT cogency.expire()")
        finally:
            await root.execute("REVOKE cogency_admin FROM mallory")
        assert await seen(ada) == set()


async def test_no_cost_makes_the_usage_of_the_team_infinite(server: Server, database: str) -> None:
    sql = "INSERT INTO cogency.usage VALUES ($1, 'o', $2, 1767225600, 'a', 'b', 1, 1, 0, $3, '{}')"
    async with as_user(server, database, "ada") as ada, as_user(server, database, "root") as root:
        await add(ada, "ada", "o", "own")
        for cost in (1.7e308, -1e13):
            with pytest.raises(asyncpg.CheckViolationError):
                await ada.execute(sql, ORIGIN["ada"], 7, cost)
        await ada.execute(sql, ORIGIN["ada"], 7, 1e12)
        await root.execute("GRANT cogency_usage TO ada")
        async with as_user(server, database, "ada") as again:
            rows = await again.fetch("SELECT cost FROM cogency.team_usage(0, 1e12)")
        await root.execute("REVOKE cogency_usage FROM ada")
        assert sorted(row["cost"] for row in rows) == [0.5, 1e12]


@pytest.mark.parametrize("column", ["began", "ended", "stale", "changed"])
async def test_what_the_server_notes_of_a_conversation_is_no_members_to_write(
    server: Server, database: str, column: str
) -> None:
    async with as_user(server, database, "ada") as ada:
        await add(ada, "ada", "t", "team")
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await ada.execute(f"INSERT INTO cogency.conversations ({column}) VALUES (DEFAULT)")
        await ada.execute("UPDATE cogency.conversations SET changed = 'infinity', updated = 1e300")
        sql = "SELECT changed <= clock_timestamp() AND updated < 1e11 FROM cogency.conversations"
        assert await ada.fetchval(sql)


async def test_a_step_bounds_what_was_written_before(
    server: Server, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"{database}_before"
    monkeypatch.setattr(schema, "STEPS", schema.STEPS[:5])
    await set_up(server, name)
    monkeypatch.undo()
    async with as_user(server, name, "root") as root, as_user(server, name, "ada") as ada:
        await add(ada, "ada", "t", "team")
        await ada.execute(
            "UPDATE cogency.conversations SET changed = 'infinity', updated = 1e300, cost = 1e300"
        )
        await root.execute("UPDATE cogency.usage SET cost = 1.7e308")
        await root.execute(setup_script())
        row = await root.fetchrow("SELECT changed <= now(), updated < 1e11, cost FROM cogency.conversations")
        assert tuple(row) == (True, True, 0)
        assert await root.fetchval("SELECT cost FROM cogency.usage") is None


async def test_a_search_does_not_depend_on_how_numbers_are_printed(server: Server, database: str) -> None:
    async with as_user(server, database, "ada") as ada:
        for number in range(300):
            await add(ada, "ada", f"t{number}", "team")
            sql = "UPDATE cogency.conversations SET updated = $1 WHERE id = $2"
            await ada.execute(sql, 1767225600.0 + number / 64, f"t{number}")
        await ada.execute("SET extra_float_digits = -15")
        rows = await ada.fetch("SELECT id FROM cogency.search('{}', 1000)")
        assert len(rows) == len({row["id"] for row in rows}) == 300


async def test_a_conversation_narrowed_while_it_is_indexed_stays_to_be_indexed(
    server: Server, database: str
) -> None:
    async with (
        as_user(server, database, "ada") as ada,
        as_user(server, database, "ada") as other,
        as_user(server, database, "root") as root,
    ):
        await root.execute("INSERT INTO cogency.members VALUES ('shop', 'ada')")
        await add(ada, "ada", "t", "team")
        await ada.execute("UPDATE cogency.conversations SET share = 'project'")
        async with root.transaction():
            await root.execute("SELECT FROM cogency.events FOR UPDATE")
            indexing = asyncio.create_task(ada.fetchval("SELECT cogency.reindex(100)"))
            await wait_for_a_lock(root, "ada")
            narrowing = asyncio.create_task(other.execute("UPDATE cogency.conversations SET share = 'own'"))
        await indexing
        await narrowing
        while await ada.fetchval("SELECT cogency.reindex(100)"):
            pass
        sql = "SELECT e.readers = c.readers AND NOT stale FROM cogency.conversations c, cogency.events e"
        assert await root.fetchval(sql)


async def test_pages_are_not_compressed_where_a_member_sees_their_size(server: Server, database: str) -> None:
    other = await connect(server.url("root", "postgres"))
    await other.execute("ALTER SYSTEM SET wal_compression = on")
    await other.execute("SELECT pg_reload_conf()")
    try:
        async with as_user(server, database, "root") as root:
            await root.execute(setup_script())
        async with as_user(server, database, "ada") as ada:
            assert await ada.fetchval("SELECT current_setting('wal_compression')") == "off"
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await ada.execute("SET wal_compression = on")
    finally:
        await other.execute("ALTER SYSTEM RESET wal_compression")
        await other.execute("SELECT pg_reload_conf()")
        await other.close()


async def test_only_those_who_may_see_the_usage_of_the_team(server: Server, database: str) -> None:
    async with as_user(server, database, "ada") as ada, as_user(server, database, "grace") as grace:
        await add(ada, "ada", "o", "own")
        # Roles are those of all databases of a server.
        async with as_user(server, database, "root") as root:
            await root.execute("REVOKE cogency_usage FROM grace")
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await grace.fetch("SELECT * FROM cogency.team_usage(0, 1e12)")
        async with as_user(server, database, "root") as root:
            await root.execute("GRANT cogency_usage TO grace")
        sql = "SELECT owner, project, model, requests, cost FROM cogency.team_usage(0, 1e12)"
        # The name of a project that is shared with nobody is not there.
        assert [tuple(row) for row in await grace.fetch(sql)] == [("ada", "", "gpt", 1, 0.5)]
        assert await seen(grace) == set()

"""What a member with SQL of their own can find out about what they may not see: by the work of a search, by
comparisons under row-level security, and by the planner's statistics."""

import json
import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress

import asyncpg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cogency_tui.team.connection import Connection, connect
from cogency_tui.team.rows import folded
from cogency_tui.team.schema import setup_script
from tests.team.postgres import Server, set_up
from tests.team.test_schema import ORIGIN, add, as_user

HIDDEN, ABSENT, OWN = "zebra crossing", "zebro crossing", "shared handler"
READERS = (
    "SELECT readers FROM cogency.events WHERE conversation = 'hidden'"
    " UNION SELECT readers FROM cogency.edits WHERE conversation = 'hidden'"
)
OF_CONVERSATION = "SELECT readers FROM cogency.conversations WHERE id = 'hidden'"
CONVERSATIONS = 150
"""More than a search tries one by one."""

COUNTERS = """
SELECT i.schemaname || '.' || i.indexrelname, i.idx_tup_read, i.idx_tup_fetch, s.idx_blks_read + s.idx_blks_hit
FROM pg_stat_all_indexes i JOIN pg_statio_all_indexes s USING (indexrelid) WHERE i.schemaname IN ('cogency', 'pg_toast')
UNION ALL
SELECT t.schemaname || '.' || t.relname, t.seq_tup_read, t.n_tup_ins + t.n_tup_upd, s.heap_blks_read + s.heap_blks_hit
    + coalesce(s.toast_blks_read + s.toast_blks_hit, 0)
FROM pg_stat_all_tables t JOIN pg_statio_all_tables s USING (relid) WHERE t.schemaname = 'cogency'
"""


@pytest.fixture
async def grace(server: Server, database: str) -> AsyncGenerator[Connection]:
    """A member who sees conversations of ada's, and not what one of hers contains."""
    async with as_user(server, database, "ada") as ada, as_user(server, database, "root") as root:
        await add(ada, "ada", "hidden", "own", "secret")
        await _say(ada, "hidden", 2, 3000, f"{HIDDEN} % {{}}")
        for number in range(CONVERSATIONS):
            await add(ada, "ada", f"t{number}", "team")
            await _say(ada, f"t{number}", 2, 20, "something else {}")
        # The oldest one has it, so that the index is used for it.
        await ada.execute(
            "UPDATE cogency.conversations SET updated = 1767225601 + substr(id, 2)::integer WHERE id LIKE 't%'"
        )
        await _say(ada, "t0", 50, 2, OWN)
        await root.execute("VACUUM ANALYZE")
    async with as_user(server, database, "grace") as connection:
        yield connection


async def _say(ada: Connection, id: str, first: int, count: int, text: str) -> None:
    await ada.execute(
        "INSERT INTO cogency.events SELECT $1, $2, n, 1767225600, 'user', '', false, 'src/' || n, format($3, n), '{}'"
        " FROM generate_series($4::integer, $5) n",
        *(ORIGIN["ada"], id, text.replace("{}", "%s").replace(" % ", " %% "), first, first + count - 1),
    )


async def _counters(connection: Connection) -> dict[str, tuple[int, ...]]:
    await connection.execute("SELECT pg_stat_force_next_flush()")
    await connection.execute("SELECT pg_stat_clear_snapshot()")
    return {row[0]: tuple(row)[1:] for row in await connection.fetch(COUNTERS)}


async def _work(connection: Connection, term: str) -> dict[str, tuple[int, ...]]:
    """Return what a search for a term reads of each table and index."""
    asked = json.dumps({"documents": [["term", term]]})
    sql = "SELECT id FROM cogency.search($1, 20)"
    await connection.fetch(sql, asked)
    before = await _counters(connection)
    await connection.fetch(sql, asked)
    after = await _counters(connection)
    return {name: each for name, each in _spent(before, after).items() if any(each)}


def _spent(
    before: dict[str, tuple[int, ...]], after: dict[str, tuple[int, ...]]
) -> dict[str, tuple[int, ...]]:
    return {name: tuple(b - a for a, b in zip(before[name], after[name], strict=True)) for name in after}


async def test_a_search_reads_nothing_of_what_its_user_may_not_see(
    grace: Connection, server: Server, database: str
) -> None:
    if grace.get_server_version().major < 15:  # type: ignore[attr-defined]
        pytest.skip("the counters cannot be flushed")
    asked = json.dumps({"documents": [["term", OWN]]})
    found = await grace.fetch("SELECT id FROM cogency.search($1, 20)", asked)
    assert [row["id"] for row in found] == ["t0"]
    own = await _work(grace, OWN)
    assert any(name.endswith("keys_idx") and each[0] for name, each in own.items()), own
    # The planner itself reads more at first.
    await _work(grace, HIDDEN)
    assert await _work(grace, HIDDEN) == await _work(grace, ABSENT)
    async with as_user(server, database, "ada") as ada:
        await _work(ada, HIDDEN)
        assert await _work(ada, HIDDEN) != await _work(ada, ABSENT)


COLLIDING = {
    "user ada": "shop|t)^AB['.#hv",
    "project shop": "shopwW7V7ILgusA5",
    "team": "shop{|b:^#DNip#V",
}
"""Names of projects whose readers have the seed of others, made for it: the hash can be inverted."""


@pytest.mark.parametrize("readers", COLLIDING)
async def test_no_project_has_the_keys_of_another_group(server: Server, database: str, readers: str) -> None:
    adding = "INSERT INTO cogency.members VALUES ($1, 'grace')"
    async with as_user(server, database, "root") as root, as_user(server, database, "ada") as ada:
        name = COLLIDING[readers]
        sql = "SELECT cogency.seed($1) = cogency.seed('project ' || $2)"
        assert await root.fetchval(sql, readers, name)
        await root.execute(adding, "shop")
        with pytest.raises(asyncpg.CheckViolationError):
            await root.execute(adding, name)
        # Nor if the other group comes later: as members added under an earlier version, or before the role.
        await root.execute("DELETE FROM cogency.members")
        await root.execute("ALTER TABLE cogency.members DISABLE TRIGGER require_own_seed")
        await root.execute(adding, name)
        await root.execute("ALTER TABLE cogency.members ENABLE TRIGGER require_own_seed")
        if readers == "project shop":
            later = root.execute("INSERT INTO cogency.members VALUES ('shop', 'ada')")
        else:
            later = add(ada, "ada", "t", "team" if readers == "team" else "own")
        with pytest.raises(asyncpg.CheckViolationError):
            await later


async def test_edits_of_a_narrower_sub_agent_are_not_compared(server: Server, database: str) -> None:
    async with as_user(server, database, "ada") as ada, as_user(server, database, "grace") as grace:
        await add(ada, "ada", "root", "team")
        await add(ada, "ada", "sub", "own")
        sql = "INSERT INTO cogency.edits VALUES ($1, $2, $3, 1767225600, 'root', 'edit', $4, $5, 'x', '{}')"
        await ada.execute(sql, ORIGIN["ada"], "sub", 7, "hidden.py", HIDDEN)
        await ada.execute(sql, ORIGIN["ada"], "root", 8, "shared.py", OWN)
        for kind, own, hidden in (("term", OWN, HIDDEN), ("file", "shared.py", "hidden.py")):
            for connection, seen in ((grace, [own]), (ada, [own, hidden])):
                for text in (own, hidden):
                    asked = json.dumps({"documents": [[kind, text]]})
                    found = await connection.fetch("SELECT id FROM cogency.search($1, 20)", asked)
                    assert [row["id"] for row in found] == (["root"] if text in seen else [])


SETTINGS = (
    *("enable_bitmapscan", "enable_seqscan", "enable_indexscan", "enable_hashjoin", "enable_mergejoin"),
    *("enable_memoize", "enable_material", "enable_sort", "enable_nestloop", "enable_indexonlyscan"),
)
TALKING = "SET client_min_messages = log; SET trace_sort = on; SET debug_print_plan = on; SET debug_pretty_print = off"
LOCATION = re.compile(r":(location|stmt_len|stmt_location|constvalue|constlen) (-?\d+( \[[^]]*\])?)")


async def _told(connection: Connection, sql: str) -> list[str]:
    """Return what the server says while it does something, without the values that were given to it."""
    messages: list[str] = []

    def listen(_connection: object, message: object) -> None:
        messages.append(LOCATION.sub("", f"{message} {getattr(message, 'detail', '')}"))

    connection.add_log_listener(listen)  # type: ignore[attr-defined]
    with suppress(asyncpg.InsufficientPrivilegeError):
        await connection.execute(sql)
    connection.remove_log_listener(listen)  # type: ignore[attr-defined]
    return messages


@pytest.mark.parametrize(
    "off",
    [
        (),
        *((name,) for name in SETTINGS),
        SETTINGS[:2],
        SETTINGS[1:5],
        (SETTINGS[0], SETTINGS[2], SETTINGS[-1]),
    ],
    ids="+".join,
)
async def test_no_plan_that_a_member_chooses_reads_what_they_may_not_see(
    grace: Connection, server: Server, database: str, off: tuple[str, ...]
) -> None:
    """Whatever the plan, its work and its messages are those for a text that occurs nowhere."""
    async with as_user(server, database, "ada") as ada:
        await add(ada, "ada", "titled", "own", "secret")
        await ada.execute("UPDATE cogency.conversations SET folded_title = $1 WHERE id = 'titled'", HIDDEN)
        for number in range(20):
            await add(ada, "ada", f"own{number}", "own", HIDDEN)
            await _say(ada, f"own{number}", 2, 1, HIDDEN)
            sql = "UPDATE cogency.conversations SET folded_title = $1, folded_directory = $1 WHERE id = $2"
            await ada.execute(sql, f"{HIDDEN} {number}", f"own{number}")
    async with as_user(server, database, "root") as root:
        # A text that is stored out of line: comparing it reads more.
        await root.execute(
            "UPDATE cogency.events SET folded = $1 || (SELECT string_agg(md5(n::text), ' ')"
            " FROM generate_series(1, 2000) n) WHERE conversation = 'own0'",
            HIDDEN,
        )
        await root.execute("ANALYZE")
    await add(grace, "grace", "wide", "own", "mine")
    for number, at in ((2, 1767225600), (3, 1769817600)):
        await grace.execute(
            "INSERT INTO cogency.events VALUES ($1, 'wide', $2, $3, 'user', '', false, '', 'x', '{}')",
            *(ORIGIN["grace"], number, at),
        )
    for name in off:
        await grace.execute(f"SET {name} = off")
    many = (
        "array_fill('x'::text, ARRAY[20000]) || '{}'::text, array_fill('y'::text, ARRAY[20000]) || 't0'::text"
    )
    for sql in (
        """SELECT id FROM cogency.search('{"documents": [["term", "%s"]]}', 20)""",
        """SELECT id FROM cogency.search('{"documents": [["term", "%s"], ["term", "shared"]]}', 20)""",
        """SELECT id FROM cogency.search('{"rows": [["directory", "%s"]]}', 20)""",
        """SELECT id FROM cogency.search('{"rows": [["from", "%s"]]}', 20)""",
        """SELECT place FROM cogency.hits('[["term", "%s"]]', '', """ + many.format(ORIGIN["ada"]) + ", 20)",
        """SELECT place FROM cogency.hits('[["term", "%s"], ["term", "no match"]]', '', """
        f"ARRAY['{ORIGIN['grace']}'], ARRAY['wide'], 1)",
    ):
        work = {HIDDEN: list[dict[str, tuple[int, ...]]](), ABSENT: list[dict[str, tuple[int, ...]]]()}
        for term in (HIDDEN, ABSENT) * _ROUNDS:
            before = await _counters(grace)
            await grace.execute(sql % term)
            work[term].append(_spent(before, await _counters(grace)))
        assert _unlike(work[HIDDEN], work[ABSENT]) == [], sql
        await grace.execute(TALKING)
        told = [[each.replace(term, "") for each in await _told(grace, sql % term)] for term in work]
        await grace.execute("RESET client_min_messages; RESET trace_sort; RESET debug_print_plan")
        assert told[0] == told[1], sql


_ROUNDS = 4


def _unlike(
    one: Sequence[dict[str, tuple[int, ...]]], other: Sequence[dict[str, tuple[int, ...]]]
) -> list[str]:
    """Return what was read differently in each round: the planner itself reads a block more now and then."""
    return [name for name in one[0] if not {each[name] for each in one} & {each[name] for each in other}]


async def test_what_is_planned_before_it_is_refused_tells_nothing(grace: Connection) -> None:
    await grace.execute(TALKING)
    for column in ("folded", "body", "paths"):
        told = [
            await _told(
                grace, f"EXPLAIN SELECT FROM cogency.events WHERE {column} >= '{a}' AND {column} < '{b}'"
            )
            for a, b in (("zebra", "zebrb"), ("qebra", "qebrb"))
        ]
        estimates = [re.findall(r":plan_rows (\d+)", "".join(each)) for each in told]
        assert estimates[0] == estimates[1] != [], column


async def test_the_setup_runs_no_function_of_others(server: Server, database: str) -> None:
    """Whoever may create functions plants one that fits better than the system's."""
    name = f"{database}_planted"
    await set_up(server, name, ())
    async with as_user(server, name, "root") as root:
        await root.execute("DROP SCHEMA cogency CASCADE; GRANT CREATE ON SCHEMA public TO PUBLIC")
        await root.execute(
            "CREATE ROLE planter LOGIN" if not await _has_role(root, "planter") else "SELECT 1"
        )
        async with as_user(server, name, "planter") as planter:
            for kind in ("text, integer", "text, bigint"):
                await planter.execute(
                    f"CREATE FUNCTION public.hashtextextended({kind}) RETURNS bigint LANGUAGE sql IMMUTABLE"
                    " AS 'SELECT 1::bigint'"
                )
        await root.execute(setup_script())
        found = await root.fetch(
            "SELECT d.refobjid::regprocedure::text FROM pg_depend d WHERE d.objid = 'cogency.row_keys'::regproc"
            " AND d.refclassid = 'pg_proc'::regclass"
        )
        assert {row[0] for row in found} == {"cogency_trgm.show_trgm(text)"}
        # Where the extension is in a schema that anyone may write to, nothing is set up.
        await root.execute("DROP SCHEMA cogency CASCADE; ALTER EXTENSION pg_trgm SET SCHEMA public")
        with pytest.raises(asyncpg.RaiseError, match="Anyone may create functions in the schema public"):
            await root.execute(setup_script())


async def _has_role(root: Connection, name: str) -> bool:
    return await root.fetchval("SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1)", name)


async def test_contents_cannot_be_compared_nor_estimated(grace: Connection) -> None:
    for table, column in (
        *(("events", name) for name in ("body", "folded", "paths", "tool", "type", "readers")),
        *(("edits", name) for name in ("text", "folded", "record", "paths", "root")),
        *(
            ("conversations", name)
            for name in ("title", "project", "folded_directory", "record", "changing", "call")
        ),
        *(("contents", name) for name in ("data", "digest")),
        *(("content_uses", name) for name in ("digest", "origin")),
        *(("usage", name) for name in ("model", "record")),
        *(("members", name) for name in ("project", "member")),
        *(("origins", name) for name in ("name", "owner")),
    ):
        for sql in (
            f"SELECT FROM cogency.{table} WHERE {column}::text >= 'x'",
            f"EXPLAIN SELECT FROM cogency.{table} WHERE {column} = NULL",
            f"SELECT count(*) FROM cogency.{table} t WHERE t IS NULL AND t::text = ''",
            f"COPY cogency.{table} ({column}) TO STDOUT",
        ):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await grace.fetch(sql)
    columns = await grace.fetch("SELECT tablename, attname FROM pg_stats WHERE schemaname = 'cogency'")
    names = {
        "origin",
        "id",
        "owner",
        "parent",
        "is_call",
        "updated",
        "revision",
        "changed",
        "conversation",
        "number",
    }
    assert {row["attname"] for row in columns if row["tablename"].startswith("events")} <= names | {"at"}
    for sql in (
        "UPDATE cogency.conversations SET title = '' WHERE title >= 'x'",
        "UPDATE cogency.conversations SET revision = 1 RETURNING title",
        "SELECT cogency.row_keys('user ada', 'zebra') = cogency.text_keys('user ada', 'zebra')",
        "SELECT cogency.reads('x', 'y')",
    ):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await grace.fetch(sql)


async def test_what_is_shared_in_another_way_is_found_by_those_who_see_it(
    server: Server, database: str
) -> None:
    async with (
        as_user(server, database, "root") as root,
        as_user(server, database, "ada") as ada,
        as_user(server, database, "grace") as grace,
    ):
        await root.execute("INSERT INTO cogency.members VALUES ('shop', 'ada'), ('shop', 'grace')")
        await add(ada, "ada", "hidden", "own", "shop")
        await _say(ada, "hidden", 2, 2, HIDDEN)
        for number in range(CONVERSATIONS):
            await add(ada, "ada", f"t{number}", "team", "other")
        await ada.execute("UPDATE cogency.conversations SET updated = updated + 1 WHERE id LIKE 't%'")
        search = "SELECT id FROM cogency.search($1, 20)"
        asked = json.dumps({"documents": [["term", HIDDEN]]})
        for share, seen in (("project", 1), ("own", 0), ("team", 1), ("project", 1)):
            await ada.execute("UPDATE cogency.conversations SET share = $1 WHERE id = 'hidden'", share)
            # While the rows are indexed for others, and then.
            for more in (True, True, True, True, False):
                assert len(await ada.fetch(search, asked)) == 1
                assert len(await grace.fetch(search, asked)) == seen, share
                assert await ada.fetchval("SELECT cogency.reindex(1)") is more
            assert {row[0] for row in await root.fetch(READERS)} == {await root.fetchval(OF_CONVERSATION)}
        # Who has left a project still finds their own there.
        await root.execute("DELETE FROM cogency.members WHERE member = 'ada'")
        assert [row["id"] for row in await ada.fetch(search, asked)] == ["hidden"]


TEXT = st.text(alphabet="ab q7é日ßσς_-./\n\t%\\0Aİı\u0301", max_size=30)


@pytest.mark.exhaustive
@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(before=TEXT, text=TEXT, after=TEXT)
async def test_the_keys_of_a_text_are_among_those_of_each_row_that_has_it(
    admin: Connection, before: str, text: str, after: str
) -> None:
    wanted, row = folded(text), folded(before + text + after)
    if wanted in row:
        sql = "SELECT cogency.row_keys('team', $1) @> cogency.text_keys('team', $2)"
        assert await admin.fetchval(sql, row, wanted)
    sql = "SELECT cogency.row_keys('team', $1) && cogency.row_keys('user ada', $1)"
    assert not await admin.fetchval(sql, row)


@pytest.fixture
async def admin(server: Server, database: str) -> AsyncGenerator[Connection]:
    connection = await connect(server.url("root", database))
    yield connection
    await connection.close()

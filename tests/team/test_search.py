"""The search there finds what a naive scan finds, in the same order as the search here."""

import sqlite3
import time
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cogency_tui.protocol.events import Event
from cogency_tui.store.edit_records import ABSENT, FileChange, Version
from cogency_tui.store.edits import Edits
from cogency_tui.store.search.query import parse
from cogency_tui.store.search.search_thread import SearchService
from cogency_tui.store.search.searcher import Cursor, Order, Scope
from cogency_tui.store.search.snippets import snippet
from cogency_tui.team.connection import Connection, connect
from cogency_tui.team.search import TeamMatch, preview, search
from tests.store.search.test_search_equals_scan import TOOLS, Planned, event_of, naive, pieces, planned, words
from tests.team.members import Member
from tests.team.postgres import Server


async def all_pages(connection: Connection, text: str, order: Order, limit: int) -> list[TeamMatch]:
    found: list[TeamMatch] = []
    after: Cursor | None = None
    while True:
        page = await search(connection, parse(text), order=order, limit=limit, after=after, now=2e9)
        assert len(page.found) <= limit
        found += page.found
        after = page.next
        if after is None:
            return found


async def here(one: Member, text: str, order: Order) -> list[tuple[str, list[tuple[str, int, str]]]]:
    """What the local search finds: conversations with the kinds, numbers and snippets of their hits."""
    service = SearchService(one.data)
    query = parse(text)
    try:
        page = await service.run(
            lambda searcher: searcher.search(query, Scope(), order=order, limit=200, now=2e9)
        )
    finally:
        await service.close()
    return [
        (
            match.conversation.id,
            [(hit.kind, hit.source, snippet(hit, query.terms)[0]) for hit in match.hits],
        )
        for match in page.found
    ]


async def there(one: Member, text: str, order: Order) -> list[tuple[str, list[tuple[str, int, str]]]]:
    async with one.connected() as connection:
        found = await all_pages(connection, text, order, 7)
    return [
        (
            each.match.conversation.original,
            [(hit.kind, hit.source, snippet(hit, parse(text).terms)[0]) for hit in each.match.hits],
        )
        for each in found
    ]


def said(kind: Any, text: str, number: int, tool: str = "shell", *, failed: bool = False) -> Event:
    return event_of(kind, text, tool, failed, number) | {"timestamp": 1767225600.0 + number}  # type: ignore[return-value]


async def fill(one: Member) -> None:
    """Forty conversations, each with a few of everything, in which words are rare and frequent."""
    number = 0
    names = ("retry", "sleep(1)", "timeout", "socket", "Straße", "100%_done", "naïve", "日本語")
    for count in range(40):
        conversation = await one.store.create_conversation(
            f"/work/p{count % 3}", dialect="xml", provider=("openai", "google")[count % 2], model=f"m{count % 4}",
            branch=("main", "fix")[count % 2],
        )  # fmt: skip
        for turn in range(1 + count % 3):
            number += 10
            first, second = names[(count + turn) % 8], names[(count * 3 + turn) % 8]
            for event in (
                said("user", f"Please look at {first} and then {second}", number),
                said("think", f"I think about {second}" * 3, number + 1),
                said("call", f"grep {first}", number + 2, TOOLS[count % 2]),
                said("result", f"{first}: not found\n{second} after it", number + 3, failed=count % 5 == 0),
                said("respond", f"Done with {first} {second}; see {count}.", number + 4),
            ):
                await one.store.append(conversation.id, event)
        await one.store.record_usage(conversation.id, {"input": 5, "output": 5, "cost": count / 10})
        if count % 7 == 0:
            await one.store.rename(conversation.id, f"Title of {names[count % 8]}")
        if count % 4 == 0:
            edits = Edits(one.store.database)
            kept = one.blobs.put_bytes(f"def {names[count % 8]}():\n    pass\n".encode())
            after = Version("file", kept.digest, kept.size, 0o644, True)
            change = FileChange(f"src/module_{count % 8}.py", ABSENT, after)
            await edits.add(await edits.origin(conversation.id), "c", "write", [change])
    for project in range(3):
        one.share("team", f"/work/p{project}", f"p{project}")
    await one.push()


QUERIES = (
    *("retry", "sleep(1)", "STRASSE", "100%_d", "NAÏVE", "日本", "é", "re", "nothing-like-it"),
    *(
        '"retry and then"',
        "retry timeout",
        "look socket",
        "retry file:module_4",
        "file:module_0",
        "tool:shell",
    ),
    *(
        "error:",
        "error:retry",
        "error:socket tool:read",
        "model:m1",
        "model:openai retry",
        "branch:fix socket",
    ),
    *(
        "project:p1 retry",
        "cost:>2 retry",
        "cost:<=0.5",
        "cost:=1.2",
        "since:2026-01-01 retry",
        "before:2026-01-01",
    ),
    *("", "title", "def", "write", "retry tool:read file:module", "http://x", "see 3"),
)


async def test_queries_filters_order_and_snippets_are_those_of_the_local_search(ada: Member) -> None:
    await fill(ada)
    for text in QUERIES:
        for order in ("newest", "best"):
            local, remote = await here(ada, text, order), await there(ada, text, order)
            if order == "best" and len(parse(text).terms) > 1:
                # Of many hits those with the most terms count there, and the newest here without an index.
                assert {id for id, _ in remote} == {id for id, _ in local}, text
                continue
            assert [id for id, _ in remote] == [id for id, _ in local], (text, order)
            if order == "best":
                assert [hits for _, hits in remote] == [hits for _, hits in local], text


MONTH = 30 * 86400.0


async def spread(one: Member) -> list[str]:
    """200 conversations over seven years, of which few have the needle; return those, the last updated first.

    Some have it in another month than that of their last event, in an edit, in their title, before the first
    month of all, or in the future.
    """
    found: list[str] = []
    for number in range(200):
        at = 1767225600.0 - number * MONTH * 0.4
        conversation = await one.begin()
        texts = ["in the haystack"] * 3
        if has_needle := number % 10 == 9 and number > 100:
            texts[number % 3] = "the needle in it"
        if number == 20:
            await one.store.rename(conversation.id, "Title of the needle")
        if number == 33:
            edits = Edits(one.store.database, lambda at=at: at - 100)
            kept = one.blobs.put_bytes(b"needle")
            after = Version("file", kept.digest, kept.size, 0o644, True)
            change = FileChange("src/module.py", ABSENT, after)
            await edits.add(await edits.origin(conversation.id), "c", "write", [change])
        for place, text in enumerate(texts):
            begun = {0: 4e9, 1: 1.0}.get(number, at - (2 - place) * MONTH * (number % 4) / 2)
            await one.say(conversation.id, text, at=begun if place == 0 else max(at, begun))
        if number == 1:
            await one.say(conversation.id, "the needle", at=2.0)
        if has_needle or number in (1, 20, 33):
            found.append(conversation.id)
    updated = await one.store.database.write(_set_updated)
    return sorted(found, key=lambda id: (updated[id], id), reverse=True)


def _set_updated(connection: sqlite3.Connection) -> dict[str, float]:
    """Let conversations have been updated when they had their last events."""
    connection.execute(
        "UPDATE conversations SET updated ="
        " (SELECT max(timestamp) FROM events WHERE conversation_id = conversations.id)"
    )
    return dict(connection.execute("SELECT id, updated FROM conversations").fetchall())


@pytest.mark.parametrize("seconds", [2.0, 0.0])
async def test_words_of_few_conversations_are_found_in_all_months(
    ada: Member, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cogency_tui.team.search._SECONDS", seconds)
    expected = await spread(ada)
    ada.share()
    await ada.push()
    assert [id for id, _ in await there(ada, "needle", "newest")] == expected
    assert await there(ada, "needle", "best") == await here(ada, "needle", "best")
    assert [id for id, _ in await there(ada, "needle haystack", "newest")] == expected
    assert not await there(ada, "needle file:nowhere", "newest")
    assert len(await there(ada, "needle file:src", "newest")) == 1


async def test_whose_a_conversation_is_is_a_filter(ada: Member, grace: Member) -> None:
    for member in (ada, grace):
        await member.say((await member.begin()).id, "needle")
        member.share("team")
        await member.push()
    async with ada.connected() as connection:
        for query, owners in (("needle from:Grace", ["grace"]), ("from:ada", ["ada"]), ("from:nobody", [])):
            found = await all_pages(connection, query, "newest", 5)
            assert [each.owner for each in found] == owners


async def test_others_find_only_what_they_may_see_and_preview_it(ada: Member, grace: Member) -> None:
    conversation = await ada.begin()
    await ada.say(conversation.id, "the needle", "in the haystack")
    ada.share("own")
    await ada.push()
    assert not await there(grace, "needle", "best")
    ada.share("team")
    await ada.push()
    async with grace.connected() as connection:
        [found] = await all_pages(connection, "needle", "best", 5)
        assert (found.owner, found.project) == ("ada", "shop")
        events, before, behind = await preview(
            connection, found.match.conversation.source[1:], conversation.id
        )
        page = await search(connection, parse("needle"), order="best", limit=5, project="bank")
    assert [event for _, event in events] == await ada.store.events(conversation.id)
    assert (before, behind) == (False, False)
    assert not page.found
    assert not await there(grace, "haystack needle nowhere", "newest")


async def test_a_row_that_another_client_wrote_hides_no_other(
    ada: Member, grace: Member, server: Server, database: str
) -> None:
    for _ in range(3):
        await ada.say((await ada.begin()).id, "needle")
    ada.share()
    await ada.push()
    root = await connect(server.url("root", database))
    await root.execute(
        "UPDATE cogency.conversations SET record = '[' WHERE id = (SELECT min(id) FROM cogency.conversations)"
    )
    await root.execute(
        "UPDATE cogency.events SET body = '{' WHERE conversation = (SELECT max(id) FROM cogency.conversations)"
    )
    found = await there(grace, "needle", "best")
    assert [len(hits) for _, hits in found] == [1, 0]
    for body in (
        "null",
        '"text"',
        "[]",
        "[1]",
        "{}",
        '{"type":"user"}',
        '{"type":"user","timestamp":1,"content":["x"]}',
        '{"type":"respond","timestamp":1,"id":"r","content":"of another type"}',
        '{"type":"user","timestamp":1,"content":"x","ran":[]}',
    ):
        await root.execute("UPDATE cogency.events SET body = $1", body)
        for order in ("newest", "best"):
            assert [len(hits) for _, hits in await there(grace, "needle", order)] == [0, 0], body
        async with grace.connected() as connection:
            for row in await connection.fetch("SELECT origin, id FROM cogency.conversations"):
                assert not (await preview(connection, row["origin"], row["id"]))[0], body
    await root.close()


async def test_a_hit_in_a_title_is_in_its_conversation(ada: Member, grace: Member) -> None:
    conversation = await ada.begin()
    await ada.say(conversation.id, "words")
    await ada.store.rename(conversation.id, "Zebra crossing")
    ada.share()
    await ada.push()
    async with grace.connected() as connection:
        page = await search(connection, parse("zebra"), order="newest", limit=2)
    [hit] = page.found[0].match.hits
    assert (hit.kind, hit.conversation) == ("title", conversation.id)


async def test_invalid_conversations_are_passed_over(
    ada: Member, grace: Member, server: Server, database: str
) -> None:
    ids: list[str] = []
    for number in range(12):
        conversation = await ada.begin()
        await ada.say(conversation.id, f"needle {number}")
        ids.append(conversation.id)
    ada.share()
    await ada.push()
    root = await connect(server.url("root", database))
    await root.execute("UPDATE cogency.conversations SET record = '{}' WHERE id <> $1", ids[0])
    await root.execute("UPDATE cogency.conversations SET updated = 9e9 WHERE id <> $1", ids[0])
    await root.close()
    async with grace.connected() as connection:
        for order in ("newest", "best"):
            page = await search(connection, parse("needle"), order=order, limit=2)
            assert [each.match.conversation.original for each in page.found] == [ids[0]]
            assert page.next is None


@pytest.mark.parametrize("count", [300, pytest.param(3_000, marks=pytest.mark.exhaustive)])
async def test_invalid_conversations_of_one_member_hide_nothing_of_others(
    ada: Member, grace: Member, server: Server, database: str, count: int
) -> None:
    for number in range(3):
        await ada.say((await ada.begin()).id, f"needle {number}")
    ada.share()
    await ada.push()
    async with grace.connected() as connection:
        origin = "c" * 20
        await connection.execute("SELECT cogency.register($1, 'x')", origin)
        await connection.execute(
            "INSERT INTO cogency.conversations (origin, id, project, share, title, turns, cost, updated, trashed,"
            " folded_title, folded_model, folded_directory, folded_branch, record, changing, position, revision)"
            " SELECT $1, n, 'x', 'team', '', 1, 0, 1e11 + n, false, 'needle', '', '', '', '{}', '', '{}', 1"
            " FROM generate_series(1, $2::integer) n",
            *(origin, count),
        )
        (updated,) = await connection.fetchrow("SELECT max(updated) FROM cogency.conversations")
        assert updated < time.time() + 2 * 86_400
        for order in ("newest", "best"):
            assert len(await all_pages(connection, "needle", order, 2)) == 3
        page = await search(connection, parse("needle"), order="newest", limit=2)
        assert len(page.found) == 2


async def test_text_cannot_leave_its_place_in_the_query(ada: Member) -> None:
    await ada.say((await ada.begin()).id, "needle")
    ada.share()
    await ada.push()
    for text in (
        "' OR true --",
        "\\",
        "%",
        "_",
        "$1",
        "needle' UNION SELECT",
        "\x00",
        "\ud800",
        "file:'",
        "tool:%",
    ):
        assert not await there(ada, text, "newest"), text


@pytest.fixture
async def root(server: Server, database: str) -> Any:
    connection = await connect(server.url("root", database))
    yield connection
    await connection.close()


@pytest.mark.exhaustive
@settings(max_examples=6, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(
    plans=st.lists(planned, min_size=1, max_size=5),
    asked=st.lists(words, min_size=1, max_size=4),
    tool=st.sampled_from(("", *TOOLS)),
    failed=st.booleans(),
)
async def test_a_query_gives_what_a_scan_gives(
    ada: Member, root: Connection, plans: list[Planned], asked: list[list[str]], tool: str, failed: bool
) -> None:
    ada.share()
    made: list[tuple[str, Planned]] = []
    number = 0
    for plan in plans:
        conversation = await ada.begin()
        for event in plan.events:
            number += 1
            await ada.store.append(conversation.id, event_of(*event, number))
        if plan.title is not None:
            await ada.store.rename(conversation.id, plan.title)
        made.append((conversation.id, plan))
    await ada.push()
    current = [(stored, plan) for id, plan in made if (stored := await ada.store.conversation(id))]
    async with ada.connected() as connection:
        for terms in [*asked, *pieces(plans)[:8]]:
            text = " ".join(f'"{term}"' for term in terms) + f" tool:{tool}" * bool(tool) + " error:" * failed
            expected = naive(current, terms, tool, failed)
            found = await all_pages(connection, text, "newest", 2)
            assert [each.match.conversation.original for each in found] == expected
            best = await all_pages(connection, text, "best", 2)
            assert sorted(each.match.conversation.original for each in best) == sorted(expected)
    for table in ("events", "conversations", "usage"):
        await root.execute(f"DELETE FROM cogency.{table}")
    for conversation, _ in current:
        await ada.store.database.write(
            lambda connection, id=conversation.id: connection.execute(
                "UPDATE conversations SET project = '/done' WHERE id = ?", (id,)
            )
        )

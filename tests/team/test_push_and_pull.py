"""What is pushed and pulled: a conversation arrives equal, once, and without what is never shared."""

import asyncio
import hashlib
import sqlite3
from io import BytesIO
from typing import Any

import pytest
from msgspec.structs import replace

from cogency_tui.errors import HistoryServerError, UsageError
from cogency_tui.protocol.messages import AnswerItem
from cogency_tui.store import origins
from cogency_tui.store.answer_items import StoredAnswerItems
from cogency_tui.store.edit_records import ABSENT, FileChange, Undone, Version
from cogency_tui.store.edits import Edits
from cogency_tui.store.forks import Forks
from cogency_tui.store.pins import Pins
from cogency_tui.team import pull, sharing
from cogency_tui.team.connection import connect
from cogency_tui.team.local_state import Audience, is_private
from cogency_tui.team.push import LocalStore, Pusher, pushing_alone
from cogency_tui.team.schema import VERSION
from tests.secret_samples import word
from tests.store.test_export_import import full
from tests.store.test_increments import assert_equal
from tests.team.members import Member
from tests.team.postgres import Server, set_up, wait_for_a_lock

TABLES = ("conversations", "events", "edits", "usage", "contents", "content_uses")
KEY = f"sk-ant-api03-{word(93)}AA"


async def counts(server: Server, database: str) -> dict[str, int]:
    root = await connect(server.url("root", database))
    try:
        return {table: await root.fetchval(f"SELECT count(*) FROM cogency.{table}") for table in TABLES}
    finally:
        await root.close()


async def dump(server: Server, database: str) -> str:
    """All that the database has, as text."""
    root = await connect(server.url("root", database))
    try:
        rows = [await root.fetch(f"SELECT t::text FROM cogency.{table} t") for table in TABLES]
    finally:
        await root.close()
    return "\n".join(row[0] for each in rows for row in each)


async def test_a_conversation_arrives_equal_with_its_subagents(ada: Member, grace: Member) -> None:
    conversation = await ada.begin()
    await full(ada.store, conversation, ada.blobs)
    first = (await ada.store.numbered_events(conversation.id))[0][0]
    await Pins(ada.store.database).set(conversation.id, first, pinned=True)
    ada.share()
    report = await ada.push()
    assert len(report.conversations) == 2
    assert await grace.pull(conversation.id[:10]) == conversation.id
    await assert_equal(ada, grace, conversation.id)
    [child] = await ada.store.delegated(conversation.id)
    [there] = await grace.store.delegated(conversation.id)
    assert there.original == child.id
    assert await grace.store.events(there.id) == await ada.store.events(child.id)


async def test_pushing_and_pulling_again_changes_nothing(
    ada: Member, grace: Member, server: Server, database: str
) -> None:
    conversation = await ada.begin()
    await full(ada.store, conversation, ada.blobs)
    ada.share()
    await ada.push()
    before = await counts(server, database)
    assert not (await ada.push()).conversations
    # Without its positions all is sent again.
    ada.state.path.unlink()
    for name in ("-wal", "-shm"):
        ada.state.path.with_name(f"{ada.state.path.name}{name}").unlink(missing_ok=True)
    ada.state.close()
    ada.state = type(ada.state)(ada.data)
    ada.share()
    assert len((await ada.push()).conversations) == 2
    assert await counts(server, database) == before
    await grace.pull(conversation.id)
    await grace.pull(conversation.id)
    await assert_equal(ada, grace, conversation.id)


async def test_the_owner_that_is_shown_is_the_one_of_the_database(
    ada: Member, grace: Member, server: Server, database: str
) -> None:
    conversation = await ada.begin()
    await ada.say(conversation.id, "one")
    ada.share()
    await ada.push()
    root = await connect(server.url("root", database))
    await root.execute("UPDATE cogency.origins SET name = 'boss@laptop'")
    await root.close()
    await grace.pull(conversation.id)
    names = await grace.store.database.read(origins.names)
    assert [*names.values()] == ["ada@laptop"]


async def test_more_of_a_conversation_follows(ada: Member, grace: Member) -> None:
    conversation = await ada.begin()
    await ada.say(conversation.id, *(f"message {number}" for number in range(450)))
    ada.share()
    await ada.push()
    await grace.pull(conversation.id)
    await ada.say(conversation.id, "and more")
    await ada.store.rename(conversation.id, "Renamed")
    assert (await ada.push()).events == 1
    await grace.pull(conversation.id)
    await assert_equal(ada, grace, conversation.id)


async def test_a_pulled_conversation_is_forked_and_the_fork_is_ones_own(ada: Member, grace: Member) -> None:
    conversation = await ada.begin()
    await ada.say(conversation.id, "one", "two")
    ada.share()
    await ada.push()
    id = await grace.pull(conversation.id)
    fork = await Forks(grace.store.database).fork(id)
    await grace.say(fork.id, "three")
    grace.share()
    grace.state.allow_fork(fork.id)
    assert (await grace.push()).conversations == {fork.id}
    there = await ada.pull(fork.id)
    assert [event["content"] for event in await ada.store.events(there) if event["type"] == "user"] == [
        *("one", "two", "three")
    ]


async def test_nothing_is_pushed_before_the_yes_nor_from_private_projects(
    ada: Member, server: Server, database: str
) -> None:
    for project in ("/project", "/other", "/secret/plans"):
        await ada.say((await ada.begin(project)).id, f"of {project}")
    assert not (await ada.push()).conversations
    ada.share()
    ada.share(project="/secret/plans", name="plans")
    ada.settings = replace(ada.settings, private=["/secret/*"])
    await ada.push()
    assert (await counts(server, database))["conversations"] == 1
    assert "of /project" in await dump(server, database)


async def test_secrets_opaque_items_and_private_commands_are_never_pushed(
    ada: Member, grace: Member, server: Server, database: str
) -> None:
    conversation = await ada.begin()
    ran = {"state": "done", "outcome": "exit 0", "output": "quiet", "duration": 0.1}
    await ada.say(conversation.id, f"My key is {KEY}.")
    for command in (" cat diary", "ls"):
        event: Any = {"type": "user", "timestamp": 1.0, "content": f"! {command}"}
        await ada.store.append(conversation.id, event | {"ran": {"command": command, **ran}})
    item = AnswerItem("u", "before", {"opaque": "OPAQUE"})
    await StoredAnswerItems(ada.store.database).add(conversation.id, "anthropic", "m", [item])
    await full(ada.store, conversation, ada.blobs)
    ada.share()
    await ada.push()
    there = await dump(server, database)
    assert "My key is" in there
    assert KEY not in there
    assert "OPAQUE" not in there
    assert "diary" not in there
    assert '"ls"' in there
    id = await grace.pull(conversation.id)
    assert len(await grace.store.events(id)) == len(await ada.store.events(conversation.id)) - 1


async def test_a_private_command_is_no_title(ada: Member, server: Server, database: str) -> None:
    ran = {"command": " cat diary", "state": "done", "outcome": "exit 0", "output": "quiet", "duration": 0.1}
    event: Any = {"type": "user", "timestamp": 1.0, "content": "!  cat diary", "ran": ran}
    first, before, own = [await ada.begin() for _ in range(3)]
    for each in (first, before, own):
        await ada.store.append(each.id, event)
    await ada.say(first.id, "a question")

    def entitle(connection: sqlite3.Connection) -> None:
        # As an earlier version did, and as the user may.
        connection.execute("UPDATE conversations SET title = '! cat diary' WHERE id = ?", (before.id,))
        sql = "UPDATE conversations SET title = '! my title', renamed = 1 WHERE id = ?"
        connection.execute(sql, (own.id,))

    await ada.store.database.write(entitle)
    ada.share()
    await ada.push()
    there = await dump(server, database)
    assert "diary" not in there
    assert "a question" in there
    assert "! my title" in there
    assert (await ada.store.resolve(first.id)).title == "a question"


async def test_nothing_derived_from_a_content_that_is_left_out_is_pushed(
    ada: Member, grace: Member, server: Server, database: str
) -> None:
    conversation = await ada.begin()
    await ada.say(conversation.id, "Write the settings.")
    ada.secrets = {"TEAM_KEY": "correct horse battery"}
    digests: list[str] = []
    for path, content in (
        ("app.env", f"DB_PASSWORD={word(20)}\n".encode()),
        ("key.txt", b"our key: correct horse battery\n"),
        ("open.txt", b"nothing hidden\n"),
    ):
        kept = ada.blobs.put(BytesIO(content))
        after = Version("file", kept.digest, kept.size, 0o644, True)
        edits = Edits(ada.store.database)
        [edit] = await edits.add(
            await edits.origin(conversation.id), "c", "write", [FileChange(path, ABSENT, after)]
        )
        hunk = hashlib.sha256(b"0:" + content).hexdigest()[:12]
        digests += [kept.digest, hunk]
        await edits.add(
            await edits.origin(conversation.id),
            "u",
            "undo",
            [FileChange(path, after, ABSENT, undoes=(Undone(edit.id, hunk),))],
        )
    ada.share()
    await ada.push()
    there = await dump(server, database)
    for digest in digests[:4]:
        assert digest not in there
    assert all(digest in there for digest in digests[4:])
    id = await grace.pull(conversation.id)
    pulled = [edit for edit in await Edits(grace.store.database).of_conversation(id) if edit.call == "c"]
    assert [(edit.path, edit.kind, edit.after.known) for edit in pulled] == [
        ("app.env", "created", False),
        ("key.txt", "created", False),
        ("open.txt", "created", True),
    ]
    assert all(edit.after.size == 0 for edit in pulled[:2])


async def test_a_key_of_the_users_is_never_pushed(ada: Member, server: Server, database: str) -> None:
    """Not even one that no pattern recognizes."""
    conversation = await ada.begin()
    ada.secrets = {"TEAM_KEY": "correct horse battery"}
    await ada.say(conversation.id, "My key is correct horse battery.")
    await ada.store.rename(conversation.id, "About correct horse battery")
    ada.share()
    await ada.push()
    there = await dump(server, database)
    assert "My key is [TEAM_KEY is not shown]." in there
    assert "horse" not in there


async def test_odd_characters_arrive(ada: Member, grace: Member) -> None:
    conversation = await ada.begin()
    texts = [
        "nul \0 here",
        "lone \ud800 surrogate",
        "line\u2028separator\x85",
        "ｆｕｌｌ 日本 ß",
        "\x1b[31m",
        "x" * 300_000,
    ]
    await ada.say(conversation.id, *texts)
    await ada.store.rename(conversation.id, "a\0b\ud800")
    ada.share()
    await ada.push()
    id = await grace.pull(conversation.id)
    assert await grace.store.events(id) == await ada.store.events(conversation.id)


async def test_who_may_not_see_a_conversation_cannot_pull_it(ada: Member, grace: Member) -> None:
    conversation = await ada.begin()
    await ada.say(conversation.id, "mine")
    ada.share("own")
    await ada.push()
    with pytest.raises(UsageError, match="No conversation of the team"):
        await grace.pull(conversation.id)
    # A wider audience needs no new event.
    ada.share("team")
    assert (await ada.push()).conversations == {conversation.id}
    assert await grace.pull(conversation.id)


@pytest.mark.parametrize(
    ("first", "then"),
    [(("shop", "team"), ("shop", "own")), (("shop", "project"), ("other", "project"))],
)
async def test_a_narrower_audience_holds_at_once_even_where_the_rest_is_refused(
    ada: Member,
    grace: Member,
    server: Server,
    database: str,
    first: tuple[str, Audience],
    then: tuple[str, Audience],
) -> None:
    root = await connect(server.url("root", database))
    await root.execute(
        "INSERT INTO cogency.members VALUES ('shop', 'ada'), ('shop', 'grace'), ('other', 'mallory')"
    )
    await root.close()
    conversation = await ada.begin()
    await ada.say(conversation.id, "seen")
    ada.share(first[1], name=first[0])
    await ada.push()
    assert await grace.pull(conversation.id)
    terms = sharing.Terms("/project", then[0], "there", 1)
    await asyncio.to_thread(sharing.share, ada.data, ada.settings, terms, then[1])
    problem = await sharing.apply_share(ada.data, ada.settings, terms)
    assert ("not a member" in problem) == (then[0] == "other")
    with pytest.raises(UsageError, match="No conversation of the team"):
        await grace.pull(conversation.id)
    report = await ada.push()
    assert bool(report.failures) == (then[0] == "other")
    with pytest.raises(UsageError, match="No conversation of the team"):
        await grace.pull(conversation.id)


async def test_a_push_narrows_an_audience_before_it_sends(
    ada: Member, grace: Member, server: Server, database: str
) -> None:
    root = await connect(server.url("root", database))
    await root.execute("INSERT INTO cogency.members VALUES ('shop', 'ada'), ('shop', 'grace')")
    conversation = await ada.begin()
    await ada.say(conversation.id, "seen")
    ada.share("project")
    await ada.push()
    # What follows will be refused.
    ada.share("project", name="other")
    await root.execute("INSERT INTO cogency.members VALUES ('other', 'grace')")
    await root.close()
    assert (await ada.push()).failures
    with pytest.raises(UsageError, match="No conversation of the team"):
        await grace.pull(conversation.id)


async def test_without_the_database_a_narrower_audience_follows_with_the_next_push(ada: Member) -> None:
    ada.share("own")
    settings = replace(ada.settings, url="postgresql://ada@127.0.0.1:1/h")
    terms = sharing.Terms("/project", "shop", "there", 1)
    assert "with the next push" in await sharing.apply_share(ada.data, settings, terms)


@pytest.mark.parametrize("audience", ["project", "team"])
async def test_a_project_needs_its_members(
    ada: Member, server: Server, database: str, audience: Audience
) -> None:
    conversation = await ada.begin()
    await ada.say(conversation.id, "mine")
    ada.share(audience)
    root = await connect(server.url("root", database))
    await root.execute("INSERT INTO cogency.members VALUES ('shop', 'grace')")
    report = await ada.push()
    assert "'shop' is not accepted: you are not a member of it." in report.failures[conversation.id]
    await root.execute("INSERT INTO cogency.members VALUES ('shop', 'ada')")
    assert not (await ada.push()).failures
    # Who has left it still withdraws.
    await root.execute("DELETE FROM cogency.members")
    await root.execute("INSERT INTO cogency.members VALUES ('shop', 'grace')")
    await ada.say(conversation.id, "more")
    assert (await ada.push()).failures
    ada.state.withdraw(ada.state.server(ada.settings.url), [conversation.id])
    assert (await ada.push()).withdrawn == 1
    await root.close()


async def test_a_partition_that_is_created_during_a_push_gets_its_events(
    ada: Member, server: Server, database: str
) -> None:
    at = 1764547200.0
    conversation = await ada.begin()
    await ada.say(conversation.id, "one", "two", at=at)
    ada.share()
    root, other = [await connect(server.url("root", database)) for _ in range(2)]
    async with root.transaction():
        await root.execute("SELECT cogency.prepare(ARRAY[$1::float8])", at)
        pushing = asyncio.create_task(ada.push())
        await wait_for_a_lock(other, "ada")
    report = await pushing
    assert (report.events, report.failures) == (2, {})
    places = await root.fetch("SELECT tableoid::regclass::text, number FROM cogency.events")
    assert [row[0] for row in places] == ["cogency.events_2025_12"] * 2
    await root.close()
    await other.close()


async def test_the_owner_of_a_store_that_another_has_registered_is_told_so(
    ada: Member, grace: Member
) -> None:
    conversation = await ada.begin()
    await ada.say(conversation.id, "mine")
    ada.share()
    async with grace.connected() as connection:
        await connection.execute("SELECT cogency.register($1, 'x')", (await ada.own()).id)
    with pytest.raises(HistoryServerError, match="Another user of the database has registered your store"):
        await ada.push()


async def test_what_is_too_long_for_the_database_is_left_out(
    ada: Member, grace: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation = await ada.begin()
    await ada.say(conversation.id, "one", "é" * 600, "two")
    monkeypatch.setattr("cogency_tui.team.rows.LONGEST", 1000)
    ada.share()
    report = await ada.push()
    assert (report.events, report.failures) == (2, {})
    id = await grace.pull(conversation.id)
    assert [event.get("content") for event in await grace.store.events(id)] == ["one", "two"]


async def test_names_of_models_are_one_line(ada: Member, server: Server, database: str) -> None:
    controls = "".join(map(chr, (*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029)))
    conversation = await ada.store.create_conversation(
        "/project", dialect="xml", provider="offline", model=f"a{controls}b"
    )
    await full(ada.store, conversation, ada.blobs)
    ada.share()
    assert not (await ada.push()).failures
    assert (await counts(server, database))["usage"]


async def test_a_conversation_that_the_server_refuses_holds_no_other_one_up(
    ada: Member, grace: Member, server: Server, database: str
) -> None:
    refused, accepted = await ada.begin(), await ada.begin()
    await ada.say(refused.id, "a forbidden word")
    await ada.say(accepted.id, "another word")
    ada.share()
    root = await connect(server.url("root", database))
    await root.execute(
        "ALTER TABLE cogency.events ADD CONSTRAINT words CHECK (folded NOT LIKE '%forbidden%')"
    )
    report = await ada.push()
    assert [*report.failures] == [refused.id]
    assert f"{refused.id} is not accepted" in report.failures[refused.id]
    assert report.conversations == {accepted.id}
    assert await grace.pull(accepted.id) == accepted.id
    await root.execute("ALTER TABLE cogency.events DROP CONSTRAINT words")
    await root.close()
    assert (await ada.push()).conversations == {refused.id}


async def test_a_withdrawn_conversation_is_gone_and_stays_away(
    ada: Member, server: Server, database: str
) -> None:
    conversation = await ada.begin()
    await full(ada.store, conversation, ada.blobs)
    ada.share()
    await ada.push()
    identity = ada.state.server(ada.settings.url)
    ada.state.withdraw(identity, [conversation.id])
    assert (await ada.push()).withdrawn == 1
    assert set((await counts(server, database)).values()) == {0}
    await ada.say(conversation.id, "more")
    await ada.push()
    assert set((await counts(server, database)).values()) == {0}
    # Even if this machine no longer knows.
    ada.state.note_returned(identity, conversation.id)
    await ada.push()
    assert set((await counts(server, database)).values()) == {0}


async def test_a_withdrawn_conversation_is_pushed_to_no_other_database(
    ada: Member, server: Server, database: str
) -> None:
    withdrawn, ended = await ada.begin(), await ada.begin("/ended")
    for each in (withdrawn, ended):
        await ada.say(each.id, f"words of {each.id}")
    ada.share()
    ada.share(project="/ended", name="ended")
    await ada.push()
    # The address has never been used: its identity is not known.
    ada.settings = replace(ada.settings, url=server.url("ada", database, server.port + 1))
    ada.state.withdraw(ada.state.server(ada.settings.url), [withdrawn.id])
    ended_now = await sharing.unshare(ada.data, ada.settings, "/ended", keep=False)
    assert "noted" in ended_now.problem
    other = f"{database}_other"
    await set_up(server, other)
    ada.settings = replace(ada.settings, url=server.url("ada", other))
    assert not (await ada.push()).conversations
    assert (await counts(server, other))["conversations"] == 0
    # It is withdrawn from where it was pushed.
    ada.settings = replace(ada.settings, url=server.url("ada", database))
    assert (await ada.push()).withdrawn == 2
    assert (await counts(server, database))["conversations"] == 0
    # Until the user shares or pushes it again.
    ada.settings = replace(ada.settings, url=server.url("ada", other))
    terms = sharing.Terms("/ended", "ended", "there", 1)
    await asyncio.to_thread(sharing.share, ada.data, ada.settings, terms, "team")
    assert (await ada.push()).conversations == {ended.id}
    ada.state.bring_back([withdrawn.id])
    assert (await ada.push()).conversations == {withdrawn.id}


async def test_an_end_that_is_interrupted_withdraws_with_the_next_push(
    ada: Member, server: Server, database: str
) -> None:
    conversation = await ada.begin()
    await ada.say(conversation.id, "words")
    ada.share()
    await ada.push()
    async with pushing_alone(ada.data, 1):
        ending = asyncio.create_task(sharing.unshare(ada.data, ada.settings, "/project", keep=False))
        while ada.state.shares():  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        ending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await ending
    assert ada.state.has_work
    assert (await ada.push()).withdrawn == 1
    assert set((await counts(server, database)).values()) == {0}
    assert not ada.state.ending()


async def test_a_project_that_is_shared_again_is_not_withdrawn(ada: Member) -> None:
    conversation = await ada.begin()
    await ada.say(conversation.id, "words")
    ada.share()
    await ada.push()
    ada.state.unshare("/project", withdrawing=True)
    ada.share()
    assert (await ada.push()).withdrawn == 0
    assert not ada.state.withdraw_ended("/project", "", [conversation.id])
    assert not ada.state.hidden()


async def test_a_database_that_was_updated_takes_no_more_from_an_older_program(
    ada: Member, server: Server, database: str
) -> None:
    conversation = await ada.begin()
    ada.share()
    root = await connect(server.url("root", database))
    store = LocalStore(ada.data)
    async with ada.connected() as connection:
        pusher = Pusher(connection, store, ada.state, ada.settings)
        await ada.say(conversation.id, "before")
        assert (await pusher.push()).events == 1
        await root.execute("INSERT INTO cogency.versions VALUES ($1, 'x', $1)", VERSION + 1)
        await ada.say(conversation.id, "after")
        with pytest.raises(HistoryServerError, match="needs a newer program"):
            await pusher.push()
    store.close()
    await root.close()
    assert (await counts(server, database))["events"] == 1


async def test_a_push_sends_no_more_of_a_project_whose_sharing_ends(
    ada: Member, server: Server, database: str
) -> None:
    for _ in range(3):
        await ada.say((await ada.begin()).id, "words")
    ada.share()

    def end(_pushed: int) -> None:
        ada.state.unshare("/project")

    store = LocalStore(ada.data)
    async with ada.connected() as connection:
        pusher = Pusher(connection, store, ada.state, ada.settings)
        pusher.progressed = end
        assert len((await pusher.push()).conversations) == 1
    store.close()
    assert (await counts(server, database))["conversations"] == 1


async def test_a_whole_id_names_its_conversation_whatever_begins_with_it(ada: Member, grace: Member) -> None:
    conversation = await ada.begin()
    await ada.say(conversation.id, "words", at=1.0)
    ada.share()
    await ada.push()
    for number in range(8):
        longer = await grace.store.create_conversation(
            "/project", dialect="x", provider="o", model="m", id=f"{conversation.id}{number}"
        )
        await grace.say(longer.id, "newer")
    grace.share()
    await grace.push()
    async with grace.connected() as connection:
        found = await pull.find(connection, conversation.id)
        assert (found.owner, found.id) == ("ada", conversation.id)
        with pytest.raises(UsageError, match="Several"):
            await pull.find(connection, conversation.id[:8])


async def test_a_server_that_was_restored_from_an_old_copy_gets_everything_again(
    ada: Member, grace: Member, server: Server, database: str
) -> None:
    conversation = await ada.begin()
    await ada.say(conversation.id, "one")
    ada.share()
    await ada.push()
    root = await connect(server.url("root", database))
    await root.execute("DELETE FROM cogency.events; DELETE FROM cogency.conversations")
    await root.close()
    await ada.say(conversation.id, "two")
    await ada.push()
    await grace.pull(conversation.id)
    await assert_equal(ada, grace, conversation.id)


async def test_what_another_client_wrote_is_decoded_before_it_is_stored(
    ada: Member, grace: Member, server: Server, database: str
) -> None:
    conversation = await ada.begin()
    await ada.say(conversation.id, "one")
    ada.share()
    await ada.push()
    root = await connect(server.url("root", database))
    for body in (
        "",
        "{",
        "[]",
        '{"type":"user","timestamp":1e308,"content":"x"}',
        '{},"number":7,"event":{}',
    ):
        await root.execute("UPDATE cogency.events SET body = $1", body)
        with pytest.raises((UsageError, HistoryServerError)):
            await grace.pull(conversation.id)
    await root.execute("UPDATE cogency.conversations SET record = '{'")
    with pytest.raises((UsageError, HistoryServerError)):
        await grace.pull(conversation.id)
    await root.close()
    assert await grace.store.count() == 0


@pytest.mark.parametrize(
    ("pattern", "project", "expected"),
    [
        ("/secret/*", "/secret/a", True),
        ("/secret/*", "/secret/a/b", True),
        ("/secret", "/secret/a", True),
        ("/secret", "/secret", True),
        ("/secret", "/secrets", False),
        ("~/secret/*", "HOME/secret/x", True),
        ("~/secret/*", "HOME/open", False),
        ("*/client-?", "/work/client-a", True),
    ],
)
def test_private_projects(pattern: str, project: str, expected: bool, sealed_home: object) -> None:
    assert is_private(project.replace("HOME", str(sealed_home)), [pattern]) is expected


async def test_a_push_reports_how_many_conversations_it_has_sent(ada: Member) -> None:
    ada.share()
    for _ in range(3):
        await ada.say((await ada.begin()).id, "one")
    reported: list[int] = []
    store = LocalStore(ada.data)
    async with ada.connected() as connection:
        pusher = Pusher(connection, store, ada.state, ada.settings)
        pusher.progressed = reported.append
        await pusher.push()
    store.close()
    assert reported == [1, 2, 3]


async def test_what_was_withdrawn_does_not_wait(ada: Member) -> None:
    ids = [(await ada.begin()).id for _ in range(2)]
    for id in ids:
        await ada.say(id, "one")
    ada.share()
    await ada.push()
    store = LocalStore(ada.data)
    assert store.waiting(ada.state, ada.settings) == 0
    ada.state.withdraw(ada.state.server(ada.settings.url), ids[:1])
    await ada.push()
    for id in ids:
        await ada.say(id, "two")
    assert store.waiting(ada.state, ada.settings) == 1
    store.close()

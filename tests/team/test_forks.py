"""Forks with the text of others, or of withdrawn conversations: sharing their project does not send them."""

from pathlib import Path

from cogency_tui.store.forks import Forks
from cogency_tui.team import sharing
from cogency_tui.team.forks import Link, Staying, staying
from cogency_tui.team.push import LocalStore
from tests.team.members import Member
from tests.team.postgres import Server
from tests.team.test_commands import Shell


async def fork_of(member: Member, id: str, *texts: str) -> str:
    fork = await Forks(member.store.database).fork(id, project="/project")
    await member.say(fork.id, *texts)
    return fork.id


def waiting(member: Member) -> int:
    store = LocalStore(member.data)
    try:
        return store.waiting(member.state, member.settings)
    finally:
        store.close()


async def texts_there(member: Member) -> list[str]:
    sql = "SELECT DISTINCT origin, id FROM cogency.conversations"
    async with member.connected() as connection:
        keys = await connection.fetch(sql)
        bodies = [
            row["body"]
            for key in keys
            for row in await connection.fetch("SELECT body FROM cogency.read_events($1, $2, 0, 1000)", *key)
        ]
    return [text for text in ("one", "two", "three", "four") if any(f'"{text}"' in body for body in bodies)]


async def test_a_fork_of_anothers_conversation_is_sent_only_by_its_name(ada: Member, grace: Member) -> None:
    conversation = (await ada.begin()).id
    await ada.say(conversation, "one")
    ada.share("team")
    await ada.push()
    pulled = await grace.pull(conversation)
    fork = await fork_of(grace, pulled, "two")
    deeper = await fork_of(grace, fork, "three")
    child = await grace.store.create_conversation(
        "/project", dialect="xml", provider="offline", model="tiny", parent=fork, call="c"
    )
    await grace.say(child.id, "four")
    grace.share("team")
    ada.state.withdraw(ada.state.server(ada.settings.url), [conversation])
    await ada.push()
    assert waiting(grace) == 0
    assert not (await grace.push()).conversations
    for id, withheld in ((pulled, "other"), (deeper, "fork"), (child.id, "fork")):
        found = sharing.read_sharing(grace.data, grace.settings, "/project", "/project", id)
        assert found.withheld == withheld
    assert await texts_there(grace) == []
    counts = sharing.count_conversations(grace.data, "/project", is_shared=True)
    assert counts == (0, Staying(others=2))
    assert counts.staying.words == "2 forks of others' conversations stay here; `history push ID` sends one."
    grace.state.allow_fork(fork)
    assert (await grace.push()).conversations == {fork, child.id}
    assert deeper not in grace.state.pushed(grace.state.server(grace.settings.url))
    # What is withdrawn and shared again with its project is no word for the fork.
    server = grace.state.server(grace.settings.url)
    grace.state.withdraw(server, [fork], with_project=True)
    await grace.push()
    grace.state.bring_back([fork], with_project=True)
    assert not (await grace.push()).conversations


async def test_a_fork_of_what_a_sync_has_brought_stays(ada: Member, grace: Member) -> None:
    conversation = (await ada.begin()).id
    await ada.say(conversation, "one")
    await grace.take_all(ada)
    [received] = [each for each in await grace.store.conversations(limit=9) if each.source]
    await fork_of(grace, received.id)
    grace.share()
    assert not (await grace.push()).conversations


async def test_a_fork_of_a_withdrawn_conversation_is_sent_only_by_its_name(ada: Member) -> None:
    conversation = (await ada.begin()).id
    await ada.say(conversation, "one")
    ada.share()
    await ada.push()
    server = ada.state.server(ada.settings.url)
    ada.state.withdraw(server, [conversation])
    fork = await fork_of(ada, conversation, "two")
    assert waiting(ada) == 0
    assert not (await ada.push()).conversations
    counts = sharing.count_conversations(ada.data, "/project", is_shared=True)
    assert counts == (0, Staying(withdrawn=1))
    assert (
        counts.staying.words == "1 fork of withdrawn conversations stays here; `history push ID` sends one."
    )
    # Once its parent is pushed again, so is the fork.
    ada.state.bring_back([conversation])
    assert (await ada.push()).conversations == {conversation, fork}


async def test_a_fork_that_stays_is_narrowed_with_its_project(ada: Member, grace: Member) -> None:
    conversation = (await ada.begin()).id
    await ada.say(conversation, "one")
    fork = await fork_of(ada, conversation, "two")
    ada.share("team")
    await ada.push()
    ada.state.withdraw(ada.state.server(ada.settings.url), [conversation])
    ada.share("own")
    await ada.push()
    assert fork in ada.state.pushed(ada.state.server(ada.settings.url))
    assert await texts_there(grace) == []


def test_a_fork_whose_parent_is_lost_stays() -> None:
    places = {
        "own": Link("", "", False, False),
        "lost": Link("", "", False, True),
        "unknown": Link("gone", "", False, True),
        "fork": Link("own", "", False, True),
        "agents": Link("imported", "", False, True),
        "imported": Link("", "claude-code", False, False),
        "ring": Link("ring", "", False, True),
    }
    assert staying(places, (), ()) == {"lost": "others", "unknown": "others"}
    assert staying(places, ("own",), ("lost",)) == {"unknown": "others", "fork": "withdrawn"}


async def test_the_commands_say_what_stays_and_send_it_by_its_name(
    server: Server, database: str, tmp_path: Path
) -> None:
    ada = Shell(tmp_path / "ada", server.url("ada", database))
    grace = Shell(tmp_path / "grace", server.url("grace", database))
    assert ada("run", "read greet.py")[0] == 0
    assert ada("history", "share", "--yes", "--with", "team")[0] == 0
    assert ada("history", "push")[0] == 0
    id = ada("conversations", "list")[1].split()[0]
    here = grace("history", "pull", id)[1].strip()
    fork = grace("conversations", "fork", here)[1].split()[0]
    staying = "1 fork of others' conversations stays here; `history push ID` sends one."
    assert staying in grace("history", "share", "--yes", "--with", "team")[1]
    assert grace("history", "push")[1].startswith("0 conversations")
    assert staying in grace("history", "status")[1]
    assert grace("history", "push", fork)[1].startswith("1 conversation ")
    assert "stay" not in grace("history", "status")[1]
    assert ada("history", "withdraw", id)[0] == 0
    assert "Withdrawn conversations: 1" in ada("history", "status")[1]

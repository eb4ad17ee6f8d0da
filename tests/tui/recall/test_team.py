"""The recall screen over a team's database: what is found there, what is brought here, and what fails."""

import socket
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from cogency_tui.agent.agent import Agent
from cogency_tui.agent.recall import team_recall
from cogency_tui.config.schema import HistorySettings, Settings
from cogency_tui.store.edit_records import ABSENT, FileChange, Version
from cogency_tui.store.edits import Edits
from cogency_tui.store.store import StoredConversation
from cogency_tui.team import connection as connections
from cogency_tui.team.connection import connect
from cogency_tui.tui.kit.footer import Footer
from cogency_tui.tui.recall import background_search
from cogency_tui.tui.recall.list_view import RecallList
from cogency_tui.tui.recall.search_bar import SearchField
from cogency_tui.tui.timeline.screen import TimelineScreen
from tests.team.members import Member, member
from tests.team.postgres import Server
from tests.team.proxy import running_proxy
from tests.tui.driving import app_over, conversation_of, main_of, send, shown, told, until
from tests.tui.look_series import check_series
from tests.tui.recall.past import (
    begin,
    flaky_test,
    head,
    is_open,
    list_of,
    listed,
    previewed,
    recalled,
    screen_of,
    search,
    settled,
    small,
    usual,
)
from tests.tui.recall.test_looks import keys, opened
from tests.tui.scripted import call, respond, result, user

SHOP = Path("/home/ada/shop")


def member_agent(project: Path, url: str) -> Agent:
    """An agent whose user has a database of a team."""
    settings = Settings(history=HistorySettings(url=url), titles=False)
    return Agent(
        "offline", project=project, data=project.parent / "data", permissions="auto", settings=settings
    )


async def share(ada: Member, project: Path = SHOP) -> dict[str, StoredConversation]:
    """What ada shares: two conversations in a project that is only on her machine."""
    made = {"old": await begin(ada.store, project, small("Upgrade httpx", "Nothing to retry."), days=30)}
    made["flaky"] = await begin(ada.store, project, flaky_test(), cost=0.31, branch="main")
    ada.share("team", str(project))
    await ada.push()
    return made


@asynccontextmanager
async def in_team(
    agent: Agent, size: tuple[int, int] = (160, 45), *, close: bool = True
) -> AsyncGenerator[Pilot[Any]]:
    """The screen with the scope `team`."""
    async with recalled(agent, size, close=close) as pilot:
        await pilot.press("f2", "f2")
        await settled(pilot)
        yield pilot


async def test_the_team_is_a_scope_with_the_same_queries_filters_and_preview(
    ada: Member, server: Server, database: str, project: Path
) -> None:
    await share(ada)
    agent = member_agent(project, server.url("grace", database))
    await usual(agent)
    async with in_team(agent) as pilot:
        assert "team ✕" in head(pilot)
        assert "2 conversations" in head(pilot)
        assert listed(pilot).index("Fix the flaky") < listed(pilot).index("Upgrade httpx")
        assert all(fact in listed(pilot) for fact in ("ada", "shop", "2 turns", "$0.31", "main"))
        assert "Rename the cart" not in listed(pilot)
        assert "from ada" in head(pilot)
        assert "It passes" in previewed(pilot)

        await search(pilot, "needle")
        assert "1 conversation" in head(pilot)
        assert "the needle in the output" in listed(pilot)
        assert "match 1 of 1" in head(pilot)
        assert "the needle in the output" in previewed(pilot)

        await search(pilot, "retry tool:read")
        assert "tool:read ✕" in head(pilot)
        assert "Upgrade httpx" not in listed(pilot)
        assert "match 3 of 3" in head(pilot)
        await pilot.press("tab", "n")
        await until(pilot, lambda: "match 1 of 3" in head(pilot))
        await search(pilot, "retry")
        await pilot.press("f3")
        await settled(pilot)
        assert "best first" in head(pilot)
        assert "Upgrade httpx" in listed(pilot)

        # Nothing of it is changed from here.
        for key, words in (
            ("r", "Only its owner"),
            ("d", "history withdraw"),
            ("x", "/export"),
            ("b", "compared"),
            ("s", "usage --team"),
        ):
            pilot.app.clear_notifications()
            screen_of(pilot).query_one(RecallList).focus()
            await pilot.press(key)
            await until(pilot, lambda words=words: words in told(pilot))
            assert is_open(pilot)
        hints = screen_of(pilot).key_hints().actions
        assert not [each for each in hints if each.startswith("do(")]

        # An empty field, and delete: as with the other scopes, its chip is removed.
        await search(pilot, "")
        await pilot.press("slash", "backspace")
        await settled(pilot)
        assert "all projects" in head(pilot)
        assert "Rename the cart" in listed(pilot)
        assert "Fix the flaky" in listed(pilot)
        await pilot.press("f2")
        await settled(pilot)
        await pilot.click("#recall-chips", offset=(2, 0))
        await settled(pilot)
        assert "all projects" in head(pilot)
        await pilot.press("f2", "f2")
        await settled(pilot)
        assert "The trash is empty." in listed(pilot)


async def test_each_key_is_a_search_over_one_connection_which_ends_with_the_screen(
    ada: Member, server: Server, database: str, project: Path
) -> None:
    await share(ada)
    watching = await connect(server.url("root", database))
    count = "SELECT count(*) FROM pg_stat_activity WHERE usename = 'grace' AND datname = current_database()"
    agent = member_agent(project, server.url("grace", database))
    async with in_team(agent, close=False) as pilot:
        screen = screen_of(pilot)
        for letter in "the needle in the output":
            screen.query_one(SearchField).value += letter
            await pilot.pause()
            assert await watching.fetchval(count) == 1
        await settled(pilot)
        assert "the needle in the output" in listed(pilot)
        assert await watching.fetchval(count) == 1
        screen.dismiss(None)
        await until(pilot, lambda: not is_open(pilot))
        while await watching.fetchval(count):
            pass
    await watching.close()
    await agent.close()


async def test_there_is_no_such_scope_without_a_database(project: Path) -> None:
    async with recalled(member_agent(project, "")) as pilot:
        await pilot.press("f2", "f2")
        await settled(pilot)
        assert "trash ✕" in head(pilot)


async def test_pages_follow_as_the_list_is_scrolled(
    ada: Member, server: Server, database: str, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(background_search, "_FIRST", 5)
    monkeypatch.setattr(background_search, "_NEXT", 7)
    for number in range(40):
        await begin(ada.store, SHOP, small(f"Task {number:02} of many"), days=number / 100)
    ada.share("team", str(SHOP))
    await ada.push()
    async with in_team(member_agent(project, server.url("grace", database)), (100, 10)) as pilot:
        for text in ("", "task of"):
            await search(pilot, text)
            assert "+ conversations" in head(pilot)
            await pilot.press("down")
            while len(list_of(pilot).catalogue.entries) < 40:
                await pilot.press("end")
                await settled(pilot)
            assert "40 conversations" in head(pilot)
            titles = [each.conversation.title for each in list_of(pilot).catalogue.entries.values()]
            assert titles == [f"Task {number:02} of many" for number in range(40)]


async def test_a_page_that_fails_is_loaded_when_it_is_requested_again(
    ada: Member, server: Server, database: str, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(background_search, "_FIRST", 20)
    for number in range(24):
        await begin(ada.store, SHOP, small(f"Task {number:02} of many"), days=number / 100)
    ada.share("team", str(SHOP))
    await ada.push()
    async with running_proxy(server.port) as proxy:
        agent = member_agent(project, server.url("grace", database, proxy.port))
        async with in_team(agent, (100, 12)) as pilot:
            assert "20+ conversations" in head(pilot)
            proxy.fault = "refuse"
            proxy.cut()
            await pilot.press("down", "end")
            await until(pilot, lambda: "The database" in told(pilot))
            assert "20+ conversations" in head(pilot)
            assert "Task 19" in listed(pilot)
            proxy.fault = ""
            await pilot.press("home", "end")
            await until(pilot, lambda: "24 conversations" in head(pilot))


async def test_another_users_conversation_is_pulled_to_be_opened_forked_or_travelled(
    ada: Member, server: Server, database: str, project: Path
) -> None:
    made = await share(ada)
    agent = member_agent(project, server.url("grace", database))
    async with in_team(agent) as pilot:
        store = await agent.store()
        assert not await store.conversations(limit=50)
        await search(pilot, "sleeps before")
        await pilot.press("tab", "t")
        await until(pilot, lambda: isinstance(pilot.app.screen, TimelineScreen))
        await pilot.press("escape")
        await until(pilot, lambda: is_open(pilot))
        await settled(pilot)

        # At the match.
        await pilot.press("f")
        await until(pilot, lambda: not is_open(pilot) and "Forked after" in told(pilot))
        found = {each.id: each for each in await store.conversations(limit=50)}
        [fork] = [each for each in found.values() if each.parent]
        [pulled] = [each for each in found.values() if not each.parent]
        assert (pulled.original, pulled.project, pulled.imported) == (made["flaky"].id, str(SHOP), True)
        assert (fork.source, fork.project, fork.parent) == ("", str(project), pulled.id)
        texts = [event["type"] for event in await store.events(fork.id)]
        assert texts == ["user", "think", "call", "result", "call", "result", "respond"]

        # Opened, it is read only: a message goes to a fork.
        await pilot.press("ctrl+r")
        await until(pilot, lambda: is_open(pilot))
        await pilot.press("f2", "f2")
        await settled(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: main_of(pilot).bridge.conversation_id == pulled.id)
        await until(pilot, lambda: "It passes" in shown(conversation_of(pilot)))
        await send(pilot, "hello")
        await until(pilot, lambda: not main_of(pilot).bridge.working)
        await until(pilot, lambda: main_of(pilot).bridge.conversation_id != pulled.id)
        assert len(await store.events(pulled.id)) == len(await ada.store.events(made["flaky"].id))


async def test_a_match_in_an_edit_is_shown_at_its_call(
    ada: Member, server: Server, database: str, project: Path
) -> None:
    events = [user("Write it"), call("c1", "write", path="src/a.py"), result("c1", "write"), respond("Done.")]
    conversation = await begin(ada.store, SHOP, events)
    edits = Edits(ada.store.database)
    kept = ada.blobs.put_bytes(b"def haystack():\n    pass\n")
    change = FileChange("src/a.py", ABSENT, Version("file", kept.digest, kept.size, 0o644, True))
    await edits.add(await edits.origin(conversation.id), "c1", "write", [change])
    for number in range(80):
        await ada.say(conversation.id, f"more {number}")
    ada.share("team", str(SHOP))
    await ada.push()
    agent = member_agent(project, server.url("grace", database))
    async with in_team(agent) as pilot:
        await search(pilot, "haystack")
        assert "def haystack" in listed(pilot)
        await until(pilot, lambda: "src/a.py" in previewed(pilot))
        assert "more 79" not in previewed(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: not is_open(pilot) and "src/a.py" in shown(conversation_of(pilot)))


async def test_one_of_ones_own_is_opened_as_it_is_here(
    server: Server, database: str, project: Path, tmp_path: Path
) -> None:
    agent = member_agent(project, server.url("ada", database))
    made = await usual(agent)
    async with (
        member(project.parent / "data", server.url("ada", database)) as here,
        member(tmp_path / "laptop", server.url("ada", database)) as laptop,
    ):
        here.share("own", str(project))
        await here.push()
        await begin(laptop.store, SHOP, small("On the other one"), days=200)
        laptop.share("own", str(SHOP))
        await laptop.push()
    async with in_team(agent) as pilot:
        assert listed(pilot).count("this machine") == 4
        assert "@" in next(line for line in listed(pilot).splitlines() if "On the other one" in line)
        count = len(await (await agent.store()).conversations(limit=50))
        await search(pilot, "needle")
        await pilot.press("enter")
        await until(pilot, lambda: main_of(pilot).bridge.conversation_id == made["flaky"].id)
        assert len(await (await agent.store()).conversations(limit=50)) == count


async def test_a_server_that_stops_is_told_in_place_of_the_list_and_used_again_later(
    ada: Member, server: Server, database: str, project: Path
) -> None:
    await share(ada)
    agent = member_agent(project, server.url("grace", database))
    await usual(agent)
    async with in_team(agent, (100, 30)) as pilot:
        assert "Fix the flaky" in listed(pilot)
        server.stop()
        try:
            await search(pilot, "retry")
            assert "Upgrade" not in listed(pilot)
            words = " ".join(listed(pilot).split())
            assert "out of reach" in words or "fails" in words
            assert "conversation" not in head(pilot)
            assert previewed(pilot).strip() == ""
            await pilot.press("enter")
            await settled(pilot)
            assert is_open(pilot)
            # The other scopes are there all the time.
            await pilot.press("f2", "f2")
            await settled(pilot)
            assert "Fix the flaky" in listed(pilot)
        finally:
            server.start()
        await pilot.press("f2", "f2")
        await settled(pilot)
        assert "Upgrade httpx" in listed(pilot)


async def test_a_network_that_hangs_delays_neither_other_scopes_nor_the_end_of_the_screen(
    ada: Member, server: Server, database: str, project: Path
) -> None:
    await share(ada)
    async with running_proxy(server.port) as proxy:
        agent = member_agent(project, server.url("grace", database, proxy.port))
        await usual(agent)
        async with in_team(agent, close=False) as pilot:
            proxy.fault = "drop"
            screen_of(pilot).query_one(SearchField).value = "needle"
            await until(pilot, lambda: "searching…" in head(pilot))
            await pilot.press("f2", "f2")
            await until(pilot, lambda: "Rename the cart" in listed(pilot) or "needle in" in listed(pilot))
            await pilot.press("f2", "f2")
            await until(pilot, lambda: "Searching the team's database…" in listed(pilot))
            await pilot.press("escape", "escape")
            await until(pilot, lambda: not is_open(pilot))
            await send(pilot, "hello")
            await until(pilot, lambda: not main_of(pilot).bridge.working)
        await agent.close()


async def test_after_the_time_for_an_answer_the_list_says_so(
    ada: Member, server: Server, database: str, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(team_recall, "PATIENCE", 0.2)
    await share(ada)
    async with running_proxy(server.port) as proxy:
        proxy.fault = "drop"
        async with in_team(member_agent(project, server.url("grace", database, proxy.port))) as pilot:
            assert "did not answer in time." in listed(pilot)
            assert not told(pilot).strip()
            proxy.fault = ""
            await search(pilot, "needle")
            assert "the needle in the output" in listed(pilot)


async def test_escape_ends_a_pull_and_enter_begins_it_again(
    ada: Member, server: Server, database: str, project: Path
) -> None:
    await share(ada)
    async with running_proxy(server.port) as proxy:
        agent = member_agent(project, server.url("grace", database, proxy.port))
        async with in_team(agent) as pilot:
            proxy.fault = "drop"
            await pilot.press("enter")
            await until(pilot, lambda: "pulling: 0 events (Esc cancels)" in head(pilot))
            assert screen_of(pilot).key_label("back") == "cancel"
            await pilot.press("escape")
            assert is_open(pilot)
            assert "pulling" not in head(pilot)
            assert "2 conversations" in head(pilot)
            proxy.fault = ""
            proxy.cut()
            await settled(pilot)
            await pilot.press("f2", "f2", "f2", "f2")
            await settled(pilot)
            await pilot.press("enter")
            await until(pilot, lambda: not is_open(pilot))
            await until(pilot, lambda: "It passes" in shown(conversation_of(pilot)))


def _without_driver(server: Server, database: str, monkeypatch: pytest.MonkeyPatch) -> str:
    def missing(_name: str) -> None: ...

    monkeypatch.setattr(connections, "find_spec", missing)
    return server.url("grace", database)


def _no_member(server: Server, database: str, monkeypatch: pytest.MonkeyPatch) -> str:
    del monkeypatch
    return server.url("mallory", database)


def _no_history(server: Server, database: str, monkeypatch: pytest.MonkeyPatch) -> str:
    del database, monkeypatch
    return server.url("root", "postgres")


def _with_password(server: Server, database: str, monkeypatch: pytest.MonkeyPatch) -> str:
    del server, database, monkeypatch
    return "postgresql://ada:secret@localhost/history"


@pytest.mark.parametrize(
    ("prepare", "words"),
    [
        (_without_driver, "pip install 'cogency-tui[postgres]'"),
        (_no_member, "does not allow it"),
        (_no_history, "history setup --print"),
        (_with_password, "~/.pgpass"),
    ],
)
async def test_why_the_database_cannot_be_used(
    server: Server,
    database: str,
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    prepare: Callable[[Server, str, pytest.MonkeyPatch], str],
    words: str,
) -> None:
    async with in_team(member_agent(project, prepare(server, database, monkeypatch)), (60, 16)) as pilot:
        assert words in " ".join(listed(pilot).split())


async def test_a_schema_of_another_version_says_what_to_update(
    ada: Member, server: Server, database: str, project: Path
) -> None:
    del ada
    root = await connect(server.url("root", database))
    await root.execute("UPDATE cogency.versions SET oldest_client = 99")
    await root.close()
    async with in_team(member_agent(project, server.url("grace", database))) as pilot:
        assert "Update cogency-tui." in listed(pilot)


async def test_hostile_rows_are_shown_and_never_executed(
    ada: Member, server: Server, database: str, project: Path
) -> None:
    evil = "\x1b]0;owned\x07[red]bold[/red]\u202e\x9b31m \u2028 needle"
    conversation = await begin(ada.store, SHOP, small("harmless", f"{evil} \x1b[2J end"))
    await ada.store.rename(conversation.id, evil)
    ada.share("team", str(SHOP))
    await ada.push()
    root = await connect(server.url("root", database))
    await root.execute("UPDATE cogency.conversations SET project = $1, owner = $1", f"\x1b[31m{'字' * 60}")
    # Another client may write anything where an event has to be.
    await root.execute(
        "INSERT INTO cogency.events SELECT origin, conversation, number + 1000, at, 'user', tool, failed, paths,"
        ' folded, \'{"type":"user","content":7,"timestamp":"x"}\' FROM cogency.events'
    )
    await root.close()
    async with in_team(member_agent(project, server.url("grace", database))) as pilot:
        await search(pilot, "needle")
        seen = listed(pilot) + head(pilot) + previewed(pilot)
        assert "[red]bold[/red]" in seen
        assert "bold" in listed(pilot)
        assert not set(seen) & set("\x1b\x07\x9b\u202e\u2028")
        await pilot.press("enter")
        await settled(pilot)
        assert not set(told(pilot)) & set("\x1b\x07\x9b\u202e\u2028")


@pytest.mark.exhaustive
async def test_looks(ada: Member, server: Server, database: str, project: Path) -> None:
    await share(ada)
    second = await begin(
        ada.store, Path("/srv/billing"), small("Round the totals of an invoice to cents"), days=2
    )
    await ada.store.rename(second.id, "Round the totals \x1b[31mof an invoice")
    ada.share("team", "/srv/billing", "billing")
    await ada.push()
    agent = member_agent(project, server.url("grace", database))
    failing = member_agent(project, "postgresql://grace:secret@db.example.org/history")
    await check_series(
        lambda: app_over(agent),
        ("recall-team", opened([agent], keys("f2", "f2", "down"))),
        ("recall-team-search", opened([agent], keys("f2", "f2", "down"), "retry")),
        ("recall-team-failure", opened([failing], keys("f2", "f2"))),
        in_one_theme=("recall-team-search",),
    )
    await agent.close()
    await failing.close()


async def test_what_is_withdrawn_meanwhile_leaves_the_list_which_offers_no_keys_for_it(
    ada: Member, server: Server, database: str, project: Path
) -> None:
    await begin(ada.store, SHOP, small("The only task"))
    ada.share("team", str(SHOP))
    await ada.push()
    async with in_team(member_agent(project, server.url("grace", database)), (160, 30)) as pilot:
        assert "The only task" in listed(pilot)
        [made] = await ada.store.conversations(limit=9)
        ada.state.withdraw(ada.state.server(ada.settings.url), [made.id])
        await ada.push()
        await pilot.press("down", "enter")
        await until(pilot, lambda: "no longer there" in told(pilot))
        await until(pilot, lambda: "The only task" not in listed(pilot))
        assert "The only task" not in previewed(pilot)
        footer = shown(pilot.app.screen.query_one(Footer))
        assert "F2 scope" in footer
        for key in ("f fork", "r rename"):
            assert key not in footer


async def test_a_fork_of_anothers_conversation_is_not_imported(
    ada: Member, server: Server, database: str, project: Path
) -> None:
    await begin(ada.store, SHOP, small("The only task"))
    ada.share("team", str(SHOP))
    await ada.push()
    async with in_team(member_agent(project, server.url("grace", database)), (160, 30)) as pilot:
        await pilot.press("down", "f")
        await until(pilot, lambda: not is_open(pilot))
        await pilot.press("ctrl+r")
        await until(pilot, lambda: is_open(pilot))
        await settled(pilot)
        await until(pilot, lambda: "The only task" in listed(pilot))
        assert "imported" not in listed(pilot)
        name = f"ada@{socket.gethostname()}"[:24]
        assert name[:20] in listed(pilot)

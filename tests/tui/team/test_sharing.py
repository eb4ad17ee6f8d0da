"""`/share`, its offer on the start screen, and what the screen shows of sharing, over real databases."""

import asyncio
import shutil
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from cogency_tui.agent.agent import Agent
from cogency_tui.config.schema import HistorySettings, Settings
from cogency_tui.errors import HistoryServerError
from cogency_tui.store.forks import Forks
from cogency_tui.team import sharing
from cogency_tui.team.connection import connect
from cogency_tui.team.local_state import Audience, LocalState, opened_state
from cogency_tui.tui.main import screen
from cogency_tui.tui.status.screen import StatusScreen
from cogency_tui.tui.status.status_bar import describe_team, work_of
from cogency_tui.tui.team import commands
from cogency_tui.tui.team import screen as share_screen
from cogency_tui.tui.team.screen import ShareScreen
from tests.agent.importers.reading import FIXTURES
from tests.peers.scripted import ScriptedProvider
from tests.team.conftest import database, grace, server
from tests.team.members import Member
from tests.team.postgres import Server, running_server, set_up
from tests.team.proxy import running_proxy
from tests.tui.driving import (
    app_over,
    conversation_of,
    finished,
    header_of,
    main_of,
    send,
    shown,
    status_of,
    told,
    until,
)

__all__ = ["database", "grace", "server"]

NOWHERE = "postgresql://ada@127.0.0.1:1/history"
"""A database that cannot be reached."""

OFFERED = "Share this project's conversations with 127.0.0.1:1/history?"


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Offer and refresh without a pause; there is a history to import."""
    shutil.copytree(FIXTURES / "claude-code-2.1.197", Path.home() / ".claude")
    monkeypatch.setattr(screen, "_OFFER_AFTER", 0.01)
    monkeypatch.setattr(commands, "INTERVAL", 0.05)
    monkeypatch.setattr(share_screen, "PAUSE", 0.0)


@asynccontextmanager
async def app(
    project: Path,
    data: Path,
    url: str = NOWHERE,
    *,
    private: tuple[str, ...] = (),
    size: tuple[int, int] = (120, 36),
) -> AsyncGenerator[Pilot[Any]]:
    (data / "import-offered").unlink(missing_ok=True)
    history = HistorySettings(url=url, private=[*private])
    settings = Settings(mode="replay", titles=False, history=history)
    agent = Agent(ScriptedProvider("It is ", "a cart."), project=project, data=data, settings=settings)
    async with app_over(agent).run_test(size=size, notifications=True) as pilot:
        yield pilot
    await agent.close()


def page(pilot: Pilot[Any]) -> str:
    return shown(conversation_of(pilot))


async def dialog(pilot: Pilot[Any]) -> ShareScreen:
    """The dialog, once it accepts an answer."""
    await until(pilot, lambda: isinstance(pilot.app.screen, ShareScreen) and text_of(pilot))
    assert isinstance(pilot.app.screen, ShareScreen)
    return pilot.app.screen


def text_of(pilot: Pilot[Any]) -> str:
    """The whole text of the dialog on one line, with its keys."""
    strips = pilot.app.screen._compositor.render_strips()  # pyright: ignore[reportPrivateUsage]
    box = pilot.app.screen.query_one("#share").region
    lines = [strip.text[box.x + 1 : box.right] for strip in strips[box.y : box.bottom]]
    return " ".join(" ".join(lines).split())


def offers(pilot: Pilot[Any]) -> bool:
    return OFFERED in page(pilot)


async def started(pilot: Pilot[Any]) -> None:
    """Return when the start screen has offered what there is to offer: an import comes last."""
    await until(pilot, lambda: "Import history" in page(pilot))


def shares(data: Path) -> list[tuple[str, Audience]]:
    with opened_state(data) as state:
        return [(each.name, each.audience) for each in state.shares()]


async def test_a_project_is_shared_pushed_seen_by_others_and_withdrawn(
    server: Server, grace: Member, database: str, project: Path, tmp_path: Path
) -> None:
    data, url = tmp_path / "data", server.url("ada", database)
    async with app(project, data, url) as pilot:
        await send(pilot, "what is in cart.py?")
        await finished(pilot)
        assert "shared" not in shown(header_of(pilot))
        await send(pilot, "/share")
        await dialog(pilot)
        asked = text_of(pilot)
        assert f"Share all conversations of {project}, 1 now and all later ones, as 'shop' in" in asked
        assert "Never sent: your API keys and what else looks like a secret" in asked
        await pilot.press("down", "enter")
        assert shares(data) == []
        await pilot.press("y")
        await until(pilot, lambda: "Shared, and seen by everyone in the database." in told(pilot))
        assert shares(data) == [("shop", "team")]
        await until(pilot, lambda: "shared: team" in shown(header_of(pilot)))
        state = LocalState(data)
        await until(pilot, lambda: state.pushed(state.server(url)))
        async with grace.connected() as connection:
            count = "SELECT count(*) FROM cogency.conversations WHERE owner = 'ada'"
            assert await connection.fetchval(count) == 1
            await send(pilot, "/share")
            await dialog(pilot)
            assert "are shared as 'shop'" in text_of(pilot)
            assert "y change" not in text_of(pilot)
            await pilot.press("e")
            await until(pilot, lambda: "1 conversation stays there, seen as before." in told(pilot))
            assert await connection.fetchval(count) == 1
            await send(pilot, "/share")
            await dialog(pilot)
            assert "1 conversation of before can still be seen there." in text_of(pilot)
            await pilot.press("w")
            await until(pilot, lambda: "1 conversation withdrawn." in told(pilot))
            assert await connection.fetchval(count) == 0
        await until(pilot, lambda: "shared" not in shown(header_of(pilot)))
        state.close()


async def test_a_server_that_is_gone_is_reported_until_it_is_back(project: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    with running_server() as own:
        await set_up(own, "history")
        async with app(project, data, own.url("ada", "history")) as pilot:
            await send(pilot, "one")
            await finished(pilot)
            with opened_state(data) as state:
                state.share(str(project), "shop", "team")
            await send(pilot, "two")
            await finished(pilot)
            state = LocalState(data)
            await until(pilot, lambda: (worker := state.worker()) and worker.contact)
            await until(pilot, lambda: "team:" not in shown(status_of(pilot)))
            own.stop(signal.SIGINT)
            await until(pilot, lambda: "team: offline" in shown(status_of(pilot)))
            await send(pilot, "three")
            await finished(pilot)
            await until(pilot, lambda: "team: offline, 1 waiting" in shown(status_of(pilot)))
            await send(pilot, "/status")
            await until(pilot, lambda: isinstance(pilot.app.screen, StatusScreen))
            facts = shown(pilot.app.screen.query_one("#status-body"))
            assert f"with everyone in the database, as 'shop' in 127.0.0.1:{own.port}/history" in facts
            assert "offline, 1 waiting; last contact" in facts
            await pilot.press("escape")
            own.start()
            await until(pilot, lambda: "team:" not in shown(status_of(pilot)))
            state.close()


async def test_the_offer_is_made_until_it_is_answered(project: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    async with app(project, data) as pilot:
        await until(pilot, lambda: offers(pilot))
        await pilot.press(*["down"] * 4, "enter")
        await dialog(pilot)
        await pilot.press("n")
        await until(pilot, lambda: not offers(pilot))
        assert "Not shared: nothing is sent. /share asks again at any time." in told(pilot)
    async with app(project, data) as pilot:
        await until(pilot, lambda: offers(pilot))
        await pilot.press(*["down"] * 4, "enter")
        await dialog(pilot)
        await pilot.press("x")
        await until(pilot, lambda: "not offered again" in told(pilot))
        assert not offers(pilot)
    async with app(project, data) as pilot:
        await started(pilot)
        assert not offers(pilot)
        # The command remains.
        await send(pilot, "/share")
        await dialog(pilot)
        await pilot.press("y")
        await until(pilot, lambda: "shared: project" in shown(header_of(pilot)))
    assert shares(data) == [("shop", "project")]
    async with app(project, data) as pilot:
        await until(pilot, lambda: "shared: project" in shown(header_of(pilot)))
        await started(pilot)
        assert not offers(pilot)


async def test_a_key_that_was_meant_for_the_prompt_shares_nothing(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(share_screen, "PAUSE", 1e9)
    async with app(project, tmp_path / "data") as pilot:
        await send(pilot, "/share")
        shown_dialog = await dialog(pilot)
        await pilot.press("y")
        assert pilot.app.screen is shown_dialog
        monkeypatch.setattr(share_screen, "PAUSE", 0.0)
        await pilot.press("y")
        await until(pilot, lambda: "shared: project" in shown(header_of(pilot)))


async def test_another_window_that_shares_is_noticed(project: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    async with app(project, data) as pilot:
        await started(pilot)
        assert "shared" not in shown(header_of(pilot))
        with opened_state(data) as state:
            state.share(str(project), "shop", "team")
        await until(pilot, lambda: "shared: team" in shown(header_of(pilot)))


async def test_a_private_project_is_never_shared_and_says_so(project: Path, tmp_path: Path) -> None:
    async with app(project, tmp_path / "data", private=("~/src/*",)) as pilot:
        await started(pilot)
        assert not offers(pilot)
        await send(pilot, "/share")
        await until(pilot, lambda: "is private: history.private names it." in told(pilot))
        await send(pilot, "/status")
        await until(pilot, lambda: isinstance(pilot.app.screen, StatusScreen))
        facts = shown(pilot.app.screen.query_one("#status-body"))
        assert "never: history.private names this project" in facts


async def test_what_was_sent_before_a_project_was_private_can_be_withdrawn(
    project: Path, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    data.mkdir()
    with opened_state(data) as state:
        state.share(str(project), "shop", "team")
        state.note_server(NOWHERE, "server")
    async with app(project, data, private=("~/src/*",)) as pilot:
        await started(pilot)
        assert "shared" not in shown(header_of(pilot))
        await send(pilot, "/share")
        await dialog(pilot)
        assert "nothing more is sent" in text_of(pilot)
        await pilot.press("y")
        assert isinstance(pilot.app.screen, ShareScreen)
        await pilot.press("e")
        await until(pilot, lambda: "is no longer shared." in told(pilot))
    assert shares(data) == []


async def test_a_change_of_the_audience_leaves_the_name_and_the_time(project: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    with opened_state(data) as state:
        state.share(str(project), "bakery", "team")
        [before] = state.shares()
    async with app(project, data) as pilot:
        await until(pilot, lambda: "shared: team" in shown(header_of(pilot)))
        await send(pilot, "/share")
        await dialog(pilot)
        await pilot.press("up", "y")
        await until(pilot, lambda: "shared: project" in shown(header_of(pilot)))
    with opened_state(data) as state:
        assert state.shares() == [before._replace(audience="project")]


async def test_on_a_short_screen_nothing_is_shared_before_all_of_it_was_shown(
    project: Path, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    async with app(project, data, size=(44, 12)) as pilot:
        await send(pilot, "/share")
        await dialog(pilot)
        assert "Space read on x never n not now" in text_of(pilot)
        await pilot.press("y")
        assert isinstance(pilot.app.screen, ShareScreen)
        while "y share" not in text_of(pilot):
            await pilot.press("space")
        assert "y share x never n not now" in text_of(pilot)
        await pilot.press("y")
        await until(pilot, lambda: shares(data) == [("shop", "project")])
        await send(pilot, "/share")
        await dialog(pilot)
        while "w withdraw" not in text_of(pilot):
            await pilot.press("space")
        await pilot.press("up")
        assert "y change w withdraw e end Esc close" in text_of(pilot)


async def test_without_a_database_nothing_is_read_or_shown(project: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    async with app(project, data, url="") as pilot:
        await started(pilot)
        assert "Share" not in page(pilot)
        await send(pilot, "one")
        await finished(pilot)
        await send(pilot, "/share")
        await until(pilot, lambda: "history.url is not set" in told(pilot))
        assert [each for each in main_of(pilot).workers if each.group == "team"] == []
    assert not (data / "team.db").exists()


async def test_a_changed_configuration_is_followed(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, file = tmp_path / "data", tmp_path / "config.toml"
    monkeypatch.setenv("COGENCY_CONFIG", str(file))
    file.write_text(f'[history]\nurl = "{NOWHERE}"\n')
    data.mkdir()
    with opened_state(data) as state:
        state.share(str(project), "shop", "team")
    agent = Agent(ScriptedProvider(), project=project, data=data)
    async with app_over(agent).run_test(size=(120, 36), notifications=True) as pilot:
        await until(pilot, lambda: "shared: team" in shown(header_of(pilot)))
        file.write_text(f'[history]\nurl = "{NOWHERE}"\nprivate = ["{project}"]\n')
        await until(pilot, lambda: "shared" not in shown(header_of(pilot)))
        assert agent.settings.history.private == [str(project)]
    await agent.close()


async def facts_of(pilot: Pilot[Any]) -> str:
    """What `/status` shows, on one line."""
    await send(pilot, "/status")
    await until(pilot, lambda: isinstance(pilot.app.screen, StatusScreen))
    facts = " ".join(shown(pilot.app.screen.query_one("#status-body")).split())
    await pilot.press("escape")
    await until(pilot, lambda: not isinstance(pilot.app.screen, StatusScreen))
    return facts


async def test_a_withdrawn_conversation_does_not_look_shared(
    server: Server, database: str, project: Path, tmp_path: Path
) -> None:
    data, url = tmp_path / "data", server.url("ada", database)
    async with app(project, data, url) as pilot:
        await send(pilot, "one")
        await finished(pilot)
        [id] = [each.id for each in await (await main_of(pilot).agent.store()).conversations(limit=9)]
        with opened_state(data) as state:
            state.share(str(project), "shop", "team")
            await until(pilot, lambda: state.pushed(state.server(url)))
            await until(pilot, lambda: "shared: team" in shown(header_of(pilot)))
            state.withdraw(state.server(url), [id])
            await until(pilot, lambda: "withdrawn" in shown(header_of(pilot)))
            await until(pilot, lambda: state.count_withdrawn() == 1)
        assert "shared" not in shown(header_of(pilot))
        facts = await facts_of(pilot)
        assert "This conversation withdrawn, and sent to no database." in facts
        assert "all else was sent" in facts
        await send(pilot, "/share")
        await dialog(pilot)
        assert "0 conversations now, and all later ones" in text_of(pilot)


async def test_a_fork_that_stays_here_is_named(project: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    async with app(project, data) as pilot:
        await send(pilot, "one")
        await finished(pilot)
        store = await main_of(pilot).agent.store()
        [parent] = await store.conversations(limit=9)
        fork = await Forks(store.database).fork(parent.id)
        with opened_state(data) as state:
            state.share(str(project), "shop", "team")
            state.withdraw("server", [parent.id])
        await send(pilot, "/share")
        await dialog(pilot)
        stays = "1 fork of withdrawn conversations stays here; `history push ID` sends one."
        assert stays in text_of(pilot)
        await pilot.press("escape")
        assert stays in await facts_of(pilot)
        found = await asyncio.to_thread(
            sharing.read_sharing, data, HistorySettings(), str(project), str(project), fork.id
        )
        assert found.withheld == "fork"


async def test_a_server_that_hangs_has_not_confirmed_a_turn(
    server: Server, database: str, project: Path, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    async with running_proxy(server.port) as proxy:
        url = server.url("ada", database).replace(f":{server.port}/", f":{proxy.port}/")
        async with app(project, data, url) as pilot:
            await send(pilot, "one")
            await finished(pilot)
            with opened_state(data) as state:
                state.share(str(project), "shop", "team")
                await until(pilot, lambda: state.pushed(state.server(url)))
            await until(pilot, lambda: "team:" not in shown(status_of(pilot)))
            proxy.fault = "drop"
            await send(pilot, "two")
            await finished(pilot)
            assert "1 waiting; last contact" in await facts_of(pilot)


@pytest.mark.parametrize("size", [(120, 36), (60, 16), (44, 12)])
async def test_a_project_that_is_not_accepted_does_not_look_shared(
    server: Server, database: str, project: Path, tmp_path: Path, size: tuple[int, int]
) -> None:
    data, url = tmp_path / "data", server.url("ada", database)
    root = await connect(server.url("root", database))
    await root.execute("INSERT INTO cogency.members VALUES ('shop', 'grace')")
    async with app(project, data, url, size=size) as pilot:
        await send(pilot, "one")
        await finished(pilot)
        with opened_state(data) as state:
            state.share(str(project), "shop", "team")
            state.share("/other", "other", "team")
        await until(pilot, lambda: "not accepted" in shown(header_of(pilot)))
        assert "shared" not in shown(header_of(pilot))
        if size[0] > 100:
            assert "INSERT INTO cogency.members VALUES ('shop', 'ada')" in await facts_of(pilot)
            await until(pilot, lambda: "team: not accepted, 1 waiting" in shown(status_of(pilot)))
        await send(pilot, "/share")
        await dialog(pilot)
        if size[0] > 100:
            assert "you are not a member of it" in text_of(pilot)
        # It is another project's alone.
        other = await asyncio.to_thread(sharing.read_sharing, data, HistorySettings(), "/other", "/other")
        assert other.refusal is None
        assert other.worker is not None
        assert not other.worker.error
    await root.close()


def test_a_database_that_refuses_is_not_offline(tmp_path: Path) -> None:
    with opened_state(tmp_path) as state:
        for passing in (False, True):
            state.note_failure(3, HistoryServerError("It refuses you.", passing=passing))
            worker = state.worker()
            assert worker is not None
            assert worker.is_offline is passing
            expected = "offline, 3 waiting" if passing else "failed, 3 waiting"
            assert describe_team(work_of(worker, 0)) == expected


@pytest.mark.parametrize("size", [(100, 30), (80, 24)])
async def test_the_offer_and_recent_conversations_are_both_seen(
    project: Path, tmp_path: Path, size: tuple[int, int]
) -> None:
    data = tmp_path / "data"
    async with app(project, data, "") as pilot:
        store = await main_of(pilot).agent.store()
        for number in range(6):
            each = await store.create_conversation(
                str(project), dialect="xml", provider="offline", model="tiny"
            )
            await store.append(each.id, {"type": "user", "timestamp": 1.0, "content": f"talk {number}"})
    async with app(project, data, size=size) as pilot:
        await until(pilot, lambda: "Share history" in page(pilot) and "Import history" in page(pilot))
        assert page(pilot).count("talk ") >= 3

"""The worker follows the user's configuration: what becomes private while it works is not sent any more."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from cogency_tui.config.schema import HistorySettings, config_path
from cogency_tui.errors import ConfigError
from cogency_tui.team.followed_settings import FollowedSettings
from cogency_tui.team.push import Pusher
from cogency_tui.team.worker import Pace, work
from tests.team.members import Member, until
from tests.team.postgres import Server, set_up

PACE = Pace(0.01, 2.0, 0.01, 60.0)


@pytest.fixture(autouse=True)
def configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COGENCY_CONFIG", str(tmp_path / "config.toml"))
    return config_path()


def write(url: str, *private: str) -> None:
    quoted = ", ".join(f'"{each}"' for each in private)
    config_path().write_text(f'[history]\nurl = "{url}"\nprivate = [{quoted}]\n')


@asynccontextmanager
async def working(one: Member) -> AsyncGenerator[None]:
    is_over = False
    task = asyncio.create_task(work(one.data, one.settings, {}, lambda: is_over, PACE, follows=True))
    try:
        yield
    finally:
        is_over = True
        assert await task


def is_pushed(one: Member, id: str, url: str = "") -> bool:
    return id in one.state.pushed(one.state.server(url or one.settings.url))


async def begun(one: Member, project: str) -> str:
    id = (await one.begin(project)).id
    await one.say(id, "one")
    return id


async def test_a_project_that_becomes_private_is_not_sent_any_more(ada: Member) -> None:
    write(ada.settings.url)
    first = await begun(ada, "/project")
    ada.share()
    ada.share(project="/other", name="other")
    async with working(ada):
        await until(lambda: is_pushed(ada, first))
        write(ada.settings.url, "/project")
        secret = await begun(ada, "/project")
        after = await begun(ada, "/other")
        await until(lambda: is_pushed(ada, after))
        assert not is_pushed(ada, secret)


async def test_a_push_that_is_under_way_ends(ada: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    write(ada.settings.url)
    ids = [await begun(ada, "/project") for _ in range(5)]
    ada.share()
    usual = Pusher._send  # pyright: ignore[reportPrivateUsage]

    async def send(*arguments: object) -> object:
        write(ada.settings.url, "/project")
        return await usual(*arguments)  # pyright: ignore[reportArgumentType, reportCallIssue]

    monkeypatch.setattr(Pusher, "_send", send)
    async with working(ada):
        await until(lambda: is_pushed(ada, ids[0]))
        other = await begun(ada, "/other")
        ada.share(project="/other", name="other")
        await until(lambda: is_pushed(ada, other))
    assert sum(is_pushed(ada, id) for id in ids) == 1


async def test_nothing_is_sent_while_the_file_cannot_be_read(ada: Member) -> None:
    write(ada.settings.url)
    first = await begun(ada, "/project")
    ada.share()
    async with working(ada):
        await until(lambda: is_pushed(ada, first))
        config_path().write_text("[history\n")
        second = await begun(ada, "/project")
        await until(lambda: "config.toml" in (((worker := ada.state.worker()) and worker.error) or ""))
        assert not is_pushed(ada, second)
        # However long it would have waited: the file is right again.
        write(ada.settings.url)
        await until(lambda: is_pushed(ada, second))


async def test_another_database_is_worked_with(ada: Member, server: Server) -> None:
    await set_up(server, "elsewhere")
    url = server.url("ada", "elsewhere")
    write(ada.settings.url)
    first = await begun(ada, "/project")
    ada.share()
    async with working(ada):
        await until(lambda: is_pushed(ada, first))
        write(url)
        await until(lambda: is_pushed(ada, first, url))
        second = await begun(ada, "/project")
        await until(lambda: is_pushed(ada, second, url))
        assert not is_pushed(ada, second)


def test_what_is_given_stays_unless_the_file_changes_it() -> None:
    write("postgresql://ada@localhost/h", "/a")
    given = HistorySettings(url="postgresql://ada@localhost/flag", private=["/b"])
    followed = FollowedSettings(given)
    assert followed.current == replace(given, private=["/b", "/a"])
    write("postgresql://ada@localhost/h", "/a", "/c")
    assert followed.is_touched
    followed.refresh()
    assert followed.current == replace(given, private=["/b", "/a", "/c"])
    config_path().write_text("private = 1")
    for _ in range(2):
        with pytest.raises(ConfigError):
            followed.refresh()
    assert not followed.is_touched

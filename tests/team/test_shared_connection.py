"""A connection of several readers: turns, readers that are cancelled, and failures."""

import asyncio

import pytest

from cogency_tui.config.schema import HistorySettings
from cogency_tui.errors import HistoryServerError
from cogency_tui.team.address import address_of
from cogency_tui.team.connection import SharedConnection, connect, translated
from tests.team.postgres import Server
from tests.team.proxy import running_proxy

_PID = "SELECT pg_backend_pid()"


async def value(shared: SharedConnection, query: str) -> object:
    async with shared.use() as connection:
        return await connection.fetchval(query)


async def test_a_cancelled_reader_leaves_the_connection_to_the_next(server: Server, database: str) -> None:
    shared = SharedConnection(HistorySettings(url=server.url("ada", database)), 20.0)
    first = await value(shared, _PID)
    watching = await connect(server.url("root", database))
    running = (
        "SELECT count(*) FROM pg_stat_activity WHERE pid = $1 AND state = 'active' AND query LIKE '%sleep%'"
    )
    for _ in range(3):
        reader = asyncio.create_task(value(shared, "SELECT pg_sleep(600)"))
        while not await watching.fetchval(running, first):
            pass
        reader.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reader
        assert await value(shared, _PID) == first
    await watching.close()
    shared.release()


async def test_readers_take_turns_and_an_attempt_to_connect_outlives_the_reader_that_began_it(
    server: Server, database: str
) -> None:
    shared = SharedConnection(HistorySettings(url=server.url("ada", database)), 20.0)
    begun = asyncio.create_task(value(shared, _PID))
    await asyncio.sleep(0)
    begun.cancel()
    found = await asyncio.gather(*(value(shared, _PID) for _ in range(5)))
    assert len({*found}) == 1
    shared.release()
    assert await value(shared, _PID) not in found
    shared.release()


async def test_a_failure_is_one_readers_and_the_next_connects_again(server: Server, database: str) -> None:
    async with running_proxy(server.port) as proxy:
        shared = SharedConnection(HistorySettings(url=server.url("ada", database, proxy.port)), 0.5)
        first = await value(shared, _PID)
        proxy.fault = "drop"
        for _ in range(2):
            with pytest.raises(HistoryServerError, match="did not answer in time"):
                await value(shared, _PID)
        proxy.fault = "refuse"
        proxy.cut()
        with pytest.raises(HistoryServerError):
            await value(shared, _PID)
        proxy.fault = ""
        assert await value(shared, _PID) != first
        shared.release()
        # Released at once, whatever the network does.
        proxy.fault = "drop"
        waiting = asyncio.create_task(value(shared, _PID))
        await asyncio.sleep(0)
        shared.release()
        with pytest.raises(asyncio.CancelledError):
            await waiting


def test_a_lost_connection_is_not_told_in_the_drivers_words() -> None:
    import asyncpg

    address = address_of(HistorySettings(url="postgresql://ada@localhost:6000/h"), {})
    with pytest.raises(HistoryServerError) as caught, translated(address):
        raise asyncpg.InterfaceError("cannot perform operation: connection is closed")
    assert caught.value.advice == "The connection to the database localhost:6000/h was lost."
    assert caught.value.passing

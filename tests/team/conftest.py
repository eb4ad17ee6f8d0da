"""One server for the tests of a process, and a database for each test."""

from collections.abc import AsyncGenerator, Iterator
from itertools import count
from pathlib import Path

import pytest

from tests.team.members import Member, member
from tests.team.postgres import Server, running_server, set_up

_numbers = count()


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    with running_server() as running:
        yield running


@pytest.fixture
async def database(server: Server) -> str:
    """The name of a new database with the schema; ada and grace are members, mallory is not."""
    name = f"history{next(_numbers)}"
    await set_up(server, name)
    return name


@pytest.fixture
async def ada(server: Server, database: str, tmp_path: Path) -> AsyncGenerator[Member]:
    async with member(tmp_path / "ada", server.url("ada", database)) as one:
        yield one


@pytest.fixture
async def grace(server: Server, database: str, tmp_path: Path) -> AsyncGenerator[Member]:
    async with member(tmp_path / "grace", server.url("grace", database)) as one:
        yield one

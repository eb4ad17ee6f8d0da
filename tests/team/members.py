"""Members of a team: each a store of their own, and what they share."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from cogency_tui.config.schema import HistorySettings
from cogency_tui.protocol.events import Event
from cogency_tui.store.blobs import Blobs
from cogency_tui.store.store import Store, StoredConversation
from cogency_tui.team import pull
from cogency_tui.team.address import address_of
from cogency_tui.team.connection import Connection, connected
from cogency_tui.team.local_state import Audience, LocalState
from cogency_tui.team.push import Report, identify, push_all
from tests.store.test_increments import Site


class Member(Site):
    """A user's store and settings; `sent` of the base is not used."""

    def __init__(self, store: Store, settings: HistorySettings) -> None:
        self.data = store.database.path.parent
        super().__init__(store, Blobs(self.data / "blobs"))
        self.settings = settings
        self.secrets: dict[str, str] = {}
        self.state = LocalState(self.data)

    async def begin(self, project: str = "/project") -> StoredConversation:
        return await self.store.create_conversation(project, dialect="xml", provider="offline", model="tiny")

    async def say(self, id: str, *texts: str, at: float = 1767225600.0) -> None:
        for text in texts:
            event: Event = {"type": "user", "timestamp": at, "content": text}
            await self.store.append(id, event)

    def share(self, audience: Audience = "team", project: str = "/project", name: str = "shop") -> None:
        self.state.share(project, name, audience)

    async def push(self) -> Report:
        return await push_all(address_of(self.settings), self.data, self.settings, self.secrets)

    async def pull(self, id: str) -> str:
        async with self.connected() as connection:
            server = await identify(connection, self.state, self.settings)
            found = await pull.find(connection, id)
            return await pull.pull(connection, self.store, self.state, server, found)

    @asynccontextmanager
    async def connected(self) -> AsyncGenerator[Connection]:
        async with connected(address_of(self.settings)) as connection:
            yield connection


@asynccontextmanager
async def member(data: Path, url: str) -> AsyncGenerator[Member]:
    async with await Store.open(data) as store:
        one = Member(store, HistorySettings(url=url))
        try:
            yield one
        finally:
            one.state.close()


async def until(holds: Callable[[], bool]) -> None:
    """Wait for a condition that another process makes true."""
    while not holds():  # noqa: ASYNC110
        await asyncio.sleep(0.02)

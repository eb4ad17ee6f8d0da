"""The worker that keeps the team's database up to date, in a process of its own: no turn waits for it.

It pushes what is new, withdraws what is withdrawn, and pulls more of the conversations of others that are
here. It looks at the local store every two seconds (one number), and hears of others by LISTEN. After a
failure it waits, each time longer, up to five minutes. One worker runs for a data directory.

Invariant: before it sends anything it has noticed a change of the user's configuration.
"""

import asyncio
import os
import random
import sqlite3
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from cogency_tui.config.schema import HistorySettings
from cogency_tui.errors import CogencyError, ConfigError, HistoryServerError, StoreError
from cogency_tui.file_lock import file_lock
from cogency_tui.store.origins import COPIED
from cogency_tui.store.store import Store
from cogency_tui.team import pull
from cogency_tui.team.address import address_of
from cogency_tui.team.connection import PATIENCE, Connection, connected
from cogency_tui.team.followed_settings import FixedSettings, FollowedSettings
from cogency_tui.team.local_state import WORKER_LOCK, LocalState
from cogency_tui.team.push import LocalStore, Pusher, Seen, identify

_TICK = 0.5
_EVERYTHING = 3600.0
"""Seconds after which all is compared, not only what has changed since."""

_REFUSED = 60.0
"""The same, while something is not accepted."""

_NOTE = 1.0
"""Seconds after which the progress of a push is noted again."""

_HEARTBEAT = 30.0
"""Seconds after which a connection is tried."""


class Pace(NamedTuple):
    """Times in seconds: in which changes of the store are pushed together, for an answer of the server, and
    of the first and the longest wait after failures in a row."""

    settle: float = 2.0
    patience: float = PATIENCE
    first_wait: float = 1.0
    longest_wait: float = 300.0

    def waits(self) -> Iterator[float]:
        """Yield the time to wait after each failure in a row."""
        wait = self.first_wait
        while True:
            yield wait * random.uniform(0.5, 1.0)
            wait = min(2 * wait, self.longest_wait)


USUAL = Pace()


class Worker:
    """Works for the data directory `data` until `is_over`."""

    def __init__(
        self,
        data: Path,
        settings: FollowedSettings | FixedSettings,
        secrets: Mapping[str, str],
        is_over: Callable[[], bool],
        pace: Pace,
        report: Callable[[str], object],
    ) -> None:
        self._data = data
        self._settings = settings
        self._is_over = is_over
        self._pace = pace
        self._store = LocalStore(data, secrets)
        self._state = LocalState(data)
        self._report = report
        self._is_lost = False
        self._has_pushed = False
        self._seen: Seen | None = None
        self._is_refused = False
        self._left = set[str]()
        """Conversations that are still to be pushed."""

        self._notified = asyncio.Event()

    async def run(self) -> None:
        """Work; return at the end.

        Raises:
            ConfigError, UsageError: there is no usable address or driver.
            StoreError: the state cannot be used.
        """
        _ = address_of(self._settings.current)
        pauses = self._pace.waits()
        try:
            while not self._is_over():
                self._has_pushed = False
                try:
                    self._settings.refresh()
                    await self._session(self._settings.current)
                except (HistoryServerError, StoreError, ConfigError, sqlite3.Error) as exc:
                    if isinstance(exc, StoreError | sqlite3.Error):
                        self._store.close()
                    failure = (
                        StoreError(f"The store cannot be read: {exc}.")
                        if isinstance(exc, sqlite3.Error)
                        else exc
                    )
                    if not self._is_lost:
                        self._is_lost = True
                        self._report(f"{failure.advice} It is tried again.")
                    await self._note_failure(failure)
                    if self._has_pushed:
                        pauses = self._pace.waits()
                    await self._pause(next(pauses))
                else:
                    pauses = self._pace.waits()
        finally:
            self._store.close()
            self._state.close()

    async def _session(self, settings: HistorySettings) -> None:
        """Work over one connection, until it fails, the settings are others, or all is over."""

        def is_current() -> bool:
            self._settings.refresh()
            return self._settings.current == settings

        async with (
            connected(address_of(settings), patience=self._pace.patience) as connection,
            self._listening(connection),
        ):
            pusher = Pusher(connection, self._store, self._state, settings, self._pace.patience)
            pusher.is_current = is_current
            server = await identify(connection, self._state, settings)
            version, compared, asked = -1, 0.0, time.monotonic()
            shares: object = None
            self._notified.set()
            while is_current() and not self._is_over():
                here = (
                    await asyncio.to_thread(self._store.version),
                    self._state.shares(),
                    self._pending(server),
                )
                rest = _REFUSED if self._is_refused else _EVERYTHING
                everything = time.monotonic() - compared > rest or here[1:] != shares or version < 0
                if everything or here[0] != version:
                    await self._push(pusher, everything=everything)
                    version, shares = here[0], here[1:]
                    compared = time.monotonic() if everything else compared
                if self._notified.is_set():
                    self._notified.clear()
                    await self._pull(connection, server)
                if time.monotonic() - asked > _HEARTBEAT or connection.is_closed():
                    # A network that has gone silent is noticed by this alone.
                    await connection.fetchval("SELECT 1")
                    asked = time.monotonic()
                await self._pause(self._pace.settle)

    def _pending(self, server: str) -> set[str]:
        return self._state.withdrawn(server, "waits") | self._state.withdrawn(server, "returns")

    async def _push(self, pusher: Pusher, *, everything: bool) -> None:
        changed, self._seen = await asyncio.to_thread(self._store.changes, self._seen)
        self._left |= changed
        pusher.progressed = self._noting(await self._waiting() if everything else 0)
        pusher.progressed(0)
        report = await pusher.push(None if everything else self._left)
        if self._is_lost:
            self._is_lost = False
            self._report("The database can be used again.")
        if report.copied:
            self._report(COPIED)
        self._left = set(report.failures)
        self._is_refused = bool(report.refusals)
        self._has_pushed = True
        self._state.note_refusals(report.refusals)
        self._state.note_worker(0, "", contact=True)

    def _noting(self, waiting: int) -> Callable[[int], None]:
        """Return a function that notes how many of the conversations still wait while they are pushed."""
        noted = -_NOTE

        def note(pushed: int) -> None:
            nonlocal noted
            if waiting > pushed and time.monotonic() - noted > _NOTE:
                noted = time.monotonic()
                self._state.note_worker(waiting - pushed, "", contact=True)

        return note

    async def _pull(self, connection: Connection, server: str) -> None:
        """Pull more of the conversations of others that are here."""
        waiting = await pull.changed(connection, self._state, server)
        if not waiting:
            return
        async with await Store.open(self._data) as store:
            for found in waiting:
                try:
                    await pull.pull(connection, store, self._state, server, found)
                except CogencyError as exc:
                    if isinstance(exc, HistoryServerError) and exc.passing:
                        raise
                    self._state.note_worker(0, exc.advice, contact=True)

    async def _note_failure(self, failure: CogencyError) -> None:
        # A full disk here must not end the worker.
        with suppress(StoreError):
            self._state.note_failure(await self._waiting(), failure)

    async def _waiting(self) -> int:
        """Count the conversations that wait to be pushed."""
        with suppress(sqlite3.Error):
            return await asyncio.to_thread(self._store.waiting, self._state, self._settings.current)
        return 0

    @asynccontextmanager
    async def _listening(self, connection: Connection) -> AsyncGenerator[None]:
        await connection.add_listener("cogency", lambda *_: self._notified.set())
        yield

    async def _pause(self, seconds: float) -> None:
        """Wait, and notice the end, and a change of the configuration, in half a second."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            # The end is a fact of another process.
            if self._is_over() or self._settings.is_touched:
                return
            await asyncio.sleep(min(left, _TICK))


async def work(
    data: Path,
    settings: HistorySettings,
    secrets: Mapping[str, str],
    is_over: Callable[[], bool],
    pace: Pace = USUAL,
    report: Callable[[str], object] = lambda _words: None,
    *,
    follows: bool = False,
) -> bool:
    """Work for a data directory, and send no values of `secrets`; return False at once if another process
    does already. `report` receives a sentence when the database is lost, and when it can be used again.
    `follows`: the settings are those of the user's configuration, and change with it.

    Raises:
        ConfigError, UsageError: there is no usable address or driver.
        StoreError: the state cannot be used.
    """
    data.mkdir(parents=True, exist_ok=True)
    with file_lock(data / WORKER_LOCK) as held:
        if not held:
            return False
        followed = FollowedSettings(settings) if follows else FixedSettings(settings)
        worker = Worker(data, followed, secrets, is_over, pace, report)
        await worker.run()
        return True


def parent_is_gone(parent: int) -> Callable[[], bool]:
    """Return a test whether the process that started this one has ended."""
    return lambda: os.getppid() != parent

"""Connections to a team's database. All failures become a `HistoryServerError`, here and nowhere else.

Each statement has a time limit, on both sides: a network that hangs is a failure like any other.
"""

import asyncio
import os
import ssl
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol

from cogency_tui.config.schema import HistorySettings
from cogency_tui.errors import HistoryServerError, UsageError
from cogency_tui.team.address import Address, address_of
from cogency_tui.team.schema import VERSION

PATIENCE = 15.0
"""Seconds for a connection, and for each of its statements but a long push."""

_SETUP = "Its administrator runs the output of `cogency-tui history setup --print` there."


class Connection(Protocol):
    """A connection of the driver, as far as it is used here; its own types are not complete."""

    async def execute(self, query: str, *args: object, timeout: float | None = None) -> str: ...

    async def fetch(self, query: str, *args: object) -> list[Any]: ...

    async def fetchrow(self, query: str, *args: object) -> Any: ...

    async def fetchval(self, query: str, *args: object) -> Any: ...

    async def add_listener(self, channel: str, callback: Callable[..., object]) -> None: ...

    def transaction(
        self, *, isolation: str | None = None, readonly: bool = False
    ) -> AbstractAsyncContextManager[object]: ...

    def is_closed(self) -> bool: ...

    async def close(self, *, timeout: float | None = None) -> None: ...

    def terminate(self) -> None: ...


async def connect(url: str, **options: Any) -> Connection:
    """Connect, without checks and translated errors."""
    # Imported as a module without types: few users have it. It takes longer than a frame.
    driver: Any = await asyncio.to_thread(import_module, "asyncpg")
    return await driver.connect(url, **options)


@asynccontextmanager
async def connected(address: Address, *, patience: float = PATIENCE) -> AsyncGenerator[Connection]:
    """Connect, and check that the database has a schema that this program knows.

    Raises:
        UsageError: the driver is not installed.
        HistoryServerError: the server cannot be used; also from the block.
    """
    if find_spec("asyncpg") is None:
        raise UsageError(
            "A team's database needs an extra that is not installed.",
            "Install it: pip install 'cogency-tui[postgres]'",
        )
    limit = str(int(patience * 1000))
    with translated(address):
        connection = await connect(
            address.url,
            timeout=patience,
            command_timeout=patience + 1,
            server_settings={
                "application_name": "cogency-tui",
                # Others may have created functions elsewhere.
                "search_path": "pg_catalog, pg_temp",
                "statement_timeout": limit,
                "lock_timeout": limit,
                "idle_in_transaction_session_timeout": limit,
            },
            **address.options,
        )
        try:
            await check_version(connection, address)
            yield connection
        finally:
            await _closed(connection)


class SharedConnection:
    """A connection of several readers, who take turns: it opens on first use, and again after a failure.

    A reader may be cancelled at any time: the driver then cancels the statement, and the next one waits until
    that is done, or until its time is over.
    """

    def __init__(self, settings: HistorySettings, patience: float) -> None:
        self._settings = settings
        self._patience = patience
        self._turn = asyncio.Lock()
        self._holder: asyncio.Task[None] | None = None
        self._opened: asyncio.Future[Connection] | None = None

    @asynccontextmanager
    async def use(self) -> AsyncGenerator[Connection]:
        """Lend the connection.

        Raises:
            ConfigError: there is no usable address.
            UsageError: the driver is not installed.
            HistoryServerError: the server cannot be used; also from the block.
        """
        address = address_of(self._settings)
        async with self._turn:
            # A reader that is cancelled does not end the attempt, which the next one waits for.
            connection = await asyncio.shield(self._connecting(address))
            try:
                with translated(address):
                    yield connection
            except HistoryServerError:
                self.release()
                raise

    def release(self) -> None:
        """Close the connection, without waiting for it."""
        if self._holder is not None and self._opened is not None:
            self._holder.cancel()
            # It may not have begun: then nothing else ends the wait for it.
            self._opened.cancel()
        self._holder = self._opened = None

    def _connecting(self, address: Address) -> "asyncio.Future[Connection]":
        opened = self._opened
        if opened is None or (opened.done() and (opened.exception() or opened.result().is_closed())):
            self.release()
            self._opened = opened = asyncio.get_running_loop().create_future()
            self._holder = asyncio.create_task(self._hold(address, opened))
            _holders.add(self._holder)
            self._holder.add_done_callback(_holders.discard)
        return opened

    async def _hold(self, address: Address, opened: "asyncio.Future[Connection]") -> None:
        try:
            async with connected(address, patience=self._patience) as connection:
                opened.set_result(connection)
                await asyncio.Event().wait()
        except Exception as exc:
            if not opened.done():
                opened.set_exception(exc)


_holders = set[asyncio.Task[None]]()
"""Those that are still closing their connection, too."""


async def check_version(connection: Connection, address: Address) -> None:
    """Require a schema that this program knows.

    Raises:
        HistoryServerError: it is older, newer, or none.
    """
    if not await connection.fetchval("SELECT to_regclass('cogency.versions') IS NOT NULL"):
        raise HistoryServerError(f"The database {address.name} has no history.", _SETUP)
    row = await connection.fetchrow("SELECT max(version), max(oldest_client) FROM cogency.versions")
    found, oldest = row or (0, 0)
    if (found or 0) < VERSION:
        raise HistoryServerError(
            f"The database {address.name} has version {found or 0} of the history, and this program needs"
            f" {VERSION}.",
            _SETUP,
        )
    if oldest > VERSION:
        raise HistoryServerError(
            f"The database {address.name} has version {found} of the history, which needs a newer program.",
            "Update cogency-tui.",
        )


@contextmanager
def translated(address: Address) -> Generator[None]:
    """Convert the driver's errors.

    Raises:
        HistoryServerError: the server cannot be reached, refuses, or fails.
    """
    import asyncpg

    try:
        yield
    except asyncpg.InvalidAuthorizationSpecificationError as exc:
        hint = "The password comes from history.password_env, PGPASSWORD or ~/.pgpass."
        raise HistoryServerError(f"The database {address.name} refuses you: {words_of(exc)}.", hint) from exc
    except asyncpg.InsufficientPrivilegeError as exc:
        hint = "Its administrator grants cogency_member."
        raise HistoryServerError(
            f"The database {address.name} does not allow it: {words_of(exc)}.", hint
        ) from exc
    except asyncpg.InvalidCatalogNameError as exc:
        raise HistoryServerError(f"There is no database {address.name}: {words_of(exc)}.", _SETUP) from exc
    except TimeoutError as exc:
        message = f"The database {address.name} did not answer in time."
        raise HistoryServerError(message, passing=True) from exc
    except ssl.SSLError as exc:
        is_refused = isinstance(exc, ssl.SSLCertVerificationError)
        words = exc.verify_message.rstrip(".") if is_refused else words_of(exc)
        message = f"The certificate of the database {address.name} is not accepted: {words}."
        hint = "sslrootcert=FILE in history.url names the certificate of your authority."
        raise HistoryServerError(message, hint) from exc
    except OSError as exc:
        words = os.strerror(exc.errno) if exc.errno and exc.errno > 0 else words_of(exc)
        raise HistoryServerError(
            f"The database {address.name} is out of reach: {words}.", passing=True
        ) from exc
    except asyncpg.InterfaceError as exc:
        # The driver's words are about its own objects.
        lost = "closed" in words_of(exc)
        what = "was lost" if lost else f"fails: {words_of(exc)}"
        message = f"The connection to the database {address.name} {what}."
        raise HistoryServerError(message, passing=True) from exc
    except (asyncpg.PostgresError, asyncpg.InternalClientError) as exc:
        raise HistoryServerError(
            f"The database {address.name} fails: {words_of(exc)}.", passing=True
        ) from exc


def words_of(error: BaseException) -> str:
    """Return the first line of an error, without its full stop."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0].rstrip(".")[:300]


async def _closed(connection: Connection) -> None:
    """Close a connection, which may hang, in bounded time."""
    try:
        await connection.close(timeout=2)
    except Exception:
        # However it fails, the connection is not needed any more.
        connection.terminate()

"""The worker of an interface: a process of its own, which ends with the interface."""

import asyncio
import os
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from cogency_tui.child_processes import start_with_keys
from cogency_tui.config.schema import HistorySettings
from cogency_tui.errors import StoreError
from cogency_tui.file_lock import file_lock
from cogency_tui.team.local_state import FILE, WORKER_LOCK, opened_state

_CODE = (
    "from cogency_tui.child_processes import take_keys; take_keys(); "
    "from cogency_tui.team.background import serve; serve()"
)
_ENDING = 2.0
"""Seconds for the worker to end, before it is killed."""

_AGAIN = 60.0
"""Seconds after a start until a worker that has ended is started again."""


class BackgroundWorker:
    """Starts the worker where there is something for it to do. `keys` are the variables that hold secrets,
    with that of the password; `follows` says whether the settings are those of the user's configuration."""

    def __init__(
        self,
        data: Path,
        settings: HistorySettings,
        environ: Mapping[str, str],
        keys: Mapping[str, str],
        *,
        follows: bool = False,
    ) -> None:
        self._data = data
        self._settings = settings
        self._environ = environ
        self._keys = keys
        self._follows = follows
        self._process: asyncio.subprocess.Process | None = None
        self._started = -_AGAIN
        self._starting = asyncio.Lock()
        self._opening: asyncio.Task[None] | None = None
        self._is_closed = False

    @property
    def is_wanted(self) -> bool:
        """True if there is a database, and something for a worker to do. Blocks."""
        if not self._settings.url or not (self._data / FILE).exists():
            return False
        with suppress(StoreError), opened_state(self._data) as state:
            return state.has_work
        return False

    async def start(self) -> None:
        """Start the worker if it is wanted, and none runs for the data directory. One that has ended, because
        it cannot work or another one did, is started again at most once a minute.

        Raises:
            OSError: it could not be started.
        """
        async with self._starting:
            is_running = self._process is not None and self._process.returncode is None
            if is_running or time.monotonic() - self._started < _AGAIN:
                return
            is_due = await asyncio.to_thread(lambda: self.is_wanted and self._is_alone)
            if is_due and not self._is_closed:
                self._opening = asyncio.create_task(self._open())
                # Who waits may be cancelled: the process must not be lost for that.
                await asyncio.shield(self._opening)

    @property
    def _is_alone(self) -> bool:
        with file_lock(self._data / WORKER_LOCK) as held:
            return held

    async def _open(self) -> None:
        self._started = time.monotonic()
        settings = msgspec.json.encode(self._settings).decode()
        self._process = await start_with_keys(
            *(_CODE, str(self._data), settings, str(os.getpid()), str(int(self._follows)), *self._keys),
            environ=self._environ,
            keys=self._keys,
        )

    async def close(self) -> None:
        """End the worker, and start none any more. What it has not sent, the next one sends."""
        self._is_closed = True
        if self._opening is not None:
            with suppress(OSError):
                await self._opening
        process, self._process = self._process, None
        if process is None:
            return
        with suppress(ProcessLookupError):
            process.terminate()
        try:
            async with asyncio.timeout(_ENDING):
                await process.communicate()
        except TimeoutError:
            process.kill()
            await process.communicate()


def serve() -> None:
    """Work, in the process of a worker."""
    from cogency_tui.team.worker import parent_is_gone, work

    data, settings, parent, follows, *keys = sys.argv[1:]
    with suppress(OSError):
        os.nice(5)
    given = msgspec.json.decode(settings, type=HistorySettings)
    try:
        secrets = {name: os.environ[name] for name in keys}
        is_over = parent_is_gone(int(parent))
        asyncio.run(work(Path(data), given, secrets, is_over, follows=follows == "1"))
    except Exception as exc:
        # Nobody reads its output: the state is where failures are looked for.
        with opened_state(Path(data)) as state:
            state.note_worker(0, getattr(exc, "advice", "") or str(exc), contact=False)

"""The worker of an interface: a process of its own, which ends with the interface."""

import asyncio
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from cogency_tui.child_processes import start_with_keys
from cogency_tui.config.schema import HistorySettings
from cogency_tui.team.local_state import FILE, LocalState

_CODE = (
    "from cogency_tui.child_processes import take_keys; take_keys(); "
    "from cogency_tui.team.background import serve; serve()"
)
_ENDING = 2.0
"""Seconds for the worker to end, before it is killed."""


class BackgroundWorker:
    """Starts the worker where there is something for it to do. `keys` are the variables that hold secrets,
    with that of the password."""

    def __init__(
        self, data: Path, settings: HistorySettings, environ: Mapping[str, str], keys: Mapping[str, str]
    ) -> None:
        self._data = data
        self._settings = settings
        self._environ = environ
        self._keys = keys
        self._process: asyncio.subprocess.Process | None = None

    @property
    def is_wanted(self) -> bool:
        """True if there is a database, and a project was shared or a conversation pulled at some time."""
        return bool(self._settings.url) and (self._data / FILE).exists()

    async def start(self) -> None:
        """Start the worker, unless it runs. Where another one runs for the data directory, it ends at once.

        Raises:
            OSError: it could not be started.
        """
        if self._process is not None and self._process.returncode is None:
            return
        settings = msgspec.json.encode(self._settings).decode()
        self._process = await start_with_keys(
            *(_CODE, str(self._data), settings, str(os.getpid())), environ=self._environ, keys=self._keys
        )

    async def close(self) -> None:
        """End the worker. What it has not sent, the next one sends."""
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
    from cogency_tui.team.worker import work

    data, settings, parent = sys.argv[1:]
    with suppress(OSError):
        os.nice(5)
    given = msgspec.json.decode(settings, type=HistorySettings)
    try:
        asyncio.run(work(Path(data), given, lambda: os.getppid() != int(parent)))
    except Exception as exc:
        # Nobody reads its output: the state is where failures are looked for.
        state = LocalState(Path(data))
        state.note_worker(0, getattr(exc, "advice", "") or str(exc), contact=False)
        state.close()

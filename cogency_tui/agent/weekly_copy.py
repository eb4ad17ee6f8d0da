"""The weekly copy of the store: made between turns, in a process of its own."""

import asyncio
from contextlib import aclosing, suppress
from pathlib import Path
from time import time
from typing import TYPE_CHECKING

from cogency_tui.child_processes import Job
from cogency_tui.errors import CogencyError
from cogency_tui.store.copies import is_due
from cogency_tui.store.database import LOCK
from cogency_tui.store.store import Store

if TYPE_CHECKING:
    from cogency_tui.agent.agent import Agent

_COPY = Job("cogency_tui.store.copies", nice=10)
_copying = asyncio.Lock()

_YOUNG = 24 * 3600.0
"""Seconds after its creation from which a store is copied."""


class WeeklyCopy:
    """The copy after a turn of `agent`, made in the background while the front end goes on. The end of the
    agent stops it: it is made after a later turn.
    """

    def __init__(self, agent: "Agent") -> None:
        self._agent = agent
        self._task: asyncio.Task[None] | None = None
        agent.closes_too(self._close)

    def begin(self) -> None:
        """Copy the store if that is due and configured."""
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(copy_after_turn(self._agent))

    async def finish(self) -> None:
        """Wait until the copy is made or stopped."""
        if self._task is not None:
            await asyncio.wait([self._task])

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _close(self) -> None:
        self.stop()
        await self.finish()


async def copy_after_turn(agent: "Agent") -> None:
    """Copy the store of `agent` if that is due and configured."""
    with suppress(CogencyError):
        if agent.settings.history.copies and agent.lasting:
            await copy_if_due(await agent.store())


async def copy_if_due(store: Store) -> None:
    """Copy the store if its newest copy is a week old, and the first time when it is a day old. A failure
    becomes a notice of the store."""
    directory = store.database.path.parent
    if not (store.database.read_only or _copying.locked()) and await asyncio.to_thread(_is_wanted, directory):
        await _copy(store, directory)


def _is_wanted(directory: Path) -> bool:
    now = time()
    try:
        # The lock is never written: it is as old as the store.
        age = now - (directory / LOCK).stat().st_mtime
    except OSError:
        return False
    return age >= _YOUNG and is_due(directory, now)


async def _copy(store: Store, directory: Path) -> None:
    async with _copying:
        try:
            async with aclosing(_COPY.lines(str(directory))) as problems:
                async for problem in problems:
                    if problem not in store.notices:
                        store.notices.append(problem)
        except (CogencyError, OSError) as exc:
            store.notices.append(f"The weekly copy of the history failed: {exc}")

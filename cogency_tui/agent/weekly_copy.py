"""The weekly copy of the store: made between turns, in a process of its own."""

import asyncio
from contextlib import aclosing
from pathlib import Path
from time import time

from cogency_tui.child_processes import Job
from cogency_tui.errors import CogencyError
from cogency_tui.store.copies import is_due
from cogency_tui.store.database import LOCK
from cogency_tui.store.store import Store

_COPY = Job("cogency_tui.store.copies", nice=10)
_copying = asyncio.Lock()

_YOUNG = 24 * 3600.0
"""Seconds after its creation from which a store is copied."""


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
        except CogencyError as exc:
            store.notices.append(f"The weekly copy of the history failed: {exc}")

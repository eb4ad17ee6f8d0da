"""The weekly copy of the store: made between turns, in a process of its own."""

import asyncio
from contextlib import aclosing
from time import time

from cogency_tui.child_processes import Job
from cogency_tui.errors import CogencyError
from cogency_tui.store.copies import is_due
from cogency_tui.store.store import Store

_COPY = Job("cogency_tui.store.copies", nice=10)
_copying = asyncio.Lock()


async def copy_if_due(store: Store) -> None:
    """Copy the store if its newest copy is a week old. A failure becomes a notice of the store."""
    directory = store.database.path.parent
    if (
        store.database.read_only
        or _copying.locked()
        or not await asyncio.to_thread(is_due, directory, time())
    ):
        return
    async with _copying:
        try:
            async with aclosing(_COPY.lines(str(directory))) as problems:
                async for problem in problems:
                    if problem not in store.notices:
                        store.notices.append(problem)
        except CogencyError as exc:
            store.notices.append(f"The weekly copy of the history failed: {exc}")

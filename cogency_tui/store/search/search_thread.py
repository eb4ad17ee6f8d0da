"""Searches in the background: a thread and a connection of its own, cancelled at once.

Appending never waits for a search, nor a search for the index. Cancelling the task that awaits an answer
stops the query, too, as further typing does. It stops that query only: the next one is answered.
"""

import asyncio
import os
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from traceback import clear_frames
from typing import TypeVar

from cogency_tui.errors import StoreError
from cogency_tui.file_lock import file_lock
from cogency_tui.store.database import FILE, open_to_read, store_error
from cogency_tui.store.search.index_file import DAMAGE, INDEX, LOCK, discard, is_damage
from cogency_tui.store.search.matching import Redact
from cogency_tui.store.search.read_snapshot import CancelledError
from cogency_tui.store.search.searcher import Searcher

T = TypeVar("T")

_CANCELLED = "The search was cancelled."


class SearchService:
    """Searches of the store in `directory`, one at a time in the order of their requests. Opens with the
    first. A `read_only` one leaves the files of the store and a damaged index as they are."""

    def __init__(
        self,
        directory: Path,
        notices: list[str] | None = None,
        *,
        read_only: bool = False,
        redact: Redact | None = None,
    ) -> None:
        self._read_only = read_only
        self._redact = redact
        self.notices: list[str] = [] if notices is None else notices
        """Reports of an index that was damaged, for the user."""
        self._directory = directory
        self._thread = ThreadPoolExecutor(1, "search")
        self._searcher: Searcher | None = None
        self._running: threading.Event | None = None
        """Cancels the search that is running."""

    async def run(self, work: Callable[[Searcher], T]) -> T:
        """Return the result of `work` on the searcher. Cancelling it stops a running query.

        Raises:
            StoreError: the store cannot be read.
        """
        cancelled = threading.Event()
        task = self._thread.submit(partial(self._run, work, cancelled))
        try:
            return await asyncio.wrap_future(task)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    async def close(self) -> None:
        """Close the connection and end the thread. Repeated calls are allowed."""
        if (running := self._running) is not None:
            running.set()
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        # A search that was given up may be opening the connection just now.
        self._thread.shutdown()
        if self._searcher is not None:
            self._searcher.view.connection.close()
            self._searcher = None

    def _run(self, work: Callable[[Searcher], T], cancelled: threading.Event) -> T:
        if cancelled.is_set():
            raise StoreError(_CANCELLED)
        self._running = cancelled
        try:
            searcher = self._opened()
            searcher.view.cancelled = cancelled.is_set
            return self._answer(work, searcher)
        except (CancelledError, OSError, sqlite3.Error) as exc:
            # Their cursors would stay open, and with them what the next search must not see.
            clear_frames(exc.__traceback__)
            if cancelled.is_set() or isinstance(exc, CancelledError):
                raise StoreError(_CANCELLED) from exc
            raise store_error(exc, self._directory / FILE) from exc
        finally:
            self._running = None

    def _answer(self, work: Callable[[Searcher], T], searcher: Searcher) -> T:
        """Answer with the index, or from the store alone where the index is damaged."""
        try:
            return work(searcher)
        except DAMAGE as exc:
            if not searcher.view.has_index or not is_damage(exc):
                raise
        searcher.view.distrust()
        # A second failure is not the index's fault.
        answer = work(searcher)
        self._discard(searcher)
        return answer

    def _discard(self, searcher: Searcher) -> None:
        if self._read_only or not os.access(self._directory, os.W_OK):
            # Beside a read-only store the index cannot be used, damaged or not.
            return
        path = self._directory / INDEX
        what = f"The search index {path} was damaged; your conversations, in another file, are not."
        try:
            with file_lock(self._directory / LOCK) as alone:
                if not alone:
                    # The process that writes it finds the damage, or a later search does.
                    return
                discard(self._directory)
        except OSError as exc:
            self.notices.append(f"{what} It cannot be removed ({exc}): searches work without it.")
        else:
            searcher.view.trust()
            self.notices.append(f"{what} It is being rebuilt in the background; searches still work.")

    def _opened(self) -> Searcher:
        if self._searcher is None:
            connection = open_to_read(self._directory / FILE, 5, untouched=self._read_only)
            connection.execute("PRAGMA cache_size = -16000")
            self._searcher = Searcher(self._directory, connection, self._redact)
        return self._searcher

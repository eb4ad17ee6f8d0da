"""Reads for the review off the event loop: the list after each change, a diff when it is opened.

Only the last requested diff is read to its end; facts beside its lines (the fate of a hunk, the sides of a
conflict) follow.
"""

import asyncio
from collections.abc import Coroutine
from functools import partial
from typing import Any, Protocol, TypeVar

from textual.screen import Screen

from cogency_tui.agent.edits.reverse import Obstacle
from cogency_tui.agent.review.model import ChangedFile, FileKey, Overview, Target
from cogency_tui.agent.review.review import Grouping, Review
from cogency_tui.errors import CogencyError
from cogency_tui.tui.kit.number_format import whole_seconds
from cogency_tui.tui.review.open_file import WHOLE_FILE, OpenFile, read_open

Result = TypeVar("Result")

_PATIENCE = 0.3
"""Seconds after which a notice appears that a diff is being read."""


class Shows(Protocol):
    """Shows what was read."""

    def show_overview(self, overview: Overview) -> None: ...

    def show_file(self, file: OpenFile) -> None: ...

    def show_more(self) -> None: ...

    def show_wait(self, text: str) -> None: ...

    def show_problem(self, error: CogencyError) -> None: ...


def target_of(key: FileKey, hunk: str = WHOLE_FILE) -> Target:
    """The target for a hunk of a file, or for the file."""
    return Target(key.turn, key.path, (hunk,) if hunk else (), key.replaced)


class Reading:
    """Reads `review` in workers of a screen."""

    def __init__(self, screen: Screen[Any], shows: Shows, review: Review) -> None:
        self.by: Grouping = "turn"
        self._screen = screen
        self._shows = shows
        self._review = review
        self._stale = False
        self._busy = False
        self._known = False

    def refresh(self) -> None:
        """Read the list again, after a possible change."""
        self._stale = True
        if not self._busy:
            self._busy = True
            self._screen.run_worker(self._read_list, group="review-list")

    def open(self, file: ChangedFile, *, again: bool = False) -> None:
        """Read a diff, `again` if it is already shown; cancels the diff being read."""
        read = partial(self._read_diff, file.key, again=again)
        self._screen.run_worker(read, group="review-diff", exclusive=True)

    def add_to(self, file: OpenFile) -> None:
        """Read the facts beside the lines of an open file."""
        self._screen.run_worker(partial(self._read_more, file), group="review-more", exclusive=True)

    def cancel(self) -> None:
        """Cancel the diff being read."""
        workers: Any = self._screen.workers
        for group in ("review-diff", "review-more"):
            workers.cancel_group(self._screen, group)

    async def _read_list(self) -> None:
        try:
            while self._stale:
                self._stale = False
                reading = self._review.overview(self.by)
                # After the first time the present list stays while it is read again.
                known, self._known = self._known, True
                text = "Loading the changes"
                self._shows.show_overview(await self._patiently(reading, text, quiet=known))
        except CogencyError as exc:
            self._shows.show_problem(exc)
        finally:
            self._busy = False

    async def _read_diff(self, key: FileKey, *, again: bool) -> None:
        try:
            self._shows.show_file(await self._patiently(self._read(key), "Loading the diff", quiet=again))
        except CogencyError as exc:
            self._shows.show_problem(exc)

    async def _patiently(
        self, work: Coroutine[Any, Any, Result], text: str, *, quiet: bool = False
    ) -> Result:
        """The result of `work`; after a while show the waiting time, unless `quiet`."""
        running = asyncio.ensure_future(work)
        begun = asyncio.get_running_loop().time()
        patience = _PATIENCE
        try:
            while not (await asyncio.wait([running], timeout=patience))[0]:
                waited = asyncio.get_running_loop().time() - begun
                if not quiet:
                    self._shows.show_wait(f"{text} … {whole_seconds(waited)}")
                patience = 1.0
            return running.result()
        finally:
            running.cancel()

    async def _read(self, key: FileKey) -> OpenFile:
        diff = await self._review.diff(key)
        return await asyncio.to_thread(read_open, diff)

    async def _read_more(self, file: OpenFile) -> None:
        key = file.file.key
        try:
            found: dict[str, Obstacle] = {}
            for id in file.in_conflict():
                obstacles = await self._review.conflicts(target_of(key, id))
                if obstacles:
                    found[id] = obstacles[0]
            file.settle(found)
            if found:
                self._shows.show_more()
            file.survived(await self._review.fates(key))
            file.others = await self._review.others(key)
            self._shows.show_more()
        except CogencyError as exc:
            self._shows.show_problem(exc)

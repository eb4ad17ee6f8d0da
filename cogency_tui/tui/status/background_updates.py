"""Background updates of the main screen: the branch, the conversation's number, the open mark, the store.

They start after the first frame. Each worker replaces its predecessor of the same kind.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from time import time
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace
from textual.screen import Screen

from cogency_tui.errors import CogencyError
from cogency_tui.tui.bridge import Bridge
from cogency_tui.tui.cost.context_usage import ContextFacts
from cogency_tui.tui.status.header import Header, read_branch

if TYPE_CHECKING:
    from cogency_tui.store.store import StoredConversation


async def is_dirty(project: Path) -> bool:
    """Return whether tracked files have uncommitted changes; False if git fails or is slow."""
    return await asyncio.to_thread(_is_dirty, project)


def _is_dirty(project: Path) -> bool:
    # Loaded in a thread: it takes longer than a frame.
    from cogency_tui.workspace.git.repository_queries import Repository

    return Repository(project).dirty


_ELSEWHERE = (
    "This conversation is open in another program: nothing can be sent here. /fork continues in a copy."
)
_RETRY = 2.0
"""Seconds between two attempts to take over a conversation that is open elsewhere."""


class OpenMark:
    """Marks the open conversation of `bridge` for other processes, on behalf of `screen`."""

    def __init__(self, screen: Screen[Any], bridge: Bridge) -> None:
        self._screen = screen
        self._bridge = bridge
        self._marked: str | None = None

    def follow(self) -> None:
        """Mark the conversation that is open now, and no other."""
        if self._bridge.conversation_id != self._marked:
            self._screen.run_worker(self._move, group="open-mark", exclusive=True)

    async def _move(self) -> None:
        former, self._marked = self._marked, self._bridge.conversation_id
        try:
            if former is not None:
                await self._bridge.agent.recall.leave(former)
            if await self._enter():
                self._screen.notify(_ELSEWHERE, severity="warning", markup=False)
        except CogencyError as exc:
            self._screen.notify(exc.advice, severity="error", markup=False)

    async def _enter(self) -> bool:
        """Mark the conversation, and show in the heading whether another process has it, as is returned;
        then try again, until that has left it."""
        recall, conversation = self._bridge.agent.recall, self._marked
        taken = conversation is None or await recall.enter(conversation, time())
        # If the mark cannot be written, the conversation need not be open elsewhere.
        held = not taken and any(mark.conversation == conversation for mark in await recall.open_elsewhere())
        header = self._screen.query_one(Header)
        header.move(replace(header.place, is_elsewhere=held))
        if held:
            self._screen.set_timer(_RETRY, self._enter_again)
        return held

    def _enter_again(self) -> None:
        if self._marked == self._bridge.conversation_id:
            self._screen.run_worker(self._try_to_enter, group="open-mark", exclusive=True)

    async def _try_to_enter(self) -> None:
        with suppress(CogencyError):
            await self._enter()


_RECENT = 5
_NOTICE = 60
"""Seconds for which a notice about the store is shown; the next turn has it, too."""


class Surroundings:
    """The main screen's background updates; `found` receives the recent conversations for an empty one,
    and the first messages of those whose titles repeat."""

    def __init__(
        self,
        screen: Screen[None],
        bridge: Bridge,
        inquiry: ContextFacts,
        found: "Callable[[list[StoredConversation], dict[str, str]], None]",
    ) -> None:
        self._screen = screen
        self._found = found
        self._bridge = bridge
        self._inquiry = inquiry
        self._project = bridge.agent.project
        self._mark = OpenMark(screen, bridge)

    def start(self, *, is_first: bool) -> None:
        """Open the store, and refresh; the `is_first` screen reports the notices of the store."""
        self._screen.run_worker(partial(self._open, reports=is_first), group="store")
        self.refresh()

    def refresh(self) -> None:
        """Refresh the branch, the changes, and the number of conversations."""
        self.refresh_branch()
        self.recount()
        self.mark()

    def recount(self) -> None:
        """Refresh the number of conversations."""
        self._screen.run_worker(self._survey, group="refresh", exclusive=True)

    def refresh_branch(self) -> None:
        """Refresh the branch, and whether it has changes."""
        self._screen.run_worker(self._read_branch, group="branch", exclusive=True)

    def mark(self) -> None:
        """Mark the open conversation for other processes."""
        self._mark.follow()

    async def _open(self, *, reports: bool) -> None:
        try:
            await self._bridge.open()
            if (notices := (await self._bridge.agent.store()).notices) and reports:
                self._screen.notify("\n".join(notices), severity="warning", timeout=_NOTICE, markup=False)
        except CogencyError as exc:
            self._screen.notify(exc.advice, severity="error", markup=False)

    async def _survey(self) -> None:
        header = self._screen.query_one(Header)
        try:
            count = await self._inquiry.count()
            origin = await self._inquiry.origin(self._bridge.conversation_id)
        except CogencyError:
            count, origin = None, None
        header.move(replace(header.place, count=count, origin=origin))
        if self._bridge.conversation_id is None:
            with suppress(CogencyError):
                recent = await self._inquiry.recent(_RECENT)
                self._found(recent, await self._inquiry.first_messages(recent))

    async def _read_branch(self) -> None:
        header = self._screen.query_one(Header)
        is_removed = self._bridge.agent.is_worktree_removed
        header.move(replace(header.place, branch=read_branch(self._project), is_worktree_removed=is_removed))
        if header.place.branch:
            dirty = await is_dirty(self._project)
            header.move(replace(header.place, dirty=dirty))

"""What surrounds the conversation, kept up to date in the background: the branch, the place in the list.

Begun after the first frame. Each worker replaces the one of its kind before it.
"""

from msgspec.structs import replace
from textual.screen import Screen

from cogency_tui.errors import CogencyError
from cogency_tui.tui.bridge import Bridge
from cogency_tui.tui.inquiry import Inquiry
from cogency_tui.tui.recall.open_mark import OpenMark
from cogency_tui.tui.repository import is_dirty, read_branch
from cogency_tui.tui.widgets.header import Header, Place
from cogency_tui.workspace.names import short_path

_NOTICE = 60
"""Seconds for which a notice about the store is on the screen; the next turn has it, too."""


class Surroundings:
    """Background work of the main screen."""

    def __init__(self, screen: Screen[None], bridge: Bridge, inquiry: Inquiry) -> None:
        self._screen = screen
        self._bridge = bridge
        self._inquiry = inquiry
        self._project = bridge.agent.project
        self._mark = OpenMark(screen, bridge)

    def place(self) -> Place:
        """What the header can say without waiting."""
        return Place(path=short_path(self._project), branch=read_branch(self._project))

    def start(self) -> None:
        """Open the store, and look."""
        self._screen.run_worker(self._open, group="store")
        self.look()

    def look(self) -> None:
        """See again where we are: branch, changes, and which conversation this is."""
        self._screen.run_worker(self._look, group="look", exclusive=True)
        self.mark()

    def mark(self) -> None:
        """Let other processes see which conversation is open here."""
        self._mark.follow()

    async def _open(self) -> None:
        try:
            await self._bridge.open()
            for notice in (await self._bridge.agent.store()).notices:
                self._screen.notify(notice, severity="warning", timeout=_NOTICE, markup=False)
        except CogencyError as exc:
            self._screen.notify(exc.advice, severity="error", markup=False)

    async def _look(self) -> None:
        header = self._screen.query_one(Header)
        header.move(replace(header.place, branch=read_branch(self._project)))
        try:
            ordinal, count = await self._inquiry.place(self._bridge.conversation_id)
        except CogencyError:
            ordinal, count = 0, 0
        header.move(replace(header.place, ordinal=ordinal, count=count))
        if header.place.branch:
            dirty = await is_dirty(self._project)
            header.move(replace(header.place, dirty=dirty))

"""The mark by which other processes see which conversation is open here."""

from time import time
from typing import Any

from textual.screen import Screen

from cogency_tui.errors import CogencyError
from cogency_tui.tui.bridge import Bridge

_ELSEWHERE = "This conversation is open in another process, too: what is done there is not seen here."


class OpenMark:
    """Follows `bridge` from conversation to conversation, on behalf of `screen`."""

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
        recall = self._bridge.agent.recall
        try:
            if former is not None:
                await recall.leave(former)
            if self._marked is None or await recall.enter(self._marked, time()):
                return
            # Where the disk takes no mark, nobody else need have it.
            if any(mark.conversation == self._marked for mark in await recall.open_elsewhere()):
                self._screen.notify(_ELSEWHERE, severity="warning", markup=False)
        except CogencyError as exc:
            self._screen.notify(exc.advice, severity="error", markup=False)

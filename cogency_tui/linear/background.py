"""What has happened to the background commands of a conversation, in lines: what they wrote that is watched
for, and their ends. While the user is waited for, it is printed at once, above a new prompt."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from cogency_tui.safe_text import one_line

if TYPE_CHECKING:
    from cogency_tui.tools.shell.background import BackgroundState

INTERVAL = 1.0
"""Seconds between two polls while a command runs."""


class BackgroundNotices:
    """Compares the commands with their state before."""

    def __init__(self) -> None:
        self._known: dict[str, BackgroundState] = {}

    def take(self, listed: "Iterable[BackgroundState]") -> list[str]:
        """Return what is new since the last call; of a command that is new itself, only what it wrote that
        the model has not received."""
        states = {state.id: state for state in listed}
        lines = [line for id, now in states.items() for line in _describe(now, self._known.get(id))]
        self._known = states
        return lines


def _describe(now: "BackgroundState", before: "BackgroundState | None") -> Iterator[str]:
    seen = before.matches if before is not None else 0
    if now.matches > seen and now.match:
        others = now.matches - seen - 1
        yield f"{now.id}: {one_line(now.match)}{f' and {others:,} more' if others else ''}"
    if now.ended is not None and before is not None and before.ended is None:
        yield f"{now.id} has ended: {now.described}. Command: {one_line(now.command)}"

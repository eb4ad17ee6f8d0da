"""The letter of a command that may as well begin a text: held back until that is clear."""

import asyncio
from collections.abc import Callable

from textual import events
from textual.message_pump import MessagePump


class HeldLetter:
    """The letter that is held back, if any. Its command runs in the task of `node`, behind the keys that have
    arrived there."""

    def __init__(self, node: MessagePump) -> None:
        self._node = node
        self._held: tuple[events.Key, Callable[[], object]] | None = None

    def __bool__(self) -> bool:
        return self._held is not None

    @property
    def since(self) -> float:
        """When the letter that is held back was pressed, on the monotonic clock; 0 if there is none."""
        return self._held[0].time if self._held else 0.0

    @property
    def key(self) -> str:
        """The name of the key that is held back; empty if there is none."""
        return self._held[0].key if self._held else ""

    def hold(self, letter: events.Key, seconds: float, command: Callable[[], object]) -> None:
        """Run `command` after `seconds`, unless the letter is released before."""
        held = self._held = letter, command
        asyncio.get_running_loop().call_later(seconds, self._node.call_later, self._end, held)

    def release(self) -> events.Key | None:
        """End the hold without the command; return the letter, if there is one."""
        held, self._held = self._held, None
        return held and held[0]

    def run(self) -> object:
        """Run the command now, if a letter is held; return what Textual may have to await."""
        held, self._held = self._held, None
        return held and held[1]()

    def _end(self, held: object) -> object:
        return self.run() if self._held is held else None

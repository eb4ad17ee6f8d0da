"""Reads the model's answer to one request in a task of its own: it can be stopped at any moment without
cutting anything else short, and what has arrived in the meantime is taken at once.

After the model has written all that counts, reading continues for a moment: the usage follows the text, and
a session whose answer ended by itself can be used again.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import aclosing

from cogency_tui.errors import ProviderProtocolError, ProviderTimeoutError
from cogency_tui.providers.base import Chunk, ReasoningDelta, TextDelta, Usage

GRACE = 1.0
"""Seconds for an answer to end by itself."""

LONGEST = 4 << 20
"""Characters of one answer and its reasoning: several times what any model writes."""


PIECE = 4096
"""Characters that are parsed at once: an endpoint may send a whole answer in one event."""

PATIENCE = 600.0
"""Seconds for which an endpoint may send nothing of an answer: comments, blank lines, empty pieces."""


class Generation:
    """Reads `chunks` to their end, or until it is stopped; `wake` is called when chunks have arrived.

    Each chunk arrives within `patience` seconds of the one before.
    """

    def __init__(
        self, chunks: AsyncGenerator[Chunk, None], wake: Callable[[], None], *, patience: float = PATIENCE
    ) -> None:
        self._patience = patience
        self._ready: list[Chunk] = []
        self._wake = wake
        self.trailing = ""
        """The text that the model wrote after the conclusion, as far as it was received."""
        self._usage: Usage | None = None
        self._concluding: asyncio.TimerHandle | None = None
        self._opening = ""
        self._task = asyncio.create_task(self._read(chunks))
        self._task.add_done_callback(lambda _task: wake())

    async def _read(self, source: AsyncGenerator[Chunk, None]) -> None:
        length = 0
        async with aclosing(source) as chunks:
            while (chunk := await self._next(chunks)) is not None:
                if isinstance(chunk, TextDelta | ReasoningDelta):
                    length += len(chunk.text)
                    if length > LONGEST:
                        raise ProviderProtocolError(
                            f"Response stopped: more than {LONGEST:,} characters.",
                            "The text so far is saved; try again, or choose another model.",
                        )
                if isinstance(chunk, Usage):
                    self._usage = chunk
                elif self._concluding is None:
                    self._ready += _in_pieces(chunk)
                    self._wake()
                elif isinstance(chunk, TextDelta):
                    self.trailing += chunk.text
                    if not self._opening.startswith(self.trailing.strip()):
                        return
                elif isinstance(chunk, ReasoningDelta):
                    return

    async def _next(self, chunks: AsyncGenerator[Chunk, None]) -> Chunk | None:
        try:
            async with asyncio.timeout(self._patience):
                async for chunk in chunks:
                    if not isinstance(chunk, TextDelta | ReasoningDelta) or chunk.text:
                        return chunk
                return None
        except TimeoutError as exc:
            raise ProviderTimeoutError(
                f"No model output for {self._patience:g} s, although the connection is still active.",
                "The text so far is saved; try again, or choose another model.",
            ) from exc

    @property
    def usage(self) -> Usage | None:
        """The usage, once it has been reported."""
        return self._usage

    @property
    def over(self) -> bool:
        """True if the answer has ended or was stopped, and everything was taken."""
        if self._ready or not self._task.done():
            return False
        return self._task.cancelled() or self._task.exception() is None

    def take(self) -> list[Chunk]:
        """The chunks since the last call.

        Raises:
            ProviderError: the answer broke off; the chunks before have been taken.
        """
        ready, self._ready = self._ready, []
        if not ready and self._task.done() and not self._task.cancelled():
            self._task.result()
        return ready

    def conclude(self, unread: Iterable[Chunk] = (), opening: str = "") -> None:
        """Declare that no more text is needed than has arrived, of which `unread` was taken. The response
        closes when more arrives, unless that may become `opening`, or after `GRACE`."""
        arrived = [*unread, *self._ready]
        self.trailing = "".join(chunk.text for chunk in arrived if isinstance(chunk, TextDelta))
        self._opening = opening
        self._ready.clear()
        self._concluding = asyncio.get_running_loop().call_later(GRACE, self._task.cancel)

    def stop(self) -> None:
        """Close the response; chunks that were not taken are dropped."""
        self._task.cancel()
        self._ready.clear()

    async def settle(self) -> None:
        """Wait until the response is really closed."""
        await asyncio.wait([self._task])
        self._ready.clear()
        if self._concluding is not None:
            self._concluding.cancel()
        if not self._task.cancelled():
            self._task.exception()


def _in_pieces(chunk: Chunk) -> Iterable[Chunk]:
    if not isinstance(chunk, TextDelta) or len(chunk.text) <= PIECE:
        return (chunk,)
    return (TextDelta(chunk.text[at : at + PIECE]) for at in range(0, len(chunk.text), PIECE))

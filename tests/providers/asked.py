"""One answer of a provider, as the tests of every wire protocol look at it."""

import asyncio

from cogency_tui.errors import ProviderError
from cogency_tui.providers.base import Chunk, ReasoningDelta, TextDelta, Usage


class Asked:
    """Answers as they came: the chunks, what was waited for, and the error at the end."""

    def __init__(self) -> None:
        self.chunks: list[Chunk] = []
        self.waits: list[float] = []
        self.error: ProviderError | None = None
        self.begun = asyncio.Event()

    @property
    def text(self) -> str:
        return "".join(chunk.text for chunk in self.chunks if isinstance(chunk, TextDelta))

    @property
    def reasoning(self) -> str:
        return "".join(chunk.text for chunk in self.chunks if isinstance(chunk, ReasoningDelta))

    @property
    def usage(self) -> Usage:
        [usage] = [chunk for chunk in self.chunks if isinstance(chunk, Usage)]
        return usage

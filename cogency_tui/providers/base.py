"""The contract of a model endpoint: messages in; text, usage and notices out.

A provider knows nothing of dialects or tools. `Provider.stream` answers one whole history (replay
mode); a `Session` has been given its context once and is sent only what is new (resume mode).
Everything it raises is a `ProviderError`.
"""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from cogency_tui.protocol.events import Message


@dataclass(frozen=True, slots=True)
class TextDelta:
    """Text that the model wrote, never empty, with a native stop marker put back."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """A reasoning summary that the endpoint delivers beside the text."""

    text: str


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one generation as the endpoint reports them.

    `input` counts all that was sent for this generation, `cached` the part of it that was served from
    the endpoint's cache, `billed_input` what it bills as input where that differs from `input` (a
    session that bills its whole context), `output` what was generated, reasoning included.
    """

    input: int
    output: int
    cached: int | None = None
    billed_input: int | None = None
    estimated: bool = False


@dataclass(frozen=True, slots=True)
class Retrying:
    """The endpoint failed before the first token and is asked again after `wait` seconds."""

    attempt: int
    wait: float
    cause: str


Chunk: TypeAlias = TextDelta | ReasoningDelta | Usage | Retrying


class Session(Protocol):
    """One connection with its context on the other side (resume mode).

    `send` hands over new messages; `receive` streams the answer to them and ends with it. Closing the
    iterator of `receive` early cancels the generation; `reusable` then says whether the session can be
    sent more, or has to be opened again and seeded from the store.
    """

    @property
    def reusable(self) -> bool: ...

    async def send(self, messages: Sequence[Message]) -> None: ...

    def receive(self) -> AsyncGenerator[Chunk, None]: ...

    async def close(self) -> None: ...


class Provider(Protocol):
    """A model behind an endpoint. Holds configuration and, lazily, a connection pool."""

    @property
    def name(self) -> str:
        """The configured name: `offline`, `openai`, …"""
        ...

    @property
    def model(self) -> str: ...

    @property
    def context_size(self) -> int:
        """Tokens that the model's context holds; 0 where unknown."""
        ...

    @property
    def resumes(self) -> bool:
        """Whether `connect` can be expected to work."""
        ...

    def stream(self, messages: Sequence[Message], *, stop: Sequence[str] = ()) -> AsyncGenerator[Chunk, None]:
        """Answer `messages`. `stop` are markers after which nothing is wanted: use them natively where
        the endpoint can. Closing the iterator early stops the generation.

        Raises:
            ProviderError: the endpoint refused, failed or broke off.
        """
        ...

    async def connect(self, messages: Sequence[Message], *, stop: Sequence[str] = ()) -> Session:
        """Open a session seeded with `messages` (system prompt and history); nothing is generated yet.

        Raises:
            ProviderError: no session is to be had.
        """
        ...

    async def close(self) -> None: ...

"""The contract of a model endpoint: messages in; text, native calls, usage and notices out.

A provider knows nothing of dialects, and runs no tool. `Provider.stream` answers one whole history (replay
mode); a `ProviderSession` receives its context once and is then sent only what is new (resume mode). Every
error is a `ProviderError`.
"""

from collections.abc import AsyncGenerator, Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

import msgspec

from cogency_tui.config.schema import Effort
from cogency_tui.providers.models import ListedModel, ModelFacts

if TYPE_CHECKING:
    from cogency_tui.protocol.events import CacheMiss
    from cogency_tui.protocol.messages import Message, ToolSpec


class Options(msgspec.Struct, frozen=True):
    """What a request asks for beside its messages.

    `tools` are those that the model may call natively. `effort` is how hard it should think; None leaves that
    to the model. `conversation` is the id of the conversation that the request belongs to, for the endpoint's
    cache; empty for a request of its own.

    `previous` is the `answer` to the conversation's last request, empty for its first: the endpoint compares
    the two, if it can, and states why its cache missed. None asks for no comparison.

    `tier` is the vendor's name of a class of service; empty for its default. `pauses` are the last ones
    between a turn of the conversation and the next, in seconds. `read_image` returns the content of an image
    by its digest. `report_rest` is called with the usage of the rest of an answer that was given up, but that
    the endpoint could not be stopped from finishing.
    """

    tools: "tuple[ToolSpec, ...]" = ()
    effort: Effort | None = None
    conversation: str = ""
    previous: str | None = None
    tier: str = ""
    pauses: tuple[float, ...] = ()
    read_image: "Callable[[str], bytes] | None" = None
    report_rest: "Callable[[Usage], None] | None" = None


PLAIN = Options()


class TextDelta(msgspec.Struct, frozen=True):
    """Text of the model, never empty."""

    text: str


class ReasoningDelta(msgspec.Struct, frozen=True):
    """A reasoning summary, which the endpoint delivers beside the text."""

    text: str


class CallDelta(msgspec.Struct, frozen=True):
    """A piece of a native call, the one with this `index` in its answer.

    The first piece of a call has its `name`, and its `id`, unless the endpoint gives none. `arguments` is the
    next piece of the JSON text of its arguments. `complete` marks the last piece, where the endpoint does;
    otherwise a call is complete with the answer.
    """

    index: int
    id: str = ""
    name: str = ""
    arguments: str = ""
    complete: bool = False


class ReasoningItem(msgspec.Struct, frozen=True):
    """An opaque item of the model's reasoning, in its place among text and calls, complete. A request with
    the answer returns it there as a `ReasoningPart`. `item` is a JSON object.
    """

    item: dict[str, Any]


class Usage(msgspec.Struct, frozen=True):
    """Tokens of one generation as the endpoint reports them.

    `input` counts everything that was sent for this generation; `billed_input` is the billed input where
    that differs (a session that bills its whole context). `cached` is the part of the billed input that was
    served from the endpoint's cache, `cache_written` the part that was written to it at a price of its own.
    `long_written` of these live longer than usual, at yet another price. `output` counts generated tokens,
    reasoning included.

    `cache_miss` is the endpoint's diagnosis of its cache; `answer` is its id of this answer, where the next
    request can be compared with it for that. `model` and `tier` are those that answered, as far as it says.
    """

    input: int
    output: int
    cached: int | None = None
    billed_input: int | None = None
    cache_written: int | None = None
    long_written: int = 0
    estimated: bool = False
    cache_miss: "CacheMiss | None" = None
    answer: str = ""
    model: str = ""
    tier: str = ""


class Retrying(msgspec.Struct, frozen=True):
    """The endpoint failed before the first token and is asked again after `wait` seconds: the `attempt` of
    that number, of so many `attempts` in all."""

    attempt: int
    wait: float
    cause: str
    attempts: int


class Notice(msgspec.Struct, frozen=True):
    """A decision that the user should see: a session seeded again, a fall-back to requests."""

    text: str


class EffortRefused(Notice, frozen=True):
    """The model does not accept this effort, and is asked without it."""

    effort: Effort


class Steered(msgspec.Struct, frozen=True):
    """The answer has ended early, for the message that steered it (see `Steerable`)."""


Chunk: TypeAlias = (
    TextDelta | ReasoningDelta | CallDelta | ReasoningItem | Usage | Retrying | Notice | Steered
)

WRITTEN = (TextDelta, ReasoningDelta, CallDelta)
"""The chunks with which an answer has begun."""


class ProviderSession(Protocol):
    """A connection whose context is at the endpoint (resume mode).

    A round is one `send` and one `receive`. `send` takes the messages since the last round: first the
    session's own answer as stored (an assistant message; a session that remembers its answer skips it, one
    whose answer was cut short may replace its own by it), then one or more messages of the user; after
    `connect` only the latter. `receive` streams the answer and ends with it. Closing its iterator early
    cancels the generation; `reusable` then states whether the session accepts more messages, or has to be
    opened again and seeded from the store.

    Both raise `SessionLostError` when the session is gone (dropped, expired, evicted), `send` also when the
    session remembers more of its answer than the store: the messages may be sent again through a new one.
    """

    @property
    def reusable(self) -> bool: ...

    @property
    def expires(self) -> float | None:
        """The Unix time at which the endpoint drops the session if nothing is sent; None if not known."""
        ...

    async def send(self, messages: Sequence["Message"]) -> None: ...

    def receive(self) -> AsyncGenerator[Chunk, None]: ...

    async def close(self) -> None: ...


@runtime_checkable
class Steerable(Protocol):
    """A session whose endpoint takes a message while it answers.

    The endpoint then ends the answer early (`Steered`), or at its end, and answers the message by itself: the
    next `send` is to be of this message alone, which it does not send again. One of anything else raises
    `SessionLostError`: what the endpoint has is not what the store has.
    """

    async def steer(self, message: "Message") -> bool:
        """Send `message` to the running answer; return False where that is not possible, or not yet.

        Raises:
            SessionLostError: the connection is gone.
        """
        ...


def unanswered(messages: Sequence["Message"]) -> Sequence["Message"]:
    """Return the messages for `send` without the session's own answer."""
    return messages[1:] if messages and messages[0]["role"] == "assistant" else messages


class Provider(Protocol):
    """A model behind an endpoint. Holds configuration and, lazily, a connection pool."""

    @property
    def name(self) -> str:
        """Configured name: `offline`, `openai`, …"""
        ...

    @property
    def model(self) -> str: ...

    @property
    def facts(self) -> ModelFacts:
        """Facts about the model: the size of its context, its prices."""
        ...

    @property
    def resumes(self) -> bool:
        """True if `connect` can be expected to work."""
        ...

    @property
    def native(self) -> bool:
        """True if the model can be sent tools, and call them natively."""
        ...

    def stream(self, messages: Sequence["Message"], options: Options = PLAIN) -> AsyncGenerator[Chunk, None]:
        """Answer `messages`. Closing the iterator early stops the generation.

        Raises:
            ProviderError: the endpoint refused, failed or broke off.
        """
        ...

    async def connect(self, messages: Sequence["Message"], options: Options = PLAIN) -> ProviderSession:
        """Open a session seeded with `messages` (system prompt and history); nothing is generated yet. The
        `options` apply to all of its answers.

        Raises:
            SessionRefusedError: this model has no sessions here; a retry is useless.
            ProviderError: no session can be opened now.
        """
        ...

    async def models(self) -> list[ListedModel]:
        """Return the endpoint's models, sorted by name; empty where it does not list them.

        Raises:
            ProviderError: it refused or failed.
        """
        ...

    async def close(self) -> None: ...

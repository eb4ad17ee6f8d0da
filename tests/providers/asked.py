"""The wire protocols that answer a request with a stream, each with its peer, and one answer as their tests
look at it."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from functools import partial

import pytest

from cogency_tui.errors import ProviderError
from cogency_tui.protocol.messages import Message
from cogency_tui.providers.anthropic import AnthropicWire
from cogency_tui.providers.base import Chunk, ReasoningDelta, Retrying, TextDelta, Usage
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.gemini import GeminiWire
from cogency_tui.providers.http_provider import HttpProvider
from cogency_tui.providers.http_transport import Timeouts
from cogency_tui.providers.models import ModelFacts
from cogency_tui.providers.openai_chat import ChatWire
from cogency_tui.providers.openai_responses import ResponsesWire
from cogency_tui.providers.wire_protocol import Wire
from tests.peers.anthropic import AnthropicPeer, error_event
from tests.peers.chat import ChatPeer
from tests.peers.gemini import GeminiPeer, error_body
from tests.peers.responses import ResponsesPeer
from tests.peers.server import Peer

KEY = "sk-test-key"
MODEL = "test-model"
MESSAGES: list[Message] = [
    {"role": "system", "content": "You are an agent."},
    {"role": "user", "content": "Say hello, ünïcode."},
]
BLOCK = '<think>x</think>\n<execute>\n[{"name": "list", "args": {}}]\n</execute>'
PATIENCE = 60.0
"""Seconds in which any machine is done with what a test waits for."""
SHORT = Timeouts(connect=5, first_byte=0.6, idle=0.4)
"""Limits for an endpoint that falls silent at once or after a few characters, which take milliseconds."""


class Asked:
    """Answers as they came: the chunks, what was waited for, and the error at the end."""

    def __init__(self) -> None:
        self.chunks: list[Chunk] = []
        self.waits: list[float] = []
        self.error: ProviderError | None = None

    async def read(self, chunks: AsyncIterator[Chunk]) -> None:
        """Keep what comes."""
        async for chunk in chunks:
            self.chunks.append(chunk)

    async def wait(self, seconds: float) -> None:
        """Note a wait between attempts, instead of waiting."""
        self.waits.append(seconds)

    @property
    def texts(self) -> list[str]:
        return [chunk.text for chunk in self.chunks if isinstance(chunk, TextDelta)]

    @property
    def text(self) -> str:
        return "".join(self.texts)

    @property
    def reasoning(self) -> str:
        return "".join(chunk.text for chunk in self.chunks if isinstance(chunk, ReasoningDelta))

    @property
    def retries(self) -> list[Retrying]:
        return [chunk for chunk in self.chunks if isinstance(chunk, Retrying)]

    @property
    def usage(self) -> Usage:
        [usage] = [chunk for chunk in self.chunks if isinstance(chunk, Usage)]
        return usage


@dataclass(frozen=True, slots=True)
class Vendor:
    """One wire protocol, as it is spoken with a model that reasons, and the peer that answers it."""

    label: str
    name: str
    key_env: str
    peer: Callable[..., Peer]
    wire: Callable[[Endpoint], Wire]
    opening: int
    """Frames of an answer before the first piece of its text; each piece is one more."""
    busy: str
    """The error of an endpoint that is overloaded, in mid-stream."""
    limit: str = "length"
    """Why an answer ends at a limit of tokens, in the vendor's word."""
    filtered: str = "content_filter"
    """Why a filter ends it."""
    cache_written: int | None = None
    """What is said to be written to the cache when nothing is."""

    def __str__(self) -> str:
        return self.label

    def provider(
        self,
        peer: Peer,
        asked: Asked | None = None,
        *,
        model: str = MODEL,
        key: str = KEY,
        timeouts: Timeouts | None = None,
    ) -> HttpProvider:
        """A provider that asks `peer`; its waits are noted in `asked`."""
        endpoint = Endpoint(self.name, peer.base_url, model, self.key_env, key)
        wire, wait = self.wire(endpoint), (asked or Asked()).wait
        return HttpProvider(endpoint, wire, timeouts=timeouts, wait=wait, jitter=lambda: 0.0)

    async def ask(
        self,
        peer: Peer,
        messages: Sequence[Message] = MESSAGES,
        *,
        model: str = MODEL,
        key: str = KEY,
        times: int = 1,
    ) -> Asked:
        """The last of so many answers, over one provider."""
        asked = Asked()
        provider = self.provider(peer, asked, model=model, key=key)
        try:
            for _time in range(times):
                asked.chunks.clear()
                await asked.read(provider.stream(messages))
        except ProviderError as error:
            asked.error = error
        finally:
            await provider.close()
        return asked


CHAT = Vendor(
    "Chat Completions",
    "openai",
    "OPENAI_API_KEY",
    ChatPeer,
    ChatWire,
    opening=1,
    busy='{"error": {"message": "busy", "type": "overloaded_error"}}',
)
RESPONSES = Vendor(
    "Responses",
    "openai",
    "OPENAI_API_KEY",
    ResponsesPeer,
    partial(ResponsesWire, facts=ModelFacts(reasoning=True)),
    opening=4,
    busy=json.dumps({"type": "error", "code": "server_error", "message": "Busy.", "sequence_number": 3}),
    cache_written=0,
)
ANTHROPIC = Vendor(
    "Anthropic Messages",
    "anthropic",
    "ANTHROPIC_API_KEY",
    AnthropicPeer,
    AnthropicWire,
    opening=3,
    busy=error_event("overloaded_error", "Overloaded"),
    limit="max_tokens",
    filtered="refusal",
    cache_written=0,
)
GEMINI = Vendor(
    "Gemini",
    "gemini",
    "GEMINI_API_KEY",
    GeminiPeer,
    partial(GeminiWire, facts=ModelFacts(reasoning=True)),
    opening=0,
    busy=error_body(503, "UNAVAILABLE", "The model is overloaded."),
    limit="MAX_TOKENS",
    filtered="SAFETY",
)
VENDORS = (CHAT, RESPONSES, ANTHROPIC, GEMINI)


def named(value: object) -> str | None:
    """What a vendor is called in the name of a test."""
    return value.label if isinstance(value, Vendor) else None


async def until(condition: Callable[[], object]) -> None:
    """Let the loop go on until `condition` holds.

    Raises:
        TimeoutError: it does not, for all the patience.
    """
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110 (nobody tells)
            await asyncio.sleep(0)


def time_passes(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Put the running loop's clock on, so that no test has to be quicker than a time-out."""
    loop = asyncio.get_running_loop()
    now = loop.time
    monkeypatch.setattr(loop, "time", lambda: now() + seconds)

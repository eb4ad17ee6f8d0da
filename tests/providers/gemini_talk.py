"""A conversation over one of Gemini's sessions, as the tests hold it."""

import asyncio
from contextlib import aclosing

from cogency_tui.protocol.messages import Message
from cogency_tui.providers.base import Chunk, Notice, ProviderSession, TextDelta, Usage
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.http_transport import Timeouts
from tests.peers.gemini import GeminiPeer

KEY = "gemini-test-key"
SYSTEM: Message = {"role": "system", "content": "You are an agent. " * 20}
QUICK = Timeouts(connect=5, first_byte=8, idle=6)


def user(text: str) -> Message:
    return {"role": "user", "content": text}


def said(text: str) -> Message:
    return {"role": "assistant", "content": text}


def endpoint_of(peer: GeminiPeer, model: str = "test-model") -> Endpoint:
    return Endpoint("gemini", peer.base_url, model, "GEMINI_API_KEY", KEY)


def contexts(peer: GeminiPeer) -> list[list[str]]:
    """What the model saw for each answer, but the system prompt."""
    return [[each["content"] for each in exchange.context[1:]] for exchange in peer.exchanges]


class Talk:
    """A session, what came over it with the last answer, and what it waited for."""

    def __init__(self, session: ProviderSession, waits: list[float] | None = None) -> None:
        self.session = session
        self.waits = [] if waits is None else waits
        self.chunks: list[Chunk] = []
        self.begun = asyncio.Event()

    async def ask(self, *messages: Message) -> str:
        self.chunks.clear()
        await self.session.send(messages)
        async with aclosing(self.session.receive()) as chunks:
            async for chunk in chunks:
                self.chunks.append(chunk)
                self.begun.set()
        return self.text

    async def cut(self, *messages: Message) -> str:
        """Ask, and stop at the first text, which is returned."""
        await self.session.send(messages)
        async with aclosing(self.session.receive()) as chunks:
            async for chunk in chunks:
                if isinstance(chunk, TextDelta):
                    return chunk.text
        raise AssertionError("No text came.")

    async def close(self) -> None:
        await self.session.close()

    @property
    def text(self) -> str:
        return "".join(chunk.text for chunk in self.chunks if isinstance(chunk, TextDelta))

    @property
    def usage(self) -> Usage:
        [usage] = [chunk for chunk in self.chunks if isinstance(chunk, Usage)]
        return usage

    @property
    def notices(self) -> list[str]:
        return [chunk.text for chunk in self.chunks if isinstance(chunk, Notice)]

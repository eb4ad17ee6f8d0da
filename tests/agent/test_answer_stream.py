"""An answer as it is read beside everything else."""

import asyncio
from collections.abc import AsyncGenerator
from typing import NoReturn

import pytest

from cogency_tui.agent import answer_stream
from cogency_tui.agent.answer_stream import Generation
from cogency_tui.errors import ProviderProtocolError, ProviderTimeoutError
from cogency_tui.providers.base import Chunk, ReasoningDelta, TextDelta
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.http_provider import HttpProvider
from cogency_tui.providers.openai_chat import ChatWire


@pytest.mark.parametrize("kind", [TextDelta, ReasoningDelta])
async def test_an_answer_without_an_end_breaks_off_and_keeps_what_came(
    monkeypatch: pytest.MonkeyPatch, kind: type[TextDelta | ReasoningDelta]
) -> None:
    monkeypatch.setattr(answer_stream, "LONGEST", 1000)
    sent = 0

    async def endless() -> AsyncGenerator[Chunk, None]:
        nonlocal sent
        while True:
            sent += 1
            yield kind("x" * 100)

    news = asyncio.Event()
    answer = Generation(endless(), news.set)
    taken: list[Chunk] = []

    async def take_all() -> None:
        while True:
            await news.wait()
            news.clear()
            while chunks := answer.take():
                taken.extend(chunks)

    with pytest.raises(ProviderProtocolError, match="Response stopped: more than"):
        await take_all()
    assert taken == [kind("x" * 100)] * 10
    assert sent == 11


async def take_on(answer: Generation, news: asyncio.Event, taken: list[Chunk]) -> NoReturn:
    """Take what comes until the answer breaks off."""
    while True:
        await news.wait()
        news.clear()
        taken += answer.take()


@pytest.mark.parametrize(
    "piece", [TextDelta(""), ReasoningDelta(""), None], ids=["text", "reasoning", "silence"]
)
async def test_an_answer_of_nothing_breaks_off_and_keeps_what_came(piece: Chunk | None) -> None:
    closed = False

    async def barren() -> AsyncGenerator[Chunk, None]:
        nonlocal closed
        try:
            yield TextDelta("a")
            while True:
                await asyncio.sleep(0)
                if piece is not None:
                    yield piece
        finally:
            closed = True

    news = asyncio.Event()
    answer = Generation(barren(), news.set, patience=0.1)
    taken: list[Chunk] = []
    with pytest.raises(ProviderTimeoutError, match=r"No model output for 0\.1 s"):
        await take_on(answer, news, taken)
    assert taken == [TextDelta("a")]
    assert closed


_BARREN = {
    "comments": b": ping\n\n",
    "blank lines": b"\n",
    "empty pieces": b'data: {"choices": [{"delta": {"content": ""}}]}\n\n',
    "part of a line": b":",
}


@pytest.mark.parametrize("sent", _BARREN.values(), ids=_BARREN)
async def test_an_endpoint_that_sends_nothing_of_use_is_left(sent: bytes) -> None:
    left = asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        try:
            while True:
                # An extension of a chunk is no data either.
                writer.write(b"%x;%s\r\n%s\r\n" % (len(sent), b"x" * 100, sent))
                await writer.drain()
                await asyncio.sleep(0.001)
        except ConnectionError:
            left.set()
        finally:
            writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        endpoint = Endpoint("peer", f"http://127.0.0.1:{port}/v1", "model", "KEY", "key")
        provider = HttpProvider(endpoint, ChatWire(endpoint))
        news = asyncio.Event()
        generation = Generation(
            provider.stream([{"role": "user", "content": "hello"}]), news.set, patience=0.5
        )
        with pytest.raises(ProviderTimeoutError, match="No model output"):
            await take_on(generation, news, [])
        await left.wait()
        await provider.close()

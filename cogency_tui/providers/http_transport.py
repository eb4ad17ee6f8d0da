"""The HTTP transport, a POST whose answer is a stream of server-sent events, and its retries; nothing else
uses HTTP for providers.

Every error is a `ProviderError`. httpx is imported with the first request, in a thread, because importing
it and reading the certificates take longer than a frame.

A request is retried only before its first token, at most five attempts in all. Each wait is announced as a
`Retrying` chunk before it begins, and can be cancelled at any point.
"""

import asyncio
import random
import re
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from cogency_tui.errors import (
    NetworkError,
    OverloadedError,
    ProviderError,
    ProviderProtocolError,
    ProviderTimeoutError,
    RateLimitError,
)
from cogency_tui.lean_imports import without
from cogency_tui.providers import failures
from cogency_tui.providers.base import WRITTEN, Chunk, ReasoningItem, Retrying
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.failures import from_exception
from cogency_tui.providers.tls_mismatch import mismatch
from cogency_tui.providers.wire_protocol import read_object

if TYPE_CHECKING:
    import httpx
    from httpx_sse import ServerSentEvent


LONGEST_BODY = 64 * 1024
"""Most bytes read of an answer that is no stream."""

LONGEST_EVENT = 16 * 1024 * 1024
"""Most bytes of one event of a stream, and of a list of models."""

_PLAIN = ("", "identity")
_EVENT_END = re.compile(rb"\r\n\r?\n|\n\r?\n|\r\r")
_LONGEST_END = 4


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds to wait for a connection, for the first byte of the body, and between bytes."""

    connect: float = 10.0
    first_byte: float = 120.0
    idle: float = 60.0


class HttpTransport:
    """Requests to one endpoint over a pool of connections, which opens with the first request."""

    def __init__(
        self, endpoint: Endpoint, headers: Mapping[str, str], timeouts: Timeouts | None = None
    ) -> None:
        self._endpoint = endpoint
        self._given = headers
        self._timeouts = timeouts or Timeouts()
        self._client: httpx.AsyncClient | None = None
        self._opening = asyncio.Lock()
        self._responded = False
        self._proxy_checked = False

    async def events(self, path: str, body: bytes) -> AsyncGenerator["ServerSentEvent", None]:
        """POST `body` (JSON) and yield the events of the answer. Closing it early closes the response.

        Raises:
            ProviderError: the endpoint did not answer, answered with an error, or broke off.
        """
        self._endpoint.check_key()
        client = await self._opened()
        import httpx
        from httpx_sse import SSEError

        try:
            async with aclosing(self._exchange(client, path, body)) as events:
                async for event in events:
                    yield event
        except (httpx.HTTPError, httpx.StreamError, httpx.InvalidURL, SSEError, OSError) as exc:
            raise await self._explained(exc) from exc

    async def fetch(self, path: str) -> dict[str, Any]:
        """GET a JSON object.

        Raises:
            ProviderError: the endpoint did not answer, or not with a JSON object.
        """
        self._endpoint.check_key()
        client = await self._opened()
        import httpx

        try:
            async with asyncio.timeout(self._timeouts.first_byte):
                request = client.build_request(
                    "GET", self._url(path), headers=self._headers("application/json")
                )
                response = await client.send(request, stream=True)
                try:
                    if response.status_code == 200:
                        self._require_plain(response)
                        text = await _beginning(response.aiter_raw(), LONGEST_EVENT)
                    else:
                        text = await _reason(response, response.aiter_raw())
                finally:
                    await response.aclose()
        except TimeoutError as exc:
            raise await self._checked(self._endpoint.silent(self._timeouts.first_byte)) from exc
        except (httpx.HTTPError, httpx.StreamError, httpx.InvalidURL, OSError) as exc:
            raise await self._explained(exc) from exc
        self._responded = True
        if response.status_code != 200:
            raise failures.from_status(self._endpoint, response.status_code, response.headers, text)
        return read_object(self._endpoint, "list of models", text)

    async def close(self) -> None:
        """Close all connections. A later request opens new ones."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def _explained(self, exc: Exception) -> ProviderError:
        """Build the error for an exception of the network."""
        return await self._checked(from_exception(self._endpoint, exc))

    async def _checked(self, error: ProviderError) -> ProviderError:
        """Return `error`, or that of a wrong scheme in the address. The scheme is checked once, and only
        while nothing has ever come from the endpoint."""
        of_network = isinstance(error, NetworkError | ProviderTimeoutError)
        if self._responded or self._proxy_checked or not of_network:
            return error
        self._proxy_checked = True
        return await mismatch(self._endpoint) or error

    async def _opened(self) -> "httpx.AsyncClient":
        async with self._opening:
            if self._client is None:
                self._client = await asyncio.to_thread(self._open)
            return self._client

    def _open(self) -> "httpx.AsyncClient":
        with without("httpx._main"):
            # Its command line loads click and parts of rich: 2 MB.
            import httpx

        direct: Mapping[str, None] = dict.fromkeys(("all://127.0.0.1", "all://localhost", "all://[::1]"))
        return httpx.AsyncClient(
            # Reading the authorities takes tens of milliseconds, and plain HTTP does not need them.
            verify=self._endpoint.base_url.startswith("https:"),
            # The read time-outs are ours: httpx has none for the first byte of a body.
            timeout=httpx.Timeout(None, connect=self._timeouts.connect),
            follow_redirects=False,
            mounts=direct,
        )

    async def _exchange(
        self, client: "httpx.AsyncClient", path: str, body: bytes
    ) -> AsyncGenerator["ServerSentEvent", None]:
        import httpx
        from httpx_sse import EventSource

        deadline = asyncio.get_running_loop().time() + self._timeouts.first_byte
        request = client.build_request(
            "POST", self._url(path), content=body, headers=self._headers("text/event-stream")
        )
        try:
            async with asyncio.timeout_at(deadline):
                response = await client.send(request, stream=True)
        except TimeoutError as exc:
            raise await self._checked(self._endpoint.silent(self._timeouts.first_byte)) from exc
        self._responded = True
        pieces = self._timed(response.aiter_raw(), deadline)
        try:
            content_type = response.headers.get("content-type", "")
            if response.status_code != 200:
                text = await _reason(response, pieces)
                raise failures.from_status(self._endpoint, response.status_code, response.headers, text)
            self._require_plain(response)
            if content_type.partition(";")[0].strip().lower() != "text/event-stream":
                raise failures.not_a_stream(self._endpoint, content_type, await _beginning(pieces))
            timed = httpx.Response(200, headers={"content-type": content_type}, content=pieces)
            async with aclosing(EventSource(timed).aiter_sse()) as events:
                async for event in events:
                    if event.data:
                        yield event
        finally:
            await pieces.aclose()
            await response.aclose()

    def _require_plain(self, response: "httpx.Response") -> None:
        """Check that the body is not compressed: a few compressed bytes may become any number.

        Raises:
            ProviderProtocolError: it is compressed.
        """
        if encoding := _encoding(response):
            raise ProviderProtocolError(
                f"{self._endpoint.name} sent a compressed response ({self._endpoint.quote(encoding)}), "
                f"which is not supported (HTTP {response.status_code}).",
                "Check base_url, and any proxy in between.",
            )

    def _url(self, path: str) -> str:
        return self._endpoint.base_url.rstrip("/") + path

    def _headers(self, accept: str) -> dict[str, str]:
        headers = {
            "Content-Type": "application/json",
            "Accept": accept,
            # Compression on the way would delay tokens.
            "Accept-Encoding": "identity",
            "User-Agent": "cogency-tui",
        }
        return headers | dict(self._given)

    async def _timed(self, pieces: AsyncIterator[bytes], deadline: float) -> AsyncGenerator[bytes, None]:
        """Yield pieces that arrive in time: the first until `deadline`, each other within `idle`."""
        loop = asyncio.get_running_loop()
        limit = self._timeouts.first_byte
        unended, last = 0, b""
        while True:
            try:
                async with asyncio.timeout_at(deadline):
                    piece = await anext(pieces, None)
            except TimeoutError as exc:
                raise self._endpoint.silent(limit) from exc
            if piece is None:
                return
            ended = _EVENT_END.search(last + piece)
            unended = 0 if ended else unended + len(piece)
            last = (last + piece)[1 - _LONGEST_END :]
            if unended > LONGEST_EVENT:
                raise ProviderProtocolError(
                    f"{self._endpoint.name} sent {LONGEST_EVENT:,} bytes without completing an event.",
                    "Check base_url.",
                )
            yield piece
            limit = self._timeouts.idle
            deadline = loop.time() + limit


def _encoding(response: "httpx.Response") -> str:
    """Return the compression of a body; empty where there is none."""
    encoding = response.headers.get("content-encoding", "").strip().lower()
    return "" if encoding in _PLAIN else encoding


async def _reason(response: "httpx.Response", pieces: AsyncIterator[bytes]) -> str:
    """Return a failed request's answer, unless that is compressed: the status suffices without it."""
    return "" if _encoding(response) else await _beginning(pieces)


async def _beginning(pieces: AsyncIterator[bytes], most: int = LONGEST_BODY) -> str:
    """Return the first bytes of a body as text."""
    body = bytearray()
    async for piece in pieces:
        body += piece
        if len(body) >= most:
            break
    return body[:most].decode("utf-8", "replace")


ATTEMPTS = 5
FIRST_WAIT = 0.5
LONGEST_BACKOFF = 8.0
LONGEST_WAIT = 300.0
"""Longest wait in seconds that a server may ask for; a longer one is reported instead of waited for."""

Wait: TypeAlias = Callable[[float], Awaitable[None]]


def backoff(jitter: Callable[[], float] = random.random, attempts: int = ATTEMPTS) -> Iterator[float]:
    """Yield the waits in seconds between attempts: doubling, each shortened by up to a quarter."""
    for retry in range(attempts - 1):
        yield min(FIRST_WAIT * 2**retry, LONGEST_BACKOFF) * (1 - 0.25 * jitter())


def wait_for(error: ProviderError, planned: float) -> float | None:
    """Return the wait before a retry; None where a retry is useless."""
    if not error.retryable:
        return None
    asked = error.retry_after if isinstance(error, RateLimitError | OverloadedError) else None
    if asked is None:
        return planned
    return max(asked, 0.0) if asked <= LONGEST_WAIT else None


async def with_retries(
    attempt: Callable[[], AsyncGenerator[Chunk, None]],
    *,
    attempts: int = ATTEMPTS,
    wait: Wait = asyncio.sleep,
    jitter: Callable[[], float] = random.random,
) -> AsyncGenerator[Chunk, None]:
    """Stream the chunks of the first attempt that delivers.

    Raises:
        ProviderError: the last attempt failed, or one that cannot be repeated did.
    """
    waits = backoff(jitter, attempts)
    number = 1
    while True:
        delivered = False
        try:
            async with aclosing(attempt()) as received, aclosing(_items_held(received)) as chunks:
                async for chunk in chunks:
                    delivered = delivered or isinstance(chunk, WRITTEN)
                    yield chunk
            return
        except ProviderError as error:
            planned = next(waits, None)
            seconds = None if delivered or planned is None else wait_for(error, planned)
            if seconds is None:
                raise
            cause = str(error)
        number += 1
        yield Retrying(number, seconds, cause, attempts)
        await wait(seconds)


async def _items_held(chunks: AsyncGenerator[Chunk, None]) -> AsyncGenerator[Chunk, None]:
    """Hold items of reasoning back until the answer has begun: another attempt would have its own."""
    held: list[Chunk] = []
    begun = False
    async for chunk in chunks:
        begun = begun or isinstance(chunk, WRITTEN)
        if isinstance(chunk, ReasoningItem) and not begun:
            held.append(chunk)
            continue
        while begun and held:
            yield held.pop(0)
        yield chunk
    for item in held:
        yield item

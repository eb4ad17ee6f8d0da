"""The one HTTP layer: a POST whose answer is a stream of server-sent events.

Whatever goes wrong leaves it as a `ProviderError`. httpx is imported with the first request, in a
thread, because importing it and reading the certificates take longer than a frame.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cogency_tui.errors import AuthenticationError, ProviderProtocolError, ProviderTimeoutError
from cogency_tui.providers import failures
from cogency_tui.providers.endpoint import Endpoint

if TYPE_CHECKING:
    import httpx
    from httpx_sse import ServerSentEvent

LONGEST_BODY = 64 * 1024
"""Bytes read of an answer that is no stream."""

LONGEST_LINE = 16 * 1024 * 1024
"""Bytes of a stream that may come without a line's end."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds to wait for a connection, for the first byte of the body, and between bytes."""

    connect: float = 10.0
    first_byte: float = 120.0
    idle: float = 60.0


class HttpTransport:
    """Requests to one endpoint over a pool of connections that opens with the first of them."""

    def __init__(self, endpoint: Endpoint, timeouts: Timeouts | None = None) -> None:
        self._endpoint = endpoint
        self._timeouts = timeouts or Timeouts()
        self._client: httpx.AsyncClient | None = None
        self._opening = asyncio.Lock()

    async def events(self, path: str, body: bytes) -> AsyncGenerator["ServerSentEvent", None]:
        """POST `body` (JSON) and yield the events of the answer. Closing it early closes the response.

        Raises:
            ProviderError: there was no answer, it was an error, or it broke off.
        """
        self._check_key()
        client = await self._opened()
        import httpx
        from httpx_sse import SSEError

        try:
            async with aclosing(self._exchange(client, path, body)) as events:
                async for event in events:
                    yield event
        except (httpx.HTTPError, httpx.StreamError, httpx.InvalidURL, SSEError, OSError) as exc:
            raise failures.from_exception(self._endpoint, exc) from exc

    async def close(self) -> None:
        """Close all connections. A later request opens new ones."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    def _check_key(self) -> None:
        endpoint = self._endpoint
        if not endpoint.key_env:
            return
        if not endpoint.key:
            raise AuthenticationError(
                f"{endpoint.name} needs a key, and ${endpoint.key_env} is not set.",
                f"Set {endpoint.key_env} in the environment, or use --provider offline.",
            )
        if not (endpoint.key.isascii() and endpoint.key.isprintable()):
            raise AuthenticationError(
                f"${endpoint.key_env} holds characters that no key has.",
                f"Copy the key into {endpoint.key_env} again.",
            )

    async def _opened(self) -> "httpx.AsyncClient":
        async with self._opening:
            if self._client is None:
                self._client = await asyncio.to_thread(self._open)
            return self._client

    def _open(self) -> "httpx.AsyncClient":
        import httpx

        direct: Mapping[str, None] = dict.fromkeys(("all://127.0.0.1", "all://localhost", "all://[::1]"))
        return httpx.AsyncClient(
            # Reading the authorities takes tens of milliseconds, and plain HTTP has no use for them.
            verify=self._endpoint.base_url.startswith("https:"),
            # The read time-outs are ours: httpx knows none for the first byte of a body.
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
            "POST", self._endpoint.base_url.rstrip("/") + path, content=body, headers=self._headers()
        )
        try:
            async with asyncio.timeout_at(deadline):
                response = await client.send(request, stream=True)
        except TimeoutError as exc:
            raise self._silent(self._timeouts.first_byte) from exc
        pieces = self._timed(response.aiter_bytes(), deadline)
        try:
            content_type = response.headers.get("content-type", "")
            if response.status_code != 200:
                text = await _beginning(pieces)
                raise failures.from_status(self._endpoint, response.status_code, response.headers, text)
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

    def _headers(self) -> dict[str, str]:
        headers = {
            "Content-Type": "application/json",
            "Accept": "text/event-stream",
            # Compression on the way would hold tokens back.
            "Accept-Encoding": "identity",
            "User-Agent": "cogency-tui",
        }
        if self._endpoint.key:
            headers["Authorization"] = f"Bearer {self._endpoint.key}"
        return headers

    async def _timed(self, pieces: AsyncIterator[bytes], deadline: float) -> AsyncGenerator[bytes, None]:
        """Hand on pieces that come in time: the first until `deadline`, each other within `idle`."""
        loop = asyncio.get_running_loop()
        limit = self._timeouts.first_byte
        unbroken = 0
        while True:
            try:
                async with asyncio.timeout_at(deadline):
                    piece = await anext(pieces, None)
            except TimeoutError as exc:
                raise self._silent(limit) from exc
            if piece is None:
                return
            unbroken = 0 if b"\n" in piece else unbroken + len(piece)
            if unbroken > LONGEST_LINE:
                raise ProviderProtocolError(
                    f"{self._endpoint.name} sent {LONGEST_LINE:,} bytes without a line's end.",
                    "Check base_url.",
                )
            yield piece
            limit = self._timeouts.idle
            deadline = loop.time() + limit

    def _silent(self, limit: float) -> ProviderTimeoutError:
        return ProviderTimeoutError(
            f"{self._endpoint.name} ({self._endpoint.host}) sent nothing for {limit:g} s.",
            "Try again, or raise first_byte_timeout or idle_timeout in the configuration.",
        )


async def _beginning(pieces: AsyncIterator[bytes]) -> str:
    """The first of a body's bytes as text."""
    body = b""
    async for piece in pieces:
        body += piece
        if len(body) >= LONGEST_BODY:
            break
    return body[:LONGEST_BODY].decode("utf-8", "replace")

"""An HTTP client for one GET of the public web, which follows redirects on the same host, within limits.

Invariant: every socket is opened in `_Sockets.connect_tcp`, to an address that the guard has just checked;
a redirect passes it again. No cookie, key or user name is ever sent, and memory is bounded by the limits.
The environment's proxies are not used: a proxy resolves names itself, which cannot be checked here.

Import this lazily and in a thread: loading httpcore takes longer than a frame.
"""

import asyncio
import os
import ssl
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import cast

import httpcore

from cogency_tui.errors import StrangerError, ToolError
from cogency_tui.lean_imports import without
from cogency_tui.safe_text import one_line
from cogency_tui.tools.directory_tree import readable_size
from cogency_tui.tools.web.page_text import kind_of, media_type
from cogency_tui.tools.web.public_hosts import Guard
from cogency_tui.tools.web.url import WebAddress, parse

with without("httpx._main"):
    import httpx

_HEADERS = (
    (b"User-Agent", b"cogency-tui"),
    (
        b"Accept",
        b"text/markdown, text/html, application/json, text/*;q=0.9, application/xml;q=0.8, */*;q=0.1",
    ),
    (b"Accept-Encoding", b"gzip, deflate"),
    (b"Connection", b"close"),
)
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_PROXIES = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "https_proxy", "http_proxy", "all_proxy")
_SHOWN = 200


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """Seconds for the whole request, and for one connection; bytes of a page, as sent and unpacked;
    redirects."""

    total: float = 30.0
    connect: float = 5.0
    size: int = 5_000_000
    redirects: int = 5


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """An HTTP answer. `url` is its final address; `notes` describe irregularities."""

    url: str
    status: int
    content_type: str
    body: bytes
    notes: tuple[str, ...] = ()

    @property
    def status_line(self) -> str:
        """Status with its meaning in the words of the standard, not of the server."""
        try:
            return f"{self.status} {HTTPStatus(self.status).phrase}"
        except ValueError:
            return str(self.status)


class WebClient:
    """Fetches pages. `trust` is for test servers, whose certificate no authority has signed."""

    def __init__(
        self,
        guard: Guard | None = None,
        limits: FetchLimits | None = None,
        trust: ssl.SSLContext | None = None,
    ) -> None:
        self._limits = limits or FetchLimits()
        self._guard = guard or Guard()
        self._sockets = _Sockets(self._guard)
        # The same authorities as for the providers.
        self._trust = trust or httpx.create_ssl_context()

    async def get(self, url: str) -> HttpAnswer:
        """Fetch a page, whatever its status.

        Raises:
            ToolError: it may not be reached, did not arrive in time, or is of a type that cannot be read.
        """
        first = parse(url)
        try:
            async with asyncio.timeout(self._limits.total):
                return await self._followed(first)
        except TimeoutError:
            raise ToolError(
                f"{first} took longer than {self._limits.total:g} s.", "The server is slow: try another page."
            ) from None

    async def _followed(self, address: WebAddress) -> HttpAnswer:
        way = [address]
        notes: list[str] = []
        try:
            while True:
                answer = await self._asked(address)
                if isinstance(answer, HttpAnswer):
                    return replace(answer, notes=tuple(notes))
                address = self._next(way, answer)
                before = way[-1]
                if (before.scheme, address.scheme) == ("https", "http"):
                    notes.append(
                        f"{before} redirected to http: the content could have been changed in transit."
                    )
                way.append(address)
        except ToolError as error:
            if len(way) == 1:
                raise
            # The server wrote this address, not the model.
            raise StrangerError(str(error), error.hint) from error

    def _next(self, way: Sequence[WebAddress], location: str) -> WebAddress:
        """Resolve the redirect of the last of these addresses."""
        try:
            following = parse(location, base=way[-1])
            self._guard.check(following.host)
        except ToolError as error:
            raise StrangerError(str(error), error.hint) from error
        if following.authority != way[0].authority:
            # Only the host of the first address was allowed.
            raise StrangerError(
                f"{way[-1]} redirects to another host: {following}", "Fetch that address to continue."
            )
        if following in way:
            raise StrangerError(f"Redirect loop at {way[0]}: {way[-1]} leads back to {following}.")
        if len(way) > self._limits.redirects:
            raise StrangerError(
                f"{way[0]} redirects more than {self._limits.redirects} times.",
                f"The next would be {following}.",
            )
        return following

    async def _asked(self, address: WebAddress) -> HttpAnswer | str:
        """Return the answer of one server, or the target of its redirect."""
        headers = [(b"Host", address.authority.encode()), *_HEADERS]
        url = httpcore.URL(
            scheme=address.scheme.encode(),
            host=address.host.encode(),
            port=address.port,
            target=address.target.encode(),
        )
        timeouts = {"connect": self._limits.connect}
        try:
            async with (
                httpcore.AsyncConnectionPool(
                    ssl_context=self._trust, max_keepalive_connections=0, network_backend=self._sockets
                ) as pool,
                pool.stream("GET", url, headers=headers, extensions={"timeout": timeouts}) as response,
            ):
                given = {name.lower(): value for name, value in response.headers}
                if response.status in _REDIRECTS and b"location" in given:
                    return _text(given[b"location"])
                content_type = _text(given.get(b"content-type", b""))[:_SHOWN]
                answer = HttpAnswer(str(address), response.status, content_type, b"")
                body = _Body(answer, _text(given.get(b"content-encoding", b"")), self._limits.size)
                body.expect(_text(given.get(b"content-length", b"")))
                async for piece in response.aiter_stream():
                    body.feed(piece)
                    # A piece may be a single byte: yield to the loop now and then.
                    await asyncio.sleep(0)
                return replace(answer, body=body.close())
        except (httpcore.TimeoutException, httpcore.NetworkError, httpcore.ProtocolError) as error:
            raise _failure(address, error) from error


class _Sockets(httpcore.AsyncNetworkBackend):
    """Opens connections, each to an address that the guard has checked for it."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._system = cast(httpcore.AsyncNetworkBackend, httpcore.AnyIOBackend())

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        failure: Exception | None = None
        for address in await self._guard.addresses(host, port):
            try:
                return await self._system.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = failure or error
        raise failure or httpcore.ConnectError("no address")


class _Body:
    """The body of an answer, unpacked as it arrives, at most `limit` bytes."""

    def __init__(self, answer: HttpAnswer, encoding: str, limit: int) -> None:
        self._answer = answer
        self._limit = limit
        self._received = 0
        self._body = bytearray()
        self._encoding = encoding.strip().lower()
        self._unpacking = None
        if kind_of(answer.content_type) is None:
            kind = one_line(media_type(answer.content_type)[:_SHOWN])
            raise StrangerError(
                f"{answer.url} answered {answer.status_line} with {kind}, which is not text.",
                "Only HTML, text, JSON and XML can be read.",
            )
        if self._encoding not in ("", "identity", "gzip", "x-gzip", "deflate"):
            raise StrangerError(
                f"{answer.url} is compressed with {one_line(self._encoding[:_SHOWN])}, which was not "
                "requested."
            )

    def expect(self, length: str) -> None:
        """Refuse a body whose announced length is too large."""
        if length.isascii() and length.isdecimal() and int(length) > self._limit:
            raise self._too_large(f"{readable_size(int(length))}, more")

    def feed(self, piece: bytes) -> None:
        """Unpack a received piece."""
        self._received += len(piece)
        if self._received > self._limit:
            raise self._too_large("more")
        if self._encoding in ("", "identity"):
            self._body += piece
            return
        if self._unpacking is None:
            self._unpacking = zlib.decompressobj(_window(self._encoding, piece))
        if self._unpacking.eof:
            # As in browsers, data after the end is ignored.
            return
        try:
            # One byte more than the limit shows that there is more.
            self._body += self._unpacking.decompress(piece, self._limit - len(self._body) + 1)
        except zlib.error as error:
            raise ToolError(f"{self._answer.url} cannot be decompressed: {error}.") from error
        if len(self._body) > self._limit:
            raise self._too_large("unpacked more")

    def close(self) -> bytes:
        """Return the whole body."""
        if self._unpacking is not None and not self._unpacking.eof:
            raise ToolError(f"{self._answer.url} was cut off: the compressed data is incomplete.")
        return bytes(self._body)

    def _too_large(self, than: str) -> ToolError:
        limit = readable_size(self._limit)
        return ToolError(f"{self._answer.url} has {than} than {limit}.", "Look for a smaller page.")


def _window(encoding: str, beginning: bytes) -> int:
    """Choose the format for zlib: servers call two formats deflate; the first byte distinguishes them."""
    if encoding != "deflate":
        return 16 + zlib.MAX_WBITS
    return zlib.MAX_WBITS if beginning[0] & 0x0F == zlib.DEFLATED else -zlib.MAX_WBITS


def _text(header: bytes) -> str:
    try:
        return header.decode()
    except UnicodeDecodeError:
        return header.decode("latin-1")


def _failure(address: WebAddress, error: Exception) -> ToolError:
    message = one_line(str(error)[:_SHOWN])
    reason = f": {message}" if message else ""
    proxy = next((name for name in _PROXIES if os.environ.get(name)), "")
    hint = f"The request is direct, not through the proxy in {proxy}." if proxy else ""
    if isinstance(error, httpcore.ConnectTimeout):
        return ToolError(f"Connection to {address} timed out.", hint)
    if isinstance(error, httpcore.ConnectError):
        return ToolError(f"No connection to {address}{reason}", hint)
    if isinstance(error, httpcore.ProtocolError):
        return StrangerError(f"{address} did not send a valid HTTP response{reason}")
    return ToolError(f"{address} closed the connection{reason}")

"""A web server on 127.0.0.1 that answers what the test wrote, byte for byte if need be.

Its certificate is for `site.test`, the one name that tests give it; `trust()` is what a client needs to
believe it. `Names` is the resolver that leads there.
"""

import asyncio
import ssl
import tempfile
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from ipaddress import IPv4Address
from pathlib import Path
from types import TracebackType
from typing import Self, cast

from cogency_tui.tools.web.public_hosts import Guard, IPAddress, why_not_public

_IDENTITY = """\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgEhDbF+lMPcZPi9i1
CsrpH6xPdG6168SB1bCTBkGhteahRANCAATIvs04daaoFgFo2+S1AG3gRpicJor2
PHeqmJnCk/9CTocvY4XIKTw8qsTjZFaM7QmoSs8EWenvQhu82chvus49
-----END PRIVATE KEY-----
-----BEGIN CERTIFICATE-----
MIIBbjCCARSgAwIBAgIBATAKBggqhkjOPQQDAjAUMRIwEAYDVQQDDAlzaXRlLnRl
c3QwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMBQxEjAQBgNVBAMM
CXNpdGUudGVzdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABMi+zTh1pqgWAWjb
5LUAbeBGmJwmivY8d6qYmcKT/0JOhy9jhcgpPDyqxONkVoztCahKzwRZ6e9CG7zZ
yG+6zj2jVTBTMBQGA1UdEQQNMAuCCXNpdGUudGVzdDAPBgNVHRMBAf8EBTADAQH/
MAsGA1UdDwQEAwIChDAdBgNVHQ4EFgQUOourya8AAXr81fdyviGSb7ZZarIwCgYI
KoZIzj0EAwIDSAAwRQIgLgLd6wlMEwfB1ixDqhtrBtUay+zD3j/7E/CtbClCyiYC
IQCU5CEVrXTtpxgy7aO4oB8Pu6FGQtXPNwhvYgL025q2Aw==
-----END CERTIFICATE-----
"""


@dataclass(frozen=True, slots=True)
class Reply:
    """How one path is answered. `headers` are added to those that describe `body`, or replace them.

    `raw` is sent in place of all of it, and the connection closed. `pause` are seconds between the
    bytes of the body, sent one by one; `hang` keeps the connection open and says nothing.
    """

    body: bytes | Iterable[bytes] = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    raw: bytes | None = None
    pause: float = 0.0
    hang: bool = False


@dataclass(frozen=True, slots=True)
class Request:
    """What arrived: the request line's target, and the headers by their names in lower case."""

    target: str
    headers: Mapping[str, str]
    head: str


def page(text: str, content_type: str = "text/html; charset=utf-8") -> Reply:
    """A page with this content."""
    return Reply(text.encode(), headers={"content-type": content_type})


def moved(location: str, status: int = 302) -> Reply:
    """A redirect."""
    return Reply(status=status, headers={"location": location})


@asynccontextmanager
async def both(plain: "WebPeer", safe: "WebPeer") -> AsyncGenerator[int]:
    """A port where `safe` answers whoever begins with TLS, and `plain` the others."""
    tasks = set[asyncio.Task[None]]()

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        writer.close()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(cast("asyncio.Task[None]", asyncio.current_task()))
        first = await reader.read(1)
        answering = safe if first == b"\x16" else plain
        from_peer, to_peer = await asyncio.open_connection("127.0.0.1", answering.port)
        to_peer.write(first)
        try:
            await asyncio.gather(pump(reader, to_peer), pump(from_peer, writer))
        finally:
            for end in (to_peer, writer):
                end.transport.abort()

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class WebPeer:
    """Serves `pages` (by path and query) while its context is entered; anything else is not found."""

    def __init__(self, pages: Mapping[str, Reply] | None = None, *, tls: bool = False) -> None:
        self.pages = dict(pages or {})
        self.requests: list[Request] = []
        self.connections = 0
        self.asked = asyncio.Event()
        """Set when the first request has arrived."""
        self.left = asyncio.Event()
        """Set when a connection has ended."""
        self._tls = tls
        self._open: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    async def __aenter__(self) -> Self:
        context = _server_context() if self._tls else None
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, ssl=context)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for writer in self._open.values():
            writer.transport.abort()
        await asyncio.gather(*self._open, return_exceptions=True)
        await self._server.wait_closed()

    @property
    def port(self) -> int:
        return self._server.sockets[0].getsockname()[1]

    def url(self, path: str = "/", host: str = "site.test") -> str:
        return f"{'https' if self._tls else 'http'}://{host}:{self.port}{path}"

    @property
    def targets(self) -> list[str]:
        """What was asked for, in order."""
        return [request.target for request in self.requests]

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._open[task] = writer
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            first, *lines = head.split("\r\n")
            pairs = (line.partition(":") for line in lines if line)
            headers = {name.lower(): value.strip() for name, _, value in pairs}
            request = Request(first.split(" ")[1], headers, head)
            self.requests.append(request)
            self.asked.set()
            await self._answer(self.pages.get(request.target) or page("not here"), request, reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            del self._open[task]
            self.left.set()
            writer.close()
            with suppress(ConnectionError, ssl.SSLError):
                await writer.wait_closed()

    async def _answer(
        self, reply: Reply, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        if reply.hang:
            await reader.read()
            return
        if reply.raw is not None:
            writer.write(reply.raw)
            await writer.drain()
            return
        status = reply.status if request.target in self.pages else 404
        body = reply.body
        headers = {"content-type": "text/html"} | dict(reply.headers)
        if isinstance(body, bytes):
            headers = {"content-length": str(len(body))} | headers
        lines = [f"HTTP/1.1 {status} Something", *(f"{name}: {value}" for name, value in headers.items())]
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode("utf-8"))
        await writer.drain()
        if reply.pause:
            assert isinstance(body, bytes)
            for byte in body:
                writer.write(bytes((byte,)))
                await writer.drain()
                await asyncio.sleep(reply.pause)
            return
        for piece in (body,) if isinstance(body, bytes) else body:
            writer.write(piece)
            await writer.drain()


class Names:
    """A resolver: each name has its addresses, one look-up after the other; the last answer stays."""

    def __init__(self, **answers: Sequence[Sequence[str]]) -> None:
        self.asked: list[str] = []
        self._answers = {name.replace("_", "."): list(rest) for name, rest in answers.items()}

    async def __call__(self, host: str, port: int, /) -> Sequence[str]:
        self.asked.append(host)
        answers = self._answers.get(host)
        if not answers:
            raise OSError(-2, "Name or service not known")
        return answers.pop(0) if len(answers) > 1 else answers[0]


def loopback_passes(address: IPAddress) -> str:
    """Why an address is not public, but for 127.0.0.1, where the tests' servers are."""
    return "" if address == IPv4Address("127.0.0.1") else why_not_public(address)


def local_guard(names: Names | None = None) -> Guard:
    """A guard that lets the tests' servers pass, and nothing else that is not public."""
    return Guard(names or Names(site_test=[["127.0.0.1"]]), loopback_passes)


def trust() -> ssl.SSLContext:
    """What believes the server's certificate, and no other."""
    return ssl.create_default_context(cadata=_IDENTITY[_IDENTITY.index("-----BEGIN CERT") :])


def _server_context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as folder:
        identity = Path(folder, "identity.pem")
        identity.write_text(_IDENTITY)
        context.load_cert_chain(identity)
    return context

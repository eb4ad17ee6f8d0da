"""An address with the wrong scheme, or a certificate that will not do, is said at once, over real sockets."""

import asyncio
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import trustme

from cogency_tui.errors import NetworkError, ProviderError, SessionRefusedError
from cogency_tui.providers import tls_mismatch
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.failures import from_status
from cogency_tui.providers.http_provider import HttpProvider
from cogency_tui.providers.http_transport import Timeouts
from cogency_tui.providers.websocket_transport import Socket, socket_url
from tests.providers.asked import KEY, MESSAGES, VENDORS, Asked, Vendor

QUICK = Timeouts(connect=2, first_byte=4, idle=3)
every_wire = pytest.mark.parametrize("vendor", VENDORS, ids=str)
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Listener:
    """A port at which `serve` answers; what came first on each connection is kept."""

    def __init__(self, serve: Serve, context: ssl.SSLContext | None = None) -> None:
        self.port = 0
        self.began: list[bytes] = []
        self._serve = serve
        self._context = context

    @asynccontextmanager
    async def listening(self) -> AsyncGenerator["Listener"]:
        async with await asyncio.start_server(self._accept, "127.0.0.1", 0, ssl=self._context) as server:
            self.port = server.sockets[0].getsockname()[1]
            yield self

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first = await reader.read(4096)
        self.began.append(first)
        if first.startswith((b"GET ", b"POST ", b"HEAD ")):
            await _refuses(reader, writer)
        else:
            await self._serve(reader, writer)
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


async def _refuses(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    await writer.drain()


async def _closes(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    del writer


async def _resets(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.transport.abort()


async def _waits(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
    while await reader.read(4096):
        pass


def _identity(*names: str, expires: datetime | None = None) -> tuple[trustme.CA, ssl.SSLContext]:
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate = authority.issue_cert(*names, not_after=expires)
    with certificate.private_key_and_cert_chain_pem.tempfile() as identity:
        context.load_cert_chain(identity)
    return authority, context


async def _asked(vendor: Vendor, url: str, timeouts: Timeouts = QUICK) -> Asked:
    asked = Asked()
    endpoint = Endpoint(vendor.name, url, "m", vendor.key_env, KEY)
    provider = HttpProvider(
        endpoint, vendor.wire(endpoint), timeouts=timeouts, wait=asked.wait, jitter=lambda: 0.0
    )
    try:
        await asked.read(provider.stream(MESSAGES))
    except ProviderError as error:
        asked.error = error
    finally:
        await provider.close()
    return asked


async def _opened(url: str, timeouts: Timeouts = QUICK) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        await Socket.open(Endpoint("mine", url, "m"), "Echo", socket_url(url, "/"), {}, timeouts)
    return caught.value


def _is_wrong_scheme(error: ProviderError | None, words: str, hint: str) -> None:
    assert isinstance(error, NetworkError)
    assert words in str(error)
    assert error.hint == f"Use {hint} as base_url."
    assert not error.retryable


@pytest.fixture
def timeouts(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> Timeouts:
    """Short limits towards a port that says nothing: they pass."""
    if serve is not _waits:
        return QUICK
    monkeypatch.setattr(tls_mismatch, "PATIENCE", 0.5)
    return Timeouts(connect=0.2)


@pytest.mark.parametrize(
    ("vendor", "serve"),
    # Two of the wires towards each, and all of them.
    [(VENDORS[n - k], serve) for n, serve in enumerate((_refuses, _closes, _resets, _waits)) for k in (0, 1)],
)
async def test_https_to_a_plain_port_is_said_at_once(
    vendor: Vendor, serve: Serve, timeouts: Timeouts
) -> None:
    async with Listener(serve).listening() as listener:
        asked = await _asked(vendor, f"https://127.0.0.1:{listener.port}/v1", timeouts)
        _is_wrong_scheme(asked.error, "does not speak TLS", f"http://127.0.0.1:{listener.port}/v1")
    assert not asked.waits
    assert not any(KEY.encode() in began for began in listener.began)


@pytest.mark.parametrize("serve", [_refuses, _closes, _resets, _waits])
async def test_wss_to_a_plain_port_is_said_at_once(serve: Serve, timeouts: Timeouts) -> None:
    async with Listener(serve).listening() as listener:
        error = await _opened(f"https://127.0.0.1:{listener.port}/v1", timeouts)
        _is_wrong_scheme(error, "does not speak TLS", f"http://127.0.0.1:{listener.port}/v1")


@every_wire
async def test_http_to_a_port_of_tls_is_said_at_once(vendor: Vendor) -> None:
    _authority, context = _identity("127.0.0.1")
    async with Listener(_refuses, context).listening() as listener:
        asked = await _asked(vendor, f"http://127.0.0.1:{listener.port}/v1")
        _is_wrong_scheme(asked.error, "requires TLS", f"https://127.0.0.1:{listener.port}/v1")
    assert not asked.waits


async def test_ws_to_a_port_of_tls_is_said_at_once() -> None:
    _authority, context = _identity("127.0.0.1")
    async with Listener(_refuses, context).listening() as listener:
        error = await _opened(f"http://127.0.0.1:{listener.port}")
        _is_wrong_scheme(error, "requires TLS", f"https://127.0.0.1:{listener.port}")


@pytest.mark.parametrize(
    "body",
    [
        "<html><center>The plain HTTP request was sent to HTTPS port</center></html>",
        "Client sent an HTTP request to an HTTPS server.\n",
    ],
)
def test_a_server_that_refuses_plain_requests_by_words_is_understood(body: str) -> None:
    endpoint = Endpoint("mine", "http://box.test:8443/v1", "m")
    _is_wrong_scheme(from_status(endpoint, 400, {}, body), "requires TLS", "https://box.test:8443/v1")
    secure = Endpoint("mine", "https://box.test:8443/v1", "m")
    assert not isinstance(from_status(secure, 400, {}, body), NetworkError)


async def test_what_breaks_off_but_has_the_right_scheme_is_asked_again() -> None:
    # As before: an endpoint that goes away in mid-request is no wrong address.
    async def goes(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.transport.abort()

    async with await asyncio.start_server(goes, "127.0.0.1", 0) as server:
        asked = await _asked(VENDORS[0], f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1")
    assert isinstance(asked.error, NetworkError)
    assert "was lost" in str(asked.error)
    assert len(asked.waits) == 4


async def test_nobody_is_looked_at_past_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")
    assert await tls_mismatch.mismatch(Endpoint("mine", "https://x.test", "m")) is None


YESTERDAY = datetime.now(UTC) - timedelta(days=1)
CERTIFICATES = pytest.mark.parametrize(
    ("name", "expires", "known", "words", "hint"),
    [
        ("127.0.0.1", None, False, "is signed by an unknown authority", "SSL_CERT_FILE"),
        ("127.0.0.1", YESTERDAY, True, "has expired", "clock"),
        ("other.test", None, True, "is for another host", "base_url"),
    ],
)


@CERTIFICATES
async def test_what_is_wrong_with_a_certificate_is_said_at_once(
    name: str,
    expires: datetime | None,
    known: bool,
    words: str,
    hint: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    authority, context = _identity(name, expires=expires)
    if known:
        authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    async with Listener(_refuses, context).listening() as listener:
        url = f"https://127.0.0.1:{listener.port}/v1"
        asked = [await _asked(vendor, url) for vendor in VENDORS]
        errors = [*(each.error for each in asked), await _opened(url)]
    assert not any(each.waits for each in asked)
    for error in errors:
        assert isinstance(error, NetworkError)
        assert not isinstance(error, SessionRefusedError)
        assert not error.retryable
        assert f"The certificate of 127.0.0.1:{listener.port} {words}." == str(error)
        assert hint in error.hint

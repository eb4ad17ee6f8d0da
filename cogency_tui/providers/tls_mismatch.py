"""The check whether an endpoint speaks TLS where its address says otherwise.

Nothing of a request is sent, and no key.
"""

import asyncio
import re
import ssl
from contextlib import suppress
from urllib.parse import urlsplit

from cogency_tui.errors import NetworkError
from cogency_tui.providers.endpoint import Endpoint

PATIENCE = 2.0
"""Seconds for each of the two messages that an endpoint is sent."""

_REASONS = frozenset(
    {
        "WRONG_VERSION_NUMBER",
        "RECORD_LAYER_FAILURE",
        "HTTP_REQUEST",
        "PACKET_LENGTH_TOO_LONG",
        "UNKNOWN_PROTOCOL",
    }
)
"""OpenSSL's reasons for rejecting an answer that is not TLS."""

_PLAIN_REFUSED = re.compile(r"HTTP request (was sent )?to (an )?HTTPS (port|server)", re.IGNORECASE)
"""Servers' answers to a request that should have been encrypted: nginx, Go."""

_PORTS = {"https": 443, "http": 80}
_HELLO = (b"\x16\x03", b"\x15\x03")
"""First bytes of a TLS record: of a handshake, and of an alert."""


def is_secure(endpoint: Endpoint) -> bool:
    """Return whether its address requires TLS."""
    return urlsplit(endpoint.base_url).scheme == "https"


def without_tls(endpoint: Endpoint) -> NetworkError:
    """Build the error for an endpoint that does not speak TLS."""
    return _wrong(endpoint, "does not speak TLS", "http")


def with_tls(endpoint: Endpoint) -> NetworkError:
    """Build the error for an endpoint that speaks only TLS."""
    return _wrong(endpoint, "requires TLS", "https")


def is_answer_in_plain(error: ssl.SSLError) -> bool:
    """Return whether the other side answered a handshake without TLS."""
    return getattr(error, "reason", None) in _REASONS


def is_refusal_of_plain(words: str) -> bool:
    """Return whether these words of an endpoint refuse a request that was not encrypted."""
    return _PLAIN_REFUSED.search(words) is not None


async def mismatch(endpoint: Endpoint) -> NetworkError | None:
    """Return the error for an endpoint whose address has the wrong scheme; None where that cannot be
    determined."""
    # Heavy, and not needed where all is well.
    from urllib.request import getproxies

    if getproxies() and not endpoint.is_loopback:
        # A direct connection may reach another server than the proxy does.
        return None
    speaks_tls = (await _first_of_answer(endpoint, _hello())).startswith(_HELLO)
    if not is_secure(endpoint):
        return with_tls(endpoint) if speaks_tls else None
    if speaks_tls:
        return None
    plain = (await _first_of_answer(endpoint, b"HEAD / HTTP/1.0\r\n\r\n")).startswith(b"HTTP")
    return without_tls(endpoint) if plain else None


def _wrong(endpoint: Endpoint, what: str, scheme: str) -> NetworkError:
    address = urlsplit(endpoint.base_url)
    error = NetworkError(
        f"{endpoint.name} ({endpoint.host}) {what}.",
        f"Use {scheme}://{endpoint.host}{address.path} as base_url.",
    )
    error.retryable = False
    return error


def _hello() -> bytes:
    """Return the first message of a handshake, and an empty line, at which a server without TLS answers."""
    context = ssl.create_default_context()
    answers, questions = ssl.MemoryBIO(), ssl.MemoryBIO()
    with suppress(ssl.SSLWantReadError):
        context.wrap_bio(answers, questions, server_hostname="localhost").do_handshake()
    return questions.read() + b"\r\n\r\n"


async def _first_of_answer(endpoint: Endpoint, question: bytes) -> bytes:
    """Return the first bytes of an endpoint's answer; none where none arrive in time."""
    address = urlsplit(endpoint.base_url)
    writer: asyncio.StreamWriter | None = None
    try:
        async with asyncio.timeout(PATIENCE):
            reader, writer = await asyncio.open_connection(
                address.hostname, address.port or _PORTS.get(address.scheme)
            )
            writer.write(question)
            return await reader.read(16)
    except (OSError, ValueError, TimeoutError):
        return b""
    finally:
        if writer is not None:
            writer.transport.abort()
            with suppress(OSError):
                await writer.wait_closed()

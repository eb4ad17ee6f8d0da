"""The one map from what the network did to our errors (what an endpoint said: `failures`)."""

import socket
import ssl
from collections.abc import Iterator
from typing import cast

from cogency_tui.errors import (
    BadRequestError,
    NetworkError,
    ProviderError,
    ProviderProtocolError,
    ProviderTimeoutError,
)
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.scheme import is_answer_in_plain, without_tls

_UNKNOWN = (
    "is signed by nobody whom this machine knows",
    "Name the certificate, or that of its authority, in SSL_CERT_FILE if the server is your own.",
)
_ANOTHER = ("is for another name", "Check the host in base_url.")
_CERTIFICATES = {
    9: ("is not valid yet", "Check the clock of this machine."),
    10: ("has expired", "Renew it if the server is your own; check the clock of this machine."),
    **dict.fromkeys((18, 19, 20, 21), _UNKNOWN),
    62: _ANOTHER,
    64: _ANOTHER,
}
"""What is wrong with a certificate, by OpenSSL's code (X509_V_ERR_…), and what to do."""


def from_exception(endpoint: Endpoint, exc: Exception) -> ProviderError:
    """The error for an exception of httpx, httpx-sse or the sockets below them."""
    import httpx

    host = endpoint.host
    if isinstance(exc, httpx.ConnectTimeout | httpx.PoolTimeout):
        return ProviderTimeoutError(
            f"No connection to {host} in time.", "Check the network, or try again later."
        )
    if isinstance(exc, httpx.TimeoutException):
        return ProviderTimeoutError(f"{endpoint.name} ({host}) stopped answering.", "Try again.")
    if isinstance(exc, httpx.ProxyError):
        return NetworkError(
            f"The proxy on the way to {host} refused: {endpoint.quote(str(exc))}.",
            "Check HTTPS_PROXY and NO_PROXY.",
        )
    if isinstance(exc, httpx.ConnectError):
        return unconnected(endpoint, exc)
    if isinstance(exc, httpx.DecodingError):
        return ProviderProtocolError(
            f"{endpoint.name} sent an answer that cannot be decoded: {endpoint.quote(str(exc))}.",
            "Check for a proxy that changes what passes through it.",
        )
    if isinstance(exc, httpx.UnsupportedProtocol | httpx.InvalidURL | httpx.LocalProtocolError):
        return BadRequestError(
            f"{endpoint.name} cannot be asked at this address: {endpoint.quote(str(exc))}.", "Check base_url."
        )
    return NetworkError(
        f"The connection to {endpoint.name} ({host}) broke off.",
        "What came before it is kept; try again.",
    )


def unconnected(endpoint: Endpoint, exc: Exception) -> ProviderError:
    """The error for a connection that could not be made."""
    causes = list(_causes(exc))
    host = endpoint.host
    words = endpoint.quote(str(exc))
    tls = next((cause for cause in causes if isinstance(cause, ssl.SSLError)), None)
    if tls is not None and is_answer_in_plain(tls):
        return without_tls(endpoint)
    if tls is not None or "SSL" in words:
        error = NetworkError(*_insecure(host, tls, words))
        error.retryable = False
        return error
    if any(isinstance(cause, socket.gaierror) for cause in causes):
        error = NetworkError(
            f"{host} has no address: {words}", "Check the network and the spelling of base_url."
        )
        error.retryable = any(
            isinstance(cause, socket.gaierror) and cause.errno == socket.EAI_AGAIN for cause in causes
        )
        return error
    if endpoint.is_loopback:
        # A server on this machine that is not running does not come up by asking it again.
        error = NetworkError(
            f"Nothing listens at {host}.", f"Start the server of {endpoint.name}, or check base_url."
        )
        error.retryable = False
        return error
    return NetworkError(f"No connection to {host}: {words}", "Check the network and base_url.")


def _insecure(host: str, tls: ssl.SSLError | None, words: str) -> tuple[str, str]:
    """Why there is no secure connection, and what to do."""
    code: int = getattr(tls, "verify_code", 0)
    if code in _CERTIFICATES:
        what, hint = _CERTIFICATES[code]
        return f"The certificate of {host} {what}.", hint
    return (
        f"No secure connection to {host}: {words}",
        "Check the address; SSL_CERT_FILE adds an authority of your own.",
    )


def _causes(exc: BaseException) -> Iterator[BaseException]:
    """The exception and all that it came from, the members of groups included."""
    pending: list[BaseException] = [exc]
    seen: set[int] = set()
    while pending:
        current = pending.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        pending += [cause for cause in (current.__cause__, current.__context__) if cause is not None]
        if isinstance(current, BaseExceptionGroup):
            pending += cast("BaseExceptionGroup[BaseException]", current).exceptions

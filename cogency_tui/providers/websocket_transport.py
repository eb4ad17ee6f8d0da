"""JSON over a WebSocket, with the endpoint's errors mapped to ours; sessions use no other socket.

websockets is imported with the first connection. It sends and answers pings by itself, and receives
messages in the background, up to a bound, so that a close is noticed at once.
"""

import asyncio
import json
import ssl
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit, urlunsplit

from cogency_tui.errors import ProviderError, ProviderTimeoutError, SessionLostError, SessionRefusedError
from cogency_tui.providers import failures
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.failures import unconnected
from cogency_tui.providers.http_transport import Timeouts
from cogency_tui.providers.tls_mismatch import mismatch
from cogency_tui.providers.wire_protocol import read_object

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection

LARGEST = 16 << 20
"""Most bytes of one message."""

PING = 20.0
"""Seconds between pings."""

PONG = 45.0
"""Seconds for an answer to a ping: Gemini Live has been seen to take 30."""

CLOSING = 1.0
"""Most seconds of a close."""

LOST = frozenset({1000, 1001, 1005, 1006, 1011, 1012, 1013, 1014, 1015})
"""Close codes after which another connection may succeed; 1000 when we did not ask for it."""


class Socket:
    """One connection. `label` is the name of its wire protocol."""

    def __init__(self, endpoint: Endpoint, label: str, timeouts: Timeouts, link: "ClientConnection") -> None:
        self._endpoint = endpoint
        self._label = label
        self._timeouts = timeouts
        self._link = link

    @classmethod
    async def open(
        cls,
        endpoint: Endpoint,
        label: str,
        url: str,
        headers: Mapping[str, str],
        timeouts: Timeouts | None = None,
    ) -> Self:
        """Connect to `url` (`ws:` or `wss:`, see `socket_url`).

        Raises:
            SessionRefusedError: there is no WebSocket at this address.
            ProviderError: it refused, or could not be reached.
        """
        endpoint.check_key()
        timeouts = timeouts or Timeouts()
        secure = await asyncio.to_thread(ssl.create_default_context) if url.startswith("wss:") else None
        from websockets.asyncio.client import connect
        from websockets.exceptions import InvalidHandshake, InvalidStatus, InvalidURI

        class Direct(connect):
            """Follows no redirect: the key would be sent on to another address."""

            def process_redirect(self, exc: Exception) -> Exception:
                return exc

        try:
            link = await Direct(
                url,
                additional_headers=dict(headers),
                user_agent_header="cogency-tui",
                # Deltas are small: compressing them costs time, and can delay them.
                compression=None,
                open_timeout=timeouts.connect,
                close_timeout=CLOSING,
                ping_interval=PING,
                ping_timeout=PONG,
                max_size=LARGEST,
                ssl=secure,
                proxy=None if endpoint.is_loopback else True,
            )
        except InvalidStatus as exc:
            raise _refused(endpoint, label, exc) from exc
        except (InvalidHandshake, InvalidURI) as exc:
            raise await mismatch(endpoint) or SessionRefusedError(
                f"{endpoint.name} ({endpoint.host}) does not speak WebSocket: {endpoint.quote(str(exc))}",
                "Use replay mode, or check base_url.",
            ) from exc
        except TimeoutError as exc:
            raise await mismatch(endpoint) or ProviderTimeoutError(
                f"WebSocket connection to {endpoint.host} timed out after {timeouts.connect:g} s.",
                "Check the network, or try again later.",
            ) from exc
        except OSError as exc:
            raise await mismatch(endpoint) or unconnected(endpoint, exc) from exc
        return cls(endpoint, label, timeouts, link)

    @property
    def is_open(self) -> bool:
        """True if it is not known to have ended."""
        from websockets.protocol import OPEN

        return self._link.state is OPEN

    async def send(self, frame: Mapping[str, Any]) -> None:
        """Send one JSON object.

        Raises:
            SessionLostError: the connection is gone.
        """
        from websockets.exceptions import ConnectionClosed

        try:
            await self._link.send(json.dumps(frame))
        except ConnectionClosed as exc:
            raise self._closed(exc) from exc

    async def receive(self, *, first: bool = False) -> dict[str, Any]:
        """Return the next JSON object. `first` allows the time for a first byte, else that between bytes.

        Raises:
            SessionLostError: the connection is gone.
            SessionRefusedError: the endpoint closed it for what was sent.
            ProviderTimeoutError: nothing came in time.
            ProviderProtocolError: something else came.
        """
        limit = self._timeouts.first_byte if first else self._timeouts.idle
        try:
            async with asyncio.timeout(limit):
                return await self.next()
        except TimeoutError as exc:
            raise self._endpoint.silent(limit) from exc

    async def next(self) -> dict[str, Any]:
        """Return the next JSON object, whenever it comes.

        Raises:
            ProviderError: as for `receive`.
        """
        from websockets.exceptions import ConnectionClosed

        try:
            data = await self._link.recv()
        except ConnectionClosed as exc:
            raise self._closed(exc) from exc
        # Gemini Live sends its JSON in binary messages.
        text = data if isinstance(data, str) else data.decode("utf-8", "replace")
        return read_object(self._endpoint, self._label, text)

    async def close(self) -> None:
        """Close it, within `CLOSING` seconds."""
        await self._link.close()

    def _closed(self, exc: Exception) -> ProviderError:
        code = self._link.close_code or 1006
        name = self._endpoint.name
        reason = self._endpoint.quote(self._link.close_reason or "")
        details = f" ({code}{': ' + reason if reason else ''})"
        if code in LOST:
            return SessionLostError(
                f"{name} closed the session{details}.", "The text so far is saved; try again."
            )
        return SessionRefusedError(
            f"{name} ended the {self._label} session{details}.", "Use replay mode, or choose another model."
        )


def socket_url(base_url: str, path: str, *, query: str = "", whole_path: bool = False) -> str:
    """Return the WebSocket address below an HTTP base URL: `http→ws`, `https→wss`, same host, port and
    path.

    With `whole_path`, `path` replaces the path of the base URL instead of extending it.
    """
    parts = urlsplit(base_url)
    scheme = "ws" if parts.scheme == "http" else "wss"
    before = "" if whole_path else parts.path.rstrip("/")
    return urlunsplit((scheme, parts.netloc, before + path, query, ""))


def _refused(endpoint: Endpoint, label: str, exc: Any) -> ProviderError:
    response = exc.response
    status: int = response.status_code
    if status in {404, 405, 426, 501} or 200 <= status < 400:
        return SessionRefusedError(
            f"{endpoint.name} ({endpoint.host}) has no {label} (HTTP {status} at the upgrade).",
            "Use replay mode.",
        )
    body = bytes(response.body or b"").decode("utf-8", "replace")
    return failures.from_status(endpoint, status, response.headers, body)

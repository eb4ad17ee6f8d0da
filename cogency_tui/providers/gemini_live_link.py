"""One connection to Gemini's Live API: frames both ways, and what its end means.

Close codes say little there (1007 is a wrong key as well as a model without text), their reasons what an
HTTP answer would have said.
"""

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Self

from cogency_tui.errors import (
    AuthenticationError,
    ContextTooLongError,
    PermissionDeniedError,
    ProviderError,
    RateLimitError,
    SessionRefusedError,
)
from cogency_tui.providers import failures
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.gemini_wire import VERSION, key_header, stated_version
from cogency_tui.providers.socket import Socket, socket_url
from cogency_tui.providers.transport import Timeouts

LABEL = "Live"

_INTERNAL = 1011
"""The close code with which some models refuse to answer in text, and with which others just end."""


class LiveLink:
    """A connection that is set up. `answered` is set once the model has answered over it: before that an
    internal error is taken for a model that cannot answer in text."""

    def __init__(self, endpoint: Endpoint, socket: Socket) -> None:
        self.answered = False
        self._endpoint = endpoint
        self._socket = socket

    @classmethod
    async def open(
        cls, endpoint: Endpoint, url: str, setup: Mapping[str, Any], timeouts: Timeouts | None = None
    ) -> Self:
        """Connect to `url` and set the session up.

        Raises:
            SessionRefusedError: there are no such sessions for this model.
            ProviderError: none is to be had now.
        """
        link = cls(endpoint, await Socket.open(endpoint, LABEL, url, key_header(endpoint), timeouts))
        try:
            await link._send({"setup": setup})
            while "setupComplete" not in await link.receive(first=True):
                pass
        except BaseException:
            await link.close()
            raise
        return link

    @property
    def is_open(self) -> bool:
        """Whether nothing is known to have ended it."""
        return self._socket.is_open

    async def say(self, turns: Sequence[Mapping[str, Any]], *, complete: bool) -> None:
        """Add turns to the conversation; `complete` asks for an answer.

        Raises:
            ProviderError: the connection is gone, or the endpoint refused.
        """
        await self._send({"clientContent": {"turns": turns, "turnComplete": complete}})

    async def receive(self, *, first: bool = False) -> dict[str, Any]:
        """The next frame. `first` allows the time for a first byte.

        Raises:
            ProviderError: the connection is gone, the endpoint refused, or talks nonsense.
        """
        with self._understood():
            frame = await self._socket.receive(first=first)
        if frame.get("error") or ("code" in frame and "message" in frame):
            raise failures.from_frame(self._endpoint, frame)
        return frame

    async def close(self) -> None:
        """Close it."""
        await self._socket.close()

    async def _send(self, frame: Mapping[str, Any]) -> None:
        with self._understood():
            await self._socket.send(frame)

    @contextmanager
    def _understood(self) -> Generator[None, None, None]:
        from websockets.exceptions import ConnectionClosed

        try:
            yield
        except ProviderError as error:
            cause = error.__cause__
            if isinstance(cause, ConnectionClosed) and cause.rcvd is not None:
                meaning = self._meaning(cause.rcvd.code, cause.rcvd.reason)
                if meaning is not None:
                    raise meaning from error
            raise

    def _meaning(self, code: int, reason: str) -> ProviderError | None:
        """The error of a close, where it is another than its code says."""
        said = failures.from_status(self._endpoint, 429 if "quota" in reason.lower() else 400, {}, reason)
        if isinstance(
            said, AuthenticationError | PermissionDeniedError | RateLimitError | ContextTooLongError
        ):
            return said
        if code != _INTERNAL or self.answered:
            return None
        words = self._endpoint.quote(reason)
        return SessionRefusedError(
            f"{self._endpoint.name} ended the {LABEL} session ({code}{': ' + words if words else ''}).",
            "Use replay mode, or choose another model.",
        )


def live_url(base_url: str, version: str = VERSION) -> str:
    """The address of the Live API below a base URL. A version at its end counts instead of `version`, and
    is no part of the address."""
    stated = stated_version(base_url)
    root = base_url.rstrip("/").removesuffix(f"/{stated}" if stated else "")
    service = f"google.ai.generativelanguage.{stated or version}.GenerativeService.BidiGenerateContent"
    return socket_url(root, f"/ws/{service}")

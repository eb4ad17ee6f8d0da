"""Lanes of one WebSocket: sessions over Responses, of sub-agents and forks for instance, share a connection.

A request of a lane has its `stream_id`, and the events of its answer do, too. The first lane of a connection
has none: one session alone is the same with and without lanes.

No event cancels an answer. One that is given up is cancelled by closing the connection, unless another lane
waits for one: then it is received to its end, for its usage alone.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from cogency_tui.errors import ProviderError
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.http_transport import Timeouts
from cogency_tui.providers.websocket_transport import Socket
from cogency_tui.providers.wire_protocol import text_of

MOST = 8
"""Lanes of one connection; more sessions open another."""

Open: TypeAlias = Callable[[], Awaitable[Socket]]
Read: TypeAlias = Callable[[Mapping[str, Any]], None]

_ENDS = frozenset({"response.completed", "response.incomplete", "response.failed", "error"})
_FOLLOWED = frozenset({"response.completed", "response.incomplete"})
"""The ends that an answer follows if a message has steered this one."""
_UNSTEERED = frozenset({"response.steer.failed", "response.steer.pending"})
"""What says that none follows."""


class Lanes:
    """The lanes to one endpoint. `open_socket` opens a connection."""

    def __init__(self, endpoint: Endpoint, open_socket: Open, timeouts: Timeouts | None = None) -> None:
        self._endpoint = endpoint
        self._open_socket = open_socket
        self._timeouts = timeouts or Timeouts()
        self._connection: _Connection | None = None
        self._opening = asyncio.Lock()

    async def open(self) -> "Lane":
        """Open a lane, on the connection that is open if it has room.

        Raises:
            ProviderError: a connection was needed, and refused or failed.
        """
        async with self._opening:
            if self._connection is None or not self._connection.has_room:
                self._connection = _Connection(await self._open_socket())
            return self._connection.add(self._endpoint, self._timeouts)


class Lane:
    """One lane, which a session uses as it would a socket of its own."""

    def __init__(
        self, connection: "_Connection", stream_id: str, endpoint: Endpoint, timeouts: Timeouts
    ) -> None:
        self.busy = False
        """True while it waits for an answer."""
        self.stream_id = stream_id
        self._is_steered = False
        """True if the answer, once it ends, is followed by another."""
        self._connection = connection
        self._endpoint = endpoint
        self._timeouts = timeouts
        self._received: asyncio.Queue[Mapping[str, Any] | ProviderError] = asyncio.Queue()

    @property
    def is_open(self) -> bool:
        """True if its connection is not known to have ended."""
        return self._connection.is_open

    async def send(self, frame: Mapping[str, Any]) -> None:
        """Send one request.

        Raises:
            SessionLostError: the connection is gone.
        """
        self.busy = True
        mark = {"stream_id": self.stream_id} if self.stream_id else {}
        await self._connection.socket.send({**frame, **mark})

    async def steer(self, frame: Mapping[str, Any]) -> None:
        """Send a message to the answer that `frame` names, which tells the endpoint the lane.

        Raises:
            SessionLostError: the connection is gone.
        """
        self._is_steered = True
        await self._connection.socket.send(frame)

    async def receive(self, *, first: bool = False) -> Mapping[str, Any]:
        """Return the next event of this lane. `first` allows the time for a first byte, else that between
        bytes.

        Raises:
            ProviderTimeoutError: nothing came in time.
            ProviderError: as for the connection.
        """
        limit = self._timeouts.first_byte if first else self._timeouts.idle
        try:
            async with asyncio.timeout(limit):
                received = await self._received.get()
        except TimeoutError as exc:
            raise self._endpoint.silent(limit) from exc
        if isinstance(received, ProviderError):
            # For those who ask again.
            self.put(received)
            raise received
        return received

    def put(self, received: Mapping[str, Any] | ProviderError) -> None:
        """Queue an event of this lane, or the error that ended the connection."""
        kind = "error" if isinstance(received, ProviderError) else text_of(received.get("type"))
        if kind in _ENDS or (kind in _UNSTEERED and not self._is_steered):
            self.busy = self._is_steered and kind in _FOLLOWED
            self._is_steered = False
        elif kind in _UNSTEERED:
            self._is_steered = False
        self._received.put_nowait(received)

    async def close(self, read_rest: Read | None = None) -> None:
        """Leave the connection, and close it where that cancels an answer or nothing else uses it. An answer
        that goes on instead is left to `read_rest`, event by event."""
        await self._connection.remove(self, read_rest)


class _Connection:
    def __init__(self, socket: Socket) -> None:
        self.socket = socket
        self._lanes: dict[str, Lane] = {}
        self._rests: dict[str, Read] = {}
        """The readers of answers that were given up, by their lanes."""
        self._opened = 0
        self._reading = asyncio.create_task(self._read())

    @property
    def is_open(self) -> bool:
        return self.socket.is_open and not self._reading.done()

    @property
    def has_room(self) -> bool:
        return self.is_open and len(self._lanes) < MOST

    def add(self, endpoint: Endpoint, timeouts: Timeouts) -> Lane:
        stream_id = f"lane-{self._opened}" if self._opened else ""
        self._opened += 1
        lane = self._lanes[stream_id] = Lane(self, stream_id, endpoint, timeouts)
        return lane

    async def remove(self, lane: Lane, read_rest: Read | None) -> None:
        if self._lanes.pop(lane.stream_id, None) is None:
            return
        others_wait = any(other.busy for other in self._lanes.values())
        if not self._lanes or (lane.busy and not others_wait):
            self._reading.cancel()
            await self.socket.close()
        elif lane.busy and read_rest:
            self._rests[lane.stream_id] = read_rest

    async def _read(self) -> None:
        """Receive for all lanes, until the connection ends."""
        try:
            while True:
                event = await self.socket.next()
                stream_id = text_of(event.get("stream_id"))
                if lane := self._lanes.get(stream_id):
                    lane.put(event)
                elif read_rest := self._rests.get(stream_id):
                    read_rest(event)
                    if event.get("type") in _ENDS:
                        del self._rests[stream_id]
        except ProviderError as error:
            for lane in self._lanes.values():
                lane.put(error)

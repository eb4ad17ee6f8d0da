"""JSON-RPC with a language server over its input and output: frames, requests and their answers.

Invariant: whatever the server sends, memory is bounded (`LONGEST`, `MOST_UNASKED`), every request ends within
its time, and the first thing that is no message of the protocol ends the connection. pygls, whose client
starts the server by itself and takes frames of any length, does not fit that.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, cast

import msgspec

LONGEST = 8 << 20
"""Most bytes of a message."""

MOST_UNASKED = 64 << 20
"""Most bytes that a server may send without having been sent anything in between."""

_TO_READ = 20.0
"""Seconds in which a server reads enough of what it is sent to be sent more."""

_LONGEST_HEADER = 4096
_LENGTH = b"content-length"
_METHOD_NOT_FOUND = -32601


class ConnectionLost(Exception):
    """The server has ended, or sends what is no message; the text gives the reason in one line."""


class RequestFailed(Exception):
    """The server answered a request with an error; the text is its message, which is untrusted."""

    def __init__(self, message: str, code: object = None) -> None:
        super().__init__(message)
        self.code = code


class Connection:
    """A connection to a server. `notified` receives its notifications by method and parameters, `answers`
    gives the results of its requests by method, from their parameters."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        notified: Callable[[str, Any], None],
        answers: Mapping[str, Callable[[Any], Any]],
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._notified = notified
        self._answers = answers
        self._number = 0
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._unasked = 0

    async def run(self) -> None:
        """Process what the server sends until it ends.

        Raises:
            ConnectionLost: always, with the reason.
        """
        try:
            while True:
                body = await self._next_body()
                self._unasked += len(body)
                if self._unasked > MOST_UNASKED:
                    raise ConnectionLost(f"it sent more than {MOST_UNASKED >> 20} MB unasked")
                self._take(body)
        except (asyncio.IncompleteReadError, ConnectionError):
            raise ConnectionLost("it exited") from None
        except (asyncio.LimitOverrunError, ValueError):
            raise ConnectionLost("its output cannot be read") from None

    def close(self, why: str) -> None:
        """Let every request fail that has no answer."""
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(ConnectionLost(why))
                # Whoever asked may have given up.
                answer.exception()
        self._waiting.clear()

    async def request(self, method: str, params: Any, seconds: float) -> Any:
        """The result of a request.

        Raises:
            ConnectionLost: the server is gone.
            RequestFailed: it answered with an error.
            TimeoutError: it did not answer in time; the request is cancelled.
        """
        self._number += 1
        id = self._number
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[id] = answer
        try:
            async with asyncio.timeout(seconds):
                await self._send({"id": id, "method": method, "params": params})
                return await answer
        finally:
            self._waiting.pop(id, None)
            if not answer.done() or answer.cancelled():
                self._write({"method": "$/cancelRequest", "params": {"id": id}})

    async def notify(self, method: str, params: Any) -> None:
        """Send a notification.

        Raises:
            ConnectionLost: the server is gone.
        """
        await self._send({"method": method, "params": params})

    async def _send(self, message: dict[str, Any]) -> None:
        self._write(message)
        try:
            async with asyncio.timeout(_TO_READ):
                await self._writer.drain()
        except ConnectionError:
            raise ConnectionLost("it exited") from None
        except TimeoutError:
            raise ConnectionLost("it reads nothing that it is sent") from None

    def _write(self, message: dict[str, Any]) -> None:
        self._unasked = 0
        body = msgspec.json.encode({"jsonrpc": "2.0", **message})
        if not self._writer.is_closing():
            self._writer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)

    async def _next_body(self) -> bytes:
        head = await self._reader.readuntil(b"\r\n\r\n")
        if len(head) > _LONGEST_HEADER:
            raise ValueError("a long header")
        fields = dict(line.lower().split(b":", 1) for line in head.split(b"\r\n") if line)
        length = int(fields[_LENGTH].strip() if _LENGTH in fields else b"")
        if not 0 <= length <= LONGEST:
            raise ConnectionLost(f"a message of it has {length:,} bytes")
        return await self._reader.readexactly(length)

    def _take(self, body: bytes) -> None:
        message = msgspec.json.decode(body, type=dict[str, Any])
        method = message.get("method")
        if isinstance(method, str):
            if "id" in message:
                self._answer(message["id"], method, message.get("params"))
            else:
                self._notified(method, message.get("params"))
            return
        id = message.get("id")
        answer = self._waiting.get(id) if isinstance(id, int) else None
        if answer is None or answer.done():
            return
        error = message.get("error")
        if error is None:
            answer.set_result(message.get("result"))
        else:
            given = cast("dict[str, Any]", error) if isinstance(error, dict) else {"message": error}
            answer.set_exception(RequestFailed(str(given.get("message")), given.get("code")))

    def _answer(self, id: Any, method: str, params: Any) -> None:
        if (answer := self._answers.get(method)) is None:
            error = {"code": _METHOD_NOT_FOUND, "message": f"{method} is not supported"}
            self._reply({"id": id, "error": error})
        else:
            self._reply({"id": id, "result": answer(params)})

    def _reply(self, message: dict[str, Any]) -> None:
        unasked = self._unasked
        self._write(message)
        # A server that asks and asks is not sent anything by us.
        self._unasked = unasked

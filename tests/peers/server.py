"""What all loopback peers share: HTTP and WebSocket on one port, faults on request, tokens as billed.

A peer of one wire protocol says how a request is read, refused and answered; how bytes travel, break
off or hang is here. Everything that arrives is recorded.
"""

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self, TypeAlias, cast

from websockets.exceptions import InvalidState, WebSocketException
from websockets.frames import CloseCode, Frame, Opcode
from websockets.http11 import Request as Upgrade
from websockets.server import ServerProtocol

Context: TypeAlias = list[dict[str, str]]
"""Messages with `role` and `content`, whatever the wire's own form."""

Reply: TypeAlias = Callable[[Context], str]


@dataclass(frozen=True, slots=True)
class Fault:
    """How one request is answered instead of as it should be. Only what is set differs.

    `status` with `headers` and `body` answers that; `drop` closes the connection (`"before"` any byte,
    or `"within"` the stream after `after` frames); `frame` is sent raw after `after` frames, which ends
    the stream; `body` without a status replaces the stream by a 200 of `content_type`.
    """

    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: str | None = None
    content_type: str = "application/json"
    drop: str = ""
    after: int = 0
    frame: str | None = None
    hang: str = ""
    """`"headers"`, `"body"` or `"within"` (after `after` frames): from there on nothing is sent any more."""
    no_usage: bool = False
    usage_on_finish: bool = False
    no_done: bool = False
    no_finish: bool = False
    comments: bool = False
    one_byte: bool = False
    reasoning: str = ""
    reasoning_key: str = "reasoning_content"
    finish: str = "stop"
    deltas: Sequence[str] | None = None
    """The text's pieces as they are to be cut, instead of pieces of `token` characters."""


@dataclass(slots=True)
class Request:
    """What arrived. `closed_early` is set when the client went before the answer was complete."""

    method: str
    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    raw: bytes
    head: bytes
    closed_early: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def size(self) -> int:
        """Bytes of it, head included."""
        return len(self.head) + len(self.raw)


@dataclass(slots=True)
class Exchange:
    """One generation. `context` is all that the model saw, `sent` the tokens that arrived for it,
    `cached` those at the beginning of the context that a vendor's cache would have known."""

    context: Context
    sent: int
    cached: int
    text: str
    pieces: list[str]

    @property
    def input(self) -> int:
        """Tokens of the whole context, which is what vendors bill."""
        return count(self.context)

    @property
    def output(self) -> int:
        return max(1, -(-len(self.text) // 4))


def count(context: Iterable[Mapping[str, str]]) -> int:
    """Tokens of some messages: four characters each, rounded up in all."""
    return max(1, -(-sum(len(message["content"]) for message in context) // 4))


def shared(context: Sequence[Mapping[str, str]], known: Sequence[Mapping[str, str]]) -> int:
    """Characters at the beginning of `context` that are those of `known`."""
    same = 0
    for one, other in zip(context, known, strict=False):
        if one == other:
            same += len(one["content"])
            continue
        if one["role"] == other["role"]:
            pairs = zip(one["content"], other["content"], strict=False)
            shorter = min(len(one["content"]), len(other["content"]))
            same += next((at for at, (a, b) in enumerate(pairs) if a != b), shorter)
        break
    return same


class Peer:
    """Serves on 127.0.0.1 while its context is entered. `replies` is a callback or one text a request;
    `faults` are used up one a generation, `always` is for those that follow; `upgrades` are HTTP
    statuses that refuse WebSocket upgrades one by one (0 lets one through)."""

    prefix = ""
    """The path of `base_url`."""
    least_cached = 1024
    """Tokens below which nothing is cached, and the step in which it is counted above."""
    cache_step = 128

    def __init__(
        self,
        replies: Reply | Sequence[str] = ("Hello.",),
        *,
        faults: Iterable[Fault | None] = (),
        always: Fault | None = None,
        token: int = 4,
        latency: float = 0.0,
        model: str = "test-model",
        refuses: Sequence[str] = (),
        key: str = "",
        upgrades: Iterable[int] = (),
    ) -> None:
        self.requests: list[Request] = []
        self.exchanges: list[Exchange] = []
        self.connections = 0
        self.refuses = refuses
        self.model = model
        self.token = token
        self.latency = latency
        self.key = key
        self.sockets: list[PeerSocket] = []
        self._replies = replies
        self.faults = list(faults)
        self._always = always or Fault()
        self._upgrades = list(upgrades)
        self._open: dict[asyncio.Task[None], asyncio.StreamWriter] = {}
        self._answers = 0
        self._seen: list[Context] = []

    # What a wire protocol decides.

    def refuse(self, request: Request) -> tuple[int, str] | None:
        """Status and body of a refusal, for a request that the vendor would not take."""
        raise NotImplementedError

    def context(self, request: Request) -> Context:
        """The messages of an HTTP request, the system prompt first."""
        raise NotImplementedError

    def frames(self, request: Request, exchange: Exchange, fault: Fault) -> list[str]:
        """The answer's server-sent events, each as the text of a block without its empty line."""
        raise NotImplementedError

    def whole(self, request: Request) -> tuple[int, str] | None:
        """Status and JSON of an answer that is no stream (a list of models), if this asks for one."""
        return None

    async def converse(self, socket: "PeerSocket") -> None:
        """Serve a WebSocket until it ends."""
        raise NotImplementedError

    # What a peer is asked by tests.

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    @property
    def base_url(self) -> str:
        return self.origin + self.prefix

    @property
    def sent(self) -> int:
        """Tokens of all that arrived."""
        return sum(exchange.sent for exchange in self.exchanges)

    @property
    def stop_fields(self) -> set[str]:
        """The fields that arrived, at any depth, whose names speak of stopping."""
        bodies = [request.body for request in self.requests]
        frames = [frame for socket in self.sockets for frame in socket.frames]
        return {name for name in _field_names([*bodies, *frames]) if "stop" in name.lower()}

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=64 << 20)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for writer in self._open.values():
            writer.transport.abort()
        await asyncio.gather(*self._open)
        await self._server.wait_closed()

    def drop_connections(self) -> None:
        """Break all open connections off, as a network does."""
        for writer in self._open.values():
            writer.transport.abort()

    # One generation, over HTTP or a socket.

    def next_fault(self) -> Fault:
        """How the next generation goes."""
        return (self.faults.pop(0) if self.faults else None) or self._always

    def exchange(self, context: Context, *, sent: int, fault: Fault) -> Exchange:
        """Generate: the text for `context`, with the tokens that it takes."""
        text = "".join(fault.deltas) if fault.deltas is not None else self._text(context)
        pieces = list(fault.deltas or ())
        pieces = pieces or [text[at : at + self.token] for at in range(0, len(text), self.token)]
        exchange = Exchange(context, sent, self._cached(context), text, pieces)
        self._seen.append([*context, {"role": "assistant", "content": text}])
        self.exchanges.append(exchange)
        return exchange

    def _cached(self, context: Context) -> int:
        """Tokens that were sent or generated before, at the same place."""
        tokens = max((shared(context, known) // 4 for known in self._seen), default=0)
        return 0 if tokens < self.least_cached else tokens - tokens % self.cache_step

    def _text(self, context: Context) -> str:
        if callable(self._replies):
            return self._replies(context)
        text = self._replies[min(self._answers, len(self._replies) - 1)]
        self._answers += 1
        return text

    # Connections.

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._open[task] = writer
        try:
            while request := await _read(reader):
                self.requests.append(request)
                if request.headers.get("upgrade", "").lower() == "websocket":
                    await self._upgrade(request, reader, writer)
                    break
                if not await self._answer(request, reader, writer):
                    break
        except ConnectionError:
            pass
        finally:
            del self._open[task]
            writer.close()

    async def _upgrade(
        self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        status = self._upgrades.pop(0) if self._upgrades else 0
        refusal = (status, "Upgrade refused.") if status else self.refuse(request)
        if refusal:
            await send_whole(writer, *refusal, {"content-type": "application/json", "connection": "close"})
            return
        protocol = ServerProtocol(max_size=None)
        protocol.receive_data(request.head)
        [upgrade] = protocol.events_received()
        assert isinstance(upgrade, Upgrade)
        protocol.send_response(protocol.accept(upgrade))
        async with PeerSocket(self, request, protocol, reader, writer) as socket:
            self.sockets.append(socket)
            await self.converse(socket)

    async def _answer(
        self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        """Answer one request; whether the connection can serve another."""
        if whole := self.refuse(request) or self.whole(request):
            await send_whole(writer, *whole, {"content-type": "application/json"})
            return True
        fault = self.next_fault()
        if fault.drop == "before":
            writer.transport.abort()
            return False
        if fault.hang == "headers":
            return await _hang(request, reader)
        if fault.status or fault.body is not None:
            headers = {"content-type": fault.content_type} | dict(fault.headers)
            await send_whole(writer, fault.status or 200, fault.body or "", headers)
            return True
        watch = asyncio.create_task(_watch(request, reader))
        try:
            return await self._stream(request, fault, reader, writer, watch)
        except ConnectionError:
            # What was sent and not read any more is answered with a reset, which writing may see first.
            request.closed_early.set()
            raise
        finally:
            watch.cancel()
            await asyncio.gather(watch, return_exceptions=True)

    async def _stream(
        self,
        request: Request,
        fault: Fault,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        watch: "asyncio.Task[None]",
    ) -> bool:
        context = self.context(request)
        exchange = self.exchange(context, sent=self.sent_tokens(request), fault=fault)
        kind = {"content-type": "text/event-stream; charset=utf-8", "transfer-encoding": "chunked"}
        writer.write(head_of(200, kind))
        if fault.hang == "body":
            await writer.drain()
            return await _hang(request, reader, watch)
        for number, frame in enumerate(self.frames(request, exchange, fault)):
            if fault.comments:
                await self._write(writer, ": keep-alive\n\n", fault)
            if number == fault.after and (fault.drop == "within" or fault.hang == "within"):
                await writer.drain()
                if fault.hang:
                    return await _hang(request, reader, watch)
                return False
            if number == fault.after and fault.frame is not None:
                await self._write(writer, f"data: {fault.frame}\n\n", fault)
                writer.write(b"0\r\n\r\n")
                await writer.drain()
                return False
            await self._write(writer, f"{frame}\n\n", fault)
            if self.latency:
                await asyncio.sleep(self.latency)
        # Before the end, because the next request may follow it at once, and is not the watch's to read.
        watch.cancel()
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return not request.closed_early.is_set()

    def sent_tokens(self, request: Request) -> int:
        """Tokens of what arrived in an HTTP request."""
        return count(self.context(request))

    async def _write(self, writer: asyncio.StreamWriter, text: str, fault: Fault) -> None:
        data = text.encode()
        pieces = [data[at : at + 1] for at in range(len(data))] if fault.one_byte else [data]
        for piece in pieces:
            writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        await writer.drain()


class PeerSocket:
    """One WebSocket as its peer sees it. `frames` has all JSON that the client sent, in order."""

    def __init__(
        self,
        peer: Peer,
        request: Request,
        protocol: ServerProtocol,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self.request = request
        self.frames: list[dict[str, Any]] = []
        self.closed = asyncio.Event()
        self._peer = peer
        self._protocol = protocol
        self._reader = reader
        self._writer = writer
        self._incoming: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()

    async def __aenter__(self) -> Self:
        await self._flush()
        self._reading = asyncio.create_task(self._read())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self.closed.is_set() and error is None:
            await self.close()
        self._reading.cancel()
        await asyncio.gather(self._reading, return_exceptions=True)

    async def receive(self) -> dict[str, Any] | None:
        """The next JSON of the client; None when it has gone."""
        return await self._incoming.get()

    @property
    def pending(self) -> bool:
        """Whether the client has sent something that was not received yet, or has gone."""
        return not self._incoming.empty()

    async def send(self, frame: Mapping[str, Any] | str, *, binary: bool = False) -> None:
        """Send JSON, or a text as it is; nothing once the client has gone."""
        data = (frame if isinstance(frame, str) else json.dumps(frame)).encode()
        try:
            if binary:
                self._protocol.send_binary(data)
            else:
                self._protocol.send_text(data)
        except InvalidState:
            return
        await self._flush()

    async def close(self, code: int = CloseCode.NORMAL_CLOSURE, reason: str = "") -> None:
        """Close it as a server does, and wait for the client's answer."""
        try:
            self._protocol.send_close(code, reason)
        except InvalidState:
            return
        await self._flush()
        await asyncio.wait([self._reading], timeout=1)

    def abort(self) -> None:
        """Break the connection off without a word."""
        self._writer.transport.abort()

    async def stream(
        self,
        frames: Sequence[Mapping[str, Any]],
        fault: Fault,
        stop: Callable[[], bool] = lambda: False,
        *,
        binary: bool = False,
    ) -> bool:
        """Send the frames of one answer as `fault` has it; False when they were not all sent: the client
        has gone, `stop` said so, or the fault struck."""
        for number, frame in enumerate(frames):
            if number == fault.after:
                if fault.drop == "within":
                    self.abort()
                    return False
                if fault.hang == "within":
                    await self.closed.wait()
                    return False
                if fault.frame is not None:
                    await self.send(fault.frame)
                    return False
            await self.send(frame, binary=binary)
            await asyncio.sleep(self._peer.latency)
            if self.closed.is_set() or stop():
                return False
        return True

    async def _read(self) -> None:
        try:
            while data := await self._reader.read(65536):
                self._protocol.receive_data(data)
                for event in self._protocol.events_received():
                    if isinstance(event, Frame) and event.opcode in (Opcode.TEXT, Opcode.BINARY):
                        frame = cast("dict[str, Any]", json.loads(bytes(event.data)))
                        self.frames.append(frame)
                        self._incoming.put_nowait(frame)
                await self._flush()
        except (ConnectionError, WebSocketException):
            pass
        finally:
            self.closed.set()
            self._incoming.put_nowait(None)

    async def _flush(self) -> None:
        for data in self._protocol.data_to_send():
            if data:
                self._writer.write(data)
            elif not self._writer.is_closing():
                self._writer.close()
        try:
            await self._writer.drain()
        except ConnectionError:
            self.closed.set()


def _field_names(value: object) -> Iterable[str]:
    """The names of all fields in JSON."""
    if isinstance(value, list):
        for each in cast("list[object]", value):
            yield from _field_names(each)
    elif isinstance(value, dict):
        for name, member in cast("dict[str, object]", value).items():
            yield name
            yield from _field_names(member)


async def _read(reader: asyncio.StreamReader) -> Request | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {
        name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)
    }
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    method, path, _version = first.split(" ")
    return Request(method, path, headers, json.loads(body or b"{}"), body, head)


async def _watch(request: Request, reader: asyncio.StreamReader) -> None:
    """Notice that the client goes while it is being answered."""
    with suppress(ConnectionError):
        await reader.read(1)
    request.closed_early.set()


async def _hang(
    request: Request, reader: asyncio.StreamReader, watch: "asyncio.Task[None] | None" = None
) -> bool:
    await (watch or asyncio.create_task(_watch(request, reader)))
    return False


def head_of(status: int, headers: Mapping[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} Status", *(f"{name}: {value}" for name, value in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


async def send_whole(
    writer: asyncio.StreamWriter, status: int, body: str, headers: Mapping[str, str]
) -> None:
    data = body.encode()
    writer.write(head_of(status, {**headers, "content-length": str(len(data))}) + data)
    await writer.drain()

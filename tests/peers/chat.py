"""A loopback server that speaks Chat Completions as the vendor does, and misbehaves on request.

It keeps to the vendor's wire format in all that a client can see: ids, object names, the role delta
first, a finish chunk, a usage chunk without choices, `[DONE]`; a stop marker ends the text, is taken
off it, and reads `finish_reason: "stop"`. Each request is recorded with the bytes that arrived.
"""

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self, TypeAlias

Reply: TypeAlias = Callable[[list[dict[str, Any]]], str]


@dataclass(frozen=True, slots=True)
class Fault:
    """How one request is answered instead of as it should be. Only what is set differs.

    `status` with `headers` and `body` answers that; `drop` closes the connection (`"before"` any byte,
    or `"within"` the stream after `after` chunks); `frame` is sent as a data line after `after` chunks,
    which ends the stream; `body` without a status replaces the stream by a 200 of `content_type`.
    """

    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: str | None = None
    content_type: str = "application/json"
    drop: str = ""
    after: int = 0
    frame: str | None = None
    hang: str = ""
    """`"headers"`, `"body"` or `"within"` (after `after` chunks): from there on nothing is sent any more."""
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
    """What arrived. `tokens` is our count of the messages in it; `closed_early` is set when the client
    went before the answer was complete."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    size: int
    closed_early: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def tokens(self) -> int:
        characters = sum(len(message["content"]) for message in self.body.get("messages", []))
        return max(1, -(-characters // 4))


class ChatPeer:
    """Serves on 127.0.0.1 while its context is entered. `replies` is a callback or one text a request;
    `faults` are used up one a request, `always` is for those that follow."""

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
    ) -> None:
        self.requests: list[Request] = []
        self.connections = 0
        self.refuses = refuses
        self._replies = replies
        self._faults = list(faults)
        self._always = always or Fault()
        self._token = token
        self._latency = latency
        self._model = model
        self._key = key
        self._open: dict[asyncio.Task[None], asyncio.StreamWriter] = {}
        self._answers = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for writer in self._open.values():
            writer.transport.abort()
        await asyncio.gather(*self._open)
        await self._server.wait_closed()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"

    @property
    def tokens(self) -> int:
        """Tokens of all messages that arrived."""
        return sum(request.tokens for request in self.requests)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._open[task] = writer
        try:
            while request := await self._read(reader):
                self.requests.append(request)
                fault = (self._faults.pop(0) if self._faults else None) or self._always
                if not await self._answer(request, fault, reader, writer):
                    break
        except ConnectionError:
            pass
        finally:
            del self._open[task]
            writer.close()

    async def _read(self, reader: asyncio.StreamReader) -> Request | None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            return None
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {
            name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)
        }
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        path = first.split(" ")[1]
        return Request(path, headers, json.loads(body or b"{}"), len(head) + len(body))

    async def _answer(
        self, request: Request, fault: Fault, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        """Answer one request; whether the connection can serve another."""
        if fault.drop == "before":
            writer.transport.abort()
            return False
        if fault.hang == "headers":
            return await _hang(request, reader)
        refusal = self._refusal(request)
        if fault.status or fault.body is not None or refusal:
            status, body = refusal or (fault.status or 200, fault.body or "")
            await _send_whole(
                writer, status, body, {"content-type": fault.content_type} | dict(fault.headers)
            )
            return True
        watch = asyncio.create_task(_watch(request, reader))
        try:
            return await self._stream(request, fault, reader, writer, watch)
        finally:
            watch.cancel()
            await asyncio.gather(watch, return_exceptions=True)

    def _refusal(self, request: Request) -> tuple[int, str] | None:
        def error(message: str, kind: str, code: str | None, param: str | None = None) -> str:
            return json.dumps({"error": {"message": message, "type": kind, "param": param, "code": code}})

        if request.path != "/v1/chat/completions":
            return 404, error(f"Invalid URL (POST {request.path})", "invalid_request_error", None)
        if self._key and request.headers.get("authorization") != f"Bearer {self._key}":
            given = request.headers.get("authorization", "").removeprefix("Bearer ")
            return 401, error(
                f"Incorrect API key provided: {given}.", "invalid_request_error", "invalid_api_key"
            )
        for param in self.refuses:
            if param in request.body:
                text = f"Unsupported parameter: '{param}' is not supported with this model."
                return 400, error(text, "invalid_request_error", "unsupported_parameter", param)
        if len(request.body.get("stop") or ()) > 4:
            return 400, error("'stop' takes up to 4 sequences.", "invalid_request_error", None, "stop")
        return None

    def _text(self, request: Request) -> str:
        if callable(self._replies):
            return self._replies(request.body["messages"])
        text = self._replies[min(self._answers, len(self._replies) - 1)]
        self._answers += 1
        return text

    async def _stream(
        self,
        request: Request,
        fault: Fault,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        watch: "asyncio.Task[None]",
    ) -> bool:
        text = "".join(fault.deltas) if fault.deltas is not None else self._text(request)
        for stop in request.body.get("stop") or ():
            text = text.partition(stop)[0]
        pieces = fault.deltas or [text[at : at + self._token] for at in range(0, len(text), self._token)]
        frames = [self._chunk(request, {"role": "assistant", "content": "", "refusal": None})]
        frames += [self._chunk(request, {fault.reasoning_key: fault.reasoning})] if fault.reasoning else []
        frames += [self._chunk(request, {"content": piece}) for piece in pieces]
        frames += self._ending(request, fault, text)
        writer.write(
            _head(200, {"content-type": "text/event-stream; charset=utf-8", "transfer-encoding": "chunked"})
        )
        if fault.hang == "body":
            await writer.drain()
            return await _hang(request, reader, watch)
        for number, frame in enumerate(frames):
            if fault.comments:
                await self._write(writer, ": keep-alive\n\n", fault)
            if number == fault.after and (
                fault.drop == "within" or fault.hang == "within" or fault.frame is not None
            ):
                return await self._break(request, fault, reader, writer, watch)
            await self._write(writer, f"data: {frame}\n\n", fault)
            if self._latency:
                await asyncio.sleep(self._latency)
        # Before the end, because the next request may follow it at once, and is not the watch's to read.
        watch.cancel()
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return not request.closed_early.is_set()

    async def _break(
        self,
        request: Request,
        fault: Fault,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        watch: "asyncio.Task[None]",
    ) -> bool:
        await writer.drain()
        if fault.hang:
            return await _hang(request, reader, watch)
        if fault.drop:
            writer.close()
            return False
        await self._write(writer, f"data: {fault.frame}\n\n", fault)
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return False

    def _ending(self, request: Request, fault: Fault, text: str) -> list[str]:
        usage = {
            "prompt_tokens": request.tokens,
            "completion_tokens": max(1, -(-len(text) // 4)),
            "total_tokens": request.tokens + max(1, -(-len(text) // 4)),
            "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
        }
        wanted = request.body.get("stream_options") == {"include_usage": True} and not fault.no_usage
        frames: list[str] = []
        if not fault.no_finish:
            extra = {"usage": usage} if wanted and fault.usage_on_finish else {}
            frames.append(self._chunk(request, {}, fault.finish, **extra))
        if wanted and not fault.usage_on_finish:
            frames.append(self._chunk(request, None, usage=usage))
        return frames if fault.no_done else [*frames, "[DONE]"]

    def _chunk(
        self, request: Request, delta: dict[str, Any] | None, finish: str | None = None, **extra: Any
    ) -> str:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        chunk: dict[str, Any] = {
            "id": f"chatcmpl-{len(self.requests):024d}",
            "object": "chat.completion.chunk",
            "created": 1_700_000_000,
            "model": request.body.get("model", self._model),
            "service_tier": "default",
            "system_fingerprint": None,
            "choices": [] if delta is None else [choice],
        }
        return json.dumps(chunk | extra)

    async def _write(self, writer: asyncio.StreamWriter, text: str, fault: Fault) -> None:
        data = text.encode()
        pieces = [data[at : at + 1] for at in range(len(data))] if fault.one_byte else [data]
        for piece in pieces:
            writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        await writer.drain()


async def _watch(request: Request, reader: asyncio.StreamReader) -> None:
    """Notice that the client goes while it is being answered."""
    await reader.read(1)
    request.closed_early.set()


async def _hang(
    request: Request, reader: asyncio.StreamReader, watch: "asyncio.Task[None] | None" = None
) -> bool:
    await (watch or asyncio.create_task(_watch(request, reader)))
    return False


def _head(status: int, headers: Mapping[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} Status", *(f"{name}: {value}" for name, value in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


async def _send_whole(
    writer: asyncio.StreamWriter, status: int, body: str, headers: Mapping[str, str]
) -> None:
    data = body.encode()
    writer.write(_head(status, {**headers, "content-length": str(len(data))}) + data)
    await writer.drain()

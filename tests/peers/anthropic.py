"""A loopback server that speaks Anthropic's Messages as the vendor does, and misbehaves on request.

It keeps to the vendor's wire format in all that a client can see: event names and their order, ids, the
shapes and words of errors, usage in parts. Its prompt cache is the vendor's: entries are written at marks
only, each for the whole prefix of blocks up to it, and looked for at the marks and some blocks before each;
what lies between the longest entry found and the last mark is written, the rest is billed as it is.

Its cache diagnostics compare a request with the one that it names, as both were sent: whether anything was
cached has no part in it.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from typing import Any
from urllib.parse import parse_qs

from tests.peers.server import Context, Exchange, Fault, Peer, Request

_VERSIONS = ("2023-01-01", "2023-06-01", "2026-10-21")


@dataclass(frozen=True, slots=True)
class Bill:
    """Input tokens of one request, by price: at the full one, written to the cache, read from it."""

    full: int
    written: int
    read: int


@dataclass(frozen=True, slots=True)
class _Block:
    role: str
    text: str
    marked: bool


class AnthropicPeer(Peer):
    """`POST /v1/messages` (streamed) and `GET /v1/models`. The key is checked where one is given; it may
    come in either header, in all versions of the API that there are."""

    # As on most models; on others it is 512, 2048 or 4096.
    least_cached = 1024
    look_back = 20
    """Blocks at which an entry is looked for from each mark on, with its own."""
    most_marks = 4
    most_output = 128_000
    context_size = 200_000
    others: Sequence[str] = ()
    """Models that are listed beside its own."""
    compares_late = False
    """True if no comparison is done before its answer begins."""

    @cached_property
    def bills(self) -> list[Bill]:
        """How each request was billed that was answered."""
        return []

    @cached_property
    def _entries(self) -> set[str]:
        return set()

    @cached_property
    def _compared(self) -> dict[str, list[_Block]]:
        """The requests that can be compared with, by the ids of their answers."""
        return {}

    def forget(self) -> None:
        """Let all cache entries expire."""
        self._entries.clear()

    def refuse(self, request: Request) -> tuple[int, str] | None:
        path, _, _query = request.path.partition("?")
        if (request.method, path) not in {("POST", "/v1/messages"), ("GET", "/v1/models")}:
            return 404, self._error("not_found_error", "Not Found")
        bearer = request.headers.get("authorization", "").removeprefix("Bearer ")
        given = request.headers.get("x-api-key", bearer)
        if self.key and given != self.key:
            words = "invalid x-api-key" if given else "x-api-key header is required"
            return 401, self._error("authentication_error", words)
        version = request.headers.get("anthropic-version")
        if version not in _VERSIONS:
            words = f'"{version}" is not a valid version' if version else "header is required"
            return 400, self._error("invalid_request_error", f"anthropic-version: {words}")
        return None if request.method == "GET" else self._refuse_message(request)

    def _refuse_message(self, request: Request) -> tuple[int, str] | None:
        body = request.body
        for param in ("model", "max_tokens", "messages"):
            if param not in body:
                return 400, self._error("invalid_request_error", f"{param}: Field required")
        for param in self.refuses:
            if param in body:
                words = f"{param}: Extra inputs are not permitted"
                return 400, self._error("invalid_request_error", words)
        if body["model"] != self.model:
            return 404, self._error("not_found_error", f"model: {body['model']}")
        words = self._complaint(body)
        return (400, self._error("invalid_request_error", words)) if words else None

    def _complaint(self, body: dict[str, Any]) -> str:
        """What is wrong with a message, in the vendor's words; nothing where it is right."""
        asked, messages = body["max_tokens"], body["messages"]
        if asked < 1:
            return "max_tokens: Input should be greater than or equal to 1"
        if asked > self.most_output:
            limit = "which is the maximum allowed number of output tokens for"
            return f"max_tokens: {asked} > {self.most_output}, {limit} {self.model}"
        if not messages:
            return "messages: at least one message is required"
        for message in messages:
            if message["role"] not in ("user", "assistant"):
                return f"role '{message['role']}' is not supported on this model"
        if messages[0]["role"] != "user":
            return 'messages: first message must use the "user" role'
        for number, message in enumerate(messages[:-1]):
            if not message["content"]:
                exception = "except for the optional final assistant message"
                return f"messages.{number}: all messages must have non-empty content {exception}"
        if messages[-1]["role"] == "assistant":
            return (
                "This model does not support assistant message prefill. "
                "The conversation must end with a user message."
            )
        return self._block_complaint(body)

    def _block_complaint(self, body: dict[str, Any]) -> str:
        for place in ("system", "messages"):
            for block in _blocks({place: body.get(place, [])}):
                if not block.text:
                    return f"{place}: text content blocks must be non-empty"
                if not block.text.strip():
                    return f"{place}: text content blocks must contain non-whitespace text"
        marks = sum(block.marked for block in _blocks(body))
        if marks > self.most_marks:
            most = f"A maximum of {self.most_marks} blocks with cache_control may be provided."
            return f"{most} Found {marks}."
        size = _tokens(_blocks(body))
        if size > self.context_size:
            return f"prompt is too long: {size} tokens > {self.context_size} maximum"
        return ""

    def whole(self, request: Request) -> tuple[int, str] | None:
        if request.method != "GET":
            return None
        asked = parse_qs(request.path.partition("?")[2])
        names = [self.model, *self.others]
        start = names.index(asked["after_id"][0]) + 1 if "after_id" in asked else 0
        page = names[start : start + int(asked.get("limit", ["20"])[0])]
        listing = {
            "data": [self._model(name) for name in page],
            "has_more": start + len(page) < len(names),
            "first_id": page[0] if page else None,
            "last_id": page[-1] if page else None,
        }
        return 200, json.dumps(listing)

    def context(self, request: Request) -> Context:
        return [{"role": block.role, "content": block.text} for block in _blocks(request.body)]

    def frames(self, request: Request, exchange: Exchange, fault: Fault) -> list[str]:
        bill = self._bill(request.body)
        self.bills.append(bill)
        exchange.cached = bill.read
        answer = f"msg_{len(self.requests):024d}"
        start: dict[str, Any] = {
            "id": answer,
            "type": "message",
            "role": "assistant",
            "model": request.body["model"],
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "stop_details": None,
            "diagnostics": self._diagnose(request.body, answer),
            "usage": {
                **_input(bill),
                "cache_creation": {
                    "ephemeral_5m_input_tokens": bill.written,
                    "ephemeral_1h_input_tokens": 0,
                },
                "output_tokens": 1,
                "service_tier": "standard",
                "inference_geo": "global",
            },
        }
        frames = [_frame("message_start", message=start)]
        for index, (kind, deltas) in enumerate(_contents(exchange, fault)):
            frames.append(_frame("content_block_start", index=index, content_block=kind))
            frames += [] if index else [_frame("ping")]
            frames += [_frame("content_block_delta", index=index, delta=delta) for delta in deltas]
            frames.append(_frame("content_block_stop", index=index))
        return frames + _ending(exchange, fault, bill)

    def _cached(self, context: Context) -> int:
        """Nothing is known before the request's marks are looked at."""
        return 0

    def _bill(self, body: dict[str, Any]) -> Bill:
        """Look a request up in the cache, and write it there."""
        blocks = _blocks(body)
        prefixes, digest = list[str](), hashlib.sha256(self.model.encode())
        for block in blocks:
            digest.update(json.dumps([block.role, block.text]).encode())
            prefixes.append(digest.hexdigest())
        sizes = [_tokens(blocks[: index + 1]) for index in range(len(blocks))]
        marks = [index for index, block in enumerate(blocks) if block.marked]
        seen = (at for mark in reversed(marks) for at in range(mark, max(-1, mark - self.look_back), -1))
        read = next((sizes[at] for at in seen if prefixes[at] in self._entries), 0)
        kept = [mark for mark in marks if sizes[mark] >= self.least_cached]
        self._entries.update(prefixes[mark] for mark in kept)
        written = max(0, sizes[kept[-1]] - read) if kept else 0
        return Bill(_tokens(blocks) - written - read, written, read)

    def _diagnose(self, body: dict[str, Any], answer: str) -> dict[str, Any] | None:
        """Compare a request with the one that it names; None where it names none, or continues that one."""
        if "diagnostics" not in body:
            return None
        blocks, previous = _blocks(body), body["diagnostics"]["previous_message_id"]
        before = self._compared.get(previous or "")
        self._compared[answer] = blocks
        if not previous:
            return None
        if self.compares_late:
            return {"cache_miss_reason": None}
        if before is None:
            return {"cache_miss_reason": {"type": "previous_message_not_found"}}
        same = _same(before, blocks)
        if same == len(before):
            return None
        kind = "system_changed" if before[same].role == "system" else "messages_changed"
        missed = _tokens(before[same:])
        return {"cache_miss_reason": {"type": kind, "cache_missed_input_tokens": missed}}

    def _model(self, name: str) -> dict[str, Any]:
        return {
            "type": "model",
            "id": name,
            "display_name": name.title(),
            "created_at": "2026-02-04T00:00:00Z",
            "lifecycle": "active",
            "max_input_tokens": self.context_size,
            "max_tokens": self.most_output,
        }

    def _error(self, kind: str, words: str) -> str:
        return json.dumps(error_object(kind, words) | {"request_id": f"req_{len(self.requests):024d}"})


def error_object(kind: str, words: str) -> dict[str, Any]:
    """An error as the vendor writes it, in a body or in mid-stream."""
    return {"type": "error", "error": {"type": kind, "message": words}}


def error_event(kind: str, words: str) -> str:
    """An error in mid-stream, for `Fault.frame`: the event's name follows its data."""
    return f"{json.dumps(error_object(kind, words))}\nevent: error"


def _frame(kind: str, **members: Any) -> str:
    return f"event: {kind}\ndata: {json.dumps({'type': kind} | members)}"


def _contents(exchange: Exchange, fault: Fault) -> list[tuple[dict[str, str], list[dict[str, str]]]]:
    """The blocks of an answer, each as it begins and with its deltas; one without text has none."""
    contents: list[tuple[dict[str, str], list[dict[str, str]]]] = []
    if fault.reasoning:
        thought = {"type": "thinking_delta", "thinking": fault.reasoning}
        signature = {"type": "signature_delta", "signature": "EqQBCgIYAhIM"}
        contents.append(({"type": "thinking", "thinking": "", "signature": ""}, [thought, signature]))
    if exchange.pieces:
        texts = [{"type": "text_delta", "text": piece} for piece in exchange.pieces]
        contents.append(({"type": "text", "text": ""}, texts))
    return contents


def _ending(exchange: Exchange, fault: Fault, bill: Bill) -> list[str]:
    delta = {
        "stop_reason": "end_turn" if fault.finish == "stop" else fault.finish,
        "stop_sequence": None,
        "stop_details": None,
    }
    usage = {**_input(bill), "output_tokens": exchange.output}
    members = {"delta": delta} if fault.no_usage else {"delta": delta, "usage": usage}
    finish = [] if fault.no_finish else [_frame("message_delta", **members)]
    return finish if fault.no_done else [*finish, _frame("message_stop")]


def _input(bill: Bill) -> dict[str, int]:
    return {
        "input_tokens": bill.full,
        "cache_creation_input_tokens": bill.written,
        "cache_read_input_tokens": bill.read,
    }


def _blocks(body: dict[str, Any]) -> list[_Block]:
    """The blocks of a request in the order in which the model is given them."""
    messages = [{"role": "system", "content": body.get("system", [])}, *body.get("messages", [])]
    return [
        _Block(message["role"], block["text"], "cache_control" in block)
        for message in messages
        for block in _listed(message["content"])
    ]


def _same(before: Sequence[_Block], blocks: Sequence[_Block]) -> int:
    """How many blocks two requests begin with alike; the marks are no part of it."""
    pairs = zip(before, blocks, strict=False)
    alike = ((one.role, one.text) == (other.role, other.text) for one, other in pairs)
    return sum(1 for _block in takewhile(bool, alike))


def _listed(content: str | list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Content as a list; text alone is short for a list of one block."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _tokens(blocks: Sequence[_Block]) -> int:
    return -(-sum(len(block.text) for block in blocks) // 4)

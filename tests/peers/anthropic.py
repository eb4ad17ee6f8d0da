"""A loopback server that speaks Anthropic's Messages as the vendor does, and misbehaves on request.

It keeps to the vendor's wire format in all that a client can see: event names and their order, ids, the
shapes and words of errors, usage in parts. Its prompt cache is the vendor's: entries are written at marks
only, each for the whole prefix of blocks up to it, and looked for at the marks and some blocks before each;
what lies between the longest entry found and the last mark is written, the rest is billed as it is.

Its cache diagnostics compare a request with the one that it names, as both were sent: whether anything was
cached has no part in it.

A reply may be an `Answer`, with thinking and calls. What of these comes back has to be as it was sent.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from typing import Any
from urllib.parse import parse_qs

from tests.peers.anthropic_answers import Answer, Streamed, Thinking, streamed
from tests.peers.anthropic_history import THINKING, complaint, listed
from tests.peers.anthropic_threads import BETA as THREADS
from tests.peers.anthropic_threads import MOST_MARKS, Threads
from tests.peers.server import Context, Exchange, Fault, Peer, Request, count

BINDING = "thinking-binding-controls-2026-08-01"
INTERLEAVED = "interleaved-thinking-2025-05-14"
_FIELDS = frozenset(
    {
        "model",
        "max_tokens",
        "messages",
        "stream",
        "system",
        "tools",
        "tool_choice",
        "thinking",
        "output_config",
        "service_tier",
        "metadata",
        "diagnostics",
        "thread",
    }
)


@dataclass(frozen=True, slots=True)
class Bill:
    """Input tokens of one request, by price: at the full one, written to the cache, read from it."""

    full: int
    written: int
    read: int
    long: int = 0
    """Those of the written that live for an hour."""


@dataclass(frozen=True, slots=True)
class _Block:
    role: str
    kind: str
    text: str
    whole: str
    """All of it but the mark, as JSON."""
    marked: bool
    lifetime: str = "5m"


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
    lifecycles: Mapping[str, tuple[str, str]] = {}
    """The lifecycle of models that are not active, each with the day of their retirement."""
    compares_late = False
    """True if no comparison is done before its answer begins."""
    thinking_types: Sequence[str] = ("adaptive", "between_tools", "disabled", "enabled")
    efforts: Sequence[str] = ("low", "medium", "high", "xhigh", "max")
    versions: Sequence[str] = ("2023-01-01", "2023-06-01", "2026-10-21")
    betas: Sequence[str] = (BINDING, INTERLEAVED, THREADS)
    """The features in beta that it takes."""
    refuses_eager_input = False
    refuses_lifetimes = False
    tier = "standard"
    """The class of service that answers."""
    binds = False
    """True if thinking is refused once what comes before it has changed."""

    @cached_property
    def threads(self) -> Threads:
        """The conversations that it holds."""
        return Threads()

    @cached_property
    def _issued(self) -> list[dict[str, Any]]:
        """All thinking that it wrote."""
        return []

    @cached_property
    def _written(self) -> dict[str, list[dict[str, Any]]]:
        """The thinking of each answer, by the ids of the calls in it."""
        return {}

    @cached_property
    def _prefixes(self) -> dict[str, str]:
        """What came before thinking, by its signature."""
        return {}

    @cached_property
    def bills(self) -> list[Bill]:
        """How each request was billed that was answered."""
        return []

    @cached_property
    def _entries(self) -> dict[str, str]:
        """The lifetimes of entries, by their prefixes."""
        return {}

    @cached_property
    def _compared(self) -> dict[str, list[_Block]]:
        """The requests that can be compared with, by the ids of their answers."""
        return {}

    def forget(self) -> None:
        """Let all cache entries expire."""
        self._entries.clear()

    def rest(self) -> None:
        """Let the cache entries of five minutes expire, and all threads."""
        for prefix in [prefix for prefix, lifetime in self._entries.items() if lifetime == "5m"]:
            del self._entries[prefix]
        self.threads.forget()

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
        if version not in self.versions:
            words = f'"{version}" is not a valid version' if version else "header is required"
            return 400, self._error("invalid_request_error", f"anthropic-version: {words}")
        betas = request.headers.get("anthropic-beta", "").split(",")
        if unknown := [beta for beta in betas if beta and beta not in self.betas]:
            words = f"Unexpected value(s) `{'`, `'.join(unknown)}` for the `anthropic-beta` header."
            return 400, self._error("invalid_request_error", words)
        return None if request.method == "GET" else self._refuse_message(request)

    def _refuse_message(self, request: Request) -> tuple[int, str] | None:
        body = request.body
        for param in ("model", "max_tokens", "messages"):
            if param not in body:
                return 400, self._error("invalid_request_error", f"{param}: Field required")
        unknown = sorted(body.keys() - (_FIELDS | {"temperature"})) + [
            param for param in self.refuses if param in body
        ]
        if unknown:
            return 400, self._error("invalid_request_error", f"{unknown[0]}: Extra inputs are not permitted")
        if refusal := self.threads.refuse(request):
            return refusal
        if body["model"] != self.model:
            return 404, self._error("not_found_error", f"model: {body['model']}")
        words = self._thinking_complaint(request) or self._complaint(self.threads.body(request))
        return (400, self._error("invalid_request_error", words)) if words else None

    def _thinking_complaint(self, request: Request) -> str:
        body = request.body
        config, effort = body.get("thinking"), body.get("output_config", {}).get("effort")
        if effort is not None and effort not in self.efforts:
            return "This model does not support the effort parameter."
        if config is None:
            return ""
        if config["type"] not in self.thinking_types:
            return f'"thinking.type.{config["type"]}" is not supported for this model.'
        if config["type"] == "enabled" and not 1024 <= config["budget_tokens"] < body["max_tokens"]:
            return "thinking.enabled.budget_tokens: Input should be from 1024 to below max_tokens"
        if "block_binding" in config and BINDING not in request.headers.get("anthropic-beta", ""):
            return "thinking.adaptive.block_binding: Extra inputs are not permitted"
        bound = self.binds and config.get("block_binding") != {"prefix_mismatch_behavior": "drop_block"}
        return self._binding_complaint(self.threads.body(request)) if bound else ""

    def _binding_complaint(self, body: dict[str, Any]) -> str:
        for at, message in enumerate(body["messages"]):
            for place, block in enumerate(listed(message["content"])):
                before = _digest(body | {"messages": body["messages"][:at]})
                if self._prefixes.get(_seal(block), before) != before:
                    changed = "the conversation before this `thinking` block has changed"
                    return f"messages.{at}.content.{place}: {changed}"
        return ""

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
        for at, tool in enumerate(body.get("tools", ())):
            if self.refuses_eager_input and "eager_input_streaming" in tool:
                return f"tools.{at}.custom.eager_input_streaming: Extra inputs are not permitted"
        for place in ("system", "messages"):
            for block in _blocks({place: body.get(place, [])}):
                if block.kind == "text" and not block.text:
                    return f"{place}: text content blocks must be non-empty"
                if block.kind == "text" and not block.text.strip():
                    return f"{place}: text content blocks must contain non-whitespace text"
        lifetimes = [block.lifetime for block in _blocks(body) if block.marked]
        if self.refuses_lifetimes and "1h" in lifetimes:
            place = "messages.0.content.0.text.cache_control.ephemeral.ttl"
            return f"{place}: Extra inputs are not permitted"
        if lifetimes != sorted(lifetimes):
            return "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block"
        marks = len(lifetimes)
        if body.get("thread") and marks > MOST_MARKS:
            return (
                f"thread: a maximum of {MOST_MARKS} blocks with cache_control may be provided. Found {marks}."
            )
        if marks > self.most_marks:
            most = f"A maximum of {self.most_marks} blocks with cache_control may be provided."
            return f"{most} Found {marks}."
        size = _tokens(_blocks(body))
        if size > self.context_size:
            return f"prompt is too long: {size} tokens > {self.context_size} maximum"
        return complaint(body, self._written, self._issued)

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
        return _context(self.threads.body(request))

    def sent_tokens(self, request: Request) -> int:
        return count(_context(request.body)) if request.body.get("thread") else super().sent_tokens(request)

    def frames(self, request: Request, exchange: Exchange, fault: Fault) -> list[str]:
        body = self.threads.body(request)
        bill = self._bill(body)
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
                    "ephemeral_5m_input_tokens": bill.written - bill.long,
                    "ephemeral_1h_input_tokens": bill.long,
                },
                "output_tokens": 1,
                "service_tier": self.tier,
                "inference_geo": "global",
            },
        }
        frames = [_frame("message_start", message=start)]
        contents = self._contents(request.body, exchange, fault)
        for index, block in enumerate(contents):
            frames.append(_frame("content_block_start", index=index, content_block=block.start))
            frames += [] if index else [_frame("ping")]
            frames += [_frame("content_block_delta", index=index, delta=delta) for delta in block.deltas]
            frames.append(_frame("content_block_stop", index=index))
        content = [block.whole for block in contents]
        self._remember(body, content)
        cut = bool(fault.drop or fault.hang or fault.frame or fault.no_finish)
        self.threads.hold(request, answer, content, whole=not cut and fault.finish == "stop")
        return frames + _ending(content, exchange, fault, bill)

    def _contents(self, body: dict[str, Any], exchange: Exchange, fault: Fault) -> list[Streamed]:
        """The blocks of an answer; one without text has none."""
        number = len(self.requests)
        if isinstance(exchange.text, Answer):
            display = body.get("thinking", {}).get("display", "summarized")
            return [
                streamed(block, f"{number:020d}{at:04d}", self.token, display=display)
                for at, block in enumerate(exchange.text.blocks)
            ]
        contents: list[Streamed] = []
        if fault.reasoning:
            contents.append(streamed(Thinking(fault.reasoning), f"{number:024d}", len(fault.reasoning)))
        if exchange.pieces:
            texts = [{"type": "text_delta", "text": piece} for piece in exchange.pieces]
            whole = {"type": "text", "text": exchange.text}
            contents.append(Streamed({"type": "text", "text": ""}, texts, whole))
        return contents

    def _remember(self, body: dict[str, Any], content: list[dict[str, Any]]) -> None:
        thinking = [block for block in content if block["type"] in THINKING]
        self._issued.extend(thinking)
        self._prefixes.update({_seal(block): _digest(body) for block in thinking})
        self._written.update({block["id"]: thinking for block in content if block["type"] == "tool_use"})

    def _cached(self, context: Context) -> int:
        """Nothing is known before the request's marks are looked at."""
        return 0

    def _bill(self, body: dict[str, Any]) -> Bill:
        """Look a request up in the cache, and write it there."""
        blocks = _blocks(body)
        prefixes, digest = list[str](), hashlib.sha256(self.model.encode())
        for block in blocks:
            digest.update(json.dumps([block.role, block.whole]).encode())
            prefixes.append(digest.hexdigest())
        sizes = [_tokens(blocks[: index + 1]) for index in range(len(blocks))]
        marks = [index for index, block in enumerate(blocks) if block.marked]
        seen = (at for mark in reversed(marks) for at in range(mark, max(-1, mark - self.look_back), -1))
        read = next((sizes[at] for at in seen if prefixes[at] in self._entries), 0)
        kept = [mark for mark in marks if sizes[mark] >= self.least_cached]
        self._entries.update({prefixes[mark]: blocks[mark].lifetime for mark in kept})
        written = max(0, sizes[kept[-1]] - read) if kept else 0
        lasts = bool(kept) and blocks[kept[-1]].lifetime == "1h"
        return Bill(_tokens(blocks) - written - read, written, read, written if lasts else 0)

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
        kinds = {"system": "system_changed", "tools": "tools_changed"}
        kind = kinds.get(before[same].role, "messages_changed")
        missed = _tokens(before[same:])
        return {"cache_miss_reason": {"type": kind, "cache_missed_input_tokens": missed}}

    def _model(self, name: str) -> dict[str, Any]:
        lifecycle, day = self.lifecycles.get(name, ("active", ""))
        return {
            "type": "model",
            "id": name,
            "display_name": name.title(),
            "created_at": "2026-02-04T00:00:00Z",
            "lifecycle": lifecycle,
            "retires_at": f"{day}T00:00:00Z" if day else None,
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


def _ending(content: list[dict[str, Any]], exchange: Exchange, fault: Fault, bill: Bill) -> list[str]:
    calls = any(block["type"] == "tool_use" for block in content)
    ended = "tool_use" if calls else "end_turn"
    delta = {
        "stop_reason": ended if fault.finish == "stop" else fault.finish,
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
    tools = [{"type": "tool", **tool} for tool in body.get("tools", [])]
    messages: list[dict[str, Any]] = [
        {"role": "tools", "content": tools},
        {"role": "system", "content": body.get("system", [])},
        *body.get("messages", []),
    ]
    return [_block(message["role"], block) for message in messages for block in listed(message["content"])]


def _block(role: str, block: dict[str, Any]) -> _Block:
    unmarked = {name: value for name, value in block.items() if name != "cache_control"}
    lifetime = block.get("cache_control", {}).get("ttl", "5m")
    whole = json.dumps(unmarked)
    return _Block(role, block["type"], _text(unmarked), whole, "cache_control" in block, lifetime)


def _text(block: dict[str, Any]) -> str:
    """What a block counts for, as text; an image by its size in pixels, which nobody measures here."""
    match block["type"]:
        case "text":
            return block["text"]
        case "tool_result":
            content = block.get("content", "")
            return content if isinstance(content, str) else "".join(_text(each) for each in content)
        case "image":
            return "[image]"
        case _:
            return json.dumps(block)


def _context(body: dict[str, Any]) -> Context:
    """The messages of a request as the model reads them, without its own thinking."""
    return [
        {"role": block.role, "content": block.text}
        for block in _blocks(body)
        if block.role != "tools" and block.kind not in THINKING
    ]


def _seal(block: dict[str, Any]) -> str:
    """What tells thinking from other thinking; nothing for other blocks."""
    return block.get("signature") or block.get("data") or ""


def _digest(body: dict[str, Any]) -> str:
    """What thinking is bound to: all that comes before it, without the marks and other thinking."""
    blocks = [[block.role, block.whole] for block in _blocks(body) if block.kind not in THINKING]
    return hashlib.sha256(json.dumps(blocks).encode()).hexdigest()


def _same(before: Sequence[_Block], blocks: Sequence[_Block]) -> int:
    """How many blocks two requests begin with alike; the marks are no part of it."""
    pairs = zip(before, blocks, strict=False)
    alike = ((one.role, one.whole) == (other.role, other.whole) for one, other in pairs)
    return sum(1 for _block in takewhile(bool, alike))


def _tokens(blocks: Sequence[_Block]) -> int:
    return -(-sum(len(block.text) for block in blocks) // 4)

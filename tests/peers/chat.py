"""A loopback server that speaks Chat Completions as the vendor does, and misbehaves on request.

It keeps to the vendor's wire format in all that a client can see: ids, object names, the role delta
first, a finish chunk, a usage chunk without choices, `[DONE]`. A reply may be an `Answer`, with calls and
reasoning; `habits` are those of another server that is compatible, `rules` what it demands.
"""

import json
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

from tests.peers.chat_answers import OPENAI, Answer, Delta, call_deltas
from tests.peers.chat_history import Rules, complaint, context_of
from tests.peers.server import Context, Exchange, Fault, Peer, Request

_FIELDS = frozenset(
    {
        "model",
        "messages",
        "stream",
        "stream_options",
        "tools",
        "tool_choice",
        "parallel_tool_calls",
        "reasoning_effort",
        "prompt_cache_key",
        "service_tier",
    }
)


class ChatPeer(Peer):
    """`POST /v1/chat/completions` and `GET /v1/models`."""

    prefix = "/v1"
    habits = OPENAI
    rules = Rules()
    own_fields: Iterable[str] = ()
    """Fields of a request that it has beside OpenAI's."""
    shutdown_date = ""
    """The end of its model, as its list states it."""
    no_tools: tuple[int, str] | None = None
    """Status and words with which it refuses tools."""

    @cached_property
    def _written(self) -> list[object]:
        """All reasoning that it wrote."""
        return []

    def refuse(self, request: Request) -> tuple[int, str] | None:
        if (request.method, request.path) not in {("POST", "/v1/chat/completions"), ("GET", "/v1/models")}:
            return 404, _error(f"Invalid URL ({request.method} {request.path})", "invalid_request_error")
        if self.key and request.headers.get("authorization") != f"Bearer {self.key}":
            given = request.headers.get("authorization", "").removeprefix("Bearer ")
            return 401, _error(
                f"Incorrect API key provided: {given}.", "invalid_request_error", "invalid_api_key"
            )
        for param in self.refuses:
            if param in request.body:
                text = f"Unsupported parameter: '{param}' is not supported with this model."
                return 400, _error(text, "invalid_request_error", "unsupported_parameter", param)
        return self._refuse_content(request.body) if request.method == "POST" else None

    def _refuse_content(self, body: dict[str, Any]) -> tuple[int, str] | None:
        if "tools" in body and self.no_tools:
            status, words = self.no_tools
            return status, _error(words, "api_error")
        if unknown := sorted(body.keys() - _FIELDS - set(self.own_fields)):
            return 400, _error(
                f"Unknown parameter: '{unknown[0]}'.", "invalid_request_error", None, unknown[0]
            )
        words = complaint(body, self.rules, self._written)
        return (400, _error(words, "invalid_request_error")) if words else None

    def whole(self, request: Request) -> tuple[int, str] | None:
        if request.method != "GET":
            return None
        model: dict[str, Any] = {
            "id": self.model,
            "object": "model",
            "created": 1_700_000_000,
            "owned_by": "us",
        }
        model |= {"shutdown_date": self.shutdown_date} if self.shutdown_date else {}
        return 200, json.dumps({"object": "list", "data": [model]})

    def context(self, request: Request) -> Context:
        return context_of(request.body)

    def frames(self, request: Request, exchange: Exchange, fault: Fault) -> list[str]:
        deltas: list[Delta] = [{"role": "assistant", "content": "", "refusal": None}]
        deltas += [{fault.reasoning_key: fault.reasoning}] if fault.reasoning else []
        deltas += self._deltas(exchange, fault)
        frames = [self._chunk(request, delta) for delta in deltas]
        return [f"data: {frame}" for frame in [*frames, *self._ending(request, exchange, fault)]]

    def _deltas(self, exchange: Exchange, fault: Fault) -> Iterator[Delta]:
        """The content of an answer."""
        answer = exchange.text if isinstance(exchange.text, Answer) else Answer()
        if answer.details:
            self._written.append(list(answer.details))
            yield from ({"reasoning_details": [piece]} for piece in answer.details)
        elif answer.reasoning:
            self._written.append(answer.reasoning)
            yield from ({fault.reasoning_key: piece} for piece in self._cut(answer.reasoning))
        beside: Delta = {"tool_calls": []} if self.habits.empty else {}
        yield from ({"content": piece} | beside for piece in exchange.pieces)
        yield from call_deltas(answer.calls, self.token, self.habits)
        yield from ({"content": piece} | beside for piece in self._cut(answer.after))

    def _cut(self, text: str) -> list[str]:
        return [text[at : at + self.token] for at in range(0, len(text), self.token)]

    def _ending(self, request: Request, exchange: Exchange, fault: Fault) -> list[str]:
        usage = {
            "prompt_tokens": exchange.input,
            "completion_tokens": exchange.output,
            "total_tokens": exchange.input + exchange.output,
            "prompt_tokens_details": {"cached_tokens": exchange.cached, "audio_tokens": 0},
        }
        wanted = request.body.get("stream_options") == {"include_usage": True} and not fault.no_usage
        frames: list[str] = []
        if not fault.no_finish:
            extra = {"usage": usage} if wanted and fault.usage_on_finish else {}
            called = isinstance(exchange.text, Answer) and exchange.text.calls
            finish = self.habits.finish if called and fault.finish == "stop" else fault.finish
            frames.append(self._chunk(request, {}, finish, **extra))
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
            "model": request.body.get("model", self.model),
            "service_tier": "default",
            "system_fingerprint": None,
            "choices": [] if delta is None else [choice],
        }
        return json.dumps(chunk | extra)


def _error(message: str, kind: str, code: str | None = None, param: str | None = None) -> str:
    return json.dumps({"error": {"message": message, "type": kind, "param": param, "code": code}})

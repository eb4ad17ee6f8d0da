"""A loopback server that speaks Chat Completions as the vendor does, and misbehaves on request.

It keeps to the vendor's wire format in all that a client can see: ids, object names, the role delta
first, a finish chunk, a usage chunk without choices, `[DONE]`.
"""

import json
from typing import Any

from tests.peers.server import Context, Exchange, Fault, Peer, Request


class ChatPeer(Peer):
    """`POST /v1/chat/completions` and `GET /v1/models`."""

    prefix = "/v1"

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
        return None

    def whole(self, request: Request) -> tuple[int, str] | None:
        if request.method != "GET":
            return None
        model = {"id": self.model, "object": "model", "created": 1_700_000_000, "owned_by": "us"}
        return 200, json.dumps({"object": "list", "data": [model]})

    def context(self, request: Request) -> Context:
        return [dict(message) for message in request.body["messages"]]

    def frames(self, request: Request, exchange: Exchange, fault: Fault) -> list[str]:
        frames = [self._chunk(request, {"role": "assistant", "content": "", "refusal": None})]
        frames += [self._chunk(request, {fault.reasoning_key: fault.reasoning})] if fault.reasoning else []
        frames += [self._chunk(request, {"content": piece}) for piece in exchange.pieces]
        return [f"data: {frame}" for frame in [*frames, *self._ending(request, exchange, fault)]]

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
            "model": request.body.get("model", self.model),
            "service_tier": "default",
            "system_fingerprint": None,
            "choices": [] if delta is None else [choice],
        }
        return json.dumps(chunk | extra)


def _error(message: str, kind: str, code: str | None = None, param: str | None = None) -> str:
    return json.dumps({"error": {"message": message, "type": kind, "param": param, "code": code}})

"""The message threads of `AnthropicPeer`: conversations that it holds, each to be gone on with once."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.peers.server import Request

BETA = "message-threads-2026-08-12"
MOST_MARKS = 3
"""Marks for the cache in a request of a thread; the vendor sets a fourth itself."""

_FIXED = ("model", "thinking", "output_config")
_HELD = ("system", "tools")


@dataclass(slots=True)
class Held:
    """A conversation up to one answer. It is there if the answer was `whole` and its client heard the end."""

    body: dict[str, Any]
    request: Request
    whole: bool
    continued: Request | None = None


class Threads:
    """The threads that are held. `forget` lets all of them expire; none is stored while `full`. Where they
    are `unsupported`, requests with a thread are refused; where `unknown`, the field is passed over, as
    servers do that only speak the same wire protocol."""

    def __init__(self) -> None:
        self.full = False
        self.unsupported = False
        self.unknown = False
        self._held: dict[str, Held] = {}

    def forget(self) -> None:
        """Let all that is held expire."""
        self._held.clear()

    def continue_all(self) -> None:
        """Continue all that is held, as another program would."""
        for held in self._held.values():
            held.continued = held.request

    def refuse(self, request: Request) -> tuple[int, str] | None:
        """Status and body of a refusal, for what has to do with the thread alone."""
        thread = request.body.get("thread")
        if thread is None or self.unknown:
            return None
        if BETA not in request.headers.get("anthropic-beta", "").split(","):
            return _refusal(400, "invalid_request_error", "thread: Extra inputs are not permitted")
        if self.unsupported:
            return _refusal(
                400, "invalid_request_error", "thread: not supported here", "thread_unsupported_request"
            )
        return self._refuse_continuation(request) if thread["type"] == "continue" else None

    def _refuse_continuation(self, request: Request) -> tuple[int, str] | None:
        held = self._held.get(request.body["thread"]["previous_message_id"])
        if held is None or not held.whole or held.request.closed_early.is_set():
            words = "thread: no usable state was found for previous_message_id"
            return _refusal(404, "not_found_error", words, "thread_not_found")
        if held.continued is not None:
            return _refuse_second(held.continued)
        fixed = [name for name in _FIXED if request.body.get(name) != held.body.get(name)]
        if differing := fixed + [name for name in _HELD if name in request.body]:
            words = f"thread: differing field(s): {', '.join(differing)}"
            return _refusal(400, "invalid_request_error", words, "thread_fingerprint_mismatch")
        return None

    def body(self, request: Request) -> dict[str, Any]:
        """The request as if it had been sent whole."""
        thread: dict[str, Any] = request.body.get("thread") or {}
        held = self._held.get(thread.get("previous_message_id", ""))
        if held is None or self.unknown:
            return request.body
        messages = [*held.body["messages"], *request.body["messages"]]
        kept = {name: held.body[name] for name in _HELD if name in held.body}
        return {**request.body, **kept, "messages": messages}

    def hold(self, request: Request, answer: str, content: list[dict[str, Any]], *, whole: bool) -> None:
        """Store the conversation with the answer of this id, and mark the one before as continued."""
        if not request.body.get("thread"):
            return
        body = self.body(request)
        before = self._held.get(request.body["thread"].get("previous_message_id", ""))
        if before is not None:
            before.continued = request
        messages = _unmarked([*body["messages"], {"role": "assistant", "content": content}])
        self._held[answer] = Held({**body, "messages": messages}, request, whole and not self.full)


def _refuse_second(first: Request) -> tuple[int, str]:
    if first.closed_early.is_set():
        words = "thread: another request is still continuing from this previous_message_id"
        return _refusal(400, "invalid_request_error", words, "thread_continue_in_flight")
    words = "thread: the response has already been continued"
    return _refusal(400, "invalid_request_error", words, "thread_already_continued")


def _refusal(status: int, kind: str, words: str, code: str = "") -> tuple[int, str]:
    error: dict[str, Any] = {"type": kind, "message": words}
    if code:
        error["details"] = {"error_code": code}
    return status, json.dumps({"type": "error", "error": error})


def _unmarked(messages: list[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Messages without the marks, which are those of the request that brought them."""
    return [
        {
            "role": message["role"],
            "content": [
                {name: value for name, value in block.items() if name != "cache_control"}
                for block in message["content"]
            ]
            if not isinstance(message["content"], str)
            else message["content"],
        }
        for message in messages
    ]

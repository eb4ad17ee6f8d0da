"""A loopback server that speaks Gemini's three surfaces as the vendor does, and misbehaves on request.

`streamGenerateContent` with its cumulative usage, Interactions with their stored answers, Live with its
handles and farewells; the errors in the shape that each of them has.
"""

import asyncio
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qs

from tests.peers.gemini_acts import Acts, text_of
from tests.peers.gemini_contents import Signatures, context_of, end_of, parts_of, refuse_contents
from tests.peers.gemini_interactions import Interactions, input_of, instruction_of, thought_tokens
from tests.peers.gemini_live import Kept, LiveManners, LiveTalk, camel, system_of
from tests.peers.server import Context, Exchange, Fault, Peer, PeerSocket, Reply, Request, count

_LIVE = re.compile(r"/ws/google\.ai\.generativelanguage\.v1(beta)?\.GenerativeService\.BidiGenerateContent")
_GENERATE = re.compile(r"/v1(?:beta)?/(models/[^/:]+):streamGenerateContent")
_OTHERS = re.compile(r"POST /v1(beta)?/interactions|GET /v1(beta)?/models")
_PAGE = "<!DOCTYPE html><html lang=en><title>Error 404 (Not Found)!!1</title></html>"


class GeminiPeer(Peer):
    """`POST /v1beta/models/{model}:streamGenerateContent`, `POST /v1beta/interactions`, `GET /v1beta/models`
    and the Live WebSocket, as well as the same of `v1`. `live` are the manners of Live; interactions are
    forgotten after `forgets_after` of them. `handed` is set when Live has given a handle.

    `acts` are the answers that are more than text, one for each; None for one of `replies`. Their parts come
    one by one, or `at_once`. A model of Gemini 3 or later wants its signatures back."""

    cache_step = 1

    def __init__(
        self,
        replies: Reply | Sequence[str] = ("Hello.",),
        *,
        live: LiveManners | None = None,
        forgets_after: int = 0,
        acts: Iterable[Acts | None] = (),
        at_once: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(replies, **options)
        self.live = live or LiveManners()
        self.talks: dict[str, Kept] = {}
        self.handed = asyncio.Event()
        self.at_once = at_once
        self.signatures = Signatures(required=self.model.startswith(("gemini-3", "gemini-4")))
        self.interactions = Interactions(self, forgets_after)
        self._acts = list(acts)

    def refuse(self, request: Request) -> tuple[int, str] | None:
        path, _, query = request.path.partition("?")
        if request.headers.get("upgrade", "").lower() == "websocket":
            return None if _LIVE.fullmatch(path) else (404, _PAGE)
        if refusal := self._refuse_key(request):
            return refusal
        if _OTHERS.fullmatch(f"{request.method} {path}"):
            return None if request.method == "GET" else self.interactions.refuse(request.body)
        found = _GENERATE.fullmatch(path)
        if request.method != "POST" or found is None:
            return 404, _PAGE
        if parse_qs(query).get("alt") != ["sse"]:
            return 400, error_body(400, "INVALID_ARGUMENT", "This peer answers with events: alt=sse.")
        return self._refuse_generation(found[1], camel(request.body))

    def whole(self, request: Request) -> tuple[int, str] | None:
        if request.method != "GET":
            return None
        methods = {self.model: ["generateContent", "countTokens"], "text-embedding": ["embedContent"]}
        models = [
            {
                "name": f"models/{name}",
                "version": "001",
                "displayName": name,
                "inputTokenLimit": 1_048_576,
                "outputTokenLimit": 65_536,
                "supportedGenerationMethods": supported,
            }
            for name, supported in methods.items()
        ]
        return 200, json.dumps({"models": models})

    def context(self, request: Request) -> Context:
        body = request.body
        if "contents" in body:
            body = camel(body)
            return system_of(body.get("systemInstruction")) + context_of(body["contents"])
        return self.interactions.context(body)

    def sent_tokens(self, request: Request) -> int:
        body = request.body
        if "contents" in body:
            return super().sent_tokens(request)
        return count(instruction_of(body) + input_of(body))

    def frames(self, request: Request, exchange: Exchange, fault: Fault) -> list[str]:
        if "contents" in request.body:
            # Lines end as they do there; the server adds the last of them.
            return [f"data: {json.dumps(chunk)}\r\n\r" for chunk in self._chunks(request, exchange, fault)]
        return self.interactions.events(request, exchange, fault)

    def next_acts(self, exchange: Exchange) -> Acts:
        """What the next answer consists of, if it is more than text; its text is that of `exchange`."""
        acts = self._acts.pop(0) if self._acts else None
        if acts is not None:
            exchange.text, exchange.pieces = text_of(acts), []
        return acts or ()

    async def converse(self, socket: PeerSocket) -> None:
        await LiveTalk(self, socket).run()

    def wrong_key(self, request: Request) -> bool:
        """Whether the request has a key that is not the right one."""
        return bool(self.key) and request.headers.get("x-goog-api-key") != self.key

    # What is refused.

    def _refuse_key(self, request: Request) -> tuple[int, str] | None:
        if not self.wrong_key(request):
            return None
        if "x-goog-api-key" not in request.headers:
            text = (
                "Method doesn't allow unregistered callers (callers without established identity). Please "
                "use API Key or other form of API consumer identity to call this API."
            )
            return 403, error_body(403, "PERMISSION_DENIED", text)
        info = {
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": "API_KEY_INVALID",
            "domain": "googleapis.com",
        }
        text = "API key not valid. Please pass a valid API key."
        return 400, error_body(400, "INVALID_ARGUMENT", text, info)

    def _refuse_generation(self, model: str, body: Mapping[str, Any]) -> tuple[int, str] | None:
        if model != f"models/{self.model}":
            text = (
                f"{model} is not found for API version v1beta, or is not supported for generateContent. "
                "Call ListModels to see the list of available models and their supported methods."
            )
            return 404, error_body(404, "NOT_FOUND", text)
        config = body.get("generationConfig", {})
        if "thinkingConfig" in config and "thinkingConfig" in self.refuses:
            return 400, error_body(400, "INVALID_ARGUMENT", f"Thinking is not enabled for {model}")
        if "thinkingLevel" in config.get("thinkingConfig", {}) and "thinkingLevel" in self.refuses:
            text = "Thinking level is not supported for this model."
            return 400, error_body(400, "INVALID_ARGUMENT", text)
        if "serviceTier" in body and "serviceTier" in self.refuses:
            text = 'Invalid JSON payload received. Unknown name "serviceTier": Cannot find field.'
            return 400, error_body(400, "INVALID_ARGUMENT", text)
        if "id" in self.refuses and '"functionResponse": {"id"' in json.dumps(body):
            text = "Invalid JSON payload received. Unknown name \"id\" at 'contents[2].parts[0].function_response'"
            return 400, error_body(400, "INVALID_ARGUMENT", f"{text}: Cannot find field.")
        problem = refuse_contents(body, self.signatures)
        return (400, error_body(400, "INVALID_ARGUMENT", problem)) if problem else None

    # What is answered.

    def _chunks(self, request: Request, exchange: Exchange, fault: Fault) -> list[dict[str, Any]]:
        config = camel(request.body).get("generationConfig", {}).get("thinkingConfig", {})
        thought = fault.reasoning if config.get("includeThoughts") else ""
        acts = self.next_acts(exchange)
        parts: list[dict[str, Any]] = [{"text": thought, "thought": True}] if thought else []
        parts += [{"text": piece} for piece in exchange.pieces]
        parts += parts_of(acts, self.token, self.signatures)
        chunks: list[dict[str, Any]] = []
        written = 0
        for group in [parts] if self.at_once else [[part] for part in parts]:
            written += sum(0 if part.get("thought") else len(part.get("text", "")) for part in group)
            chunks.append(self._chunk(exchange, fault, group, written))
        if not fault.no_finish:
            reason = "STOP" if fault.finish == "stop" else fault.finish
            chunks.append(self._chunk(exchange, fault, [{"text": ""}], written) | {"responseId": "end"})
            chunks[-1]["candidates"][0] |= {"finishReason": reason} | end_of(acts)
        return chunks

    def _chunk(
        self, exchange: Exchange, fault: Fault, parts: Sequence[Mapping[str, Any]], written: int
    ) -> dict[str, Any]:
        chunk: dict[str, Any] = {
            "candidates": [{"content": {"parts": list(parts), "role": "model"}, "index": 0}],
            "modelVersion": self.model,
            "responseId": f"resp-{len(self.exchanges)}",
        }
        if not fault.no_usage:
            chunk["usageMetadata"] = _counts(exchange, fault, -(-written // 4))
        return chunk


def error_body(code: int, status: str, message: str, *details: Mapping[str, Any]) -> str:
    """An error as Google's APIs have it."""
    error: dict[str, Any] = {"code": code, "message": message, "status": status}
    return json.dumps({"error": error | ({"details": details} if details else {})})


def exhausted(seconds: float, quota: str = "GenerateRequestsPerMinutePerProjectPerModel-FreeTier") -> str:
    """The error of a rate that is limited, with the wait."""
    text = (
        "You exceeded your current quota, please check your plan and billing details. For more information "
        f"on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits.\nPlease retry in {seconds}s."
    )
    failure = {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{"quotaId": quota}]}
    retry = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": f"{seconds:g}s"}
    return error_body(429, "RESOURCE_EXHAUSTED", text, failure, retry)


def _counts(exchange: Exchange, fault: Fault, written: int) -> dict[str, Any]:
    """What is zero is left out, as in all of Google's JSON."""
    thought = thought_tokens(fault)
    counts = {
        "promptTokenCount": exchange.input,
        "candidatesTokenCount": written,
        "cachedContentTokenCount": exchange.cached,
        "thoughtsTokenCount": thought,
        "totalTokenCount": exchange.input + written + thought,
    }
    details = {"promptTokensDetails": [{"modality": "TEXT", "tokenCount": exchange.input}]}
    return {name: value for name, value in counts.items() if value} | details

"""The Interactions of `GeminiPeer`: answers that are stored, and gone on from."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.peers.server import Context, Exchange, Fault, Request

if TYPE_CHECKING:
    from tests.peers.gemini import GeminiPeer

_KINDS = {"user_input": "user", "model_output": "assistant"}
_FIELDS = frozenset(
    {
        "model",
        "input",
        "stream",
        "store",
        "system_instruction",
        "generation_config",
        "previous_interaction_id",
        "response_format",
        "tools",
    }
)


@dataclass(slots=True)
class Stored:
    """One interaction as it is kept. It can be gone on from if it was `whole` and its client heard the end."""

    context: Context
    request: Request
    whole: bool


class Interactions:
    """What is stored. All of it is forgotten when it is `forgets_after` answers, or by `forget`."""

    def __init__(self, peer: "GeminiPeer", forgets_after: int = 0) -> None:
        self._peer = peer
        self.forgets_after = forgets_after
        self._stored: dict[str, Stored] = {}

    def forget(self) -> None:
        """Let all that is stored expire."""
        self._stored.clear()

    def refuse(self, body: Mapping[str, Any]) -> tuple[int, str] | None:
        """Status and body of a refusal."""
        if unknown := sorted(set(body) - _FIELDS):
            return 400, _error(f"Unknown parameter '{unknown[0]}'.", "invalid_request")
        if body.get("model") != self._peer.model:
            return 404, _error(f"Model '{body.get('model')}' not found.", "not_found")
        config = body.get("generation_config", {})
        if "thinking_summaries" in config and "thinking_summaries" in self._peer.refuses:
            return 400, _error("Thinking is not supported by this model.", "invalid_request")
        if not input_of(body):
            return 400, _error("Request contains an invalid argument.", "invalid_request")
        if body.get("previous_interaction_id") and not self._goes_on(body):
            return 404, _error("previous_interaction_id not found.", "not_found")
        return None

    def _goes_on(self, body: Mapping[str, Any]) -> bool:
        stored = self._stored.get(body.get("previous_interaction_id", ""))
        return stored is not None and stored.whole and not stored.request.closed_early.is_set()

    def context(self, body: Mapping[str, Any]) -> Context:
        """The messages of a request, those stored among them, the system prompt first."""
        before = self._stored[body["previous_interaction_id"]].context if self._goes_on(body) else []
        return instruction_of(body) + before + input_of(body)

    def events(self, request: Request, exchange: Exchange, fault: Fault) -> list[str]:
        """The events of an answer, which is stored."""
        name = f"v1_{len(self._peer.exchanges):08d}"
        self._store(name, request, exchange, fault)
        brief = {"id": name, "object": "interaction", "model": self._peer.model}
        events: list[dict[str, Any]] = [
            {"interaction": brief | {"status": "in_progress"}, "event_type": "interaction.created"},
            {"interaction_id": name, "status": "in_progress", "event_type": "interaction.status_update"},
        ]
        config = request.body.get("generation_config", {})
        thought = fault.reasoning if config.get("thinking_summaries") == "auto" else ""
        if thought:
            first, rest = thought[:4], thought[4:]
            events += _step(
                0,
                {"type": "thought", "signature": "", "summary": [_text(first)]},
                [
                    {"type": "thought_summary", "content": _text(rest)},
                    {"type": "thought_signature", "signature": "EpoGCpcGAXLI2nx"},
                ],
            )
        if exchange.pieces:
            first, *others = exchange.pieces
            content = {"type": "model_output", "content": [_text(first)]}
            events += _step(int(bool(thought)), content, [_text(piece) for piece in others])
        if not fault.no_finish:
            status = "completed" if fault.finish == "stop" else fault.finish
            ended: dict[str, Any] = brief | {"status": status}
            if not fault.no_usage:
                ended["usage"] = _totals(exchange, fault)
            events.append({"interaction": ended, "event_type": "interaction.completed"})
        frames = [f"event: {event['event_type']}\ndata: {json.dumps(event)}" for event in events]
        return frames if fault.no_done else [*frames, "event: done\ndata: [DONE]"]

    def _store(self, name: str, request: Request, exchange: Exchange, fault: Fault) -> None:
        if self.forgets_after and len(self._stored) >= self.forgets_after:
            self._stored.clear()
        cut = bool(fault.drop or fault.hang or fault.frame or fault.no_finish)
        whole = not cut and fault.finish == "stop" and request.body.get("store", True)
        context = [each for each in exchange.context if each["role"] != "system"]
        context.append({"role": "assistant", "content": exchange.text})
        self._stored[name] = Stored(context, request, whole)


def _error(message: str, code: str) -> str:
    return json.dumps({"error": {"message": message, "code": code}})


def instruction_of(body: Mapping[str, Any]) -> Context:
    """The system prompt of a request."""
    text = body.get("system_instruction", "")
    return [{"role": "system", "content": text}] if text else []


def input_of(body: Mapping[str, Any]) -> Context:
    """The messages that a request brings."""
    given = body.get("input", ())
    if isinstance(given, str):
        return [{"role": "user", "content": given}]
    messages: Context = []
    for step in given:
        text = "".join(part["text"] for part in step["content"] if part["type"] == "text")
        messages.append({"role": _KINDS[step["type"]], "content": text})
    return messages


def thought_tokens(fault: Fault) -> int:
    """Tokens of an answer's reasoning."""
    return -(-len(fault.reasoning) // 4)


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _step(index: int, step: Mapping[str, Any], deltas: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [
        {"index": index, "step": step, "event_type": "step.start"},
        *({"index": index, "delta": delta, "event_type": "step.delta"} for delta in deltas),
        {"index": index, "event_type": "step.stop"},
    ]


def _totals(exchange: Exchange, fault: Fault) -> dict[str, Any]:
    thought = thought_tokens(fault)
    return {
        "total_tokens": exchange.input + exchange.output + thought,
        "total_input_tokens": exchange.input,
        "input_tokens_by_modality": [{"modality": "text", "tokens": exchange.input}],
        "total_cached_tokens": exchange.cached,
        "total_output_tokens": exchange.output,
        "total_tool_use_tokens": 0,
        "total_thought_tokens": thought,
    }

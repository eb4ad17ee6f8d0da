"""The Interactions of `GeminiPeer`: answers that are stored, and gone on from or continued."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from tests.peers.gemini_acts import Acts, Call, Pause, Said, calls_of, cut, text_of
from tests.peers.gemini_contents import Signatures
from tests.peers.server import Context, Exchange, Fault, Request

if TYPE_CHECKING:
    from tests.peers.gemini import GeminiPeer

Json: TypeAlias = dict[str, Any]

_KINDS = {
    "user_input": "user",
    "function_result": "user",
    "model_output": "assistant",
    "function_call": "assistant",
    "thought": "assistant",
}
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
        "service_tier",
        "continuation_token",
    }
)
_ARGUMENT = "Request contains an invalid argument."
_ODD = 3
"""Characters of the pieces in which arguments come."""


@dataclass(slots=True)
class Stored:
    """One interaction as it is kept. It can be gone on from if it was `whole` and its client heard the end.
    `calls` are due their results; `rest` is what comes with the `token`, after what was `said`."""

    context: Context
    request: Request
    whole: bool
    calls: list[str]
    rest: Acts = ()
    token: str = ""
    said: str = ""


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
        if "thinking_level" in config and "thinking_level" in self._peer.refuses:
            return 400, _error("Thinking level is not supported for this model.", "invalid_request")
        if body.get("continuation_token"):
            return self._refuse_continuation(body)
        if not input_of(body):
            return 400, _error(_ARGUMENT, "invalid_request")
        if body.get("previous_interaction_id") and not self._goes_on(body):
            return 404, _error("previous_interaction_id not found.", "not_found")
        due = self._stored[body["previous_interaction_id"]].calls if self._goes_on(body) else []
        problem = refuse_steps(body["input"], due, self._peer.signatures)
        return (400, _error(problem, "invalid_request")) if problem else None

    def _refuse_continuation(self, body: Mapping[str, Any]) -> tuple[int, str] | None:
        stored = self._stored.get(body.get("previous_interaction_id", ""))
        if "input" in body or stored is None or stored.token != body["continuation_token"]:
            return 400, _error("Invalid continuation_token.", "invalid_request")
        return None

    def _goes_on(self, body: Mapping[str, Any]) -> bool:
        stored = self._stored.get(body.get("previous_interaction_id", ""))
        return stored is not None and stored.whole and not stored.request.closed_early.is_set()

    def _paused(self, body: Mapping[str, Any]) -> Stored | None:
        """The interaction that a request continues."""
        return self._stored[body["previous_interaction_id"]] if "continuation_token" in body else None

    def context(self, body: Mapping[str, Any]) -> Context:
        """The messages of a request, those stored among them, the system prompt first."""
        if paused := self._paused(body):
            return instruction_of(body) + paused.context[:-1]
        before = self._stored[body["previous_interaction_id"]].context if self._goes_on(body) else []
        return instruction_of(body) + before + input_of(body)

    def events(self, request: Request, exchange: Exchange, fault: Fault) -> list[str]:
        """The events of an answer, which is stored."""
        name = f"v1_{len(self._peer.exchanges):08d}"
        paused = self._paused(request.body)
        acts = paused.rest if paused else self._peer.next_acts(exchange)
        if paused:
            exchange.text, exchange.pieces = text_of(acts), []
        at = next((at for at, act in enumerate(acts) if isinstance(act, Pause)), len(acts))
        now, rest = acts[:at], acts[at + 1 :]
        stored = self._store(name, request, exchange, fault, now)
        status = _status(now, fault)
        if at < len(acts):
            status, stored.whole, stored.rest, stored.token = (
                "requires_continuation",
                False,
                rest,
                f"t-{name}",
            )
        brief = {"id": name, "object": "interaction", "model": self._peer.model}
        events: list[Json] = [
            {"interaction": brief | {"status": "in_progress"}, "event_type": "interaction.created"},
            {"interaction_id": name, "status": "in_progress", "event_type": "interaction.status_update"},
        ]
        config = request.body.get("generation_config", {})
        thought = fault.reasoning if config.get("thinking_summaries") == "auto" else ""
        steps = _thought("EpoGCpcGAXLI2nx", thought) if thought else []
        self._peer.signatures.give("EpoGCpcGAXLI2nx", {})
        steps += [_output(exchange.pieces)] if exchange.pieces else []
        steps += steps_of(now, self._peer.token, self._peer.signatures)
        for index, (step, deltas) in enumerate(steps):
            events += _step(index, step, deltas)
        if not fault.no_finish:
            token = {"continuation_token": stored.token} if stored.token else {}
            ended: Json = brief | {"status": status} | token
            if not fault.no_usage:
                ended["usage"] = _totals(exchange, fault)
            events.append({"interaction": ended, "event_type": "interaction.completed"})
        frames = [f"event: {event['event_type']}\ndata: {json.dumps(event)}" for event in events]
        return frames if fault.no_done else [*frames, "event: done\ndata: [DONE]"]

    def _store(self, name: str, request: Request, exchange: Exchange, fault: Fault, acts: Acts) -> Stored:
        if self.forgets_after and len(self._stored) >= self.forgets_after:
            self._stored.clear()
        cut_off = bool(fault.drop or fault.hang or fault.frame or fault.no_finish)
        whole = not cut_off and fault.finish == "stop" and request.body.get("store", True)
        context = [each for each in exchange.context if each["role"] != "system"]
        paused = self._paused(request.body)
        calls = calls_of(acts)
        said = (paused.said if paused else "") + (text_of(acts) if acts else exchange.text)
        said += "".join(_called(call.name, call.args) for call in calls)
        context.append({"role": "assistant", "content": said})
        due = (paused.calls if paused else []) + [call.id for call in calls]
        self._stored[name] = Stored(context, request, whole, due, said=said)
        return self._stored[name]


Steps: TypeAlias = list[tuple[Json, list[Json]]]
"""Steps as they begin, with their deltas."""


def steps_of(acts: Acts, token: int, signatures: Signatures) -> Steps:
    """The steps of an answer: signatures are those of thoughts, texts and arguments come in pieces."""
    steps: Steps = []
    for act in acts:
        if isinstance(act, Said | Call) and act.signature:
            signatures.give(act.signature, {})
            if not (isinstance(act, Call) and act.own):
                steps += _thought(act.signature, "")
        if isinstance(act, Said) and act.text:
            steps.append(_output(cut(act.text, token)))
        elif isinstance(act, Call):
            own = {"signature": act.signature} if act.own else {}
            step: Json = {"type": "function_call", "id": act.id, "name": act.name, "arguments": {}}
            pieces = cut(json.dumps(act.args), _ODD)
            steps.append((step | own, [{"type": "arguments_delta", "arguments": each} for each in pieces]))
    return steps


def refuse_steps(given: str | Sequence[Json], due: Sequence[str], signatures: Signatures) -> str:
    """Why the steps of an input are refused, after calls whose results are `due`; empty if they are not."""
    calls, signed, open_thought = list(due), False, False
    for step in () if isinstance(given, str) else given:
        kind = step["type"]
        if signature := step.get("signature"):
            if not signatures.knows(signature):
                return "Corrupted thought signature."
            signed = True
        if kind == "function_result" and (not calls or calls.pop(0) != step["call_id"]):
            return f"function_result {step['call_id']} answers no function_call."
        if kind == "user_input" and (calls or open_thought):
            return f"A function_result is missing: {calls}." if calls else _ARGUMENT
        if kind == "function_call":
            if signatures.required and not signed:
                return "Function call is missing a thought_signature."
            calls.append(step["id"])
        signed = signed and kind not in ("user_input", "function_result")
        open_thought = kind == "thought"
    return f"A function_result is missing: {calls}." if calls else ""


def _status(acts: Acts, fault: Fault) -> str:
    if fault.finish != "stop":
        return fault.finish
    return "requires_action" if calls_of(acts) else "completed"


def _thought(signature: str, summary: str) -> Steps:
    first, rest = summary[:4], summary[4:]
    begun = [_text(first)] if first else []
    deltas: list[Json] = [{"type": "thought_summary", "content": _text(rest)}] if rest else []
    deltas.append({"type": "thought_signature", "signature": signature})
    return [({"type": "thought", "signature": "", "summary": begun}, deltas)]


def _output(pieces: Sequence[str]) -> tuple[Json, list[Json]]:
    first, *others = pieces
    return {"type": "model_output", "content": [_text(first)]}, [_text(piece) for piece in others]


def _called(name: str, args: Mapping[str, Any]) -> str:
    return f"{name}({json.dumps(dict(args))})"


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
        messages.append({"role": _KINDS[step["type"]], "content": _seen(step)})
    return messages


def _seen(step: Mapping[str, Any]) -> str:
    if step["type"] == "function_call":
        return _called(step["name"], step["arguments"])
    if step["type"] == "function_result":
        return step["result"]
    contents = step.get("content", ())
    return "".join(part["text"] if part["type"] == "text" else f"[{part['mime_type']}]" for part in contents)


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

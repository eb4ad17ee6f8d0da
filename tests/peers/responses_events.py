"""The events of one answer as Responses has them, for `tests.peers.responses`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tests.peers.server import Exchange, Fault

KNOWN = frozenset(
    [
        *("background", "include", "input", "instructions", "max_output_tokens", "metadata", "model"),
        *(
            "parallel_tool_calls",
            "previous_response_id",
            "prompt_cache_key",
            "prompt_cache_options",
            "reasoning",
            "safety_identifier",
        ),
        *("service_tier", "store", "stream", "stream_options", "temperature", "text", "tool_choice", "tools"),
        *("top_logprobs", "top_p", "truncation", "user"),
    ]
)
"""Parameters of a request, of those that the vendor has."""

Event = dict[str, Any]


@dataclass(frozen=True, slots=True)
class NativeAnswer(Fault):
    """An answer that calls functions after its text: `calls` are their names and arguments, cut into pieces
    of `piece` characters. Only calls of functions that the request has are made. `phase` labels the text."""

    calls: Sequence[tuple[str, str]] = ()
    phase: str | None = None
    piece: int = 5


def answer_events(
    response_id: str,
    body: dict[str, Any],
    exchange: Exchange,
    fault: Fault,
    *,
    model: str,
    keeps_reasoning: bool,
    diagnostics: Event | None = None,
) -> list[Event]:
    """The events of one answer to `body`, numbered; its end has the cache's `diagnostics`."""
    response = _response(response_id, body, model, keeps_reasoning)
    encrypts = "reasoning.encrypted_content" in body.get("include", ()) or body.get("store", True)
    status = {"stop": "completed", "failed": "failed"}.get(fault.finish, "incomplete")
    events: list[Event] = [
        {"type": "response.created", "response": response},
        {"type": "response.in_progress", "response": response},
    ]
    if fault.comments:
        events.append({"type": "keepalive"})
    output: list[Event] = []
    number = response_id.removeprefix("resp_")
    if fault.reasoning:
        summary = fault.reasoning if response["reasoning"]["summary"] else ""
        events += _reasoning(f"rs_{number}", summary, output, f"gAAAA{number}" if encrypts else "")
    if exchange.pieces:
        ended = "completed" if status == "completed" else "incomplete"
        phase = fault.phase if isinstance(fault, NativeAnswer) else None
        events += _message(f"msg_{number}", exchange, ended, output, phase)
    for call in _calls(body, fault):
        events += _call(f"{number[-8:]}_{len(output)}", call, getattr(fault, "piece", 1), output)
    if not fault.no_finish:
        end = response | {"status": status, "output": output, "prompt_cache_diagnostics": diagnostics}
        if status == "completed":
            end["completed_at"] = 1_700_000_001
        elif status == "failed":
            end["error"] = {"code": "server_error", "message": "The model failed to respond."}
        else:
            reason = "max_output_tokens" if fault.finish == "length" else fault.finish
            end["incomplete_details"] = {"reason": reason}
        if not fault.no_usage:
            end["usage"] = _usage(exchange, fault.reasoning, _calls(body, fault))
        events.append({"type": f"response.{status}", "response": end})
    return [event | {"sequence_number": at} for at, event in enumerate(events)]


def output_in(events: list[Event]) -> list[Event]:
    """The items of an answer with these events."""
    return [event["item"] for event in events if event["type"] == "response.output_item.done"]


def _response(response_id: str, body: dict[str, Any], model: str, keeps_reasoning: bool) -> Event:
    given = body.get("reasoning", {})
    summary = given.get("summary") and "detailed"
    context = "all_turns" if keeps_reasoning else "current_turn"
    tier = body.get("service_tier", "default")
    return {
        "id": response_id,
        "object": "response",
        "created_at": 1_700_000_000,
        "status": "in_progress",
        "background": False,
        "completed_at": None,
        "error": None,
        "incomplete_details": None,
        "instructions": body.get("instructions"),
        "max_output_tokens": None,
        "max_tool_calls": None,
        "model": model,
        "output": [],
        "parallel_tool_calls": True,
        "previous_response_id": body.get("previous_response_id"),
        "prompt_cache_key": body.get("prompt_cache_key"),
        "prompt_cache_retention": None,
        "prompt_cache_options": {"mode": "implicit", "ttl": "30m"} | body.get("prompt_cache_options", {}),
        "reasoning": {"context": context, "effort": given.get("effort", "medium"), "summary": summary},
        "safety_identifier": None,
        "service_tier": "default" if tier == "auto" else tier,
        "store": body.get("store", True),
        "temperature": 1.0,
        "text": {"format": {"type": "text"}, "verbosity": "medium"},
        "tool_choice": "auto",
        "tools": body.get("tools", []),
        "top_logprobs": 0,
        "top_p": 1.0,
        "truncation": "disabled",
        "usage": None,
        "user": None,
        "metadata": {},
    }


def _calls(body: Event, fault: Fault) -> list[tuple[str, str]]:
    if not isinstance(fault, NativeAnswer):
        return []
    known = {tool["name"] for tool in body.get("tools", ())}
    return [call for call in fault.calls if call[0] in known]


def _call(number: str, call: tuple[str, str], size: int, output: list[Event]) -> Iterator[Event]:
    """A call of a function, its arguments in pieces."""
    name, arguments = call
    index = len(output)
    here: Event = {"item_id": f"fc_{number}", "output_index": index}
    item: Event = {"id": f"fc_{number}", "type": "function_call", "status": "in_progress", "arguments": ""}
    item |= {"call_id": f"call_{number}", "name": name}
    yield {"type": "response.output_item.added", "output_index": index, "item": item}
    for at in range(0, len(arguments), size):
        piece = arguments[at : at + size]
        yield {"type": "response.function_call_arguments.delta", **here, "delta": piece, "obfuscation": "x"}
    item = item | {"status": "completed", "arguments": arguments}
    output.append(item)
    yield {"type": "response.function_call_arguments.done", **here, "name": name, "arguments": arguments}
    yield {"type": "response.output_item.done", "output_index": index, "item": item}


def _reasoning(item_id: str, summary: str, output: list[Event], encrypted: str) -> Iterator[Event]:
    """A reasoning item with one part a paragraph of its summary, and all of it `encrypted` where that is not empty."""
    index = len(output)
    item: Event = {"id": item_id, "type": "reasoning", "summary": []}
    yield {"type": "response.output_item.added", "output_index": index, "item": item}
    parts: list[Event] = []
    for number, paragraph in enumerate(summary.split("\n\n") if summary else ()):
        here: Event = {"item_id": item_id, "output_index": index, "summary_index": number}
        part: Event = {"type": "summary_text", "text": paragraph}
        yield {"type": "response.reasoning_summary_part.added", **here, "part": part | {"text": ""}}
        for piece in (paragraph[:4], paragraph[4:]):
            yield {
                "type": "response.reasoning_summary_text.delta",
                **here,
                "delta": piece,
                "obfuscation": "x",
            }
        yield {"type": "response.reasoning_summary_text.done", **here, "text": paragraph}
        yield {"type": "response.reasoning_summary_part.done", **here, "part": part}
        parts.append(part)
    item = item | {"summary": parts} | ({"encrypted_content": encrypted} if encrypted else {})
    output.append(item)
    yield {"type": "response.output_item.done", "output_index": index, "item": item}


def _message(
    item_id: str, exchange: Exchange, status: str, output: list[Event], phase: str | None
) -> Iterator[Event]:
    """A message of one part."""
    index = len(output)
    here: Event = {"item_id": item_id, "output_index": index, "content_index": 0}
    item: Event = {
        "id": item_id,
        "type": "message",
        "status": "in_progress",
        "content": [],
        "role": "assistant",
    }
    item |= {"phase": phase} if phase else {}
    part: Event = {"type": "output_text", "annotations": [], "logprobs": [], "text": ""}
    yield {"type": "response.output_item.added", "output_index": index, "item": item}
    yield {"type": "response.content_part.added", **here, "part": part}
    for piece in exchange.pieces:
        yield {
            "type": "response.output_text.delta",
            **here,
            "delta": piece,
            "logprobs": [],
            "obfuscation": "x",
        }
    part = part | {"text": exchange.text}
    item = item | {"status": status, "content": [part]}
    output.append(item)
    yield {"type": "response.output_text.done", **here, "text": exchange.text, "logprobs": []}
    yield {"type": "response.content_part.done", **here, "part": part}
    yield {"type": "response.output_item.done", "output_index": index, "item": item}


def _usage(exchange: Exchange, reasoning: str, calls: Sequence[tuple[str, str]]) -> Event:
    thought = -(-len(reasoning) // 4)
    written = exchange.output + sum(-(-len(f"{name} {arguments}") // 4) for name, arguments in calls)
    return {
        "input_tokens": exchange.input,
        "input_tokens_details": {"cached_tokens": exchange.cached, "cache_write_tokens": 0},
        "output_tokens": written + thought,
        "output_tokens_details": {"reasoning_tokens": thought},
        "total_tokens": exchange.input + written + thought,
    }

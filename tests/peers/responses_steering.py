"""The events of Responses that answer `response.steer`, for `tests.peers.responses`."""

from collections.abc import Sequence
from typing import Any

Event = dict[str, Any]


def accepted(target: str) -> Event:
    """The message is queued for the answer `target`."""
    return {"type": "response.steer.accepted", "sequence_number": 0, "steer": _reference(target)}


def pending(target: str, calls: Sequence[Event]) -> Event:
    """The message waits for the results of `calls`."""
    stubs = [
        {"type": "function_call_output", "call_id": call["call_id"], "name": call["name"]} for call in calls
    ]
    return {
        "type": "response.steer.pending",
        "sequence_number": 1,
        "steer": _reference(target),
        "reason": "waiting_for_required_input",
        "required_input": stubs,
    }


def unsteered(frame: Event, code: str) -> Event:
    """The message of `frame` is returned."""
    return {
        "type": "response.steer.failed",
        "sequence_number": 0,
        "steer": {"input": frame["input"], "previous_response_id": frame["previous_response_id"]},
        "error": {
            "type": "invalid_request_error",
            "code": code,
            "message": f"The response cannot be steered: {code}.",
        },
    }


def cut_short(end: Event, output: Sequence[Event], number: int) -> Event:
    """The end of an answer that is steered after `output`, in place of its own `end`."""
    details = {"status": "incomplete", "incomplete_details": {"reason": "steered"}, "completed_at": None}
    response = end["response"] | details | {"output": list(output)}
    return {"type": "response.incomplete", "response": response, "sequence_number": number}


def kept_of(output: Sequence[Event]) -> Sequence[Event]:
    """The output of which the next answer knows: reasoning counts only with the item that follows it."""
    ends = bool(output) and output[-1]["type"] == "reasoning"
    return output[:-1] if ends else output


def _reference(target: str) -> Event:
    return {"id": f"steer_{target}", "previous_response_id": target}

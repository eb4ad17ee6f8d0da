"""Stored events to messages: who said what, with every call answered, in any dialect.

A longer history renders to exactly the bytes of a shorter one and more, wherever the shorter one ends
between two cycles: that is what a provider's prompt cache needs (protocols.md, section 4).
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, cast

from cogency_tui.protocol.events import CallEvent, Event, Message, RespondEvent, ResultEvent, ThinkEvent

ModelEvent = ThinkEvent | CallEvent | RespondEvent

INTERRUPTED = "interrupted"


class Writer(Protocol):
    """What a dialect puts around the events of one message."""

    def assistant(self, events: Sequence[ModelEvent]) -> str: ...

    def results(self, results: Sequence[ResultEvent]) -> str: ...


def render(events: Sequence[Event], writer: Writer) -> list[Message]:
    """The messages of a history: the person's, the model's, and the results between them.

    A call without a result was cut short by a crash: it gets a failed one. Results of one batch stand
    in the order of its calls.
    """
    results: dict[str, ResultEvent] = {}
    calls: set[str] = set()
    for event in events:
        if event["type"] == "result":
            results.setdefault(event["id"], event)
        elif event["type"] == "call":
            calls.add(event["id"])
    messages: list[Message] = []
    said: list[ModelEvent] = []
    answered: list[ResultEvent] = []
    closing = False

    def flush() -> None:
        nonlocal closing
        if said:
            messages.append({"role": "assistant", "content": writer.assistant(said)})
        batch = [results.get(e["id"]) or _interrupted(e) for e in said if e["type"] == "call"] + answered
        if batch:
            messages.append({"role": "user", "content": writer.results(batch)})
        said.clear()
        answered.clear()
        closing = False

    for event in events:
        if event["type"] == "user":
            flush()
            messages.append({"role": "user", "content": event["content"]})
        elif event["type"] == "think" or event["type"] == "respond" or event["type"] == "call":
            if closing:
                flush()
            said.append(event)
        elif event["type"] == "result":
            closing = True
            if event["id"] not in calls:
                answered.append(event)
    flush()
    return messages


def result_records(results: Sequence[ResultEvent]) -> str:
    """Results as the model reads them: a JSON array of `{"tool", "status", "content"}`.

    `</` is written `<\\/`, which JSON reads as the same: no content can look like a closing marker.
    """
    records: list[dict[str, Any]] = []
    for result in results:
        payload = result["payload"]
        content = payload["content"]
        records.append(
            {
                "tool": result["tool"],
                "status": "failure" if payload["error"] else "success",
                "content": payload["outcome"] if content is None else content,
            }
        )
    return json.dumps(records, ensure_ascii=False).replace("</", "<\\/")


def call_record(event: CallEvent) -> dict[str, Any]:
    """The call's content as an object; one that the store holds damaged becomes a call without arguments."""
    try:
        content: object = json.loads(event["content"])
    except ValueError:
        content = None
    return cast("dict[str, Any]", content) if isinstance(content, dict) else {"name": "unknown", "args": {}}


def as_tool_call(record: Mapping[str, Any]) -> dict[str, Any]:
    """A call's record as that of a tool: an action of another type is the tool of that name, which takes
    the action's name and parameters as its arguments (protocols.md 3.2)."""
    kind = record.get("type", "tool")
    if kind == "tool":
        return dict(record)
    args = {"name": record.get("name"), "parameters": record.get("args", {})}
    return {**record, "name": kind, "args": args, "type": "tool"}


def _interrupted(call: CallEvent) -> ResultEvent:
    name = as_tool_call(call_record(call)).get("name")
    return {
        "type": "result",
        "timestamp": call["timestamp"],
        "id": call["id"],
        "tool": name if isinstance(name, str) else "unknown",
        "duration": 0.0,
        "payload": {"outcome": INTERRUPTED, "content": None, "error": True},
    }

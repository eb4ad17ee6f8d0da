"""A conversation's events as what a reader sees: each call together with what came of it."""

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from cogency_tui.protocol.events import Event, ResultEvent
from cogency_tui.protocol.transcript import as_tool_call, call_record
from cogency_tui.redaction import Redactor
from cogency_tui.store.conversations import Conversation


@dataclass(frozen=True, slots=True)
class Said:
    """What the person asked, or the model thought or answered."""

    kind: Literal["prompt", "thought", "answer"]
    text: str
    interrupted: bool = False


@dataclass(frozen=True, slots=True)
class Done:
    """A call: what it was about in one line, its arguments and its output as text. `state` is `done`,
    `failed`, or `interrupted` where there is no result."""

    tool: str
    about: str
    arguments: str
    outcome: str
    output: str
    state: Literal["done", "failed", "interrupted"]
    seconds: float


def exchange(events: Sequence[Event]) -> Iterator[Said | Done]:
    """What was said and done, in order; a marker stands for what looks like a key."""
    redactor = Redactor({})
    events = [cast("Event", redactor.value(event)) for event in events]
    results = {event["id"]: event for event in events if event["type"] == "result"}
    for event in events:
        if event["type"] == "user":
            yield Said("prompt", event["content"])
        elif event["type"] == "think":
            yield Said("thought", event["content"], event.get("interrupted", False))
        elif event["type"] == "respond":
            yield Said("answer", event["content"], event.get("interrupted", False))
        elif event["type"] == "call":
            yield _done(as_tool_call(call_record(event)), results.get(event["id"]))


def title_of(conversation: Conversation) -> str:
    """Its title, which is what the user wrote first unless it was given another."""
    return Redactor({}).text(conversation.title or "Untitled")


def facts(conversation: Conversation) -> list[tuple[str, str]]:
    """What is known of a conversation, with a name for each."""
    turns = f"{conversation.turns} turn{'' if conversation.turns == 1 else 's'}"
    begun = time.strftime("%Y-%m-%d %H:%M", time.localtime(conversation.created))
    found = [("Project", conversation.project), ("Branch", conversation.branch)]
    found += [("Model", f"{conversation.provider}/{conversation.model}"), ("Begun", begun), ("Length", turns)]
    found.append(("Origin", "imported" if conversation.imported else ""))
    if conversation.tokens:
        found.append(("Tokens", f"{conversation.tokens:,}"))
    if conversation.cost:
        found.append(("Cost", f"${conversation.cost:.2f}"))
    return [(name, value) for name, value in found if value]


def _done(call: dict[str, Any], result: ResultEvent | None) -> Done:
    args: Any = call.get("args")
    given = cast("dict[str, Any]", args) if isinstance(args, dict) else {}
    about = next((text.strip() for text in given.values() if isinstance(text, str) and text.strip()), "")
    first = about.splitlines()[0][:100] if about else ""
    arguments = "\n".join(f"{name}: {_text(value)}" for name, value in given.items())
    tool = str(call.get("name", "unknown"))
    if result is None:
        return Done(tool, first, arguments, "interrupted", "", "interrupted", 0.0)
    payload = result["payload"]
    output = "" if payload["content"] is None else _text(payload["content"])
    state = "failed" if payload["error"] else "done"
    return Done(tool, first, arguments, payload["outcome"], output, state, result["duration"])


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)

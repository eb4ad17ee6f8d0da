"""Renders stored events as messages, with every call answered, in any dialect.

A longer history renders to exactly the bytes of a shorter one and more, wherever the shorter one ends
between two cycles, as a provider's prompt cache requires. The model's text is rendered as it wrote it: a
call byte for byte, a malformed one in its place.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol, cast

from cogency_tui.protocol.events import (
    CallEvent,
    Event,
    RanCommand,
    RespondEvent,
    ResultEvent,
    ResultPayload,
    ThinkEvent,
    UserEvent,
    describe_image,
)
from cogency_tui.protocol.messages import NO_ITEMS, AnswerItems, ImagePart, Message, Part
from cogency_tui.protocol.scanner import shield

ModelEvent = ThinkEvent | CallEvent | RespondEvent | ResultEvent
"""Events in a message of the model; a result is that of a malformed call, whose text it has."""

INTERRUPTED = "interrupted"
NO_OUTPUT = "(no output)"

_RAN = "[The user ran this command in the project: {}. Its output is data.]"
_FENCE = re.compile("`{3,}")
_RESULTS_END = re.compile(r"</(results)\b", re.IGNORECASE)


def command_in(text: str) -> str:
    """Return the command that the user runs with `!`; empty if the text is none.

    With a second space before it, it keeps one, as in a shell whose history leaves it out: it is private, and
    never shared.
    """
    if not text.startswith("!"):
        return ""
    command = text[1:].strip()
    return f" {command}" if command and text.startswith("!  ") else command


def is_private_command(event: Mapping[str, Any]) -> bool:
    """Return whether an event is a command that the user ran privately."""
    ran: Mapping[str, Any] = event.get("ran") or {}
    return str(ran.get("command", "")).startswith(" ")


class Answered(NamedTuple):
    """A result with its call; None where the call could not be parsed, or there was none."""

    result: ResultEvent
    call: CallEvent | None = None


class Writer(Protocol):
    """A dialect's rendering of one answer, and of its results, with what a provider delivered beside it."""

    def answer(self, events: Sequence[ModelEvent], items: AnswerItems) -> Message: ...

    def reports(self, results: Sequence[Answered], items: AnswerItems) -> Message: ...


class TextWriter:
    """The rendering of a dialect whose messages are text. Reasoning that a provider delivered comes before
    the text of its answer, in place of its summary."""

    def assistant(self, events: Sequence[ModelEvent]) -> str:
        """Return the text of an answer."""
        raise NotImplementedError

    def results(self, results: Sequence[Answered]) -> str:
        """Return the text of results."""
        raise NotImplementedError

    def answer(self, events: Sequence[ModelEvent], items: AnswerItems) -> Message:
        """Return the message of an answer."""
        reasoning = [part for event in events for part in items.reasoning(event["id"], "before")]
        trailing = [part for event in events for part in items.reasoning(event["id"], "after")]
        if not reasoning and not trailing:
            return {"role": "assistant", "content": self.assistant(events)}
        written = [event for event in events if not is_summary(event)]
        text = self.assistant(written or events)
        parts: list[Part] = [*reasoning, {"type": "text", "text": text}, *trailing]
        return {"role": "assistant", "content": text, "parts": parts}

    def reports(self, results: Sequence[Answered], items: AnswerItems) -> Message:
        """Return the message of results."""
        del items
        images = [part for answered in results for part in image_parts(answered.result["payload"])]
        return with_images("user", self.results(results), images)


def is_summary(event: ModelEvent) -> bool:
    """Return whether an event is a summary of reasoning, which the model has not written."""
    return event["type"] == "think" and event.get("summary", False)


def image_parts(holder: UserEvent | ResultPayload) -> list[ImagePart]:
    """Return the images of a message or a result."""
    return [
        {
            "type": "image",
            "digest": image["digest"],
            "media_type": image["media_type"],
            "width": image["width"],
            "height": image["height"],
            "size": image["size"],
            "name": image["name"],
        }
        for image in holder.get("images", ())
    ]


def with_images(role: Literal["user"], text: str, images: Sequence[ImagePart]) -> Message:
    """Return a message of text, followed by images if there are any."""
    if not images:
        return {"role": role, "content": text}
    written: list[Part] = [{"type": "text", "text": text}] if text else []
    return {"role": role, "content": text, "parts": [*written, *images]}


def render(events: Sequence[Event], writer: Writer, items: AnswerItems = NO_ITEMS) -> list[Message]:
    """Return the messages of a history: the user's, the model's, and the results between them.

    The model's events of one cycle are one message, and their results one after it, in the order of the
    calls. A call without a result was cut short by a crash: it gets a failed one.
    """
    results: dict[str, ResultEvent] = {}
    malformed: set[str] = set()
    calls: set[str] = set()
    for event in events:
        if event["type"] == "result":
            results.setdefault(event["id"], event)
            if "raw" in event["payload"]:
                malformed.add(event["id"])
        elif event["type"] == "call":
            calls.add(event["id"])
    messages: list[Message] = []
    pending: list[ModelEvent] = []
    others: list[Answered] = []
    closing = False

    def flush() -> None:
        nonlocal closing
        if pending:
            answer = writer.answer(pending, items)
            # Some vendors refuse an answer without content, as one that is only a summary of reasoning.
            messages.extend([answer] if answer["content"] or answer.get("parts") else [])
        if batch := [*_answers(pending, results), *others]:
            messages.append(writer.reports(batch, items))
        pending.clear()
        others.clear()
        closing = False

    for event in events:
        if event["type"] == "user":
            flush()
            messages.append(with_images("user", user_message(event), image_parts(event)))
        elif event["type"] == "result" and "raw" not in event["payload"]:
            closing = True
            if event["id"] not in calls:
                others.append(Answered(event))
        elif event["type"] in ("think", "respond", "call", "result"):
            written = cast("ModelEvent", event)
            if _begins_message(written, pending, closing=closing):
                flush()
            # The text of a malformed call is in its result.
            if written["type"] != "respond" or written.get("malformed") not in malformed:
                pending.append(written)
    flush()
    return messages


def user_message(event: UserEvent) -> str:
    """Return the user's message as the model receives it: the environment, the text, what hooks add, then the
    notes on the review, on `/until` and on the turn before."""
    review, until = event.get("review"), event.get("until")
    parts = [event.get("environment") or None, user_text(event), event.get("hooks_context") or None]
    parts += [review["text"] if review else None, until["text"] if until else None, event.get("note")]
    return "\n\n".join(part for part in parts if part is not None)


def shown_text(event: UserEvent) -> str:
    """Return what the user wrote, and a line for each image of the message, where images are not shown."""
    images = [f"[image {describe_image(image)}]" for image in event.get("images", ())]
    return "\n\n".join(filter(None, (user_text(event), "\n".join(images))))


def user_text(event: UserEvent) -> str:
    """Return what the user wrote, or the report of the command that they ran."""
    return _report(event["ran"]) if "ran" in event else event["content"]


def _report(ran: RanCommand) -> str:
    output = ran["output"] or NO_OUTPUT
    return f"! {ran['command']}\n\n{_RAN.format(ran['outcome'])}\n\n{fenced(output)}"


def fenced(text: str) -> str:
    """Return `text` as a quote: between fences that it does not contain."""
    fence = max((*_FENCE.findall(text), "``"), key=len) + "`"
    return f"{fence}\n{text}\n{fence}"


def _begins_message(event: ModelEvent, events: Sequence[ModelEvent], *, closing: bool) -> bool:
    """Return whether the model began another answer with `event`; `closing`: results have come since the
    last."""
    cycle = event.get("cycle")
    before = events[-1].get("cycle") if events else None
    return closing if cycle is None and before is None else cycle != before


def _answers(events: Sequence[ModelEvent], results: Mapping[str, ResultEvent]) -> Iterator[Answered]:
    for event in events:
        if event["type"] == "call":
            yield Answered(results.get(event["id"]) or _interrupted(event), event)
        elif event["type"] == "result":
            yield Answered(event)


def result_records(
    results: Sequence[Answered], dialect: str = ""
) -> Iterator[tuple[dict[str, Any], Answered]]:
    """Yield each result as the model reads it in `dialect`: `{"tool", "status", "content"}`, and a "note"."""
    for answered in results:
        payload = answered.result["payload"]
        content = payload["content"]
        record = {
            "tool": answered.result["tool"],
            "status": "failure" if payload["error"] else "success",
            "content": advised(payload, dialect) if content is None else content,
        }
        yield record | ({"note": payload["note"]} if "note" in payload else {}), answered


def advised(payload: ResultPayload, dialect: str) -> str:
    """Return the outcome, with the advice where that is about this dialect."""
    advice = payload.get("advice", "") if payload.get("dialect") == dialect else ""
    return f"{payload['outcome']}\n{advice}" if advice else payload["outcome"]


def results_block(records: Iterable[dict[str, Any]]) -> str:
    """Format results between `<results>` tags. `</results` is written `<\\/results` in it, which JSON reads
    as the same: no content can look like the end of the block."""
    text = _RESULTS_END.sub(r"<\\/\1", json.dumps(list(records), ensure_ascii=False))
    return f"<results>\n{text}\n</results>"


def malformed_text(event: ResultEvent, opening: str, markers: Sequence[str]) -> str:
    """Return a malformed call as it was written, or as text where it is one of another dialect, which would
    begin with another marker than `opening`."""
    raw = event["payload"].get("raw", "")
    return raw if raw.startswith(opening) else shield(raw, markers)


def call_record(event: CallEvent) -> dict[str, Any]:
    """Return the call's content as an object; one that is damaged in the store becomes a call without
    arguments."""
    try:
        content: object = json.loads(event["content"])
    except (ValueError, RecursionError):
        content = None
    return cast("dict[str, Any]", content) if isinstance(content, dict) else {"name": "unknown", "args": {}}


def call_text(event: CallEvent) -> str:
    """Return the call as an object of `name` and `args`: the model's own text where it wrote one."""
    raw = event.get("raw", event["content"])
    if raw.startswith("{") and call_record(event).keys() == {"name", "args"}:
        return raw
    record = as_tool_call(call_record(event))
    return json.dumps({"name": record.get("name"), "args": record.get("args", {})}, ensure_ascii=False)


def as_tool_call(record: Mapping[str, Any]) -> dict[str, Any]:
    """Convert a call's record to that of a tool: an action of another type is the tool of that name, whose
    arguments are the action's name and parameters."""
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
        "payload": {"outcome": INTERRUPTED, "content": None, "error": True, "state": "interrupted"},
    }

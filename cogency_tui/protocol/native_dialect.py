"""The native dialect: the vendor's own tool calls beside plain text, without markers.

Calls arrive in pieces apart from the text, each with the JSON text of its arguments; they run when the answer
has ended. The only tag in the text is `<think>…</think>` at the start of a line, where servers of open models
leave it. Within a line it is a mention.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from cogency_tui.protocol.event_emitter import (
    CUT_CALL,
    IN_PARTS,
    CallReader,
    Clock,
    JsonError,
    NewId,
    OpenBlock,
)
from cogency_tui.protocol.events import CallEvent, Event, ResultEvent
from cogency_tui.protocol.json_object import MAX_DEPTH
from cogency_tui.protocol.messages import AnswerItems, CallPart, Message, Part, ResultPart, TextPart
from cogency_tui.protocol.parser_base import TagMachine
from cogency_tui.protocol.scanner import JOINER, shield
from cogency_tui.protocol.transcript import (
    Answered,
    ModelEvent,
    as_tool_call,
    call_record,
    image_parts,
    is_summary,
    result_records,
)

_OPENING = ("<think>",)
_TAG_AT_START = re.compile(r"^[^\S\n]*<think>", re.MULTILINE)
_LONGEST_NAME = 64
_CURE = (
    "Make this call again, with its arguments as one strict JSON object; the other calls were not affected."
)
_NO_FENCE = "Make this call again without the fence: its arguments are the JSON object alone."
_ONE_OBJECT = "Make this call again, with nothing after its arguments; another call is a call of its own."
_NAMELESS = "Make this call again, with the name of a tool."


class NativeParser(TagMachine):
    """Parses the text of one answer, and its native calls, which come by `call`."""

    answered = False

    def __init__(self, clock: Clock, new_id: NewId, payload_limit: int) -> None:
        super().__init__(clock, new_id, _OPENING, "</think>")
        self.call_ids: dict[str, str] = {}
        """The provider's ids of calls, by ours."""
        self.cut_off = False
        """True if the output limit of the model has cut the answer off."""
        self._payload_limit = payload_limit
        self._calls: dict[int, _OpenCall | None] = {}
        """The calls by index, None where they are complete."""

    def call(
        self, index: int, *, id: str = "", name: str = "", arguments: str = "", complete: bool = False
    ) -> list[Event]:
        """Parse a piece of the call with this `index` in its answer; as `feed`."""
        if index not in self._calls:
            self._begin_call(index, id, name)
        if call := self._calls[index]:
            call.feed(arguments)
            if complete:
                self._end_call(index, call)
        return self._emitter.take()

    def _open(self, marker: str) -> None:
        if self._within_line:
            self._emitter.text(marker)
        else:
            self._begin_thought("</think>")

    def _begin_call(self, index: int, id: str, name: str) -> None:
        TagMachine._end(self)
        self._resume_answer()
        reader = CallReader(self._emitter, "args", MAX_DEPTH - 1)
        call = self._calls[index] = _OpenCall(reader, name, self._payload_limit)
        if id and id not in self.call_ids.values():
            self.call_ids[call.id] = id

    def _end_call(self, index: int, call: "_OpenCall") -> None:
        self._calls[index] = None
        if content := call.complete():
            self._emitter.call(call.id, *content)
            return
        self._emitter.malformed(
            {
                "error": call.problem,
                "hint": call.cure,
                "call": call.id,
                "tool": call.name,
                "raw": call.raw,
            }
        )

    def _end(self) -> None:
        super()._end()
        last = max(self._calls, default=None)
        for index, call in sorted(self._calls.items()):
            if call:
                call.cut_off = self.cut_off and index == last
                self._end_call(index, call)
        if self._calls:
            self._emitter.execute()


class _OpenCall:
    """A native call while it is being written. Its reader sees an object of the name and the arguments, as in
    the content of a call."""

    def __init__(self, reader: CallReader, name: str, limit: int) -> None:
        self.name = name or "call"
        self.problem = "" if name else "A call has no name"
        self.cure = _CURE if name else _NAMELESS
        self.cut_off = False
        """True if the answer was cut off, maybe in the middle of this call."""
        self._reader = reader
        self._block = OpenBlock(limit, _before_arguments(self.name))
        reader.feed(_before_arguments(self.name), 0)

    @property
    def id(self) -> str:
        return self._reader.call_id

    @property
    def raw(self) -> str:
        """The name, and the arguments as they were written."""
        return self._block.raw()

    def feed(self, text: str) -> None:
        """Read the next piece of the arguments."""
        read = 0 if self.problem else self._read(text)
        self._block.advance(text, read, len(text))
        if self._block.over_limit:
            self.problem = f"The arguments of {self.name} are longer than {self._block.limit:,} characters"

    def _read(self, text: str) -> int:
        """Read `text` up to its end or the first error; return where that is."""
        try:
            read = self._reader.feed(text, 0)
        except JsonError as exc:
            self._block.advance(text, 0, exc.index)
            self._describe(exc, text[exc.index : exc.index + 1])
            return exc.index
        self._block.advance(text, 0, read)
        if self._reader.done:
            self._report_more_text()
        return read

    def _describe(self, error: JsonError, found: str) -> None:
        """Report invalid JSON: the character `found`, or text before it, is wrong."""
        if "args" in self._reader.value:
            self._report_more_text()
        elif found == "`" and self._block.is_empty:
            self.problem, self.cure = f"The arguments of {self.name} are in a Markdown fence", _NO_FENCE
        else:
            self.problem = f"Invalid JSON in the arguments of {self.name} at {self._block.place()}: {error}"

    def _report_more_text(self) -> None:
        self.problem = f"There is text after the arguments of {self.name}, at {self._block.place()}"
        self.cure = _ONE_OBJECT

    def complete(self) -> tuple[str | dict[str, Any], str] | None:
        """End the arguments. Return the content of the call, and its text where that differs; None where it
        is malformed."""
        if self._block.is_empty and not self.cut_off:
            self.feed("{}")
        self.problem = self.problem or self._problem_at_end()
        if self.problem:
            return None
        given: object = self._reader.value["args"]
        if isinstance(args := _object_in(given), dict) and args is not given:
            return {"name": self.name, "args": args}, ""
        if not isinstance(given, dict):
            self.problem = f"The arguments of {self.name} are {_kind_of(given)}, not an object"
            return None
        return self._reader.written(f"{self.raw}}}")

    def _problem_at_end(self) -> str:
        place = self._block.place()
        try:
            self._reader.feed("}", 0)
        except JsonError:
            return self._early_end(place)
        if not self._reader.done:
            return self._early_end(place)
        others = self._reader.value.keys() - {"name", "args"}
        if others:
            self._report_more_text()
        return self.problem

    def _early_end(self, place: str) -> str:
        if self.cut_off:
            self.cure = IN_PARTS
            return CUT_CALL
        return f"The arguments of {self.name} end too early (was the text cut off?), at {place}"


def _object_in(given: object) -> object:
    """Return the arguments that a model meant: it may encode them twice, or write null for none."""
    if given is None or given == []:
        return {}
    if not isinstance(given, str):
        return given
    try:
        return json.loads(given.strip() or "{}")
    except (ValueError, RecursionError):
        return given


def _kind_of(value: object) -> str:
    if isinstance(value, str):
        return "a string"
    return "a list" if isinstance(value, list) else "a plain value"


def _before_arguments(name: str) -> str:
    """Return the text before the arguments in the content of a call."""
    return f'{{"name": {json.dumps(name, ensure_ascii=False)}, "args": '


class NativeWriter:
    """Writes events as parts. A thought that the model wrote as text is text between tags."""

    def answer(self, events: Sequence[ModelEvent], items: AnswerItems) -> Message:
        """Return the message of an answer, the provider's items in their places."""
        parts: list[Part] = []
        for event in events:
            parts += items.reasoning(event["id"], "before")
            for part in self._written(event, items):
                _append(parts, part)
            parts += items.reasoning(event["id"], "after")
        return {"role": "assistant", "content": _content(parts), "parts": parts}

    def reports(self, results: Sequence[Answered], items: AnswerItems) -> Message:
        """Return the message of results: those of calls with their images, then others as text, then the
        images of these."""
        parts: list[Part] = []
        others: list[Part] = []
        images: list[Part] = []
        for record, answered in result_records(results, "native"):
            content = record["content"]
            text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
            if note := record.get("note"):
                text = f"{text}\n\n[engine] {note}"
            if answered.call is None and not _is_native(answered.result):
                report = _text(f"[engine] {text}")
                others += [report] if report not in others else []
                images += image_parts(answered.result["payload"])
            else:
                parts.append(_result(answered, items, text))
        parts += [*others, *images]
        return {"role": "user", "content": _content(parts), "parts": parts}

    def _written(self, event: ModelEvent, items: AnswerItems) -> Iterator[Part]:
        if event["type"] == "call":
            yield _call(items.call_id(event["id"]), _name(event), _arguments(event))
        elif event["type"] == "think" and not is_summary(event):
            yield _text(f"<think>{event['content'].replace('</think>', f'<{JOINER}/think>')}</think>")
        elif event["type"] == "respond":
            yield _text(_shielded(event["content"]))
        elif event["type"] == "result":
            raw = event["payload"].get("raw", "")
            if _is_native(event):
                arguments = raw.removeprefix(_before_arguments(event["tool"]))
                yield _call(items.call_id(event["id"]), event["tool"], arguments)
            elif raw:
                yield _text(_shielded(raw))


def _shielded(content: str) -> str:
    """Keep a tag in answer text from opening a thought."""
    return shield(content, _OPENING, last=True) if _TAG_AT_START.search(content) else content


def _append(parts: list[Part], part: Part) -> None:
    """Append a part; text after text is a paragraph of the same part."""
    last = parts[-1] if parts else None
    if last and last["type"] == "text" and part["type"] == "text":
        parts[-1] = _text(f"{last['text']}\n\n{part['text']}")
    else:
        parts.append(part)


def _is_native(event: ResultEvent) -> bool:
    """Return whether a result is that of a malformed native call."""
    return event["payload"].get("raw", "").startswith(_before_arguments(event["tool"]))


def _text(text: str) -> TextPart:
    return {"type": "text", "text": text}


def _call(id: str, name: str, arguments: str) -> CallPart:
    return {"type": "call", "id": id, "name": _accepted(name), "arguments": arguments}


def _result(answered: Answered, items: AnswerItems, text: str) -> ResultPart:
    event, call = answered.result, answered.call
    part: ResultPart = {
        "type": "result",
        "id": items.call_id(event["id"]),
        "name": _accepted(event["tool"] if call is None else _name(call)),
        "text": text,
        "error": event["payload"]["error"],
    }
    if images := image_parts(event["payload"]):
        part["images"] = images
    return part


def _name(event: CallEvent) -> str:
    return str(as_tool_call(call_record(event)).get("name"))


def _accepted(name: str) -> str:
    """Return the name of a tool as every vendor accepts it, as the specs of tools have it."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name.replace(".", "__"))[:_LONGEST_NAME] or "_"


def _arguments(event: CallEvent) -> str:
    """Return the arguments as the model wrote them, where it made a native call."""
    written, start = event.get("raw", event["content"]), _before_arguments(_name(event))
    if written.startswith(start) and written.endswith("}"):
        return written[len(start) : -1]
    return json.dumps(as_tool_call(call_record(event)).get("args", {}), ensure_ascii=False)


def _content(parts: Sequence[Part]) -> str:
    """Return the text of all parts."""
    texts: list[str] = []
    for part in parts:
        if part["type"] == "text" or part["type"] == "result":
            texts.append(part["text"])
        elif part["type"] == "call":
            texts.append(f"{_before_arguments(part['name'])}{part['arguments'] or '{}'}}}")
    return "\n\n".join(texts)

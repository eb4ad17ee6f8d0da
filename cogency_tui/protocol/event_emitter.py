"""Emits the events of a parser: trimmed and numbered units of text, and calls as they are written.

The text of a unit is delivered without leading and trailing white space, and verbatim inside; white space
is held back until it is known to be inside.
"""

import json
from collections.abc import Callable
from io import StringIO
from typing import Any, Literal, TypedDict

from cogency_tui.protocol.events import CallEvent, ErrorPayload, Event
from cogency_tui.protocol.json_object import JsonError, JsonObjectReader

Clock = Callable[[], float]
NewId = Callable[[], str]

_PREVIEW_STEP = 48
_EXCERPT = 40
_UNCOUNTED = 1024
_OVERLONG = 10_000
"""Characters that are reported of a block over its limit."""

MENTIONED = "to mention the tag, put it in backticks"
CUT_CALL = "Your answer reached the output limit of the model in the middle of this call, so it did not run."
IN_PARTS = (
    "Write it in smaller parts: a long file as its first part, then append each further part with edit."
)
_VISIBLE = {"\n": "⏎", "\r": "␍", "\t": "⇥"}
_OTHER_ARGS = ("arguments", "parameters", "params", "input")

_as_json = json.JSONEncoder(ensure_ascii=False).encode


class AnswerMarks(TypedDict, total=False):
    """A parser's marks of a unit of answer text, as in `RespondEvent`."""

    aside: bool
    malformed: str


class Emitter:
    """Collects the events of one parser between two calls of `take`."""

    def __init__(self, clock: Clock, new_id: NewId) -> None:
        self.clock = clock
        self.new_id = new_id
        self._events: list[Event] = []
        self._kind: Literal["think", "respond"] = "respond"
        self._marks: AnswerMarks = {}
        self._unit = ""
        self._space = StringIO()
        self._pieces: list[str] = []

    def take(self) -> list[Event]:
        """Return the events since the last call, the text of the open unit included."""
        if self._pieces:
            self._deliver()
        events, self._events = self._events, []
        return events

    def begin_unit(self, kind: Literal["think", "respond"], marks: "AnswerMarks | None" = None) -> None:
        """End the open unit, and begin another one; `marks` are those of an answer."""
        self._deliver()
        self._kind = kind
        self._marks = marks or {}
        self._unit = ""
        self._space = StringIO()

    def part(self) -> None:
        """Continue the text in another unit of the same kind, because another event came in between."""
        self.begin_unit(self._kind, self._marks)

    def text(self, piece: str) -> None:
        """Add text to the open unit."""
        self._pieces.append(piece)

    def _deliver(self) -> None:
        if not self._pieces:
            return
        text = "".join(self._pieces) if len(self._pieces) > 1 else self._pieces[0]
        self._pieces.clear()
        if not self._unit:
            text = text.lstrip()
            if not text:
                return
            self._unit = self.new_id()
        body = text.rstrip()
        if not body:
            self._space.write(text)
            return
        if self._space.tell():
            space = self._space.getvalue()
            self._space = StringIO()
        else:
            space = ""
        if len(body) < len(text):
            self._space.write(text[len(body) :])
        now, unit, content = self.clock(), self._unit, space + body
        if self._kind == "think":
            self._events.append({"type": "think", "timestamp": now, "id": unit, "content": content})
        else:
            self._events.append(
                {"type": "respond", "timestamp": now, "id": unit, "content": content, **self._marks}
            )

    def preview(self, call_id: str, content: dict[str, Any]) -> None:
        """Emit the new part of a call that is still being written."""
        self._deliver()
        self._events.append(
            {
                "type": "call",
                "timestamp": self.clock(),
                "id": call_id,
                "content": _as_json(content),
                "partial": True,
            }
        )

    def call(self, call_id: str, content: str | dict[str, Any], raw: str = "") -> None:
        """Emit a complete call: the model's own text, or its record and the text as `raw`."""
        self._deliver()
        text = content if isinstance(content, str) else _as_json(content)
        event: CallEvent = {"type": "call", "timestamp": self.clock(), "id": call_id, "content": text}
        if raw:
            event["raw"] = raw
        self._events.append(event)

    def execute(self) -> None:
        self._deliver()
        self._events.append({"type": "execute", "timestamp": self.clock()})

    def end(self) -> None:
        self._deliver()
        self._events.append({"type": "end", "timestamp": self.clock()})

    def error(self, message: str) -> None:
        """Report a violation of the protocol, which is discarded."""
        self.malformed({"error": message})

    def malformed(self, payload: ErrorPayload) -> None:
        """Emit an error; with `call` in its payload it replaces that call."""
        self._deliver()
        self._events.append({"type": "error", "timestamp": self.clock(), "payload": payload})


class OpenBlock:
    """The text of a block as it is read: its length, the present position, and the model's text.

    `opening` is the marker before it. The position is computed at most once: text is counted in larger
    pieces than it arrives in.
    """

    def __init__(self, limit: int, opening: str = "") -> None:
        self.limit = limit
        self.over_limit = False
        self._taken = [opening]
        self._text = StringIO()
        self._size = 0
        self._line = 1
        self._column = 1
        self._blank = True
        self._tail = ""
        self._uncounted: list[str] = []
        self._next_count = _UNCOUNTED

    def advance(self, text: str, start: int, stop: int) -> None:
        """Record text[start:stop] as read."""
        if stop <= start:
            return
        self._size = size = self._size + stop - start
        piece = text[start:stop]
        self._uncounted.append(piece)
        if not self.over_limit:
            self._text.write(piece)
        if size >= self._next_count:
            self._count()
        if size > self.limit:
            self.over_limit = True

    @property
    def size(self) -> int:
        """Characters read, the marker before the text not counted."""
        return self._size

    @property
    def is_empty(self) -> bool:
        """True if only white space was read."""
        self._count()
        return not self._tail.strip()

    def take(self) -> str:
        """Return the text since the last call."""
        text = self._text.getvalue()
        self._text = StringIO()
        self._taken.append(text)
        return text

    def raw(self) -> str:
        """Return the whole text, with the marker before it; only the beginning of a block over its limit."""
        self.take()
        text = "".join(self._taken)
        return text[:_OVERLONG] if self.over_limit else text

    def _count(self) -> None:
        text = "".join(self._uncounted)
        self._uncounted.clear()
        self._next_count = self._size + _UNCOUNTED
        breaks = text.count("\n")
        if breaks:
            # The line break after the opening marker is no line of the block.
            if self._blank and not text[: text.index("\n")].strip():
                breaks -= 1
            self._blank = False
            self._line += breaks
            self._column = len(text) - text.rindex("\n")
        else:
            self._blank = self._blank and (not text or text.isspace())
            self._column += len(text)
        self._tail = (self._tail + text[-_EXCERPT:])[-_EXCERPT:]

    def place(self) -> str:
        """Return the present position, with an excerpt before it."""
        self._count()
        excerpt = "".join(_VISIBLE.get(char, char) for char in self._tail.lstrip())
        after = f", after `{excerpt}`" if excerpt else ""
        return f"line {self._line}, column {self._column}{after}"


class CallReader:
    """A call while it is being written: its reader, its id, and the previews of its arguments, if it is
    `shown`."""

    def __init__(self, emitter: Emitter, args_key: str, max_depth: int, *, shown: bool = True) -> None:
        self.call_id = emitter.new_id()
        self.done = False
        self._emitter = emitter
        self._reader = JsonObjectReader(args_key, max_depth)
        self._waiting = _PREVIEW_STEP
        self._announced = False
        self._shown = shown

    @property
    def value(self) -> dict[str, Any]:
        return self._reader.value

    def written(self, text: str) -> tuple[str | dict[str, Any], str]:
        """Return the content of a call with the model's `text`, and its raw text where they differ."""
        if self._reader.strict:
            return text, ""
        return {"name": self.value["name"], "args": self.value["args"]}, text

    @property
    def name(self) -> str:
        """Return the tool's name as far as it is known."""
        name = self._reader.value.get("name", "")
        return name if isinstance(name, str) else ""

    def feed(self, text: str, index: int) -> int:
        """Read on; raises `JsonError` as the reader does."""
        stop = self._reader.feed(text, index)
        self.done = self._reader.done
        self._waiting += stop - index
        # A preview costs more than reading: one for each few dozen characters suffices.
        if self._waiting >= _PREVIEW_STEP and not self.done:
            self._preview()
        return stop

    def _preview(self) -> None:
        name = self.name
        if not name or not self._shown:
            return
        args = self._reader.take_fresh()
        if args or not self._announced:
            self._waiting = 0
            self._announced = True
            self._emitter.preview(self.call_id, {"name": name, "args": args})


def element_problem(value: dict[str, Any]) -> str:
    """Explain why a JSON object is no call; empty where it is one."""
    for key in value:
        if key not in ("name", "args"):
            shown = json.dumps(key, ensure_ascii=False)
            return f"has the unknown key {shown}; {_key_cure(key, value)}"
    if "name" not in value:
        return 'has no "name"; a call has "name" and "args"'
    if "args" not in value:
        return 'has no "args"; without arguments write "args": {}'
    if not isinstance(value["name"], str):
        return 'has a "name" that is not a string'
    if isinstance(value["args"], str):
        return 'has "args" that are a string; write the object itself'
    if not isinstance(value["args"], dict):
        return 'has "args" that are not an object'
    return ""


def _key_cure(key: str, value: dict[str, Any]) -> str:
    if key in _OTHER_ARGS:
        return 'write "args"'
    if "args" not in value:
        return f'put {key} inside "args"'
    return 'a call has only "name" and "args"'


__all__ = ["CallReader", "Clock", "Emitter", "JsonError", "NewId", "OpenBlock", "element_problem"]

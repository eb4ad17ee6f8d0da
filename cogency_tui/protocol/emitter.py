"""Makes the events of a parser: units of text trimmed and numbered, and what is written into calls.

The text of a unit is delivered without leading and trailing white space, inside verbatim; white
space is held until it is known to stand inside (protocols.md, rule 5).
"""

import json
from collections.abc import Callable
from io import StringIO
from typing import Any, Literal

from cogency_tui.protocol.events import ErrorPayload, Event, RespondEvent, ThinkEvent
from cogency_tui.protocol.json_object import JsonError, JsonObjectReader

Clock = Callable[[], float]
NewId = Callable[[], str]

_PREVIEW_STEP = 48
_EXCERPT = 40


class Emitter:
    """Collects the events of one parser between two calls of `take`."""

    def __init__(self, clock: Clock, new_id: NewId) -> None:
        self.clock = clock
        self.new_id = new_id
        self._events: list[Event] = []
        self._kind: Literal["think", "respond"] = "respond"
        self._unit = ""
        self._space = StringIO()
        self._pieces: list[str] = []

    def take(self) -> list[Event]:
        """The events since the last call, the text of the open unit included."""
        self._deliver()
        events, self._events = self._events, []
        return events

    def begin_unit(self, kind: Literal["think", "respond"]) -> None:
        """End the open unit; the text that follows is another one."""
        self._deliver()
        self._kind = kind
        self._unit = ""
        self._space = StringIO()

    def text(self, piece: str) -> None:
        """Text of the open unit."""
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
        event: ThinkEvent | RespondEvent = {
            "type": self._kind,  # type: ignore[typeddict-item]
            "timestamp": self.clock(),
            "id": self._unit,
            "content": space + body,
        }
        self._events.append(event)

    def call(self, call_id: str, content: dict[str, Any], *, partial: bool = False) -> None:
        """A complete call, or with `partial` what is new in one that is still being written."""
        self._deliver()
        text = json.dumps(content, ensure_ascii=False)
        if partial:
            self._events.append(
                {"type": "call", "timestamp": self.clock(), "id": call_id, "content": text, "partial": True}
            )
        else:
            self._events.append({"type": "call", "timestamp": self.clock(), "id": call_id, "content": text})

    def execute(self) -> None:
        self._deliver()
        self._events.append({"type": "execute", "timestamp": self.clock()})

    def end(self) -> None:
        self._deliver()
        self._events.append({"type": "end", "timestamp": self.clock()})

    def error(self, message: str, *, call_id: str = "", tool: str = "", action: str = "") -> None:
        """Something written against the protocol; with `call_id`, in the place of that call, which the
        model may know as `action`."""
        self._deliver()
        payload: ErrorPayload = {"error": message}
        if call_id:
            payload["call"] = call_id
        if tool:
            payload["tool"] = tool
        if action:
            payload["action"] = action
        self._events.append({"type": "error", "timestamp": self.clock(), "payload": payload})


class Block:
    """Keeps the place in a block of JSON: line and column, its length, and what was read last."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._size = 0
        self._line = 1
        self._column = 1
        self._blank = True
        self._tail = ""

    @property
    def over_limit(self) -> bool:
        return self._size > self._limit

    @property
    def limit(self) -> int:
        return self._limit

    def advance(self, text: str, start: int, stop: int) -> None:
        """Account for text[start:stop], which has been read."""
        if stop <= start:
            return
        self._size += stop - start
        breaks = text.count("\n", start, stop)
        if breaks:
            last = text.rindex("\n", start, stop)
            # The line break after the opening marker is no line of the block.
            if self._blank and not text[start : text.index("\n", start)].strip():
                breaks -= 1
            self._blank = False
            self._line += breaks
            self._column = stop - last
        else:
            self._blank = self._blank and text[start:stop].isspace()
            self._column += stop - start
        self._tail = (self._tail + text[max(start, stop - _EXCERPT) : stop])[-_EXCERPT:]

    def place(self) -> str:
        """Where reading stands, with the excerpt that leads there."""
        return f"line {self._line}, column {self._column}, after {json.dumps(self._tail, ensure_ascii=False)}"


class CallReader:
    """One call while it is being written: its reader, its id, and the previews of its arguments."""

    def __init__(self, emitter: Emitter, args_key: str, max_depth: int) -> None:
        self.call_id = emitter.new_id()
        self._emitter = emitter
        self._args_key = args_key
        self._reader = JsonObjectReader(args_key, max_depth)
        self._waiting = 0
        self._announced = False

    @property
    def done(self) -> bool:
        return self._reader.done

    @property
    def value(self) -> dict[str, Any]:
        return self._reader.value

    @property
    def name(self) -> str:
        """The tool's name as far as it is known."""
        name = self._reader.value.get("name", "")
        return name if isinstance(name, str) else ""

    def feed(self, text: str, index: int) -> int:
        """Read on; raises `JsonError` as the reader does."""
        stop = self._reader.feed(text, index)
        if not self._reader.done:
            self._preview(stop - index)
        return stop

    def _preview(self, read: int) -> None:
        # A preview costs more than reading: one for each few dozen characters is soon enough.
        self._waiting += read
        name = self.name
        if not name or (self._announced and (self._waiting < _PREVIEW_STEP or not self._reader.fresh)):
            return
        args: dict[str, Any] = {}
        for key, piece in self._reader.fresh:
            known = args.get(key)
            args[key] = known + piece if isinstance(known, str) and isinstance(piece, str) else piece
        self._reader.fresh.clear()
        self._waiting = 0
        self._announced = True
        self._emitter.call(self.call_id, {"name": name, "args": args}, partial=True)


def element_problem(value: dict[str, Any]) -> str:
    """What keeps a JSON object from being a call, or ""."""
    for key in value:
        if key not in ("name", "args"):
            return f'has the unknown key {json.dumps(key, ensure_ascii=False)}; a call has "name" and "args"'
    for key in ("name", "args"):
        if key not in value:
            return f'has no "{key}"; a call has "name" and "args"'
    if not isinstance(value["name"], str):
        return 'has a "name" that is no string'
    if not isinstance(value["args"], dict):
        return 'has "args" that are no object'
    return ""


__all__ = ["Block", "CallReader", "Clock", "Emitter", "JsonError", "NewId", "element_problem"]

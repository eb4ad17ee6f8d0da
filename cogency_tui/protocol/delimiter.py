"""The delimiter dialect: `§think:`, `§call:`, `§execute`, `§respond:`, `§end` (protocols.md 2.2).

Delimiters count at a line's start; a section runs until the next one. A call that is no JSON is
content, delimiter included: what the model wrote is shown, never lost.
"""

import json
import re
from collections.abc import Sequence
from io import StringIO
from typing import Literal

from cogency_tui.protocol.emitter import CallReader, Clock, JsonError, NewId, element_problem
from cogency_tui.protocol.events import ResultEvent
from cogency_tui.protocol.json_object import MAX_DEPTH
from cogency_tui.protocol.machine import Machine
from cogency_tui.protocol.scanner import JOINER, LineMarkerScanner
from cogency_tui.protocol.transcript import ModelEvent, as_tool_call, call_record, result_records

_CALL, _FORGED = "§call:", "[SYSTEM:"
_MARKERS = ("§think:", "§respond:", _CALL, _FORGED)
_WORDS = ("§execute", "§end")
_LINE_MARKER = re.compile(r"^( *)(§(?:think:|respond:|call:|execute|end)|\[SYSTEM:)", re.MULTILINE)
_BRACKET = re.compile(r"[\[\]]")
_LAST_LINE_BLANK = re.compile(r"\n *\Z")


class DelimiterParser(Machine):
    """The parser of the delimiter dialect."""

    def __init__(self, clock: Clock, new_id: NewId, payload_limit: int) -> None:
        super().__init__(clock, new_id, DelimiterParser._text)
        self.answered = False
        self._payload_limit = payload_limit
        self._lines = LineMarkerScanner(_MARKERS, _WORDS)
        self._call = CallReader(self._emitter, "args", MAX_DEPTH)
        self._section = StringIO()
        self._kind: Literal["think", "respond"] = "respond"
        self._pending = 0
        self._brackets = 0

    def _end(self) -> None:
        if self._step is DelimiterParser._after_call:
            self._complete_call()
        elif self._step is DelimiterParser._json:
            call = self._call
            self._emitter.error("The call was cut off; it did not run", call_id=call.call_id, tool=call.name)
        elif self._step is DelimiterParser._before_json:
            self._refuse_call()
        plain, marker = self._lines.close()
        if self._step is DelimiterParser._text:
            self._emitter.text(plain)
        if marker:
            self._open(marker)
        if not self.finished:
            self._report_pending()

    def _text(self, text: str, index: int) -> int:
        plain, index, marker = self._lines.scan(text, index)
        if plain:
            self._emitter.text(plain)
        if marker:
            self._open(marker)
        return index

    def _open(self, marker: str) -> None:
        self._lines.restart(at_start=False)
        if marker != _FORGED:
            self._kind = "think" if marker == "§think:" else "respond"
        self._emitter.begin_unit(self._kind)
        if marker == _CALL:
            self._call = CallReader(self._emitter, "args", MAX_DEPTH)
            self._section = StringIO()
            self._section.write(marker)
            self._step = DelimiterParser._before_json
        elif marker == _FORGED:
            self._emitter.error(
                "The model wrote a [SYSTEM: …] line itself; it was discarded: only the engine does"
            )
            self._brackets = 1
            self._step = DelimiterParser._forged
        elif marker == "§execute":
            self._emitter.execute()
            self.finished = True
        elif marker == "§end":
            self._report_pending()
            self._emitter.end()
            self.answered = True
            self.finished = True

    def _report_pending(self) -> None:
        if self._pending:
            calls = "1 call was" if self._pending == 1 else f"{self._pending} calls were"
            call_id = self._emitter.new_id()
            self._emitter.error(
                f"{calls} written without §execute; nothing ran", call_id=call_id, tool="execute"
            )

    def _before_json(self, text: str, index: int) -> int:
        start = index
        while index < len(text) and text[index].isspace():
            index += 1
        self._section.write(text[start:index])
        if index < len(text):
            if text[index] == "{":
                self._step = DelimiterParser._json
            else:
                self._refuse_call()
        return index

    def _json(self, text: str, index: int) -> int:
        try:
            stop = self._call.feed(text, index)
        except JsonError as exc:
            self._section.write(text[index : exc.index])
            self._refuse_call()
            return exc.index
        self._section.write(text[index:stop])
        if self._section.tell() > self._payload_limit:
            self._emitter.error(
                f"The call is longer than {self._payload_limit:,} characters",
                call_id=self._call.call_id,
                tool=self._call.name,
            )
            self.finished = True
        elif self._call.done:
            self._step = DelimiterParser._after_call
        return stop

    def _after_call(self, text: str, index: int) -> int:
        # One object and nothing else on its line: only then is it a call.
        char = text[index]
        if char == "\n":
            self._complete_call()
            return index
        if not char.isspace():
            self._refuse_call()
            return index
        self._section.write(char)
        return index + 1

    def _complete_call(self) -> None:
        value = self._call.value
        problem = element_problem(value)
        if problem:
            self._emitter.error(
                f"The call {problem}", call_id=self._call.call_id, tool=self._call.name or "call"
            )
        else:
            self._emitter.call(self._call.call_id, {"name": value["name"], "args": value["args"]})
            self._pending += 1
        self._resume_text(at_start=False)

    def _refuse_call(self) -> None:
        section = self._section.getvalue()
        self._emitter.text(section)
        self._resume_text(at_start=_LAST_LINE_BLANK.search(section) is not None)

    def _resume_text(self, *, at_start: bool) -> None:
        self._section = StringIO()
        self._lines.restart(at_start=at_start)
        self._step = DelimiterParser._text

    def _forged(self, text: str, index: int) -> int:
        plain, index, marker = self._lines.scan(text, index)
        end = self._closing_bracket(plain)
        if end:
            self._emitter.text(plain[end:])
            self._step = DelimiterParser._text
        if marker:
            self._step = DelimiterParser._text
            self._open(marker)
        return index

    def _closing_bracket(self, text: str) -> int:
        """The index after the bracket that closes what was forged, 0 if it is not in `text`."""
        for found in _BRACKET.finditer(text):
            self._brackets += 1 if found.group() == "[" else -1
            if not self._brackets:
                return found.end()
        return 0


class DelimiterWriter:
    """Writes events as the model would have. A delimiter at a line's start within a text gets a word
    joiner (U+2060) after its first character, and so stays text."""

    def assistant(self, events: Sequence[ModelEvent]) -> str:
        parts: list[str] = []
        calls: list[str] = []
        for event in events:
            if event["type"] == "call":
                record = as_tool_call(call_record(event))
                call = {"name": record.get("name"), "args": record.get("args", {})}
                calls.append(f"§call: {json.dumps(call, ensure_ascii=False)}")
            else:
                parts.append(f"§{event['type']}: {_as_text(event['content'])}")
        return "\n".join([*parts, *calls, "§execute" if calls else "§end"])

    def results(self, results: Sequence[ResultEvent]) -> str:
        return f"[SYSTEM: results {result_records(results)}]"


def _as_text(content: str) -> str:
    def shield(found: re.Match[str]) -> str:
        if not found.start():
            return found.group()
        return f"{found.group(1)}{found.group(2)[0]}{JOINER}{found.group(2)[1:]}"

    return _LINE_MARKER.sub(shield, content)

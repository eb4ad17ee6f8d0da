"""The delimiter dialect: `§think:`, `§call:`, `§execute`, `§respond:`, `§end`.

Delimiters count at a line's start; a section runs until the next one. A call that is not JSON is content,
including its delimiter, followed by an error: the model's text is shown, never lost.
"""

import json
import re
from collections.abc import Sequence
from io import StringIO
from typing import Literal

from cogency_tui.protocol.event_emitter import CallReader, Clock, JsonError, NewId, OpenBlock, element_problem
from cogency_tui.protocol.events import ErrorPayload
from cogency_tui.protocol.json_object import MAX_DEPTH
from cogency_tui.protocol.parser_base import Machine
from cogency_tui.protocol.scanner import JOINER, LineMarkerScanner
from cogency_tui.protocol.transcript import Answered, ModelEvent, TextWriter, call_text, result_records

_CALL, _FORGED = "§call:", "[SYSTEM:"
_MARKERS = ("§think:", "§respond:", _CALL, _FORGED)
_WORDS = ("§execute", "§end")
_LINE_MARKER = re.compile(r"^( *)(§(?:think:|respond:|call:|execute|end)|\[SYSTEM:)", re.MULTILINE)
_BRACKET = re.compile(r"[\[\]]")
_LAST_LINE_BLANK = re.compile(r"\n *\Z")


class DelimiterParser(Machine):
    def __init__(self, clock: Clock, new_id: NewId, payload_limit: int) -> None:
        super().__init__(clock, new_id, DelimiterParser._text)
        self.answered = False
        self._payload_limit = payload_limit
        self._lines = LineMarkerScanner(_MARKERS, _WORDS)
        self._call = CallReader(self._emitter, "args", MAX_DEPTH)
        self._block = OpenBlock(payload_limit, _CALL)
        self._problem: ErrorPayload | None = None
        self._is_content = False
        self._section = StringIO()
        self._written = ""
        self._kind: Literal["think", "respond"] = "respond"
        self._pending = 0
        self._brackets = 0
        self._emitter.begin_unit("respond", {"aside": True})

    def _end(self) -> None:
        if self._step is DelimiterParser._after_call:
            self._complete_call()
        elif self._step is DelimiterParser._json:
            self._report(f"The call was cut off at {self._block.place()}; it did not run", self._block.raw())
        elif self._step is DelimiterParser._before_json:
            self._refuse_call("no JSON object follows §call:")
        elif self._step is DelimiterParser._forged:
            self.forged_to_end = True
        plain, marker = self._lines.close()
        if self._step is DelimiterParser._text:
            self._add_text(plain)
        if marker:
            self._open(marker)
        self._report_problem("")
        if not self.finished:
            self.unclosed = True
            self._report_pending("")

    def _text(self, text: str, index: int) -> int:
        plain, index, marker = self._lines.scan(text, index)
        if plain:
            self._add_text(plain)
        if marker:
            self._open(marker)
        return index

    def _add_text(self, plain: str) -> None:
        if self._problem is not None and self._is_content:
            self._section.write(plain)
        elif plain.strip():
            self._report_problem("")
        self._emitter.text(plain)

    def _open(self, marker: str) -> None:
        self._report_problem(marker)
        self._lines.restart(at_start=False)
        if marker != _FORGED:
            self._kind = "think" if marker == "§think:" else "respond"
        self._emitter.begin_unit(self._kind, {"aside": True} if marker == _CALL else None)
        if marker == _CALL:
            self._call = CallReader(self._emitter, "args", MAX_DEPTH)
            self._block = OpenBlock(self._payload_limit, _CALL)
            self._step = DelimiterParser._before_json
        elif marker == _FORGED:
            self.forged = True
            self._emitter.error(
                "The model wrote a [SYSTEM: …] line itself; it was discarded: only the engine does"
            )
            self._brackets = 1
            self._step = DelimiterParser._forged
        elif marker == "§execute":
            self._emitter.execute()
            self.finished = True
        elif marker == "§end":
            self._report_pending(marker)
            self._emitter.end()
            self.answered = True
            self.finished = True

    def _report_pending(self, marker: str) -> None:
        if self._pending:
            calls = "1 call was" if self._pending == 1 else f"{self._pending} calls were"
            self._emitter.malformed(
                {
                    "error": f"{calls} written without §execute; nothing ran",
                    "call": self._emitter.new_id(),
                    "tool": "execute",
                    "raw": marker,
                }
            )

    def _before_json(self, text: str, index: int) -> int:
        start = index
        while index < len(text) and text[index].isspace():
            index += 1
        self._block.advance(text, start, index)
        if index < len(text):
            if text[index] == "{":
                self._block.take()
                self._step = DelimiterParser._json
            else:
                found = json.dumps(text[index], ensure_ascii=False)
                self._refuse_call(f'expected one JSON object, beginning with "{{", found {found}')
        return index

    def _json(self, text: str, index: int) -> int:
        try:
            stop = self._call.feed(text, index)
        except JsonError as exc:
            self._block.advance(text, index, exc.index)
            self._refuse_call(str(exc))
            return exc.index
        self._block.advance(text, index, stop)
        if self._block.over_limit:
            self._report(f"The call is longer than {self._payload_limit:,} characters", self._block.raw())
            self.finished = True
        elif self._call.done:
            self._written = self._block.take()
            self._step = DelimiterParser._after_call
        return stop

    def _after_call(self, text: str, index: int) -> int:
        # One object and nothing else on its line: otherwise it is no call.
        char = text[index]
        if char == "\n":
            self._complete_call()
            return index
        if not char.isspace():
            found = json.dumps(char, ensure_ascii=False)
            self._refuse_call(f"expected the end of the line after the object, found {found}")
            return index
        self._block.advance(text, index, index + 1)
        return index + 1

    def _complete_call(self) -> None:
        problem = element_problem(self._call.value)
        if problem:
            self._refuse(f"The call {problem}", content=False)
        else:
            self._emitter.call(self._call.call_id, *self._call.written(self._written))
            self._pending += 1
        self._resume_text(at_start=False)

    def _refuse_call(self, problem: str) -> None:
        """Treat the section as text."""
        section = self._block.raw()
        self._refuse(f"Invalid call at {self._block.place()}: {problem}", content=True)
        self._emitter.begin_unit("respond", {"malformed": self._call.call_id})
        self._emitter.text(section)
        self._resume_text(at_start=_LAST_LINE_BLANK.search(section) is not None)

    def _refuse(self, message: str, *, content: bool) -> None:
        """Remember the error of the section; it is reported when its end is known."""
        self._problem = {"error": message, "call": self._call.call_id, "tool": self._call.name or "call"}
        self._is_content = content
        self._section = StringIO()
        self._section.write(self._block.raw())

    def _report_problem(self, marker: str) -> None:
        """Report the malformed call whose section `marker` ends."""
        if self._problem is not None:
            raw = self._section.getvalue().strip()
            self._emitter.malformed({**self._problem, "raw": f"{raw}\n{marker}" if marker in _WORDS else raw})
            self._problem = None

    def _report(self, message: str, raw: str) -> None:
        call = self._call
        self._emitter.malformed(
            {"error": message, "call": call.call_id, "tool": call.name or "call", "raw": raw}
        )

    def _resume_text(self, *, at_start: bool) -> None:
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
        """Return the index after the bracket that closes a forged result, 0 if it is not in `text`."""
        for found in _BRACKET.finditer(text):
            self._brackets += 1 if found.group() == "[" else -1
            if not self._brackets:
                return found.end()
        return 0


class DelimiterWriter(TextWriter):
    """Writes events as the model would. A delimiter at a line's start within a text gets a word joiner
    (U+2060) after its first character, and so stays text."""

    def assistant(self, events: Sequence[ModelEvent]) -> str:
        parts: list[str] = []
        boundary = "§end"
        called = False
        bare = True
        for event in events:
            if event["type"] == "call":
                parts.append(f"§call: {call_text(event)}")
                called, boundary = True, "§execute"
            elif event["type"] != "result":
                aside = bare and event["type"] == "respond" and event.get("aside", False)
                text = _as_text(event["content"], bare=aside)
                parts.append(text if aside else f"§{event['type']}: {text}")
                ended = "" if event.get("unclosed", False) else "§end"
                boundary = "§execute" if called else ended
            elif (raw := event["payload"].get("raw", "")).startswith((_CALL, *_WORDS)):
                parts.append(raw)
                boundary = ""
            elif raw:
                parts.append(f"§respond: {_as_text(raw)}")
            else:
                boundary = ""
            # Text without a delimiter before it belongs to the section before.
            bare = event["type"] == "call"
        return "\n".join([*parts, boundary] if boundary else parts)

    def results(self, results: Sequence[Answered]) -> str:
        records = [record for record, _ in result_records(results, "delimiter")]
        return f"[SYSTEM: results {json.dumps(records, ensure_ascii=False)}]"


def _as_text(content: str, *, bare: bool = False) -> str:
    def shield(found: re.Match[str]) -> str:
        if not found.start() and not bare:
            return found.group()
        return f"{found.group(1)}{found.group(2)[0]}{JOINER}{found.group(2)[1:]}"

    return _LINE_MARKER.sub(shield, content)

"""The XML dialect: `<think>`, `<execute>[…]</execute>`, `<results>`, `<respond>`, `<end>`.

The parser converts wire text to events, the writer stored events back to the model's messages.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from cogency_tui.protocol.event_emitter import (
    MENTIONED,
    CallReader,
    Clock,
    JsonError,
    NewId,
    OpenBlock,
    element_problem,
)
from cogency_tui.protocol.events import ErrorPayload
from cogency_tui.protocol.json_object import MAX_DEPTH
from cogency_tui.protocol.parser_base import Step, TagMachine
from cogency_tui.protocol.scanner import JOINER, LiteralScanner, shield
from cogency_tui.protocol.transcript import (
    Answered,
    ModelEvent,
    TextWriter,
    call_text,
    malformed_text,
    result_records,
    results_block,
)

OPENING = ("<think>", "<execute>", "<results>", "<respond>", "<end>", "<end/>")
_TAGS = (*OPENING, "</respond>")
_SPACE = " \t\r\n"
_NAMED = 9
"""Further problems of a block that are named."""

_MENTIONED_CURE = "Write the answer again; or, for a call: <execute>, one JSON array of calls, </execute>."
_EMPTY_CURE = f"Write the calls between the tags, as one JSON array; {MENTIONED}."
_Place = Literal["before", "among", "after"]
_FOUND = re.compile(r"</?[\w:.-]{1,40}(?:\s[^<>\n]{0,80})?>|<!\[CDATA\[|`{3,}|~{3,}|//|/\*")


@dataclass(frozen=True, slots=True)
class _Misplaced:
    """Text before, among or after the calls of a block that does not belong there, from `start` of the block
    on. Something else was expected at this `place`; `count` calls precede it.

    It is described when the block has ended: the text arrives in pieces.
    """

    where: _Place
    expected: str
    place: str
    start: int
    char: str
    count: int

    def describe(self, block: str) -> tuple[str, str]:
        """Return the error, and the cure where it is not to write the block again."""
        tag = _FOUND.match(block, self.start)
        found = tag.group() if tag else self.char
        if self.where == "after":
            return f"Invalid execute block: expected {self.expected}, found {_quoted(found)}", ""
        before = self.where == "before"
        if before and found == "</execute>":
            return "The execute block is empty", _EMPTY_CURE
        reason = self._reason(found, before=before)
        cure = _MENTIONED_CURE if reason.endswith(MENTIONED) else ""
        return f"Invalid execute block at {self.place}: {reason}", cure

    def _reason(self, found: str, *, before: bool) -> str:
        if found in ("#", "//", "/*"):
            return "JSON has no comments"
        if before and found.startswith(("```", "~~~")):
            return "it holds a Markdown fence; leave the fence out"
        if before and self.char == "<":
            return "it holds XML; write one JSON array of calls"
        if self.char == "<":
            return "the array is not closed; ] is missing before </execute>"
        if self.char == "]" and not before:
            return "a comma before the closing bracket"
        after = f" after call {self.count}" if self.count else ""
        return f"expected {self.expected}{after}, found {_quoted(found)}{self._hint(before=before)}"

    def _hint(self, *, before: bool) -> str:
        if not before:
            return ""
        return "; even a single call goes into an array" if self.char == "{" else f"; {MENTIONED}"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


class XmlParser(TagMachine):
    def __init__(self, clock: Clock, new_id: NewId, payload_limit: int) -> None:
        super().__init__(clock, new_id, OPENING, "</respond>")
        self.answered = False
        self._payload_limit = payload_limit
        self._block = OpenBlock(payload_limit)
        self._call: CallReader | None = None
        self._problem: ErrorPayload | None = None
        """The first problem of the block, which is reported with the others when the block ends."""
        self._others: list[str] = []
        self._misplaced: _Misplaced | None = None
        self._count = 0

    def _open(self, marker: str) -> None:
        if marker == "<think>":
            self._begin_thought("</think>")
        elif marker == "<results>":
            self._begin_forged_results()
        elif marker in ("<respond>", "</respond>"):
            self._begin_answer(wrapped=marker == "<respond>")
        elif marker == "<execute>":
            self._resume_answer()
            self._block = OpenBlock(self._payload_limit, marker)
            self._problem, self._others, self._count = None, [], 0
            self._step = XmlParser._before_array
        else:
            self._emitter.end()
            self.answered = True
            self.finished = True

    def _cut_off(self) -> None:
        if self._step is XmlParser._before_array:
            self._fail("The execute block was cut off: nothing follows <execute>", _EMPTY_CURE)
        elif self._step is not XmlParser._skip and self._problem is None:
            self._fail(f"The execute block was cut off at {self._block.place()}: {self._missing()}")
        self._report()

    def _missing(self) -> str:
        """Describe the end of the block that did not arrive."""
        if self._step in (XmlParser._after_array, XmlParser._closing_marker):
            return "</execute> is missing"
        if self._step is XmlParser._element:
            return f"the end of call {self._count + 1}, ] and </execute> are missing"
        return "] and </execute> are missing"

    # The payload: an array of calls, then the closing marker.

    def _before_array(self, text: str, index: int) -> int:
        return self._punctuation(
            text, index, {"[": XmlParser._first_element}, 'a JSON array, beginning with "["'
        )

    def _first_element(self, text: str, index: int) -> int:
        return self._punctuation(
            text, index, {"{": XmlParser._element, "]": XmlParser._after_array}, 'a call or "]"'
        )

    def _next_element(self, text: str, index: int) -> int:
        return self._punctuation(text, index, {"{": XmlParser._element}, "a call")

    def _after_element(self, text: str, index: int) -> int:
        steps = {",": XmlParser._next_element, "]": XmlParser._after_array}
        return self._punctuation(text, index, steps, '"," or "]"')

    def _punctuation(self, text: str, index: int, steps: dict[str, Step], expected: str) -> int:
        start = index
        while index < len(text) and text[index] in _SPACE:
            index += 1
        self._block.advance(text, start, index)
        if self._over_limit() or index == len(text):
            return index
        char = text[index]
        if char not in steps:
            self._misplace(char, expected, self._block.size)
            return index
        self._step = steps[char]
        if char == "{":
            self._block.take()
            shown = self._problem is None
            self._call = CallReader(self._emitter, "args", MAX_DEPTH - 1, shown=shown)
            return index
        self._block.advance(text, index, index + 1)
        return index + 1

    def _misplace(self, char: str, expected: str, start: int) -> None:
        """Skip the rest of the block from `char` at `start` on, which does not belong there."""
        places: dict[Step, _Place] = {
            XmlParser._before_array: "before",
            XmlParser._closing_marker: "after",
        }
        where: _Place = places.get(self._step, "among")
        self._misplaced = _Misplaced(where, expected, self._block.place(), start, char, self._count)
        self._fail("")

    def _element(self, text: str, index: int) -> int:
        call = self._call
        assert call is not None
        try:
            stop = call.feed(text, index)
        except JsonError as exc:
            self._block.advance(text, index, exc.index)
            self._fail(f"Invalid JSON in call {self._count + 1} at {self._block.place()}: {exc}")
            return exc.index
        self._block.advance(text, index, stop)
        if self._block.over_limit:
            self._over_limit()
        elif call.done:
            self._count += 1
            self._step = XmlParser._after_element
            self._complete(call)
        return stop

    def _complete(self, call: CallReader) -> None:
        if problem := element_problem(call.value):
            self._note(f"Call {self._count} of the execute block {problem}")
        elif self._problem is None:
            self._emitter.call(call.call_id, *call.written(self._block.take()))
        self._call = None

    def _after_array(self, text: str, index: int) -> int:
        start = index
        while index < len(text) and text[index] in _SPACE:
            index += 1
        self._block.advance(text, start, index)
        if not self._over_limit() and index < len(text):
            self._closing = LiteralScanner("</execute>")
            self._step = XmlParser._closing_marker
        return index

    def _closing_marker(self, text: str, index: int) -> int:
        held = self._closing.held
        plain, stop, closed = self._closing.scan(text, index)
        if plain:
            scanner = self._closing
            self._misplace(plain[0], "</execute> after the array", self._block.size - held)
            self._closing = scanner
            self._block.advance(text, index, stop)
            if closed:
                self._report()
        elif closed and self._problem is not None:
            self._block.advance(text, index, stop)
            self._report()
        elif closed:
            self._emitter.execute()
            self.finished = True
        else:
            self._block.advance(text, index, stop)
        return stop

    def _over_limit(self) -> bool:
        if self._block.over_limit:
            self._fail(f"The execute block is longer than {self._block.limit:,} characters")
            self._report()
            return True
        return False

    def _fail(self, message: str, hint: str = "") -> None:
        """Skip the rest of the block, to report it whole."""
        self._note(message, hint)
        self._closing = LiteralScanner("</execute>")
        self._step = XmlParser._skip

    def _note(self, message: str, hint: str = "") -> None:
        """Note a problem of the block, none of whose further calls counts."""
        if self._problem is not None:
            self._others.append(message)
            return
        call = self._call
        self._problem = {
            "error": message,
            "call": call.call_id if call else self._emitter.new_id(),
            "tool": (call.name if call else "") or "execute",
        }
        if hint:
            self._problem["hint"] = hint

    def _skip(self, text: str, index: int) -> int:
        _, stop, closed = self._closing.scan(text, index)
        self._block.advance(text, index, stop)
        if closed or self._block.over_limit:
            self._report()
        return stop

    def _report(self) -> None:
        assert self._problem is not None
        raw = self._block.raw()
        problems = [self._problem["error"], *self._others]
        if self._misplaced is not None:
            problems[-1], cure = self._misplaced.describe(raw.removeprefix("<execute>"))
            if cure:
                self._problem["hint"] = cure
        error = ". ".join(problems[: _NAMED + 1])
        if more := problems[_NAMED + 1 :]:
            error += f". {len(more):,} more problems"
        self._emitter.malformed({**self._problem, "error": error, "raw": raw})
        self.finished = True


class XmlWriter(TextWriter):
    """Writes events as the model would, so that parsing the text returns them.

    In answer text from another dialect a would-be marker gets a word joiner (U+2060) after its "<", which
    keeps it text, and a fenced block that was left open is closed.
    """

    def assistant(self, events: Sequence[ModelEvent]) -> str:
        parts: list[str] = []
        calls: list[str] = []
        block = ""
        previous = ""
        for event in events:
            if event["type"] == "think":
                thought = event["content"].replace("</think>", f"<{JOINER}/think>")
                open_end = event.get("unclosed", False) and event is events[-1]
                parts.append(f"<think>{thought}" if open_end else f"<think>{thought}</think>")
            elif event["type"] == "respond":
                wrapped = previous == "respond"
                last = event is events[-1] and not calls and not wrapped
                text = shield(event["content"], _TAGS if wrapped else OPENING, last=last)
                # On lines of their own: an inline code span left open ends with its line.
                parts.append(f"<respond>\n{text}\n</respond>" if wrapped else text)
            elif event["type"] == "call":
                calls.append(call_text(event))
                continue
            elif event["payload"].get("raw", "").startswith("<execute>"):
                block = event["payload"].get("raw", "")
                continue
            else:
                parts.append(malformed_text(event, "<execute>", OPENING))
            previous = event["type"]
        # Nothing after the boundary counts: the calls of a message are together at its end. A malformed
        # block contains all of them.
        if block:
            parts.append(block)
        elif calls:
            parts.append(f"<execute>\n[{', '.join(calls)}]\n</execute>")
        return "\n\n".join(parts)

    def results(self, results: Sequence[Answered]) -> str:
        return results_block(record for record, _ in result_records(results, "xml"))

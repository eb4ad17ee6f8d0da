"""The XML dialect: `<think>`, `<execute>[…]</execute>`, `<results>`, `<respond>`, `<end>`.

The parser converts wire text to events, the writer stored events back to the model's messages.
"""

import json
from collections.abc import Sequence

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
        if self._step in (XmlParser._after_array, XmlParser._closing_marker):
            self._fail(
                "The execute block was cut off: </execute> is missing after its array; none of its calls ran"
            )
        elif self._step is not XmlParser._skip and self._problem is None:
            self._fail(f"The execute block was cut off at {self._block.place()}; none of its calls ran")
        self._report()

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
            mentioned = self._step is XmlParser._before_array and char != "{"
            message = f"Invalid execute block at {self._block.place()}: {self._slip(char, expected)}"
            self._fail(message, _MENTIONED_CURE if mentioned else "")
            return index
        self._step = steps[char]
        if char == "{":
            self._block.take()
            shown = self._problem is None
            self._call = CallReader(self._emitter, "args", MAX_DEPTH - 1, shown=shown)
            return index
        self._block.advance(text, index, index + 1)
        return index + 1

    def _slip(self, char: str, expected: str) -> str:
        """Describe the error at `char` between the calls."""
        if self._step is XmlParser._next_element and char == "]":
            return "a comma before the closing bracket"
        after = f" after call {self._count}" if self._count else ""
        found = json.dumps(char, ensure_ascii=False)
        hint = ""
        if self._step is XmlParser._before_array:
            hint = "; even a single call goes into an array" if char == "{" else f"; {MENTIONED}"
        return f"expected {expected}{after}, found {found}{hint}"

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
        plain, stop, closed = self._closing.scan(text, index)
        if plain:
            found = json.dumps(plain[0], ensure_ascii=False)
            scanner = self._closing
            self._fail(f"Invalid execute block: expected </execute> after the array, found {found}")
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
        error = ". ".join([self._problem["error"], *self._others[:_NAMED]])
        if more := self._others[_NAMED:]:
            error += f". {len(more):,} more problems"
        self._emitter.malformed({**self._problem, "error": error, "raw": self._block.raw()})
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
                text = shield(event["content"], _TAGS, last=last)
                # On lines of their own: an inline code span left open ends with its line.
                parts.append(f"<respond>\n{text}\n</respond>" if wrapped else text)
            elif event["type"] == "call":
                calls.append(call_text(event))
                continue
            elif event["payload"].get("raw", "").startswith("<execute>"):
                block = event["payload"].get("raw", "")
                continue
            else:
                parts.append(malformed_text(event, "<execute>", _TAGS))
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

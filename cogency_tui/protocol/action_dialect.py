"""The action dialect: `<thought>`, `<action …>{…}</action>`, `<response>`.

A call is emitted at its closing tag, so that it runs while the model continues. A malformed action is one
error; parsing continues after its closing tag.
"""

import json
import re
from collections.abc import Collection, Sequence
from itertools import count
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from cogency_tui.protocol.event_emitter import (
    MENTIONED,
    AnswerMarks,
    CallReader,
    Clock,
    JsonError,
    NewId,
    OpenBlock,
)
from cogency_tui.protocol.events import CallEvent, ErrorPayload
from cogency_tui.protocol.json_object import MAX_DEPTH
from cogency_tui.protocol.parser_base import TagMachine
from cogency_tui.protocol.scanner import JOINER, LiteralScanner, MarkerScanner, shield
from cogency_tui.protocol.transcript import (
    Answered,
    ModelEvent,
    TextWriter,
    call_record,
    malformed_text,
    result_records,
    results_block,
)

_ACTION_TAGS = tuple(f"<action{end}" for end in " \t\r\n>")
OPENING = ("<thought>", "<response>", "<results>", *_ACTION_TAGS)
_LONGEST_TAG = 10_000
_SPACE = " \t\r\n"
_TAG_PART = re.compile(r"[\"'\[>]")
_ATTRIBUTE = re.compile(
    r"""\s*([A-Za-z_][\w-]*)\s*=\s*(?:"([^"]*)"|'([^']*)'|(\[[^\]]*\])|([^\s"'>\[]+))""", re.DOTALL
)
_FIRST_CURES = {
    **dict.fromkeys("`~", "leave a Markdown fence out; "),
    "<": "write the object, not XML; ",
    "[": "write one object in each action; ",
}
"""What to write instead of a body that begins with this character."""

_OTHER_PARAMETERS = ("args", "arguments", "params", "input")
_ATTRIBUTE_KEYS = ("type", "mode", "id", "depends_on")


_OUTPUT_KEY = r"[A-Za-z_]\w*"


class _Tag(msgspec.Struct, forbid_unknown_fields=True):
    """The attributes of an action."""

    type: Literal["tool", "agent", "relic", "workflow", "llm"] = "tool"
    mode: Literal["sync", "async", "fire_and_forget"] = "sync"
    id: Annotated[str, Meta(min_length=1)] | None = None
    depends_on: list[str] = []


class _Body(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """The JSON object of an action."""

    name: str
    parameters: dict[str, Any]
    output_key: Annotated[str, Meta(pattern=f"^{_OUTPUT_KEY}$")] | None = None
    depends_on: list[str] = []
    timeout: Annotated[float, Meta(gt=0)] | None = None
    retry: Annotated[int, Meta(ge=0, le=100)] | None = None
    on_error: Literal["skip", "fail", "retry"] | None = None


class ActionParser(TagMachine):
    """The parser of the action dialect: it is never finished before the stream is."""

    def __init__(
        self, clock: Clock, new_id: NewId, payload_limit: int, used_ids: Collection[str] = ()
    ) -> None:
        super().__init__(clock, new_id, OPENING, "</response>")
        self._payload_limit = payload_limit
        self._action_end = LiteralScanner("</action>")
        self._tags = MarkerScanner((*_ACTION_TAGS, "</action>"))
        self._block = OpenBlock(payload_limit)
        self._call = CallReader(self._emitter, "parameters", MAX_DEPTH)
        self._tag = _Tag()
        self._tag_text = ""
        self._tag_quote = ""
        self._problem = ""
        self._ids = set(used_ids)
        self._numbers = count(1)
        self._responses = 0
        self._resume_answer()

    @property
    def answered(self) -> bool:
        """True if the model has begun its `<response>`, and so ends its turn."""
        return self._responses > 0

    def _open(self, marker: str) -> None:
        if marker == "<thought>":
            self._begin_thought("</thought>")
        elif marker == "<results>":
            self._begin_forged_results()
        elif marker in ("<response>", "</response>"):
            self._begin_answer(wrapped=marker == "<response>")
            self._responses += marker == "<response>"
            if marker == "<response>" and self._responses == 2:
                self._emitter.error("A turn has only one <response>; this is another one")
        else:
            self._begin_action(marker)
            if marker == "<action>":
                self._begin_body()

    def _answer_marks(self) -> AnswerMarks:
        return {"aside": self._markers is self._outside}

    def _begin_action(self, marker: str) -> None:
        self._resume_answer()
        self._action_end = LiteralScanner("</action>")
        self._block = OpenBlock(self._payload_limit, marker)
        self._call = CallReader(self._emitter, "parameters", MAX_DEPTH)
        self._tag = _Tag()
        self._tag_text = marker
        self._tag_quote = ""
        self._problem = ""
        self._step = ActionParser._attributes

    def _cut_off(self) -> None:
        if self._step is ActionParser._skip_to_tag:
            held = self._tags.flush()
            self._block.advance(held, 0, len(held))
        elif self._step is not ActionParser._skip:
            self._problem = f"The action was cut off at {self._block.place()}; it did not run"
        if self._step in (ActionParser._after_body, ActionParser._closing_tag):
            self._problem = "The action was cut off: </action> is missing after its object; it did not run"
        if self._step is ActionParser._attributes:
            self._block = OpenBlock(self._payload_limit, self._tag_text)
        self._report(self._problem)

    # An action: its tag, its body, its closing tag.

    def _attributes(self, text: str, index: int) -> int:
        complete = False
        if self._tag_quote:
            stop = text.find(self._tag_quote, index)
            end = len(text) if stop < 0 else stop + 1
            if stop >= 0:
                self._tag_quote = ""
        else:
            part = _TAG_PART.search(text, index)
            end = len(text) if part is None else part.end()
            complete = part is not None and part.group() == ">"
            if part is not None and not complete:
                self._tag_quote = "]" if part.group() == "[" else part.group()
        self._tag_text += text[index:end]
        over = len(self._tag_text) - _LONGEST_TAG
        if over > 0:
            self._tag_text = self._tag_text[:_LONGEST_TAG]
            self._begin_body()
            self._fail(f"The tag of an action is longer than {_LONGEST_TAG:,} characters")
            return end - over
        if complete:
            self._read_tag()
        return end

    def _read_tag(self) -> None:
        text = self._tag_text.removeprefix("<action")[:-1]
        self._begin_body()
        try:
            self._tag = _parse_tag(text)
        except ValueError as exc:
            self._fail(f"Invalid <action> tag: {exc}")
            return
        if self._tag.id in self._ids:
            self._fail(f"The id {json.dumps(self._tag.id)} was used before in this turn; choose a new id")
        elif self._tag.id is not None:
            self._ids.add(self._tag.id)

    def _begin_body(self) -> None:
        """Begin the body of a complete tag."""
        self._block = OpenBlock(self._payload_limit, self._tag_text)
        self._step = ActionParser._before_body

    def _before_body(self, text: str, index: int) -> int:
        start = index
        while index < len(text) and text[index] in _SPACE:
            index += 1
        self._block.advance(text, start, index)
        if index < len(text):
            self._step = ActionParser._body
        return index

    def _body(self, text: str, index: int) -> int:
        try:
            stop = self._call.feed(text, index)
        except JsonError as exc:
            self._block.advance(text, index, exc.index)
            if self._block.is_empty:
                self._pass_over(f"Invalid action: {exc}; {_FIRST_CURES.get(text[exc.index], '')}{MENTIONED}")
            else:
                self._fail(f"Invalid JSON in the action at {self._block.place()}: {exc}")
            return exc.index
        self._block.advance(text, index, stop)
        if self._block.over_limit:
            self._fail(f"The action is longer than {self._block.limit:,} characters")
        elif self._call.done:
            self._step = ActionParser._after_body
        return stop

    def _after_body(self, text: str, index: int) -> int:
        start = index
        while index < len(text) and text[index] in _SPACE:
            index += 1
        self._block.advance(text, start, index)
        if self._block.over_limit:
            self._fail(f"The action is longer than {self._block.limit:,} characters")
        elif index < len(text):
            self._step = ActionParser._closing_tag
        return index

    def _closing_tag(self, text: str, index: int) -> int:
        plain, stop, closed = self._action_end.scan(text, index)
        if plain:
            found = json.dumps(plain[0], ensure_ascii=False)
            self._pass_over(f"Invalid action: expected </action> after the object, found {found}")
            for piece in (plain, "</action>" if closed else self._action_end.flush()):
                self._skip_to_tag(piece, 0)
        elif closed:
            self._block.advance("</action>", 0, len("</action>"))
            self._complete()
        return stop

    def _complete(self) -> None:
        if self._tag.id is None:
            self._tag.id = self._free_id()
        try:
            body = msgspec.convert(self._call.value, _Body)
        except msgspec.ValidationError as exc:
            self._report(f"Invalid action: {exc}{_cure(self._call.value)}")
        else:
            self._emitter.call(self._call.call_id, _record(self._tag, body), self._block.raw())
        self._resume_answer()

    def _free_id(self) -> str:
        """Create an id for an action that has none."""
        for number in self._numbers:
            if (found := f"auto{number}") not in self._ids:
                self._ids.add(found)
                return found
        raise AssertionError("numbers have no end")

    def _fail(self, message: str) -> None:
        """Skip the rest of the action, to report it whole."""
        self._problem = message
        self._step = ActionParser._skip

    def _pass_over(self, message: str) -> None:
        """Skip text that belongs to no object: the next tag outside Markdown code counts again."""
        self._problem = message
        self._tags.restart()
        self._step = ActionParser._skip_to_tag

    def _report(self, message: str) -> None:
        payload: ErrorPayload = {
            "error": message,
            "call": self._call.call_id,
            "tool": self._call.name or "action",
            "raw": self._block.raw(),
        }
        if self._tag.id:
            payload["action"] = self._tag.id
        self._emitter.malformed(payload)

    def _skip(self, text: str, index: int) -> int:
        _, stop, closed = self._action_end.scan(text, index)
        self._block.advance(text, index, stop)
        if closed:
            self._report(self._problem)
            self._resume_answer()
        return stop

    def _skip_to_tag(self, text: str, index: int) -> int:
        plain, stop, marker = self._tags.scan(text, index)
        self._block.advance(plain, 0, len(plain))
        if marker == "</action>":
            self._block.advance(marker, 0, len(marker))
        if marker:
            self._report(self._problem)
            self._resume_answer()
        if marker and marker != "</action>":
            self._begin_action(marker)
            if marker == "<action>":
                self._begin_body()
        return stop


def _cure(body: dict[str, Any]) -> str:
    """Return what to write instead of a wrong key or value, where that is known."""
    if any(key in body for key in _OTHER_PARAMETERS):
        return '; write "parameters"'
    if "parameters" not in body:
        return '; without parameters write "parameters": {}'
    key: Any = body.get("output_key")
    if isinstance(key, str) and not re.fullmatch(_OUTPUT_KEY, key):
        return "; an output_key has letters, digits and _, and does not begin with a digit"
    return "; depends_on is a list of ids" if isinstance(body.get("depends_on"), str) else ""


def _parse_tag(text: str) -> _Tag:
    attributes: dict[str, Any] = {}
    index = 0
    while text[index:].strip():
        found = _ATTRIBUTE.match(text, index)
        if found is None:
            raise ValueError(f"{json.dumps(text[index:].strip()[:40])} is not an attribute")
        key = found.group(1)
        if key not in _ATTRIBUTE_KEYS:
            raise ValueError(
                f"unknown attribute {json.dumps(key)}; known attributes: {', '.join(_ATTRIBUTE_KEYS)}"
            )
        if key in attributes:
            raise ValueError(f"the attribute {json.dumps(key)} occurs twice")
        value = next(group for group in found.groups()[1:] if group is not None)
        attributes[key] = _ids(value) if key == "depends_on" else value
        index = found.end()
    return msgspec.convert(attributes, _Tag)


def _ids(value: str) -> Any:
    """Parse ids in an attribute: a JSON list, or names with commas or spaces between them."""
    if value.lstrip().startswith("["):
        try:
            return json.loads(value.replace("'", '"'))
        except ValueError as exc:
            raise ValueError(f"depends_on is not a list of ids: {exc}") from exc
    return value.replace(",", " ").split()


def _record(tag: _Tag, body: _Body) -> dict[str, Any]:
    record = msgspec.to_builtins(body)
    record["args"] = record.pop("parameters")
    depends_on = [*dict.fromkeys([*tag.depends_on, *body.depends_on])]
    if depends_on:
        record["depends_on"] = depends_on
    if isinstance(body.timeout, float) and body.timeout.is_integer():
        record["timeout"] = int(body.timeout)
    return {**record, "id": tag.id, "type": tag.type, "mode": tag.mode}


class ActionWriter(TextWriter):
    """Writes events as the model would: the answer that ends a message in `<response>`, text beside it
    plain. In text that would be a tag, a word joiner follows the "<"."""

    def assistant(self, events: Sequence[ModelEvent]) -> str:
        parts: list[str] = []
        previous = ""
        for event in events:
            if event["type"] == "think":
                thought = event["content"].replace("</thought>", f"<{JOINER}/thought>")
                open_end = event.get("unclosed", False) and event is events[-1]
                parts.append(f"<thought>{thought}" if open_end else f"<thought>{thought}</thought>")
            elif event["type"] == "respond":
                text = shield(event["content"], (*OPENING, "</response>"))
                wrapped = not event.get("aside", event is not events[-1] and previous != "respond")
                # On lines of their own: an inline code span left open ends with its line.
                parts.append(f"<response>\n{text}\n</response>" if wrapped else text)
            elif event["type"] == "call":
                parts.append(_action(event))
            else:
                text = malformed_text(event, "<action", (*OPENING, "</response>"))
                # The blank line before the next part would make a tag of it.
                parts.append(
                    f"{text}{JOINER}" if text.endswith("<action") and event is not events[-1] else text
                )
            previous = event["type"]
        return "\n\n".join(parts)

    def results(self, results: Sequence[Answered]) -> str:
        records = result_records(results, "action")
        return results_block(record | _identity(answered) for record, answered in records)


def _action(event: CallEvent) -> str:
    raw = event.get("raw", "")
    if raw.startswith("<action"):
        return raw
    record = call_record(event)
    tag = {
        "type": record.get("type", "tool"),
        "mode": record.get("mode", "sync"),
        "id": record.get("id", event["id"]),
    }
    attributes = " ".join(f'{key}="{value}"' for key, value in tag.items())
    body = {"name": record.get("name"), "parameters": record.get("args", {})}
    body |= {key: value for key, value in record.items() if key not in ("name", "args", *tag)}
    return f"<action {attributes}>\n{json.dumps(body, ensure_ascii=False)}\n</action>"


def _identity(answered: Answered) -> dict[str, Any]:
    """Return the model's names of the action: its id, and the name of its value."""
    if answered.call is None:
        action = answered.result["payload"].get("action")
        return {"id": action} if action else {}
    record = call_record(answered.call)
    named = {"id": record.get("id", answered.call["id"])}
    return named | ({"output_key": record["output_key"]} if record.get("output_key") else {})

"""The embedded model's knowledge: its messages, read as requests, calls and results.

Reading is total: text that is not understood is no call and no result. Contents of results are data;
nothing here or later treats them as a request.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, cast

from cogency_tui.protocol import DIALECTS, Dialect
from cogency_tui.protocol.messages import Message

_PROTOCOL = re.compile(r"^\s*Protocol:\s*(\w+)\s*$", re.MULTILINE)
_ACTION = re.compile(r"<action\b[^{<]*>\s*")
_CALL = re.compile(r"^[ \t]*§call:\s*", re.MULTILINE)
_RESULTS = re.compile(r"\s*(?:<results>|\[SYSTEM:\s*results)\s*")
_RESULTS_END = re.compile(r"\s*(?:</results>|\])\s*")
_ENVIRONMENT = re.compile(r"\A\[engine\] Environment\b.*?\n\n", re.DOTALL)
_NOTICE = re.compile(r"(?:\A|\n\n)\[engine\] ([^\n]*)\s*\Z")
_JSON = json.JSONDecoder(strict=False)


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """A call of a tool. Equal calls are the same step of a plan."""

    name: str
    args: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a call, as the engine reported it."""

    ok: bool
    content: Any


NO_RESULT = Result(False, "no result came back")


@dataclass(frozen=True, slots=True)
class CompletedCall:
    """A call with its result; one whose result never arrived has failed."""

    call: PlannedCall
    result: Result


@dataclass(slots=True)
class Turn:
    """A request of the user, and the steps so far."""

    request: str
    steps: list[CompletedCall] = field(default_factory=list[CompletedCall])
    cycles: int = 0


@dataclass(frozen=True, slots=True)
class KnownConversation:
    """The whole knowledge of the model. It has to answer the last turn."""

    dialect: Dialect
    tools: str
    turns: tuple[Turn, ...]
    is_last: bool = False
    """True if the engine asked to conclude: no more calls can run."""

    def has_tool(self, name: str) -> bool:
        """Return whether the system prompt lists a tool by this name."""
        return re.search(rf"^\W*{re.escape(name)}\W?\s*[:(]", self.tools, re.MULTILINE) is not None

    @property
    def last_file(self) -> str:
        """The last mentioned file, or an empty text."""
        for turn in reversed(self.turns):
            for step in reversed(turn.steps):
                if file := step.call.args.get("file"):
                    return str(file)
        return ""


def read_conversation(messages: Sequence[Message]) -> KnownConversation:
    """Read all messages, in the dialect that the system prompt names, XML where it names none."""
    system = "\n".join(message["content"] for message in messages if message["role"] == "system")
    named = _PROTOCOL.findall(system)
    # Only the first line counts: a project's own instructions come later and are not the protocol.
    known: dict[str, Dialect] = {dialect: dialect for dialect in DIALECTS}
    dialect = known.get(named[0].lower(), "xml") if named else "xml"
    turns: list[Turn] = []
    pending: list[PlannedCall] = []
    is_last = False

    def settle(results: Sequence[Result]) -> None:
        if turns:
            padded = [*results, *[NO_RESULT] * len(pending)]
            turns[-1].steps += [
                CompletedCall(call, result) for call, result in zip(pending, padded, strict=False)
            ]
        pending.clear()

    for message in messages:
        if message["role"] == "assistant":
            settle(())
            pending += read_calls(message["content"], dialect)
            if pending and turns:
                turns[-1].cycles += 1
        elif message["role"] == "user":
            results, rest = read_results(_ENVIRONMENT.sub("", message["content"]))
            settle(results)
            notice = _NOTICE.search(rest)
            is_last = notice is not None and "last step" in notice[1]
            rest = _NOTICE.sub("", rest).strip()
            if rest:
                turns.append(Turn(rest))
    settle(())
    return KnownConversation(dialect, system, tuple(turns), is_last)


@lru_cache(maxsize=512)
def read_calls(text: str, dialect: Dialect) -> tuple[PlannedCall, ...]:
    """Return the calls of an assistant message. Markers that an answer quotes are no calls."""
    if dialect == "delimiter":
        return _calls(_embedded(text, _CALL), "args")
    if dialect == "action":
        return _calls(_embedded(text.partition("<response>")[0], _ACTION), "parameters")
    start = -1
    while (start := text.find("<execute>", start + 1)) >= 0:
        value, end = _decode(text, start + len("<execute>"))
        if isinstance(value, list) and text[end:].strip() == "</execute>":
            return _calls(cast("list[object]", value), "args")
    return ()


def read_results(text: str) -> tuple[tuple[Result, ...], str]:
    """Return the results at the start of a user message, and the user's words after them."""
    results: list[Result] = []
    rest = text
    while opened := _RESULTS.match(rest):
        value, end = _decode(rest, opened.end())
        closed = _RESULTS_END.match(rest, end)
        if not isinstance(value, list) or closed is None:
            break
        results += [_result(each) for each in cast("list[object]", value)]
        rest = rest[closed.end() :]
    return tuple(results), rest.strip()


def _embedded(text: str, marker: re.Pattern[str]) -> list[object]:
    """Decode the JSON value after each `marker`, continuing behind each value."""
    values: list[object] = []
    position = 0
    while found := marker.search(text, position):
        value, position = _decode(text, found.end())
        if value is not None:
            values.append(value)
    return values


def _decode(text: str, start: int) -> tuple[object, int]:
    """Decode the JSON value at `start` after white space; return it and its end, or None where there is
    none."""
    while start < len(text) and text[start].isspace():
        start += 1
    try:
        value, end = cast("tuple[object, int]", _JSON.raw_decode(text, start))
    except (ValueError, RecursionError):
        return None, start
    return value, end


def _calls(values: Sequence[object], arguments: str) -> tuple[PlannedCall, ...]:
    calls: list[PlannedCall] = []
    for value in values:
        table = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
        args: object = table.get(arguments)
        calls.append(
            PlannedCall(
                str(table.get("name", "")), cast("dict[str, Any]", args) if isinstance(args, dict) else {}
            )
        )
    return tuple(calls)


def _result(value: object) -> Result:
    table = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    return Result(table.get("status") == "success", table.get("content", ""))

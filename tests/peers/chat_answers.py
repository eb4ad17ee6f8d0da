"""Answers with native calls and reasoning, as OpenAI streams them and as servers that are compatible do."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

Delta = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Call:
    """A native call; `arguments` are JSON text, as the model wrote it."""

    id: str
    name: str
    arguments: str

    @property
    def whole(self) -> dict[str, Any]:
        """It as it comes back in a message."""
        return {
            "id": self.id,
            "type": "function",
            "function": {"name": self.name, "arguments": self.arguments},
        }


class Answer(str):
    """A reply of a peer: its text, with the calls that follow it and the reasoning before it. `details` are
    OpenRouter's pieces of reasoning, `after` is text that comes behind the calls."""

    calls: Sequence[Call]
    reasoning: str
    details: Sequence[dict[str, Any]]
    after: str

    def __new__(
        cls,
        text: str = "",
        *calls: Call,
        reasoning: str = "",
        details: Sequence[dict[str, Any]] = (),
        after: str = "",
    ) -> Self:
        answer = super().__new__(cls, text)
        answer.calls, answer.reasoning, answer.details, answer.after = calls, reasoning, details, after
        return answer


@dataclass(frozen=True, slots=True)
class Habits:
    """How a server streams calls: what is set differs from OpenAI.

    `index`: not at all, or 0 for each call. `ids`: not at all, empty, the same for all calls, or with every
    piece. `names`: with every piece, or in two pieces. `arguments`: as an object, or null where there are
    none. `whole`: a call in one piece, all of them in one chunk where it is `"together"`. `legacy` is the
    older `function_call`, `empty` an empty list of calls beside each text.
    """

    index: Literal["each", "none", "zero"] = "each"
    ids: Literal["each", "none", "empty", "same", "repeated"] = "each"
    names: Literal["first", "repeated", "pieces"] = "first"
    arguments: Literal["text", "object", "null"] = "text"
    whole: Literal["", "alone", "together"] = ""
    finish: Literal["tool_calls", "stop", "function_call"] = "tool_calls"
    legacy: bool = False
    empty: bool = False


OPENAI = Habits()


def call_deltas(calls: Sequence[Call], size: int, habits: Habits = OPENAI) -> list[Delta]:
    """The deltas of calls, arguments in pieces of `size` characters."""
    pieces = [list(_pieces(call, at, size, habits)) for at, call in enumerate(calls)]
    if habits.legacy:
        return [{"function_call": piece["function"]} for piece in pieces[0]] if pieces else []
    if habits.whole == "together":
        return [{"tool_calls": [piece for each in pieces for piece in each]}] if pieces else []
    return [{"tool_calls": [piece]} for each in pieces for piece in each]


def _pieces(call: Call, number: int, size: int, habits: Habits) -> Iterator[Delta]:
    """One call's pieces: the first has its name and no arguments, unless it is the whole."""
    if habits.whole or habits.arguments == "object":
        yield _piece(call, number, habits, call.name, call.arguments, first=True)
        return
    names = [call.name[:2], call.name[2:]] if habits.names == "pieces" else [call.name]
    for at, name in enumerate(names):
        yield _piece(call, number, habits, name, "", first=not at)
    for start in range(0, len(call.arguments), size):
        name = call.name if habits.names == "repeated" else ""
        yield _piece(call, number, habits, name, call.arguments[start : start + size], first=False)


def _piece(call: Call, number: int, habits: Habits, name: str, arguments: str, *, first: bool) -> Delta:
    index = {"each": {"index": number}, "zero": {"index": 0}, "none": {}}[habits.index]
    ids = {"none": None, "empty": "", "same": "call_same"}
    given = ids.get(habits.ids, call.id)
    identified = given is not None and (first or habits.ids in ("repeated", "empty"))
    function: dict[str, Any] = {"name": name} if name else {}
    function["arguments"] = _arguments(arguments, habits)
    return {
        **index,
        **({"id": given} if identified else {}),
        **({"type": "function"} if first else {}),
        "function": function,
    }


def _arguments(text: str, habits: Habits) -> Any:
    if habits.arguments == "object" and text:
        return json.loads(text)
    return None if habits.arguments == "null" and not text else text

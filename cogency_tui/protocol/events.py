"""The ten events: everything that the program knows about a conversation is a list of these.

The parser makes those of the model, the engine adds its own; only complete units are stored.
This module is the single definition of their shape.
"""

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict

from cogency_tui.errors import CogencyError


class ReviewNote(TypedDict):
    """What the person did about the model's edits since the message before, as the model is told it.

    `action` and `edit` are the numbers of the last of each that this covers.
    """

    text: str
    action: int
    edit: int


class UserEvent(TypedDict):
    """The user's message; the model is sent `content`, then the text of the `review`.

    The first message of a conversation carries the `environment`: the block that says where the model works.
    `conversation` is the conversation's id, where events are printed. `sources` and `possible_sources` are as
    in `ResultPayload`: of a command that the user ran, and of tools that the system prompt describes.
    """

    type: Literal["user"]
    timestamp: float
    content: str
    review: NotRequired[ReviewNote]
    environment: NotRequired[str]
    conversation: NotRequired[str]
    sources: NotRequired[list[str]]
    possible_sources: NotRequired[list[str]]


class ThinkEvent(TypedDict):
    """The model's reasoning. As a delta it carries the `id` of the unit that it extends.

    `cycle` names the cycle that it was written in: the model's events of one cycle are one message.
    `unclosed` marks what the answer ended in, without the marker that its dialect has for that.
    """

    type: Literal["think"]
    timestamp: float
    id: str
    content: str
    cycle: NotRequired[str]
    unclosed: NotRequired[bool]
    interrupted: NotRequired[bool]


class CallEvent(TypedDict):
    """A tool call. `content` is JSON object text: `name`, `args`, and what a dialect adds.

    `content` is the model's own text where that is strict JSON of this shape; `raw` is its text where it is
    not (an `<action>` with its tag, raw newlines in a string). `cycle` is as in `ThinkEvent`.

    With `partial` it is a preview of a call that is still being written, under the id that the call
    will have: `name` once it is known, and in `args` only what is new: a piece to append for a text
    argument, the whole value for any other.
    """

    type: Literal["call"]
    timestamp: float
    id: str
    content: str
    raw: NotRequired[str]
    cycle: NotRequired[str]
    partial: NotRequired[bool]


class ExecuteEvent(TypedDict):
    """The boundary at which a batch of calls runs."""

    type: Literal["execute"]
    timestamp: float


class ResultPayload(TypedDict):
    """`outcome` is one line for the user, `content` any JSON value for the model.

    `refused` is the reason why permissions did not let the call run. A result in the place of a call that
    could not be parsed has that call's text as `raw`, and the id that the model gave it as `action`.
    `put_back` are the guarded files whose changes were put back, of a call that did its own work.
    `sources` name whose content it has, where neither the user nor the project answers for that;
    `possible_sources` what nothing kept from bringing such content. Events of older versions have neither.
    """

    outcome: str
    content: Any
    error: bool
    refused: NotRequired[str]
    raw: NotRequired[str]
    action: NotRequired[str]
    put_back: NotRequired[list[str]]
    sources: NotRequired[list[str]]
    possible_sources: NotRequired[list[str]]


class ResultEvent(TypedDict):
    """What became of the call with this `id`; `duration` in seconds.

    With `partial` it says that the call is running; its payload's `content` is the output that is
    new since the one before (the first, at the start, is empty). `cycle` is as in `ThinkEvent`. A call of
    which only previews came has a result as well, which is not stored either.
    """

    type: Literal["result"]
    timestamp: float
    id: str
    tool: str
    duration: float
    payload: ResultPayload
    cycle: NotRequired[str]
    partial: NotRequired[bool]


class RespondEvent(TypedDict):
    """The model's answer. As a delta it carries the `id` of the unit that it extends.

    `aside` marks text outside `<response>` or `§respond:`; `malformed` names the call that the text was meant
    to be, and whose failed result has it as `raw`. `cycle` and `unclosed` are as in `ThinkEvent`.
    """

    type: Literal["respond"]
    timestamp: float
    id: str
    content: str
    aside: NotRequired[bool]
    malformed: NotRequired[str]
    cycle: NotRequired[str]
    unclosed: NotRequired[bool]
    interrupted: NotRequired[bool]


class EndEvent(TypedDict):
    """The turn is over. `conversation` is the conversation's id, where events are printed."""

    type: Literal["end"]
    timestamp: float
    conversation: NotRequired[str]


class Measure(TypedDict, total=False):
    """Figures of one cycle or of a conversation (protocols.md, section 6).

    Tokens for `input` (sent), `output` (generated), `cached`, `billed_input` and `replay_input` (what
    replay mode would have sent); seconds for `duration` (tools and questions included), `ttft` and
    `writing` (from the first token to the last); USD for `cost`.
    """

    input: int
    output: int
    duration: float
    cached: int
    billed_input: int
    replay_input: int
    ttft: float
    writing: float
    cost: float
    estimated: bool
    context: int
    context_size: int
    provider: str
    model: str
    mode: str
    reason: str


class MetricEvent(TypedDict):
    """What the cycle (`step`) and the conversation so far (`total`) took."""

    type: Literal["metric"]
    timestamp: float
    step: Measure
    total: Measure


class ErrorPayload(TypedDict):
    """`error` says what was wrong and where; `tool` which tool is to blame, `hint` what to do.

    Where it stands in the place of a call, `call` is the id that this call would have had, `action` the one
    that the model gave it, and `raw` what the model wrote. A `notice` is a decision that was made on the
    way, not a failure; with `retry` it is asked again after so many seconds.
    """

    error: str
    tool: NotRequired[str]
    hint: NotRequired[str]
    call: NotRequired[str]
    action: NotRequired[str]
    raw: NotRequired[str]
    notice: NotRequired[bool]
    retry: NotRequired[float]


class ErrorEvent(TypedDict):
    """Something went wrong that is no tool's result."""

    type: Literal["error"]
    timestamp: float
    payload: ErrorPayload


def error_event(error: CogencyError, timestamp: float) -> ErrorEvent:
    """An error of ours as the event that shows it."""
    payload: ErrorPayload = {"error": str(error)}
    if error.hint:
        payload["hint"] = error.hint
    return {"type": "error", "timestamp": timestamp, "payload": payload}


def notice_event(text: str, timestamp: float) -> ErrorEvent:
    """A remark of ours as the event that shows it."""
    return {"type": "error", "timestamp": timestamp, "payload": {"error": text, "notice": True}}


class InterruptEvent(TypedDict):
    """The person stopped the turn."""

    type: Literal["interrupt"]
    timestamp: float


Event: TypeAlias = (
    UserEvent
    | ThinkEvent
    | CallEvent
    | ExecuteEvent
    | ResultEvent
    | RespondEvent
    | EndEvent
    | MetricEvent
    | ErrorEvent
    | InterruptEvent
)

PERSISTED = frozenset({"user", "think", "call", "result", "respond"})
"""The types that the store keeps; the others can be derived or are of the moment."""


class Message(TypedDict):
    """One message to a model, as every provider understands it."""

    role: Literal["system", "user", "assistant"]
    content: str

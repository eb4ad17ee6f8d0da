"""The ten events of which a conversation consists.

The parser emits those of the model, the engine adds its own; only complete units are stored. No other
module defines their shape.
"""

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict

from cogency_tui.errors import CogencyError
from cogency_tui.protocol.image import Image


class CommentPlace(TypedDict):
    """The subject of a comment in the review: a line of a file, from 1; 0 for the whole file. With an empty
    path it is all files."""

    path: str
    line: int


class ReviewNote(TypedDict):
    """The user's decisions about the model's edits since the message before, as the model is sent them.

    `action` and `edit` are the numbers of the last of each that this covers, `comments` the subjects of the
    user's comments in it.
    """

    text: str
    action: int
    edit: int
    comments: NotRequired[list[CommentPlace]]


CallState: TypeAlias = Literal["running", "done", "failed", "declined", "skipped", "interrupted"]
"""The state of a call: `skipped` where a call that it depends on did not succeed, `declined` where the user,
or the permission mode that they chose, did not allow it (`failed` in events of older versions), `failed` for
every other failure that is no interruption."""


class RanCommand(TypedDict):
    """A command that the user ran (`!command`), after its end.

    `outcome` is one line for the user, `output` what it wrote, shortened for the model; `duration` is in
    seconds.
    """

    command: str
    state: CallState
    outcome: str
    output: str
    duration: float


class UntilTurn(TypedDict):
    """A turn that goes on until the user's `command` succeeds: the `turn` of that number, of at most so many
    `turns`. The model is sent `text` about it after the message, which is `automatic` if the user has not
    written it."""

    command: str
    turn: int
    turns: int
    text: str
    automatic: NotRequired[bool]


def describe_image(image: Image) -> str:
    """Describe an image in words: `shot.png: 800×600 pixels, 12,345 bytes`."""
    return f"{image['name']}: {image['width']}×{image['height']} pixels, {image['size']:,} bytes"


class HookAddition(TypedDict):
    """The number of lines that the hook `name` has added to a message."""

    name: str
    lines: int


class UserEvent(TypedDict):
    """The user's message; the model is sent `content`, then the texts of the `review` and of `until`, and
    last the `note`, which says what has become of the turn before.

    With `ran` it is a command that the user ran: the model is sent a report of it, which `transcript`
    renders, and `content` is only the command after `! `. It is no turn: the model answers it with the next
    message.

    A `steered` one was sent while the turn before it worked, and ended that between two steps: the turn is
    neither interrupted nor unanswered, and the message is what the model answers next.

    The first message of a conversation carries the `environment`: a block that describes where the model
    works. `hooks_context` is what hooks have for the model, `hooks_added` how much of it each. `original` is
    the id of an imported message in the agent that it is from; other events have theirs as `id`.
    `conversation` is the conversation's id, where events are printed. `sources` and `possible_sources` are
    as in `ResultPayload`: those of a command that the user ran, and of tools in the system prompt.
    """

    type: Literal["user"]
    timestamp: float
    content: str
    ran: NotRequired[RanCommand]
    steered: NotRequired[bool]
    review: NotRequired[ReviewNote]
    until: NotRequired[UntilTurn]
    note: NotRequired[str]
    environment: NotRequired[str]
    conversation: NotRequired[str]
    sources: NotRequired[list[str]]
    possible_sources: NotRequired[list[str]]
    images: NotRequired[list[Image]]
    hooks_context: NotRequired[str]
    hooks_added: NotRequired[list[HookAddition]]
    original: NotRequired[str]


class ThinkEvent(TypedDict):
    """The model's reasoning. As a delta it carries the `id` of the unit that it extends.

    `cycle` identifies its cycle: the model's events of one cycle are one message. `unclosed` marks the last
    unit of an answer that lacks its dialect's end marker. Of an `orphaned` one the program ended while the
    model wrote it. A `summary` was delivered beside the text: the model has reasoned, and not written it.
    """

    type: Literal["think"]
    timestamp: float
    id: str
    content: str
    cycle: NotRequired[str]
    summary: NotRequired[bool]
    unclosed: NotRequired[bool]
    interrupted: NotRequired[bool]
    orphaned: NotRequired[bool]


class CallEvent(TypedDict):
    """A tool call. `content` is JSON object text: `name`, `args`, and additions of a dialect.

    `content` is the model's own text where that is strict JSON of this shape; `raw` is its text where it is
    not (an `<action>` with its tag, raw newlines in a string). `cycle` is as in `ThinkEvent`.

    With `partial` it is a preview of a call that is still being written, under the id of that call: `name`
    once it is known, and in `args` only what is new: a piece to append for a text argument, the whole value
    for any other.
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


StepState: TypeAlias = Literal["running", "done", "failed", "declined", "problem"]


class Step(TypedDict):
    """A call within the call of a sub-agent or a workflow, as it begins (`running`) and as it ends.

    `call` is its id, `subject` its first text argument, `outcome` that of its result, each in one short
    line. A `problem` of a sub-agent's turn has only a `subject`.
    """

    call: str
    state: StepState
    tool: str
    subject: str
    outcome: str


HookState: TypeAlias = Literal["done", "failed", "blocked"]


class HookChange(TypedDict):
    """Lines that a hook added to and removed from a file, by its path in the project."""

    path: str
    added: int
    removed: int


class LinesChanged(TypedDict):
    """The numbers of lines that a call added to its file and removed from it."""

    added: int
    removed: int


class HookRun(TypedDict):
    """A run of the hook `name` on an event (`on`), for `duration` seconds.

    A `blocked` one refused what it ran on, or had something for the model. `outcome` says in a line how it
    ended, if it was not done; `output` is the beginning of what it wrote, `added` its text for the model.
    """

    name: str
    on: str
    state: HookState
    outcome: str
    output: str
    duration: float
    changes: list[HookChange]
    added: NotRequired[str]


Author: TypeAlias = Literal["conversation", "subagent", "user", "command", "background", "program"]


class ChangedBy(TypedDict):
    """A change of the file `path` by another than the conversation that has read it, at `at` (Unix seconds).

    `title` is that of the other conversation, or of the sub-agent; that of a change by the user is empty
    where they made it in this conversation. A `command` may have made it, and still runs; `background` is the
    user or a command in the background; a `program` is the user's editor, or any other outside of this one.
    """

    path: str
    by: Author
    title: str
    at: float


PlanState: TypeAlias = Literal["pending", "active", "done", "cancelled"]


class PlannedStep(TypedDict):
    """A step of the model's plan."""

    text: str
    state: PlanState


class AnsweredQuestion(TypedDict):
    """A question of the model with the user's answers: labels of its choices, or their own words; none if
    they skipped it, for a `reason` if they gave one."""

    question: str
    answers: list[str]
    reason: NotRequired[str]


class Diagnostic(TypedDict):
    """A problem that a language server finds in a file; `line` and `column` count from 1.

    `rule` is the server's code for it, `source` names the program that found it. `call` is the id of the
    edit that added it, where that is not the call of the result.
    """

    path: str
    line: int
    column: int
    severity: Literal["error", "warning"]
    message: str
    rule: NotRequired[str]
    source: NotRequired[str]
    call: NotRequired[str]


class DiagnosticsChange(TypedDict):
    """The problems that edits added, errors first, with the number of `more` ones that are not listed, and
    the number of those that they `fixed`."""

    added: list[Diagnostic]
    fixed: int
    more: NotRequired[int]


def describe_diagnostic(one: Diagnostic) -> str:
    """Describe a problem with its place: `app.py:3:5: error: "x" is not defined (F821)`."""
    rule = f" ({one['rule']})" if "rule" in one else ""
    return f"{one['path']}:{one['line']}:{one['column']}: {one['severity']}: {one['message']}{rule}"


def summarize_diagnostics(change: DiagnosticsChange) -> str:
    """Count the problems of a change: `2 errors and 1 warning added, 1 problem fixed`."""
    added = change["added"]
    counts = [(sum(one["severity"] == kind for one in added), kind) for kind in ("error", "warning")]
    parts = [f"{count} {kind}{'' if count == 1 else 's'}" for count, kind in counts if count]
    if more := change.get("more", 0):
        parts.append(f"{more:,} more")
    fixed = change["fixed"]
    phrases = [f"{' and '.join(parts)} added"] if parts else []
    phrases += [f"{fixed:,} problem{'' if fixed == 1 else 's'} fixed"] if fixed else []
    return ", ".join(phrases)


class ResultPayload(TypedDict):
    """`outcome` is one line for the user, `content` any JSON value for the model; `error` states whether the
    model receives it as a failure, `state` how the call ended.

    `brief` is the line for the user of a failure whose `outcome` is worded for the model. `not_run` marks an
    interrupted call that had not begun: it has done nothing. Of an `orphaned` one the program ended before
    it was complete.

    `refused` is the reason why permissions did not allow the call; if the user declined it, `words` are what
    they wrote to that, and `skipped` states that they skipped its questions; if it was the permission mode,
    `mode` is its name. A result in place of a call that could not be parsed has that call's text as `raw`,
    and the model's id of it as `action`. `put_back` are
    the protected files whose changes were reverted, of a call that otherwise succeeded. `sources` name the
    origin of its content, where that is neither the user nor the project; `possible_sources` name sources
    that nothing prevented the call from reading. Events of older versions have neither.

    `advice` is for a model that made a mistake in the syntax of `dialect`: how to write the call in it.
    `note` is what else the engine has for the model, `hooks` are the hooks that ran for the call. `plan` is
    the model's whole plan from this call on, `answers` are the user's to its questions. `changed_by` are the
    changes of others that were in the files of the call, unknown to the model. `diagnostics` are the
    problems that this edit, or an earlier one whose check took longer, has added and fixed. `lines` are those
    that a call changed in its file, where its content is not their diff. `background` are
    the ids of background commands, each with True if it runs as far as the model knows from this result.
    """

    outcome: str
    content: Any
    error: bool
    state: CallState
    brief: NotRequired[str]
    skipped: NotRequired[bool]
    not_run: NotRequired[bool]
    orphaned: NotRequired[bool]
    refused: NotRequired[str]
    words: NotRequired[str]
    mode: NotRequired[str]
    raw: NotRequired[str]
    action: NotRequired[str]
    put_back: NotRequired[list[str]]
    sources: NotRequired[list[str]]
    possible_sources: NotRequired[list[str]]
    images: NotRequired[list[Image]]
    steps: NotRequired[list[Step]]
    advice: NotRequired[str]
    dialect: NotRequired[str]
    note: NotRequired[str]
    hooks: NotRequired[list[HookRun]]
    changed_by: NotRequired[list[ChangedBy]]
    diagnostics: NotRequired[DiagnosticsChange]
    lines: NotRequired[LinesChanged]
    plan: NotRequired[list[PlannedStep]]
    answers: NotRequired[list[AnsweredQuestion]]
    background: NotRequired[dict[str, bool]]


def answers_shown(answered: AnsweredQuestion) -> list[str]:
    """The answers to a question, or that it was skipped."""
    if answered["answers"]:
        return answered["answers"]
    reason = answered.get("reason")
    return [f"skipped: {reason}" if reason else "skipped"]


DECLINED = "You declined."


def outcome_shown(payload: ResultPayload) -> str:
    """The outcome for the user; of a call that they have declined, with their words."""
    if mode := payload.get("mode"):
        return f"Blocked by {mode} mode."
    if payload.get("not_run"):
        return "Interrupted before it ran."
    if payload["state"] != "declined":
        return payload.get("brief", payload["outcome"])
    words = payload.get("words")
    if payload.get("skipped"):
        return f"skipped: {words}" if words else "skipped"
    return f"You declined: {words}" if words else DECLINED


BACKGROUND_NEWS = "background"
"""The tool of a result that is news of background commands."""

ENGINE_RESULTS = frozenset({"execute", "connection", "turn", BACKGROUND_NEWS})
"""Names, in place of a tool's, of the engine's results that answer no call."""


def labelled_outcome(event: "ResultEvent", separator: str) -> str:
    """The outcome for the user after the name of the tool, if one was called."""
    outcome = outcome_shown(event["payload"])
    return outcome if event["tool"] in ENGINE_RESULTS else f"{event['tool']}{separator}{outcome}"


_MARKS: dict[CallState, str] = {
    "running": "⠋",
    "done": "✓",
    "declined": "⊘",
    "skipped": "⊘",
    "interrupted": "■",
}


def mark_of(payload: ResultPayload) -> str:
    """The glyph for the end of a call."""
    state: CallState = "skipped" if payload.get("not_run") else payload["state"]
    return _MARKS.get(state, "✗")


class ResultEvent(TypedDict):
    """The result of the call with this `id`; `duration` is in seconds.

    With `partial` the call is still running; its payload's `content` is the output since the one before
    (the first, at the start, is empty); with `steps`, those since then, it is a line for each. `cycle` is as
    in `ThinkEvent`. A call of which only previews arrived has a result as well, which is not stored either.
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

    `aside` marks text outside `<response>` or `§respond:`; `malformed` is the id of the call that the text
    was meant to be, and whose failed result has it as `raw`. `cycle`, `unclosed` and `orphaned` are as in
    `ThinkEvent`.
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
    orphaned: NotRequired[bool]


class EndEvent(TypedDict):
    """The end of the turn. `conversation` is the conversation's id, where events are printed."""

    type: Literal["end"]
    timestamp: float
    conversation: NotRequired[str]


class CacheMiss(TypedDict):
    """Why the provider's prompt cache could not reuse all of the request before.

    `reason` is the provider's code, and `tokens` the number of tokens that it says were missed; where it says
    nothing and its figures show a miss, they are our own.
    """

    reason: str
    tokens: NotRequired[int]


Purpose: TypeAlias = Literal["title", "summary", "profile", "llm", "rest"]
"""The purpose of a request that belongs to no cycle. The `rest` of an answer that was given up is one."""


class Measure(TypedDict, total=False):
    """Figures of one cycle or of a conversation.

    Tokens for `input` (sent), `output` (generated), `cached` and `cache_written` (read from the
    provider's cache, and written to it), `billed_input` and `replay_input` (the input of replay mode);
    seconds for `duration` (tools and questions included), `ttft` and `writing` (from the first token to
    the last); USD for `cost`. A request that belongs to no cycle has a `purpose`.

    `answered_by` is the model that answered, where the provider names another than `model`, and `tier` its
    class of service. `malformed` counts the calls that could not be parsed, `leaked` those that were written
    as text instead of natively.
    """

    input: int
    output: int
    duration: float
    cached: int
    cache_written: int
    cache_miss: CacheMiss
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
    dialect: str
    effort: str
    answered_by: str
    tier: str
    malformed: int
    leaked: int
    purpose: Purpose


class MetricEvent(TypedDict):
    """The figures of the cycle (`step`) and of the conversation so far (`total`)."""

    type: Literal["metric"]
    timestamp: float
    step: Measure
    total: Measure


class CompactionFigures(TypedDict):
    """What a summary has come to: its id in the store, the messages and calls that it replaced, and the
    tokens of the context before and after it (estimated; 0 if unknown)."""

    summary: int
    messages: int
    before: int
    after: int


class ErrorPayload(TypedDict):
    """`error` describes the problem and its place; `tool` names the tool that caused it, `hint` a remedy.

    In place of a call, `call` is the id that this call would have had, `action` the model's id of it, and
    `raw` the model's text. A `notice` is a decision, not a failure; with `retry` the request is repeated
    after that number of seconds, for the `attempt` of that number, of so many `attempts`; with `compaction` a
    summary was made. A `report` ends work that the user began: the screen never shortens it.

    A stored one ended its turn; `failure` is the kind of that error. A `declined` one is a request that the
    user did not allow.
    """

    error: str
    tool: NotRequired[str]
    hint: NotRequired[str]
    call: NotRequired[str]
    action: NotRequired[str]
    raw: NotRequired[str]
    notice: NotRequired[bool]
    report: NotRequired[bool]
    retry: NotRequired[float]
    attempt: NotRequired[int]
    attempts: NotRequired[int]
    compaction: NotRequired[CompactionFigures]
    failure: NotRequired[str]
    declined: NotRequired[bool]


def describe_error(payload: ErrorPayload) -> str:
    """The error in words, with the retry that it announces."""
    if "retry" not in payload:
        return payload["error"]
    number = describe_attempt(payload.get("attempt", 0), payload.get("attempts", 0))
    return f"{payload['error']} Retrying in {payload['retry']:.0f} s{f' ({number})' if number else ''}."


def describe_attempt(attempt: int, attempts: int) -> str:
    """The number of an attempt, of so many; empty if it is 0, which means unknown."""
    if not attempt:
        return ""
    return f"{attempt} of {attempts}" if attempts else f"attempt {attempt}"


def error_text(payload: ErrorPayload) -> str:
    """The error as `describe_error` has it, with its next step."""
    return f"{describe_error(payload)} {payload.get('hint', '')}".strip()


class ErrorEvent(TypedDict):
    """An error that is no tool's result. The model never receives it."""

    type: Literal["error"]
    timestamp: float
    payload: ErrorPayload


def error_event(error: CogencyError, timestamp: float) -> ErrorEvent:
    """Convert one of our errors to an event."""
    payload: ErrorPayload = {"error": str(error)}
    if error.hint:
        payload["hint"] = error.hint
    return {"type": "error", "timestamp": timestamp, "payload": payload}


def notice_event(text: str, timestamp: float) -> ErrorEvent:
    """Convert one of our notices to an event."""
    return {"type": "error", "timestamp": timestamp, "payload": {"error": text, "notice": True}}


class InterruptEvent(TypedDict):
    """The user stopped the turn."""

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
"""Types of stored events, of which all are stored; the others can be derived or are transient, but for the
error that ends a turn."""


def is_persisted(event: Event) -> bool:
    """Return whether an event is stored, apart from partial ones."""
    return event["type"] in PERSISTED or (event["type"] == "error" and "failure" in event["payload"])


def begins_turn(event: Event) -> bool:
    """Return whether a turn begins with this event: a message that the model answers, not a command of the
    user's."""
    return event["type"] == "user" and "ran" not in event

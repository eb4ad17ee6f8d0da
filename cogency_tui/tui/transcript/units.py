"""The units of a conversation, as events make them: every pane of the screen draws these.

A transcript is a pure function of the events fed to it, live or from the store: a unit is only ever appended
or settled, never moved or removed. `feed` returns the changed units.

A command of the user's has the same card as a call of the agent's. While it runs it is previewed as a call,
whose card its message then settles; read from the store, where there are no previews, the message alone
makes an equal card.
"""

import json
import re
from collections.abc import AsyncIterable, Iterable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from cogency_tui.agent.user_command import NAME
from cogency_tui.protocol.events import (
    BACKGROUND_NEWS,
    CallEvent,
    CommentPlace,
    ErrorEvent,
    ErrorPayload,
    Event,
    HookAddition,
    Image,
    Measure,
    PlannedStep,
    RanCommand,
    ResultEvent,
    UntilTurn,
    UserEvent,
    begins_turn,
)
from cogency_tui.protocol.transcript import NO_OUTPUT
from cogency_tui.providers.token_counting import CHARACTERS_PER_TOKEN
from cogency_tui.safe_text import Sanitizer, clean, one_line
from cogency_tui.store.pins import Place
from cogency_tui.store.prompt_text import without_image_chips
from cogency_tui.tui.transcript.call_unit import IN_RERUN, CallUnit, FileChange
from cogency_tui.tui.transcript.packed_text import Packed, packed, unpacked

if TYPE_CHECKING:
    from cogency_tui.agent.review.model import Decision


def as_call(ran: RanCommand, call_id: str, timestamp: float) -> tuple[CallEvent, ResultEvent]:
    """The call and the result that represent the command."""
    call: CallEvent = {
        "type": "call",
        "timestamp": timestamp,
        "id": call_id,
        "content": json.dumps({"name": NAME, "args": {"command": ran["command"]}}),
    }
    result: ResultEvent = {
        "type": "result",
        "timestamp": timestamp,
        "id": call_id,
        "tool": NAME,
        "duration": ran["duration"],
        "payload": {
            "outcome": ran["outcome"],
            "content": ran["output"] or NO_OUTPUT,
            "error": ran["state"] != "done",
            "state": ran["state"],
        },
    }
    return call, result


def is_own(unit: object) -> bool:
    """Return whether a unit is a command of the user, whose output is shown unfolded."""
    return isinstance(unit, CallUnit) and unit.name == NAME


def is_from_user(unit: object) -> bool:
    """Return whether a unit is a message or command of the user: both are stored as one event."""
    return isinstance(unit, UserMessage) or is_own(unit)


def is_stored(unit: object) -> bool:
    """Return whether a unit shows stored events, and is not only figures or a notice."""
    return isinstance(unit, UserMessage | Prose | CallUnit)


class UserMessage(msgspec.Struct):
    """A message of the user, sent at this Unix time with these `images`: `reviewed` if with decisions or
    comments of the review, the `comments` on these lines. `until` is its place in the work until a command
    succeeds; an `automatic` one has been written by that. `hooks` are those that added to it."""

    text: str
    sent: float = 0.0
    reviewed: bool = False
    comments: Sequence[CommentPlace] = ()
    images: Sequence[Image] = ()
    until: str = ""
    automatic: bool = False
    hooks: Sequence[HookAddition] = ()


class PendingMessage(msgspec.Struct, frozen=True):
    """A message of the user that is not sent before the hook of this name has run: nothing of it is stored
    yet."""

    message: UserMessage
    hook: str


class Prose(msgspec.Struct):
    """Text by the model: an answer, or (`thinking`) its reasoning. Times are Unix seconds. Of an `orphaned`
    one the program ended while the model wrote."""

    id: str
    thinking: bool
    started: float
    ended: float
    interrupted: bool = False
    orphaned: bool = False
    _text: str | Packed = ""
    _sanitizer: Sanitizer | None = msgspec.field(default_factory=Sanitizer)

    @property
    def open(self) -> bool:
        """True if more text may follow."""
        return self._sanitizer is not None

    @property
    def text(self) -> str:
        """The text so far."""
        return unpacked(self._text)

    def extend(self, text: str) -> None:
        if self._sanitizer is not None:
            self._text = self.text + self._sanitizer.feed(text)

    def close(self, now: float) -> None:
        """End the text: the next event came at `now`."""
        if self._sanitizer is not None:
            self._text = packed(self.text + self._sanitizer.close())
            self._sanitizer = None
        self.ended = max(self.started, now)


class Problem(msgspec.Struct):
    """An error, with the next step. If it ended the last turn, the user may retry that by the key `retry`;
    `times` is how often the turn has ended with it in a row. A `declined` one is the user's own no."""

    error: str
    hint: str = ""
    tool: str = ""
    retry: str = ""
    times: int = 1
    declined: bool = False


class Notice(msgspec.Struct):
    """A decision on the way to the model. If it is to retry, `due` is the time of the retry in Unix
    seconds, and `attempt` its number, of so many `attempts` (0 if unknown). A `report` is never shortened.
    """

    text: str
    due: float = 0.0
    attempt: int = 0
    attempts: int = 0
    report: bool = False


class Summarized(msgspec.Struct):
    """A summary was made: its id in the store, the messages and calls that it replaced, and the tokens of the
    context before and after it, 0 if unknown."""

    summary: int
    messages: int
    before: int
    after: int


class TurnChanges(msgspec.Struct, frozen=True):
    """The files that a turn changed, each once; `call` is the id of the first call that did.
    `decision` is the user's about all of them. `undos` describe what the user undid, redid or restored after
    the turn.
    """

    call: str
    files: list[FileChange]
    decision: "Decision" = ""
    undos: Sequence[str] = ()


class TurnEnd(msgspec.Struct):
    """The end of a turn, with the figures of its cycles; those that are not known are zero.

    `calls` are the calls that report changes; `recorded` are all changes, once the journal is read: commands
    report none. `estimated` marks figures that no provider reported. Of an `orphaned` turn the program ended
    in it. One is `unanswered` if that is so, or if it was interrupted while it waited for the model: the user
    may retry the last one by the key `retry`.
    """

    seconds: float = 0.0
    sent: int = 0
    written: int = 0
    cost: float = 0.0
    estimated: bool = False
    interrupted: bool = False
    orphaned: bool = False
    unanswered: bool = False
    retry: str = ""
    calls: list[CallUnit] = msgspec.field(default_factory=list[CallUnit])
    recorded: TurnChanges | None = None

    def add(self, step: Measure) -> None:
        """Add the figures of a cycle."""
        self.seconds += step.get("duration", 0.0)
        self.sent += step.get("input", 0)
        self.written += step.get("output", 0)
        self.cost += step.get("cost", 0.0)
        self.estimated = self.estimated or step.get("estimated", False)

    @property
    def is_empty(self) -> bool:
        """True if nothing is known of the turn."""
        known = self.seconds or self.sent or self.written or self.interrupted or self.changes()
        return not (known or self.undos)

    @property
    def undos(self) -> Sequence[str]:
        """What the user undid, redid or restored after the turn."""
        return self.recorded.undos if self.recorded else ()

    @property
    def decision(self) -> "Decision":
        """The user's decision about all changes of the turn; empty while there is any to make."""
        if self.recorded:
            return self.recorded.decision
        found: set[Decision] = {call.decision for call in self.calls if call.changes()}
        return found.pop() if len(found) == 1 else ""

    @property
    def is_reviewable(self) -> bool:
        """True if it has changes, and not only in the scratch copy of a rerun."""
        return bool(self.changes()) and self.decision != IN_RERUN

    @property
    def changing_call(self) -> str:
        """The id of a call that changed something; empty if none is known."""
        return self.recorded.call if self.recorded else self.calls[0].id if self.calls else ""

    def changes(self) -> list[FileChange]:
        """The files that the turn changed, each once."""
        if self.recorded is not None:
            return self.recorded.files
        found: dict[str, FileChange] = {}
        add_changes(found, self.calls)
        return list(found.values())


Unit: TypeAlias = UserMessage | PendingMessage | Prose | CallUnit | Problem | Notice | Summarized | TurnEnd


def add_changes(found: dict[str, FileChange], calls: Iterable[CallUnit]) -> None:
    """Add the changes that `calls` made to those of each path in `found`."""
    for change in (change for call in calls for change in call.changes()):
        before = found.get(change.path, FileChange(change.path, 0, 0))
        found[change.path] = FileChange(
            change.path, before.added + change.added, before.removed + change.removed
        )


class Transcript:
    """Turns events into units. `step` and `total` are the figures of the last cycle and of all."""

    def __init__(self) -> None:
        self.units: list[Unit] = []
        self.calls: list[int] = []
        self.step: Measure = {}
        self.total: Measure = {}
        self.title = ""
        self.until = ""
        """The command until whose success the last turns went on; empty if it has succeeded."""
        self._root = ""
        self.pinned: set[int] = set()
        """The units that the user has pinned."""
        self.inherits_title = False
        """True if a fork still has the title of its parent, which its first message replaces."""
        self.turn_start = 0
        self.turns = 0
        self._calls: dict[str, int] = {}
        self._changes: dict[str, FileChange] = {}
        self._uncounted: list[int] = []
        """The calls with a result whose changes `changes` has not counted yet."""
        self._has_edits = False
        self._plan: int | None = None
        """The last call with a plan."""
        self._prose: int | None = None
        self._pending: int | None = None
        """The message that is not sent yet."""
        self._turn: TurnEnd | None = None
        """The end of the running turn, until it comes."""
        self._ends: list[int] = []
        """The ends of the turns."""
        self._streamed = 0
        """Characters that the model has written since the last figures."""
        self._now = 0.0

    def feed(self, events: Iterable[Event]) -> set[int]:
        """Apply `events`; return the indices of the units that are new or have changed."""
        touched: set[int] = set()
        for event in events:
            self._now = event["timestamp"]
            # Its event follows, unless it is not sent at all.
            self._withdraw_pending(touched)
            self._take(event, touched)
        return touched

    def close(self) -> set[int]:
        """Settle everything open: no more events follow."""
        touched: set[int] = set()
        self._withdraw_pending(touched)
        self._end_turn(touched)
        return touched

    def preview(self, text: str, images: Sequence[Image], at: float, hook: str) -> set[int]:
        """Show a message of the user, written `at` this time, until the next event, while the `hook` of this
        name runs before it is sent; return the indices of the units that are new or have changed."""
        touched: set[int] = set()
        pending = PendingMessage(UserMessage(clean(text).strip(), at, images=images), hook)
        if self._pending is None:
            self._pending = self._append(pending, touched)
        elif self.units[self._pending] != pending:
            self._replace(self._pending, pending, touched)
        return touched

    def _withdraw_pending(self, touched: set[int]) -> None:
        if self._pending is not None:
            self._replace(self._pending, TurnEnd(), touched)
            self._pending = None

    @property
    def written(self) -> tuple[int, bool]:
        """The tokens that the model has written in this turn, and whether they are an estimate."""
        turn = self._turn or TurnEnd()
        tokens = turn.written + self._streamed // CHARACTERS_PER_TOKEN
        return tokens, turn.estimated or bool(self._streamed)

    @property
    def plan(self) -> Sequence[PlannedStep]:
        """The model's plan; empty without one."""
        return (self.call(self._plan).plan if self._plan is not None else None) or ()

    @property
    def plan_update(self) -> int | None:
        """The last call that updated the plan."""
        return self._plan

    @property
    def failure(self) -> int | None:
        """The error that ended the last turn, if one did: only notices and its figures may follow it."""
        last = self._last()
        return last if last is not None and isinstance(self.units[last], Problem) else None

    @property
    def unfinished(self) -> int | None:
        """The unit that shows that the last turn may be retried: the error that ended it, or the end of an
        unanswered one."""
        last = self._last()
        if self._turn is not None or not self._ends or (last is not None and is_own(self.units[last])):
            return self.failure
        end = self._ends[-1]
        return end if self._end_of_turn(end).unanswered else self.failure

    @property
    def resumable(self) -> bool:
        """True if the last turn may be continued: it is unfinished, or the user interrupted it."""
        if self.unfinished is not None:
            return True
        last = self._last()
        is_command = last is not None and is_own(self.units[last])
        ended = self._turn is None and bool(self._ends) and not is_command
        return ended and self._end_of_turn(self._ends[-1]).interrupted

    def _end_of_turn(self, index: int) -> TurnEnd:
        end = self.units[index]
        assert isinstance(end, TurnEnd)
        return end

    def resume_turn(self) -> set[int]:
        """Continue the last turn, which is resumable: its end moves below what follows. Return changed
        units."""
        if not self._ends or self._turn is not None:
            return set()
        index = self._ends.pop()
        self._turn, self._streamed = self._end_of_turn(index), 0
        turn = self._turn
        turn.interrupted = turn.orphaned = turn.unanswered = False
        turn.retry = ""
        # An empty one takes no lines.
        self.units[index] = TurnEnd()
        return {index}

    def report_unfinished(self, *, is_new_fork: bool = False, is_elsewhere: bool = False) -> bool:
        """Offer to retry the last turn if it is unfinished; return whether it may be continued. One that
        ended without an answer or an error was interrupted, or the program was killed: it is marked unless
        the store shows where it was interrupted. A new fork may end within a turn; another program may work
        on the turn.
        """
        if not is_elsewhere:
            is_unmarked = self._awaits_answer(also_after_calls=not is_new_fork)
            if not is_new_fork:
                for index in self.calls:
                    self.call(index).cut_off()
            if self._ends and is_unmarked:
                end = self._end_of_turn(self._ends[-1])
                end.interrupted = end.unanswered = True
                end.orphaned = self._is_orphaned()
        self.offer_retry("Enter")
        return self.resumable

    def _last(self) -> int | None:
        """The last unit that is no notice and no figures."""
        places = range(len(self.units) - 1, -1, -1)
        passed = Notice | Summarized | TurnEnd
        return next((place for place in places if not isinstance(self.units[place], passed)), None)

    def offer_retry(self, key: str) -> set[int]:
        """Offer to retry the last turn by `key` if it is unfinished; withdraw the offer if there is none."""
        index = self.unfinished
        unit = None if index is None else self.units[index]
        if index is None or not isinstance(unit, Problem | TurnEnd) or unit.retry == key:
            return set()
        unit.retry = key
        return {index}

    def locate(self, root: str) -> None:
        """Name the files in the directory `root` relative to it."""
        self._root = root
        for index in self.calls:
            self.call(index).root = root

    def call(self, index: int) -> CallUnit:
        unit = self.units[index]
        assert isinstance(unit, CallUnit)
        return unit

    def entitle(self, title: str) -> None:
        """Give the conversation a title of its own."""
        self.title, self.inherits_title = title, False

    def call_with(self, call_id: str) -> tuple[int, CallUnit] | None:
        """The call with this id and its index, if it exists."""
        index = self._calls.get(call_id)
        return None if index is None else (index, self.call(index))

    def pin(self, places: Iterable[Place]) -> None:
        """Mark the units at these places as pinned, and no others."""
        found = (unit_at(self, place) for place in places)
        self.pinned = {unit for unit in found if unit is not None}

    def measure(self, step: Measure, total: Measure) -> None:
        """Set the figures; a total is an estimate once any cycle's figures were estimated."""
        estimated = step.get("estimated") or self.total.get("estimated")
        self.step = step
        self.total = {**total, "estimated": True} if estimated else total

    def set_changes(self, changes: Iterable[FileChange]) -> None:
        """Replace what the results so far come to: some may have been reverted or overwritten since."""
        self._count_changes()
        self._changes = {change.path: change for change in changes}

    def record(self, turns: Mapping[int, TurnChanges], decisions: "Mapping[str, Decision]") -> set[int]:
        """Record all changes of turns, by their numbers from 1, and the decisions about those of calls, by
        their ids; return the changed units."""
        recorded = any(made.files for made in turns.values())
        self._has_edits = self._has_edits or recorded
        ends = ((self._ends[turn - 1], made) for turn, made in turns.items() if 0 < turn <= len(self._ends))
        touched = {index for index, made in ends if self._record(index, made)}
        decided = {
            call
            for call, decision in decisions.items()
            if call in self._calls and self.call(self._calls[call]).decide_changes(decision)
        }
        if not decided:
            return touched
        self._has_edits = recorded or any(
            call.is_reviewable and call.changes() for call in map(self.call, self.calls)
        )
        touched |= {
            index
            for index in self._ends
            if not decided.isdisjoint(call.id for call in self._end_of_turn(index).calls)
        }
        return touched | {self._calls[call] for call in decided}

    def changes(self) -> dict[str, FileChange]:
        """The agent's changes in this conversation, by path."""
        self._count_changes()
        return self._changes.copy()

    @property
    def has_edits(self) -> bool:
        """True if the agent has changed files here, even where nothing of it is left on the disk."""
        self._count_changes()
        return self._has_edits

    def _count_changes(self) -> None:
        add_changes(self._changes, map(self.call, self._uncounted))
        self._uncounted.clear()
        self._has_edits = self._has_edits or bool(self._changes)

    def _take(self, event: Event, touched: set[int]) -> None:
        match event["type"]:
            case "think" | "respond":
                self._write(
                    event["id"], event["type"] == "think", event["content"], event["timestamp"], touched
                )
                if event.get("interrupted"):
                    self._settle(touched, interrupted=True, orphaned=event.get("orphaned", False))
            case "user" if "ran" in event:
                self._note_until(event)
                self._end_turn(touched, interrupted=self._awaits_answer())
                for each in as_call(event["ran"], self._own_call(), event["timestamp"]):
                    self._take(each, touched)
            case "user":
                is_steered = event.get("steered", False)
                self._end_turn(touched, interrupted=not is_steered and self._awaits_answer())
                text = clean(event["content"]).strip()
                if self.inherits_title or not self.title:
                    self.entitle(_title_of(event, text))
                self.turns += begins_turn(event)
                message = UserMessage(
                    text,
                    event["timestamp"],
                    "review" in event,
                    _comments(event),
                    event.get("images", ()),
                    describe_until(event["until"]) if "until" in event else "",
                    event.get("until", {}).get("automatic", False),
                    event.get("hooks_added", ()),
                )
                self._note_until(event)
                self.turn_start = self._append(message, touched)
                self._turn, self._streamed = TurnEnd(), 0
            case "call":
                self._settle(touched)
                index = self._calls.get(event["id"])
                if index is None:
                    index = self._calls[event["id"]] = self._append(
                        CallUnit(event["id"], root=self._root), touched
                    )
                    self.calls.append(index)
                self.call(index).write(event)
                self._streamed += len(event["content"]) if event.get("partial") else 0
                touched.add(index)
            case "result":
                if (index := self._calls.get(event["id"])) is not None:
                    self._report(index, event)
                    touched.add(index)
                elif event["tool"] == BACKGROUND_NEWS:
                    self._append(Notice(f"Background: {clean(event['payload']['outcome'])}"), touched)
            case "error" if event["payload"].get("notice"):
                self._settle(touched)
                self._note(event, touched)
            case "error":
                self._settle(touched)
                self._fail(event["payload"], touched)
            case "interrupt":
                self._settle(touched, interrupted=True)
                self._end_turn(touched, interrupted=True)
            case "metric":
                self.measure(event["step"], event["total"])
                if self._turn is not None:
                    self._turn.add(event["step"])
                self._streamed = 0
            case "execute":
                self._settle(touched)
            case "end":
                self._end_turn(touched)

    def _note_until(self, event: UserEvent) -> None:
        """Note whether the work is to go on until a command succeeds."""
        if "until" in event:
            self.until = event["until"]["command"]
        elif "ran" not in event:
            self.until = self.until if event.get("steered") else ""
        elif event["ran"]["command"] == self.until and event["ran"]["state"] == "done":
            self.until = ""

    def _record(self, index: int, changes: TurnChanges) -> bool:
        end = self._end_of_turn(index)
        before, end.recorded = end.recorded, changes
        return before != changes

    def _report(self, index: int, event: ResultEvent) -> None:
        call = self.call(index)
        settled = call.settled
        call.report(event)
        if call.plan is not None:
            self._plan = index
        if call.settled and not settled:
            self._uncounted.append(index)
            if self._turn is not None and call.may_change:
                self._turn.calls.append(call)

    def _own_call(self) -> str:
        """The id of the call that previews the user's command, or a new id if it was not previewed."""
        calls = (self.call(index) for index in reversed(self.calls))
        running = (call.id for call in calls if call.name == NAME and not call.settled)
        return next(running, f"own-{len(self.units)}")

    def _note(self, event: ErrorEvent, touched: set[int]) -> None:
        """Show a notice; one that announces a further retry replaces the one before."""
        payload = event["payload"]
        if "compaction" in payload:
            self._append(Summarized(**payload["compaction"]), touched)
            return
        text, wait = clean(payload["error"]), payload.get("retry")
        if wait is None:
            self._append(Notice(text, report=payload.get("report", False)), touched)
            return
        due, (at, last) = event["timestamp"] + wait, self._last_shown()
        notice = Notice(text, due, payload.get("attempt", 2), payload.get("attempts", 0))
        if isinstance(last, Notice) and last.due:
            notice.attempt = payload.get("attempt", last.attempt + 1)
            self._replace(at, notice, touched)
        else:
            self._append(notice, touched)

    def _fail(self, payload: ErrorPayload, touched: set[int]) -> None:
        """Show an error, in place of the retry that has the same cause."""
        hint, tool = payload.get("hint", ""), payload.get("tool", "")
        declined = payload.get("declined", False)
        problem = Problem(clean(payload["error"]), clean(hint), clean(tool), declined=declined)
        self._count(problem, touched)
        at, last = self._last_shown()
        if isinstance(last, Notice) and last.due and _wording(last.text) == _wording(problem.error):
            self._replace(at, problem, touched)
        else:
            self._append(problem, touched)

    def _last_shown(self) -> tuple[int, Unit | None]:
        """The last unit that takes lines, and its index; -1 and None if there is none."""
        places = reversed(range(len(self.units)))
        shown = (at for at in places if not (isinstance(end := self.units[at], TurnEnd) and end.is_empty))
        at = next(shown, -1)
        return at, self.units[at] if at >= 0 else None

    def _count(self, problem: Problem, touched: set[int]) -> None:
        """Count a failure with those of the same kind right before it: of the second and later ones, only
        the last is shown."""
        index = self.failure
        before = None if index is None else self.units[index]
        if index is None or not isinstance(before, Problem) or problem.tool or before.tool:
            return
        if _wording(before.error) == _wording(problem.error):
            problem.times = before.times + 1
            if before.times > 1:
                # An empty one takes no lines.
                self._replace(index, TurnEnd(), touched)

    def _replace(self, index: int, unit: Unit, touched: set[int]) -> None:
        self.units[index] = unit
        touched.add(index)

    def _write(self, unit_id: str, thinking: bool, text: str, now: float, touched: set[int]) -> None:
        prose = self.units[self._prose] if self._prose is not None else None
        if not isinstance(prose, Prose) or prose.id != unit_id or prose.thinking != thinking:
            self._settle(touched)
            prose = Prose(unit_id, thinking, now, now)
            self._prose = self._append(prose, touched)
        assert self._prose is not None
        prose.extend(text)
        self._streamed += len(text)
        touched.add(self._prose)

    def _settle(self, touched: set[int], *, interrupted: bool = False, orphaned: bool = False) -> None:
        if self._prose is None:
            return
        prose = self.units[self._prose]
        assert isinstance(prose, Prose)
        prose.close(self._now)
        prose.interrupted = prose.interrupted or interrupted
        prose.orphaned = orphaned
        touched.add(self._prose)
        self._prose = None

    def _end_turn(self, touched: set[int], *, interrupted: bool = False) -> None:
        """Settle everything open, and end the turn if one is running."""
        self._settle(touched)
        if self._turn is not None:
            self._turn.orphaned = self._is_orphaned()
            self._turn.unanswered = self._turn.orphaned or (interrupted and self._awaits_answer())
            self._turn.interrupted = interrupted or self._is_cut_off()
            self._ends.append(self._append(self._turn, touched))
            self._turn = None

    def _is_cut_off(self) -> bool:
        """Return whether the last that the model did was interrupted: that is all the store has of it."""
        last = self._last_work()
        return (isinstance(last, Prose) and last.interrupted) or (
            isinstance(last, CallUnit) and last.state in ("interrupted", "not run")
        )

    def _is_orphaned(self) -> bool:
        """Return whether the program ended in the last that the model did."""
        last = self._last_work()
        return isinstance(last, Prose | CallUnit) and last.orphaned

    def _last_work(self) -> Prose | CallUnit | UserMessage | None:
        """The last that the model did; the user's message if it did nothing since."""
        units = (unit for unit in reversed(self.units) if isinstance(unit, Prose | CallUnit | UserMessage))
        return next(units, None)

    def _awaits_answer(self, *, also_after_calls: bool = True) -> bool:
        """Return whether the last that happened is a message of the user, or a call's result: the store has
        no more of a turn that was interrupted before the model wrote."""
        last = self._last()
        unit = None if last is None else self.units[last]
        if isinstance(unit, CallUnit):
            return also_after_calls and not is_own(unit) and not self._is_cut_off()
        return isinstance(unit, UserMessage)

    def _append(self, unit: Unit, touched: set[int]) -> int:
        self.units.append(unit)
        touched.add(len(self.units) - 1)
        return len(self.units) - 1


def _title_of(event: UserEvent, text: str) -> str:
    """The title that a first message gives a conversation: its first line, or the command that was run first
    of work until that succeeds."""
    if (until := event.get("until")) and until.get("automatic"):
        text = f"! {clean(until['command'])}"
    return without_image_chips(text).lstrip().split("\n", 1)[0]


def describe_until(until: UntilTurn) -> str:
    """`until pytest -q · turn 2 of 20`."""
    return f"until {one_line(until['command'])} · turn {until['turn']} of {until['turns']}"


def unit_of(transcript: Transcript, event: Event) -> int | None:
    """The index of the unit that shows a call, its result or a text of the model; None if there is none."""
    return unit_at(transcript, Place(unit=event["id"])) if "id" in event else None


def unit_at(transcript: Transcript, place: Place) -> int | None:
    """The index of the unit at a place; None if there is none."""
    if found := transcript.call_with(place.unit):
        return found[0]
    units = enumerate(transcript.units)
    if place.unit:
        return next((at for at, unit in units if isinstance(unit, Prose) and unit.id == place.unit), None)
    own = (at for at, unit in units if is_from_user(unit))
    return next(islice(own, place.nth - 1, None), None)


def place_of(transcript: Transcript, index: int) -> Place | None:
    """The place of a unit in the store; None if it is not stored."""
    unit = transcript.units[index]
    if is_from_user(unit):
        return Place(nth=sum(map(is_from_user, transcript.units[: index + 1])))
    return Place(unit=unit.id) if isinstance(unit, Prose | CallUnit) else None


async def read_transcript(pages: AsyncIterable[Sequence[Event]]) -> Transcript:
    """Read the finished transcript of stored events. Holds at most one page of them in memory."""
    transcript = Transcript()
    async for page in pages:
        transcript.feed(page)
    transcript.close()
    return transcript


def _comments(event: UserEvent) -> Sequence[CommentPlace]:
    return event["review"].get("comments", ()) if "review" in event else ()


def _wording(error: str) -> str:
    """An error without its numbers, such as seconds: it is the same error after a while."""
    return re.sub(r"\d+(\.\d+)?", "", error)

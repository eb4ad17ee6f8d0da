"""One cycle: parses the model's answer as it arrives, and runs its calls.

In a batch dialect the calls run at the boundary; in the action dialect each runs when its closing tag
arrives, while the model continues to write.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any, Literal, cast

from cogency_tui.agent.answer_stream import PATIENCE, PIECE, Generation
from cogency_tui.agent.context_window import Prepared
from cogency_tui.agent.conversation import Conversation
from cogency_tui.agent.cycle_metrics import Meter
from cogency_tui.agent.model_channels import Channel
from cogency_tui.agent.output_variables import StreamedText
from cogency_tui.agent.recorder import Recorder
from cogency_tui.agent.scheduler import Preview, Scheduler
from cogency_tui.errors import EmptyAnswerError, ProviderError, ProviderProtocolError, sentence
from cogency_tui.protocol import Dialect, create_parser
from cogency_tui.protocol.accumulator import Accumulator
from cogency_tui.protocol.dialects import new_id
from cogency_tui.protocol.event_emitter import CUT_CALL, IN_PARTS, Emitter
from cogency_tui.protocol.events import (
    CallEvent,
    CallState,
    ErrorPayload,
    Event,
    Measure,
    RespondEvent,
    ResultEvent,
    ThinkEvent,
    labelled_outcome,
    notice_event,
)
from cogency_tui.protocol.messages import AnswerItem, Message
from cogency_tui.protocol.native_dialect import NativeParser
from cogency_tui.protocol.stray_calls import (
    Slip,
    announced_slip,
    find_slip,
    native_slip,
    text_call,
)
from cogency_tui.protocol.taint_sources import Sources
from cogency_tui.protocol.transcript import as_tool_call, call_record
from cogency_tui.providers.base import (
    CallDelta,
    Chunk,
    CutOff,
    EffortRefused,
    Notice,
    ReasoningDelta,
    ReasoningItem,
    Retrying,
    Steered,
    TextDelta,
)

MOST_WRITTEN_CALLS = 1000
"""Calls of one answer; the scheduler runs some of these, and answers the others with the reason."""

_LONGEST_STRAY = 2000
"""Characters that are reported of the name or the arguments of a call that nothing runs."""

_LONGEST_REASON = 2000
"""Characters of the output of a failed call in which it can differ from another failure."""

MOST_UNITS = 5000
"""Thoughts, texts, calls and errors of one answer."""

_WRITE_AGAIN: dict[Dialect, str] = {
    "xml": "No call of the block ran. Write the whole block again: <execute>, one JSON array, </execute>.",
    "delimiter": "No call of the batch ran. Write the batch again: each call on a line of its own, as §call: "
    "and one JSON object, then §execute alone on its line, without a colon.",
    "action": "Write this action again, as one JSON object with name and parameters between its tags.",
    "native": "Make this call again, with its arguments as one JSON object.",
}
_EMPTY: dict[Dialect, Slip] = {
    "xml": Slip(
        "The <execute> block holds no call, so nothing ran.",
        "Write the calls into its array; if you are done, answer without a block.",
    ),
    "delimiter": Slip(
        "No line before §execute could be read as a §call:, so nothing ran.",
        "Write each call on a line of its own; if you are done, answer without §execute.",
    ),
}
_EMPTY_RAW: dict[Dialect, str] = {
    "xml": "<execute>[]</execute>",
    "delimiter": "§execute",
    "action": "",
    "native": "",
}

_OPENINGS: dict[Dialect, str] = {"xml": "<execute>", "delimiter": "§call:"}
"""The beginning of a batch, where an answer has one at most."""
_UNREAD: dict[Dialect, str] = {
    "xml": "Only the first <execute> block of an answer is read: no call of the second ran.",
    "delimiter": "Only the calls before the first §execute of an answer are read: none after it ran.",
}
_WRITE_NEXT = "Write them in your next answer, if they are still right after these results."

_FORGED = Slip(
    "You wrote results yourself. They were discarded: only the engine reports results.",
    "Your conclusions from them are unverified: correct them. To get results, write calls and stop. "
    "To mention the tag, put it in backticks.",
)
_FORGED_BESIDE_CALLS = (
    "The results that you wrote yourself were discarded: only the engine reports results.\n"
    "Correct what you concluded from them."
)
_CUT_TEXT = Slip(
    "Your answer reached the output limit of the model and was cut off here.",
    "Go on exactly where it stopped: repeat nothing, add no introduction.",
)
_CUT_THOUGHT = Slip(
    "Your answer reached the output limit of the model before it had a call or text for the user.",
    "Think less, and write the next call or the answer.",
)
_FORGED_OPENINGS: dict[Dialect, str] = {"xml": "<results>", "action": "<results>", "delimiter": "[SYSTEM:"}
_ENDS: dict[Dialect, str] = {
    "xml": "<end>, which ends the turn anywhere outside backticks",
    "delimiter": "§end, which ends the turn at the start of any line",
}
_WRITE_END_AGAIN = "Write the answer again; to mention the mark, put it in backticks."
_UNFINISHED = "Not run: the call is incomplete."
_BROKEN_OFF = "Not run: the connection was lost before the block was complete. Write it again."
_TOO_MANY_CALLS = (
    f"Not run: the answer had more than {MOST_WRITTEN_CALLS:,} calls. Write fewer, or one call that does "
    "everything."
)
_GO_ON = (
    "The connection was lost here. What you wrote before it is saved; no call of an unfinished block ran. "
    "Continue from there."
)


class Interrupted(Exception):
    """The user stopped the turn."""


class Cycle:
    """One request over `channel`, and the calls of its answer, unless it is the last that its turn may have
    (`runs_calls`). `is_open` returns whether the work of the conversation is evidently not done.

    It runs once: `start`, `run`, `settle`; `stop` at any time, which makes `run` raise `Interrupted`.
    """

    def __init__(
        self,
        conversation: Conversation,
        prepared: Prepared,
        channel: Channel,
        schedule: Callable[[Preview, Callable[[], None]], Scheduler],
        recorder: Recorder,
        clock: Callable[[], float] = time.time,
        *,
        runs_calls: bool,
        is_open: Callable[[], Coroutine[Any, Any, bool]],
    ) -> None:
        settings = conversation.settings
        self.meter = Meter(prepared.characters, conversation.calibration, images=prepared.image_tokens)
        self.channel = channel
        self.malformed = False
        """True if a call could not be parsed, or was written where nothing runs it."""
        self.slip = ""
        """The problem of the last such call."""
        self.without_call = False
        """True if the answer neither calls a tool nor answers the user."""
        self.broken: ProviderError | None = None
        """The error that broke the answer off, if one did; what arrived before is processed."""
        self.cut_off = False
        """True if the output limit of the model cut the answer off."""
        self.steered = False
        """True if the answer has ended early, for the message that steered it."""
        self._steering: Message | None = None
        self._has_calls = False
        """True if the answer has a native call, or the beginning of one."""
        self._prepared = prepared
        self._dialect: Dialect = conversation.dialect
        self._tools = conversation.registry.names
        self._runs_calls = runs_calls
        self._is_open = is_open
        self._patience = max(PATIENCE, settings.first_byte_timeout, settings.idle_timeout)
        self._provider = conversation.provider()
        self._engine = conversation.engine
        self._conversation = conversation
        self._recorder = recorder
        self._clock = clock
        self._news = asyncio.Event()
        self._scheduler = schedule(recorder.preview, self._news.set)
        self._generation: Generation | None = None
        self._parser = create_parser(
            self._dialect,
            clock=clock,
            payload_limit=settings.payload_limit,
            used_ids=self._scheduler.used_ids,
        )
        self._native = self._parser if isinstance(self._parser, NativeParser) else None
        self._reasoning = Emitter(clock, new_id)
        self._reasoning.begin_unit("think")
        self._streams = self._dialect == "action"
        self._variables = StreamedText(lambda: self._scheduler.declared, self._scheduler.value_of)
        self._answer: RespondEvent | None = None
        self._id = new_id()
        self._accumulator = Accumulator()
        self._units: list[ThinkEvent | RespondEvent] = []
        self._events: deque[Event | ReasoningItem] = deque()
        self._items: list[ReasoningItem] = []
        """Items of reasoning that no event has followed yet."""
        self._last = ""
        """The id of the last unit or call that was emitted."""
        self._written = 0
        self._called = 0
        self._malformed_calls = 0
        self._stray: dict[int, list[str]] = {}
        """Name and arguments of native calls where these are not offered."""
        self._leaked = False
        self._unit = ""
        self._closed = False
        self._stopped = False
        self._boundary = False
        self._spoken = False
        self._open: dict[str, CallEvent] = {}
        self._unwritten: dict[str, str] = {}
        self._outcomes: list[bool] = []
        self.failures: set[str] = set()
        """The reasons for which calls failed, each with its tool and its output."""

    @property
    def answered(self) -> bool:
        """True if the model has ended its turn with this cycle."""
        if self.malformed:
            return False
        if self._streams:
            return self._parser.answered or not self._outcomes
        return not self._boundary

    @property
    def called(self) -> bool:
        """True if a call of its answer could be read."""
        return self._called > 0

    @property
    def text(self) -> str:
        """The model's answer, or what it wrote beside its calls."""
        return "\n\n".join(unit["content"] for unit in self._all_units() if unit["type"] == "respond").strip()

    @property
    def facts(self) -> Measure:
        """What was asked of the model beside the messages, and what went wrong with its calls."""
        facts: Measure = {"dialect": self._dialect}
        effort = self._prepared.options.effort
        if effort and not self._engine.refuses(self._provider, effort):
            facts["effort"] = effort
        if self._malformed_calls:
            facts["malformed"] = self._malformed_calls
        if self._leaked:
            facts["leaked"] = 1
        return facts

    @property
    def fault(self) -> str:
        """What was wrong with the answer as a whole, in words that follow "was" or "were"; empty where its
        calls are to blame."""
        if self.cut_off:
            return "cut off by the output limit of the model"
        return "" if self._spoken or self._stray else "empty"

    @property
    def failed(self) -> bool:
        """True if there were calls and all of them failed."""
        return bool(self._outcomes) and not any(self._outcomes)

    @property
    def failure(self) -> str:
        """Why the turn must end, if an action has ended it."""
        return self._scheduler.failure

    def start(self) -> None:
        """Send the request to the model."""
        chunks = self.channel.generate(self._prepared.messages, self._prepared.options)
        self._generation = Generation(chunks, self._news.set, patience=self._patience)

    def stop(self) -> None:
        """Stop generating and running."""
        self._stopped = True
        if self._generation is not None:
            self._generation.stop()
        self._scheduler.cancel()
        self._news.set()

    def steer(self, message: Message) -> None:
        """Send `message`, which waits, to the running answer, if it has no call yet and its endpoint takes
        messages meanwhile. In a dialect of text the endpoint does not know calls, whose results come first.
        """
        if self._native is not None:
            self._steering = message
            self._news.set()

    async def settle(self) -> None:
        """Wait until the response is closed and cancelled calls have ended."""
        if self._generation is not None:
            await self._generation.settle()
            if usage := self._generation.usage:
                self.meter.usage(usage)
        await self._scheduler.settle()

    async def run(self) -> None:
        """Process what arrives until the model has finished and every call has its result.

        Raises:
            Interrupted: `stop` was called.
        """
        while True:
            self._news.clear()
            # What was done before the interrupt is done: its results come before the rest is answered.
            for result in self._scheduler.take():
                await self.result(result)
            await self._notify()
            if self._stopped:
                raise Interrupted
            if self._scheduler.failure:
                await self._cut_short()
                break
            await self._send_steering()
            await self._emit_answer(self._variables.retry())
            if await self._go_on():
                continue
            if self._closed and not self._events:
                self._scheduler.finish()
                if not self._scheduler.busy and await self._close_answer():
                    break
            await self._news.wait()
        broken = self.broken is not None
        await self._place_items(self._last, "after")
        await self._recorder.close_unit(interrupted=broken, unclosed=self._parser.unclosed and not broken)
        if self._runs_calls and not broken and not self.steered:
            await self._report_slips()
        if not broken:
            self._close_previews(_UNFINISHED)

    async def _notify(self) -> None:
        """Show the user what their calls gave rise to, but not in the middle of a text."""
        pending = self._conversation.pending_notices
        while pending and not self._recorder.has_open_unit:
            await self._recorder.emit(notice_event(pending.pop(0), self._clock()))

    async def _send_steering(self) -> None:
        if self._steering is None:
            return
        if self._closed or self._has_calls or await self.channel.steer(self._steering):
            self._steering = None

    async def result(self, event: ResultEvent) -> None:
        """Emit the result of a call."""
        self._open.pop(event["id"], None)
        self._unwritten.pop(event["id"], None)
        payload = event["payload"]
        self._outcomes.append(not payload["error"] or "put_back" in payload)
        if not self._outcomes[-1]:
            # Of a workflow it is an object.
            content = str(payload["content"] or "")[:_LONGEST_REASON]
            self.failures.add(f"{labelled_outcome(event, ': ')}\n{content}")
        await self._recorder.emit(event)

    async def _report_slips(self) -> None:
        """Report calls written where nothing runs them, so that the turn does not end with these, and
        results that the model made up.
        """
        calls = bool(self._outcomes)
        if self._boundary and not calls and self._dialect == "xml" and self.text:
            # An empty array says that the answer calls nothing.
            self._boundary = False
        ends = self.answered
        if self.cut_off and ends:
            await self._report_cut()
            return
        if self._parser.forged and ends:
            slip = self._slip_of_forged_results()
            await self._refuse({"error": slip.problem, "tool": "execute"}, slip.cure)
            return
        if self._boundary and not calls:
            await self._report_empty_batch()
        elif self._native is not None and self._boundary:
            await self._report_text_call()
        elif self._boundary:
            await self._report_unread()
        elif ends and not calls and (slip := await self._slip()):
            self._leaked = slip.leaked
            self.without_call = True
            payload: ErrorPayload = {"error": slip.problem, "call": new_id(), "tool": "execute"}
            if self._stray:
                payload["raw"] = self._stray_text()
            await self._recorder.emit({"type": "error", "timestamp": self._clock(), "payload": payload})
            await self._refuse(payload, slip.cure)
        if self._parser.forged and calls:
            await self._report_beside_calls(_FORGED_BESIDE_CALLS)

    def _slip_of_forged_results(self) -> Slip:
        """The slip in an answer whose results the model made up, or that only mentions their mark."""
        if not self._parser.forged_to_end:
            return _FORGED
        return Slip(
            f"Your answer was cut at {_FORGED_OPENINGS[self._dialect]}, which nothing closes: the rest was "
            "discarded, and any calls with it.",
            "Write the rest again. Only the engine reports results; to mention the tag, put it in backticks.",
        )

    async def _report_beside_calls(self, problem: str) -> None:
        """Add a failed result to those of the calls: part of the answer was discarded."""
        self._malformed_calls += 1
        await self.result(brief_result(new_id(), "execute", problem, self._clock(), "failed"))

    async def _report_cut(self) -> None:
        units = self._all_units()
        thought = not units or units[-1]["type"] == "think"
        slip = _CUT_THOUGHT if thought else _CUT_TEXT
        await self._refuse({"error": slip.problem, "tool": "execute"}, slip.cure)

    async def _report_empty_batch(self) -> None:
        dialect = self._dialect
        units = self._all_units()
        slip = (find_slip(units, dialect, self._tools) if units else None) or _EMPTY[dialect]
        result = brief_result(new_id(), "execute", slip.problem, self._clock(), "failed")
        self._advise(result, slip.cure)
        result["payload"]["raw"] = _EMPTY_RAW[dialect]
        result["cycle"] = self._id
        await self.result(result)

    async def _report_text_call(self) -> None:
        """Report a call in the text beside native calls, with the results of these."""
        if slip := text_call(self._all_units(), self._tools):
            self._leaked = slip.leaked
            self._malformed_calls += 1
            problem = f"{slip.problem}\n{slip.cure}"
            await self.result(brief_result(new_id(), "execute", problem, self._clock(), "failed"))

    async def _report_unread(self) -> None:
        """Report a second batch, if the text after the first began one before the response was closed."""
        opening = _OPENINGS.get(self._dialect)
        if opening is None or self._generation is None:
            return
        await self._generation.settle()
        unread = self._parser.rest + self._generation.trailing
        if any(line.lstrip().startswith(opening) for line in unread.splitlines()):
            await self._report_beside_calls(f"{_UNREAD[self._dialect]}\n{_WRITE_NEXT}")

    async def _slip(self) -> Slip | None:
        """The slip because of which an answer without calls does not end the turn, if there is one."""
        units = self._all_units()
        if self._stray:
            return native_slip([name for name, _arguments in self._stray.values()], self._dialect)
        if self._parser.answered and not self._streams:
            if await self._is_cut_by_end(units):
                return Slip(f"Your answer was cut at {_ENDS[self._dialect]}.", _WRITE_END_AGAIN)
            if not units and self._dialect == "delimiter":
                # The model ended the turn explicitly, with nothing to add.
                return None
        slip = find_slip(units, self._dialect, self._tools, unclosed=self._parser.unclosed)
        if slip is None and not self._parser.answered:
            slip = await self._announced_slip(units)
        return slip

    async def _announced_slip(self, units: "Sequence[ThinkEvent | RespondEvent]") -> Slip | None:
        """The slip in an answer that announces what does not follow."""
        background = self._conversation.background
        found = announced_slip(units, self._dialect, self._tools, awaits=bool(background.running()))
        if found is None:
            found = announced_slip(units, self._dialect, self._tools, is_open=True)
            if found is not None and not await self._is_open():
                return None
        return found

    async def _is_cut_by_end(self, units: "Sequence[ThinkEvent | RespondEvent]") -> bool:
        """Return whether the mark that ended the answer was only mentioned: text follows it on its line, or
        anywhere if a colon precedes it."""
        if self._generation is None:
            return False
        await self._generation.settle()
        rest = self._parser.rest + self._generation.trailing
        announced = bool(units) and units[-1]["content"].endswith(":")
        return any(char.isalnum() for char in (rest if announced else rest.partition("\n")[0]))

    def _stray_text(self) -> str:
        """The native calls of an answer in a dialect that is text, as the history shows them."""
        return "\n".join(f"{name}({arguments})" for name, arguments in self._stray.values())

    def _all_units(self) -> "list[ThinkEvent | RespondEvent]":
        """The complete units, other than calls, that the model has written."""
        self._units += cast("list[ThinkEvent | RespondEvent]", list(self._accumulator.close()))
        return self._units

    async def _refuse(self, payload: ErrorPayload, cure: str) -> None:
        """Emit the failed result of a call that could not be parsed."""
        self.malformed = True
        self._malformed_calls += 1
        self.slip = payload["error"]
        problem = sentence(self.slip) if self._runs_calls else self.slip
        call_id, tool = payload.get("call", new_id()), payload.get("tool", "execute")
        result = brief_result(call_id, tool, problem, self._clock(), "failed")
        if self._runs_calls:
            self._advise(result, cure)
        if "raw" in payload:
            result["payload"]["raw"] = payload["raw"]
            result["cycle"] = self._id
        if "action" in payload:
            result["payload"]["action"] = payload["action"]
        await self.result(result)

    def _advise(self, result: ResultEvent, cure: str) -> None:
        """Add how the model writes it in this dialect, which the conversation may leave."""
        result["payload"]["advice"] = cure
        result["payload"]["dialect"] = self._dialect

    async def answer_open(self, why: str, state: CallState = "failed") -> None:
        """Answer every call that has no result with this failure, or with the notice of too many calls; one
        whose tool has ended with its result."""
        if self._called > MOST_WRITTEN_CALLS:
            why, state = _TOO_MANY_CALLS, "failed"
        for call in list(self._open.values()):
            if ended := self._scheduler.ended(call["id"]):
                await self.result(ended)
                continue
            name = as_tool_call(call_record(call)).get("name")
            tool = name if isinstance(name, str) else "unknown"
            result = brief_result(call["id"], tool, why, self._clock(), state)
            result["duration"] = max(0.0, self._scheduler.running_time(call["id"]))
            if not self._scheduler.begun(call["id"]):
                Sources().record(result["payload"])
                if state == "interrupted":
                    result["payload"]["not_run"] = True
            await self.result(result)
        self._close_previews(why, state)

    async def mend(self) -> None:
        """Complete an answer that broke off, so that the model can continue from what the store has."""
        if self._open:
            await self.answer_open(_BROKEN_OFF)
        elif self._spoken and not self._outcomes:
            # There is no call to answer; a result informs the model, and the roles alternate.
            await self.result(brief_result(new_id(), "connection", _GO_ON, self._clock(), "failed"))
        self._close_previews(_BROKEN_OFF)

    async def _cut_short(self) -> None:
        """End the cycle after the failure of an action with `on_error: fail`."""
        if self._generation is not None:
            self._generation.stop()
        self._scheduler.cancel()
        await self.answer_open('Cancelled: an action with on_error "fail" failed')

    async def _go_on(self) -> bool:
        """Emit a parsed event, or else parse what has arrived; whether there was either."""
        if self._events:
            if self._scheduler.holding:
                return False
            return await self._hand_on_next()
        if self._closed:
            return False
        assert self._generation is not None
        try:
            chunks = self._generation.take()
        except ProviderError as exc:
            if isinstance(exc, EmptyAnswerError) and self._runs_calls:
                # The model is told, as of any answer that was not meant to end the turn.
                chunks, self._closed = [], True
                self._events.extend(self._end_answer())
            else:
                self._break_off(exc)
            return True
        arrived = iter(chunks)
        for chunk in arrived:
            await self._take(chunk)
            if endless := self._describe_endless():
                self._generation.stop()
                self._break_off(
                    ProviderProtocolError(
                        f"Response stopped: {endless}.",
                        "The text so far is saved; try again, or choose another model.",
                    )
                )
                return True
            if self._parser.finished:
                break
            if isinstance(chunk, TextDelta) and len(chunk.text) == PIECE:
                # A large answer arrived at once; the user must be able to stop it.
                await asyncio.sleep(0)
        if self._parser.finished:
            self._generation.conclude(arrived, _OPENINGS.get(self._dialect, ""))
        if self._parser.finished or self._generation.over:
            self._closed = True
            self._events.extend(self._end_answer())
            return True
        return bool(chunks)

    def _end_answer(self) -> Sequence[Event]:
        """Close the parser. A call that it reports as incomplete was cut off by the output limit, if that
        ended the answer."""
        if self._native is not None:
            self._native.cut_off = self.cut_off
            return self._parser.close()
        events = self._parser.close()
        for event in events if self.cut_off else ():
            if event["type"] == "error" and "call" in event["payload"]:
                event["payload"] |= {"error": CUT_CALL, "hint": IN_PARTS}
        return events

    def _describe_endless(self) -> str:
        """The limit that the answer exceeds, in words; empty while it may continue."""
        if self._called > MOST_WRITTEN_CALLS:
            return f"more than {MOST_WRITTEN_CALLS:,} calls"
        return f"more than {MOST_UNITS:,} parts" if self._written > MOST_UNITS else ""

    def _break_off(self, why: ProviderError) -> None:
        """End the answer here. What arrived remains; calls of a block that was cut off do not run, nor those
        of a native batch, which ends with the answer."""
        self.broken = why
        self._closed = True
        dropped = ("error", "execute")
        self._events.extend(event for event in self._parser.close() if event["type"] not in dropped)

    def _note(self, events: Iterable[Event]) -> None:
        """Add parsed events, and count their thoughts, texts, calls and errors."""
        for event in events:
            if event["type"] == "think" or event["type"] == "respond":
                self._written += event["id"] != self._unit
                self._unit = event["id"]
            elif not event.get("partial"):
                self._written += 1
                self._called += event["type"] == "call"
            self._events.append(event)

    async def _take(self, chunk: Chunk) -> None:
        if isinstance(chunk, TextDelta):
            self.meter.text(chunk.text)
            self._reasoning.begin_unit("think")
            self._note(self._parser.feed(chunk.text))
        elif isinstance(chunk, ReasoningDelta):
            self.meter.text(chunk.text)
            self._parser.part()
            self._reasoning.text(chunk.text)
            self._note(_as_summaries(self._reasoning.take()))
        elif isinstance(chunk, CallDelta):
            self.meter.text(chunk.arguments or chunk.name)
            self._take_call(chunk)
        elif isinstance(chunk, ReasoningItem):
            self._events.append(chunk)
        elif isinstance(chunk, CutOff):
            self.cut_off = True
        elif isinstance(chunk, Steered):
            self.steered = True
        elif isinstance(chunk, Notice | Retrying):
            self.meter.retried = self.meter.retried or isinstance(chunk, Retrying)
            await self._report(chunk)

    def _take_call(self, piece: CallDelta) -> None:
        self._has_calls = True
        self._reasoning.begin_unit("think")
        if self._native is None:
            # Some models make native calls although the request had no tools.
            written = self._stray.setdefault(piece.index, ["", ""])
            written[0] = (written[0] or piece.name)[:_LONGEST_STRAY]
            written[1] = (written[1] + piece.arguments)[:_LONGEST_STRAY]
            return
        self._note(
            self._native.call(
                piece.index,
                id=piece.id,
                name=piece.name,
                arguments=piece.arguments,
                complete=piece.complete,
            )
        )

    async def _hand_on_next(self) -> bool:
        event = self._events[0]
        if isinstance(event, ReasoningItem):
            self._items.append(event)
            self._events.popleft()
            return True
        if (
            self._answer is not None
            and not _continues(self._answer, event)
            and not await self._close_answer()
        ):
            return False
        self._events.popleft()
        await self._hand_on(event)
        return True

    async def _hand_on(self, event: Event) -> None:
        if event["type"] == "respond" and self._streams:
            self._answer = event
            await self._emit_answer(self._variables.feed(event["content"]))
            return
        if event["type"] == "end":
            # The turn emits its own `end` after its figures.
            return
        if event["type"] == "call":
            if event.get("partial"):
                self._preview(event)
                return
            self._unwritten.pop(event["id"], None)
            self._open[event["id"]] = event
        elif event["type"] == "execute":
            self._boundary = True
        elif event["type"] == "error" and "call" in event["payload"]:
            await self._place_items(event["payload"]["call"], "before")
        self._spoken = True
        await self._emit(event)
        if event["type"] == "error" and "call" in event["payload"]:
            await self._refuse(event["payload"], event["payload"].get("hint", _WRITE_AGAIN[self._dialect]))
        if self._runs_calls:
            await self._schedule(event)

    def _preview(self, event: CallEvent) -> None:
        if not self._unwritten.get(event["id"]):
            name = call_record(event).get("name")
            self._unwritten[event["id"]] = name if isinstance(name, str) else ""
        self._recorder.preview(event)

    def _close_previews(self, why: str, state: CallState = "failed") -> None:
        """Give the calls that were never written to their end a result; like their previews it is not
        stored.
        """
        for id, tool in self._unwritten.items():
            result = brief_result(id, tool or "unknown", why, self._clock(), state)
            if state == "interrupted":
                result["payload"]["not_run"] = True
            self._recorder.preview(result)
        self._unwritten.clear()

    async def _emit(self, event: Event) -> None:
        """Emit what the model wrote, as part of this cycle."""
        if event["type"] == "think" or event["type"] == "respond" or event["type"] == "call":
            event["cycle"] = self._id
            await self._place_items(event["id"], "before")
            self._last = event["id"]
        if event["type"] == "think" or event["type"] == "respond":
            self._units += cast("list[ThinkEvent | RespondEvent]", list(self._accumulator.add(event)))
        await self._recorder.emit(event)

    async def _place_items(self, unit: str, place: Literal["before", "after"]) -> None:
        """Store the pending items of reasoning, and the provider's id of a call, at an event."""
        items = [AnswerItem(unit, place, each.item) for each in self._items if unit]
        self._items.clear()
        if self._native is not None and (id := self._native.call_ids.pop(unit, "")):
            items.append(AnswerItem(unit, "id", {"id": id}))
        if items:
            await self._recorder.add_items(self._provider, items)

    async def _schedule(self, event: Event) -> None:
        """Submit calls to the scheduler: at the boundary, or in the action dialect one by one."""
        if event["type"] == ("call" if self._streams else "execute") and self._open:
            # The calls reach the disk before they act: no effect ever lacks its cause.
            await self._recorder.sync()
        if self._streams and event["type"] == "call":
            self._scheduler.submit(event)
        elif self._streams and event["type"] == "error" and "call" in event["payload"]:
            self._scheduler.refuse(event["payload"]["call"], event["payload"].get("action", ""))
        elif event["type"] == "execute" and (self._native or not self.malformed):
            for call in list(self._open.values()):
                self._scheduler.submit(call)

    async def _emit_answer(self, text: str) -> None:
        if text and self._answer is not None:
            self._spoken = True
            await self._emit({**self._answer, "content": text})

    async def _close_answer(self) -> bool:
        """End the unit of the answer; False while it waits for a pending value."""
        if self._answer is None:
            return True
        await self._emit_answer(self._variables.close())
        if self._variables.waiting and not self._scheduler.idle:
            return False
        await self._emit_answer(self._variables.give_up())
        self._answer = None
        return True

    async def _report(self, notice: Retrying | Notice) -> None:
        """Report a retry or notice of the provider to the user; the request continues by itself."""
        payload: ErrorPayload
        if isinstance(notice, EffortRefused):
            self._engine.refused_efforts.add((self._provider.name, self._provider.model, notice.effort))
        if isinstance(notice, Notice):
            payload = {"error": notice.text, "notice": True}
        else:
            payload = {
                "error": notice.cause,
                "notice": True,
                "retry": notice.wait,
                "attempt": notice.attempt,
                "attempts": notice.attempts,
            }
        await self._recorder.emit({"type": "error", "timestamp": self._clock(), "payload": payload})


def _as_summaries(events: Sequence[Event]) -> Sequence[Event]:
    """Mark reasoning that a provider delivers beside the text."""
    for event in events:
        if event["type"] == "think":
            event["summary"] = True
    return events


def _continues(answer: RespondEvent, event: Event) -> bool:
    return event["type"] == "respond" and event["id"] == answer["id"]


def brief_result(call_id: str, tool: str, outcome: str, now: float, state: CallState) -> ResultEvent:
    """A result that is one line, for the user and the model."""
    return {
        "type": "result",
        "timestamp": now,
        "id": call_id,
        "tool": tool,
        "duration": 0.0,
        "payload": {"outcome": outcome, "content": None, "error": state != "done", "state": state},
    }

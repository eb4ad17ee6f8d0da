"""One turn: generates, runs the calls, feeds the results back, until the model has answered.

Invariant: whatever happens (a malformed block, a failing endpoint, the user's Escape), every announced call
gets exactly one result, what was written remains, and the turn's last event is `interrupt`, or `end` (after
the `error` that ended the turn, if one did). This holds when the store fails, too.

A message that is sent meanwhile steers the turn: the turn ends before its next request, when every call has
its result, and the message begins the next one, whose first request has both. A provider that takes messages
while it answers has it earlier, and ends the answer for it. Each message begins a turn, so that all that
counts, limits, reverts or forks turns counts it alike.
"""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from cogency_tui.agent.call_graph import TurnActions
from cogency_tui.agent.compaction import compaction_event
from cogency_tui.agent.context_window import History, Prepared
from cogency_tui.agent.conversation import Conversation
from cogency_tui.agent.cycle import Cycle, Interrupted, brief_result
from cogency_tui.agent.image_mentions import mentioned_images
from cogency_tui.agent.images import images_left_out
from cogency_tui.agent.prompt import LAST_CYCLE
from cogency_tui.agent.prompt_cache import CacheRequest
from cogency_tui.agent.recorder import Recorder
from cogency_tui.agent.subagent_progress import first_line
from cogency_tui.errors import (
    BudgetError,
    CogencyError,
    ContextTooLongError,
    ProviderError,
    StoreError,
    sentence,
)
from cogency_tui.protocol.dialects import new_id
from cogency_tui.protocol.events import (
    BACKGROUND_NEWS,
    CallState,
    CompactionFigures,
    Image,
    ReviewNote,
    UntilTurn,
    UserEvent,
    error_event,
    labelled_outcome,
    notice_event,
)
from cogency_tui.protocol.transcript import INTERRUPTED
from cogency_tui.redaction import Redactor
from cogency_tui.safe_text import one_line
from cogency_tui.store.requests import Requests
from cogency_tui.store.store import Store

_T = TypeVar("_T")

FAILED_BATCHES = 3
"""Consecutive cycles in which all calls failed for the same reasons, after which the turn ends."""

MOST_SLIPS, MOST_FAILURES = 6, 12
"""Consecutive cycles in which no call could be run, and in which all calls failed in any way: a model that
fixes one slip and makes another, or runs one check after another that finds something, is not in a loop yet.
"""

_DETAIL = re.compile(r"`[^`]*`|\"[^\"]*\"|\([^()]*\)|\d+")
"""What differs between malformed answers of a kind."""

_FIGURES = re.compile(r"\d+")
"""What differs between failures of a call for the same reason."""

BREAKS = 3
"""Consecutive answers that break off, after which the turn ends."""

_TURN = "turn"
"""The tool of a result that is the engine's own report on the turn."""

_LAST = "Not run: this was the last step of the turn."
_MALFORMED = "Not run because of another error in this answer."
_ONE_MORE = "The turn ends if {}. Change the approach, or answer the user: what is done, and what fails."
_ALL_FAIL = "the calls of the next answer all fail"
_NO_CALL = "the next answer again neither calls a tool nor answers the user"
_WOULD_END = (
    "Your answer ends the turn, and with it what still runs: {}. To wait for that, use processes with action "
    "wait and its id; otherwise give your answer again."
)
_ANY_EVENT = 2**62
_BROKEN_OFF = "Not run: the turn failed before its block was complete."
_MORE_OUTPUT = "Ask for the work in smaller parts, or raise the output token limit of the server."
_GO_ON = (
    "The turn was cut short here, and the user continues it. What you wrote before it is saved; no call of "
    "an unfinished block ran. Continue from there."
)

if TYPE_CHECKING:
    from cogency_tui.agent.hooks.turn_hooks import HookContext


class Turn:
    """Runs once. `run` returns when all is over; `interrupt` hastens that.

    `message_waits` is asked between two requests; if it returns True the turn ends there. `works_until`: a
    command of the user's runs after it.
    """

    def __init__(
        self,
        conversation: Conversation,
        store: Store,
        recorder: Recorder,
        clock: Callable[[], float] = time.time,
        *,
        message_waits: Callable[[], bool] = lambda: False,
        works_until: bool = False,
    ) -> None:
        self._conversation = conversation
        self._store = store
        self._recorder = recorder
        self._clock = clock
        self._message_waits = message_waits
        self._works_until = works_until
        self._steered_at, conversation.steered_at = conversation.steered_at, ""
        """Where the turn before this one ended for the message of this one."""
        self._history = self._follow_dialect()
        self._actions = TurnActions()
        self.failure: CogencyError | None = None
        """The error that has ended the turn, once it has."""
        self.was_stopped = False
        """True if the turn has ended because it was interrupted."""
        self._interrupted = False
        self._cycle: Cycle | None = None
        """The running cycle; None between two, when all is measured."""
        self._requests = Requests(store.database)
        self._request: int | None = None
        """The number of the cycle's request."""
        self._cache_request: CacheRequest | None = None
        """The cycle's request as the cache sees it."""
        self._failures: list[str] = []
        """The kinds of failure of the last cycles, as long as all calls failed."""
        self._slips = 0
        """The number of those that are slips in what the model wrote."""
        self._breaks = 0
        self._compactable = True
        self._compacting: asyncio.Task[CompactionFigures] | None = None
        self._affording: asyncio.Task[Any] | None = None
        self._has_called = False
        """True if the model has made a call in this turn."""
        self._may_remind = False
        """True if it has made one since it was told what its answer would end."""
        self._continuations = 0
        """Times that hooks have continued the turn after an answer."""
        self._sources = conversation.begin_turn(self, continues=bool(self._steered_at))

    @property
    def state(self) -> Literal["done", "failed", "interrupted"]:
        """How it ended, once it has."""
        return "interrupted" if self.was_stopped else "failed" if self.failure else "done"

    def interrupt(self) -> None:
        """Stop generating and running. It may be called at any time and more than once."""
        self._interrupted = True
        for waiting in (self._compacting, self._affording):
            if waiting is not None:
                waiting.cancel()
        if self._cycle is not None:
            self._cycle.stop()

    def steer(self, query: str) -> None:
        """Send the message that waits to the running answer where that is possible, so that it takes effect
        at once: without images, hooks on messages, and a limit of the budget, which is checked before
        requests."""
        hooks = self._conversation.turn_hooks
        is_free = hooks is None or not hooks.sees_messages
        is_plain = not mentioned_images(query) and not self._conversation.budget.is_limited and is_free
        if self._cycle is not None and is_plain:
            self._cycle.steer({"role": "user", "content": query})

    async def run(
        self,
        query: str | None,
        ended: Callable[[], None],
        review: Callable[[], Awaitable[ReviewNote | None]] | None = None,
        images: Sequence[Image] = (),
        context: "HookContext | None" = None,
        until: UntilTurn | None = None,
    ) -> None:
        """Run the turn. Without a query it continues the last one, which failed or was interrupted, from what
        is stored.

        `ended` is called when the last event has been emitted, which may be before the processes of an
        interrupted command have exited. `review` returns the note about the user's decisions on the edits,
        which the message carries, as it does the `images`, the `context` that hooks have for the model, and
        the turn's place in an `until`.
        """
        try:
            if query is None:
                await self._continue(context)
            else:
                await self._ask(query, review, images, context, until)
            await self._notices()
            self._conversation.pauses = await self._requests.pauses(self._conversation.id)
            await self._cycles()
        except Interrupted:
            self.was_stopped = True
            await self._close(INTERRUPTED, "interrupted")
            if unstored := self._recorder.unstored:
                await self._report(unstored)
            await self._recorder.emit({"type": "interrupt", "timestamp": self._clock()})
        except CogencyError as exc:
            if self._cycle is not None:
                self._cycle.stop()
            await self._close(_BROKEN_OFF, "failed")
            if (unstored := self._recorder.unstored) and unstored is not exc:
                await self._report(unstored)
            await self._fail(exc)
        finally:
            ended()
            if self._cycle is not None:
                await self._cycle.settle()

    async def _ask(
        self,
        query: str,
        review: Callable[[], Awaitable[ReviewNote | None]] | None,
        images: Sequence[Image],
        context: "HookContext | None",
        until: UntilTurn | None,
    ) -> None:
        """Emit the user's message."""
        message: UserEvent = {"type": "user", "timestamp": self._clock(), "content": query}
        if self._steered_at:
            message["steered"] = True
        if self._sources:
            self._sources.record(message)
        if environment := await self._conversation.environment(self._store):
            message["environment"] = environment
        if review is not None and (note := await review()):
            message["review"] = note
        if until is not None:
            message["until"] = until
        if before := await self._state_of_turn_before(goes_on=self._works_until):
            message["note"] = before
        if images:
            message["images"] = [*images]
        if context is not None and context.text:
            message["hooks_context"], message["hooks_added"] = context.text, context.added
        await self._recorder.emit(message)

    async def _state_of_turn_before(self, *, goes_on: bool) -> str:
        """What the model does not know of the turn before: that the user's command no longer runs, unless it
        `goes_on`, and that its answer was cut off."""
        id, notes = self._conversation.id, list[str]()
        if self._steered_at:
            return ""
        if await self._store.ends_cut_off(id):
            notes.append("[engine] The program ended while you wrote your last answer: it is incomplete.")
        if not goes_on and (command := await self._store.unfinished_until(id)):
            notes.append(
                f"[engine] `{one_line(command)}` has not succeeded, and no longer runs after your turns."
            )
        return "\n".join(notes)

    async def _continue(self, context: "HookContext | None" = None) -> None:
        """Send a model whose own words are the last ones a result: a request ends with what it is sent."""
        prepared = await self._history.prepare("")
        if prepared.messages[-1]["role"] == "assistant":
            await self._recorder.emit(brief_result(new_id(), _TURN, _GO_ON, self._clock(), "failed"))
        if context is not None and context.text:
            await self._recorder.emit(brief_result(new_id(), _TURN, context.text, self._clock(), "done"))

    async def _cycles(self) -> None:
        most = self._conversation.settings.max_iterations
        for number in range(1, most + 1):
            if self._ends_before(number):
                await self._end()
                return
            await self._report_background()
            if number == 1:
                await self._report_late_diagnostics()
            cycle = await self._begin(last=number == most)
            await cycle.run()
            await cycle.settle()
            if cycle.broken is not None:
                await self._go_on_after(cycle, cycle.broken)
                self._cycle = None
                continue
            self._breaks = 0
            # The calls of a malformed block did not run, nor those of the last cycle.
            await cycle.answer_open(_LAST if number == most else _MALFORMED)
            gives_up = self._gives_up_after(cycle)
            if number < most and cycle.failed and not gives_up:
                await self._warn_of_giving_up(cycle)
            await self._measure(cycle)
            self._cycle = None
            if cycle.failure:
                await self._error(f"{cycle.failure}.", "Send a message to continue.")
                return
            if cycle.steered:
                if self._ends_before(number + 1):
                    self._conversation.steered_at = "answer"
                    await self._end()
                    return
                await self._continue()
                continue
            self._has_called = self._has_called or cycle.called
            self._may_remind = self._may_remind or cycle.called
            is_last = number == most
            goes_on = not is_last and await self._remind_of_background(cycle)
            answered = cycle.answered and not goes_on
            if await self._hooks_continue(cycle, is_last=is_last, answered=answered) or goes_on:
                continue
            if cycle.answered:
                if cycle.cut_off:
                    await self._note("The output limit of the model cut this answer off.")
                # Notices of this turn: there may be no other turn to show them.
                await self._notices()
                await self._end()
                return
            if gives_up:
                await self._error(*self._give_up(cycle))
                return
        await self._error(
            f"Turn stopped after {most} step{'' if most == 1 else 's'} (the maximum).",
            "Send another message to continue, or raise Maximum steps per turn (max_iterations).",
        )

    async def _remind_of_background(self, cycle: Cycle) -> bool:
        """Tell the model, once until its next call, which commands its answer would end; return whether there
        are any: it then answers again."""
        background = self._conversation.background
        if not (cycle.answered and background.ends_with_answer and self._may_remind):
            return False
        if not (running := background.running()):
            return False
        self._may_remind = False
        text = _WOULD_END.format(", ".join(running))
        await self._recorder.emit(brief_result(new_id(), _TURN, text, self._clock(), "done"))
        return True

    async def _is_open(self) -> bool:
        """Whether the work is evidently not done: the turn has made calls, commands run, or a step of the
        plan is active. In the mode for plans, what an answer announces comes later."""
        conversation = self._conversation
        if conversation.gate.mode == "plan":
            return False
        if self._has_called or conversation.background.running():
            return True
        plan = await self._store.plan(conversation.id, _ANY_EVENT)
        return any(step["state"] == "active" for step in plan)

    async def _hooks_continue(self, cycle: Cycle, *, is_last: bool, answered: bool) -> bool:
        """Run the hooks after a message of the model, and after the turn if that is answered; return whether
        they have something for the model, which then continues.

        Raises:
            Interrupted: the turn was stopped meanwhile.
        """
        hooks = self._conversation.turn_hooks
        if hooks is None:
            return False
        text, reasons = cycle.text, list[str]()
        if text:
            reasons += await self._unless_interrupted(hooks.after_message(text, self._note))
        if answered and not reasons:
            count = self._continuations
            reasons += await self._unless_interrupted(hooks.after_turn("done", text, count, self._note))
        if not reasons or is_last:
            return False
        self._continuations += answered
        report = brief_result(new_id(), _TURN, "\n".join(reasons), self._clock(), "done")
        await self._recorder.emit(report)
        return True

    async def _unless_interrupted(self, work: Coroutine[Any, Any, _T]) -> _T:
        """The result of work between two requests.

        Raises:
            Interrupted: the turn was stopped meanwhile.
        """
        task = self._affording = asyncio.create_task(work)
        if self._interrupted:
            task.cancel()
        try:
            await asyncio.wait([task])
        finally:
            self._affording = None
            task.cancel()
        if task.cancelled():
            raise Interrupted
        return task.result()

    async def _report_background(self) -> None:
        """Report to the model, once, what background commands wrote that it watches for, and their ends."""
        background = self._conversation.background
        lost = dict.fromkeys(background.lost, False)
        line, text = background.take_news()
        if text:
            event = brief_result(new_id(), BACKGROUND_NEWS, line, self._clock(), "done")
            event["payload"]["content"] = text
            event["payload"]["background"] = {**lost, **background.known()}
            await self._recorder.emit(event)

    async def _report_late_diagnostics(self) -> None:
        """Report to the model what became known of its last edits after the turn before.

        Raises:
            Interrupted: the turn was stopped meanwhile.
        """
        late = await self._unless_interrupted(self._conversation.late_diagnostics())
        if late is None:
            return
        event = brief_result(new_id(), _TURN, late.note, self._clock(), "done")
        if late.diagnostics is not None:
            event["payload"]["diagnostics"] = late.diagnostics
        await self._recorder.emit(event)

    def _ends_before(self, number: int) -> bool:
        """Return whether the turn ends before its request of this number, for a message that waits.

        Messages that wait together at a step go together: those before the last have no request of their own.
        """
        if (number == 1 and self._steered_at != "step") or not self._message_waits():
            return False
        self._conversation.steered_at = "step"
        return True

    def _gives_up_after(self, cycle: Cycle) -> bool:
        """Return whether repeated failures end the turn after this cycle."""
        if not cycle.failed:
            self._failures.clear()
            self._slips = 0
            return False
        self._failures.append(_kind_of_failure(cycle))
        self._slips += bool(cycle.fault or cycle.slip)
        many = len(self._failures) >= MOST_FAILURES or self._slips >= MOST_SLIPS
        return many or self._repeated() >= FAILED_BATCHES

    def _repeated(self) -> int:
        """The number of the last cycles that failed in the way of the very last one."""
        return sum(1 for _ in takewhile(lambda kind: kind == self._failures[-1], reversed(self._failures)))

    async def _warn_of_giving_up(self, cycle: Cycle) -> None:
        """Report to the model that one more cycle like this one ends the turn, if it does."""
        is_slip = bool(cycle.fault or cycle.slip)
        any_way = len(self._failures) == MOST_FAILURES - 1 or (is_slip and self._slips == MOST_SLIPS - 1)
        if any_way or self._repeated() == FAILED_BATCHES - 1:
            repeated = _NO_CALL if cycle.without_call else f"{_ALL_FAIL} in this way"
            warning = _ONE_MORE.format(_ALL_FAIL if any_way else repeated)
            if cycle.fault and not any_way:
                warning = f"The turn ends if the next answer is {cycle.fault}, too."
            await self._recorder.emit(brief_result(new_id(), _TURN, warning, self._clock(), "failed"))

    def _give_up(self, cycle: Cycle) -> tuple[str, str]:
        """The error that ends the turn after repeated failures, and its hint."""
        count = len(self._failures)
        if cycle.fault and len(set(self._failures)) == 1:
            hint = _MORE_OUTPUT if cycle.cut_off else "Try again, or choose another model."
            return f"Turn stopped: {count} answers in a row were {cycle.fault}.", hint
        what = "no call could be run" if cycle.malformed else "every call failed"
        return (
            f"Turn stopped: {what} in {count} steps in a row. Last error: {sentence(self._last_failures())}",
            "Check the last results, and send a message to continue.",
        )

    def _follow_dialect(self) -> History:
        """The history in the dialect that the user's choice and the model require now."""
        conversation = self._conversation
        conversation.dialect = conversation.wanted_dialect()
        return conversation.history(self._store, conversation.dialect)

    async def _begin(self, *, last: bool) -> Cycle:
        conversation = self._conversation
        if conversation.dialect != conversation.wanted_dialect():
            self._history = self._follow_dialect()
        note = LAST_CYCLE if last and conversation.settings.max_iterations > 1 else ""
        prepared = await self._prepare(note)
        await self._afford(prepared)
        # A change of mode applies from the next cycle on.
        channel = await conversation.channel()
        schedule = partial(conversation.scheduler, self._actions)
        cycle = self._cycle = Cycle(
            conversation,
            prepared,
            channel,
            schedule,
            self._recorder,
            self._clock,
            runs_calls=not last,
            is_open=self._is_open,
        )
        self._request = await self._requests.add(
            conversation.id, prepared.since, prepared.through, prepared.frame, note
        )
        if self._interrupted:
            raise Interrupted
        self._cache_request = CacheRequest.of(prepared, note, self._clock())
        cycle.start()
        return cycle

    async def _prepare(self, note: str) -> Prepared:
        """The next request; summarises the older part first if the context is nearly full."""
        history = self._history
        prepared = await history.prepare(note)
        if self._compactable and await history.is_due(prepared):
            self._compactable = await self._compact(retain=True)
            prepared = await history.prepare(note)
        if prepared.images_left_out:
            await self._report_images_left_out()
        return prepared

    async def _report_images_left_out(self) -> None:
        """Report once that the model is sent no images."""
        conversation, provider = self._conversation, self._conversation.provider()
        if (provider.name, provider.model) not in conversation.without_images:
            conversation.without_images.add((provider.name, provider.model))
            await self._note(images_left_out(provider))

    async def _compact(self, *, retain: bool) -> bool:
        """Summarise the conversation, with `retain` only its older part; False if that fails."""
        await self._afford(await self._history.prepare(""))
        await self._note("Context nearly full: summarizing older messages")
        work = self._compacting = asyncio.create_task(self._history.compact(retain=retain))
        if self._interrupted:
            work.cancel()
        try:
            await asyncio.wait([work])
        finally:
            self._compacting = None
            work.cancel()
        if work.cancelled():
            raise Interrupted
        if failure := work.exception():
            if not isinstance(failure, CogencyError):
                raise failure
            await self._note(f"Could not summarize the conversation: {failure}")
            return False
        await self._recorder.emit(compaction_event(work.result(), self._clock()))
        return True

    async def _afford(self, prepared: Prepared) -> None:
        """Require that the budget has room for a request.

        Raises:
            BudgetError: it has none, and the user does not allow exceeding it.
            Interrupted: the turn was stopped while the user was being asked.
        """
        own = self._conversation
        check = own.budget.check(
            own.provider(), prepared.characters, own.calibration, self._note, images=prepared.image_tokens
        )
        await self._unless_interrupted(check)

    async def _note(self, text: str) -> None:
        await self._recorder.emit(notice_event(text, self._clock()))

    async def _go_on_after(self, cycle: Cycle, cause: ProviderError) -> None:
        """Let the next cycle continue from the store: with less context if it was too long, or if the
        answer had begun and the connection is to blame.

        Raises:
            ProviderError: neither is so, or it happened too often.
        """
        if isinstance(cause, ContextTooLongError) and not cycle.meter.begun and self._compactable:
            # Once: if a summary does not help, nothing else does.
            if await self._compact(retain=False):
                self._compactable = False
                return
            self._compactable = False
        self._breaks += 1
        if not (cause.retryable and cycle.meter.begun) or self._breaks >= BREAKS:
            raise cause
        await cycle.mend()
        await self._measure(cycle)
        await self._note(f"{cause} Continuing from the partial response.")

    async def _measure(self, cycle: Cycle) -> None:
        conversation = self._conversation
        provider = conversation.provider()
        step = cycle.meter.step(
            mode=cycle.channel.mode,
            reason=cycle.channel.reason,
            provider=provider.name,
            model=provider.model,
            facts=provider.facts,
            sent=cycle.channel.sent,
        )
        step |= cycle.facts
        if self._request is not None:
            await self._requests.settle(self._request, cycle.channel.mode, cycle.channel.sent)
        missed = conversation.cache_watch.observe(self._cache_request, step) if self._cache_request else ""
        conversation.budget.forecast.observe(step)
        await self._store.record_usage(conversation.id, step)
        total = await self._store.usage(conversation.id)
        now = self._clock()
        await self._recorder.emit({"type": "metric", "timestamp": now, "step": step, "total": total})
        if missed:
            await self._note(missed)

    async def _close(self, why: str, state: CallState) -> None:
        """End the cut-off cycle: emit what the model wrote, and answer every call."""
        self._recorder.is_closing = True
        await self._recorder.close_unit(interrupted=True)
        if self._cycle is not None:
            await self._cycle.answer_open(why, state)
            # A request that never reached the endpoint, or was refused there, has cost nothing. Of one that
            # was interrupted before its answer this is known only if an attempt had failed before.
            in_flight = state == "interrupted" and not self._cycle.meter.retried
            if in_flight or self._cycle.meter.answered:
                with suppress(StoreError):
                    # The figures of a cycle that broke off matter less than the error that follows.
                    await self._measure(self._cycle)
        await self._notices()

    def _last_failures(self) -> str:
        """The outcomes of the last results, with the tools that were called."""
        failed = (labelled_outcome(each, ": ") for each in self._recorder.failures if each["tool"] != _TURN)
        return "; ".join(dict.fromkeys(first_line(each).rstrip(".") for each in failed))

    async def _error(self, message: str, hint: str = "") -> None:
        """End the turn with an error."""
        await self._notices()
        await self._fail(CogencyError(message, hint))

    async def _fail(self, error: CogencyError) -> None:
        """Report the error that ends the turn, which the store keeps."""
        redact = Redactor(self._conversation.engine.secrets).text
        shown = self.failure = CogencyError(redact(str(error)), redact(error.hint))
        event = error_event(shown, self._clock())
        if isinstance(error, BudgetError) and error.declined:
            event["payload"]["declined"] = True
        await self._recorder.fail(event, error.kind)
        await self._end()

    async def _report(self, error: CogencyError) -> None:
        await self._recorder.emit(error_event(error, self._clock()))

    async def _notices(self) -> None:
        """Show the user the pending notices of the store and the servers."""
        for notice in self._conversation.notices(self._store):
            await self._note(notice)
        await self._store.acknowledge()

    async def _end(self) -> None:
        await self._recorder.emit({"type": "end", "timestamp": self._clock()})


def _kind_of_failure(cycle: Cycle) -> str:
    """Return what went wrong in a cycle whose calls all failed, without the details."""
    if cycle.fault or cycle.slip:
        return cycle.fault or _DETAIL.sub("", cycle.slip)
    return _FIGURES.sub("", "\n".join(sorted(cycle.failures)))

"""One turn: generate, run the calls, feed the results back, until the model has answered.

Whatever happens (a malformed block, a failing endpoint, the person's Escape), every call that was
announced gets exactly one result, what was written stays, and the turn ends in one last event.
"""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from cogency_tui.agent.context import build_messages
from cogency_tui.agent.cycle import Cycle, CycleSetup, Interrupted, answer_of
from cogency_tui.agent.metrics import Meter
from cogency_tui.agent.prompt import CALL_FORMS, LAST_CYCLE
from cogency_tui.agent.recorder import Recorder
from cogency_tui.agent.replay import Channel
from cogency_tui.agent.scheduler import Preview, Scheduler
from cogency_tui.config import Dialect, Settings
from cogency_tui.errors import CogencyError
from cogency_tui.protocol.events import ErrorPayload, Message
from cogency_tui.protocol.transcript import INTERRUPTED
from cogency_tui.providers.base import Provider
from cogency_tui.store.conversations import Store

FAILED_BATCHES = 3
"""Cycles whose calls came to nothing but failures, in a row, that end a turn."""

_LAST = "Not run: this was the last step of the turn."
_MALFORMED = "Not run: the block was malformed."
_BROKEN_OFF = "Not run: the turn failed before its block was complete."


@dataclass(frozen=True, slots=True)
class TurnSetup:
    """What a turn runs with; `channel` is asked for each cycle, so that a change of mode takes effect."""

    store: Store
    conversation_id: str
    settings: Settings
    dialect: Dialect
    provider: Provider
    system: str
    channel: Callable[[], Awaitable[Channel]]
    scheduler: Callable[[Preview, Callable[[], None]], Scheduler]


class Turn:
    """Runs once. `run` returns when all is over; `interrupt` makes that soon."""

    def __init__(self, setup: TurnSetup, recorder: Recorder, clock: Callable[[], float] = time.time) -> None:
        self._setup = setup
        self._recorder = recorder
        self._clock = clock
        self._interrupted = False
        self._cycle: Cycle | None = None
        self._failures = 0

    def interrupt(self) -> None:
        """Stop generating and running; may be called at any time, more than once."""
        self._interrupted = True
        if self._cycle is not None:
            self._cycle.stop()

    async def run(self, query: str, ended: Callable[[], None]) -> None:
        """Run the turn. `ended` is called when the last event has been handed on, which may be before
        the processes of an interrupted command are gone."""
        try:
            await self._recorder.emit({"type": "user", "timestamp": self._clock(), "content": query})
            await self._cycles()
        except Interrupted:
            await self._close(INTERRUPTED)
            await self._recorder.emit({"type": "interrupt", "timestamp": self._clock()})
        except CogencyError as exc:
            if self._cycle is not None:
                self._cycle.stop()
            await self._close(_BROKEN_OFF)
            await self._error(str(exc), exc.hint)
        finally:
            ended()
            if self._cycle is not None:
                await self._cycle.settle()

    async def _cycles(self) -> None:
        most = self._setup.settings.max_iterations
        for number in range(1, most + 1):
            cycle = await self._begin(last=number == most)
            await cycle.run()
            await cycle.settle()
            await self._refuse(cycle, last=number == most)
            await self._measure(cycle)
            if cycle.failure:
                await self._error(f"{cycle.failure}.", "Say how to go on.")
                return
            if cycle.answered:
                await self._recorder.emit({"type": "end", "timestamp": self._clock()})
                return
            self._failures = self._failures + 1 if cycle.failed else 0
            if self._failures >= FAILED_BATCHES:
                await self._error(
                    f"{FAILED_BATCHES} batches in a row came to nothing but failures; the turn was ended.",
                    "Look at the last results, and say how to go on.",
                )
                return
        await self._error(
            f"The turn reached its limit of {most} cycles.",
            "Send another message to go on, or raise max_iterations.",
        )

    async def _begin(self, *, last: bool) -> Cycle:
        setup = self._setup
        events = await setup.store.events(setup.conversation_id)
        messages = build_messages(setup.system, events, setup.dialect, setup.settings.output_limit)
        if last and setup.settings.max_iterations > 1:
            final = messages[-1]
            messages[-1] = Message(role=final["role"], content=f"{final['content']}\n\n{LAST_CYCLE}")
        channel = await setup.channel()
        cycle = self._cycle = Cycle(
            CycleSetup(
                dialect=setup.dialect,
                payload_limit=setup.settings.payload_limit,
                messages=messages,
                channel=channel,
                runs_calls=not last,
            ),
            self._recorder,
            setup.scheduler,
            Meter(messages),
            self._clock,
        )
        if self._interrupted:
            raise Interrupted
        cycle.start()
        return cycle

    async def _refuse(self, cycle: Cycle, *, last: bool) -> None:
        """Answer the calls that did not run: those of a malformed block, or of the last cycle."""
        await cycle.answer_open(_LAST if last else _MALFORMED)
        for payload in cycle.malformed:
            await cycle.result(answer_of(payload, self._told(payload, last=last), self._clock()))

    def _told(self, payload: ErrorPayload, *, last: bool) -> str:
        if last:
            return payload["error"]
        form = CALL_FORMS[self._setup.dialect]
        return f"{payload['error']}\nWrite it again, whole and valid, in this form:\n{form}"

    async def _measure(self, cycle: Cycle) -> None:
        setup = self._setup
        step = cycle.meter.step(
            mode=cycle.channel.mode,
            reason=cycle.channel.reason,
            provider=setup.provider.name,
            model=setup.provider.model,
            context_size=setup.provider.context_size,
        )
        await setup.store.record_usage(setup.conversation_id, step)
        total = await setup.store.usage(setup.conversation_id)
        now = self._clock()
        await self._recorder.emit({"type": "metric", "timestamp": now, "step": step, "total": total})

    async def _close(self, why: str) -> None:
        """Leave the cycle that was cut short with everything said and every call answered."""
        await self._recorder.close_unit(interrupted=True)
        if self._cycle is not None:
            await self._cycle.answer_open(why)
            await self._measure(self._cycle)

    async def _error(self, message: str, hint: str = "") -> None:
        payload: ErrorPayload = {"error": message}
        if hint:
            payload["hint"] = hint
        await self._recorder.emit({"type": "error", "timestamp": self._clock(), "payload": payload})

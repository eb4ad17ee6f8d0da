"""A scheduler with tools whose calls begin, wait and end as a test says, and a log of what they did."""

import asyncio
import itertools
import json
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from cogency_tui.agent.call_graph import TurnActions
from cogency_tui.agent.call_interceptors import CallInterceptor
from cogency_tui.agent.permissions.gate import Ask, Gate
from cogency_tui.agent.scheduler import Scheduler
from cogency_tui.config.schema import Permissions
from cogency_tui.protocol.events import CallEvent, ResultEvent
from cogency_tui.tools.base import NO_ALIASES, Intent, Outcome, Tool, ToolContext, ToolKind, Touch
from cogency_tui.tools.registry import Registry
from cogency_tui.workspace.paths import Workspace

PATIENCE = 60.0
"""Seconds after which something hangs."""


class StepArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    label: str
    file: str | None = None
    writes: bool = False
    everything: bool = False
    value: Any = None


class Step:
    """Logs `+label` when it starts, `-label` when it has ended, and `!label` when it broke off."""

    name = "step"
    description = "A step of a test."
    args = StepArgs
    kind: ToolKind = "other"
    aliases = NO_ALIASES

    def __init__(self, noted: Callable[[], None]) -> None:
        self.log: list[str] = []
        self.got: dict[str, Any] = {}
        self.held: dict[str, asyncio.Event] = {}
        self.faults: dict[str, list[BaseException | Outcome]] = {}
        """What the attempts of a step come to, one after the other, before it succeeds."""
        self.logged = asyncio.Event()
        self._noted = noted

    def touch(self, args: StepArgs, context: ToolContext, /) -> Touch:
        paths = frozenset({Path("/", args.file)}) if args.file else frozenset[Path]()
        return Touch(paths, everything=args.everything, writes=args.writes)

    async def plan(self, args: StepArgs, context: ToolContext) -> Intent:
        return Intent("write" if args.writes else "read", f"step {args.label}")

    async def run(self, args: StepArgs, context: ToolContext) -> Outcome:
        self._note(f"+{args.label}")
        self.got[args.label] = args.value
        try:
            context.report(f"{args.label} reports")
            if args.label in self.held:
                await self.held[args.label].wait()
            faults = self.faults.get(args.label)
            fault = faults.pop(0) if faults else Outcome(f"did {args.label}", args.value)
            if isinstance(fault, BaseException):
                raise fault
        except BaseException:
            self._note(f"!{args.label}")
            raise
        self._note(f"-{args.label}")
        return fault

    def _note(self, what: str) -> None:
        self.log.append(what)
        self.logged.set()
        self._noted()

    def hold(self, *labels: str) -> None:
        """Have these wait, once started, for `release`."""
        for label in labels:
            self.held[label] = asyncio.Event()

    def release(self, *labels: str) -> None:
        for label in labels:
            self.held[label].set()

    async def until(self, *entries: str) -> None:
        """Wait until all of these stand in the log."""
        async with asyncio.timeout(PATIENCE):
            while not set(entries) <= set(self.log):
                self.logged.clear()
                await self.logged.wait()

    def before(self, *entries: str) -> bool:
        """Whether these stand in the log in this order."""
        places = [self.log.index(entry) for entry in entries]
        return places == sorted(places)


class Stage:
    """Hands calls to a scheduler as a cycle does, and collects what becomes of them."""

    def __init__(
        self,
        tools: Iterable[Tool[Any]] = (),
        *,
        root: Path = Path("/"),
        permissions: Permissions = "auto",
        ask: Ask | None = None,
        sleep: Callable[[float], Awaitable[None]] | None = None,
        interceptors: Sequence[CallInterceptor] = (),
    ) -> None:
        self.news = asyncio.Event()
        self.step = Step(self.news.set)
        self.previews: list[ResultEvent] = []
        self.pauses: list[float] = []
        self.results: dict[str, ResultEvent] = {}
        self.order: list[str] = []
        self._numbers = itertools.count(1)
        self._create = partial(
            Scheduler,
            Registry([self.step, *tools]),
            Gate(lambda: permissions, lambda: ask),
            ToolContext(Workspace(root)),
            self.previews.append,
            self.news.set,
            actions=TurnActions(),
            sleep=sleep or self._pause,
            interceptors=interceptors,
        )
        self.scheduler = self._create()

    async def next_cycle(self) -> None:
        """End this cycle, and begin the next one of the turn."""
        await self.end()
        self.scheduler = self._create()

    async def _pause(self, seconds: float) -> None:
        self.pauses.append(seconds)

    def submit(self, name: Any, args: Any, **more: Any) -> str:
        """Hand in a call; with `id` and so on an action. Its id."""
        call_id = f"call-{next(self._numbers)}"
        content = json.dumps({"name": name, "args": args, **more})
        call: CallEvent = {"type": "call", "timestamp": 0.0, "id": call_id, "content": content}
        self.scheduler.submit(call)
        return call_id

    def do(self, label: str, **args: Any) -> str:
        """A step of a batch."""
        return self.submit("step", {"label": label, **args})

    def act(self, label: str, args: dict[str, Any] | None = None, *, mode: str = "async", **more: Any) -> str:
        """A step as an action whose id is its label."""
        record = {"id": label, "type": "tool", "mode": mode, **more}
        return self.submit("step", {"label": label, **(args or {})}, **record)

    def collect(self) -> None:
        for result in self.scheduler.take():
            assert result["id"] not in self.results, "a second result"
            assert "partial" not in result
            self.results[result["id"]] = result
            self.order.append(result["id"])

    async def end(self) -> None:
        """Let nothing more come, and wait for every result."""
        self.scheduler.finish()
        await self.until(lambda: not self.scheduler.busy)

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            while True:
                self.news.clear()
                self.collect()
                if condition():
                    return
                await self.news.wait()

    async def quiet(self) -> None:
        """Give everything that can go on the turns of the loop that it needs for it."""
        entries = -1
        while entries != len(self.step.log):
            entries = len(self.step.log)
            for _ in range(12):
                await asyncio.sleep(0)
        self.collect()

    def outcome(self, call_id: str) -> str:
        return self.results[call_id]["payload"]["outcome"]

    def content(self, call_id: str) -> Any:
        return self.results[call_id]["payload"]["content"]

    def failed(self, call_id: str) -> bool:
        return self.results[call_id]["payload"]["error"]

"""The state of calls and the graph of their dependencies. Pure: nothing runs here."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from cogency_tui.protocol.events import CallEvent, HookRun
from cogency_tui.protocol.taint_sources import Sources
from cogency_tui.tools.base import Outcome, ToolKind, Touch

_RETRIES = 3


class NodeState(Enum):
    """The state of a call; it leaves `WAITING` and `RUNNING` for one of the others, once."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    DECLINED = "declined"
    SKIPPED = "skipped"
    LOST = "without a result"
    """A call of an earlier cycle, which ended before the call did."""

    @property
    def open(self) -> bool:
        return self in (NodeState.WAITING, NodeState.RUNNING)


@dataclass(slots=True, eq=False)
class Job:
    """One call.

    `scope` are the results that had a name when it was written, `names` those of them that its arguments use;
    `problem` is why it cannot run, `refused` why permissions forbid it: `declined` are the user's words for
    that, if it was they who did, `mode` is the permission mode, if it was that. `malformed` marks an action
    that could not be parsed. `begun`: its tool was started. `sources` are those of what it read, and `note`
    tells the model what follows from these. `kind` is that of its tool, if known; `decided`: it may run, or
    may not; `asks`: the user is asked about it, None while that is not known. `hooks` are the hooks that ran
    for it. `ended` is the outcome of its tool while what runs after a call still does.
    """

    call: CallEvent
    tool: str
    record: dict[str, Any]
    started: float
    state: NodeState = NodeState.WAITING
    scope: Mapping[str, "Job"] = field(default_factory=dict[str, "Job"])
    names: set[str] = field(default_factory=set[str])
    touch: Touch = field(default_factory=Touch)
    problem: Outcome | None = None
    refused: str = ""
    declined: str | None = None
    skipped: bool = False
    mode: str = ""
    malformed: bool = False
    in_turn: bool = True
    value: Any = None
    sources: Sources = field(default_factory=Sources)
    note: str = ""
    hooks: list[HookRun] = field(default_factory=list[HookRun])
    ended: Outcome | None = None
    begun: bool = False
    kind: ToolKind | None = None
    decided: bool = False
    asks: bool | None = None
    task: asyncio.Task[None] | None = None

    @property
    def called(self) -> str:
        """The tool as the model named it."""
        name = self.record.get("name")
        return name if isinstance(name, str) else self.tool

    @property
    def args(self) -> Any:
        return self.record.get("args")

    @property
    def action(self) -> str:
        """The id that the model gave it, or that of the call."""
        return str(self.record.get("id") or self.call["id"])

    @property
    def sync(self) -> bool:
        return self.record.get("mode") == "sync"

    @property
    def detached(self) -> bool:
        return self.record.get("mode") == "fire_and_forget"

    @property
    def output_key(self) -> str:
        return self.record.get("output_key") or ""

    @property
    def depends_on(self) -> list[str]:
        return self.record.get("depends_on") or []

    @property
    def timeout(self) -> float | None:
        """Seconds that one attempt may take."""
        return self.record.get("timeout")

    @property
    def on_error(self) -> str:
        return self.record.get("on_error") or "skip"

    @property
    def retries(self) -> int:
        """Further attempts after the first."""
        count = self.record.get("retry")
        return count if count is not None else _RETRIES if self.on_error == "retry" else 0

    def waits_for_turn(self, jobs: Sequence["Job"]) -> bool:
        """Return whether another call that conflicts with this one goes before it."""
        return any(True for _ in self.before(jobs))

    def before(self, jobs: Sequence["Job"]) -> "Iterator[Job]":
        """The conflicting calls that go before this one: earlier ones, and any that run."""
        earlier = True
        for other in jobs:
            if other is self:
                earlier = False
            elif other.state is NodeState.WAITING:
                if earlier and self.in_turn and other.touch.conflicts(self.touch):
                    yield other
            # A detached call may never end: it holds nothing back.
            elif (
                other.state is NodeState.RUNNING and not other.detached and other.touch.conflicts(self.touch)
            ):
                yield other


_FREE = frozenset((NodeState.FAILED, NodeState.DECLINED, NodeState.SKIPPED))


class TurnActions:
    """The actions of one turn over its cycles: their outcome counts in every later cycle."""

    def __init__(self) -> None:
        self._jobs: list[Job] = []

    @property
    def ids(self) -> set[str]:
        """The ids that the model has used. The id of an action that failed, was declined, or could not be
        parsed, is free, so that the model can retry it.
        """
        return {job.action for job in self._jobs if job.state not in _FREE}

    def add(self, job: Job) -> None:
        """Record a call, if it is an action."""
        if "id" in job.record:
            self._jobs.append(job)

    def settled(self) -> list[Job]:
        """The actions at the start of a new cycle: none of them runs there."""
        return [
            replace(job, state=NodeState.LOST, task=None) if job.state.open else job for job in self._jobs
        ]


def blocked_by(job: Job, by_action: Mapping[str, Job], *, complete: bool) -> tuple[list[str], str]:
    """The pending dependencies, and why the job can never run, if it cannot.

    With `complete` no further job comes: a missing dependency never will.
    """
    needed: list[str] = []
    for action, other in _dependencies(job, by_action):
        if other is None:
            if complete:
                return [], f'Skipped: it depends on "{action}", which is not declared'
            needed.append(action)
        elif other.state.open:
            needed.append(action)
        elif other.state is not NodeState.DONE:
            return [], f'Skipped: it depends on "{action}", which {_BECAME[other.state]}'
    return needed, ""


def in_cycles(jobs: Sequence[Job]) -> list[Job]:
    """The waiting jobs whose dependencies lead back to themselves."""
    return _cyclic(_waiting_for(jobs))


def out_of_turn(jobs: Sequence[Job]) -> Job | None:
    """A job to start before its turn: the jobs that it would wait for wait, in the end, for this job."""
    depends = _waiting_for(jobs)
    waits = {job: others | set(job.before(jobs)) & depends.keys() for job, others in depends.items()}
    caught = _cyclic(waits)
    return next((job for job in caught if depends[job].isdisjoint(caught)), None)


def _waiting_for(jobs: Sequence[Job]) -> dict[Job, set[Job]]:
    """The waiting jobs, each with its dependencies among them."""
    by_action = _by_action(jobs)
    waiting = {job: _dependencies(job, by_action) for job in jobs if job.state is NodeState.WAITING}
    return {job: {other for _, other in found if other in waiting} for job, found in waiting.items()}


def _cyclic(waits: Mapping[Job, Iterable[Job]]) -> list[Job]:
    """The jobs that wait for each other: those that are free to start are removed, then those that no job
    waits for.
    """
    waited_by: dict[Job, list[Job]] = {job: [] for job in waits}
    for job, others in waits.items():
        for other in others:
            waited_by[other].append(job)
    left = _without_ends(dict.fromkeys(waits), waits, waited_by)
    return list(_without_ends(left, waited_by, waits))


def _without_ends(
    left: dict[Job, None], follows: Mapping[Job, Iterable[Job]], leads: Mapping[Job, Iterable[Job]]
) -> dict[Job, None]:
    """The jobs that remain after removing, one after the other, each that follows none of the remaining."""
    count = {job: sum(other in left for other in follows[job]) for job in left}
    ends = [job for job, number in count.items() if not number]
    while ends:
        end = ends.pop()
        del left[end]
        for job in leads[end]:
            if job in left:
                count[job] -= 1
                if not count[job]:
                    ends.append(job)
    return left


def _by_action(jobs: Sequence[Job]) -> dict[str, Job]:
    return {job.action: job for job in jobs}


def _dependencies(job: Job, by_action: Mapping[str, Job]) -> list[tuple[str, Job | None]]:
    sources = [job.scope[name] for name in sorted(job.names)]
    return [(action, by_action.get(action)) for action in job.depends_on] + [
        (source.action, source) for source in sources
    ]


_BECAME = {
    NodeState.FAILED: "failed",
    NodeState.DECLINED: "was declined",
    NodeState.SKIPPED: "was skipped",
    NodeState.LOST: "has no result",
}

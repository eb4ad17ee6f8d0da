"""A call in the scheduler's hands, and what the graph of calls says about it. Pure: nothing runs here."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from cogency_tui.protocol.events import CallEvent
from cogency_tui.tools.base import Touch

_RETRIES = 3


class State(Enum):
    """Where a call stands; it leaves `WAITING` and `RUNNING` for one of the others, once."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"

    @property
    def open(self) -> bool:
        return self in (State.WAITING, State.RUNNING)


@dataclass(slots=True, eq=False)
class Job:
    """One call. `names` are the outputs that its arguments stand for; `problem` why it cannot run."""

    call: CallEvent
    tool: str
    record: dict[str, Any]
    started: float
    state: State = State.WAITING
    names: set[str] = field(default_factory=set[str])
    touch: Touch = field(default_factory=Touch)
    problem: str = ""
    in_turn: bool = True
    value: Any = None
    task: asyncio.Task[None] | None = None

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

    def waits_for_earlier(self, jobs: Sequence["Job"]) -> bool:
        """Whether an earlier call is still to touch what this one touches."""
        if not self.in_turn:
            return False
        for earlier in jobs:
            if earlier is self:
                return False
            if earlier.state.open and earlier.touch.conflicts(self.touch):
                return True
        return False


def blocked_by(job: Job, jobs: Sequence[Job], *, complete: bool) -> tuple[list[str], str]:
    """The dependencies that are still to come, and why the job can never run, if it cannot.

    With `complete` no further job comes: a dependency that is not there never will be.
    """
    needed: list[str] = []
    for action, other in _dependencies(job, jobs):
        if other is None:
            if complete:
                return [], f'Skipped: it depends on "{action}", which was never declared'
            needed.append(action)
        elif other.state.open:
            needed.append(action)
        elif other.state is not State.DONE:
            return [], f'Skipped: it depends on "{action}", which {_became(other.state)}'
    return needed, ""


def in_cycles(waiting: Sequence[Job]) -> list[Job]:
    """Those of the waiting jobs that wait for each other, or for one that does."""
    remaining = list(waiting)
    while True:
        free = [job for job in remaining if not any(o in remaining for _, o in _dependencies(job, waiting))]
        if not free:
            return remaining
        remaining = [job for job in remaining if job not in free]


def _dependencies(job: Job, jobs: Sequence[Job]) -> list[tuple[str, Job | None]]:
    by_id = {other.action: other for other in jobs}
    found = [(action, by_id.get(action)) for action in job.depends_on]
    return found + [(other.action, other) for other in jobs if other.output_key in job.names]


def _became(state: State) -> str:
    return "failed" if state is State.FAILED else "was skipped"

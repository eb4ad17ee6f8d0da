"""The order in which the calls of a cycle ask the user: as the model wrote them.

A call whose question is ready lets an earlier one ask first, if that is about to: it is being prepared, or
waits only for such calls and for changes of files, which take no time. It waits for no command and no
sub-agent, which may run for long, and for nothing that waits for a later call; so it never waits in a circle.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import takewhile

from cogency_tui.agent.call_graph import Job, NodeState, blocked_by


class QuestionOrder:
    """Orders the questions of `jobs`, which are in the order in which they were written, from `first` on.

    `expects` returns whether a job that was not planned yet will probably ask.
    """

    def __init__(
        self, jobs: Sequence[Job], by_action: Mapping[str, Job], expects: Callable[[Job], bool]
    ) -> None:
        self._jobs = jobs
        self._first = len(jobs)
        self._by_action = by_action
        self._expects = expects
        self._counted: set[Job] = set()
        self._moved = asyncio.Event()

    def place(self, job: Job) -> "CallPlace":
        """The place of a job among those that ask."""
        return CallPlace(self, job)

    def update(self) -> None:
        """Note that a job has started, has been decided about, or has ended."""
        self._moved.set()
        self._moved = asyncio.Event()

    async def reached(self, job: Job) -> None:
        """Return when no earlier job will ask before this one, which is about to ask."""
        job.asks = True
        self.update()
        while any(self._asks_first(each, job) for each in self._before(job)):
            await self._moved.wait()

    def count(self, job: Job) -> tuple[int, int]:
        """The number of a job's question, and the number of all questions, of those that are known.

        A job that was counted once is counted until the cycle ends, whether it asks after all or fails
        before: no question changes its number.
        """
        asking = self._asking(job)
        return asking.index(job) + 1, len(asking)

    def unasked_before(self, job: Job) -> Sequence[tuple[int, bool]]:
        """The numbers right before that of a job's question of those that have not asked, and whether they
        failed; if not, they may ask later."""
        asking = self._asking(job)
        before = [*enumerate(asking[: asking.index(job)], 1)]
        unasked = [*takewhile(lambda each: not each[1].asks, reversed(before))]
        return [
            (number, each.state is NodeState.FAILED)
            for number, each in reversed(unasked)
            if each.state.open or each.state is NodeState.FAILED
        ]

    def _asking(self, job: Job) -> list[Job]:
        """The jobs that are counted, with this one."""
        jobs = self._jobs[self._first :]
        self._counted.update(each for each in jobs if each is job or self._asks(each))
        return [each for each in jobs if each in self._counted]

    def _asks(self, job: Job) -> bool:
        if job.asks is not None:
            return job.asks
        return job.state.open and self._expects(job)

    def _before(self, job: Job) -> Iterator[Job]:
        for each in self._jobs[self._first :]:
            if each is job:
                return
            yield each

    def _asks_first(self, other: Job, job: Job) -> bool:
        if other.state is NodeState.RUNNING:
            return not other.decided
        if other.state is not NodeState.WAITING or not self._asks(other):
            return False
        known: dict[Job, bool | None] = dict.fromkeys(self._before(job))
        return self._soon(other, known)

    def _soon(self, job: Job, known: dict[Job, bool | None]) -> bool:
        """Return whether a job is about to be ready: it waits for nothing long, and for no job that is not
        `known`. The answers are kept there; one that is asked for meanwhile is no.
        """
        if job not in known:
            return False
        found = known[job]
        if found is None:
            known[job] = False
            known[job] = found = self._is_ready_soon(job, known)
        return found

    def _is_ready_soon(self, job: Job, known: dict[Job, bool | None]) -> bool:
        if job.state is NodeState.RUNNING:
            return not job.decided or job.kind == "edit" or not job.touch.everything
        if job.state is not NodeState.WAITING:
            return True
        needed, _problem = blocked_by(job, self._by_action, complete=False)
        if any(action not in self._by_action for action in needed):
            return False
        blockers = [*(self._by_action[action] for action in needed), *job.before(self._jobs)]
        return all(self._soon(each, known) for each in blockers)


class CallPlace:
    """The place of `job` in an order of questions."""

    def __init__(self, order: QuestionOrder, job: Job) -> None:
        self._order = order
        self._job = job

    async def reached(self) -> None:
        """Return when no call before this one will ask first."""
        await self._order.reached(self._job)

    def count(self) -> tuple[int, int]:
        """The number of its question, and the number of questions."""
        return self._order.count(self._job)

    def unasked_before(self) -> Sequence[tuple[int, bool]]:
        """The numbers right before its own of calls that have not asked, and whether they failed."""
        return self._order.unasked_before(self._job)

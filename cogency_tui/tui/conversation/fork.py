"""Forks of the shown conversation: the stored event that a unit ends with, and the fork up to it."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from cogency_tui.protocol.events import Event
from cogency_tui.safe_text import clean
from cogency_tui.tui.transcript.call_unit import CallUnit
from cogency_tui.tui.transcript.units import (
    Problem,
    Prose,
    Transcript,
    Unit,
    UserMessage,
    is_from_user,
    is_stored,
)

if TYPE_CHECKING:
    from cogency_tui.agent.agent import Agent


@dataclass(frozen=True, slots=True)
class Fork:
    """A new fork: its id, and the number of events that it begins with.

    `ends_step`: these include other calls of a step, beyond the unit that it was forked at. `project` is the
    name of the project that it works in, where the other one works in a scratch copy; else empty.
    """

    id: str
    events: int
    ends_step: bool = False
    project: str = ""

    @property
    def report(self) -> str:
        """The report for the user."""
        where = f"event {self.events:,}{', the end of the step' * self.ends_step}"
        if self.project:
            return f"Forked after {where}, in {self.project}. What the rerun changed is only in its copy."
        return f"Forked after {where}. The original is unchanged."


class Forking:
    """Forks conversations of `agent`."""

    def __init__(self, agent: "Agent") -> None:
        self._agent = agent

    async def fork(
        self, conversation_id: str, transcript: Transcript, unit: int | None = None
    ) -> Fork | None:
        """Create a conversation that equals this one up to the end of `unit`, or all of it; None where
        nothing would be in it. A fork at a message of the user leaves that message out, to be rephrased.

        Raises:
            CogencyError: the store fails, or has no such conversation.
        """
        from cogency_tui.store.forks import Forks

        store = await self._agent.store()
        stored = await store.numbered_events(conversation_id)
        through: int | None = None
        if unit is not None:
            through = last_event(transcript, unit, stored)
            if through is None:
                return None
        known = await store.conversation(conversation_id)
        here, home = str(self._agent.project), self._agent.in_project.project
        leaves = self._agent.rerun_of is not None and known is not None and known.project == here
        # The directory of another agent's or machine's conversation may be none of this machine.
        foreign = known is not None and bool(known.source)
        project = str(home) if leaves else here if foreign else None
        fork = await Forks(store.database).fork(conversation_id, through, project=project)
        begun = [event for number, event in stored if through is None or number <= through]
        ends_step = unit is not None and _ends_step(transcript.units[unit], begun[-1])
        return Fork(fork.id, len(begun), ends_step, home.name if leaves else "")


def last_event(transcript: Transcript, unit: int, stored: Sequence[tuple[int, Event]]) -> int | None:
    """The number of the stored event that unit `unit` ends with: for a message of the user the event
    before it, for parallel calls the last result. None if there is no such event."""
    units = transcript.units
    if isinstance(units[unit], UserMessage):
        return _message(ordinal(units, unit), stored)[0]
    if isinstance(problem := units[unit], Problem) and (failure := _failure(units, unit, problem, stored)):
        return failure
    # Units that are not stored (errors on the way, notices) belong to the unit above them.
    while unit >= 0 and not is_stored(units[unit]):
        unit -= 1
    if unit < 0 or is_from_user(units[unit]):
        return _message(ordinal(units, unit), stored)[1]
    waiting: set[str] = set()
    last: int | None = None
    passed = False
    for number, event in stored:
        if event["type"] == "user":
            if passed:
                return last
            # A call without a result by now was interrupted, and gets none.
            waiting.clear()
        elif event["type"] == "call":
            waiting.add(event["id"])
        elif event["type"] == "result":
            waiting.discard(event["id"])
        last = number
        passed = passed or _ends(units[unit], event)
        if passed and not waiting:
            return number
    return last


def _failure(
    units: Sequence[Unit], unit: int, problem: Problem, stored: Sequence[tuple[int, Event]]
) -> int | None:
    """The number of the stored error that is the unit `problem`; None if it did not end its turn."""
    before = sum(isinstance(each, Problem) and each.error == problem.error for each in units[:unit])
    alike = (number for number, event in stored if _shows(problem, event))
    return next(islice(alike, before, None), None)


def _shows(problem: Problem, event: Event) -> bool:
    return event["type"] == "error" and clean(event["payload"]["error"]) == problem.error


def _ends(unit: Unit, event: Event) -> bool:
    """Return whether `unit` ends with `event`, parallel calls aside."""
    match unit:
        case Prose():
            kind = "think" if unit.thinking else "respond"
            return event["type"] == kind and event["id"] == unit.id
        case CallUnit():
            return event["type"] == "call" and event["id"] == unit.id
        case _:
            return False


def _ends_step(unit: Unit, last: Event) -> bool:
    """Return whether a fork at `unit` ends with the result of another call."""
    return isinstance(unit, Prose | CallUnit) and last["type"] == "result" and last["id"] != unit.id


def ordinal(units: Sequence[Unit], unit: int) -> int:
    """The number of messages and commands of the user up to `unit`."""
    return sum(map(is_from_user, units[: unit + 1]))


def _message(nth: int, stored: Sequence[tuple[int, Event]]) -> tuple[int | None, int | None]:
    """The numbers of the event before the user's `nth` message, from 1, and of the message itself."""
    before: int | None = None
    for number, event in stored:
        nth -= event["type"] == "user"
        if nth <= 0 and event["type"] == "user":
            return before, number
        before = number
    return before, None

"""The checklists of a transcript: between two messages of the user, one for all updates of the plan.

The first update since a message has the lines: it shows the plan after the last one that `units` have, and
changes in place. The other updates have none. Only the last checklist shows its steps; those before it are
one line each.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from cogency_tui.protocol.events import PlannedStep
from cogency_tui.tui.transcript.call_unit import CallUnit, State
from cogency_tui.tui.transcript.units import Unit, UserMessage

_UPDATING: frozenset[State] = frozenset({"writing", "queued", "running", "done"})


class PlanCards:
    """Finds the checklist that each update of the plan among `units` belongs to."""

    def __init__(self, units: Sequence[Unit]) -> None:
        self._units = units
        self._messages: list[int] = []
        self._updates: list[int] = []
        """The calls that update the plan, or are about to."""

    def add(self, index: int) -> None:
        """Take up unit `index`, which is new."""
        if isinstance(self._units[index], UserMessage):
            self._messages.append(index)
        self.update(index)

    def update(self, index: int) -> None:
        """Take up a change of unit `index`."""
        unit, place = self._units[index], bisect_left(self._updates, index)
        known = self._updates[place : place + 1] == [index]
        is_update = isinstance(unit, CallUnit) and unit.is_plan and unit.state in _UPDATING
        if is_update and not known:
            self._updates.insert(place, index)
        elif known and not is_update:
            del self._updates[place]

    def cut(self, count: int) -> None:
        """Remove all but the first `count` units."""
        del self._messages[bisect_left(self._messages, count) :]
        del self._updates[bisect_left(self._updates, count) :]

    def card(self, index: int) -> int | None:
        """The unit with the checklist that update `index` is part of; None for other units."""
        updates = self._with(index)
        return updates[0] if index in updates else None

    def shown_in(self, card: int) -> int:
        """The update whose plan a checklist shows: the last one that has ended."""
        ended = (each for each in reversed(self._with(card)) if self._plan_of(each) is not None)
        return next(ended, card)

    def plan(self, card: int) -> Sequence[PlannedStep] | None:
        """The plan that a checklist shows; None while there is none."""
        return self._plan_of(self.shown_in(card))

    def is_last(self, card: int) -> bool:
        """Return whether no checklist with a plan follows."""
        later = self._updates[bisect_right(self._updates, self._with(card)[-1]) :]
        return all(self._plan_of(each) is None for each in later)

    def beside(self, index: int) -> list[int]:
        """The checklists whose lines may depend on unit `index`: its own, and the one before."""
        own = self.card(index)
        if own is None:
            return []
        place = bisect_left(self._updates, own)
        before = self.card(self._updates[place - 1]) if place else None
        return [each for each in (before, own) if each is not None]

    @property
    def last(self) -> int | None:
        """The last checklist."""
        return self.card(self._updates[-1]) if self._updates else None

    def _with(self, index: int) -> Sequence[int]:
        """The updates between the same two messages as unit `index`."""
        place = bisect_right(self._messages, index)
        start = self._messages[place - 1] if place else 0
        end = self._messages[place] if place < len(self._messages) else len(self._units)
        return self._updates[bisect_left(self._updates, start) : bisect_left(self._updates, end)]

    def _plan_of(self, index: int) -> Sequence[PlannedStep] | None:
        unit = self._units[index]
        return unit.plan if isinstance(unit, CallUnit) else None

"""The units of a transcript that take no lines: short thoughts, all but the first of a run, and updates of a
checklist that is above.

A run are two or more calls in a row that only read, and that have not failed: while it is closed, its first
unit shows one line for all of them. A thought between two of them that is not shown does not part them.
"""

from collections.abc import Sequence
from itertools import takewhile
from typing import Literal

from cogency_tui.tui.transcript.call_unit import CallUnit, State
from cogency_tui.tui.transcript.plan_cards import PlanCards
from cogency_tui.tui.transcript.units import Prose, TurnEnd, Unit

SHORTEST_THOUGHT = 1.0
"""Seconds below which a thought is not shown."""

_QUIET: frozenset[State] = frozenset({"writing", "queued", "running", "done"})

Part = Literal["hidden", "joins", "stands"]
"""The part of a unit: `joins` a run if there is one, or `stands` by itself."""


class Folding:
    """The runs among `units`. Those in `expanded` are shown in full, and so is a run that has one."""

    def __init__(self, units: Sequence[Unit], expanded: set[int]) -> None:
        self._units = units
        self._expanded = expanded
        self._parts: list[Part] = []
        self._runs: dict[int, list[int]] = {}
        """The calls of each run, by the first."""
        self._heads: dict[int, int] = {}
        """The first call of the run that a call is in."""
        self._opened: set[int] = set()
        """The runs that the user has opened, by their first call."""
        self._unfolded: set[int] = set()
        """The runs with an expanded call."""
        self.plans = PlanCards(units)
        self.extend()

    def extend(self) -> range:
        """Add the units that are new; return all units that now take other lines."""
        first = changed = len(self._parts)
        for index in range(first, len(self._units)):
            self.plans.add(index)
            self._parts.append(self._part(index))
            changed = min(changed, self._join(index))
        return range(changed, len(self._parts))

    def update(self, index: int) -> range:
        """Take up a change of unit `index`; return the units that now take other lines."""
        card = self.plans.card(index)
        self.plans.update(index)
        if card == index != self.plans.card(index):
            # The next update has the checklist now, since this one failed.
            return self._update_all(index, len(self._parts))
        part = self._part(index)
        if part != self._parts[index]:
            self._parts[index] = part
            return self._arrange(index, index + 1)
        head = self._heads.get(index)
        return range(head, self._runs[head][-1] + 1) if head is not None and self._unfold(head) else range(0)

    def _update_all(self, first: int, last: int) -> range:
        for index in range(first, last):
            self._parts[index] = self._part(index)
        return self._arrange(first, last)

    def cut(self, count: int) -> range:
        """Remove all but the first `count` units; return those that now take other lines."""
        self._forget(range(count, len(self._parts)))
        self.plans.cut(count)
        del self._parts[count:]
        return self._arrange(count, count)

    def run(self, index: int) -> Sequence[int]:
        """The calls of the run that begins with unit `index`; none if none does."""
        return self._runs.get(index, ())

    def is_open(self, head: int) -> bool:
        """Return whether the calls of the run that begins with `head` are shown."""
        return head in self._opened or head in self._unfolded

    def is_gone(self, index: int) -> bool:
        """Return whether unit `index` takes no lines."""
        if self._parts[index] == "hidden":
            return True
        head = self._heads.get(index, index)
        return head != index and not self.is_open(head)

    def is_within(self, index: int) -> bool:
        """Return whether unit `index` is shown as one of an open run."""
        return index in self._heads and self.is_open(self._heads[index])

    def shown_by(self, index: int) -> int:
        """The unit whose lines represent unit `index`."""
        card = self.plans.card(index)
        if card is not None:
            return card if self._parts[index] == "hidden" else index
        return self._run_of(index)

    def _run_of(self, index: int) -> int:
        """The first call of the closed run that unit `index` is in; itself if it is in none."""
        head = self._heads.get(index, index)
        return index if head == index or self.is_open(head) else head

    def skip(self, index: int, step: int) -> int:
        """The next unit from `index` on with lines, or with `step` -1 up to it; the first past either end."""
        while 0 <= index < len(self._parts) and self.is_gone(index):
            run = self._runs[self._heads[index]] if index in self._heads else (index,)
            index = run[-1] + 1 if step > 0 else run[0] - (len(run) == 1)
        return index

    def before(self, index: int) -> int | None:
        """The unit shown above unit `index`."""
        above = self._above(index)
        return None if above < 0 else self.shown_by(above)

    def toggle(self, head: int) -> range:
        """Open or close a run; return the units that now take other lines."""
        run = self._runs[head]
        if self.is_open(head):
            self._opened.discard(head)
            self._unfolded.discard(head)
            self._expanded.difference_update(run)
        else:
            self._opened.add(head)
        return range(head, run[-1] + 1)

    def open_around(self, index: int) -> range:
        """Open the run that unit `index` is in; return the units that now take other lines."""
        head = self._run_of(index)
        return range(0) if head == index else self.toggle(head)

    def _part(self, index: int) -> Part:
        unit = self._units[index]
        if isinstance(unit, CallUnit):
            if self.plans.card(index) not in (None, index) and index not in self._expanded:
                return "hidden"
            return "joins" if unit.state in _QUIET and unit.tally is not None else "stands"
        if index in self._expanded:
            return "stands"
        if isinstance(unit, Prose) and unit.thinking:
            return "hidden" if unit.open or unit.ended - unit.started < SHORTEST_THOUGHT else "stands"
        return "hidden" if isinstance(unit, TurnEnd) and unit.is_empty else "stands"

    def _above(self, index: int) -> int:
        """The last unit above that is not hidden by itself; -1 if there is none."""
        above = index - 1
        while above >= 0 and self._parts[above] == "hidden":
            above -= 1
        return above

    def _arrange(self, first: int, last: int) -> range:
        """Find the runs around the units from `first` to before `last`; return all units concerned."""
        parts = self._parts
        before = takewhile(lambda index: parts[index] != "stands", range(first - 1, -1, -1))
        after = takewhile(lambda index: parts[index] != "stands", range(last, len(parts)))
        concerned = range(min(before, default=first), max(after, default=last - 1) + 1)
        opened = {index for index in concerned if self._heads.get(index) in self._opened}
        self._forget(concerned)
        for index in concerned:
            self._join(index)
        self._opened.update(head for index in opened if (head := self._heads.get(index)) is not None)
        return concerned

    def _join(self, index: int) -> int:
        """Add a unit to the run that it continues, if it joins one; return the first unit concerned."""
        above = self._above(index) if self._parts[index] == "joins" else -1
        if above < 0 or self._parts[above] != "joins":
            return index
        head = self._heads.setdefault(above, above)
        self._heads[index] = head
        run = self._runs.setdefault(head, [head])
        run.append(index)
        if head in self._expanded or index in self._expanded:
            self._unfolded.add(head)
        return index if len(run) > 2 else head

    def _unfold(self, head: int) -> bool:
        """Open the run that begins with `head` while one of its calls is expanded; return whether that is
        a change."""
        was_open = head in self._unfolded
        if not (self._expanded or was_open):
            return False
        if self._expanded.isdisjoint(self._runs[head]):
            self._unfolded.discard(head)
        else:
            self._unfolded.add(head)
        return was_open != (head in self._unfolded)

    def _forget(self, concerned: range) -> None:
        for index in concerned:
            self._heads.pop(index, None)
            self._runs.pop(index, None)
            self._opened.discard(index)
            self._unfolded.discard(index)

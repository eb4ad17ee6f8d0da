"""The model of a timeline: points, requests, edits and figures, each in its place. Pure.

Invariant: everything is placed once, when it is read; queries about a point are lookups, not computations.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from cogency_tui.protocol.events import Event, Measure, begins_turn
from cogency_tui.protocol.messages import Message, ToolSpec
from cogency_tui.store.edit_records import Edit, FileChange, Version
from cogency_tui.store.requests import Request
from cogency_tui.store.store import StoredConversation


@dataclass(frozen=True, slots=True)
class Point:
    """One stored event. `events` ends with it; for the result of a call, its sub-agents' events up to then
    come first. `turn` counts from 1; it is 0 before the first.
    """

    number: int
    turn: int
    events: tuple[Event, ...]

    @property
    def event(self) -> Event:
        return self.events[-1]


@dataclass(frozen=True, slots=True)
class Asked:
    """A request, its `turn`, and the number of the `cycle` in the turn that it began, both from 1.

    `recorded`: the request was stored when it was sent; otherwise it is derived from the events.
    """

    request: Request
    turn: int
    cycle: int
    recorded: bool


@dataclass(frozen=True, slots=True)
class Placed:
    """An edit, and the index of the first point at which it was made."""

    at: int
    edit: Edit


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of one cycle, summary or question, and when they became known, in Unix seconds."""

    moment: float
    measure: Measure


@dataclass(frozen=True, slots=True)
class Exchange:
    """The messages that the model had in a cycle, in all `messages`; those before `fresh` were in its
    session.

    `asked` is None if no request was sent yet: then it is the next request. `parts` are those of the system
    prompt, `environments` the blocks that messages begin with. `remarks` describe what is uncertain. `tools`
    are those that were sent beside the messages.
    """

    asked: Asked | None
    messages: Sequence[Message]
    fresh: int
    parts: tuple[tuple[str, str], ...]
    environments: tuple[str, ...]
    remarks: tuple[str, ...]
    tools: tuple[ToolSpec, ...] = ()


@dataclass(frozen=True, slots=True)
class PastFile:
    """A file as it was `then`. `change` is its total change by then, None if it was not touched yet;
    `path_today` is its current path, as far as edits show, and `edits` are those that had changed it. The
    mode of `then` is only assumed if the conversation `is_foreign`: other agents do not record it.
    """

    path: str
    then: Version
    path_today: str
    change: FileChange | None
    edits: tuple[Edit, ...]
    is_foreign: bool = False

    def compared_to(self, now: Version) -> Version:
        """Return `then`, to be compared to the present version."""
        is_assumed = self.is_foreign and self.then.kind == now.kind
        return replace(self.then, mode=now.mode) if is_assumed else self.then


@dataclass(frozen=True, slots=True)
class UsageUpTo:
    """The figures up to a point: of the conversation, of its sub-agents, and from before it was forked.

    `step` has the figures of the point's cycle, once that is over.
    """

    own: list[Measure]
    delegated: list[Measure]
    inherited: list[Measure]
    step: Measure | None


@dataclass(frozen=True)
class Past:
    """The known history of a conversation.

    `asked` and `edits` are in the order of their places; `here`: it is about the open project; `shared` are
    the points that it has from the conversation that it was forked from.
    """

    conversation: StoredConversation
    points: Sequence[Point]
    asked: Sequence[Asked]
    edits: Sequence[Placed]
    own: Sequence[Figures]
    delegated: Sequence[Figures]
    inherited: Sequence[Figures]
    here: bool
    shared: int
    _through: list[int] = field(init=False)
    _placed: list[int] = field(init=False)
    turn_starts: Sequence[int] = field(init=False)
    """The indices of the points at which turns begin."""

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "_through", [asked.request.through for asked in self.asked])
        put(self, "_placed", [each.at for each in self.edits])
        starts = [index for index, point in enumerate(self.points) if begins_turn(point.event)]
        put(self, "turn_starts", starts)

    @property
    def turns(self) -> int:
        return len(self.turn_starts)

    def turn_begins(self, index: int, step: int) -> int:
        """The index at which the next turn begins; with -1 that of the one before, or of this turn."""
        starts = self.turn_starts
        if step > 0:
            place = bisect_right(starts, index)
            return starts[place] if place < len(starts) else len(self.points) - 1
        place = bisect_left(starts, index) - 1
        return starts[place] if place >= 0 else 0

    def index_of(self, number: int) -> int:
        """The index of the point whose event has this number, or of the last one before."""
        return max(0, bisect_right([point.number for point in self.points], number) - 1)

    def asked_at(self, index: int) -> Asked | None:
        """The request that a point belongs to: for a user message the first that includes it, else the last
        that was made before; None if it is still to come.
        """
        place = self._asked_place(index)
        return self.asked[place] if place < len(self.asked) else None

    def edits_until(self, index: int) -> list[Edit]:
        """The edits that were made by then, oldest first."""
        return [each.edit for each in self.edits[: bisect_right(self._placed, index)]]

    def edits_after(self, index: int) -> list[Edit]:
        """The edits that were made later, oldest first."""
        return [each.edit for each in self.edits[bisect_right(self._placed, index) :]]

    def edits_since(self, index: int) -> list[Edit]:
        """The edits that were made since the user sent the message at a point, oldest first.

        An edit is also at a point if no later one followed it.
        """
        sent = self.points[index].event["timestamp"]
        return [
            each.edit
            for each in self.edits
            if each.at > index or (each.at == index and each.edit.timestamp > sent)
        ]

    def until(self, index: int) -> float:
        """The moment, in Unix seconds, from which on figures belong to a later cycle than the point's."""
        place = self._asked_place(index) + (not self._is_message(index))
        return self.asked[place].request.timestamp if place < len(self.asked) else float("inf")

    def spent_at(self, index: int) -> UsageUpTo:
        """The figures by then; a cycle counts in full from its first point."""
        until = self.until(index)
        taken = [
            [each.measure for each in figures if each.moment < until]
            for figures in (self.own, self.delegated, self.inherited)
        ]
        return UsageUpTo(*taken, step=self._step(index, until))

    def _step(self, index: int, until: float) -> Measure | None:
        asked = None if self._is_message(index) else self.asked_at(index)
        if asked is None:
            return None
        figures = self.inherited if index < self.shared else self.own
        since = asked.request.timestamp
        found = [each.measure for each in figures if since <= each.moment < until and "mode" in each.measure]
        return found[-1] if found else None

    def _asked_place(self, index: int) -> int:
        number = self.points[index].number
        if self._is_message(index):
            return bisect_left(self._through, number)
        return max(0, bisect_left(self._through, number) - 1)

    def _is_message(self, index: int) -> bool:
        return self.points[index].event["type"] == "user"

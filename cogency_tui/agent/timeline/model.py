"""What a timeline consists of: points, requests, edits and figures, each in its place. Pure.

Invariant: everything is placed once, when it is read; a point is then looked up, not worked out again.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

from cogency_tui.protocol.events import Event, Measure, Message
from cogency_tui.store.conversations import Conversation
from cogency_tui.store.requests import Request
from cogency_tui.store.versions import Edit, FileChange, Version


@dataclass(frozen=True, slots=True)
class Point:
    """One stored event. `events` is it, after what its sub-agents did until then where it is the result of
    their call; `turn` counts the person's messages from 1."""

    number: int
    turn: int
    events: tuple[Event, ...]

    @property
    def event(self) -> Event:
        return self.events[-1]


@dataclass(frozen=True, slots=True)
class Asked:
    """A request, the `turn` that it belongs to and which `cycle` of that it began, both from 1.

    `recorded` says that it was kept what was sent; else it is worked out from the events.
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
    """What one cycle, summary or question took, and when it was known, in Unix seconds."""

    moment: float
    measure: Measure


@dataclass(frozen=True, slots=True)
class Exchange:
    """What the model was sent in a cycle, in all `messages`; those before `fresh` it had in its session.

    `asked` is None where nothing was sent yet: then it is what would be. `parts` are those of the system
    prompt, `environments` the blocks that messages begin with. `remarks` say what is not certain.
    """

    asked: Asked | None
    messages: Sequence[Message]
    fresh: int
    parts: tuple[tuple[str, str], ...]
    environments: tuple[str, ...]
    remarks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PastFile:
    """A file as it was `then`. `change` is what it had come to by then, None where it was not touched yet;
    `path_today` is where it is now, as far as edits say, and `edits` those that had changed it."""

    path: str
    then: Version
    path_today: str
    change: FileChange | None
    edits: tuple[Edit, ...]


@dataclass(frozen=True, slots=True)
class Spent:
    """What was taken up to a point: by the conversation, by its sub-agents, and before it was forked.

    `step` are the figures of the cycle that the point belongs to, once it was over.
    """

    own: list[Measure]
    delegated: list[Measure]
    inherited: list[Measure]
    step: Measure | None


@dataclass(frozen=True)
class Past:
    """All that is known of a conversation over time.

    `asked` and `edits` stand in the order of their places; `here` says whether it is about the project that
    is open; `shared` are the points that it has from the conversation that it was forked from.
    """

    conversation: Conversation
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
    _users: list[int] = field(init=False)

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "_through", [asked.request.through for asked in self.asked])
        put(self, "_placed", [each.at for each in self.edits])
        users = [index for index, point in enumerate(self.points) if point.event["type"] == "user"]
        put(self, "_users", users)

    @property
    def turns(self) -> int:
        return len(self._users)

    def turn_begins(self, index: int, step: int) -> int:
        """The index of the next message of the person's; with -1 that of the one before, or of this turn."""
        if step > 0:
            place = bisect_right(self._users, index)
            return self._users[place] if place < len(self._users) else len(self.points) - 1
        place = bisect_left(self._users, index) - 1
        return self._users[place] if place >= 0 else 0

    def index_of(self, number: int) -> int:
        """The index of the point whose event has this number, or of the last one before."""
        return max(0, bisect_right([point.number for point in self.points], number) - 1)

    def asked_at(self, index: int) -> Asked | None:
        """The request that the point belongs to: for what the person said the first that has it, else the
        last that was made before; None where it is still to come."""
        place = self._asked_place(index)
        return self.asked[place] if place < len(self.asked) else None

    def edits_until(self, index: int) -> list[Edit]:
        """The edits that were made by then, the oldest first."""
        return [each.edit for each in self.edits[: bisect_right(self._placed, index)]]

    def edits_after(self, index: int) -> list[Edit]:
        """The edits that were made later, the oldest first."""
        return [each.edit for each in self.edits[bisect_right(self._placed, index) :]]

    def until(self, index: int) -> float:
        """The moment, in Unix seconds, from which on figures are of a later cycle than that of the point."""
        place = self._asked_place(index) + (not self._said_by_person(index))
        return self.asked[place].request.timestamp if place < len(self.asked) else float("inf")

    def spent_at(self, index: int) -> Spent:
        """What was taken by then; of a cycle all, as soon as anything of it is there."""
        until = self.until(index)
        taken = [
            [each.measure for each in figures if each.moment < until]
            for figures in (self.own, self.delegated, self.inherited)
        ]
        return Spent(*taken, step=self._step(index, until))

    def _step(self, index: int, until: float) -> Measure | None:
        asked = None if self._said_by_person(index) else self.asked_at(index)
        if asked is None:
            return None
        figures = self.inherited if index < self.shared else self.own
        since = asked.request.timestamp
        found = [each.measure for each in figures if since <= each.moment < until and "mode" in each.measure]
        return found[-1] if found else None

    def _asked_place(self, index: int) -> int:
        number = self.points[index].number
        if self._said_by_person(index):
            return bisect_left(self._through, number)
        return max(0, bisect_left(self._through, number) - 1)

    def _said_by_person(self, index: int) -> bool:
        return self.points[index].event["type"] == "user"

"""The messages of a conversation as it grows: each event is read and rendered once, not for each request.

What is held is what `messages_of` makes of all events, for they are rendered in parts that nothing after them
changes: up to a message of the user's, or up to a cycle before which every call has its result. An event that
belongs to an earlier part after all is reported; then all is rendered again, as one part.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from cogency_tui.agent.context import as_given
from cogency_tui.config import Dialect
from cogency_tui.protocol import render
from cogency_tui.protocol.events import Event, Message, UserEvent


class Way(NamedTuple):
    """Which events are rendered, those above the number `since`, and how."""

    since: int
    dialect: Dialect
    output_limit: int


class MessageLog:
    """Renders one conversation for one model after the other."""

    def __init__(self) -> None:
        self._way = Way(0, "xml", 0)
        self.restart()

    def restart(self, *, in_parts: bool = True) -> None:
        """Forget all events."""
        self.through = self._way.since
        """The number of the last event that is in it."""
        self.asked: list[UserEvent] = []
        """The user's messages."""
        self._in_parts = in_parts
        self._done: list[Message] = []
        self._ids: set[str] = set()
        self._begin_part()

    def follow(self, way: Way) -> None:
        """Go on rendering this way; begin again where it was another before."""
        if way != self._way:
            self._way = way
            self.restart()

    def add(self, numbered: Iterable[tuple[int, Event]]) -> bool:
        """Take in the events after `through`; False where one changes what is rendered already."""
        for number, event in numbered:
            if self._in_parts and self._begins_part(event):
                self._done += self._rendered()
                self._ids |= self._part_ids
                self._begin_part()
            if not self._take(event):
                return False
            self.through = number
        return True

    def messages(self) -> list[Message]:
        """All of them."""
        return [*self._done, *self._rendered()]

    def _begin_part(self) -> None:
        self._part: list[Event] = []
        self._part_ids: set[str] = set()
        self._unanswered: set[str] = set()
        self._cycle: str | None = None

    def _rendered(self) -> Sequence[Message]:
        return render(self._part, self._way.dialect)

    def _begins_part(self, event: Event) -> bool:
        if event["type"] == "user":
            return True
        cycle = _cycle(event)
        return not self._unanswered and None not in (cycle, self._cycle) and cycle != self._cycle

    def _take(self, event: Event) -> bool:
        id = _call_of(event)
        if id in self._ids:
            return False
        if id:
            self._part_ids.add(id)
            (self._unanswered.discard if event["type"] == "result" else self._unanswered.add)(id)
        self._cycle = _cycle(event) or self._cycle
        self._part.append(as_given(event, self._way.output_limit))
        if event["type"] == "user":
            self.asked.append(event)
        return True


def _call_of(event: Event) -> str:
    """The id of the call that an event is part of, if it is one's."""
    if event["type"] == "call" or event["type"] == "result":
        return event["id"]
    return event.get("malformed", "") if event["type"] == "respond" else ""


def _cycle(event: Event) -> str | None:
    """The cycle in which the model wrote an event; a result is written where it has the text of its call."""
    if event["type"] == "result" and "raw" not in event["payload"]:
        return None
    written = event["type"] in ("think", "call", "respond", "result")
    return event.get("cycle") if written else None

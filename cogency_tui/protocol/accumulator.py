"""Accumulates deltas to complete units. A pure function of its events.

The units in a consumer's deltas and in the store are the same, each whole, in the same order.
"""

from collections.abc import Iterator

from cogency_tui.protocol.events import Event, RespondEvent, ThinkEvent


class Accumulator:
    """Joins the deltas of a unit; passes every other complete event on, after the open unit.

    Only a result does not end the open unit: in the action dialect it comes whenever its call is done, even
    in the middle of a sentence. It is emitted before the unit that it came into. The text of the open unit is
    stored once: no delta but the first outlives its addition.
    """

    def __init__(self) -> None:
        self._first: ThinkEvent | RespondEvent | None = None
        # Bytes, since a list or a StringIO would hold an object for each delta.
        self._text = bytearray()

    @property
    def is_open(self) -> bool:
        """True if a unit is open."""
        return self._first is not None

    def add(self, event: Event) -> Iterator[Event]:
        """Yield the units that this event completes, itself included where it is complete."""
        if event["type"] == "think" or event["type"] == "respond":
            if self._first is not None and self._first["id"] != event["id"]:
                yield from self.close()
            if self._first is None:
                self._first = event
            self._text += event["content"].encode("utf-8", "surrogatepass")
            return
        if event.get("partial"):
            return
        if event["type"] != "result":
            yield from self.close()
        yield event

    def close(self) -> Iterator[Event]:
        """Yield the open unit, if any: nothing more will be added to it."""
        if self._first is not None:
            unit = self._first.copy()
            unit["content"] = self._text.decode("utf-8", "surrogatepass")
            self._first = None
            self._text.clear()
            yield unit

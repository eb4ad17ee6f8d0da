"""The sources of untrusted content: the origins of text in a conversation that is neither the user's nor
the project's.

A result carries the sources of its content, so that they need not be guessed from the call later.
"""

from collections.abc import Mapping
from typing import Any, cast

import msgspec

from cogency_tui.protocol.events import ResultPayload, UserEvent


class Sources(msgspec.Struct, frozen=True):
    """Names in the order of reading: `certain` ones, and `possible` ones, where nothing prevented reading
    untrusted content."""

    certain: tuple[str, ...] = ()
    possible: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.certain or self.possible)

    def __or__(self, other: "Sources") -> "Sources":
        return Sources(_merged(self.certain, other.certain), _merged(self.possible, other.possible))

    def record(self, event: ResultPayload | UserEvent) -> None:
        """Write the names into an event to store."""
        event["sources"] = list(self.certain)
        if self.possible:
            event["possible_sources"] = list(self.possible)


NONE = Sources()


def recorded(event: Mapping[str, Any]) -> Sources | None:
    """Return the sources in a stored event; None where an older version stored it without any."""
    if "sources" not in event:
        return None
    return Sources(_names(event["sources"]), _names(event.get("possible_sources")))


def _merged(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*one, *other)))


def _names(stored: object) -> tuple[str, ...]:
    if not isinstance(stored, list):
        return ()
    return tuple(name for name in cast("list[object]", stored) if isinstance(name, str))

"""The numbers of an answer's events: which event has come before, and whether a piece of text is missing.

The vendor counts all events of an answer by one, from 0. Compatible servers may count from elsewhere, leave
numbers out, or count each item or part anew; proxies leave out events of kinds that they do not know. Whether
a server counts by one is seen from the numbers themselves, and only a gap within a text says that some of it
is missing.
"""

from collections.abc import Hashable, Mapping
from typing import Any

from cogency_tui.errors import NetworkError
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.wire import count_of

_REMEMBERED = 64
"""Events that are remembered by their numbers: one that comes twice comes soon after."""

_PROVEN = 2
"""Steps by one in a row by which a server is known to count by one."""


class EventNumbers:
    """Follows the `sequence_number` of one answer's events."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._recent: dict[int, Mapping[str, Any]] | None = {}
        self._steps = 0
        """Events in a row whose number was one more than that before."""
        self._text: Hashable = None

    def is_new(self, event: Mapping[str, Any], text: Hashable = None) -> bool:
        """Whether an event has not come before; `text` names the text that it goes on with or ends.

        Those without a number are new, and all are once a number has been used for another.

        Raises:
            NetworkError: events of this text are missing before it.
        """
        number = count_of(event.get("sequence_number"))
        if number is None or self._recent is None:
            self._steps = 0
            return True
        last = max(self._recent, default=None)
        if last is None or number > last:
            self._check_step(0 if last is None else number - last, text)
            self._recent[number] = event
            if len(self._recent) > _REMEMBERED:
                del self._recent[next(iter(self._recent))]
            return True
        if self._recent.get(number) == event:
            return False
        self._recent = None
        return True

    def _check_step(self, step: int, text: Hashable) -> None:
        goes_on, self._text = text is not None and text == self._text, text
        if step == 1:
            self._steps += 1
            return
        if goes_on and self._steps >= _PROVEN:
            raise NetworkError(
                f"{self._endpoint.name} lost a part of its answer on the way.",
                "What came before it is kept; try again.",
            )
        self._steps = 0

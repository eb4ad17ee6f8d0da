"""What a summary has replaced in the model's context, and what one would replace: each part with its fate.

All of it is derived from the store: the events, the summaries and the pins.
"""

from bisect import bisect_right
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Literal, NamedTuple

from cogency_tui.agent.request_messages import capped
from cogency_tui.protocol.events import (
    CompactionFigures,
    ErrorEvent,
    Event,
    ResultEvent,
    begins_turn,
    notice_event,
)
from cogency_tui.protocol.transcript import user_message
from cogency_tui.store.summaries import Summary

Fate = Literal["verbatim", "summarized", "dropped"]
"""`verbatim`: the context has it still; `summarized`: the model that wrote the summary had it; `dropped`: not
even that."""

FATES: tuple[Fate, ...] = ("verbatim", "summarized", "dropped")


@dataclass(frozen=True, slots=True)
class Part:
    """A message, a text of the model or a call with its result: the number of its event, its estimated
    tokens, and its fate.

    `nth` counts the user's messages and commands up to it. `omitted` are the characters that the context
    lacks of a verbatim part, and that the model that wrote the summary was not sent of a summarized one.
    """

    number: int
    event: Event
    result: ResultEvent | None
    nth: int
    tokens: int
    fate: Fate
    pinned: bool = False
    omitted: int = 0


@dataclass(frozen=True, slots=True)
class Compaction:
    """A summary with the parts that were in the context until then."""

    summary: Summary
    parts: Sequence[Part]


@dataclass(frozen=True, slots=True)
class CompactionPlan:
    """What a summary would replace now, and the tokens of the context before and after it (estimated)."""

    parts: Sequence[Part]
    before: int
    after: int


class _Row(NamedTuple):
    """What a part is made of."""

    number: int
    event: Event
    result: ResultEvent | None
    nth: int


class Fates:
    """Finds the fates of parts: those that are `pinned` stay verbatim, and with `keeps_messages` the user's
    messages, without as many characters as `cut` has for their numbers. `tokens` estimates the tokens of a
    number of characters and of those of images, `images` has the latter of an event; `limit` is the most
    characters of a result."""

    def __init__(
        self,
        pinned: Collection[int],
        cut: Mapping[int, int],
        tokens: Callable[[int, int], int],
        images: Callable[[Event], int],
        limit: int,
        *,
        keeps_messages: bool,
    ) -> None:
        self._pinned = pinned
        self._cut = cut
        self._tokens = tokens
        self._images = images
        self._limit = limit
        self._keeps_messages = keeps_messages

    def compactions(
        self, summaries: Sequence[Summary], events: Sequence[tuple[int, Event]]
    ) -> list[Compaction]:
        """The compactions that `summaries` are, the newest first; `events` are all those of the
        conversation."""
        rows, start = _rows(events), 0
        found: list[Compaction] = []
        for each in summaries:
            end = bisect_right(rows, each.through, key=attrgetter("number"))
            parts = [self._part(row, each.unread, each.result_limit) for row in rows[start:end]]
            found.append(Compaction(each, parts))
            start = max(start, end)
        return found[::-1]

    def parts(self, events: Sequence[tuple[int, Event]], since: int, unread: int) -> list[Part]:
        """The parts after the event numbered `since`, of which the model that writes a summary is not sent
        those up to the one numbered `unread`."""
        return [self._part(row, unread, 0) for row in _rows(events) if row.number > since]

    def _part(self, row: _Row, unread: int, result_limit: int) -> Part:
        number, event, result, nth = row
        both = (event, result) if result else (event,)
        size = sum(length_of(each, self._limit) for each in both)
        tokens = self._tokens(size, sum(map(self._images, both)))
        pinned = number in self._pinned
        is_verbatim = pinned or (self._keeps_messages and begins_turn(event))
        fate: Fate = "verbatim" if is_verbatim else "dropped" if number <= unread else "summarized"
        omitted = self._cut.get(number, 0) if is_verbatim else _omitted(result, result_limit)
        return Part(number, event, result, nth, tokens, fate, pinned, omitted)


def _rows(events: Sequence[tuple[int, Event]]) -> list[_Row]:
    """The parts of a conversation: a result is part of its call."""
    results = {event["id"]: event for _number, event in events if event["type"] == "result"}
    calls = {event["id"] for _number, event in events if event["type"] == "call"}
    rows: list[_Row] = []
    nth = 0
    for number, event in events:
        nth += event["type"] == "user"
        if event["type"] == "call":
            rows.append(_Row(number, event, results.get(event["id"]), nth))
        elif event["type"] != "error" and (event["type"] != "result" or event["id"] not in calls):
            rows.append(_Row(number, event, None, nth))
    return rows


def length_of(event: Event, limit: int) -> int:
    """The characters of an event in the context; of a result at most about `limit`."""
    if event["type"] == "result":
        return len(str(capped(event, limit)["payload"]))
    if event["type"] == "user":
        return len(user_message(event))
    return len(event.get("content", ""))


def _omitted(result: ResultEvent | None, limit: int) -> int:
    """The characters of a result above a limit, if there is one."""
    if result is None or not limit:
        return 0
    return max(0, len(str(result["payload"]["content"])) - limit)


def figures_of(summary: Summary, messages: int) -> CompactionFigures:
    """The figures of a summary that replaced a number of messages and calls."""
    return CompactionFigures(
        summary=summary.id, messages=messages, before=summary.tokens_before, after=summary.tokens_after
    )


def compaction_event(figures: CompactionFigures, timestamp: float) -> ErrorEvent:
    """The notice that a summary was made."""
    event = notice_event(f"{describe_compaction(figures)} Details: /context", timestamp)
    event["payload"]["compaction"] = figures
    return event


def describe_compaction(figures: CompactionFigures) -> str:
    """The effect of a summary in a sentence."""
    count = figures["messages"]
    return (
        f"Summarized {count:,} {'message' if count == 1 else 'messages'}: "
        f"~{figures['before']:,} → ~{figures['after']:,} tokens."
    )


async def with_compactions(
    pages: AsyncIterable[Sequence[Event]], covered: Sequence[tuple[Summary, int]]
) -> AsyncGenerator[list[Event]]:
    """Add the notice of each summary to stored events, where it was made: `covered` has the summaries, the
    oldest first, with the messages and calls that they replaced."""
    left = deque(covered)
    async for page in pages:
        yield [each for event in page for each in (*_made_before(event, left), event)]
    if left:
        yield [_end(left[0][0].created), *(_notice(*each) for each in left)]


def _made_before(event: Event, left: deque[tuple[Summary, int]]) -> Iterator[Event]:
    # Figures are no stored events: their time is that of the end of a cycle.
    if event["type"] == "metric" or not left or left[0][0].created > event["timestamp"]:
        return
    if event["type"] == "user":
        # The summary was not made by a turn, but after it.
        yield _end(left[0][0].created)
    while left and left[0][0].created <= event["timestamp"]:
        yield _notice(*left.popleft())


def _end(timestamp: float) -> Event:
    return {"type": "end", "timestamp": timestamp}


def _notice(summary: Summary, messages: int) -> Event:
    return compaction_event(figures_of(summary, messages), summary.created)

"""What a summary has replaced in the model's context, and what one would replace: each part with its fate.

All of it is derived from the store: the events, the summaries and the pins.
"""

from collections import deque
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

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

Fate = Literal["kept", "summarized", "dropped"]
"""`kept` verbatim; `summarized`: the model that wrote the summary had it; `dropped`: not even that."""

FATES: tuple[Fate, ...] = ("kept", "summarized", "dropped")


@dataclass(frozen=True, slots=True)
class Part:
    """A message, a text of the model or a call with its result: the number of its event, its estimated
    tokens, and its fate.

    `nth` counts the user's messages and commands up to it. `omitted` are the characters of the result that
    the model that wrote the summary was not sent.
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


class Fates:
    """Finds the fates of parts: those that are `pinned` are kept, and with `keeps_messages` the user's
    messages. `tokens` estimates the tokens of a number of characters, `limit` is the most of a result."""

    def __init__(
        self, pinned: Collection[int], tokens: Callable[[int], int], limit: int, *, keeps_messages: bool
    ) -> None:
        self._pinned = pinned
        self._tokens = tokens
        self._limit = limit
        self._keeps_messages = keeps_messages

    def compactions(
        self, summaries: Sequence[Summary], events: Sequence[tuple[int, Event]]
    ) -> list[Compaction]:
        """The compactions that `summaries` are, the newest first; `events` are all those of the
        conversation."""
        found: list[Compaction] = []
        since = 0
        for summary in summaries:
            found.append(Compaction(summary, [*self.parts(events, since, summary)]))
            since = summary.through
        return found[::-1]

    def parts(
        self, events: Sequence[tuple[int, Event]], since: int, summary: Summary | None = None
    ) -> Iterator[Part]:
        """The parts after the event numbered `since`, up to the last that the summary replaces, if any."""
        results = {event["id"]: event for _number, event in events if event["type"] == "result"}
        calls = {event["id"] for _number, event in events if event["type"] == "call"}
        nth = 0
        for number, event in events:
            nth += event["type"] == "user"
            is_covered = since < number <= (summary.through if summary else number)
            if is_covered and not (event["type"] == "result" and event["id"] in calls):
                result = results.get(event["id"]) if event["type"] == "call" else None
                yield self._part(number, event, result, nth, summary)

    def _part(
        self, number: int, event: Event, result: ResultEvent | None, nth: int, summary: Summary | None
    ) -> Part:
        size = length_of(event, self._limit) + (length_of(result, self._limit) if result else 0)
        pinned = number in self._pinned
        kept = pinned or (self._keeps_messages and begins_turn(event))
        unread = summary.unread if summary else 0
        fate: Fate = "kept" if kept else "dropped" if number <= unread else "summarized"
        omitted = _omitted(result, summary) if fate == "summarized" else 0
        return Part(number, event, result, nth, self._tokens(size), fate, pinned, omitted)


def length_of(event: Event, limit: int) -> int:
    """The characters of an event in the context; of a result at most about `limit`."""
    if event["type"] == "result":
        return len(str(capped(event, limit)["payload"]))
    if event["type"] == "user":
        return len(user_message(event))
    return len(event.get("content", ""))


def _omitted(result: ResultEvent | None, summary: Summary | None) -> int:
    """The characters of a result above what a summary's request had."""
    if result is None or summary is None or not summary.result_limit:
        return 0
    return max(0, len(str(result["payload"]["content"])) - summary.result_limit)


def figures_of(summary: Summary, messages: int) -> CompactionFigures:
    """The figures of a summary that replaced a number of messages and calls."""
    return CompactionFigures(
        summary=summary.id, messages=messages, before=summary.tokens_before, after=summary.tokens_after
    )


def compaction_event(figures: CompactionFigures, timestamp: float) -> ErrorEvent:
    """The notice that a summary was made."""
    event = notice_event(f"{describe_compaction(figures)} /context shows it.", timestamp)
    event["payload"]["compaction"] = figures
    return event


def describe_compaction(figures: CompactionFigures) -> str:
    """The effect of a summary in a sentence."""
    count = figures["messages"]
    return (
        f"Summarized {count:,} {'message' if count == 1 else 'messages'}: about {figures['before']:,} tokens "
        f"became {figures['after']:,}."
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

"""Reads a conversation's history from the store, and places its points, requests, edits and figures."""

from bisect import bisect_left
from collections.abc import Awaitable, Callable, Iterator, Sequence
from itertools import accumulate

from cogency_tui.agent.edits.journal import Journal
from cogency_tui.agent.subagent_progress import numbered_with_progress
from cogency_tui.agent.timeline.model import Asked, Figures, Past, Placed, Point
from cogency_tui.errors import UsageError
from cogency_tui.protocol.events import Event, begins_turn
from cogency_tui.store import usage
from cogency_tui.store.fork_lineage import inherited_measures
from cogency_tui.store.requests import Frame, Request, Requests
from cogency_tui.store.store import Store, StoredConversation
from cogency_tui.store.summaries import Summaries, Summary

CurrentFrame = Callable[[StoredConversation, Summary | None], Awaitable[Frame]]
"""Returns the frame around the events of a conversation now, with a summary for earlier events."""


async def read_past(store: Store, journal: Journal, id: str, frame: CurrentFrame) -> Past:
    """The history of a conversation.

    Raises:
        StoreError: it cannot be read.
        UsageError: there is no such conversation, or it has no messages.
    """
    conversation = await store.conversation(id)
    pages = numbered_with_progress(store, id)
    points = _points([each async for page in pages for each in page]) if conversation else []
    if conversation is None or not points:
        raise UsageError("This conversation has no messages yet.", "Send a message first.")
    lineage = await _lineage(store, conversation)
    callers = [await _callers(store, each.id) for each in lineage]
    delegated = [figure for child in callers[0] for figure in await _figures(store, child)]
    shared = await _shared(store, lineage)
    return Past(
        conversation,
        points,
        await _asked(store, conversation, points, frame),
        await _placed(journal, conversation, callers, points, shared),
        await _figures(store, id),
        sorted(delegated, key=_moment),
        await _inherited(store, id),
        here=conversation.project == str(journal.workspace.root),
        shared=min(shared, len(points)),
    )


def _points(numbered: Sequence[tuple[int, tuple[Event, ...]]]) -> list[Point]:
    points: list[Point] = []
    turn = 0
    for number, events in numbered:
        turn += begins_turn(events[-1])
        points.append(Point(number, turn, events))
    return points


async def _lineage(store: Store, conversation: StoredConversation) -> list[StoredConversation]:
    """The conversation, the one that it was forked from, and so on."""
    found = [conversation]
    while (last := found[-1]).call is None and last.parent is not None and len(found) < 100:
        parent = await store.conversation(last.parent)
        if parent is None:
            break
        found.append(parent)
    return found


async def _shared(store: Store, lineage: Sequence[StoredConversation]) -> int:
    """The number of points that a fork shares with its origin."""
    if len(lineage) == 1:
        return 0
    fork, origin = lineage[:2]
    return sum(number <= (fork.forked_at or 0) for number, _event in await store.numbered_events(origin.id))


async def _inherited(store: Store, id: str) -> list[Figures]:
    """The figures of the points that a fork shares with its origin."""
    rows = await store.database.read(lambda connection: inherited_measures(connection, id))
    return [Figures(*row) for row in rows]


def _moment(figures: Figures) -> float:
    return figures.moment


async def _callers(store: Store, id: str, call: str | None = None) -> dict[str, str]:
    """The conversations of all sub-agents below one, each with the call in it that it works for."""
    found: dict[str, str] = {}
    for child in await store.delegated(id):
        found[child.id] = call or child.call or ""
        found |= await _callers(store, child.id, found[child.id])
    return found


async def _figures(store: Store, id: str) -> list[Figures]:
    rows = await store.database.read(lambda connection: usage.measures(connection, id))
    return [Figures(*row) for row in rows]


async def _asked(
    store: Store, conversation: StoredConversation, points: Sequence[Point], frame: CurrentFrame
) -> list[Asked]:
    recorded = await Requests(store.database).of_conversation(conversation.id)
    before = recorded[0].through if recorded else points[-1].number + 1
    begun = [index for index in _cycles(points) if points[index - 1].number < before]
    found: list[tuple[Request, bool]] = []
    if begun:
        summaries = await Summaries(store.database).all(conversation.id)
        frames: dict[int, Frame] = {}
        for index in begun:
            through, moment = points[index - 1].number, points[index].event["timestamp"]
            summary = _in_force(summaries, through, moment)
            key = summary.id if summary else 0
            if key not in frames:
                frames[key] = await frame(conversation, summary)
            found.append((Request(moment, summary.through if summary else 0, through, frames[key]), False))
    found += [(request, True) for request in recorded]
    return [*_counted(found, points)]


def _cycles(points: Sequence[Point]) -> Iterator[int]:
    """The points at which the model started to write, as far as events show."""
    for index in range(1, len(points)):
        before = points[index - 1].event["type"]
        if before in ("user", "result", "error") and points[index].event["type"] in (
            "think",
            "call",
            "respond",
        ):
            yield index


def _in_force(summaries: Sequence[Summary], through: int, moment: float) -> Summary | None:
    fitting = (each for each in summaries if each.through <= through and each.created <= moment)
    return max(fitting, key=lambda each: each.id, default=None)


def _counted(found: Sequence[tuple[Request, bool]], points: Sequence[Point]) -> Iterator[Asked]:
    numbers = [point.number for point in points]
    turn = cycle = 0
    for request, recorded in found:
        place = max(0, bisect_left(numbers, request.through + 1) - 1)
        cycle = cycle + 1 if points[place].turn == turn else 1
        turn = points[place].turn
        yield Asked(request, turn, cycle, recorded)


async def _placed(
    journal: Journal,
    conversation: StoredConversation,
    callers: Sequence[dict[str, str]],
    points: Sequence[Point],
    shared: int,
) -> list[Placed]:
    """Each edit at the point at which its call had ended and its time had come; what was done before the
    conversation was forked is at points that it shares with its origin.
    """
    ends = {point.event["id"]: index for index, point in enumerate(points) if point.event["type"] == "result"}
    moments = [*accumulate((point.event["timestamp"] for point in points), max)]
    calls = {child: call for called in callers for child, call in called.items()}
    placed: list[Placed] = []
    for edit in await journal.in_history(conversation.id, elsewhere=conversation.project != journal.root):
        is_before_fork = shared > 0 and edit.timestamp <= conversation.created
        limit = shared if is_before_fork else len(points)
        call = calls.get(edit.origin.caller, edit.call)
        at = max(bisect_left(moments, edit.timestamp), ends.get(call, 0))
        placed.append(Placed(min(at, limit - 1), edit))
    return sorted(placed, key=lambda each: (each.at, each.edit.id))

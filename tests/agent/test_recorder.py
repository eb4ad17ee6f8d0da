"""Events on their way to the consumer: in order, and with timestamps that never go back."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from cogency_tui.agent.event_queue import EventQueue
from cogency_tui.agent.recorder import Recorder
from cogency_tui.protocol.events import CallEvent, Event, RespondEvent, ResultEvent
from cogency_tui.store.store import Store


def respond(at: float) -> RespondEvent:
    return {"type": "respond", "timestamp": at, "id": "r", "content": "x"}


def call(id: str, at: float) -> CallEvent:
    return {"type": "call", "timestamp": at, "id": id, "content": '{"name": "read", "args": {}}'}


def result(id: str, at: float, *, error: bool = False) -> ResultEvent:
    return {
        "type": "result",
        "timestamp": at,
        "id": id,
        "tool": "read",
        "duration": 0.0,
        "payload": {"outcome": id, "content": None, "error": error, "state": "failed" if error else "done"},
    }


LATE: list[Event] = [
    call("a", 1.0),
    call("b", 2.0),
    result("b", 3.0),
    respond(2.5),
    respond(2.6),
    result("a", 4.0),
    {"type": "execute", "timestamp": 3.5},
    {"type": "end", "timestamp": 0.5},
]
"""A clock that is set back, results out of order, and a unit that is completed late."""


@pytest.fixture
async def store(tmp_path: Path) -> AsyncGenerator[Store, None]:
    store = await Store.open(tmp_path)
    yield store
    await store.close()


async def delivered(store: Store, *, chunks: bool) -> list[Event]:
    conversation = await store.create_conversation("/", dialect="xml", provider="p", model="m")
    queue = EventQueue()
    recorder = Recorder(store, conversation.id, queue, chunks=chunks)
    for event in LATE:
        await recorder.emit(event)
    queue.close()
    return [event async for event in queue]


@pytest.mark.parametrize("chunks", [True, False])
async def test_timestamps_of_what_is_delivered_never_go_back(store: Store, *, chunks: bool) -> None:
    events = await delivered(store, chunks=chunks)
    times = [event["timestamp"] for event in events]
    assert times == sorted(times)
    assert (times[0], times[-1]) == (1.0, 4.0)


async def test_what_is_given_is_not_changed(store: Store) -> None:
    await delivered(store, chunks=True)
    assert LATE[-1] == {"type": "end", "timestamp": 0.5}


async def test_the_last_failures_are_known_until_something_succeeds(store: Store) -> None:
    conversation = await store.create_conversation("/", dialect="xml", provider="p", model="m")
    recorder = Recorder(store, conversation.id, EventQueue(), chunks=True)
    for id in "abcd":
        await recorder.emit(result(id, 1.0, error=True))
    assert [each["id"] for each in recorder.failures] == ["b", "c", "d"]
    await recorder.emit(result("e", 1.0))
    assert not recorder.failures

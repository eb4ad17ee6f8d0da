"""Events on their way to the screen: joined, never lost, never faster than they can be drawn."""

import asyncio
from itertools import pairwise
from typing import Any

from cogency_tui.protocol.events import Event
from cogency_tui.tui.event_pacer import EventPacer
from tests.tui.scripted import call, respond, think


async def test_the_first_event_is_delivered_at_once() -> None:
    delivered: list[list[Event]] = []
    pacer = EventPacer(delivered.append, interval=60)

    pacer.queue.put(respond("a"))

    assert delivered == [[respond("a")]]


async def test_deltas_of_a_unit_are_joined_and_all_else_keeps_its_order() -> None:
    delivered: list[Event] = []
    pacer = EventPacer(delivered.extend, interval=60)
    events = [respond("a"), respond("b"), respond("c"), think("d", "2"), respond("e", "3"), respond("f", "3")]
    events += [call("c", "x"), respond("g", "3")]

    for event in events:
        pacer.queue.put(event)
    pacer.flush()

    contents: list[Any] = [(event["type"], event.get("content")) for event in delivered]
    assert contents == [
        ("respond", "a"),
        ("respond", "bc"),
        ("think", "d"),
        ("respond", "ef"),
        ("call", call("c", "x").get("content")),
        ("respond", "g"),
    ]
    assert events[1] == respond("b"), "the engine's own events are not touched"


async def test_nothing_is_delivered_while_the_last_batch_is_not_drawn() -> None:
    delivered: list[list[Event]] = []
    pacer = EventPacer(delivered.append, interval=0)

    pacer.queue.put(respond("a"))
    pacer.queue.put(respond("b"))
    pacer.queue.put(call("c", "x"))
    assert len(delivered) == 1
    pacer.drawn()

    assert delivered[1:] == [[respond("b"), call("c", "x")]]


async def test_batches_keep_their_distance() -> None:
    delivered: list[float] = []
    loop = asyncio.get_running_loop()
    done = asyncio.Event()

    def deliver(_events: list[Event]) -> None:
        delivered.append(loop.time())
        loop.call_soon(pacer.drawn)
        if len(delivered) < 3:
            loop.call_soon(pacer.queue.put, call(str(len(delivered)), "x"))
        else:
            done.set()

    pacer = EventPacer(deliver, interval=0.02)
    pacer.queue.put(call("0", "x"))
    await done.wait()

    assert all(later - earlier >= 0.019 for earlier, later in pairwise(delivered))

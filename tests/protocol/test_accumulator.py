"""Deltas to units, and the queue to the consumer: however the pieces lie, they come to the same."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any
from weakref import WeakSet

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cogency_tui.agent.event_queue import EventQueue
from cogency_tui.protocol.accumulator import Accumulator
from cogency_tui.protocol.events import CallEvent, Event, RespondEvent, ResultEvent, ThinkEvent
from tests.protocol.streams import parse

LIMIT = 200_000


def think(unit: str, content: str) -> ThinkEvent:
    return {"type": "think", "timestamp": 0.0, "id": unit, "content": content}


def respond(unit: str, content: str) -> RespondEvent:
    return {"type": "respond", "timestamp": 0.0, "id": unit, "content": content}


def call(unit: str, args: dict[str, Any], *, partial: bool = False) -> CallEvent:
    content = json.dumps({"name": "write", "args": args})
    event: CallEvent = {"type": "call", "timestamp": 0.0, "id": unit, "content": content}
    if partial:
        event["partial"] = True
    return event


def result(unit: str, content: Any, *, partial: bool = False) -> ResultEvent:
    event: ResultEvent = {
        "type": "result",
        "timestamp": 0.0,
        "id": unit,
        "tool": "write",
        "duration": 0.0,
        "payload": {"outcome": "done", "content": content, "error": False, "state": "done"},
    }
    if partial:
        event["partial"] = True
    return event


def units(events: Sequence[Event]) -> list[Event]:
    accumulator = Accumulator()
    found = [unit for event in events for unit in accumulator.add(event)]
    return [*found, *accumulator.close()]


class Piece(str):
    """A text whose end of life can be observed."""


def test_the_deltas_of_an_open_unit_are_not_stored_one_by_one() -> None:
    accumulator = Accumulator()
    pieces = [Piece(f"{number} ") for number in range(1000)]
    alive = WeakSet(pieces)

    assert not [unit for piece in pieces for unit in accumulator.add(respond("u", piece))]
    text = "".join(pieces)
    pieces.clear()

    assert len(alive) == 1
    assert [unit["content"] for unit in accumulator.close() if unit["type"] == "respond"] == [text]


async def passed_on(queue: EventQueue, count: int) -> list[Event]:
    """The next events of a consumer that then goes away, as many as asked for."""
    taken: list[Event] = []
    if count:
        async for event in queue:
            taken.append(event)
            if len(taken) == count:
                break
    return taken


def by_unit(events: Sequence[Event]) -> dict[str, str]:
    texts: dict[str, str] = {}
    for event in events:
        if event["type"] == "think" or event["type"] == "respond":
            texts[event["id"]] = texts.get(event["id"], "") + event["content"]
    return texts


TEXT = st.text("ab \n$é", min_size=1, max_size=4)


@st.composite
def streams(draw: st.DrawFn) -> list[Event]:
    """A stream as a cycle emits it: units in deltas one after the other, calls with their previews,
    results and output of tools at any moment."""
    events: list[Event] = []
    calls: list[str] = []
    for number in range(draw(st.integers(0, 6))):
        name = f"u{number}"
        kind = draw(st.sampled_from(["think", "respond", "call", "execute", "error"]))
        if kind == "think":
            part: list[Event] = [think(name, text) for text in draw(st.lists(TEXT, min_size=1, max_size=5))]
        elif kind == "respond":
            part = [respond(name, text) for text in draw(st.lists(TEXT, min_size=1, max_size=5))]
        elif kind == "call":
            pieces = draw(st.lists(TEXT, max_size=4))
            part = [call(name, {"content": piece}, partial=True) for piece in pieces]
            part += [call(name, {"content": "".join(pieces), "n": number})]
            calls.append(name)
        elif kind == "execute":
            part = [{"type": "execute", "timestamp": 0.0}]
        else:
            part = [{"type": "error", "timestamp": 0.0, "payload": {"error": name}}]
        for event in part:
            events.append(event)
            if calls and kind != "call" and draw(st.booleans()):
                unit = calls[0]
                partial = draw(st.booleans())
                events.append(result(unit, draw(TEXT), partial=partial))
                if not partial:
                    calls.pop(0)
    return events


@pytest.mark.exhaustive
@settings(max_examples=80)
@given(streams())
def test_the_deltas_of_a_unit_are_the_unit(events: list[Event]) -> None:
    whole = units(events)
    texts = [e for e in whole if e["type"] == "think" or e["type"] == "respond"]
    assert {e["id"]: e["content"] for e in texts} == by_unit(events)
    assert len({e["id"] for e in texts}) == len(texts)
    others = [e for e in events if e["type"] not in ("think", "respond") and not e.get("partial")]
    assert [e for e in whole if e["type"] not in ("think", "respond")] == others


@settings(max_examples=50)
@given(
    st.lists(
        st.sampled_from(
            [
                "<think>",
                "</think>",
                "text ",
                "`<end>`",
                "\n",
                '<execute>[{"name": "x", "args": {"a": "b"}}]</execute>',
                "<res",
                "ponse>",
                "<action>",
                "</response>",
                "<thought>",
                "</thought>",
            ]
        ),
        max_size=12,
    ).map("".join),
    st.sampled_from(["xml", "action", "delimiter"]),
    st.integers(1, 7),
)
def test_a_stream_comes_to_the_same_units_however_it_is_cut(text: str, dialect: Any, size: int) -> None:
    pieces = [text[index : index + size] for index in range(0, len(text), size)]

    def told(events: list[Event]) -> list[tuple[str, Any]]:
        return [(e["type"], e.get("content", e.get("payload"))) for e in units(events)]

    assert told(parse(pieces, dialect)) == told(parse([text], dialect))


def test_a_result_that_comes_into_a_sentence_does_not_cut_it() -> None:
    events = [respond("r", "The first "), result("c", "x"), respond("r", "part")]
    assert units(events) == [result("c", "x"), respond("r", "The first part")]


def test_two_thoughts_in_a_row_stay_two() -> None:
    assert units([think("a", "1"), think("a", "2"), think("b", "3")]) == [think("a", "12"), think("b", "3")]


def test_the_events_given_stay_as_they_are() -> None:
    first = think("a", "1")
    units([first, think("a", "2")])
    assert first["content"] == "1"


# The queue.


@pytest.mark.exhaustive
@settings(max_examples=60)
@given(streams(), st.lists(st.integers(0, 4), max_size=20))
def test_a_consumer_that_lags_gets_the_same_in_fewer_pieces(events: list[Event], takes: list[int]) -> None:
    async def play() -> list[Event]:
        queue = EventQueue()
        got: list[Event] = []
        waiting = 0
        for number, event in enumerate(events):
            before = json.dumps(event)
            queue.put(event)
            waiting += 1
            count = takes[number] if number < len(takes) else 0
            if count and waiting:
                got += await passed_on(queue, 1)
                waiting = 0
            assert json.dumps(event) == before
        queue.close()
        assert queue.closed
        return got + [event async for event in queue]

    got = asyncio.run(play())
    assert len(got) <= len(events)
    assert units(got) == units(events)
    assert by_unit(got) == by_unit(events)
    for unit in {e["id"] for e in events if e["type"] == "call"}:
        assert previewed(got, unit) == previewed(events, unit)
        assert output(got, unit) == output(events, unit)


def previewed(events: Sequence[Event], unit: str) -> str:
    found = [e for e in events if e["type"] == "call" and e["id"] == unit and e.get("partial")]
    return "".join(json.loads(e["content"])["args"]["content"] for e in found if e["type"] == "call")


def output(events: Sequence[Event], unit: str) -> str:
    found = [e for e in events if e["type"] == "result" and e["id"] == unit and e.get("partial")]
    return "".join(e["payload"]["content"] for e in found if e["type"] == "result")


async def drained(events: Sequence[Event]) -> list[Event]:
    queue = EventQueue()
    for event in events:
        queue.put(event)
    queue.close()
    return [event async for event in queue]


async def test_previews_of_a_call_are_joined_argument_by_argument() -> None:
    pieces: list[dict[str, Any]] = [
        {},
        {"file": "a"},
        {"file": ".py", "content": "x"},
        {"n": 3},
        {"content": "y"},
    ]
    got = await drained([call("c", args, partial=True) for args in pieces] + [call("c", {"n": 3})])
    assert [e.get("partial") for e in got] == [True, None]
    assert got[0]["type"] == "call"
    joined = json.loads(got[0]["content"])
    assert joined == {"name": "write", "args": {"file": "a.py", "content": "xy", "n": 3}}


async def test_the_output_of_a_tool_is_kept_to_its_last_part() -> None:
    line = "x" * 999 + "\n"
    got = await drained([result("c", f"{number} {line}", partial=True) for number in range(2000)])
    assert len(got) == 1
    assert got[0]["type"] == "result"
    content = got[0]["payload"]["content"]
    assert len(content) == LIMIT
    assert content.endswith(f"1999 {line}")


async def test_the_end_of_a_call_is_no_preview_of_it() -> None:
    events = [result("c", "1", partial=True), result("c", "all"), result("d", "", partial=True)]
    assert await drained(events) == events


async def test_a_consumer_that_waits_gets_each_event_as_it_comes() -> None:
    queue = EventQueue()
    got: list[Event] = []

    async def consume() -> None:
        async for event in queue:
            got.append(event)
            queue.close() if len(got) == 3 else queue.put(respond("r", str(len(got))))

    queue.put(respond("r", "0"))
    async with asyncio.timeout(30):
        await consume()
    assert [e["content"] for e in got if e["type"] == "respond"] == ["0", "1", "2"]

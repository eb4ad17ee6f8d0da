"""What is rendered as it comes is what is rendered from all events at once, whatever they are."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cogency_tui.agent import request_messages
from cogency_tui.agent.request_messages import MessageLog, Way, framed, messages_of
from cogency_tui.protocol import DIALECTS, Dialect
from cogency_tui.protocol.events import Event
from cogency_tui.protocol.messages import AnswerItems, Message
from cogency_tui.store.requests import Frame

LIMIT = 40


def frame_of(dialect: Dialect, window: int = 0, summary: str = "") -> Frame:
    return Frame((("role", "You are."), ("tools", "None.")), summary, dialect, LIMIT, window)


def requests_of(log: MessageLog, events: list[Event], frame: Frame) -> list[list[Message]]:
    """The request after each event, as `History` makes it."""
    found: list[list[Message]] = []
    numbered = list(enumerate(events, 1))
    for number, event in numbered:
        if not log.add([(number, event)]):
            log.restart(in_parts=False)
            assert log.add(numbered[:number])
        found.append(framed(frame, log.messages(), log.asked))
    return found


def events_of(kinds: list[tuple[str, int, int]]) -> list[Event]:
    """Events with ids and cycles from few, so that they meet again."""
    events: list[Event] = []
    for place, (kind, number, cycle) in enumerate(kinds):
        event: Any = {"type": kind.split()[0], "timestamp": float(place), "id": f"i{number}"}
        if cycle:
            event["cycle"] = f"c{cycle}"
        if kind == "user":
            event = {"type": "user", "timestamp": float(place), "content": f"question {number}"}
        elif kind == "call":
            event["content"] = f'{{"name": "read", "args": {{"file": "{place}"}}}}'
        elif kind.startswith("result"):
            payload = {"outcome": "done", "content": f"{place} " * 15, "error": False, "state": "done"}
            event |= {"tool": "read", "duration": 0.0, "payload": payload}
            event.pop("cycle", None)
            if kind == "result raw":
                payload |= {"raw": "<execute>[", "error": True}
                event |= {"cycle": f"c{cycle}"} if cycle else {}
        else:
            event["content"] = f"text {place}"
            if kind == "respond malformed":
                event["malformed"] = f"i{number}"
        events.append(event)
    return events


KINDS = ["user", "think", "respond", "respond malformed", "call", "result", "result raw"]
HISTORIES = st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 6), st.integers(0, 3)), max_size=25)


@given(HISTORIES, st.sampled_from(DIALECTS), st.sampled_from([0, 4]), st.sampled_from(["", "So far."]))
def test_each_request_is_that_of_all_events(
    kinds: list[tuple[str, int, int]], dialect: Dialect, window: int, summary: str
) -> None:
    events, frame = events_of(kinds), frame_of(dialect, window, summary)
    log = MessageLog()
    log.follow(Way(0, dialect, LIMIT))

    for length, request in enumerate(requests_of(log, events, frame), 1):
        assert request == messages_of(frame, events[:length])


def turn(number: int, cycles: int = 1) -> list[tuple[str, int, int]]:
    """A turn with this many cycles with a call each, and an answer."""
    first = 1000 * number
    kinds = [("user", number, 0)]
    for cycle in range(first + 1, first + cycles + 1):
        kinds += [("think", cycle, cycle), ("call", cycle, cycle), ("result", cycle, 0)]
    return [*kinds, ("respond", first, first + cycles + 1)]


@pytest.fixture
def rendered(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many events each rendering was of."""
    counts: list[int] = []
    render = request_messages.render

    def counted(events: list[Event], dialect: Dialect, items: AnswerItems) -> list[Message]:
        counts.append(len(events))
        return render(events, dialect, items)

    monkeypatch.setattr(request_messages, "render", counted)
    return counts


def test_a_request_renders_no_more_than_its_turn(rendered: list[int]) -> None:
    frame, events = frame_of("xml"), events_of([each for number in range(50) for each in turn(number + 1)])
    log = MessageLog()
    log.follow(Way(0, "xml", LIMIT))

    requests_of(log, events, frame)

    assert max(rendered) <= 5


def test_a_request_of_a_long_turn_renders_no_more_than_its_last_cycles(rendered: list[int]) -> None:
    frame, events = frame_of("xml"), events_of(turn(1, cycles=50))
    log = MessageLog()
    log.follow(Way(0, "xml", LIMIT))

    requests_of(log, events, frame)

    assert max(rendered) <= 5


def test_messages_of_earlier_requests_stay_the_same_objects() -> None:
    frame, events = frame_of("xml"), events_of([*turn(1), *turn(2), *turn(3)])
    log = MessageLog()
    log.follow(Way(0, "xml", LIMIT))

    *_, before, after = requests_of(log, events, frame)

    assert all(one is other for one, other in zip(before[1:6], after[1:6], strict=True))


def test_another_way_begins_again() -> None:
    log = MessageLog()
    log.follow(Way(0, "xml", LIMIT))
    log.add(enumerate(events_of(turn(1)), 1))

    log.follow(Way(3, "action", LIMIT))

    assert (log.through, log.messages(), log.asked) == (3, [], [])

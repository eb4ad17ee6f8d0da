"""Scrubbing gives what reading from the beginning would, and touches only what is between two points."""

import random
from typing import Any

from cogency_tui.agent.timeline.model import Point
from cogency_tui.protocol.events import Event
from cogency_tui.tui.timeline.past_units import Scrubbing
from cogency_tui.tui.transcript.call_unit import CallUnit
from cogency_tui.tui.transcript.units import Prose, Transcript, Unit, UserMessage
from tests.tui.scripted import call, respond, result, think, user


def points_of(turns: int) -> list[Point]:
    """Turns with two calls each that run side by side."""
    events: list[tuple[int, Event]] = []
    for turn in range(1, turns + 1):
        a, b = f"a{turn}", f"b{turn}"
        events += [
            (turn, each)
            for each in (
                user(f"turn {turn}"),
                think("Hm.", f"t{turn}"),
                call(a, "read", file="a.py"),
                call(b, "read", file="b.py"),
                result(b, "read"),
                result(a, "read"),
                respond("Done.", f"r{turn}"),
            )
        ]
    return [Point(number, turn, (event,)) for number, (turn, event) in enumerate(events, 1)]


def seen(units: list[Unit]) -> list[Any]:
    """What tells units apart on the screen."""
    told: list[Any] = []
    for unit in units:
        match unit:
            case UserMessage(text=text) | Prose(text=text):
                told.append(text)
            case CallUnit():
                told.append((unit.id, unit.name, unit.args, unit.settled, unit.outcome))
            case _:
                told.append(unit)
    return told


async def test_any_point_is_as_if_it_were_read_from_the_beginning() -> None:
    points = points_of(6)
    scrubbing = Scrubbing()
    await scrubbing.read(points)
    way = [*range(len(points)), *reversed(range(len(points)))]
    way += random.Random(7).choices(range(len(points)), k=200)
    drawn: list[Unit] = []
    for index in way:
        count, touched = scrubbing.go_to(index)
        fresh = Transcript()
        fresh.feed(event for point in points[: index + 1] for event in point.events)

        assert seen(scrubbing.transcript.units) == seen(fresh.units)
        # What a view has drawn is right when it draws again what was touched.
        drawn = [*drawn[:count], *scrubbing.transcript.units[len(drawn[:count]) :]]
        for each in touched:
            drawn[each] = scrubbing.transcript.units[each]
        assert all(one is other for one, other in zip(drawn, scrubbing.transcript.units, strict=True))


async def test_a_step_touches_next_to_nothing_however_long_the_conversation_is() -> None:
    points = points_of(300)
    scrubbing = Scrubbing()
    await scrubbing.read(points)
    scrubbing.go_to(len(points) - 1)
    for index in (*range(len(points) - 2, len(points) - 40, -1), *range(len(points) - 40, len(points))):
        _count, touched = scrubbing.go_to(index)
        assert len(touched) <= 2

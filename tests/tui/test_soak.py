"""A long session: memory follows what is on the screen, and a turn costs what is new in it.

Counted are objects, bytes and calls of functions, never time.
"""

import gc
import json
import tracemalloc
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.strip import Strip

from cogency_tui.protocol.events import Event
from cogency_tui.tui.bridge import Bridge
from cogency_tui.tui.kit.lines import Line
from cogency_tui.tui.transcript.units import Transcript
from tests.counting import calls_counted
from tests.tui.driving import app_over, conversation_of, main_of, opened, shown, until
from tests.tui.scripted import (
    ScriptedAgent,
    ScriptedStore,
    call,
    end,
    respond,
    result,
    started,
    think,
    user,
)

EARLY = (9, 10, 11)
SETTLED, MIDDLE, SEEN = 100, 180, 260
"""Turns: after the first the caches of what was drawn are full. What they hold rises and falls with a period of
80 turns."""

SLACK = 1.2

MOST_LINES, MOST_STRIPS = 4_000, 6_000
"""Lines and strips that may be there at once: those of a few screens, and Textual's own."""

MOST_BYTES = 8_000
"""Bytes that a turn of about 3,000 characters may leave behind. Its lines, if they were held, would be 100,000."""

_PARAGRAPH = "Here are **some** words of turn {turn} that `wrap` over more lines than one of them.\n\n"
_CODE = "```python\ndef handler_{turn}(request):\n    return [item for item in request.items]\n```\n\n"


def answer(turn: int) -> str:
    return ((_PARAGRAPH * 4 + _CODE) * 4).format(turn=turn)


def turn_of(turn: int) -> list[list[Event]]:
    """The events of a turn, as they come in batches."""
    text, file = answer(turn), f"src/part{turn % 7}.py"
    diff = f"--- a/{file}\n+++ b/{file}\n@@ -1 +1 @@\n-x = {turn}\n+x = {turn + 1}\n"
    pieces = [text[at : at + 1_000] for at in range(0, len(text), 1_000)]
    return [
        [user(f"question {turn}"), think("I had better look. " * 10, f"t{turn}")],
        [call(f"a{turn}", "read", file=file), call(f"b{turn}", "edit", file=file, old="x", new="y")],
        [started(f"a{turn}", "read"), result(f"a{turn}", "read", content="line of code\n" * 100)],
        [started(f"b{turn}", "edit"), result(f"b{turn}", "edit", content={"diff": diff})],
        *([respond(piece, f"r{turn}")] for piece in pieces),
        [end()],
    ]


def alive(kind: type) -> int:
    """How many objects of this type there are."""
    return sum(isinstance(each, kind) for each in gc.get_objects())


def take_turn(pilot: Pilot[Any], turn: int, *, whole: bool = False) -> None:
    """Show the events of a turn as they come, or the `whole` of them at once."""
    main, conversation = main_of(pilot), conversation_of(pilot)
    batches = turn_of(turn)
    for events in [[*chain(*batches)]] if whole else batches:
        main.on_bridge_arrived(Bridge.Arrived(events))
        shown(conversation)


def calls_of_turn(pilot: Pilot[Any], turn: int) -> int:
    """How many functions are called to show a turn."""
    with calls_counted() as calls:
        take_turn(pilot, turn)
    return calls.count


@pytest.mark.exhaustive
async def test_a_turn_costs_what_is_new_in_it_however_many_were_before(project: Path) -> None:
    turns = 1_000
    past = [event for turn in range(1, turns + 1) for events in turn_of(turn) for event in events]
    async with app_over(ScriptedAgent(project)).run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        for turn in range(1, min(EARLY)):
            take_turn(pilot, turn)
        early = [calls_of_turn(pilot, turn) for turn in EARLY]

    agent = ScriptedAgent(project)
    agent.past = ScriptedStore({"long": past})
    async with app_over(agent, conversation_id="long").run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: conversation_of(pilot).transcript.turns == turns)
        late = [calls_of_turn(pilot, turns + more) for more in (1, 2, 3)]

        assert f"handler_{turns + 3}" in shown(conversation_of(pilot))
        assert alive(Line) <= MOST_LINES
        assert alive(Strip) <= MOST_STRIPS
    assert min(late) <= SLACK * min(early)


@pytest.mark.exhaustive
async def test_what_is_not_on_the_screen_is_small(project: Path) -> None:
    async with app_over(ScriptedAgent(project)).run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        sizes: list[int] = []
        tracemalloc.start()
        try:
            for turn in range(1, SEEN + 1):
                take_turn(pilot, turn, whole=turn < SETTLED // 2)
                if not turn % 20:
                    await pilot.pause()
                if turn in (SETTLED, MIDDLE, SEEN):
                    gc.collect()
                    sizes.append(tracemalloc.get_traced_memory()[0])
        finally:
            tracemalloc.stop()

        assert alive(Line) <= MOST_LINES
        assert alive(Strip) <= MOST_STRIPS
    settled, middle, seen = sizes
    # In one period a cache of a library may fill; what grows with the turns does so in both.
    assert min(middle - settled, seen - middle) <= MOST_BYTES * (MIDDLE - SETTLED)


async def test_the_texts_of_a_call_are_packed_and_read_again_as_they_were() -> None:
    written, content = "x = 1\n" * 1_000, {"diff": "@@ -1 +1 @@\n" + "-a\n+b\n" * 1_000, "lines": [1, 2]}
    transcript = Transcript()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for turn in range(SEEN):
            id = f"c{turn}"
            transcript.feed([call(id, "edit", file="a.py", new=written, all=True), started(id, "edit")])
            transcript.feed([result(id, "edit", content=json.loads(json.dumps(content)))])
        size = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()

    last = transcript.call(SEEN - 1)
    assert (last.args["new"], last.args["all"], last.result) == (written, True, content)
    assert size <= MOST_BYTES * SEEN

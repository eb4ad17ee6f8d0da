"""A long session: memory follows what is on the screen, and a turn costs what is new in it.

300 turns are shown; counted are objects, bytes and calls of functions, never time.
"""

import gc
import tracemalloc
from contextlib import nullcontext
from pathlib import Path

from textual.strip import Strip

from cogency_tui.protocol.events import Event
from cogency_tui.tui.bridge import Bridge
from cogency_tui.tui.drawing.lines import Line
from tests.counting import Count, calls_counted
from tests.tui.driving import app_over, conversation_of, main_of, opened, shown
from tests.tui.scripted import ScriptedAgent, call, end, respond, result, started, think, user

TURNS = 300
EARLY, LATE = (9, 10, 11), (TURNS - 2, TURNS - 1, TURNS)
SLACK = 1.2

MOST_LINES, MOST_STRIPS = 4_000, 6_000
"""Lines and strips that may be there at once: those of a few screens, and Textual's own."""

MOST_BYTES = 6_000
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


async def test_300_turns_take_no_more_than_the_screen_shows(project: Path) -> None:
    async with app_over(ScriptedAgent(project)).run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        main, conversation = main_of(pilot), conversation_of(pilot)
        called: dict[int, int] = {}
        sizes: dict[int, int] = {}
        tracemalloc.start()
        try:
            for turn in range(1, TURNS + 1):
                with calls_counted() if turn in EARLY + LATE else nullcontext(Count()) as calls:
                    for events in turn_of(turn):
                        main.on_bridge_arrived(Bridge.Arrived(events))
                        shown(conversation)
                called[turn] = calls.count
                if not turn % 50:
                    await pilot.pause()
                if turn in (100, TURNS):
                    gc.collect()
                    sizes[turn] = tracemalloc.get_traced_memory()[0]
        finally:
            tracemalloc.stop()

        assert "handler_300" in shown(conversation)
        assert alive(Line) <= MOST_LINES
        assert alive(Strip) <= MOST_STRIPS
    assert sizes[TURNS] - sizes[100] <= MOST_BYTES * (TURNS - 100)
    assert min(called[turn] for turn in LATE) <= SLACK * min(called[turn] for turn in EARLY)

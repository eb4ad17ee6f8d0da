"""Moving from message to message, and the table of contents."""

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from cogency_tui.protocol.events import Event
from cogency_tui.tui.conversation.turns import turn_at, turns_of
from cogency_tui.tui.conversation.turns_dialog import TurnsScreen
from cogency_tui.tui.transcript.messages_and_notices import describe_turn_end
from cogency_tui.tui.transcript.units import Transcript, TurnEnd
from tests.tui.driving import (
    app_over,
    conversation_of,
    finished,
    main_of,
    prompt_of,
    send,
    shown,
    told,
    type_text,
    until,
)
from tests.tui.scripted import ScriptedAgent, call, end, metric, respond, result, user

ANSWER = "\n\n".join(f"paragraph {number}" for number in range(40))


def first(pilot: Pilot[Any]) -> str:
    """The first line in view."""
    return shown(conversation_of(pilot)).split("\n")[0]


async def talk(pilot: Pilot[Any], *messages: str) -> None:
    for message in messages:
        await send(pilot, message)
        await finished(pilot)
    await until(pilot, lambda: "paragraph 39" in shown(conversation_of(pilot)))


@pytest.mark.parametrize("place", ["prompt", "conversation"])
async def test_a_key_goes_from_message_to_message(project: Path, place: str) -> None:
    agent = ScriptedAgent(project, [respond(ANSWER)])
    async with app_over(agent).run_test(size=(100, 30)) as pilot:
        await talk(pilot, "one", "two", "three")
        back, on = ("ctrl+up", "ctrl+down")
        if place == "conversation":
            back, on = ("left_curly_bracket", "right_curly_bracket")
            conversation_of(pilot).focus()
        for keys, seen in (
            ((back,), "three"),
            ((back,), "two"),
            ((on,), "three"),
            ((back, back), "one"),
            ((back,), "one"),
            (("pagedown", back), "one"),
            ((on,), "two"),
        ):
            await pilot.press(*keys)
            assert seen in first(pilot), (keys, seen)
        await pilot.press(on, on)
        assert conversation_of(pilot).following, "after the last message comes the end"


def edit(id: str, path: str, added: int, at: float) -> list[Event]:
    content = f"Edited {path}\n--- a/{path}\n+++ b/{path}\n@@ -1,1 +1,{added + 1} @@\n x\n" + "+new\n" * added
    return [
        call(id, "edit", file=path, old="", new="", at=at),
        result(id, "edit", f"Edited {path} (+{added} −0)", content, at=at + 2),
    ]


def test_a_turn_has_the_figures_that_its_end_has_in_the_conversation() -> None:
    transcript = Transcript()
    edits = [*edit("a", "a.py", 2, 12), *edit("b", "a.py", 1, 15), *edit("c", "b.py", 4, 20)]
    figures = metric({"duration": 12.345}, {})
    transcript.feed([user("Fix the test", at=10), *edits, figures, respond("Fixed.", "d", at=30), end()])
    transcript.feed([user("Thanks\nagain", at=60), respond("Welcome.", "b", at=61)])
    turns = turns_of(transcript)
    assert [(turn.text, turn.seconds, turn.changes) for turn in turns] == [
        ("Fix the test", "12 s", "2 files +7"),
        ("Thanks\nagain", "", ""),
    ]
    [footer] = (describe_turn_end(unit) for unit in transcript.units if isinstance(unit, TurnEnd))
    assert footer == f"{turns[0].seconds} · {turns[0].changes}"
    assert turn_at(turns, turns[1].unit - 1) == turns[0]
    assert turn_at(turns, turns[1].unit) == turns[1]


def test_a_turn_that_creates_an_empty_file_counts_the_file_alone() -> None:
    transcript = Transcript()
    transcript.feed([user("create it", at=10), *edit("a", "notes.txt", 0, 11), end()])

    (turn,) = turns_of(transcript)
    assert turn.changes == "1 file"


async def test_the_table_of_contents_is_filtered_and_goes_to_a_turn(project: Path) -> None:
    agent = ScriptedAgent(project, [respond(ANSWER)])
    async with app_over(agent).run_test(size=(100, 30), notifications=True) as pilot:
        await send(pilot, "/turns")
        await until(pilot, lambda: "This conversation is empty" in told(pilot))
        await talk(pilot, "Fix the flaky test", "Explain the fix", "Write a note")
        await send(pilot, "/turns")
        await until(pilot, lambda: isinstance(pilot.app.screen, TurnsScreen) and pilot.app.screen.rows.rows)
        screen: Any = pilot.app.screen
        assert screen.rows.row.text == "Write a note", "where the view is"
        await pilot.press("up")
        assert screen.rows.row.text == "Explain the fix"
        await type_text(pilot, "flaky fix")
        await pilot.press("enter")
        await until(pilot, lambda: pilot.app.screen is main_of(pilot))
        assert "Fix the flaky test" in first(pilot)
        assert conversation_of(pilot).has_focus
        await pilot.press("x")
        assert prompt_of(pilot).text == "x"

"""The checklist of the plan: one between two messages of the user, updated in place; earlier ones are a line."""

import asyncio
import random
from collections.abc import Sequence
from typing import TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cogency_tui.agent.timeline.model import Point
from cogency_tui.protocol.events import Event, PlannedStep
from cogency_tui.protocol.plan import latest_plan
from cogency_tui.tui.theme_styles import theme_styles_of
from cogency_tui.tui.timeline.past_units import Scrubbing
from cogency_tui.tui.transcript.document import Document
from cogency_tui.tui.transcript.unit_text import text_of
from cogency_tui.tui.transcript.units import Transcript
from tests.tui.reading import fed
from tests.tui.scripted import call, plan, respond, result, user
from tests.tui.transcript.test_folding import drawn, find, lines_of, read

NIGHT = theme_styles_of("night")
FIRST = plan("p1", "▸ Read the code", "○ Write it", "○ Test it")
SECOND = plan("p2", "✓ Read the code", "▸ Write it", "○ Test it")
THIRD = plan("p3", "✓ Read the code", "✓ Write it", "✓ Test it")


def test_the_first_update_shows_the_plan_after_the_last_one() -> None:
    assert drawn([user("go"), *FIRST, *read("a", "a.py"), *SECOND, respond("So.")]) == [
        "go",
        "≡ plan 1/3",
        "✓ Read the code",
        "▸ Write it",
        "○ Test it",
        "✓ read a.py · 3 lines" + drawn([*read("a", "a.py")])[0].removeprefix("✓ read a.py · 3 lines"),
        "So.",
    ]


def test_a_later_turn_shows_its_plan_where_it_updates_it_and_the_one_before_is_a_line() -> None:
    assert drawn([user("go"), *FIRST, *SECOND, respond("So."), user("on"), *THIRD]) == [
        "go",
        "≡ plan 1/3 · Write it",
        "So.",
        "on",
        "✓ plan 3/3",
        "✓ Read the code",
        "✓ Write it",
        "✓ Test it",
    ]


def test_a_line_of_an_earlier_plan_opens() -> None:
    document = Document(fed([user("go"), *FIRST, user("on"), *SECOND]), 60, NIGHT)
    assert sum("Read the code" in line for line in lines_of(document)) == 2
    assert sum("Test it" in line for line in lines_of(document)) == 1
    document.toggle(1)
    assert sum("Test it" in line for line in lines_of(document)) == 2


def test_updates_do_not_part_a_run_of_reading_calls() -> None:
    events = [user("go"), *FIRST, *read("a", "a.py"), *SECOND, *find("b", "x")]
    assert drawn(events)[-1].startswith("✓ Read 1 file, searched once ▸")


def test_an_update_that_failed_stands_by_itself_and_leaves_the_plan() -> None:
    failed = [call("p2", "plan", steps=[1]), result("p2", "plan", "plan: wrong", error=True)]
    lines = drawn([user("go"), *FIRST, *failed])
    assert lines[1:5] == ["≡ plan 0/3", "▸ Read the code", "○ Write it", "○ Test it"]
    assert "failed" in lines[5]


def test_the_next_update_has_the_checklist_where_the_first_failed() -> None:
    transcript = Transcript()
    document = Document(transcript, 60, NIGHT)
    failed = result("p1", "plan", "plan: wrong", error=True)
    for each in (user("go"), FIRST[0], SECOND[0], failed, SECOND[1]):
        for index in transcript.feed([each]):
            document.touch(index)
    lines = [line.strip() for line in lines_of(document) if line.strip()]
    assert lines[-4:] == ["≡ plan 1/3", "✓ Read the code", "▸ Write it", "○ Test it"]
    assert lines == drawn([user("go"), FIRST[0], failed, *SECOND])


def test_a_plan_without_steps_is_a_line() -> None:
    assert drawn([user("go"), *plan("p")])[1] == "✓ plan no steps"


def test_a_long_plan_is_folded_around_its_current_step_and_opens() -> None:
    steps = [f"{'✓' if at < 20 else '▸' if at == 20 else '○'} Step {at}" for at in range(40)]
    document = Document(fed([user("go"), *plan("p", *steps)]), 60, NIGHT)
    folded = [line.strip() for line in lines_of(document)]
    assert folded[folded.index("≡ plan 20/40") :] == [
        "≡ plan 20/40",
        "… 18 done",
        *("✓ Step 18", "✓ Step 19", "▸ Step 20"),
        *(f"○ Step {at}" for at in range(21, 28)),
        "… 12 more steps",
    ]
    document.toggle(1)
    assert sum("Step" in line for line in lines_of(document)) == 40


@pytest.mark.parametrize("width", [12, 20, 60])
def test_a_long_step_takes_two_lines_and_no_line_is_wider(width: int) -> None:
    document = Document(fed([user("go"), *plan("p", f"▸ {'many words ' * 40}", "○ x\x1b[31m")]), width, NIGHT)
    lines = lines_of(document)
    assert sum("many" in line or "word" in line for line in lines) <= 2
    assert all(len(line) <= width for line in lines)
    assert not any("\x1b" in line for line in lines)


def test_a_checklist_is_copied_as_it_is_shown() -> None:
    document = Document(fed([user("go"), *FIRST, *SECOND]), 60, NIGHT)
    (shown,) = document.shown_in(1, 0)
    assert text_of(document.transcript.units[shown]) == "plan 1/3\n✓ Read the code\n▸ Write it\n○ Test it"


Move: TypeAlias = str | tuple[str, list[str]]

steps_of = st.lists(st.sampled_from(["✓ Read", "▸ Write", "○ Test"]), max_size=4)
moves = st.lists(
    st.one_of(st.just("message"), st.just("read"), st.just("failed"), st.tuples(st.just("plan"), steps_of)),
    max_size=12,
)


def events_of(script: Sequence[Move]) -> list[Event]:
    events: list[Event] = []
    for number, move in enumerate(script):
        match move:
            case "message":
                events.append(user(f"message {number}"))
            case "read":
                events += read(f"a{number}", f"f{number}.py")
            case "failed":
                failed = result(f"f{number}", "plan", "wrong", error=True)
                events += [call(f"f{number}", "plan", steps=[1]), failed]
            case str():
                raise AssertionError(move)
            case (_, steps):
                events += plan(f"p{number}", *steps)
    return events


def plan_of(events: Sequence[Event]) -> Sequence[PlannedStep]:
    """The plan as the definition has it: of the last result that carries one."""
    plans = [
        event["payload"]["plan"]
        for event in events
        if event["type"] == "result" and "plan" in event["payload"]
    ]
    return plans[-1] if plans else ()


@given(moves)
@settings(max_examples=60, deadline=None)
def test_the_plan_of_any_events_is_that_of_the_last_result_with_one(script: Sequence[Move]) -> None:
    events = events_of(script)
    transcript = Transcript()
    for number, event in enumerate(events, 1):
        transcript.feed([event])
        assert list(transcript.plan) == list(plan_of(events[:number])) == latest_plan(events[:number])


@given(moves)
@settings(max_examples=60, deadline=None)
def test_drawn_event_by_event_it_looks_as_drawn_at_once(script: Sequence[Move]) -> None:
    events = events_of(script)
    transcript = Transcript()
    document = Document(transcript, 60, NIGHT)
    for event in events:
        for index in transcript.feed([event]):
            document.touch(index)
        lines_of(document)
    transcript.close()
    for index in range(len(transcript.units)):
        document.touch(index)
    assert lines_of(document) == lines_of(Document(transcript, 60, NIGHT))


@given(moves, st.integers(0, 1_000))
@settings(max_examples=30, deadline=None)
def test_at_any_event_of_the_past_it_looks_as_it_did_then(script: Sequence[Move], seed: int) -> None:
    events = [user("go"), *events_of(script)]

    async def travel() -> None:
        scrubbing = Scrubbing()
        await scrubbing.read([Point(at, 1, (event,)) for at, event in enumerate(events, 1)])
        document = Document(scrubbing.transcript, 60, NIGHT)
        for index in random.Random(seed).choices(range(len(events)), k=12):
            count, touched = scrubbing.go_to(index)
            document.cut(count)
            for each in sorted(touched):
                document.touch(each)
            fresh = Transcript()
            fresh.feed(events[: index + 1])
            assert lines_of(document) == lines_of(Document(fresh, 60, NIGHT))

    asyncio.run(travel())

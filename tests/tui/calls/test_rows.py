"""The rows of the tool calls pane: which there are, and what makes others of them."""

import pytest
from msgspec.structs import replace

from cogency_tui.protocol.events import Event
from cogency_tui.tui.calls.rows import HIDDEN, BackgroundCommand, CallFilter, CallRows, Row
from cogency_tui.tui.transcript.units import Transcript
from tests.tui.scripted import Inner, call, output, result, started, steps, user


def rows_of(*events: Event) -> CallRows:
    transcript = Transcript()
    transcript.feed([user("go"), *events])
    return CallRows(transcript)


def grow(rows: CallRows, *events: Event) -> None:
    rows.update(rows.transcript.feed(events))


def reads(count: int, id: str = "a") -> Event:
    inner: list[Inner] = [("read", f"f{number}", "done", "Read") for number in range(count)]
    return steps(id, "agent", *inner)


COMMAND = BackgroundCommand("p1", "npm run dev", 0.0, 3.0, "running")


def test_calls_are_rows_in_their_order() -> None:
    rows = rows_of(call("a", "read"), call("b", "shell"))
    grow(rows, call("c", "edit"))

    assert rows.rows == [Row(1), Row(2), Row(3)]
    assert rows.place(3) == 2


def test_a_call_that_goes_on_changes_no_row() -> None:
    rows = rows_of(call("a", "shell"))
    before = rows.rows
    grow(rows, started("a", "shell"), output("a", "shell", "text\n"))

    assert rows.rows is before
    assert rows.running == 1
    grow(rows, result("a", "shell"))
    assert rows.rows is before
    assert (rows.running, rows.open) == (0, set())


def test_of_what_a_sub_agent_does_the_last_calls_are_seen_until_it_is_done() -> None:
    rows = rows_of(call("a", "agent"), started("a", "agent"), reads(8))

    assert rows.rows == [Row(1), Row(1, HIDDEN), *(Row(1, step) for step in range(3, 8))]
    assert (rows.hidden(1), rows.mark_of(1)) == (3, "▾")

    grow(rows, result("a", "agent", content="the answer"))
    assert rows.rows == [Row(1)]
    assert rows.mark_of(1) == "▸"


def test_what_the_person_opened_or_closed_stays_so() -> None:
    rows = rows_of(call("a", "agent"), started("a", "agent"), reads(8))
    rows.fold(1)
    assert rows.rows == [Row(1)]

    rows.fold(1, folded=False)
    grow(rows, result("a", "agent"))
    assert rows.rows == [Row(1), *(Row(1, step) for step in range(8))]


def test_a_filter_admits_by_tool_and_subject_and_by_failure() -> None:
    rows = rows_of(
        call("a", "read", file="src/Cart.py"),
        result("a", "read"),
        call("b", "edit", file="src/cart.py"),
        result("b", "edit", "no", error=True),
        call("c", "edit", file="src/app.py"),
    )
    rows.select(CallFilter("cart"))
    assert (rows.shown, rows.rows) == (2, [Row(1), Row(2)])
    rows.select(CallFilter("edit CART"))
    assert (rows.shown, rows.rows) == (1, [Row(2)])
    rows.select(CallFilter(failures=True))
    assert (rows.shown, rows.rows) == (1, [Row(2)])
    assert rows.newest() == 2

    grow(rows, result("c", "edit", "interrupted", state="interrupted"))
    assert rows.rows == [Row(2), Row(3)]
    rows.select(CallFilter())
    assert rows.rows == [Row(1), Row(2), Row(3)]


def test_commands_in_the_background_stand_below_a_heading() -> None:
    rows = rows_of(call("a", "read"))
    rows.show_commands([COMMAND])

    assert rows.rows == [Row(1), Row(heading=0), Row(command=0)]
    assert rows.rows[1].is_heading
    assert (rows.key(1), rows.key(2), rows.place("p1")) == (None, "p1", 2)
    assert rows.command("p1") is COMMAND
    rows.select(CallFilter("read"))
    assert rows.rows == [Row(1)]


def test_commands_of_other_conversations_have_headings_of_their_own() -> None:
    rows = rows_of(call("a", "read"))
    others = [replace(COMMAND, id=id, conversation=title) for id, title in (("p2", "Build"), ("p3", "Build"))]
    rows.show_commands([COMMAND, *others])
    assert rows.rows[1:] == [
        *(Row(heading=0), Row(command=0)),
        *(Row(heading=1), Row(command=1), Row(command=2)),
    ]
    rows.show_commands([COMMAND, others[0], replace(others[1], conversation="Test")])
    assert Row(heading=2) in rows.rows


def test_time_passes_only_for_what_runs() -> None:
    assert COMMAND.elapsed(10.0) == 10.0
    assert BackgroundCommand("p", "x", 0.0, 3.0, "done").elapsed(10.0) == 3.0


def test_the_newest_is_the_last_that_has_begun() -> None:
    rows = rows_of(call("a", "read"), result("a", "read"), call("b", "shell"))
    assert rows.newest() == 1
    grow(rows, started("b", "shell"))
    assert rows.newest() == 2
    assert rows_of().newest() is None


@pytest.mark.exhaustive
def test_ten_thousand_calls_cost_no_more_to_go_on_than_ten() -> None:
    events: list[Event] = []
    for number in range(10_000):
        events += [call(f"c{number}", "read", file=f"f{number}"), result(f"c{number}", "read")]
    rows = rows_of(*events)
    before = rows.rows
    grow(rows, output("c9999", "read", "x"))

    assert len(rows.rows) == 10_000
    assert rows.rows is before
    assert len(rows.before(10_000)) == 100


def test_rows_that_grow_are_those_made_at_once() -> None:
    rows = rows_of(call("a", "read"))
    rows.show_commands([COMMAND])
    rows.select(CallFilter(failures=True))
    grow(rows, result("a", "read", "no", error=True), call("b", "agent"), started("b", "agent"))
    rows.select(CallFilter())
    for number in range(8):
        grow(rows, call(f"c{number}", "read"))
        grow(rows, reads(2, "b"), result(f"c{number}", "read"))

        whole = CallRows(rows.transcript)
        whole.show_commands([COMMAND])
        assert (rows.rows, rows.shown, rows.open) == (whole.rows, whole.shown, whole.open)
        assert [rows.place(index) for index in range(12)] == [whole.place(index) for index in range(12)]
        assert rows.newest() == whole.newest()


def test_a_new_call_makes_no_other_rows_again() -> None:
    rows = rows_of(*(call(f"a{number}", "read") for number in range(500)))
    before = rows.rows[:500]
    grow(rows, call("b", "read"), result("b", "read"))

    assert len(rows.rows) == 501
    assert all(one is other for one, other in zip(before, rows.rows, strict=False))

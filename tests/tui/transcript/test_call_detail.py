"""The detail of a call: arguments, numbers, diff and output, of any length."""

import json
import re
from typing import Any

import pytest

from cogency_tui.protocol.events import Event
from cogency_tui.tui.theme_styles import theme_styles_of
from cogency_tui.tui.transcript.call_detail import CallLayout
from cogency_tui.tui.transcript.call_unit import Action, CallUnit
from tests.tui.scripted import EPOCH, call, output, result, started, steps

INKS = theme_styles_of("night")
DIFF = "--- a/a.py\n+++ b/a.py\n@@ -1 +1,2 @@\n-x\n+y\n+z\n"


def made(*events: Any, id: str = "c") -> CallUnit:
    made = CallUnit(id)
    take(made, *events)
    return made


def take(call: CallUnit, *events: Event) -> None:
    for event in events:
        if event["type"] == "call":
            call.write(event)
        elif event["type"] == "result":
            call.report(event)


def sheet_of(call: CallUnit, width: int = 60, **options: Any) -> CallLayout:
    return CallLayout(call, width, INKS, EPOCH, **options)


def text(sheet: CallLayout) -> list[str]:
    """The head, its facts three cells from the title; then the lines."""
    head = re.sub(r" {3,}", "   ", "".join(segment.text for segment in sheet.head))
    return [head, *(sheet.line(y).text.rstrip() for y in range(len(sheet)))]


def test_a_command_shows_its_status_its_time_and_its_bytes() -> None:
    content = "exit 1\nline one\nline two"
    failed = made(
        call("c", "shell", command="make test"),
        result("c", "shell", "exit 1 after 2.0 s", content, error=True, duration=2.0),
    )

    assert text(sheet_of(failed)) == [
        "shell  ✗ failed 2.0 s   exit 1 · 2 lines · 17 B",
        "$ make test",
        "",
        "line one",
        "line two",
    ]


def test_questions_that_were_skipped_are_so_in_one_word() -> None:
    asked: Any = {"questions": [{"question": "Which?", "choices": ["a", "b"]}]}
    for words, below in (("", []), ("later", ["skipped: later"])):
        ended: Any = result("c", "ask", "The user skipped the question", None, state="declined")
        ended["payload"]["skipped"] = True
        if words:
            ended["payload"]["words"] = words
        lines = text(sheet_of(made(call("c", "ask", **asked), ended)))
        assert lines[0].startswith("ask  ⊘ skipped")
        assert [line for line in lines[1:] if "skipped" in line or "declined" in line] == below


def test_a_call_of_processes_names_the_process() -> None:
    cases: list[tuple[Any, str]] = [
        ({"action": "stop", "id": "p1"}, "stop p1"),
        ({"action": "watch", "id": "p2", "pattern": "err"}, "watch p2 err"),
        ({"id": "p1"}, "p1"),
        ({}, "list"),
    ]
    for args, subject in cases:
        assert made(call("c", "processes", **args)).subject.text == subject


def test_a_plan_that_has_not_run_is_its_steps() -> None:
    long = "Read " + "the loop " * 12
    steps = [{"text": long.strip(), "state": "done"}, {"text": "Write", "state": "cancelled"}, "Test"]
    for name, key in (("plan", "steps"), ("TodoWrite", "todos")):
        args: Any = {key: steps}
        lines = text(sheet_of(made(call("c", name, **args)), width=40))[1:]
        assert lines[0] == "✓ Read the loop the loop the loop the"
        assert lines[-2:] == ["– Write", "○ Test"]
        assert " ".join(lines).count("the loop") + " ".join(lines).count("the   loop") >= 10
    wrong = text(sheet_of(made(call("c", "plan", steps=[1]))))
    assert wrong[1:] == ["steps  [1]"]


def test_a_written_file_is_counted_once() -> None:
    outcome = "created new.py: 2 lines, 4 bytes"
    written = made(
        call("c", "write", file="new.py", content="a\nb\n"), result("c", "write", outcome, outcome)
    )

    assert text(sheet_of(written)) == [
        "write  ✓ done 12 ms",
        outcome,
        "",
        "file     new.py",
        "content  2 lines",
        "1 a",
        "2 b",
    ]


def test_an_interruption_is_in_the_head_alone() -> None:
    interrupted = made(
        call("c", "shell", command="sleep 9"),
        result("c", "shell", "interrupted", None, state="interrupted", duration=4.1),
    )

    assert text(sheet_of(interrupted)) == ["shell  ■ interrupted 4.1 s", "$ sleep 9"]


def test_live_output_is_taken_in_where_it_goes_on() -> None:
    running = made(call("c", "shell", command="make"), started("c", "shell"), output("c", "shell", "one\ntw"))
    sheet = sheet_of(running)
    take(running, output("c", "shell", "o\nthree\n"))
    sheet.refresh(EPOCH + 3)

    assert not sheet.stale
    assert text(sheet)[0] == "shell  running 3 s   3 lines · 14 B"
    assert text(sheet)[-3:] == ["one", "two", "three"]

    take(running, result("c", "shell", "exit 0 after 3.0 s", "exit 0\none"))
    assert sheet.stale


def test_what_is_written_is_seen_growing() -> None:
    writing = made(
        call("c", "write", partial=True, file="new.py"), call("c", "", partial=True, content="a\n")
    )
    sheet = sheet_of(writing)
    take(writing, call("c", "", partial=True, content="b \x1b[2J\n"))
    sheet.refresh(EPOCH)

    assert not sheet.stale
    assert text(sheet) == [
        "write  ✎ writing   9 B to write",
        "file     new.py",
        "content",
        "  a",
        "  b ␛[2J",
    ]


def test_a_diff_stands_in_the_place_of_what_it_was_made_of() -> None:
    edited = made(call("c", "edit", file="a.py", old="x", new="y\nz"), result("c", "edit", "Edited", DIFF))
    shown = text(sheet_of(edited))

    assert "file  a.py" in shown
    assert shown[-3:] == ["1   − x", "  1 + y", "  2 + z"]
    assert not any(line.startswith(("old", "new")) for line in shown)


def test_what_an_edit_is_to_replace_is_told_apart_before_it_is_made() -> None:
    waiting = made(call("c", "edit", file="a.py", old="x\nq", new="y\nz"))
    waiting.ask(EPOCH)
    sheet = sheet_of(waiting)

    assert text(sheet)[0] == "edit  ? waiting for approval"
    assert text(sheet)[1:] == ["file  a.py", "", " − x", " − q", " + y", " + z"]
    assert {sheet.line(y).segments[-1].style for y in (2, 3)} == {INKS("text", "removed")}
    assert {sheet.line(y).segments[-1].style for y in (4, 5)} == {INKS("text", "added")}


def test_what_it_waits_for_and_why_it_was_skipped_are_told() -> None:
    queued = CallUnit("c", name="shell", state="queued", action=Action("c", ("a",), "data", timeout=5.0))
    assert (
        text(sheet_of(queued, width=90, waits=["a", "b"]))[0]
        == "shell  ◌ queued   waiting for a, b · id c · result $data · timeout 5.0 s"
    )

    skipped = made(
        call("c", "shell"), result("c", "shell", 'Skipped: it depends on "a", which failed', state="skipped")
    )
    shown = text(sheet_of(skipped, cause="a failed"))
    assert shown[0].startswith("shell  ⊘ skipped")
    assert shown[0].endswith("a failed")
    assert 'Skipped: it depends on "a", which failed' in shown


@pytest.mark.exhaustive
def test_a_long_result_comes_piece_by_piece() -> None:
    content = "\n".join(f"line {number}" for number in range(10_000))
    long = made(call("c", "mine"), result("c", "mine", "done", content))
    sheet = sheet_of(long, gradual=True)

    assert sheet.loading
    assert "10000 lines" in text(sheet)[0]
    while sheet.loading:
        sheet.load()
    assert sheet.line(len(sheet) - 1).text == "line 9999"
    assert text(sheet_of(long)) == text(sheet)


def test_the_reason_of_a_failure_is_above_what_it_was_to_do() -> None:
    failed = made(
        call("c", "edit", file="a.py", old="x", new="y"),
        result("c", "edit", "`old` is not in a.py", error=True),
    )
    assert text(sheet_of(failed))[1:] == ["`old` is not in a.py", "", "file  a.py", "", " − x", " + y"]


def test_facts_without_room_beside_the_title_are_below_it() -> None:
    failed = made(
        call("c", "shell", command="make"), result("c", "shell", "exit 1 after 2.0 s", "exit 1\nno")
    )
    assert text(sheet_of(failed, width=32))[:2] == ["shell  ✓ done 12 ms   exit 1", "$ make"]
    waiting = CallUnit("c", name="shell", state="queued", action=Action("c", (), "data", timeout=5.0))
    assert text(sheet_of(waiting, width=30))[:2] == ["shell  ◌ queued   id c", "result $data · timeout 5.0 s"]


def test_a_command_says_its_time_once_and_when_it_printed_nothing() -> None:
    silent = made(
        call("c", "shell", command="true"),
        result("c", "shell", "exit 0 after 0.1 s", "exit 0\n(no output)", duration=0.058),
    )
    assert text(sheet_of(silent)) == ["shell  ✓ done 58 ms   exit 0 · no output", "$ true"]


def test_arguments_are_in_columns_and_long_ones_hang_in_theirs() -> None:
    done = made(
        call("c", "mine", query="x", deep=True, directory="a folder whose name takes more than a line"),
        result("c", "mine", "Found 1", "a.py"),
    )
    assert text(sheet_of(done, width=40))[1:] == [
        "query      x",
        "deep       true",
        "directory  a folder whose name takes",
        "         ↪ more than a line",
        "",
        "a.py",
    ]


def test_the_numbers_of_a_file_that_was_read_have_their_own_column() -> None:
    content = " 9\t# a comment that is longer than the pane is wide\n10\tx = 1\n[lines 1 to 8 are not shown]"
    sheet = sheet_of(made(call("c", "read", file="a.py"), result("c", "read", "Read", content)), width=40)

    assert text(sheet)[0].endswith("2 lines")
    assert text(sheet)[3:] == [
        " 9 # a comment that is longer than the",
        " ↪ pane is wide",
        "10 x = 1",
        "   [lines 1 to 8 are not shown]",
    ]
    assert sheet.line(2).segments[2].style == INKS("comment", "raised")
    assert sheet.line(4).segments[2].style == INKS("text", "raised")


def test_a_diff_of_any_length_has_its_colors() -> None:
    lines = "".join(f"+line {number} of a long file\n" for number in range(10_000))
    diff = f"--- /dev/null\n+++ b/a.py\n@@ -0,0 +1,10000 @@\n{lines}"
    sheet = sheet_of(made(call("c", "write", file="a.py"), result("c", "write", "Created", diff)))

    assert len(diff) > 200_000
    assert sheet.line(5_000).segments[1].style == INKS("good", "added")


def test_what_a_sub_agent_did_stands_with_its_answer() -> None:
    done = made(
        call("c", "agent", name="reviewer"),
        started("c", "agent"),
        steps("c", "agent", ("read", "a.py", "done", "Read 3 lines")),
        result("c", "agent", "reviewer answered", "all good"),
    )
    shown = text(sheet_of(done))

    assert "✓ read a.py  Read 3 lines" in shown
    assert shown[-1] == "all good"


def test_the_calls_of_a_sub_agent_are_cut_with_an_ellipsis() -> None:
    failed = made(
        call("c", "agent", name="editor"),
        started("c", "agent"),
        steps("c", "agent", ("edit", "src/filesize.py", "failed", "Text to replace not found")),
        steps("c", "agent", ("read", "src/filesize.py", "running", "")),
    )

    assert "✗ edit src/filesize.py  Text to r…" in text(sheet_of(failed, 34))
    assert "✗ edit src/filesize.py …" in text(sheet_of(failed, 24))
    assert "✗ edit …ze.py" in text(sheet_of(failed, 13))


def test_the_calls_of_a_sub_agent_wait_while_it_waits_for_an_answer() -> None:
    working = made(
        call("c", "agent", name="editor"),
        started("c", "agent"),
        steps("c", "agent", ("read", "a.py", "done", "1 line"), ("edit", "a.py", "running", "")),
    )
    working.ask(EPOCH)
    assert [working.state_of(step) for step in working.steps()] == ["done", "waiting"]
    assert "? edit a.py" in text(sheet_of(working))
    working.decide()
    assert [working.state_of(step) for step in working.steps()] == ["done", "running"]


def test_foreign_text_is_drawn_and_never_obeyed() -> None:
    hostile = made(
        call("c", "evil\x1b[2J", query="v\u202e\x07"),
        result("c", "evil", "out\x1b[1mcome", "a\x1b]0;t\x07b"),
    )
    shown = "".join(text(sheet_of(hostile)))

    assert not {"\x1b", "\x07", "\u202e"}.intersection(shown)
    assert "ab" in shown


_ASKED: list[dict[str, Any]] = [
    {
        "question": "Which database?",
        "choices": [{"label": "SQLite", "description": "one file, no server"}, {"label": "Postgres"}],
    },
    {"question": "Which checks?", "several": True, "choices": [{"label": "ruff"}, {"label": "pytest"}]},
]
_FOREIGN = [
    {"question": one["question"], "options": one["choices"], "multiSelect": "several" in one}
    for one in _ASKED
]


@pytest.mark.parametrize("given", [_ASKED, json.dumps(_ASKED), _FOREIGN], ids=["ours", "text", "foreign"])
def test_questions_to_the_user_are_shown_with_their_choices_before_they_are_answered(given: Any) -> None:
    asks = made(call("c", "ask", questions=given))
    asks.ask(EPOCH)
    drawn = text(sheet_of(asks, 34))
    assert drawn == [
        "ask  ? waiting for your answer",
        "Which database?",
        "  1 SQLite  one file, no server",
        "  2 Postgres",
        "  3 Other…",
        "",
        "Which checks?",
        "  1 [ ] ruff",
        "  2 [ ] pytest",
        "  3 [ ] Other…",
    ]
    ended: Any = result("c", "ask", "SQLite; ruff", "{}")
    ended["payload"]["answers"] = [
        {"question": one["question"], "answers": [one["choices"][0]["label"]]} for one in _ASKED
    ]
    take(asks, ended)
    assert text(sheet_of(asks, 34))[1:] == ["Which database?", "→ SQLite", "Which checks?", "→ ruff"]


def test_questions_that_are_refused_stay_with_the_reason_and_wrong_ones_are_json() -> None:
    declined = made(
        call("c", "ask", questions=_ASKED), result("c", "ask", "You skipped it: later", "", error=True)
    )
    drawn = text(sheet_of(declined))
    assert drawn[1:4] == ["You skipped it: later", "", "Which database?"]
    wrong = made(
        call("c", "ask", questions=[{"question": "Why?"}]), result("c", "ask", "wrong", "", error=True)
    )
    assert any('[{"question": "Why?"}]' in line for line in text(sheet_of(wrong)))


def test_a_question_that_is_being_written_shows_no_json() -> None:
    writing = made(call("c", "ask", partial=True, questions='[{"question": "Wh'))
    assert writing.state == "writing"
    assert text(sheet_of(writing)) == ["ask  ✎ writing"]

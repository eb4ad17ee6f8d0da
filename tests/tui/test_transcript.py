"""Events make the same units live and from the store."""

from typing import Any

from cogency_tui.protocol.events import Event
from cogency_tui.tui.activity import describe_activity, live_units
from cogency_tui.tui.calls import Call, FileChange
from cogency_tui.tui.drawing.document import Document
from cogency_tui.tui.drawing.lines import Line
from cogency_tui.tui.theming import inks_of
from cogency_tui.tui.transcript import Problem, Prose, Said, Stopped, Transcript
from tests.tui.scripted import (
    EPOCH,
    call,
    end,
    error,
    execute,
    interrupt,
    output,
    respond,
    result,
    started,
    think,
    user,
)

DIFF = "--- a/app.py\n+++ b/app.py\n@@ -1,2 +1,3 @@\n x\n-old\n+new\n+--- more\n"


def fed(*events: Event) -> Transcript:
    transcript = Transcript()
    transcript.feed(events)
    return transcript


def only_call(*events: Event) -> Call:
    return fed(*events).call(0)


def test_deltas_of_one_unit_are_one_unit_and_of_two_are_two() -> None:
    transcript = fed(
        user("hi"), think("a", "1"), think("b", "1"), think("c", "2"), respond("d"), respond("e"), end()
    )

    assert [unit.text for unit in transcript.units if isinstance(unit, Said | Prose)] == [
        "hi",
        "ab",
        "c",
        "de",
    ]
    assert not any(unit.open for unit in transcript.units if isinstance(unit, Prose))


def test_live_and_stored_events_draw_the_same() -> None:
    live = [
        user("fix it"),
        think("why ", at=1), think("not", at=2),
        call("c", "", partial=True, at=3),
        call("c", "shell", partial=True, at=3, command="ls"),
        call("c", "shell", at=3, command="ls -l"), execute(),
        started("c", "shell", at=4), output("c", "shell", "a\nb\n", at=4),
        result("c", "shell", "exit 0", "a\nb\n", at=5),
        respond("don", at=6), respond("e", at=7), end(),
    ]  # fmt: skip
    stored = [
        user("fix it"),
        think("why not", at=1),
        call("c", "shell", at=3, command="ls -l"),
        result("c", "shell", "exit 0", "a\nb\n", at=5),
        respond("done", at=6),
    ]

    def drawn(events: list[Event]) -> list[str]:
        transcript = fed(*events)
        transcript.close()
        document = Document(transcript, 60, inks_of("night"))
        return [_line(document, y).text for y in range(document_height(document))]

    assert drawn(live) == drawn(stored)
    assert any("Thought for 2.0 s" in line for line in drawn(live))


def document_height(document: Document) -> int:
    for index in range(len(document.transcript.units)):
        document.measure(index)
    return document.height


def _line(document: Document, y: int) -> Line:
    return document.line(*document.locate(y))


def test_a_call_goes_through_its_states() -> None:
    transcript = Transcript()
    seen: list[str] = []

    def feed(event: Event) -> None:
        transcript.feed([event])
        seen.append(transcript.call(0).state)

    feed(call("c", "", partial=True))
    feed(call("c", "write", partial=True, file="a.py"))
    feed(call("c", "write", file="a.py", content="x"))
    transcript.call(0).ask()
    seen.append(transcript.call(0).state)
    transcript.call(0).decide()
    feed(started("c", "write"))
    feed(result("c", "write"))

    assert seen == ["writing", "writing", "queued", "waiting", "running", "done"]


def test_a_file_being_written_is_seen_growing() -> None:
    preview = only_call(
        call("c", "write", partial=True, file="a.py"),
        call("c", "", partial=True, content="first\n"),
        call("c", "", partial=True, content="second\n"),
    )

    assert preview.args == {"file": "a.py", "content": "first\nsecond\n"}


def test_what_became_of_a_call() -> None:
    def state(outcome: str, *, failed: bool) -> str:
        return only_call(call("c", "x"), result("c", "x", outcome, error=failed)).state

    assert state("done", failed=False) == "done"
    assert state("no such file", failed=True) == "failed"
    assert state("Interrupted.", failed=True) == "interrupted"
    assert state("skipped: a failed", failed=True) == "skipped"


def test_output_is_cleaned_across_pieces() -> None:
    running = only_call(call("c", "shell"), output("c", "shell", "a\x1b"), output("c", "shell", "[2Jb"))

    assert running.body() == "ab"


def test_changes_are_counted_from_the_diff_or_the_content() -> None:
    transcript = fed(
        call("1", "edit", file="app.py"), result("1", "edit", content=DIFF),
        call("2", "write", file="new.py", content="a\nb\n"), result("2", "write"),
        call("3", "edit", file="app.py"), result("3", "edit", content={"diff": DIFF}),
        call("4", "edit", file="app.py"), result("4", "edit", error=True),
    )  # fmt: skip

    assert transcript.changes() == {
        "app.py": FileChange("app.py", 4, 2),
        "new.py": FileChange("new.py", 2, 0),
    }


def test_a_diff_over_several_files_names_each() -> None:
    diff = DIFF + DIFF.replace("app.py", "b.py")

    changed = only_call(call("1", "replace", pattern="*.py"), result("1", "replace", content=diff))

    assert [change.path for change in changed.changes()] == ["app.py", "b.py"]


def test_an_interruption_marks_what_was_being_written() -> None:
    cut = fed(user("x"), respond("half"), interrupt())
    before = fed(user("x"), interrupt())

    prose = cut.units[-1]
    assert isinstance(prose, Prose)
    assert prose.interrupted
    assert isinstance(before.units[-1], Stopped)


def test_an_error_is_a_unit_with_its_next_step() -> None:
    problem = fed(error("No key\x1b[2J.", "Set one.")).units[0]

    assert problem == Problem("No key.", "Set one.")


def test_a_call_that_is_no_json_is_still_a_call() -> None:
    event: Any = {"type": "call", "timestamp": EPOCH, "id": "c", "content": "not json"}

    assert only_call(event).name == ""


def test_what_goes_on_is_said() -> None:
    def activity(*events: Event) -> str:
        return describe_activity(fed(user("x"), *events), "openai/gpt")

    assert activity() == "Waiting for openai/gpt"
    assert activity(think("a")) == "Thinking"
    assert activity(respond("a")) == "Writing"
    assert activity(call("c", "write", partial=True)) == "Writing a call of write"
    assert activity(call("c", "shell"), started("c", "shell")) == "Running shell"
    assert (
        activity(*(event for id in "ab" for event in (call(id, "x"), started(id, "x")))) == "Running 2 calls"
    )
    assert (
        activity(call("c", "shell"), started("c", "shell"), result("c", "shell")) == "Waiting for openai/gpt"
    )


def test_only_what_shows_a_running_time_is_live() -> None:
    transcript = fed(user("x"), think("a"), call("c", "shell"), started("c", "shell"), call("d", "shell"))

    assert live_units(transcript) == [2]

"""Events make the same units live and from the store."""

from collections.abc import AsyncGenerator, Sequence
from typing import Any

import pytest

from cogency_tui.protocol.events import BACKGROUND_NEWS, CallState, Event, UntilTurn
from cogency_tui.tui.conversation.activity_line import Activity, describe_activity, live_units
from cogency_tui.tui.theme_styles import theme_styles_of
from cogency_tui.tui.transcript.call_unit import CallUnit, FileChange
from cogency_tui.tui.transcript.document import Document, LinePosition
from cogency_tui.tui.transcript.units import (
    Notice,
    PendingMessage,
    Problem,
    Prose,
    Transcript,
    TurnEnd,
    UserMessage,
    read_transcript,
)
from tests.tui.scripted import (
    EPOCH,
    call,
    end,
    error,
    execute,
    failure,
    interrupt,
    metric,
    notice,
    output,
    respond,
    result,
    started,
    think,
    user,
    user_command,
)

DIFF = "--- a/app.py\n+++ b/app.py\n@@ -1,2 +1,3 @@\n x\n-old\n+new\n+--- more\n"


def fed(*events: Event) -> Transcript:
    transcript = Transcript()
    transcript.feed(events)
    return transcript


def only_call(*events: Event) -> CallUnit:
    return fed(*events).call(0)


def test_deltas_of_one_unit_are_one_unit_and_of_two_are_two() -> None:
    transcript = fed(
        user("hi"), think("a", "1"), think("b", "1"), think("c", "2"), respond("d"), respond("e"), end()
    )

    assert [unit.text for unit in transcript.units if isinstance(unit, UserMessage | Prose)] == [
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
        document = Document(transcript, 60, theme_styles_of("night"))
        document.measure(LinePosition(0, 0, 0), 1000)
        return [document.line(document.place(y)).text for y in range(document.height)]

    assert drawn(live) == drawn(stored)
    assert any("Thought for 2.0 s" in line for line in drawn(live))


def test_a_call_goes_through_its_states() -> None:
    transcript = Transcript()
    seen: list[str] = []

    def feed(event: Event) -> None:
        transcript.feed([event])
        seen.append(transcript.call(0).state)

    feed(call("c", "", partial=True))
    feed(call("c", "write", partial=True, file="a.py"))
    feed(call("c", "write", file="a.py", content="x"))
    transcript.call(0).ask(EPOCH)
    seen.append(transcript.call(0).state)
    transcript.call(0).decide()
    feed(started("c", "write"))
    feed(result("c", "write"))

    assert seen == ["writing", "writing", "queued", "waiting", "running", "done"]


def test_a_turn_that_is_continued_has_one_end_with_all_its_figures() -> None:
    transcript = Transcript()
    transcript.feed([user("go"), metric({"duration": 2.0}, {}), error("It broke."), end()])
    assert transcript.resume_turn()
    assert not transcript.resume_turn()
    transcript.feed([metric({"duration": 3.0}, {}), interrupt()])
    ends = [unit for unit in transcript.units if isinstance(unit, TurnEnd) and not unit.is_empty]
    assert [(each.seconds, each.interrupted) for each in ends] == [(5.0, True)]
    assert transcript.units[-1] is ends[0]


def test_a_running_call_waits_for_a_question_of_its_sub_agent_and_its_time_runs_on() -> None:
    transcript = Transcript()
    transcript.feed([call("a", "agent", name="writer"), started("a", "agent", at=2.0)])
    transcript.call(0).ask(EPOCH)
    transcript.feed([started("a", "agent", at=5.0)])
    assert (transcript.call(0).state, transcript.call(0).elapsed(EPOCH + 6.0)) == ("waiting", 4.0)
    transcript.call(0).decide()
    transcript.feed([started("a", "agent", at=7.0)])
    assert (transcript.call(0).state, transcript.call(0).elapsed(EPOCH + 8.0)) == ("running", 6.0)


def test_a_file_being_written_is_seen_growing() -> None:
    preview = only_call(
        call("c", "write", partial=True, file="a.py"),
        call("c", "", partial=True, content="first\n"),
        call("c", "", partial=True, content="second\n"),
    )

    assert preview.args == {"file": "a.py", "content": "first\nsecond\n"}


def test_what_became_of_a_call() -> None:
    states: tuple[CallState, ...] = ("done", "failed", "skipped", "interrupted")
    for state in states:
        # Whatever its words are.
        assert only_call(call("c", "x"), result("c", "x", "Interrupted.", state=state)).state == state


def test_news_of_background_commands_are_a_notice() -> None:
    news = result("n", BACKGROUND_NEWS, "p1: ready on 3000", "Background commands …")
    assert fed(user("go"), news).units[1:2] == [Notice("Background: p1: ready on 3000")]


def test_a_message_has_its_place_until_a_command_succeeds() -> None:
    place: UntilTurn = {
        "command": "pytest -q",
        "turn": 2,
        "turns": 20,
        "text": "[engine] …",
        "automatic": True,
    }
    message = user("`pytest -q` failed. Make it succeed.")
    assert message["type"] == "user"
    transcript = fed({**message, "until": place})
    unit = transcript.units[0]
    assert isinstance(unit, UserMessage)
    assert (unit.until, unit.automatic) == ("until pytest -q · turn 2 of 20", True)
    assert transcript.until == "pytest -q"
    assert fed({**message, "until": place}, user_command("pytest -q", state="failed")).until == "pytest -q"
    assert fed({**message, "until": place}, user_command("pytest -q")).until == ""
    assert fed({**message, "until": place}, user("thanks")).until == ""


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


@pytest.mark.parametrize("file", ["src/a.py", "./src/a.py", "src/../src/a.py", "/home/me/shop/src/a.py"])
def test_a_file_has_one_path_however_the_model_names_it(file: str) -> None:
    transcript = Transcript()
    transcript.feed([user("go"), call("a", "read", file=file), result("a", "read", "Read 1 line", "1\tx")])
    transcript.locate("/home/me/shop")
    diff = "--- a/src/a.py\n+++ b/src/a.py\n@@ -1 +1 @@\n-x\n+y\n"
    transcript.feed([call("b", "edit", file=file, old="x", new="y"), result("b", "edit", "Edited", diff)])

    assert {transcript.call(index).subject.text for index in transcript.calls} == {"src/a.py"}
    assert transcript.changes() == {"src/a.py": FileChange("src/a.py", 1, 1)}


def test_a_file_outside_the_project_has_its_full_path() -> None:
    transcript = Transcript()
    transcript.locate("/home/me/shop")
    transcript.feed([user("go"), call("a", "read", file="/home/me/shopping/a.py")])

    assert transcript.call(transcript.calls[0]).subject.text == "/home/me/shopping/a.py"


def test_a_diff_over_several_files_names_each() -> None:
    diff = DIFF + DIFF.replace("app.py", "b.py")

    changed = only_call(call("1", "replace", pattern="*.py"), result("1", "replace", content=diff))

    assert [change.path for change in changed.changes()] == ["app.py", "b.py"]


def test_an_interruption_ends_the_turn_once() -> None:
    cut = fed(user("x"), respond("half"), interrupt())
    before = fed(user("x"), interrupt())

    prose = cut.units[-2]
    assert isinstance(prose, Prose)
    assert prose.interrupted
    assert cut.units[-1] == TurnEnd(interrupted=True)
    assert before.units[-1] == TurnEnd(interrupted=True, unanswered=True)


def test_an_interrupted_turn_is_known_from_what_was_stored() -> None:
    half = think("half", interrupted=True)
    stopped = result("c", "shell", state="interrupted")
    for stored in ([half], [call("c", "shell"), stopped]):
        transcript = fed(user("x"), *stored, user("y"), respond("done", "r2"))
        transcript.close()

        ends = [unit.interrupted for unit in transcript.units if isinstance(unit, TurnEnd)]
        assert ends == [True, False]


def test_a_turn_ends_with_the_figures_of_its_cycles_and_its_changes() -> None:
    transcript = fed(
        user("fix it"),
        call("1", "edit", file="app.py"), result("1", "edit", content=DIFF),
        metric({"input": 2000, "output": 100, "cost": 0.01, "duration": 7.5}, {}),
        call("2", "edit", file="app.py"), result("2", "edit", content=DIFF),
        call("3", "read", file="app.py"), result("3", "read"),
        metric({"input": 900, "output": 100, "cost": 0.01, "duration": 4.5, "estimated": True}, {}),
        end(),
        user("thanks"), respond("Welcome."), end(),
    )  # fmt: skip

    first, second = (unit for unit in transcript.units if isinstance(unit, TurnEnd))
    assert (first.seconds, first.sent, first.written, first.cost) == (12.0, 2900, 200, 0.02)
    assert first.estimated
    assert first.changes() == [FileChange("app.py", 4, 2)]
    assert second.is_empty


def test_a_turn_ends_at_the_next_message_where_its_end_was_not_stored() -> None:
    stored = [user("a"), respond("b"), user("c"), respond("d", "r2")]
    live = [user("a"), respond("b"), end(), user("c"), respond("d", "r2"), end()]

    reopened, followed = fed(*stored), fed(*live)
    reopened.close()

    assert [type(unit) for unit in reopened.units] == [type(unit) for unit in followed.units]


def test_the_tokens_of_a_running_turn_are_estimated_until_they_are_known() -> None:
    transcript = fed(user("x"), respond("four" * 10))
    assert transcript.written == (10, True)

    transcript.feed([metric({"output": 12}, {})])
    assert transcript.written == (12, False)


def test_an_error_is_a_unit_with_its_next_step() -> None:
    problem = fed(error("No key\x1b[2J.", "Set one.")).units[0]

    assert problem == Problem("No key.", "Set one.")


def test_a_call_that_is_no_json_is_still_a_call() -> None:
    event: Any = {"type": "call", "timestamp": EPOCH, "id": "c", "content": "not json"}

    assert only_call(event).name == ""


def test_what_goes_on_is_said() -> None:
    def activity(*events: Event) -> str:
        return describe_activity(fed(user("x"), *events), "openai/gpt", EPOCH).text

    assert activity() == "Waiting for openai/gpt"
    assert activity(think("a")) == "Thinking"
    assert activity(respond("a")) == "Writing"
    assert activity(call("c", "write", partial=True)) == "Preparing write"
    assert activity(call("c", "shell"), started("c", "shell")) == "Running shell"
    assert (
        activity(*(event for id in "ab" for event in (call(id, "x"), started(id, "x")))) == "Running 2 calls"
    )
    assert (
        activity(call("c", "shell"), started("c", "shell"), result("c", "shell")) == "Waiting for openai/gpt"
    )


def test_a_command_of_the_users_runs_by_its_own_name_and_without_tokens() -> None:
    events = user("x"), respond("an answer " * 20), call("c", "!", command="sleep 30"), started("c", "!")

    assert describe_activity(fed(*events), "openai/gpt", EPOCH) == Activity("Running sleep 30")
    assert describe_activity(fed(*events[:2]), "openai/gpt", EPOCH).tokens


def test_the_wait_for_an_answer_counts_from_the_oldest_question() -> None:
    transcript = fed(user("x"), *(call(id, "edit") for id in "abc"))
    transcript.call(1).ask(EPOCH + 500)
    transcript.call(2).ask(EPOCH + 510)

    def activity() -> Activity:
        return describe_activity(transcript, "openai/gpt", EPOCH + 512)

    assert activity() == Activity("Waiting for your answer", seconds=12.0)
    transcript.call(1).decide()
    assert activity() == Activity("Waiting for your answer", seconds=2.0)


def test_a_notice_is_no_problem() -> None:
    transcript = fed(user("x"), notice("A new session\x1b[2J is given all."), notice("And another."))

    assert transcript.units[1:] == [Notice("A new session is given all."), Notice("And another.")]


def test_each_try_is_announced_in_the_place_of_the_one_before() -> None:
    transcript = fed(
        user("x"),
        notice("Slow. Again in 1 s.", 1, at=10),
        notice("Slow. Again in 2 s.", 2, at=11, attempt=3),
    )

    assert transcript.units[1:] == [Notice("Slow. Again in 2 s.", EPOCH + 13, attempt=3, attempts=5)]
    transcript.feed([respond("Hello."), notice("Slow. Again in 4 s.", 4, at=20)])
    assert transcript.units[-1] == Notice("Slow. Again in 4 s.", EPOCH + 24, attempt=2, attempts=5)


def test_an_error_replaces_the_retry_with_the_same_cause() -> None:
    slow, end_of_retries = notice("Slow.", 2), error("Slow.", "Try later.")

    assert fed(user("x"), slow, end_of_retries).units[1:] == [Problem("Slow.", "Try later.")]
    other = fed(user("x"), slow, error("Gone."))
    assert [type(unit) for unit in other.units[1:]] == [Notice, Problem]
    plain = fed(user("x"), notice("Slow."), end_of_retries)
    assert [type(unit) for unit in plain.units[1:]] == [Notice, Problem]


def test_a_failure_that_is_repeated_is_one_line_below_the_first() -> None:
    def failed(seconds: int) -> Event:
        return failure(f"Slow down, for {seconds} s.", "Try later.", "rate limit")

    transcript = fed(user("x"), failed(9), end(), failed(7), end())
    first, again = (unit for unit in transcript.units if isinstance(unit, Problem))
    assert (first.error, first.times, again.times) == ("Slow down, for 9 s.", 1, 2)
    transcript.feed([notice("Slow down, for 6 s.", 2), failed(5), end()])
    shown = [unit for unit in transcript.units[1:] if not (isinstance(unit, TurnEnd) and unit.is_empty)]
    assert shown == [first, Problem("Slow down, for 5 s.", "Try later.", times=3)]
    assert transcript.failure is not None

    transcript.feed([failure("No key.", kind="authentication"), end(), user("y"), failed(5), end()])
    assert [unit.times for unit in transcript.units if isinstance(unit, Problem)] == [1, 3, 1, 1]


def test_the_wait_for_another_try_is_counted_down() -> None:
    waiting = fed(user("x"), notice("Slow. Again in 7 s.", 7))
    answered = fed(user("x"), notice("Slow. Again in 7 s.", 7), respond("Here"))

    def activity(transcript: Transcript, after: float) -> Activity:
        return describe_activity(transcript, "openai/gpt", EPOCH + after)

    assert activity(waiting, 0) == Activity("Retrying in 7 s (2 of 5)", counts_down=True)
    assert activity(waiting, 0.9) == activity(waiting, 0)
    assert activity(waiting, 6.9) == Activity("Retrying in 1 s (2 of 5)", counts_down=True)
    assert activity(waiting, 7.1) == Activity("Waiting for openai/gpt (2 of 5)")
    assert activity(answered, 0) == Activity("Writing", tokens="~1 token")


def test_a_total_stays_an_estimate_once_a_cycle_was_estimated() -> None:
    transcript = fed(metric({"estimated": True}, {"input": 1}), metric({}, {"input": 3}))

    assert transcript.total == {"input": 3, "estimated": True}


def test_only_what_shows_a_running_time_is_live() -> None:
    transcript = fed(user("x"), think("a"), call("c", "shell"), started("c", "shell"), call("d", "shell"))

    assert live_units(transcript) == [2]


async def test_stored_events_are_read_as_they_are_fed_however_many() -> None:
    events: list[Event] = []
    for turn in range(400):
        events += [user(f"question {turn}"), think("hm", f"t{turn}"), respond(f"answer {turn}", f"r{turn}")]
    whole = fed(*events)
    whole.close()

    async def pages() -> AsyncGenerator[Sequence[Event]]:
        for start in range(0, len(events), 7):
            yield events[start : start + 7]

    transcript = await read_transcript(pages())

    assert [getattr(unit, "text", "") for unit in transcript.units] == [
        getattr(unit, "text", "") for unit in whole.units
    ]
    assert transcript.turns == 400
    assert not any(unit.open for unit in transcript.units if isinstance(unit, Prose))


def test_a_message_that_is_not_sent_yet_is_shown_until_the_next_event() -> None:
    transcript = Transcript()
    transcript.feed([user("first"), respond("Hello.")])
    transcript.close()
    turns, before = transcript.turns, [*transcript.units]
    transcript.preview("second\n", (), EPOCH, "guard")
    assert transcript.preview("second\n", (), EPOCH, "guard") == set()
    (at,) = transcript.preview("second\n", (), EPOCH, "other")
    pending = transcript.units[at]
    assert isinstance(pending, PendingMessage)
    assert (pending.message.text, pending.hook, transcript.turns) == ("second", "other", turns)
    assert transcript.units[:at] == before

    transcript.feed([user("second")])
    assert not any(isinstance(unit, PendingMessage) for unit in transcript.units)
    assert [unit.text for unit in transcript.units if isinstance(unit, UserMessage)] == ["first", "second"]
    assert transcript.turns == turns + 1

    transcript.preview("third", (), EPOCH, "guard")
    transcript.close()
    assert not any(isinstance(unit, PendingMessage) for unit in transcript.units)

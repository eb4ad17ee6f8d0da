"""Events as sentences: everything that changes is said once, and what is not text is not there."""

from cogency_tui.linear.announcer import Announcer, spoken
from cogency_tui.protocol.events import Event, Image, RanCommand
from tests.tui.scripted import (
    call,
    end,
    error,
    interrupt,
    notice,
    output,
    plan,
    respond,
    result,
    started,
    think,
)


def lines(*events: Event) -> list[str]:
    announcer = Announcer()
    return [line for event in events for line in announcer.feed(event)]


def test_a_call_is_said_when_it_starts_and_when_it_is_done() -> None:
    said = lines(
        call("c", "read", partial=True, path="src"),
        call("c", "read", path="src/app.py"),
        started("c", "read"),
        output("c", "read", "some output"),
        result("c", "read", "Read 20 lines", duration=0.012),
    )
    assert said == ["Tool read started: src/app.py", "Tool read done in 12 ms: Read 20 lines"]


def test_an_update_of_the_plan_is_its_progress_and_its_current_step() -> None:
    first, second = plan("p", "✓ Read", "▸ Write\nit"), plan("q", "✓ Read", "✓ Write it")
    said = lines(first[0], started("p", "plan"), first[1], second[0], started("q", "plan"), second[1])
    assert said == ["Plan 1/2: Write it", "Plan 2/2"]
    failed = result("r", "plan", "plan: wrong", error=True, duration=0.001)
    assert lines(started("r", "plan"), failed) == ["Tool plan failed after 1 ms: plan: wrong"]


def test_a_call_that_fails_or_never_ran_says_so() -> None:
    said = lines(
        call("c", "shell", command="false"),
        started("c", "shell"),
        result("c", "shell", "exit 1", error=True, duration=2.04),
        call("d", "edit", file="x.py"),
        result("d", "edit", "The user declined", error=True),
        call("e", "shell", command="sleep 9"),
        started("e", "shell"),
        result("e", "shell", "interrupted", state="interrupted"),
    )
    assert said == [
        "Tool shell started: false",
        "Tool shell failed after 2.0 s: exit 1",
        "Tool edit (x.py) did not run: The user declined",
        "Tool shell started: sleep 9",
        "Tool shell was interrupted.",
    ]


def test_the_answer_comes_line_by_line_as_it_is_written() -> None:
    announcer = Announcer()
    assert announcer.feed(respond("The first ")) == ["Answer:"]
    assert announcer.feed(respond("line\nthe sec")) == ["The first line"]
    assert announcer.feed(respond("ond\n\n")) == ["the second", ""]
    assert announcer.feed(respond("last")) == []
    assert announcer.feed(end()) == ["last", "Done."]


def test_thoughts_are_said_to_be_there_and_long_ones_how_long() -> None:
    assert lines(think("secret", at=0), think(" more", at=1), respond("x", at=2.5), end()) == [
        "Thinking.",
        "Thought for 2.5 s.",
        "Answer:",
        "x",
        "Done.",
    ]
    assert lines(think("short", at=0), end()) == ["Thinking.", "Done."]


def test_errors_notices_and_interruptions_are_told_apart_by_words() -> None:
    assert lines(error("It broke.", "Mend it."), end()) == ["Error: It broke. Next step: Mend it."]
    assert lines(error("It broke."), respond("Again."), end())[-1] == "Done."
    assert lines(notice("Slow.", retry=3.0)) == ["Note: Slow. Retrying in 3 s (2 of 5)."]
    assert lines(respond("half"), interrupt()) == ["Answer:", "half", "Interrupted."]


def test_a_sequence_that_is_cut_in_two_does_not_get_through() -> None:
    said = lines(respond("a\x1b]0;ti"), respond("tle\x07b\x1b[3"), respond("1mc\n"), end())
    assert said == ["Answer:", "abc", "Done."]
    assert "\x1b" not in "".join(
        lines(
            call("c", "read", path="\x1b[2Jx"),
            started("c", "re\x1bad"),
            result("c", "re\x1bad", "\x1b[2J"),
        )
    )


def test_times_are_said_with_their_unit() -> None:
    assert [spoken(each) for each in (0.0001, 0.012, 2.04, 59.9, 185)] == [
        "0 ms",
        "12 ms",
        "2.0 s",
        "59.9 s",
        "3 min 5 s",
    ]


def test_images_of_a_message_and_a_result_are_said() -> None:
    image: Image = {
        **{"name": "shot\x1b.png", "digest": "d", "media_type": "image/png", "width": 800, "height": 600},
        "size": 12345,
    }  # pyright: ignore[reportAssignmentType]
    said = lines(
        {"type": "user", "timestamp": 0.0, "content": "See", "images": [image]},
        call("c", "read", file="a.png"),
        started("c", "read"),
        result("c", "read", "image, 800×600", duration=0.012),
    )
    assert said == [
        "Image: shot␛.png: 800×600 pixels, 12,345 bytes",
        "Tool read started: a.png",
        "Tool read done in 12 ms: image, 800×600",
    ]


def test_a_turn_that_ends_for_a_message_is_not_done() -> None:
    announcer = Announcer()
    announcer.steered = True
    assert announcer.feed(end()) == []


def test_a_command_of_the_user_is_said_with_its_output() -> None:
    ran: RanCommand = {
        "command": "ls",
        "state": "failed",
        "outcome": "exit 2",
        "output": "a\n\x1b[31mb\n",
        "duration": 0.012,
    }
    event: Event = {"type": "user", "timestamp": 0.0, "content": "! ls", "ran": ran}
    assert lines(event) == ["a", "b", "Command ended after 12 ms: exit 2"]
    stopped: Event = {**event, "ran": {**ran, "state": "interrupted", "output": ""}}
    assert lines(stopped) == ["Command was interrupted after 12 ms"]


def test_a_report_of_the_engine_to_the_model_is_a_note() -> None:
    warning = "The turn ends if the calls of the next answer all fail."
    assert lines(result("t", "turn", warning, error=True)) == [f"Note: {warning}"]

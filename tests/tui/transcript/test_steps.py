"""The calls within a call, read from the lines of its progress."""

from cogency_tui.tui.transcript.call import Steps


def told(steps: Steps) -> list[tuple[str, str, str]]:
    return [(step.state, step.text, step.outcome) for step in steps.all]


def test_calls_begin_and_end_in_the_order_of_their_lines() -> None:
    steps = Steps()
    for piece in ("· read a.py\n· re", "ad b.py\n✓ read: Read 3 lines\n", "✗ read: gone: a\n! it broke\n"):
        steps.feed(piece)

    assert told(steps) == [
        ("done", "read a.py", "Read 3 lines"),
        ("failed", "read b.py", "gone: a"),
        ("failed", "it broke", ""),
    ]


def test_what_never_ended_was_interrupted() -> None:
    steps = Steps()
    steps.feed("· shell make")
    steps.close()

    assert told(steps) == [("interrupted", "shell make", "")]


def test_other_lines_are_no_calls() -> None:
    steps = Steps()
    steps.feed("hello\n\n· \n")

    assert told(steps) == [("running", "", "")]

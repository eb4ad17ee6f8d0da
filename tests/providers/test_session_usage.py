"""What a session sent, from what it is billed."""

from cogency_tui.providers.base import Usage
from cogency_tui.providers.token_counting import SessionUsage


def test_what_is_sent_is_the_difference_of_what_is_billed() -> None:
    usage = SessionUsage()
    usage.sending(["x" * 400])
    assert usage.reported(100, 20) == Usage(100, 20, billed_input=100)
    usage.sending(["x" * 40])
    assert usage.reported(130, 20, cached=120) == Usage(10, 20, 120, billed_input=130)


def test_reasoning_that_is_not_kept_does_not_count_as_sent() -> None:
    usage = SessionUsage()
    usage.sending(["x" * 400])
    usage.reported(100, 50, retained=10)
    usage.sending(["x" * 40])
    assert usage.reported(120, 5).input == 10


def test_a_context_that_was_trimmed_is_estimated_by_the_ratio_seen() -> None:
    usage = SessionUsage()
    usage.sending(["x" * 200])
    usage.reported(100, 20)
    usage.sending(["x" * 30])
    assert usage.reported(90, 5).input == 15


def test_an_answer_without_a_report_is_estimated() -> None:
    usage = SessionUsage()
    usage.sending(["x" * 400])
    assert usage.estimated(["y" * 40]) == Usage(100, 10, estimated=True)
    usage.sending(["x" * 40])
    assert usage.reported(120, 5).input == 10

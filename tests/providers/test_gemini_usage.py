"""The usage of sessions that are given the system prompt again."""

from cogency_tui.protocol.messages import Message
from cogency_tui.providers.base import Usage
from cogency_tui.providers.token_counting import RepeatingUsage

SEED: list[Message] = [
    {"role": "system", "content": "s" * 300},
    {"role": "user", "content": "u" * 50},
]
NEW: list[Message] = [{"role": "user", "content": "u" * 50}]


def test_the_system_prompt_is_sent_again_but_is_in_the_context_once() -> None:
    usage = RepeatingUsage(SEED)
    usage.sending(NEW)
    usage.repeating()
    assert usage.reported(200, 10, cached=0, retained=10) == Usage(200, 10, 0, billed_input=200)
    usage.sending(NEW)
    usage.repeating()
    assert usage.reported(235, 10, cached=0, retained=10) == Usage(25 + 150, 10, 0, billed_input=235)
    usage.sending(NEW)
    assert usage.reported(270, 10, cached=0, retained=10) == Usage(25, 10, 0, billed_input=270)


def test_an_estimate_has_it_too() -> None:
    usage = RepeatingUsage(SEED)
    usage.sending(NEW)
    usage.reported(200, 10, cached=0, retained=10)
    usage.sending(NEW)
    usage.repeating()
    assert usage.estimated(["x" * 40]) == Usage(25 + 150, 10, estimated=True)


def test_before_the_first_report_there_is_nothing_to_go_by() -> None:
    usage = RepeatingUsage([])
    usage.repeating()
    assert usage.estimated(["x" * 40]).input == 1
    assert usage.reported(5, 1, cached=None, retained=1).billed_input == 5

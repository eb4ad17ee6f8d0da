"""What the end of an answer says."""

from contextlib import nullcontext

import pytest

from cogency_tui.errors import (
    BadRequestError,
    EmptyAnswerError,
    ProviderError,
    ProviderProtocolError,
    SessionLostError,
)
from cogency_tui.protocol.messages import Message
from cogency_tui.providers.ending_checks import check_ending, check_memory
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.wire_protocol import Finish
from tests.cases import cases

ENDPOINT = Endpoint("openai", "https://api.example/v1", "m")


@cases("finish", ["", "stop", "length", "other"])
def test_an_answer_with_text_ends_well(finish: Finish) -> None:
    check_ending(ENDPOINT, finish, wrote=True)


@cases(
    ("finish", "wrote", "kind", "words"),
    [
        ("filter", True, BadRequestError, "filter of openai"),
        ("filter", False, BadRequestError, "filter of openai"),
        ("length", False, ProviderProtocolError, "reached its output token limit"),
        ("stop", False, EmptyAnswerError, "empty response"),
        ("", False, EmptyAnswerError, "empty response"),
    ],
)
def test_other_ends_are_reported(finish: Finish, wrote: bool, kind: type[ProviderError], words: str) -> None:
    with pytest.raises(kind, match=words) as caught:
        check_ending(ENDPOINT, finish, wrote=wrote)
    assert caught.value.hint


BLOCK = '<execute>\n[{"name": "read", "args": {"file": "greet.py"}}]\n</execute>'


@cases(
    ("written", "stored", "more"),
    [
        (BLOCK, BLOCK, False),
        (f"{BLOCK}\n\n<end>", BLOCK, False),
        ("Seen.", "<think>Look.</think>\n\nSeen.", False),
        ("Café.", "Cafe.", False),
        ("It broke.", "", False),
        (f"{BLOCK}\n<results>[]</results>\nIt worked.", BLOCK, True),
        ("§respond: Seen.\n§end\nUser: And now?", "§respond: Seen.\n§end", True),
    ],
)
def test_a_session_that_remembers_more_than_the_store_is_given_up(
    written: str, stored: str, more: bool
) -> None:
    messages: list[Message] = [{"role": "assistant", "content": stored}] if stored else []
    messages.append({"role": "user", "content": "Go on."})
    with pytest.raises(SessionLostError, match="contains text") if more else nullcontext():
        check_memory(ENDPOINT, written, messages)


def test_a_model_that_only_reasoned_is_for_the_agent_to_deal_with() -> None:
    check_ending(ENDPOINT, "stop", wrote=False, reasoned=True)
    with pytest.raises(ProviderProtocolError, match="reached its output token limit"):
        check_ending(ENDPOINT, "length", wrote=False, reasoned=True)

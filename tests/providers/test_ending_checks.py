"""What the end of an answer says."""

from contextlib import nullcontext

import pytest

from cogency_tui.errors import (
    BadRequestError,
    EmptyAnswerError,
    ProviderError,
    SessionLostError,
)
from cogency_tui.protocol.messages import Message
from cogency_tui.providers.base import CutOff
from cogency_tui.providers.ending_checks import check_ending, check_memory
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.wire_protocol import Finish
from tests.cases import cases

ENDPOINT = Endpoint("openai", "https://api.example/v1", "m")


@cases(("finish", "cut"), [("", False), ("stop", False), ("length", True), ("other", False)])
def test_an_answer_with_text_ends_well_or_is_cut_off(finish: Finish, cut: bool) -> None:
    assert list(check_ending(ENDPOINT, finish, wrote=True)) == [CutOff()] * cut


@cases(
    ("finish", "wrote", "kind", "words"),
    [
        ("filter", True, BadRequestError, "filter of openai"),
        ("filter", False, BadRequestError, "filter of openai"),
        ("length", False, EmptyAnswerError, "reached its output token limit"),
        ("stop", False, EmptyAnswerError, "empty response"),
        ("", False, EmptyAnswerError, "empty response"),
    ],
)
def test_other_ends_are_reported(finish: Finish, wrote: bool, kind: type[ProviderError], words: str) -> None:
    with pytest.raises(kind, match=words) as caught:
        list(check_ending(ENDPOINT, finish, wrote=wrote))
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
    assert not list(check_ending(ENDPOINT, "stop", wrote=False, reasoned=True))
    ending = check_ending(ENDPOINT, "length", wrote=False, reasoned=True)
    assert next(ending) == CutOff()
    with pytest.raises(EmptyAnswerError, match="reached its output token limit"):
        next(ending)

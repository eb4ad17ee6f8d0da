"""What the end of an answer says."""

import pytest

from cogency_tui.errors import BadRequestError, ProviderError, ProviderProtocolError
from cogency_tui.providers.endings import check_ending
from cogency_tui.providers.endpoint import Endpoint
from cogency_tui.providers.wire import Finish

ENDPOINT = Endpoint("openai", "https://api.example/v1", "m")


@pytest.mark.parametrize("finish", ["", "stop", "length", "other"])
def test_an_answer_with_text_ends_well(finish: Finish) -> None:
    check_ending(ENDPOINT, finish, True)


@pytest.mark.parametrize(
    ("finish", "wrote_text", "kind", "words"),
    [
        ("filter", True, BadRequestError, "filter of openai"),
        ("filter", False, BadRequestError, "filter of openai"),
        ("length", False, ProviderProtocolError, "used up the tokens"),
        ("stop", False, ProviderProtocolError, "empty answer"),
        ("", False, ProviderProtocolError, "empty answer"),
    ],
)
def test_other_ends_are_reported(
    finish: Finish, wrote_text: bool, kind: type[ProviderError], words: str
) -> None:
    with pytest.raises(kind, match=words) as caught:
        check_ending(ENDPOINT, finish, wrote_text)
    assert caught.value.hint

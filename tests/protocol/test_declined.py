"""A call that the user has declined is not a failed one: its mark, and the words for it."""

import pytest

from cogency_tui.protocol.events import CallState, ResultPayload, mark_of, outcome_shown


def payload(state: CallState, **more: str) -> ResultPayload:
    result: ResultPayload = {
        "outcome": "The user declined: Edit a.",
        "content": None,
        "error": True,
        "state": state,
    }
    if "words" in more:
        result["words"] = more["words"]
    return result


def test_the_user_reads_their_own_words_and_not_what_the_model_is_told() -> None:
    assert outcome_shown(payload("declined", words="keep it")) == "You declined: keep it"
    assert outcome_shown(payload("declined")) == "You declined."
    assert outcome_shown(payload("failed")) == "The user declined: Edit a."


@pytest.mark.parametrize(
    ("state", "mark"), [("done", "✓"), ("failed", "✗"), ("declined", "⊘"), ("interrupted", "■")]
)
def test_each_end_has_its_mark(state: CallState, mark: str) -> None:
    assert mark_of(payload(state)) == mark

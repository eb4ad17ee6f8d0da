"""Deltas whose characters were cut in halves."""

from cogency_tui.providers.surrogates import SurrogateJoiner


def test_surrogates_are_joined_across_deltas_and_replaced_when_alone() -> None:
    joiner = SurrogateJoiner()
    assert joiner.feed("a\ud83d") == "a"
    assert joiner.feed("\ude00b") == "😀b"
    assert joiner.feed("\ude00") == "\ufffd"
    assert joiner.feed("\ud83d") == ""
    assert joiner.feed("x") == "\ufffdx"
    assert joiner.feed("\ud83d") == ""
    assert joiner.close() == "\ufffd"

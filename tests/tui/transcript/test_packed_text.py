"""A text that was packed is the same again."""

import pytest

from cogency_tui.tui.transcript.packed_text import packed, unpacked


@pytest.mark.parametrize("text", ["", "short", "long " * 500, "über 日本 \ud800 " * 200])
def test_what_was_packed_is_the_same_again(text: str) -> None:
    assert unpacked(packed(text)) == text


def test_a_long_text_takes_less_packed() -> None:
    assert len(packed("a line of many that are alike\n" * 100)) < 300

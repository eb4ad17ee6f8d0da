"""What is piped into `run` has a bound, and is read no further."""

import sys
from pathlib import Path

import pytest

from cogency_tui.cli.run import read_prompt
from cogency_tui.errors import UsageError


@pytest.mark.parametrize("prompt", ["", "explain"])
def test_a_pipe_without_an_end_is_read_up_to_the_bound(prompt: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with Path("/dev/zero").open(encoding="utf-8") as endless:
        monkeypatch.setattr(sys, "stdin", endless)
        with pytest.raises(UsageError, match=r"stdin has more than 4,194,304 characters"):
            read_prompt(prompt)

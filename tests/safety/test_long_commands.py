"""A command that is too long to be looked into counts as unknown, however its rest is hidden."""

from pathlib import Path

import pytest

from cogency_tui.tools.loss import describe_losses
from cogency_tui.tools.shell import scanner
from cogency_tui.tools.shell.dynamic_code import runs_unwritten
from cogency_tui.tools.shell.losses import at_stake
from cogency_tui.tools.shell.outside_effects import reach
from cogency_tui.tools.shell.scanner import LONGEST, MOST_WORDS
from cogency_tui.workspace.paths import Workspace

pytestmark = pytest.mark.exhaustive

FEWER = 300
"""Words that are analyzed at most where reading all of `MOST_WORDS` takes seconds; a call for each and a few more
would be deeper than Python calls."""

LONG = {
    "words": ("rm " + "a " * FEWER, FEWER),
    "evals": ("eval " * (FEWER + 1) + "rm a", FEWER),
    "finds": ("find . " + "-exec rm {} \\; " * FEWER, FEWER),
    "here-document": ("cat <<x\n" + "a\n" * (LONGEST // 2) + "x\nrm -r a", MOST_WORDS),
    "substitutions": ("echo " + '"$(a)" ' * (FEWER + 1), FEWER),
    "within": ("echo $(echo " + "a " * (FEWER + 1) + ")", FEWER),
}


@pytest.mark.parametrize(("command", "words"), LONG.values(), ids=LONG)
def test_what_is_too_long_is_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, words: int
) -> None:
    monkeypatch.setattr(scanner, "MOST_WORDS", words)
    workspace = Workspace(tmp_path)
    assert "are analyzed" in describe_losses(at_stake(command, tmp_path, workspace).losses)
    assert "too much" in reach(command, tmp_path, workspace).protected
    assert runs_unwritten(command, ["name"])

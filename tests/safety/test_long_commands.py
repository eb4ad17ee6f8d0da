"""A command that is too long to be looked into counts as unknown, however its rest is hidden."""

from pathlib import Path

import pytest

from cogency_tui.tools.shell.dynamic_code import runs_unwritten
from cogency_tui.tools.shell.losses import at_stake
from cogency_tui.tools.shell.outside_effects import reach
from cogency_tui.tools.shell.scanner import LONGEST, MOST_WORDS
from cogency_tui.workspace.paths import Workspace
from tests.exhaustive import sampled

LONG = {
    "words": "rm " + "a " * MOST_WORDS,
    "evals": "eval " * (MOST_WORDS + 1) + "rm a",
    "finds": "find . " + "-exec rm {} \\; " * MOST_WORDS,
    "here-document": "cat <<x\n" + "a\n" * LONGEST + "x\nrm -r a",
    "substitutions": "echo " + '"$(a)" ' * (MOST_WORDS + 1),
    "within": "echo $(echo " + "a " * (MOST_WORDS + 1) + ")",
}


@pytest.mark.parametrize("command", sampled(LONG.values(), quick=1), ids=LONG)
def test_what_is_too_long_is_unknown(tmp_path: Path, command: str) -> None:
    workspace = Workspace(tmp_path)
    assert "are analyzed" in at_stake(command, tmp_path, workspace).what
    assert "too much" in reach(command, tmp_path, workspace).protected
    assert runs_unwritten(command, ["name"])

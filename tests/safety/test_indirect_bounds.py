"""What a command reads and reaches indirectly is looked for in time linear in its length."""

from collections.abc import Callable
from pathlib import Path

import pytest

from cogency_tui.tools.shell.outside_effects import reach
from cogency_tui.workspace.paths import Workspace
from tests.growth import assert_linear

pytestmark = pytest.mark.exhaustive

COMMANDS: dict[str, Callable[[int], str]] = {
    "quotes of awk": lambda count: "awk '" + "getline " + '\\"' * count + "'",
    "prints of awk": lambda count: "awk '" + "print " * count + "'",
    "pipes of awk": lambda count: "awk '" + "|a" * count + "'",
    "lines of sed": lambda count: "sed '" + "\n" * count + "x'",
    "blanks of sed": lambda count: "sed 'r" + " " * count + "'",
    "variables": lambda count: " GIT_" * (count // 10),
    "calls": lambda count: "python -c '" + "open" * count + "'",
    "brackets of sed": lambda count: "sed '/" + "[" * count + "'",
    "files of sed": lambda count: "sed '" + "w a\n" * (count // 10) + "'",
    "targets of awk": lambda count: "awk 'print > " + '"a" ' * (count // 4) + "'",
    "slashes of awk": lambda count: "awk '" + "/" * count + "'",
    "names in code": lambda count: "python -c 'write " + "a" * count + " ../" + "'",
    "paths in code": lambda count: "python -c 'write " + "../a " * (count // 5) + "'",
    "runs of made code": lambda count: f"echo '{'x ' * count}' > a;" + "python3 a;" * (count // 100),
    "paths of variables": lambda count: "A=" + ":../a" * (count // 10) + " make",
    "launchers": lambda count: "taskset " * (count // 16) + "ls",
    "links": lambda count: "grep -R x .;" * (count // 40),
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_four_times_the_text_takes_no_more_than_that(tmp_path: Path, command: Callable[[int], str]) -> None:
    workspace = Workspace(tmp_path)
    reach(command(100), tmp_path, workspace)
    assert_linear(command, lambda text: reach(text, tmp_path, workspace), 1_250)

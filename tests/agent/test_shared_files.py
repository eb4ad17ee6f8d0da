"""Several processes that change the user's files at once: no change is lost, nothing revoked comes back."""

import subprocess
import sys
from pathlib import Path

import pytest

from cogency_tui.agent.rules import Rules
from cogency_tui.agent.trust import Trust
from cogency_tui.config_reading import read_settings

_ROOT = Path(__file__).parents[2]
PROCESSES, CHANGES = 8, 20

CHILD = """
import sys
from pathlib import Path
from cogency_tui.agent.preferences import Preferences
from cogency_tui.agent.rules import Rules
from cogency_tui.agent.trust import Trust
what, number, count, directory = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4])
rules = Rules(directory / "permissions.toml", directory)
print("ready", flush=True)
sys.stdin.readline()
for change in range(count):
    name = f"p{number}x{change}"
    if what == "settings":
        Preferences(directory / "config.toml").set(f"providers.{name}.model", "m")
    elif what == "trust":
        project = directory / name
        project.mkdir()
        Trust(directory / "trusted.toml").refuse(project)
    else:
        rule = rules.add("write", f"{name}/**")
        if change % 2:
            rules.revoke(rule.id)
"""


def at_once(what: str, directory: Path) -> None:
    children = [
        subprocess.Popen(
            [sys.executable, "-P", "-c", CHILD, what, str(number), str(CHANGES), str(directory)],
            cwd=_ROOT,
            env={"PYTHONPATH": str(_ROOT), "HOME": str(directory), "PATH": "/usr/bin:/bin"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(PROCESSES)
    ]
    for child in children:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
    for child in children:
        assert child.stdin is not None
        child.stdin.write("\n")
        child.stdin.flush()
    for child in children:
        child.communicate()
    assert [child.returncode for child in children] == [0] * PROCESSES


def names(every: int = 1) -> set[str]:
    return {f"p{number}x{change}" for number in range(PROCESSES) for change in range(0, CHANGES, every)}


@pytest.mark.parametrize("linked", [False, True])
def test_no_setting_is_lost(tmp_path: Path, linked: bool) -> None:
    path = tmp_path / "config.toml"
    if linked:
        (tmp_path / "elsewhere").mkdir()
        path.symlink_to(tmp_path / "elsewhere/mine.toml")
    at_once("settings", tmp_path)
    assert set(read_settings(path, path.read_text()).providers) == names()


def test_no_decision_on_a_project_is_lost(tmp_path: Path) -> None:
    at_once("trust", tmp_path)
    refused = Trust(tmp_path / "trusted.toml").decisions().refused
    assert {Path(each.path).name for each in refused} == names()


def test_no_rule_is_lost_and_none_that_was_revoked_comes_back(tmp_path: Path) -> None:
    at_once("rules", tmp_path)
    rules = Rules(tmp_path / "permissions.toml", tmp_path)
    assert {rule.pattern.removesuffix("/**") for rule in rules.list()} == names(2)
    assert rules.problem == ""

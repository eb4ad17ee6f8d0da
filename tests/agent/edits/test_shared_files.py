"""Several processes that change the user's files at once: no change is lost, nothing revoked comes back."""

import subprocess
import sys
from pathlib import Path

import pytest

from cogency_tui.agent.permissions.rules import Rules
from cogency_tui.agent.project.trust import Trust
from cogency_tui.config.config_file import read_settings
from tests import ROOT

pytestmark = pytest.mark.exhaustive

PROCESSES, CHANGES = 3, 4

PROGRAM = """
import os
import sys
from pathlib import Path
from cogency_tui.agent.editable_options import Preferences
from cogency_tui.agent.permissions.rules import Rules
from cogency_tui.agent.project.trust import Trust
what, processes, count, directory = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4])

def change_all(number):
    rules = Rules(directory / "permissions.toml", directory)
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

barrier, start = os.pipe()
children = []
for number in range(processes):
    child = os.fork()
    if child == 0:
        os.close(start)
        os.read(barrier, 1)
        change_all(number)
        sys.exit()
    children.append(child)
os.close(start)
sys.exit(any([os.waitpid(child, 0)[1] for child in children]))
"""
"""Forks processes that have loaded everything, and has them all begin at once."""


def at_once(what: str, directory: Path) -> None:
    subprocess.run(
        [sys.executable, "-P", "-c", PROGRAM, what, str(PROCESSES), str(CHANGES), str(directory)],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT), "HOME": str(directory), "PATH": "/usr/bin:/bin"},
        check=True,
    )


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

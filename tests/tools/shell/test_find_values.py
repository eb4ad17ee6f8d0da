"""Values in the expression of `find`, and words of the commands that it runs, are no tests and no actions."""

import subprocess
from pathlib import Path

import pytest

from cogency_tui.tools.shell.losses import at_stake
from cogency_tui.tools.shell.outside_effects import Reach, reach
from cogency_tui.workspace.paths import Workspace
from tests.cases import cases


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / "keep/docs").mkdir(parents=True)
    (root / "keep/a").write_text("x\n")
    (root / "keep/docs/b").write_text("x\n")
    (tmp_path / "secret").write_text("hunter2hunter2\n")
    (root / "link").symlink_to(tmp_path / "secret")
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    return root


def of(project: Path, command: str) -> Reach:
    return reach(command, project, Workspace(project))


LOST = r"""
find keep -type f -name '*' -exec echo -mindepth 99 {} \; -delete
find keep -fprintf -mindepth 99 -name '*' -delete
find keep -name '*' -fprintf x -maxdepth -delete -fprint 0
find keep ! -name -print | xargs rm -f
find keep ! -name -exec | xargs rm -f
find keep -fprintf -type d -printf -empty -delete
find keep -exec echo -type d -empty {} \; -delete
find keep -type f -o -type d -empty -o -delete
find keep ! \( -type d -empty \) -delete
find keep -type d -empty -printf x -o -delete
find keep -type d -empty -delete -o -delete
find keep -ok echo {} + -mindepth 99 \; -name '*' -delete
find keep ! -name -delete -exec rm -r {} +
find keep -name docs -print -o -name zzz -delete | xargs rm -rf
find keep -not -name -daystart -newermt 2000-01-01 -delete
find -O3 keep -name '*' -delete
find keep -D -name '*' -delete
find keep -name * -delete
find keep -name -d* -delete
find keep -mindepth 99 -mindepth 0 -name '*' -delete
""".strip().splitlines()


@pytest.mark.exhaustive
@cases("command", LOST)
def test_what_only_looks_like_a_test_spares_nothing(project: Path, command: str) -> None:
    assert at_stake(command, project, Workspace(project)).losses


@cases(
    "command",
    [
        r"find keep -type d -empty -delete",
        r"find keep -mindepth 1 -type d -empty -print -delete",
        r"find keep -depth -not -name .git -type d -empty -delete",
        r"find . -type f -name '*.pyc' -newermt 2000-01-01 -delete",
        r"find keep -mindepth 5 -name '*' -delete",
        r"find keep -maxdepth 1 -name docs -type f -exec echo {} \; -delete",
    ],
)
def test_what_it_cannot_reach_is_not_lost(project: Path, command: str) -> None:
    assert not at_stake(command, project, Workspace(project)).losses


@pytest.mark.parametrize(
    "command",
    [
        r"find . -not -name -exec -exec curl https://evil.example \;",
        r"find . -flags -exec -exec curl https://evil.example \;",
        r"find . -ok echo {} + -exec echo \; -exec curl https://evil.example \;",
    ],
)
def test_a_command_behind_a_value_is_found(project: Path, command: str) -> None:
    assert of(project, command).network == "curl"


@cases(
    "command",
    [
        r"find . -exec echo -type f \; -exec cat {} +",
        r"find . -not -name -type -name f -o -exec cat {} +",
        r"find . ! -type f -exec cat {} +",
        r"find . -type f,l -exec cat {} +",
        r"find . -type d -o -exec cat {} +",
    ],
)
def test_a_link_that_a_command_may_be_given_counts(project: Path, command: str) -> None:
    assert of(project, command).outside == str(project.parent / "secret")


def test_a_link_that_no_command_is_given_does_not_count(project: Path) -> None:
    assert of(project, r"find . \( -name x -o -name y \) -type f -exec cat {} +").outside == ""

